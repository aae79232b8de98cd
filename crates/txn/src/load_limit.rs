//! How many transactions are let in at once, as the share of attempts that fail allows.
//!
//! **Source.** Moenkeberg, Weikum: Performance Evaluation of an Adaptive and Robust Load Control Method for the Avoidance of
//! Data-Contention Thrashing. There the measure is the share of locks that blocked transactions hold; here it is the share of attempts
//! that fail. Waits by themselves cost nothing that another transaction could use: a queue at one hot row moves as fast
//! as its holders do, however long it is.

/// The limit is counted in these parts of a transaction.
const ONE: u32 = 1 << 8;

/// A number of transactions. It falls by an eighth with each failure, and rises by a sixty-fourth with each success while others are held
/// back. So it settles where a tenth of the attempts fail, and is one at the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadLimit {
    /// In parts.
    limit: u32,
}

impl LoadLimit {
    /// No more than this are of use to anybody.
    pub const MOST: u32 = 1 << 16;

    /// Begins with `first`, from 1 to [`MOST`](Self::MOST).
    pub const fn new(first: u32) -> Self {
        Self { limit: first * ONE }
    }

    /// How many may be let in.
    #[inline]
    pub fn get(self) -> usize {
        (self.limit / ONE) as usize
    }

    /// An attempt has failed.
    pub fn failed(&mut self) {
        self.limit = (self.limit - self.limit / 8).max(ONE);
    }

    /// A transaction has succeeded while others were held back. The limit does not rise above `most`.
    pub fn succeeded(&mut self, most: u32) {
        self.limit = (self.limit + self.limit / 64).min(most * ONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_settles_where_a_tenth_of_the_attempts_fail() {
        let mut limit = LoadLimit::new(4);
        (0..100).for_each(|_| limit.failed());
        assert_eq!(limit.get(), 1);
        (0..1000).for_each(|_| limit.succeeded(50));
        assert_eq!(limit.get(), 50);
        for (won, rises) in [(6, false), (19, true)] {
            let mut limit = LoadLimit::new(100);
            for _ in 0..50 {
                (0..won).for_each(|_| limit.succeeded(LoadLimit::MOST));
                limit.failed();
            }
            assert_eq!(limit.get() > 100, rises, "one of {} fails: {limit:?}", won + 1);
        }
    }
}
