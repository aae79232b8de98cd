//! Messages to a client that are held back while the attempt at the statement may still be retried.

use crate::client::{Client, CopyEncoding, Notice, OutputColumn};
use crate::types::Styles;
use crate::{MemoryLimit, SqlError, state};
use hotrow_storage::Value;
use hotrow_sync::Waiter;
use hotrow_txn::Abort;

/// The messages that a statement would have sent to its client, in order.
#[derive(Debug)]
pub(super) struct Held {
    messages: Vec<Message>,
    memory: MemoryLimit,
}

#[derive(Debug)]
enum Message {
    Styles(Styles),
    Columns(Vec<OutputColumn>),
    Row(Vec<Value<'static>>),
    Complete(String),
    Notice(Notice),
    Parameter(String, String),
}

impl Held {
    /// Makes an empty list of messages.
    pub(super) fn new(memory: MemoryLimit) -> Self {
        Self { messages: Vec::new(), memory }
    }

    /// Forgets the messages.
    pub(super) fn clear(&mut self) {
        self.messages.clear();
    }

    /// Whether there are rows, or their description.
    pub(super) fn has_rows(&self) -> bool {
        self.messages.iter().any(|message| matches!(message, Message::Columns(_) | Message::Row(_)))
    }

    /// Sends the messages to the client. If the statement is cancelled between two messages, returns that error.
    pub(super) fn tell(&mut self, client: &mut dyn Client, waiter: &Waiter) -> Result<(), SqlError> {
        for message in self.messages.drain(..) {
            if waiter.is_cancelled() {
                return Err(Abort::Cancelled.into());
            }
            message.tell(client)?;
        }
        Ok(())
    }

    /// Forgets the command tag, if it is the last message.
    pub(super) fn forget_tag(&mut self) {
        self.messages.pop_if(|last| matches!(last, Message::Complete(_)));
    }

    /// Sends the messages to the client, even if the statement is cancelled.
    pub(super) fn tell_all(&mut self, client: &mut dyn Client) -> Result<(), SqlError> {
        self.messages.drain(..).try_for_each(|message| message.tell(client))
    }
}

impl Message {
    fn tell(self, client: &mut dyn Client) -> Result<(), SqlError> {
        match self {
            Message::Styles(styles) => {
                client.styles(styles);
                Ok(())
            }
            Message::Columns(columns) => client.columns(&columns),
            Message::Row(values) => client.row(&values),
            Message::Complete(tag) => client.complete(&tag),
            Message::Notice(notice) => {
                client.notice(notice);
                Ok(())
            }
            Message::Parameter(name, value) => {
                client.parameter(&name, &value);
                Ok(())
            }
        }
    }
}

impl Client for Held {
    fn styles(&mut self, styles: Styles) {
        self.messages.push(Message::Styles(styles));
    }

    fn columns(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        self.messages.push(Message::Columns(columns.to_vec()));
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> Result<(), SqlError> {
        self.memory.check_push(&self.messages)?;
        self.messages.push(Message::Row(values.iter().map(|value| value.borrowed().into_owned()).collect()));
        Ok(())
    }

    fn complete(&mut self, tag: &str) -> Result<(), SqlError> {
        self.messages.push(Message::Complete(tag.to_owned()));
        Ok(())
    }

    fn empty(&mut self) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, notice: Notice) {
        self.messages.push(Message::Notice(notice));
    }

    fn parameter(&mut self, name: &str, value: &str) {
        self.messages.push(Message::Parameter(name.to_owned(), value.to_owned()));
    }

    fn copy_in(&mut self, _encoding: CopyEncoding, _columns: usize) -> Result<(), SqlError> {
        Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "COPY is no part of a planned transaction"))
    }
}
