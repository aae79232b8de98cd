//! The limits on the size of a statement, and the counts that the binder keeps of its parts.

use crate::{SqlError, depth, state};
use hotrow_storage::TableId;

/// The maximum depth of nested expressions. A chain of AND or OR counts as one level.
const MAX_DEPTH: usize = 300;

/// The maximum number of FROM items of a statement.
const MAX_ITEMS: usize = 200;

/// The maximum number of set operations with two sides.
const MAX_NESTED_OPERATIONS: usize = 100;

/// The numbers of a statement's parts so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// The number of expressions around the one that is bound.
    depth: usize,
    /// The numbers of FROM items, of frames, and of set operations with two sides.
    items: usize,
    frames: usize,
    nested_operations: usize,
    /// The tables whose rows the queries of WITH that are bound so far update or delete. `early_scans` counts the scans
    /// of these tables that are bound after the change.
    pub(super) changed: Vec<TableId>,
    pub(super) early_scans: usize,
}

impl Counts {
    /// Opens a level of nesting for the expression that is bound next. The caller must close the level with
    /// [`leave`](Self::leave), also after an error.
    ///
    /// # Errors
    ///
    /// 54001 if it is nested too deeply, or too little of the stack is left.
    pub(super) fn enter(&mut self) -> Result<(), SqlError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(depth::too_deep()) } else { depth::check() }
    }

    /// Closes the level of nesting that was opened last, by [`enter`](Self::enter).
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Counts a FROM item.
    ///
    /// # Errors
    ///
    /// 54001 if the statement has too many of them.
    pub(super) fn item(&mut self) -> Result<(), SqlError> {
        self.items += 1;
        if self.items > MAX_ITEMS {
            let message = format!("a statement may have {MAX_ITEMS} FROM items at most");
            return Err(SqlError::new(state::STATEMENT_TOO_COMPLEX, message));
        }
        Ok(())
    }

    /// Counts a set operation with two sides.
    ///
    /// # Errors
    ///
    /// 54001 if the statement has too many of them.
    pub(super) fn nested_operation(&mut self) -> Result<(), SqlError> {
        self.nested_operations += 1;
        if self.nested_operations > MAX_NESTED_OPERATIONS { Err(depth::too_deep()) } else { Ok(()) }
    }

    /// Returns the number for another frame of the statement.
    pub(super) fn new_frame(&mut self) -> usize {
        self.frames += 1;
        self.frames
    }
}
