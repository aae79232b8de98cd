//! The connections whose sockets a worker reads, and their conversations while they are idle.
//!
//! **Invariants**
//!
//! 1. A connection is idle, with its conversation in its place, or its messages are being answered, and the code that
//!    answers them has the conversation.
//! 2. The system gives each notice of a socket once (edge-triggered). A notice sets `readable`. Only a read clears it,
//!    if it has found less than it had room for before the next notice. So a connection is read again whenever there
//!    may be more.

use super::worker::WorkerCore;
use crate::clients::{ClientHandle, ClientSlot};
use crate::conversation::{Conversation, Received, turn_away};
use crate::socket::SocketWait;
use hotrow_sync::{Arc, Scheduler, Time};
use mio::unix::SourceFd;
use mio::{Interest, Token};
use std::io;
use std::os::fd::AsRawFd;

/// The part of a worker that reads sockets. Messages of type `M` come to the worker. Its execution model keeps a value
/// of type `C` with each connection.
pub struct Reader<M, C> {
    /// The parts of the worker that are alike in all models.
    pub core: WorkerCore<M>,
    connections: Vec<Option<Connection<C>>>,
    /// Numbers without a connection.
    free: Vec<usize>,
}

/// A connection whose socket a worker reads.
pub struct Connection<C> {
    /// The handle of the connection's client.
    pub client: Arc<ClientHandle>,
    /// The connection's conversation, while the connection is idle.
    pub idle: Option<Box<Conversation>>,
    /// Whether there may be something to read.
    pub readable: bool,
    /// Whether the client has closed its end.
    pub has_left: bool,
    /// The part that is particular to the execution model.
    pub model: C,
}

impl<M, C> Reader<M, C> {
    /// Makes a reader without connections.
    pub fn new(core: WorkerCore<M>) -> Self {
        Self { core, connections: Vec::new(), free: Vec::new() }
    }

    /// Returns the connection with this number.
    pub fn get(&self, number: usize) -> Option<&Connection<C>> {
        self.connections.get(number)?.as_ref()
    }

    /// Returns the connection with this number, to change it.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut Connection<C>> {
        self.connections.get_mut(number)?.as_mut()
    }

    /// Returns a number without a connection, for a new one.
    pub fn take_number(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        })
    }

    /// Takes a client that has just connected. Its conversation reads and writes through `wait`, and its session waits
    /// through `scheduler`. If it cannot be served it is turned away, and `model` is given back.
    pub fn admit(
        &mut self,
        number: usize,
        slot: ClientSlot,
        (wait, scheduler): (SocketWait, Arc<dyn Scheduler>),
        model: C,
    ) -> Result<(), C> {
        let client = slot.client().clone();
        let conversation = Conversation::new(self.core.shared.clone(), slot, wait, scheduler);
        let registered = conversation.and_then(|conversation| {
            self.register(number, &client)?;
            Ok(conversation)
        });
        let conversation = match registered {
            Ok(conversation) => Box::new(conversation),
            Err(error) => {
                self.core.shared.log(&format!("cannot serve a connection: {error}"));
                turn_away(&client.socket);
                self.remove(number);
                return Err(model);
            }
        };
        let (readable, has_left) = (false, false);
        self.connections[number] = Some(Connection { client, idle: Some(conversation), readable, has_left, model });
        // If the client has sent nothing by then, its conversation says so and ends.
        let config = &self.core.shared.config;
        let deadline = Time::now().after(config.silence_timeout.min(config.startup_timeout));
        self.core.agenda.set_timer(number, Some(deadline));
        Ok(())
    }

    /// Takes an idle connection from another worker. If the system refuses it, the connection is turned away.
    pub fn adopt(&mut self, number: usize, connection: Connection<C>, timer: Option<Time>) {
        if let Err(error) = self.register(number, &connection.client) {
            self.core.shared.log(&format!("cannot serve a connection any more: {error}"));
            turn_away(&connection.client.socket);
            self.remove(number);
            return;
        }
        self.connections[number] = Some(connection);
        self.core.agenda.set_timer(number, timer);
        self.enqueue(number);
    }

    /// Gives an idle connection to another worker. Returns the connection with its timer, or `None` if there is no such
    /// connection.
    pub fn release(&mut self, number: usize) -> Option<(Connection<C>, Option<Time>)> {
        let timer = self.core.agenda.timer(number);
        let connection = self.remove(number)?;
        // If this fails, the system forgets the socket when it is closed.
        let _ = self.core.registry().deregister(&mut SourceFd(&connection.client.socket.as_raw_fd()));
        Some((connection, timer))
    }

    fn register(&self, number: usize, client: &ClientHandle) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.core.registry().register(&mut SourceFd(&client.socket.as_raw_fd()), Token(number), interest)
    }

    /// Forgets a connection, and frees its number.
    pub fn remove(&mut self, number: usize) -> Option<Connection<C>> {
        self.core.agenda.forget(number);
        let connection = self.connections[number].take();
        self.free.push(number);
        self.core.handle.remove_connection();
        connection
    }

    /// Notes that something has happened to a connection's socket. Returns the connection, or `None` if there is none
    /// with this number.
    pub fn note(&mut self, number: usize, has_left: bool) -> Option<&mut Connection<C>> {
        let connection = self.get_mut(number)?;
        connection.readable = true;
        connection.has_left |= has_left;
        Some(connection)
    }

    /// Makes a connection ready that has no coroutine.
    pub fn enqueue(&mut self, number: usize) {
        let Self { core, connections, .. } = self;
        let Some(Some(connection)) = connections.get(number) else { return };
        let idle = connection.idle.as_ref();
        core.agenda.enqueue(number, || idle.is_some_and(|conversation| conversation.may_be_waited_for()));
    }

    /// Reads the bytes that have come on an idle connection. Returns its conversation if it has work for the model.
    /// Returns `None` if it has none and stays idle, or if the connection is not idle.
    pub fn take_work(&mut self, number: usize) -> Option<Box<Conversation>> {
        let connection = self.get_mut(number)?;
        let mut conversation = connection.idle.take()?;
        if connection.readable {
            connection.readable = match conversation.receive_at_once() {
                Received::Some => true,
                // The system gives no further notice of the end of a connection.
                Received::All => connection.has_left,
                Received::Nothing => false,
            };
        }
        if conversation.has_work() {
            self.core.agenda.set_timer(number, None);
            return Some(conversation);
        }
        self.rest(number, conversation);
        None
    }

    /// Puts a conversation back whose messages are answered. The connection is idle, and ready if it may have more to
    /// read.
    pub fn rest(&mut self, number: usize, mut conversation: Box<Conversation>) {
        conversation.rest();
        let Some(connection) = self.get_mut(number) else { return };
        let (until, readable) = (conversation.idle_until(), connection.readable);
        connection.idle = Some(conversation);
        if readable {
            self.enqueue(number);
        }
        self.core.agenda.set_timer(number, until);
    }
}
