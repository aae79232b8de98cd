//! How much memory the process may have, and what is refused beyond.
//!
//! A statement that writes is refused when as much is [in use](hotrow_sync::meter) as there may be. If its table has room left by rows that
//! were deleted it may take a sixteenth more, for the texts and index entries that come with rows. What a statement keeps for its client
//! or for itself (a result, rows to sort), and what a client sends, may take an eighth more, so that reads go on. What gives memory
//! back (DELETE, ROLLBACK, DROP) is never asked.

use crate::{SqlError, state};
use hotrow_sync::meter;

/// How much memory the process may have. Asking costs a load and a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    bytes: usize,
    /// With the margin of rows that take the place of others.
    rows_bytes: usize,
    /// With the margin of what does not last.
    reads_bytes: usize,
}

impl MemoryLimit {
    /// As much as there is.
    pub const NONE: Self = Self { bytes: usize::MAX, rows_bytes: usize::MAX, reads_bytes: usize::MAX };

    /// So many bytes.
    pub fn new(bytes: usize) -> Self {
        let rows_bytes = bytes.saturating_add(bytes / 16);
        Self { bytes, rows_bytes, reads_bytes: bytes.saturating_add(bytes / 8) }
    }

    /// The bytes, if there is a limit.
    pub fn bytes(self) -> Option<usize> {
        (self != Self::NONE).then_some(self.bytes)
    }

    /// 53200 if there is no memory for something that does not last.
    #[inline]
    pub fn check(self) -> Result<(), SqlError> {
        if meter::used_bytes() >= self.reads_bytes { Err(self.exceeded()) } else { Ok(()) }
    }

    /// 53200 if there is none for a row; `has_room` says whether its table has room in what it has already.
    #[inline]
    pub(crate) fn check_write(self, has_room: impl FnOnce() -> bool) -> Result<(), SqlError> {
        if meter::used_bytes() >= self.bytes { self.check_room(has_room) } else { Ok(()) }
    }

    #[cold]
    fn check_room(self, has_room: impl FnOnce() -> bool) -> Result<(), SqlError> {
        if meter::used_bytes() < self.rows_bytes && has_room() { Ok(()) } else { Err(self.exceeded()) }
    }

    #[cold]
    fn exceeded(self) -> SqlError {
        let (used, limit) = (megabytes(meter::used_bytes()), megabytes(self.bytes));
        SqlError::new(state::OUT_OF_MEMORY, "out of memory")
            .detail(format!("The server has {used} MB in use, and its limit is {limit} MB."))
            .hint(
                "Delete rows of this table, drop or truncate tables, or start the server with a larger --memory-limit.",
            )
    }
}

impl Default for MemoryLimit {
    fn default() -> Self {
        Self::NONE
    }
}

fn megabytes(bytes: usize) -> usize {
    bytes >> 20
}
