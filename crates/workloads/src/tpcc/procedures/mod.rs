//! The five transactions.
//!
//! As far as possible, all transactions take locks in one order: items, customers, stocks by warehouse and item, the
//! district, the inserted rows, and last the warehouse, which is contended most. If a transaction meets a row that
//! should not exist, or misses a row that should, it gives up with [`Abort::User`], and its client records that.

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

/// The number of districts of a warehouse.
pub(super) const DISTRICTS: i32 = 10;

/// The least and the greatest number of lines of an order.
pub(super) const LINES_FEWEST: usize = 5;
pub(super) const LINES_MOST: usize = 15;

/// The number of row numbers of the history table that each worker has. The load uses negative numbers.
pub(super) const ROW_IDS_PER_WORKER: i64 = 1 << 40;

/// Returns a row that no transaction deletes, or an error if it does not exist, because it was lost.
#[inline]
fn found(row: Option<RowRef<'_>>) -> Result<RowRef<'_>, Abort> {
    row.ok_or(Abort::User)
}

/// Checks a write that succeeds unless a row was lost or exists twice.
#[inline]
fn done(write: Write) -> Result<(), Abort> {
    match write {
        Write::Done => Ok(()),
        Write::Absent | Write::Duplicate(_) => Err(Abort::User),
    }
}

/// Changes a row that no transaction deletes.
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
