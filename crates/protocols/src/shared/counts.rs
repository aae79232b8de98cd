//! The counters of records: how many transactions have asked for a record exclusively, and how many shared.
//!
//! **Source.** VLL: A Lock Manager Redesign for Main Memory Database Systems, §2.1.
//!
//! One thread at a time reads and writes the counters: the thread that is in the critical section, or has the baton of
//! a partition. So the accesses are plain loads and stores of atomics, and both counters together are one [`Counts`].
//!
//! **Invariants**
//!
//! 1. A counter is the number of requests for its record that were counted ([`count`]) and neither [taken
//!    back](take_back) nor [given back](discount).
//! 2. A record is *dead* once it is decided that it will be unlinked: it has no row, and no transaction counts on it,
//!    then or later.
//! 3. No counter overflows: a request that would is refused.

use super::range_locks::{Counted, PrefixCounters};
use crate::shared::hashed::HashMap;
use hotrow_storage::{Database, Guard, RecordHeader, RecordRef};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_txn::{Access, Intent};
use std::ops::ControlFlow;

/// The numbers of exclusive requests (C_X) and of shared requests (C_S) for one record that are counted now, granted or
/// not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Counts(u64);

/// The value that one exclusive request adds.
const EXCLUSIVE: u64 = 1 << 32;

/// The greatest count. One more would be the mark of a dead record.
const MOST: u32 = u32::MAX - 1;

impl Counts {
    /// The counters of a record that no transaction has asked for.
    pub(crate) const NONE: Counts = Counts(0);

    /// The mark of a record that has been taken out of its table, so that nothing can be asked for any more.
    pub(crate) const DEAD: Counts = Counts(u64::MAX);

    pub(crate) fn new(exclusive: u32, shared: u32) -> Self {
        Counts(u64::from(exclusive) << 32 | u64::from(shared))
    }

    /// Returns C_X, the number of exclusive requests.
    #[inline]
    pub(crate) fn exclusive(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns C_S, the number of shared requests.
    #[inline]
    pub(crate) fn shared(self) -> u32 {
        self.0 as u32
    }

    /// Whether a request that comes now conflicts with an earlier one that is counted.
    #[inline]
    pub(crate) fn conflicts(self, intent: Intent) -> bool {
        match intent {
            Intent::Read => self.exclusive() > 0,
            Intent::Write => self != Self::NONE,
        }
    }

    /// Returns the counters with one more request, or `None` if there are as many as can be counted.
    #[inline]
    pub(crate) fn with(self, intent: Intent) -> Option<Self> {
        let (count, one) = match intent {
            Intent::Read => (self.shared(), 1),
            Intent::Write => (self.exclusive(), EXCLUSIVE),
        };
        (count < MOST).then_some(Counts(self.0.wrapping_add(one)))
    }

    /// Returns the counters with one request less.
    #[inline]
    pub(crate) fn without(self, intent: Intent) -> Self {
        debug_assert!(self != Self::DEAD, "a record that somebody counts on is not dead");
        match intent {
            Intent::Read => {
                debug_assert!(self.shared() > 0, "given back more often than asked for");
                Counts(self.0 - 1)
            }
            Intent::Write => {
                debug_assert!(self.exclusive() > 0, "given back more often than asked for");
                Counts(self.0 - EXCLUSIVE)
            }
        }
    }
}

impl std::fmt::Debug for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::DEAD {
            return f.write_str("dead");
        }
        write!(f, "C_X {} C_S {}", self.exclusive(), self.shared())
    }
}

/// The header with a record's counters. They stand before the record, so the cache miss that brings its lock brings its
/// row, too.
#[derive(Debug, Default)]
pub struct Colocated(AtomicU64);

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Colocated>() == 8);

impl RecordHeader for Colocated {
    type Index = ();
}

impl Colocated {
    /// Returns the counters.
    #[inline]
    pub(crate) fn counts(&self) -> Counts {
        // Relaxed: whatever keeps others away orders it.
        Counts(self.0.load(Ordering::Relaxed))
    }

    /// Sets the counters.
    #[inline]
    pub(crate) fn set_counts(&self, counts: Counts) {
        // Relaxed: as in `counts`.
        self.0.store(counts.0, Ordering::Relaxed);
    }
}

/// The lock requests of one transaction, with access to the counters of their records. The caller ensures that no other
/// thread uses the counters meanwhile.
pub(crate) trait Requests {
    /// The number of requests.
    fn len(&self) -> usize;

    /// Returns the intent of a request.
    fn intent(&self, at: usize) -> Intent;

    /// Whether two requests are for one record.
    fn is_same(&self, one: usize, other: usize) -> bool;

    /// Returns the counters of a request's record.
    fn counts(&self, at: usize) -> Counts;

    /// Sets the counters of a request's record.
    fn set_counts(&self, at: usize, counts: Counts);

    /// Whether the record has a row.
    fn is_present(&self, at: usize) -> bool;
}

/// The reason why no request was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The record of this request is dead.
    Dead(usize),
    /// A counter is exhausted.
    Exhausted,
}

/// Counts each request at its record, and returns whether all are granted. If one is refused, none stays counted.
#[inline]
pub(crate) fn count(requests: &impl Requests) -> Result<bool, Refused> {
    let mut is_free = true;
    for at in 0..requests.len() {
        let before = requests.counts(at);
        let intent = requests.intent(at);
        let after = before.with(intent);
        if before.conflicts(intent) || after.is_none() {
            if before == Counts::DEAD || after.is_none() {
                take_back(requests, at);
                return Err(if before == Counts::DEAD { Refused::Dead(at) } else { Refused::Exhausted });
            }
            is_free = is_free && !others(requests, at, before).conflicts(intent);
        }
        requests.set_counts(at, after.unwrap_or(before));
    }
    Ok(is_free)
}

/// Returns the counters of a request's record, less the earlier requests of the same transaction.
#[cold]
fn others(requests: &impl Requests, at: usize, counts: Counts) -> Counts {
    let own = (0..at).filter(|&earlier| requests.is_same(earlier, at));
    own.fold(counts, |counts, earlier| counts.without(requests.intent(earlier)))
}

/// Takes back the first `len` requests of a transaction that is not in the queue. No record is marked as dead.
#[cold]
pub(crate) fn take_back(requests: &impl Requests, len: usize) {
    for at in 0..len {
        requests.set_counts(at, requests.counts(at).without(requests.intent(at)));
    }
}

/// Takes all requests of a transaction back. A record without a row that no transaction counts on any more is dead
/// then, and `unused` is called with its request.
#[inline]
pub(crate) fn discount(requests: &impl Requests, mut unused: impl FnMut(usize)) {
    for at in 0..requests.len() {
        let counts = requests.counts(at).without(requests.intent(at));
        if counts == Counts::NONE && !requests.is_present(at) {
            requests.set_counts(at, Counts::DEAD);
            unused(at);
        } else {
            requests.set_counts(at, counts);
        }
    }
}

/// Marks as dead the records that were made for requests which the transaction does not make after all. Skips records
/// that have a row, or that a transaction counts on. `unused` is called with the request of each dead record.
#[cold]
pub(crate) fn bury(requests: &impl Requests, mut unused: impl FnMut(usize)) {
    for at in 0..requests.len() {
        if requests.counts(at) == Counts::NONE && !requests.is_present(at) {
            requests.set_counts(at, Counts::DEAD);
            unused(at);
        }
    }
}

/// The requests of one transaction, for audits: records by the names of their locks, and prefixes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'l> {
    pub(crate) rows: &'l [(u64, Intent)],
    pub(crate) prefixes: &'l [Counted],
}

/// Checks the counters of all records against the requests of all transactions. `is_all_counted` says that no record
/// was made for a transaction that is yet to ask for it, and that no transaction has the database alone.
pub(crate) fn audit_records<'l, H: RecordHeader>(
    database: &Database<H>,
    guard: Guard<'_>,
    all_asked: impl Iterator<Item = Asked<'l>>,
    counts_of: impl Fn(RecordRef<'_, H>) -> Counts,
    is_all_counted: bool,
) -> Result<(), String> {
    let mut expected: HashMap<u64, Counts> = HashMap::default();
    for &(name, intent) in all_asked.flat_map(|asked| asked.rows) {
        let counts = expected.entry(name).or_insert(Counts::NONE);
        *counts = counts.with(intent).ok_or("more was asked for than a counter can count")?;
    }
    for table in database.tables(guard) {
        let mut wrong = None;
        table.records(guard, |record| {
            let requests = expected.remove(&Access::name(table.id(), record.key().hash64())).unwrap_or(Counts::NONE);
            let counts = counts_of(record);
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

/// Checks that no two running transactions have asked for locks that conflict.
pub(crate) fn audit_free<'l>(free: impl Iterator<Item = Asked<'l>>) -> Result<(), String> {
    let mut rows: HashMap<u64, Counts> = HashMap::default();
    let mut prefixes = PrefixCounters::default();
    for asked in free {
        let held = |name: &u64| rows.get(name).copied().unwrap_or(Counts::NONE);
        if let Some((_, intent)) = asked.rows.iter().find(|(name, intent)| held(name).conflicts(*intent)) {
            return Err(format!(
                "two transactions run that have asked for one record, the second one to {intent:?} it"
            ));
        }
        if prefixes.would_conflict(&[], asked.prefixes) {
            return Err("two transactions run that have asked for ranges that conflict".to_owned());
        }
        for &(name, intent) in asked.rows {
            let counts = rows.entry(name).or_insert(Counts::NONE);
            *counts = counts.with(intent).ok_or("more was asked for than a counter can count")?;
        }
        prefixes.request(asked.prefixes).map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_what_they_want() {
        use Intent::{Read, Write};
        let cases: &[(Counts, Intent, bool)] = &[
            (Counts::NONE, Read, false),
            (Counts::NONE, Write, false),
            (Counts::new(0, 3), Read, false),
            (Counts::new(0, 3), Write, true),
            (Counts::new(1, 0), Read, true),
            (Counts::new(1, 0), Write, true),
        ];
        for &(before, intent, conflicts) in cases {
            assert_eq!(before.conflicts(intent), conflicts, "{intent:?} after {before:?}");
            let after = before.with(intent).expect("there is room");
            let expected = match intent {
                Read => Counts::new(before.exclusive(), before.shared() + 1),
                Write => Counts::new(before.exclusive() + 1, before.shared()),
            };
            assert_eq!(after, expected);
            assert_eq!(after.without(intent), before);
        }
    }

    #[test]
    fn a_count_that_would_overflow_is_refused() {
        let most = u32::MAX - 1;
        assert_eq!(Counts::new(0, most).with(Intent::Read), None);
        assert_eq!(Counts::new(most, 7).with(Intent::Write), None);
        assert_eq!(Counts::new(0, most - 1).with(Intent::Read), Some(Counts::new(0, most)));
        assert_eq!(Counts::new(most, 0).with(Intent::Read), Some(Counts::new(most, 1)));
        assert_ne!(Counts::new(most, most), Counts::DEAD);
    }
}
