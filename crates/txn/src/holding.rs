//! What a transaction keeps as it is, for constraints and DDL.

use crate::Abort;
use hotrow_storage::{Key, TableId};

/// Why no other transaction uses a table that a transaction owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The table is locked as a whole.
    Locked,
    /// The table was made for the transaction: others get to know of it when the transaction has committed.
    New,
}

/// What stays as it is until a transaction's end, whatever the transaction's level: reads that a constraint between
/// rows depends on, and tables that DDL works on.
pub trait Holding {
    /// Begins to hold reads, or no longer does. While a transaction holds its reads, what it reads and what it looks
    /// for in vain, by key or in a range, stays as it is until the transaction's end, as at serializable.
    ///
    /// A transaction begins without holding its reads. To stop holding does not let go of what was read meanwhile. An
    /// engine whose reads stay as they are at every level has nothing to do.
    fn hold_reads(&mut self, hold: bool);

    /// Returns whether there is a row with this primary key. If there is one, no other transaction deletes it before
    /// this transaction's end; if there is none, none comes before that at serializable, as after a read.
    ///
    /// The row's other columns may change, and where an engine can tell the two apart neither transaction waits for the
    /// other.
    fn hold_row(&mut self, table: TableId, key: &Key) -> Result<bool, Abort>;

    /// Promises that the caller keeps all other transactions off `table` until this transaction's end: the engine need
    /// not lock the table's rows.
    ///
    /// A transaction that reads as of a moment before a [new](Ownership::New) table was there fails with
    /// [`Abort::TableChanged`], rather than see an empty table.
    fn own_table(&mut self, table: TableId, ownership: Ownership);

    /// Checks that what the transaction reads in a table that it owns is the table's present content, so that something
    /// made of it can be put in the table's place.
    ///
    /// # Errors
    /// [`Abort::TableChanged`]: the transaction reads as of a moment since when others have changed rows of the table.
    fn check_owned_table(&mut self, table: TableId) -> Result<(), Abort>;
}
