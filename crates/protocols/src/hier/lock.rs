//! The identity of a lock.

use crate::shared::lock_table::Name;

/// A lock, as the manager finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    pub(super) name: Name,
    /// Whether the lock is on the database, a table or a page.
    pub(super) is_higher: bool,
}
