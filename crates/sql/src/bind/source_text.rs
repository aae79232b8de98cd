//! The text of a statement, as far as the binder needs it.

use super::query::Stars;
use crate::{SqlError, parse};
use sqlparser::tokenizer::Location;

/// The text of the statement that is bound. The queries of views and the expressions of stored definitions have none.
#[derive(Debug, Default)]
pub(super) struct SourceText<'a> {
    /// The text, in which errors give positions.
    pub(super) text: &'a str,
    /// The number of characters before the statement in the client's message.
    offset: u32,
    /// The columns for which each `*` of the statement stands, by the position of the `*` in the text. `None` if the
    /// caller does not need them.
    pub(super) stars: Option<Stars>,
}

impl<'a> SourceText<'a> {
    /// Makes the text of a statement that `offset` characters precede in the client's message.
    pub(super) fn new(text: &'a str, offset: u32) -> Self {
        Self { text, offset, stars: None }
    }

    /// Gives an error a position in the client's message, unless it has one. Without a text, no position would mean
    /// anything.
    pub(super) fn locate(&self, error: SqlError, at: Location) -> SqlError {
        if error.position.is_some() || self.text.is_empty() {
            return error;
        }
        match parse::position(self.text, at) {
            Some(position) => error.at(position + self.offset),
            None => error,
        }
    }
}
