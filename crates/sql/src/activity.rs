//! What sessions do, counted for who watches the server; and who is there.

use crate::seat::Seat;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard};
use hotrow_txn::{Abort, Statistics};
use std::collections::BTreeMap;

/// What one session has counted. Only the session writes, so to count is to load, to add and to store; anybody may read.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    statements: AtomicU64,
    committed: AtomicU64,
    rolled_back: AtomicU64,
    retries: AtomicU64,
    aborts: [AtomicU64; Abort::ALL.len()],
    locks: AtomicU64,
    waits: AtomicU64,
    wait_ns: AtomicU64,
}

fn add(count: &AtomicU64, more: u64) {
    // Relaxed: nothing else is read because of it, and nobody else writes.
    count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

impl Counters {
    pub(crate) fn count_statements(&self, statements: usize) {
        add(&self.statements, statements as u64);
    }

    pub(crate) fn count_commit(&self) {
        add(&self.committed, 1);
    }

    pub(crate) fn count_rollback(&self) {
        add(&self.rolled_back, 1);
    }

    pub(crate) fn count_retry(&self) {
        add(&self.retries, 1);
    }

    pub(crate) fn count_abort(&self, abort: Abort) {
        add(&self.aborts[abort as usize], 1);
    }

    pub(crate) fn count_locking(&self, counted: &Statistics) {
        add(&self.locks, counted.locks);
        add(&self.waits, counted.waits);
        add(&self.wait_ns, counted.wait_ns);
    }
}

/// What sessions have done so far, those that are gone included. The sums are read one by one: they are of about one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Statements that were run, whatever came of them; those that tried again in one are one.
    pub statements: u64,
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that were rolled back, by their clients or by the engine.
    pub rolled_back: u64,
    /// Statements' attempts after the first.
    pub retries: u64,
    /// Transactions that the engine gave up, by reason.
    aborts: [u64; Abort::ALL.len()],
    /// Locks that transactions were granted that have ended.
    pub locks: u64,
    /// Requests of theirs that had to wait.
    pub waits: u64,
    /// Nanoseconds that they waited.
    pub wait_ns: u64,
}

impl Totals {
    /// Transactions that the engine gave up, by the names of the reasons.
    pub fn aborts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Abort::ALL.iter().map(|&abort| (abort.name(), self.aborts[abort as usize]))
    }

    fn add(&mut self, counters: &Counters) {
        let read = |count: &AtomicU64| count.load(Ordering::Acquire);
        self.statements += read(&counters.statements);
        self.committed += read(&counters.committed);
        self.rolled_back += read(&counters.rolled_back);
        self.retries += read(&counters.retries);
        self.aborts.iter_mut().zip(&counters.aborts).for_each(|(sum, count)| *sum += read(count));
        self.locks += read(&counters.locks);
        self.waits += read(&counters.waits);
        self.wait_ns += read(&counters.wait_ns);
    }
}

/// All sessions.
#[derive(Debug, Default)]
pub(crate) struct Activity(Mutex<Everybody>);

#[derive(Debug, Default)]
struct Everybody {
    /// By their addresses.
    here: BTreeMap<usize, Arc<Seat>>,
    gone: Totals,
}

impl Activity {
    fn everybody(&self) -> MutexGuard<'_, Everybody> {
        self.0.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// A session begins.
    pub(crate) fn enter(&self, seat: &Arc<Seat>) {
        self.everybody().here.insert(Arc::as_ptr(seat).addr(), seat.clone());
    }

    /// Its session is gone.
    pub(crate) fn leave(&self, seat: &Arc<Seat>) {
        let mut everybody = self.everybody();
        if everybody.here.remove(&Arc::as_ptr(seat).addr()).is_some() {
            everybody.gone.add(&seat.counters);
        }
    }

    /// Everybody who is there, by their numbers.
    pub(crate) fn seats(&self) -> Vec<Arc<Seat>> {
        let mut seats: Vec<_> = self.everybody().here.values().cloned().collect();
        seats.sort_by_key(|seat| seat.pid());
        seats
    }

    pub(crate) fn totals(&self) -> Totals {
        let everybody = self.everybody();
        let mut totals = everybody.gone;
        everybody.here.values().for_each(|seat| totals.add(&seat.counters));
        totals
    }
}
