//! The state that the transactions of one database share.

use super::clock::Clock;
use super::database::Database;
use super::garbage::{Due, Sweeper};
use super::transactions::Transactions;
use super::txn_id::SlotNumber;
use hotrow_storage::{Garbage, Guard};
use hotrow_sync::{Arc, Mutex};

/// The state that all transactions of one database share.
pub(super) struct Shared {
    pub clock: Clock,
    pub transactions: Transactions,
    /// The mutex that a transaction holds while it looks for deadlocks.
    pub detector: Mutex<()>,
    /// The greatest number of read locks on one version.
    pub read_locks: u8,
}

impl Shared {
    pub fn new(read_locks: u8) -> Arc<Self> {
        let (clock, transactions, detector) = (Clock::new(), Transactions::new(), Mutex::new(()));
        Arc::new(Self { clock, transactions, detector, read_locks })
    }

    /// Collects garbage after a transaction has ended, if that is due: puts the versions that it ended into its slot's
    /// backlog, and unlinks versions that no transaction can read. Appends to `garbage` the versions and the parts of
    /// indexes that the caller retires.
    #[inline]
    pub fn sweep(
        &self,
        sweeper: &mut Sweeper,
        slot: SlotNumber,
        database: &Database,
        guard: Guard<'_>,
        garbage: &mut Vec<Garbage>,
    ) {
        let transactions = &self.transactions;
        let Some(due) = sweeper.count_transaction(transactions.slots()) else { return };
        if due == Due::LookAndSweep {
            sweeper.look_around(&self.clock, || transactions.snapshots());
        }
        sweeper.sweep(&transactions.slot(slot).backlog, due);
        if let Some(other) = sweeper.next_visit(due, |slot| transactions.after(slot)).filter(|&other| other != slot) {
            sweeper.visit(&transactions.slot(other).backlog);
        }
        sweeper.unlink(database, guard, garbage);
    }
}
