//! Histories: the operations of transactions, in the order in which they happened.

use hotrow_storage::{IndexRef, Key, TableId};
use hotrow_txn::{Abort, Isolation};
use std::fmt;
use std::ops::Bound;

/// The number of a version of a row. Each write has its own, which is positive. Rows that existed before the first
/// transaction have a stamp of zero or less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub i64);

/// The identity of a row: its table and primary key, whether or not the row exists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item {
    /// The row's table.
    pub table: TableId,
    /// The row's primary key.
    pub key: Key,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.table.0, KeyName(&self.key))
    }
}

struct KeyName<'a>(&'a Key);

impl fmt::Display for KeyName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Key::Int(int) => write!(f, "{int}"),
            other => other.bytes().unwrap_or_default().iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

/// A version of an item, as a write has made it: its stamp, and its key in each of the table's secondary indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The stamp of the write that made the version.
    pub stamp: Stamp,
    /// The version's key in each secondary index, in the order of the table's schema.
    pub index_keys: Vec<Key>,
}

/// A range of keys in an index, as a scan asks for it. A bound may be a prefix of keys: then it includes or excludes
/// all keys that begin with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The table.
    pub table: TableId,
    /// The index of the table to which the keys belong.
    pub index: IndexRef,
    /// The lower bound of the range.
    pub lower: Bound<Key>,
    /// The upper bound of the range.
    pub upper: Bound<Key>,
}

impl Range {
    /// Makes the range of all keys of an index that equal `key` or begin with it.
    pub fn at(table: TableId, index: IndexRef, key: Key) -> Self {
        Self { table, index, lower: Bound::Included(key.clone()), upper: Bound::Included(key) }
    }

    /// Whether `version`, which is a version of `item`, lies in the range by its key in the range's index.
    pub fn contains(&self, item: &Item, version: &Version) -> bool {
        let key = match self.index {
            IndexRef::Primary => Some(&item.key),
            IndexRef::Secondary(index) => version.index_keys.get(usize::from(index.0)),
        };
        self.table == item.table && key.is_some_and(|key| !self.is_above(key) && !self.is_below(key))
    }

    /// Whether all keys of the range come after `key`.
    pub(crate) fn is_above(&self, key: &Key) -> bool {
        match &self.lower {
            Bound::Included(lower) => key < lower,
            Bound::Excluded(lower) => key <= lower || key.starts_with(lower),
            Bound::Unbounded => false,
        }
    }

    /// Whether all keys of the range come before `key`.
    pub(crate) fn is_below(&self, key: &Key) -> bool {
        match &self.upper {
            Bound::Included(upper) => key > upper && !key.starts_with(upper),
            Bound::Excluded(upper) => key >= upper,
            Bound::Unbounded => false,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            IndexRef::Primary => write!(f, "table {} by its key ", self.table.0)?,
            IndexRef::Secondary(index) => write!(f, "table {} by index {} ", self.table.0, index.0)?,
        }
        match &self.lower {
            Bound::Included(key) => write!(f, "[{}, ", KeyName(key))?,
            Bound::Excluded(key) => write!(f, "({}, ", KeyName(key))?,
            Bound::Unbounded => f.write_str("(.., ")?,
        }
        match &self.upper {
            Bound::Included(key) => write!(f, "{}]", KeyName(key)),
            Bound::Excluded(key) => write!(f, "{})", KeyName(key)),
            Bound::Unbounded => f.write_str("..)"),
        }
    }
}

/// An operation that a transaction has made. Operations that aborted their transaction are not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The transaction read an item: it saw a version of the item, or that the item does not exist.
    Read {
        /// The item.
        item: Item,
        /// The stamp of the version that the transaction saw, or `None` if the item did not exist.
        seen: Option<Stamp>,
    },
    /// The transaction inserted an item that did not exist.
    Insert {
        /// The item.
        item: Item,
        /// The version that the insert made.
        made: Version,
    },
    /// The transaction read a version of an item and replaced it by a new one.
    Update {
        /// The item.
        item: Item,
        /// The stamp of the version that the transaction read and replaced.
        replaced: Stamp,
        /// The version that the update made.
        made: Version,
    },
    /// The transaction deleted an existing item. It is not known which version the item had.
    Delete {
        /// The item.
        item: Item,
    },
    /// The transaction scanned a range and saw exactly the rows in `seen`.
    Scan {
        /// The range, up to the row at which the scan was stopped.
        range: Range,
        /// The rows that the scan saw, each with the stamp of its version.
        seen: Vec<(Item, Stamp)>,
    },
    /// A unique index refused an insert or update, because another row had the key. Nothing was written, and the
    /// transaction continued.
    Refused {
        /// The index that refused the write, and the key as a range.
        range: Range,
    },
    /// The transaction rolled back to a savepoint. [`Event::undone_by`] of each write that this undid refers to this
    /// event.
    RolledBack,
}

impl Operation {
    /// Returns the item that this operation wrote, or `None` if it is not a write.
    pub fn written(&self) -> Option<&Item> {
        match self {
            Operation::Insert { item, .. } | Operation::Update { item, .. } | Operation::Delete { item } => Some(item),
            Operation::Read { .. } | Operation::Scan { .. } | Operation::Refused { .. } | Operation::RolledBack => None,
        }
    }

    /// Returns the version that this operation made, or `None` if it is neither an insert nor an update.
    pub fn made(&self) -> Option<&Version> {
        match self {
            Operation::Insert { made, .. } | Operation::Update { made, .. } => Some(made),
            _ => None,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Read { item, seen: Some(stamp) } => write!(f, "reads {item} and sees v{}", stamp.0),
            Operation::Read { item, seen: None } => write!(f, "reads {item} and finds nothing"),
            Operation::Insert { item, made } => write!(f, "inserts {item} as v{}", made.stamp.0),
            Operation::Update { item, replaced, made } => {
                write!(f, "updates {item} from v{} to v{}", replaced.0, made.stamp.0)
            }
            Operation::Delete { item } => write!(f, "deletes {item}"),
            Operation::Scan { range, seen } => {
                write!(f, "scans {range} and sees")?;
                seen.iter().try_for_each(|(item, stamp)| write!(f, " {item} v{}", stamp.0))?;
                if seen.is_empty() { f.write_str(" nothing") } else { Ok(()) }
            }
            Operation::Refused { range } => write!(f, "is refused, for there is a row in {range}"),
            Operation::RolledBack => f.write_str("rolls back to a savepoint"),
        }
    }
}

/// An operation of a transaction, with its time, and whether it was undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The operation.
    pub operation: Operation,
    /// The time at which the call returned. All times of a history are positions in one order of its events.
    pub at: u64,
    /// The position, in the transaction's events, of the [rollback to a savepoint](Operation::RolledBack) that undid
    /// this write. `None` if the event is not a write, or was not undone.
    pub undone_by: Option<usize>,
}

/// The way in which a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The transaction's commit succeeded.
    Committed,
    /// The engine aborted the transaction for this reason.
    Aborted(Abort),
    /// The transaction's own code rolled it back, or dropped it without a commit.
    RolledBack,
}

/// A transaction of a history: its operations, its times and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The name of the session that ran the transaction, for messages.
    pub session: String,
    /// The isolation level that the transaction asked for, and at which [`check`](fn@crate::check) judges it.
    pub isolation: Isolation,
    /// The transaction's operations, in the order in which they were made.
    pub events: Vec<Event>,
    /// The time at which the transaction began.
    pub began: u64,
    /// The time at which the transaction's commit or abort was called.
    pub ending: u64,
    /// The time at which the call of commit or abort returned.
    pub ended: u64,
    /// The way in which the transaction ended.
    pub outcome: Outcome,
}

impl Record {
    /// Whether the transaction committed.
    pub fn is_committed(&self) -> bool {
        self.outcome == Outcome::Committed
    }

    /// Iterates over the transaction's writes that were not undone.
    pub fn writes(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| event.operation.written().is_some() && event.undone_by.is_none())
    }
}

/// A history: the initial rows of a database, and the transactions that ran on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The rows that existed before the first transaction.
    pub initial: Vec<(Item, Version)>,
    /// The transactions, in the order in which they ended.
    pub transactions: Vec<Record>,
}
