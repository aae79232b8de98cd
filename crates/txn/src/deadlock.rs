//! Locks, waits for them, and the deadlocks that the waits may form.

use hotrow_storage::{IndexId, IndexRef, Key, TableId};

/// The object that a lock protects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockTarget {
    /// The whole database.
    Database,
    /// A part of a table.
    Table {
        /// The table to which the part belongs.
        table: TableId,
        /// The kind of the part, and its index.
        part: LockPart,
        /// The key that identifies the part, for kinds of parts of which a table has many.
        key: Option<Key>,
    },
}

/// A part of a table that can be locked. The key that a variant mentions is the `key` of its [`LockTarget::Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPart {
    /// The table as a whole, with everything in it.
    Whole,
    /// The page with this number: all rows whose records lie in one segment of the table's memory.
    Page(u64),
    /// The row whose primary key is the key, whether or not there is such a row.
    Row,
    /// The gap below the entry of an ordered index that has the key; in a hash index, all rows with the key.
    Gap(IndexRef),
    /// The gap above an ordered index's last entry.
    End(IndexRef),
    /// One of the fixed number of sets into which hashing divides the absent rows of a table without an ordered index.
    Stripe,
    /// The key as a value of a unique index: a lock on it keeps other transactions from inserting rows with that value.
    Unique(IndexId),
}

/// An edge of a deadlock's cycle. It names the transaction that waits, the lock for which it waits, and the transaction
/// that blocks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitsFor {
    /// The label of the transaction that waits ([`Begin::label`](crate::Begin::label)).
    pub waiter: u32,
    /// The lock for which the transaction waits.
    pub target: LockTarget,
    /// The mode in which the transaction asks for the lock: `shared`, `exclusive` or `insert`;
    /// under a hierarchical lock manager also `intention shared` and its like.
    pub mode: &'static str,
    /// The label of the transaction that holds the lock, or asked for it earlier.
    pub blocker: u32,
}

/// A transaction that waits for a lock, for monitoring queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// The label of the transaction that waits ([`Begin::label`](crate::Begin::label)).
    pub waiter: u32,
    /// The lock for which the transaction waits.
    pub target: LockTarget,
    /// The mode in which the transaction asks for the lock: `shared`, `exclusive` or `insert`;
    /// under a hierarchical lock manager also `intention shared` and its like.
    pub mode: &'static str,
    /// The transactions that hold the lock in a mode that conflicts: the label of each, and that mode.
    pub holders: Vec<(u32, &'static str)>,
    /// The labels of the transactions that wait ahead of it, and will block it once they hold the lock.
    pub before: Vec<u32>,
}

/// A cycle of transactions that wait for each other, beginning with the victim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deadlock {
    /// The edges of the cycle. The blocker of each edge is the waiter of the next one, and the blocker of the last edge
    /// is the waiter of the first.
    pub waits: Vec<WaitsFor>,
}
