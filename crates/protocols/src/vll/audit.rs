//! Whether the invariants hold, at a moment when no call of any transaction is under way.

use super::counters::{Counters, Counts};
use super::critical::Core;
use super::queue::Ledger;
use hotrow_storage::{Database, Guard};
use hotrow_txn::Access;
use std::collections::HashMap;
use std::ops::ControlFlow;

impl Core {
    /// Checks the queue, and that the counters of all records and prefixes are the requests of those who are in it. What
    /// these have asked for is known from the first audit on; those that began before make it look at the queue only.
    /// `is_shared` says that nobody has the database alone, in which records are not counted on.
    pub(super) fn audit<C: Counters>(
        &self,
        database: &Database<C>,
        guard: Guard<'_>,
        beside: &C::Beside,
        is_shared: bool,
    ) -> Result<(), String> {
        let critical = self.enter();
        critical.queue.audit(self.seats())?;
        self.keep_ledgers();
        let ledgers: Option<Vec<Ledger>> = critical.queue.iter().map(|entry| self.seats().ledger(entry)).collect();
        let Some(ledgers) = ledgers else { return Ok(()) };
        critical.prefixes.audit(ledgers.iter().map(|ledger| &ledger.prefixes[..]))?;
        let mut expected: HashMap<u64, Counts> = HashMap::new();
        for &(name, intent) in ledgers.iter().flat_map(|ledger| &ledger.rows) {
            let counts = expected.entry(name).or_insert(Counts::NONE);
            *counts = counts.with(intent).ok_or("a ledger is longer than a counter can count")?;
        }
        for table in database.tables(guard) {
            let mut wrong = None;
            table.records(guard, |record| {
                let requests =
                    expected.remove(&Access::name(table.id(), record.key().hash64())).unwrap_or(Counts::NONE);
                let counts = record.header().get(beside);
                let is_left_over = is_shared && counts == Counts::NONE && !record.is_present();
                if counts != requests || is_left_over {
                    wrong = Some((record.key(), counts, requests, is_left_over));
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            });
            if let Some((key, counts, requests, is_left_over)) = wrong {
                let name = &table.schema().name;
                return Err(match is_left_over {
                    true => format!("{name} {key:?} has no row, nobody counts on it, and it is still there"),
                    false => format!("{name} {key:?} is counted {counts:?}, its requests are {requests:?}"),
                });
            }
        }
        match expected.values().find(|&&counts| counts != Counts::NONE) {
            Some(counts) => Err(format!("a record that has been asked for, {counts:?}, is not there")),
            None => Ok(()),
        }
    }
}
