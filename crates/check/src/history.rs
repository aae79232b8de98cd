//! Histories: the operations of transactions, in the order in which they happened.

use hotrow_storage::{IndexRef, Key, TableId};
use hotrow_txn::{Abort, Isolation};
use std::fmt;
use std::ops::Bound;

/// The unique number of a write. Rows that were loaded have stamps that are not positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub i64);

/// The identity of a row, whether or not the row exists.
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

/// A version of an item that exists: its stamp, and its key in each of the table's secondary indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The stamp of the write that made it.
    pub stamp: Stamp,
    /// The version's key in each secondary index, in the schema's order.
    pub index_keys: Vec<Key>,
}

/// The range of an index that a scan asked for. As in a scan, a bound that is a prefix stands for all keys that begin
/// with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The table.
    pub table: TableId,
    /// The index.
    pub index: IndexRef,
    /// The lower bound of the range.
    pub lower: Bound<Key>,
    /// The upper bound of the range.
    pub upper: Bound<Key>,
}

impl Range {
    /// Makes the range of all keys of an index that equal `key`, or begin with it.
    pub fn at(table: TableId, index: IndexRef, key: Key) -> Self {
        Self { table, index, lower: Bound::Included(key.clone()), upper: Bound::Included(key) }
    }

    /// Whether a version of `item` lies in the range.
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

/// An operation of a transaction. It has succeeded, or at least has not aborted the transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The transaction looked at an item. It saw a version of the item, or that the item does not exist.
    Read {
        /// The item.
        item: Item,
        /// The version that was seen, or `None` if the item did not exist.
        seen: Option<Stamp>,
    },
    /// The transaction inserted an item that did not exist.
    Insert {
        /// The item.
        item: Item,
        /// The version that was made.
        made: Version,
    },
    /// The transaction looked at a version and replaced it by another.
    Update {
        /// The item.
        item: Item,
        /// The version that was there.
        replaced: Stamp,
        /// The version that was made.
        made: Version,
    },
    /// The transaction deleted an existing item; the version is not known.
    Delete {
        /// The item.
        item: Item,
    },
    /// The transaction scanned a range and saw these rows, and no others.
    Scan {
        /// The range, as far as the scan went.
        range: Range,
        /// The rows visited.
        seen: Vec<(Item, Stamp)>,
    },
    /// A unique index refused a write, because another row has this key already.
    Refused {
        /// The index, and the key as a range.
        range: Range,
    },
    /// The transaction rolled back to a savepoint. The writes that this undid hold its position in
    /// [`Event::undone_by`].
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

    /// Returns the version that this operation made, or `None` if it made none.
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

/// An operation of a transaction, and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The operation.
    pub operation: Operation,
    /// The time at which the call returned, as a position among all events of the history.
    pub at: u64,
    /// The rollback to a savepoint that undid this write, as a position in its transaction's events. `None` if the
    /// event is not a write, or was not undone.
    pub undone_by: Option<usize>,
}

/// The way in which a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The transaction's commit succeeded.
    Committed,
    /// The engine gave the transaction up for this reason.
    Aborted(Abort),
    /// The transaction's own code rolled it back, or dropped it.
    RolledBack,
}

/// A transaction of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The name of the session that ran the transaction, for people.
    pub session: String,
    /// The isolation level that the transaction asked for, and by which it is judged.
    pub isolation: Isolation,
    /// The transaction's operations, in their order.
    pub events: Vec<Event>,
    /// The time at which the transaction began, as a position among all events.
    pub began: u64,
    /// The time at which the transaction's commit or abort was called.
    pub ending: u64,
    /// The time at which that call returned.
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

/// The initial contents of a database, and the transactions that ran on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The rows that existed before the first transaction.
    pub initial: Vec<(Item, Version)>,
    /// The transactions, in the order in which they ended.
    pub transactions: Vec<Record>,
}
