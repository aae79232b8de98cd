//! The roles of workers: execution of transactions, and concurrency control.
//!
//! **Paper.** §3.1 gives each thread one role for good. §4.2 shows that the best division of threads depends on the
//! load, and leaves the choice to techniques for staged, event-driven systems (SEDA).
//!
//! **The division.** The last `k` workers are concurrency-control threads. The parts of the lock table are dealt out
//! among them in turn. If `k` is zero, no thread settles on a part: each worker has both roles, and takes a part for a
//! moment when it has a message for the part. `k` is fixed, or chosen by load.
//!
//! **The choice.** Time is cut into windows, and each window has one `k`. In each window the workers count the
//! transactions that they finish, which gives a rate. First each candidate for `k` has a window. Then the candidate
//! with the highest rate is kept for many windows. After that each candidate has a window again. So the choice follows
//! the load, and the search costs a few windows now and then. A window in which no transaction was finished says
//! nothing, and is repeated.

use super::id::PartId;
use hotrow_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use hotrow_sync::{CachePadded, Latch, Time};
use std::time::Duration;

/// The number of concurrency-control threads: a fixed number, or a choice by load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CcThreads {
    /// The number is fixed. If it is zero, no thread does only concurrency control, and each thread has both roles.
    Fixed(usize),
    /// The engine chooses the number by load: from zero to half of the workers, and no more than the lock table has
    /// parts.
    ByLoad,
}

/// The roles of all workers.
#[derive(Debug)]
pub(super) struct Roles {
    workers: usize,
    parts: usize,
    /// The number of concurrency-control threads at present.
    cc_threads: CachePadded<AtomicUsize>,
    /// The state of the choice, if the number is chosen by load.
    choice: Option<Latch<Choice>>,
    /// The number of transactions that the clients of each worker have brought to their end.
    finished: Box<[CachePadded<AtomicU64>]>,
}

/// A worker's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The worker executes transactions.
    Execution,
    /// The worker does concurrency control. Its number among the `count` workers of this role is `number`, from zero.
    ConcurrencyControl { number: usize, count: usize },
}

impl Role {
    /// Returns the parts on which a worker of this role settles, if the lock table has `parts` parts.
    pub(super) fn parts(self, parts: usize) -> impl Iterator<Item = PartId> {
        let (first, step) = match self {
            Role::Execution => (parts, 1),
            Role::ConcurrencyControl { number, count } => (number, count),
        };
        (first..parts).step_by(step).map(|part| PartId(part as u16))
    }
}

/// The length of a window.
const WINDOW: Duration = Duration::from_millis(20);

/// The number of windows for which the best candidate is kept.
const KEPT: u32 = 100;

/// The state of the choice.
#[derive(Debug)]
struct Choice {
    candidates: Vec<usize>,
    /// The rate in the window of each candidate that has had its turn: finished transactions in a second.
    found: Vec<u64>,
    /// The number of windows that are left for the best candidate. Zero while the candidates have their turns.
    kept: u32,
    /// The beginning of the present window, or zero before the first window.
    begin: Time,
    /// The number of transactions that had been finished when the window began.
    before: u64,
}

/// Returns the numbers of concurrency-control threads that are tried, in ascending order: zero, powers of two, and a
/// fifth of the workers, as in the paper's measurements. No candidate exceeds half of the workers, or the number of
/// parts.
fn candidates(workers: usize, parts: usize) -> Vec<usize> {
    let most = parts.min(workers / 2);
    let powers = std::iter::successors(Some(1), |&number| Some(number * 2));
    let mut candidates: Vec<_> =
        powers.take_while(|&number| number <= most).chain([0, (workers / 5).min(most)]).collect();
    candidates.sort_unstable();
    candidates.dedup();
    candidates
}

impl Roles {
    /// Makes the roles of `workers` workers with a lock table of `parts` parts.
    pub(super) fn new(cc_threads: CcThreads, workers: usize, parts: usize) -> Self {
        let (now, choice) = match cc_threads {
            CcThreads::Fixed(count) => (count, None),
            CcThreads::ByLoad => {
                let (candidates, found) = (candidates(workers, parts), Vec::new());
                let choice = Choice { candidates, found, kept: 0, begin: Time::default(), before: 0 };
                (choice.candidates[0], Some(Latch::new(choice)))
            }
        };
        Self {
            workers,
            parts,
            cc_threads: CachePadded(AtomicUsize::new(now)),
            choice,
            finished: (0..workers).map(|_| CachePadded(AtomicU64::new(0))).collect(),
        }
    }

    /// Returns the number of workers, those of both roles together.
    pub(super) fn workers(&self) -> usize {
        self.workers
    }

    /// Returns the role of a worker at present.
    #[inline]
    pub(super) fn role(&self, worker: usize) -> Role {
        // Relaxed: a worker that learns of a change late keeps its parts until then. A worker that wants these parts
        // tries again.
        let count = self.cc_threads.0.load(Ordering::Relaxed).min(self.parts);
        let first = self.workers.saturating_sub(count);
        if worker >= first && worker < self.workers && count > 0 {
            Role::ConcurrencyControl { number: worker - first, count }
        } else {
            Role::Execution
        }
    }

    /// Whether the number of concurrency-control threads is chosen by load.
    #[inline]
    pub(super) fn are_chosen(&self) -> bool {
        self.choice.is_some()
    }

    /// Counts a transaction that a client of a worker has brought to its end. Only the worker's thread calls this.
    #[inline]
    pub(super) fn count(&self, worker: usize) {
        if let Some(count) = self.finished.get(worker) {
            // Relaxed: only the worker's thread writes, and windows need no exact count.
            count.0.store(count.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// Ends the window if it has lasted long enough, and begins the next one. If another thread is doing so, the call
    /// does nothing.
    pub(super) fn choose(&self, now: Time) {
        let Some(mut choice) = self.choice.as_ref().and_then(Latch::try_lock) else { return };
        let lasted = now.since(choice.begin);
        if lasted < WINDOW {
            return;
        }
        // Relaxed: as in `count`.
        let finished: u64 = self.finished.iter().map(|count| count.0.load(Ordering::Relaxed)).sum();
        let is_first = choice.begin == Time::default();
        let in_window = finished - std::mem::replace(&mut choice.before, finished);
        choice.begin = now;
        if is_first || in_window == 0 {
            return;
        }
        let next = choice.next((in_window as f64 / lasted.as_secs_f64()) as u64);
        // Relaxed: as in `role`.
        self.cc_threads.0.store(next, Ordering::Relaxed);
    }
}

impl Choice {
    /// Takes note of the rate in the window that has ended: finished transactions in a second. Returns the number of
    /// concurrency-control threads for the next window.
    fn next(&mut self, rate: u64) -> usize {
        if self.kept > 0 {
            self.kept -= 1;
            if self.kept > 0 {
                return self.best();
            }
            self.found.clear();
            return self.candidates[0];
        }
        self.found.push(rate);
        match self.candidates.get(self.found.len()) {
            Some(&next) => next,
            None => {
                self.kept = KEPT;
                self.best()
            }
        }
    }

    /// Returns the candidate with the highest rate. If several have it, the smallest of them.
    fn best(&self) -> usize {
        let most = self.found.iter().max();
        let position = self.found.iter().position(|found| Some(found) == most);
        self.candidates[position.unwrap_or_default()]
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_last_workers_deal_the_parts_out_among_them() {
        let roles = Roles::new(CcThreads::Fixed(2), 5, 3);
        assert_eq!([0, 1, 2, 7].map(|worker| roles.role(worker)), [Role::Execution; 4]);
        let parts = |worker| roles.role(worker).parts(3).map(|part| part.0).collect::<Vec<_>>();
        assert_eq!([parts(2), parts(3), parts(4)], [vec![], vec![0, 2], vec![1]]);
        let both = Roles::new(CcThreads::Fixed(0), 2, 1);
        assert_eq!([0, 1].map(|worker| both.role(worker)), [Role::Execution; 2]);
    }

    #[test]
    fn candidates_go_up_to_half_of_the_workers() {
        assert_eq!(candidates(1, 1), [0]);
        assert_eq!(candidates(2, 1), [0, 1]);
        assert_eq!(candidates(8, 4), [0, 1, 2, 4]);
        assert_eq!(candidates(80, 40), [0, 1, 2, 4, 8, 16, 32]);
        assert_eq!(candidates(60, 30), [0, 1, 2, 4, 8, 12, 16]);
    }

    /// Runs windows. `rate` says how many transactions are finished in a window with a number of concurrency-control
    /// threads. Returns the number of these threads in each window.
    fn windows(roles: &Roles, from: u64, count: u64, rate: impl Fn(usize) -> u64) -> Vec<usize> {
        (from..from + count)
            .map(|window| {
                let threads = roles.cc_threads.0.load(Ordering::Acquire);
                (0..rate(threads)).for_each(|_| roles.count(0));
                roles.choose(Time(1).after(WINDOW * (window as u32 + 1)));
                threads
            })
            .collect()
    }

    #[test]
    fn the_best_number_is_kept_and_looked_for_again() {
        let roles = Roles::new(CcThreads::ByLoad, 8, 4);
        assert_eq!(windows(&roles, 0, 6, |threads| 10 + threads as u64 % 4), [0, 0, 1, 2, 4, 2]);
        let kept = windows(&roles, 6, u64::from(KEPT) - 1, |_| 5);
        assert!(kept.iter().all(|&threads| threads == 2), "whatever comes: {kept:?}");
        assert_eq!(windows(&roles, 6 + u64::from(KEPT) - 1, 5, |threads| 10 - threads as u64), [0, 1, 2, 4, 0]);
    }

    #[test]
    fn a_window_in_which_nothing_was_finished_says_nothing() {
        let roles = Roles::new(CcThreads::ByLoad, 2, 1);
        assert_eq!(windows(&roles, 0, 4, |_| 0), [0; 4]);
        assert_eq!(windows(&roles, 4, 3, |threads| 1 + threads as u64), [0, 1, 1]);
    }
}
