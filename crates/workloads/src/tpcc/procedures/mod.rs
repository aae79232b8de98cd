//! The five transactions.
//!
//! Locks are taken in one order by all that can: items, customers, stocks by warehouse and item, the district, what is
//! inserted, and last the warehouse, which everybody wants. A transaction that meets a row that should not be there, or
//! misses one that should, gives up with [`Abort::User`], and its client remembers.

mod by_name;
mod delivery;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

pub use by_name::Customer;
pub use delivery::{Delivered, Delivery};
pub use new_order::{Line, NewOrder, Ordered};
pub use order_status::{OrderState, OrderStatus};
pub use payment::{Paid, Payment};
pub use stock_level::StockLevel;

use hotrow_storage::{Key, RowMut, RowRef, TableId};
use hotrow_txn::{Abort, Transaction, Write};

/// Districts of a warehouse.
pub(super) const DISTRICTS: i32 = 10;

/// The least and the greatest number of an order's lines.
pub(super) const LINES_FEWEST: usize = 5;
pub(super) const LINES_MOST: usize = 15;

/// Blocks of row numbers of the history table: one a worker, and negative ones for the load.
pub(super) const ROW_IDS_PER_WORKER: i64 = 1 << 40;

/// A row that nobody deletes: if it is not there, it was lost.
#[inline]
fn found(row: Option<RowRef<'_>>) -> Result<RowRef<'_>, Abort> {
    row.ok_or(Abort::User)
}

/// A write that nothing but a lost or doubled row can refuse.
#[inline]
fn done(write: Write) -> Result<(), Abort> {
    match write {
        Write::Done => Ok(()),
        Write::Absent | Write::Duplicate(_) => Err(Abort::User),
    }
}

/// Changes a row that nobody deletes.
#[inline]
fn change<T: Transaction + ?Sized>(
    txn: &mut T,
    table: TableId,
    key: &Key,
    mut change: impl FnMut(&mut RowMut<'_>),
) -> Result<(), Abort> {
    let write = txn.update(table, key, &mut |row| {
        change(row);
        Ok(())
    })?;
    done(write)
}
