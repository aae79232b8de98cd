//! The messages between I/O workers and the workers that run conversations.

use crate::clients::{ClientHandle, ClientSlot};
use crate::conversation::Conversation;
use crate::execution::coroutine::runner::Answered;
use crate::execution::coroutine::scheduler::{CoroutineScheduler, Wake};
use hotrow_sync::{Arc, Inbox};

/// A message of another thread to an I/O worker.
pub enum IoMessage {
    /// A client has connected.
    Admit(ClientSlot),
    /// The messages that had come on the connection with this number are answered.
    Answered(usize, Answered),
    /// All clients have left, and none will come.
    End,
}

/// A message of another thread to a worker that runs conversations.
pub enum RunMessage {
    /// An I/O worker hands a conversation over.
    Run(Box<Handover>),
    /// The coroutine of the connection with this number was woken.
    Wake(usize),
    /// All clients have left, and none will come.
    End,
}

/// A conversation with work, on its way to the worker that runs it.
pub struct Handover {
    /// The conversation, with its input.
    pub conversation: Box<Conversation>,
    /// The connection's number at that worker.
    pub number: usize,
    /// The handle of its client.
    pub client: Arc<ClientHandle>,
    /// The scheduler through which its coroutine waits.
    pub scheduler: Arc<CoroutineScheduler>,
    /// Where the conversation goes when its messages are answered.
    pub return_to: ReturnAddress,
}

/// The connection of an I/O worker to which a conversation goes back.
pub struct ReturnAddress {
    /// The I/O worker's inbox.
    pub inbox: Arc<Inbox<IoMessage>>,
    /// The connection's number at the I/O worker.
    pub number: usize,
}

impl Wake for Inbox<RunMessage> {
    fn wake(&self, number: usize) {
        self.send(RunMessage::Wake(number));
    }
}
