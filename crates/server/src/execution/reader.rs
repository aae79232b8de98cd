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

/// The part of a worker that reads the sockets of its connections, and stores their conversations while they are idle.
/// `M` is the type of messages in the worker's inbox, and `C` the state that the execution model adds to each
/// connection.
pub struct Reader<M, C> {
    /// The parts of the worker that all execution models share.
    pub core: WorkerCore<M>,
    connections: Vec<Option<Connection<C>>>,
    /// Numbers without a connection.
    free: Vec<usize>,
}

/// A connection whose socket a worker reads.
pub struct Connection<C> {
    /// The handle of the connection's client.
    pub client: Arc<ClientHandle>,
    /// The conversation, while the connection is idle. It is `None` while the connection's messages are answered.
    pub idle: Option<Box<Conversation>>,
    /// Whether the socket may have something to read.
    pub readable: bool,
    /// Whether the client has closed its side of the connection.
    pub has_left: bool,
    /// The state that the execution model adds.
    pub model: C,
}

impl<M, C> Reader<M, C> {
    /// Makes a reader without connections.
    pub fn new(core: WorkerCore<M>) -> Self {
        Self { core, connections: Vec::new(), free: Vec::new() }
    }

    /// Returns the connection with this number, or `None` if there is none.
    pub fn get(&self, number: usize) -> Option<&Connection<C>> {
        self.connections.get(number)?.as_ref()
    }

    /// Returns the connection with this number for a change, or `None` if there is none.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut Connection<C>> {
        self.connections.get_mut(number)?.as_mut()
    }

    /// Returns an unused number for a new connection. The caller passes it to [`admit`](Self::admit) or
    /// [`adopt`](Self::adopt).
    pub fn take_number(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        })
    }

    /// Adds the connection of a client that has just connected, under `number`. Its socket waits as `wait` says, and
    /// its session waits for locks through `scheduler`.
    ///
    /// # Errors
    /// `model`, if the system refuses to prepare or watch the socket. The client has been refused with an error, and
    /// the number is free.
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

    /// Adds an idle connection that comes from another worker, under `number`, and makes it ready. If the system
    /// refuses to watch its socket, the client is refused with an error and the connection ends.
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

    /// Removes an idle connection that moves to another worker. Returns it with the time of its timer, or `None` if
    /// there is no connection with this number.
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

    /// Removes a connection, returns it, and frees its number.
    pub fn remove(&mut self, number: usize) -> Option<Connection<C>> {
        self.core.agenda.forget(number);
        let connection = self.connections[number].take();
        self.free.push(number);
        self.core.handle.remove_connection();
        connection
    }

    /// Records an event at a connection's socket: there may be something to read, and, if `has_left`, the client has
    /// closed its side. Returns the connection, or `None` if there is none with this number.
    pub fn note(&mut self, number: usize, has_left: bool) -> Option<&mut Connection<C>> {
        let connection = self.get_mut(number)?;
        connection.readable = true;
        connection.has_left |= has_left;
        Some(connection)
    }

    /// Marks a connection as ready, so that the worker serves it. The connection must not have a suspended coroutine.
    pub fn enqueue(&mut self, number: usize) {
        let Self { core, connections, .. } = self;
        let Some(Some(connection)) = connections.get(number) else { return };
        let idle = connection.idle.as_ref();
        core.agenda.enqueue(number, || idle.is_some_and(|conversation| conversation.may_be_waited_for()));
    }

    /// Marks a connection as ready if it is idle, because there may be something to send.
    pub fn wake_idle(&mut self, number: usize) {
        if self.get(number).is_some_and(|connection| connection.idle.is_some()) {
            self.enqueue(number);
        }
    }

    /// Reads the bytes that have come on an idle connection. If there is then a message to answer or another thing to
    /// do, returns the conversation, and the connection is no longer idle. Returns `None` if there is nothing to do, or
    /// if the connection was not idle.
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

    /// Makes a connection idle again when its messages are answered, and stores its conversation. The connection is
    /// ready at once if its socket may have more to read, or if there are notifications to send.
    pub fn rest(&mut self, number: usize, mut conversation: Box<Conversation>) {
        conversation.rest();
        let Some(connection) = self.get_mut(number) else { return };
        // Notifications may have come since the messages were answered. Later ones wake the idle connection.
        let has_more = connection.readable || conversation.has_notifications();
        let until = conversation.idle_until();
        connection.idle = Some(conversation);
        if has_more {
            self.enqueue(number);
        }
        self.core.agenda.set_timer(number, until);
    }
}
