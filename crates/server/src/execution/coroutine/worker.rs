//! A worker that reads, runs and writes for its connections (`--io worker`).
//!
//! When bytes have come on a connection, its worker reads them, answers them in a coroutine and sends the answers.
//! Nothing is handed to another thread, unless a long statement makes the worker's connections move.

use super::runner::{ConnectionCoroutine, CoroutineRunner, Outcome, STACK_RETRY};
use super::scheduler::{CoroutineScheduler, Wake};
use crate::ServerError;
use crate::clients::{ClientHandle, ClientSlot};
use crate::conversation::Conversation;
use crate::execution::reader::Reader;
use crate::execution::worker::{Worker, WorkerCore, WorkerGroup, WorkerHandle};
use crate::shared::Shared;
use crate::socket::SocketWait;
use hotrow_sync::{Arc, Inbox, Time};

/// The threads of the execution model. Each is a worker that reads, runs and writes for its connections.
pub struct CoroutineWorkers(WorkerGroup<Message>);

impl CoroutineWorkers {
    /// Starts the workers.
    ///
    /// # Errors
    /// [`ServerError::System`] if the system refuses a thread, or a stack of the configured size.
    pub fn start(shared: &Arc<Shared>) -> Result<Self, ServerError> {
        WorkerGroup::start(shared, ("worker", shared.config.threads), CoroutineWorker::new).map(Self)
    }

    /// Assigns a client to a worker, which serves it. Returns at once.
    pub fn serve(&self, slot: ClientSlot) {
        self.0.assign(Message::Admit(slot));
    }

    /// Ends the threads, and waits for them. The caller makes sure that all clients have left.
    pub fn end(self) {
        self.0.end(|| Message::End);
    }
}

/// A message that another thread sends to a worker.
pub enum Message {
    /// A client has connected.
    Admit(ClientSlot),
    /// The coroutine of the connection with this number was woken, and is to be resumed.
    Wake(usize),
    /// There may be something to send on the connection with this number, although its client has sent nothing.
    Look(usize),
    /// Another worker moves this idle connection to the worker.
    Adopt(Box<MovedConnection>),
    /// The worker's thread is to end, because the server shuts down and all clients have left.
    End,
}

impl Wake for Inbox<Message> {
    fn wake(&self, number: usize) {
        self.send(Message::Wake(number));
    }

    fn wake_idle(&self, number: usize) {
        self.send(Message::Look(number));
    }
}

/// An idle connection that one worker moves to another.
pub struct MovedConnection {
    pub(super) client: Arc<ClientHandle>,
    pub(super) conversation: Box<Conversation>,
    pub(super) scheduler: Arc<CoroutineScheduler>,
    /// The worker to which the connection was assigned when its client connected.
    pub(super) first_worker: WorkerHandle<Message>,
    pub(super) has_left: bool,
    pub(super) timer: Option<Time>,
}

/// The state that this execution model adds to a connection.
pub(super) struct CoroutineConnection {
    pub(super) coroutine: ConnectionCoroutine,
    /// The worker to which the connection was assigned when its client connected, or `None` if it has never moved.
    pub(super) first_worker: Option<WorkerHandle<Message>>,
}

/// A worker: it reads the sockets of its connections, and answers their messages in coroutines.
pub(super) struct CoroutineWorker {
    pub(super) reader: Reader<Message, CoroutineConnection>,
    pub(super) runner: CoroutineRunner,
}

impl CoroutineWorker {
    fn new(core: WorkerCore<Message>) -> Self {
        let handle = core.handle.clone();
        let runner = CoroutineRunner::new(core.shared.clone(), move |busy| handle.set_busy(busy));
        Self { reader: Reader::new(core), runner }
    }

    fn admit(&mut self, slot: ClientSlot) {
        let number = self.reader.take_number();
        let scheduler = Arc::new(CoroutineScheduler::new(number, self.reader.core.handle.inbox.clone()));
        slot.client().set_idle_waker(scheduler.clone());
        let coroutine = ConnectionCoroutine::new(slot.client().clone(), scheduler.clone());
        let connection = CoroutineConnection { coroutine, first_worker: None };
        // A client that is turned away leaves nothing to undo.
        let _ = self.reader.admit(number, slot, (SocketWait::Through(scheduler.clone()), scheduler), connection);
    }

    /// Makes a connection ready that was woken. A wake that finds it idle, or finds another connection, is late and has
    /// no effect.
    fn wake(&mut self, number: usize) {
        if self.reader.get_mut(number).is_some_and(|connection| connection.model.coroutine.is_suspended()) {
            self.enqueue(number);
        }
    }

    /// Answers a connection's messages in a new coroutine.
    fn begin(&mut self, number: usize, conversation: Box<Conversation>) {
        let Some(connection) = self.reader.get_mut(number) else { return };
        match self.runner.begin(&mut connection.model.coroutine, conversation, connection.has_left) {
            Ok(outcome) => self.settle(number, outcome),
            Err(conversation) => {
                connection.idle = Some(conversation);
                self.reader.core.agenda.set_timer(number, Some(Time::now().after(STACK_RETRY)));
            }
        }
    }

    /// Acts on the outcome of running a connection's coroutine.
    fn settle(&mut self, number: usize, outcome: Outcome) {
        match outcome {
            Outcome::Suspended { yields, deadline } => {
                if yields {
                    self.enqueue(number);
                }
                self.reader.core.agenda.set_timer(number, deadline);
            }
            Outcome::Ended(Some(conversation)) => self.reader.rest(number, conversation),
            Outcome::Ended(None) => drop(self.reader.remove(number)),
        }
    }
}

impl Worker for CoroutineWorker {
    type Message = Message;

    fn core(&mut self) -> &mut WorkerCore<Message> {
        &mut self.reader.core
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Admit(slot) => self.admit(slot),
            Message::Wake(number) => self.wake(number),
            Message::Look(number) => self.reader.wake_idle(number),
            Message::Adopt(moved) => self.adopt(*moved),
            Message::End => self.reader.core.end(),
        }
    }

    fn notice(&mut self, number: usize, has_left: bool) {
        let Some(connection) = self.reader.note(number, has_left) else { return };
        let coroutine = &connection.model.coroutine;
        if !coroutine.is_suspended() || coroutine.notice(connection.has_left) {
            self.enqueue(number);
        }
    }

    fn enqueue(&mut self, number: usize) {
        let Some(connection) = self.reader.get_mut(number) else { return };
        if !connection.model.coroutine.is_suspended() {
            return self.reader.enqueue(number);
        }
        let may_be_waited_for = connection.model.coroutine.may_be_waited_for();
        self.reader.core.agenda.enqueue(number, || may_be_waited_for);
    }

    fn look_after(&mut self, number: usize) {
        if self.give_away(number) {
            return;
        }
        let Some(connection) = self.reader.get_mut(number) else { return };
        match self.runner.resume(&mut connection.model.coroutine, connection.has_left) {
            Some(outcome) => self.settle(number, outcome),
            None => {
                if let Some(conversation) = self.reader.take_work(number) {
                    self.begin(number, conversation);
                }
            }
        }
    }
}
