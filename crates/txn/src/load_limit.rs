//! The number of transactions that are let in at once, as the share of failed attempts allows.
//!
//! **Source.** Moenkeberg, Weikum: Performance Evaluation of an Adaptive and Robust Load Control Method for the
//! Avoidance of Data-Contention Thrashing. The paper measures the share of locks that blocked transactions hold; here
//! the measure is the share of attempts that fail. A wait alone wastes nothing that another transaction could use: a
//! queue at one hot row moves as fast as its holders do, however long it is. Waits count only for a caller that has
//! other work to run ([`LoadLimit::waited`]).

use crate::Abort;

/// The unit of `limit`: one transaction is this many parts, so that the limit can change by parts of a transaction.
const ONE: u32 = 1 << 8;

/// A limit on the number of transactions that run at once. It is at least one.
///
/// The limit rises by a sixty-fourth with each success while other transactions are held back. It falls by an eighth
/// with each attempt that fails late: such an attempt has waited, as the victim of a deadlock has, and others have
/// waited for it. It falls by a thirty-second with an attempt that fails as soon as it meets another transaction, since
/// that costs no other transaction anything. It falls by a sixteenth with an attempt that has waited, if the caller
/// counts waits. So it settles where a tenth of the attempts fail late, a third fail early, or a fifth wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadLimit {
    /// The limit in parts of [`ONE`].
    limit: u32,
}

impl LoadLimit {
    /// The greatest limit. More transactions at once would help no workload.
    pub const MOST: u32 = 1 << 16;

    /// Makes a limit that allows `first` transactions at first, from 1 to [`MOST`](Self::MOST).
    pub const fn new(first: u32) -> Self {
        Self { limit: first * ONE }
    }

    /// Returns the number of transactions that may be let in at once.
    #[inline]
    pub fn get(self) -> usize {
        (self.limit / ONE) as usize
    }

    /// Lowers the limit, because an attempt has failed with `abort`.
    pub fn failed(&mut self, abort: Abort) {
        let share = match abort {
            Abort::Conflict | Abort::Validation | Abort::WriteConflict | Abort::Cascade => 32,
            _ => 8,
        };
        self.fall(share);
    }

    /// Lowers the limit, because a transaction has waited for others.
    pub fn waited(&mut self) {
        self.fall(16);
    }

    fn fall(&mut self, share: u32) {
        self.limit = (self.limit - self.limit / share).max(ONE);
    }

    /// Raises the limit, up to `most`, because a transaction has succeeded while others were held back.
    pub fn succeeded(&mut self, most: u32) {
        self.limit = (self.limit + self.limit / 64).min(most * ONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_settles_where_a_fifth_wait_if_waits_are_counted() {
        for (at_once, rises) in [(3, false), (6, true)] {
            let mut limit = LoadLimit::new(100);
            for _ in 0..50 {
                (0..at_once).for_each(|_| limit.succeeded(LoadLimit::MOST));
                limit.waited();
            }
            assert_eq!(limit.get() > 100, rises, "one of {} waits: {limit:?}", at_once + 1);
        }
    }

    #[test]
    fn it_settles_where_a_tenth_of_the_attempts_fail_late_or_a_third_early() {
        let mut limit = LoadLimit::new(4);
        (0..100).for_each(|_| limit.failed(Abort::WriteConflict));
        assert_eq!(limit.get(), 1);
        (0..1000).for_each(|_| limit.succeeded(50));
        assert_eq!(limit.get(), 50);
        let cases = [
            (Abort::Deadlock, 6, false),
            (Abort::Deadlock, 19, true),
            (Abort::Timeout, 6, false),
            (Abort::Conflict, 1, false),
            (Abort::Conflict, 4, true),
        ];
        for (abort, won, rises) in cases {
            let mut limit = LoadLimit::new(100);
            for _ in 0..50 {
                (0..won).for_each(|_| limit.succeeded(LoadLimit::MOST));
                limit.failed(abort);
            }
            assert_eq!(limit.get() > 100, rises, "one of {} fails with {abort:?}: {limit:?}", won + 1);
        }
    }
}
