//! Counters of what sessions do, for the monitoring views and the server's metrics.

use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_txn::{Abort, Statistics};

/// The counters of one session. Only the session writes them, so no counter needs an atomic addition. Any thread may
/// read them.
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

/// The sums of the counters of all sessions, including ended ones, since the database was opened. The counters are read
/// one after the other, so the sums are no exact snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The statements that have run, with or without success. A statement that was retried counts once.
    pub statements: u64,
    /// The transactions that committed.
    pub committed: u64,
    /// The transactions that were rolled back, by their clients or by the engine.
    pub rolled_back: u64,
    /// The number of retries of statements. The first attempt at a statement is no retry.
    pub retries: u64,
    /// The transactions that the engine aborted, by reason.
    aborts: [u64; Abort::ALL.len()],
    /// The number of locks that were granted to transactions that have ended.
    pub locks: u64,
    /// The number of lock requests that had to wait, by transactions that have ended.
    pub waits: u64,
    /// The total time of the waits that `waits` counts, in nanoseconds.
    pub wait_ns: u64,
}

impl Totals {
    /// Returns the name of each reason for an abort, with the number of transactions that the engine aborted for it.
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
