//! Counters of what sessions do, for the monitoring views and the server's metrics.

use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_txn::{Abort, Statistics};

/// The counters of one session. Only the session writes them, so that counting is a load, an addition and a store; any
/// thread may read them.
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

/// The sums of the counters of all sessions so far, ended sessions included. The counters are read one by one, so the
/// sums belong to about the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The statements that have run, with or without success. A statement that was retried counts once.
    pub statements: u64,
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that were rolled back, by their clients or by the engine.
    pub rolled_back: u64,
    /// Attempts at statements after the first attempt.
    pub retries: u64,
    /// Transactions that the engine gave up, by reason.
    aborts: [u64; Abort::ALL.len()],
    /// Locks that ended transactions were granted.
    pub locks: u64,
    /// Lock requests of ended transactions that had to wait.
    pub waits: u64,
    /// The time that these requests waited, in nanoseconds.
    pub wait_ns: u64,
}

impl Totals {
    /// Returns how many transactions the engine gave up, for each reason by its name.
    pub fn aborts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Abort::ALL.iter().map(|&abort| (abort.name(), self.aborts[abort as usize]))
    }

    pub(crate) fn add(&mut self, counters: &Counters) {
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
