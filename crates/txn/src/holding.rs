//! Reads and tables that stay unchanged until the end of a transaction, for constraints and DDL.

use crate::Abort;
use hotrow_storage::{Key, TableId};

/// The reason why no other transaction uses a table that a transaction owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The table is locked as a whole.
    Locked,
    /// The table was made for the transaction: other transactions see it after the commit.
    New,
}

/// Keeps reads and tables unchanged until a transaction's end, whatever the transaction's isolation level: the reads
/// that a constraint between rows depends on, and the tables that DDL works on.
pub trait Holding {
    /// Begins to hold reads, or stops holding them. While a transaction holds its reads, they are as at serializable:
    /// the rows that it reads, and the keys and ranges in which it finds no row, stay unchanged until its end.
    ///
    /// A transaction begins without holding its reads. If it stops holding, the reads that it made while it held remain
    /// held. If an engine keeps reads unchanged at every level, the call does nothing.
    fn hold_reads(&mut self, hold: bool);

    /// Returns whether there is a row with this primary key. If the row exists, no other transaction deletes it before
    /// this transaction's end. If it does not exist, the answer holds as after a read: at serializable, no other
    /// transaction inserts the row before this transaction's end.
    ///
    /// Other transactions may change the row's other columns. If the engine can tell such a change from a delete,
    /// neither transaction waits for the other.
    fn hold_row(&mut self, table: TableId, key: &Key) -> Result<bool, Abort>;

    /// Promises that the caller keeps all other transactions off `table` until this transaction's end: the engine need
    /// not lock the table's rows.
    ///
    /// If a transaction reads a snapshot that is older than a [new](Ownership::New) table, it fails with
    /// [`Abort::TableChanged`], rather than see an empty table.
    fn own_table(&mut self, table: TableId, ownership: Ownership);

    /// Checks that the transaction sees the newest content of a table that it [owns](Self::own_table), and not an older
    /// snapshot. DDL calls this before it replaces the table, or builds an index, from the rows that the transaction
    /// reads.
    ///
    /// # Errors
    /// [`Abort::TableChanged`] if the transaction reads a snapshot, and other transactions have changed rows of the
    /// table since then.
    fn check_owned_table(&mut self, table: TableId) -> Result<(), Abort>;
}
