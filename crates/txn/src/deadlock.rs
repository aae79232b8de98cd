//! What a deadlock's victim is told.

use hotrow_storage::{IndexId, IndexRef, Key, TableId};

/// What a lock protects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockTarget {
    /// Everything.
    Database,
    /// A part of a table.
    Table {
        /// The table.
        table: TableId,
        /// Which part.
        part: LockPart,
        /// The key that says which one, of parts that there are many of.
        key: Option<Key>,
    },
}

/// The things of a table that can be locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockPart {
    /// The row with the primary key `key`, present or absent.
    Row,
    /// The gap below the entry of an ordered index whose key is `key`; of a hash index, all rows with that key.
    Gap(IndexRef),
    /// The gap above an ordered index's last entry.
    End(IndexRef),
    /// A share of the rows that are not there, of a table without an ordered index.
    Stripe,
    /// The right to have the columns `key` in a unique index.
    Unique(IndexId),
}

/// One edge of a deadlock's cycle: who waits, what for, and who is in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitsFor {
    /// The label of the transaction that waits ([`Begin::label`](crate::Begin::label)).
    pub waiter: u32,
    /// What it waits for.
    pub target: LockTarget,
    /// The mode in which it wants it: `shared`, `exclusive` or `insert`.
    pub mode: &'static str,
    /// The label of the transaction that holds it, or asked for it before.
    pub blocker: u32,
}

/// A transaction that waits for a lock, as somebody finds it who looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// The label of the transaction that waits ([`Begin::label`](crate::Begin::label)).
    pub waiter: u32,
    /// What it waits for.
    pub target: LockTarget,
    /// The mode in which it wants it: `shared`, `exclusive` or `insert`.
    pub mode: &'static str,
    /// The labels of those that hold it in a mode that conflicts, with the modes.
    pub holders: Vec<(u32, &'static str)>,
    /// The labels of those that wait before it, and will be in its way when they hold it.
    pub before: Vec<u32>,
}

/// A cycle of transactions that wait for each other, beginning with the victim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deadlock {
    /// Each edge begins where the one before it ends, the first one where the last one ends.
    pub waits: Vec<WaitsFor>,
}
