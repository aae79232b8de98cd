//! The messages between I/O workers and the workers that run conversations.

use crate::clients::{ClientHandle, ClientSlot};
use crate::conversation::Conversation;
use crate::execution::coroutine::runner::Answered;
use crate::execution::coroutine::scheduler::{CoroutineScheduler, Wake};
use hotrow_sync::{Arc, Inbox};

/// A message that another thread sends to an I/O worker.
pub enum IoMessage {
    /// A client has connected.
    Admit(ClientSlot),
    /// A worker returns the conversation of the connection with this number, whose messages are answered.
    Answered(usize, Answered),
    /// There may be something to send on the connection with this number, although its client has sent nothing.
    Look(usize),
    /// The worker's thread is to end, because the server shuts down and all clients have left.
    End,
}

/// A message that another thread sends to a worker that runs conversations.
pub enum RunMessage {
    /// An I/O worker hands a conversation over, whose messages are to be answered.
    Run(Box<Handover>),
    /// The coroutine of the connection with this number was woken, and is to be resumed.
    Wake(usize),
    /// The worker's thread is to end, because the server shuts down and all clients have left.
    End,
}

/// A conversation that an I/O worker hands to the worker that is to answer its messages.
pub struct Handover {
    /// The conversation, with the messages that were read.
    pub conversation: Box<Conversation>,
    /// The connection's number at the worker that answers the messages.
    pub number: usize,
    /// The handle of the conversation's client.
    pub client: Arc<ClientHandle>,
    /// The scheduler through which the conversation's coroutine waits.
    pub scheduler: Arc<CoroutineScheduler>,
    /// The I/O worker's connection to which the conversation is returned when its messages are answered.
    pub return_to: ReturnAddress,
}

/// The address to which a conversation is returned: an I/O worker and one of its connections.
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

    /// Does nothing: an idle connection is with its I/O worker, for which there is another waker.
    fn wake_idle(&self, _: usize) {}
}
