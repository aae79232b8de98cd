//! Request-to-thread: a thread of a pool runs the messages that have come on a connection; the next messages may get
//! another thread.
//!
//! A few workers read the sockets. A worker gives a conversation with work to the pool; a thread of the pool answers
//! the messages, sends the answers and gives the conversation back. A request that has to wait keeps its thread, which
//! blocks; the pool then lets another thread run. Any free thread takes the next request, so no thread is idle while
//! another has too much to do.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `pool` | the threads that run requests, and the queue of requests |
//! | `scheduler` | how a request waits for a lock, or for its client |
//!
//! Only the worker that reads a connection changes whether the connection is idle. A notice that comes while the pool
//! has the conversation is remembered, and acted upon when the conversation comes back.

mod pool;
mod scheduler;

use super::blocking::BlockingScheduler;
use super::reader::Reader;
use super::worker::{InboxWaker, Worker, WorkerCore, WorkerGroup, io_threads};
use crate::ServerError;
use crate::clients::ClientSlot;
use crate::conversation::Conversation;
use crate::shared::Shared;
use crate::socket::SocketWait;
use hotrow_sync::{Arc, Inbox};
use pool::{Request, RequestPool, TakeBack};
use scheduler::PoolScheduler;

/// The threads of the execution model: workers that read sockets, and a pool of threads that run requests.
pub struct RequestWorkers {
    readers: WorkerGroup<Message>,
    pool: Arc<RequestPool>,
}

impl RequestWorkers {
    /// Starts the workers that read. Threads of the pool start when they are needed.
    ///
    /// # Errors
    /// [`ServerError::System`] if the system refuses a thread, or a stack of the configured size.
    pub fn start(shared: &Arc<Shared>) -> Result<Self, ServerError> {
        let pool = RequestPool::new(shared.clone());
        let of_readers = pool.clone();
        let make = move |core| RequestReader { reader: Reader::new(core), pool: of_readers.clone() };
        let readers = WorkerGroup::start(shared, ("io", io_threads(shared)), make)?;
        Ok(Self { readers, pool })
    }

    /// Assigns a client to a worker, which reads its messages. Returns at once.
    pub fn serve(&self, slot: ClientSlot) {
        self.readers.assign(Message::Admit(slot));
    }

    /// Ends the threads. Waits for the workers, but not for the threads of the pool. The caller makes sure that all
    /// clients have left.
    pub fn end(self) {
        self.readers.end(|| Message::End);
        self.pool.end();
    }
}

/// A message of another thread to a worker.
enum Message {
    /// A client has connected.
    Admit(ClientSlot),
    /// The messages that had come on the connection with this number are answered. The conversation is given back
    /// unless it is over.
    Answered(usize, Option<Box<Conversation>>),
    /// There may be something to send on the connection with this number, although its client has sent nothing.
    Look(usize),
    /// The worker's thread is to end, because the server shuts down and all clients have left.
    End,
}

impl TakeBack for Inbox<Message> {
    fn take_back(&self, number: usize, conversation: Option<Box<Conversation>>) {
        self.send(Message::Answered(number, conversation));
    }
}

/// A worker that reads for the pool.
struct RequestReader {
    reader: Reader<Message, ()>,
    pool: Arc<RequestPool>,
}

impl RequestReader {
    fn admit(&mut self, slot: ClientSlot) {
        let number = self.reader.take_number();
        let blocking = BlockingScheduler::new(&self.reader.core.shared.config, slot.client());
        let inbox = self.reader.core.handle.inbox.clone();
        slot.client().set_idle_waker(Arc::new(InboxWaker { inbox, message: Message::Look, number }));
        let scheduler = Arc::new(PoolScheduler::new(self.pool.clone(), blocking));
        // A client that is turned away leaves nothing to undo.
        let _ = self.reader.admit(number, slot, (SocketWait::Through(scheduler.clone()), scheduler), ());
    }
}

impl Worker for RequestReader {
    type Message = Message;

    fn core(&mut self) -> &mut WorkerCore<Message> {
        &mut self.reader.core
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Admit(slot) => self.admit(slot),
            Message::Answered(number, Some(conversation)) => self.reader.rest(number, conversation),
            Message::Answered(number, None) => drop(self.reader.remove(number)),
            Message::Look(number) => self.reader.wake_idle(number),
            Message::End => self.reader.core.end(),
        }
    }

    fn notice(&mut self, number: usize, has_left: bool) {
        self.reader.note(number, has_left);
        self.enqueue(number);
    }

    fn enqueue(&mut self, number: usize) {
        self.reader.enqueue(number);
    }

    fn look_after(&mut self, number: usize) {
        if let Some(conversation) = self.reader.take_work(number) {
            let worker = self.reader.core.handle.inbox.clone();
            self.pool.run(Request { conversation, number, worker });
        }
    }
}
