//! The records for a log: everything that makes up the committed state, in an order that reproduces it.
//!
//! A database hands its records to one [`RedoSink`], if it has one. The database itself produces the records of tables.
//! The protocol, whichever it is, produces the records of transactions, at each commit.
//!
//! **The order of a commit.** Once it is certain that the transaction commits, and before any other transaction can
//! build on its changes, the protocol appends the record. Then it releases everything that keeps other transactions
//! away. Then it waits until the record is durable, and only then reports the transaction as committed. So no
//! transaction waits for a disk while it holds a lock, and one write of the sink may serve all that wait for it. A sink
//! that promises less (asynchronous commit) just does not wait.
//!
//! **Invariants**
//!
//! 1. No two records have the same [`End`]. Of two transactions that change the same row, the one whose change came
//!    later has the later end. So applying the records in the order of their ends gives the committed state.
//! 2. A transaction that saw another one's changes appends after it. So the records that were appended until any moment
//!    form a state in which no transaction has seen a change that is missing: the durable part may end anywhere.
//! 3. A record holds the final effects of the transaction: each row at most once, and nothing that was rolled back.
//! 4. A table's number is never reused. Its [`created`](RedoSink::created) comes before all its other records,
//!    [`loaded`](RedoSink::loaded) before those of transactions, and [`dropped`](RedoSink::dropped) after all others.
//!    So these records need no end.
//!
//! A table's name, and which of two tables has the name after a rebuild, is not known to storage and is not in these
//! records. A table whose definition was rolled back is created and dropped like any other.

use crate::{Key, RowRef, TableId, TableSchema};
use hotrow_sync::Waiter;
use std::fmt;

/// The final effect of a transaction on one row. Entries of secondary indexes follow from the rows.
#[derive(Clone, Debug)]
pub enum Change<'a> {
    /// After the transaction there is this row with its primary key, whether or not there was one before.
    Put {
        /// The row's table.
        table: TableId,
        /// The whole row.
        row: RowRef<'a>,
    },
    /// After the transaction there is no row with this primary key, whether or not there was one before.
    Delete {
        /// The row's table.
        table: TableId,
        /// The row's primary key.
        key: Key,
    },
}

/// A position in the sequence of appended records. A caller that [waits](RedoSink::wait_durable) for it waits for all
/// earlier records, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u64);

/// The place of a transaction's record in the order in which records must be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The record comes after all records that were appended before. Other transactions can build on its changes only
    /// after it is appended.
    Next,
    /// The record's place is this time on the protocol's own clock, whatever the order of the appends.
    At(u64),
}

/// The error of a wait for durability: the log has failed. Whether the record is durable is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogFailed;

impl fmt::Display for LogFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the log has failed, so it is not known whether the transaction is durable")
    }
}

impl std::error::Error for LogFailed {}

/// The reason why transactions may not change anything at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The disk is full. The refusal ends by itself when the disk has room again.
    Full,
    /// The log has failed. The refusal lasts until the database is opened again.
    Failed,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Full => "the disk of the log is full",
            Refusal::Failed => "the log has failed",
        })
    }
}

impl std::error::Error for Refusal {}

/// The receiver of a database's redo records. Either all records with changes of one table's rows have an
/// [`End::Next`], or all have an [`End::At`]. Of two records with changes of the same row, the later one is appended
/// later.
///
/// **Thread safety.** Any thread of the database may call any method, at any time.
pub trait RedoSink: Send + Sync {
    /// Records that a table was made. No transaction knows of it yet.
    fn created(&self, table: TableId, schema: &TableSchema);

    /// Records that a row was loaded into a table that no transaction has used yet.
    fn loaded(&self, table: TableId, row: RowRef<'_>);

    /// Records that a table was dropped. No transaction used the table any more.
    fn dropped(&self, table: TableId);

    /// Appends the record of a transaction's changes, which are in any order. Returns the record's position. The call
    /// may wait for room, but it does not fail. It does not wait for durability, since the caller holds the
    /// transaction's locks.
    fn append(&self, end: End, changes: &mut dyn Iterator<Item = Change<'_>>, waiter: &Waiter) -> Position;

    /// Returns the position of the last record that was appended. A transaction that changed nothing asks for it before
    /// it releases its locks, as the changes that it saw may not be durable yet.
    fn appended(&self) -> Position;

    /// Waits until all records up to `position` are durable, as far as the sink promises that. The caller holds no
    /// lock. Cancelling the waiter does not end the wait, as its transaction is committed all the same. The exception
    /// is a full disk: since it is not known when the records can be written, the wait then ends with an error.
    ///
    /// # Errors
    /// If the log has failed before the records were durable, or if the waiter was cancelled while the disk is full.
    /// The transaction stays committed in memory; whether it will be there after a restart is not known.
    fn wait_durable(&self, position: Position, waiter: &Waiter) -> Result<(), LogFailed>;

    /// Checks that transactions may begin to change something now. An engine calls this before the first change of a
    /// transaction; a transaction that has changed something may go on and commit. The call is cheap and does not wait.
    ///
    /// # Errors
    /// The reason why no transaction may begin to change something.
    fn admits(&self) -> Result<(), Refusal>;
}
