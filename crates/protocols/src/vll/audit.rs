//! Whether the invariants hold, at a moment when no call of any transaction is under way.

use super::counters::{Counters, Counts};
use super::critical::Core;
use super::queue::Ledger;
use crate::shared::range_locks::PrefixCounters;
use hotrow_storage::{Database, Guard};
use hotrow_txn::Access;
use std::collections::HashMap;
use std::ops::ControlFlow;

impl Core {
    /// Checks the queue, that those who run are not in each other's way, and that the counters of all records and prefixes are
    /// the requests of those who are in the queue. What
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
        // Whoever waits for room has looked its rows up already.
        let is_all_counted = is_shared && !critical.queue.is_waited_for();
        self.keep_ledgers();
        let ledgers: Option<Vec<Ledger>> = critical.queue.iter().map(|entry| self.seats().ledger(entry)).collect();
        let Some(ledgers) = ledgers else { return Ok(()) };
        let free = critical.queue.iter().zip(&ledgers).filter(|(entry, _)| !entry.is_blocked());
        audit_free(free.map(|(_, ledger)| ledger))?;
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
                let is_left_over = is_all_counted && counts == Counts::NONE && !record.is_present();
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

/// Checks that no two of those who run have asked for what conflicts.
fn audit_free<'l>(free: impl Iterator<Item = &'l Ledger>) -> Result<(), String> {
    let mut rows: HashMap<u64, Counts> = HashMap::new();
    let mut prefixes = PrefixCounters::default();
    for ledger in free {
        let held = |name: &u64| rows.get(name).copied().unwrap_or(Counts::NONE);
        if let Some((_, intent)) = ledger.rows.iter().find(|(name, intent)| held(name).conflicts(*intent)) {
            return Err(format!("two transactions run that have asked for one record, the second one to {intent:?} it"));
        }
        if prefixes.would_conflict(&[], &ledger.prefixes) {
            return Err("two transactions run that have asked for ranges that conflict".to_owned());
        }
        for &(name, intent) in &ledger.rows {
            let counts = rows.entry(name).or_insert(Counts::NONE);
            *counts = counts.with(intent).ok_or("a ledger is longer than a counter can count")?;
        }
        prefixes.request(&ledger.prefixes).map_err(|error| error.to_string())?;
    }
    Ok(())
}
