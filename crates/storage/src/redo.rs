//! What a log is told: everything that makes up the committed state, in an order that gives it again.
//!
//! A database hands its records to one [`RedoSink`], if it has one. Those of tables come from the database itself, those of
//! transactions from the protocol: at each commit, and whatever the protocol is.
//!
//! **The order of a commit.** A protocol appends once it is certain that the transaction commits, and before anybody else
//! can build on what it changed; then it gives up whatever keeps others away; then it waits until the record is durable, and
//! only then says that the transaction is committed. So nobody waits for a disk under a lock, one write of the sink may serve
//! all who wait for it, and a sink that promises less (asynchronous commit) just does not wait.
//!
//! **Invariants**
//!
//! 1. No two records have the same [`End`], and of two transactions that change the same row the one whose change came later has
//!    the later end: applying the records in the order of their ends gives the committed state.
//! 2. A transaction that saw another one's changes appends after it. So what was appended until any moment is a state in
//!    which no transaction has seen what is not there: what is durable may end anywhere.
//! 3. A record holds what the transaction leaves behind: each row at most once, nothing of what was rolled back.
//! 4. A table's number is never used again. Its [`created`](RedoSink::created) comes before all other records of it,
//!    [`loaded`](RedoSink::loaded) before those of transactions, and [`dropped`](RedoSink::dropped) after all others: so they need no end.
//!
//! What a table is called, and which of two tables has a name after a rebuild, is not storage's to say, and in no record of
//! these: a table whose definition was rolled back is created and dropped like any other.

use crate::{Key, RowRef, TableId, TableSchema};
use hotrow_sync::Waiter;

/// What a transaction leaves of one row. Entries of secondary indexes follow from the rows.
#[derive(Clone, Debug)]
pub enum Change<'a> {
    /// This is the row with its primary key, whether or not there was one before.
    Put {
        /// The row's table.
        table: TableId,
        /// All of it.
        row: RowRef<'a>,
    },
    /// There is no row with this primary key, whether or not there was one before.
    Delete {
        /// The row's table.
        table: TableId,
        /// Its primary key.
        key: Key,
    },
}

/// A place in what was appended: who [waits](RedoSink::wait_durable) for it waits for all that was appended before, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u64);

/// What puts a transaction's record in its place among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It comes after all that were appended before: whoever builds on its changes can do so only after it is appended.
    Next,
    /// The protocol has a clock of its own, by which versions end: the order of the records is the order of these times.
    At(u64),
}

/// Who takes a database's records. The ends of a database's records are all of one kind.
///
/// **Thread safety.** All threads of the database call it, at any time.
pub trait RedoSink: Send + Sync {
    /// A table was made; nobody knows of it yet.
    fn created(&self, table: TableId, schema: &TableSchema);

    /// A row was put into a table that no transaction has used yet.
    fn loaded(&self, table: TableId, row: RowRef<'_>);

    /// A table is gone. Nobody used it any more.
    fn dropped(&self, table: TableId);

    /// Takes a transaction's changes, in any order. Where that needs room it may wait, but it does not fail; it does not wait
    /// for durability: the caller holds its locks.
    fn append(&self, end: End, changes: &mut dyn Iterator<Item = Change<'_>>, waiter: &Waiter) -> Position;

    /// The last position given: what a transaction asks that changed nothing, before it gives up its locks, as what it saw may not
    /// be durable yet.
    fn appended(&self) -> Position;

    /// Waits until everything up to `position` is durable, as far as the sink promises that. The caller holds no lock. A waiter that
    /// is cancelled does not wait longer; its transaction is committed all the same.
    fn wait_durable(&self, position: Position, waiter: &Waiter);
}
