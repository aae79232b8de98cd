//! A check of the invariants, at a moment when no call of any transaction is under way.

use super::counters::Counters;
use super::critical::Core;
use super::queue::Ledger;
use crate::shared::counts::{self, Asked};
use hotrow_storage::{Database, Guard, RecordRef};

impl Core {
    /// Checks the queue, that running transactions do not conflict, and that the counters of all records and prefixes
    /// are the requests of the transactions in the queue. Transactions record their requests from the first audit on.
    /// If one in the queue began before that, only the queue is checked. `is_shared` says whether no transaction has
    /// the database alone: such a transaction counts no requests.
    pub(super) fn audit<C: Counters>(
        &self,
        database: &Database<C>,
        guard: Guard<'_>,
        is_shared: bool,
    ) -> Result<(), String> {
        let critical = self.enter();
        critical.queue.audit(self.slots())?;
        self.keep_ledgers();
        let ledgers: Option<Vec<Ledger>> = critical.queue.iter().map(|entry| self.slots().ledger(entry)).collect();
        let Some(ledgers) = ledgers else { return Ok(()) };
        let free = critical.queue.iter().zip(&ledgers).filter(|(entry, _)| !entry.is_blocked());
        counts::audit_free(free.map(|(_, ledger)| asked(ledger)))?;
        critical.prefixes.audit(ledgers.iter().map(|ledger| &ledger.prefixes[..]))?;
        let counts_of = |record: RecordRef<'_, C>| C::get(record.ptr(), guard);
        counts::audit_records(database, guard, ledgers.iter().map(asked), counts_of, is_shared)
    }
}

fn asked(ledger: &Ledger) -> Asked<'_> {
    Asked { rows: &ledger.rows, prefixes: &ledger.prefixes }
}
