//! What a client is told later, or never: the results of an attempt that may have to be made again.

use crate::client::{Client, CopyEncoding, Notice, OutputColumn};
use crate::types::Styles;
use crate::{MemoryLimit, SqlError, state};
use hotrow_storage::Value;
use hotrow_sync::Waiter;
use hotrow_txn::Abort;

/// What a client would have been told.
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
    /// Nothing yet.
    pub(super) fn new(memory: MemoryLimit) -> Self {
        Self { messages: Vec::new(), memory }
    }

    /// Forgets it.
    pub(super) fn clear(&mut self) {
        self.messages.clear();
    }

    /// Whether there are rows, or their description.
    pub(super) fn has_rows(&self) -> bool {
        self.messages.iter().any(|message| matches!(message, Message::Columns(_) | Message::Row(_)))
    }

    /// Tells it. Between rows the client may still cancel.
    pub(super) fn tell(&mut self, client: &mut dyn Client, waiter: &Waiter) -> Result<(), SqlError> {
        for message in self.messages.drain(..) {
            if waiter.is_cancelled() {
                return Err(Abort::Cancelled.into());
            }
            message.tell(client)?;
        }
        Ok(())
    }

    /// Forgets that the statement is complete.
    pub(super) fn forget_tag(&mut self) {
        self.messages.pop_if(|last| matches!(last, Message::Complete(_)));
    }

    /// Tells it, whoever cancels.
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
