//! Where the results of a statement go, and its command tag.

use crate::SqlError;
use crate::client::{Client, OutputColumn};
use hotrow_storage::Value;
use std::io::Write;

/// Where a statement's results go.
pub(super) struct Output<'c> {
    pub(super) client: &'c mut dyn Client,
    /// Whether the columns are to be announced.
    describe: bool,
    /// Whether an implicit transaction is to be committed before the statement is said to be complete.
    pub(super) commit: bool,
    /// Whether the client has been sent something, or has sent data that it cannot be asked for again.
    pub(super) sent: bool,
}

impl<'c> Output<'c> {
    /// Makes the output of a statement of the simple protocol. `last` says whether it is the last of its query string.
    pub(super) fn simple(client: &'c mut dyn Client, last: bool) -> Self {
        Self { client, describe: true, commit: last, sent: false }
    }

    /// Makes the output of a statement of the extended protocol, whose client describes columns and commits separately.
    pub(super) fn extended(client: &'c mut dyn Client) -> Self {
        Self { client, describe: false, commit: false, sent: false }
    }

    /// Makes an output that describes the same columns but holds its messages back in `held` and does not commit.
    pub(super) fn holding<'h>(&self, held: &'h mut dyn Client) -> Output<'h> {
        Output { client: held, describe: self.describe, commit: false, sent: false }
    }

    pub(super) fn columns(&mut self, columns: Option<&[OutputColumn]>) -> Result<(), SqlError> {
        if let Some(columns) = columns
            && self.describe
        {
            self.describe = false;
            self.sent = true;
            self.client.columns(columns)?;
        }
        Ok(())
    }

    pub(super) fn row(&mut self, columns: Option<&[OutputColumn]>, values: &[Value<'_>]) -> Result<(), SqlError> {
        self.columns(columns)?;
        self.sent = true;
        self.client.row(values)
    }
}

/// The command tag of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Word(&'static str),
    /// A word and the number of rows.
    Rows(&'static str, u64),
    /// The tag has been sent already.
    Sent,
}

impl Tag {
    pub(super) fn tell(self, client: &mut dyn Client) -> Result<(), SqlError> {
        match self {
            Tag::Sent => Ok(()),
            Tag::Word(word) => client.complete(word),
            Tag::Rows(word, rows) => {
                // Long enough for any word of ours and twenty digits: no allocation for a tag.
                let mut buffer = [0; 48];
                let mut rest = &mut buffer[..];
                let written = write!(rest, "{word} {rows}");
                let left = rest.len();
                let text = std::str::from_utf8(&buffer[..48 - left]).unwrap_or(word);
                debug_assert!(written.is_ok(), "a tag fits its buffer");
                client.complete(text)
            }
        }
    }
}
