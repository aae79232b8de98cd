//! The back-off of a transaction after an abort that a retry can cure.

use crate::Random;
use hotrow_sync::{Waiter, Wake};
use std::time::Duration;

/// The configuration of [`Retry`]: the lengths of its pauses, and the number of retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryConfig {
    /// The greatest length of the pause after the first abort. The greatest length doubles with each further abort.
    pub first: Duration,
    /// The greatest length of any pause, at which the doubling ends.
    pub longest: Duration,
    /// The number of retries after which an abort is returned to the caller.
    pub attempts: u32,
}

impl Default for RetryConfig {
    /// Returns the default knobs. The first pause is about as long as a short transaction that blocks this one, so that
    /// most retries cost a spin and no system call. The longest pause is of the order of a time slice, because a lock
    /// holder that lost its core comes back after one. The bound on attempts is never reached in practice.
    fn default() -> Self {
        Self { first: Duration::from_micros(2), longest: Duration::from_millis(1), attempts: u32::MAX }
    }
}

/// The back-off between the attempts of a transaction, which is exponential, randomised and bounded.
///
/// It pauses through the transaction's [`Waiter`]. So in a pause a thread spins or blocks, a coroutine lets another
/// transaction run, and the simulator moves its clock.
#[derive(Clone, Debug)]
pub struct Retry {
    config: RetryConfig,
    random: Random,
    attempt: u32,
}

impl Retry {
    /// Makes a back-off that has counted no abort. Each worker should have its own seed, so that the pauses of
    /// different workers differ.
    pub fn new(config: RetryConfig, seed: u64) -> Self {
        Self { config, random: Random::new(seed), attempt: 0 }
    }

    /// Sets the number of aborts to zero, when another transaction begins.
    pub fn reset(&mut self) {
        self.attempt = 0;
    }

    /// Counts an abort. Returns whether the transaction may be retried.
    pub fn again(&mut self) -> bool {
        self.attempt = self.attempt.saturating_add(1);
        self.attempt <= self.config.attempts
    }

    /// Pauses for a random time before the next attempt. Returns [`Wake::Cancelled`] if the waiter was cancelled
    /// meanwhile.
    pub fn pause(&mut self, waiter: &Waiter) -> Wake {
        let pause = self.next_pause();
        waiter.pause(pause)
    }

    /// Draws the length of the next pause, below the present attempt's bound.
    fn next_pause(&mut self) -> Duration {
        let doublings = self.attempt.saturating_sub(1).min(20);
        let bound = self.config.first.saturating_mul(1 << doublings).min(self.config.longest);
        let nanoseconds = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.random.below(nanoseconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let config = RetryConfig { first: Duration::from_micros(4), longest: Duration::from_micros(64), attempts: 12 };
        let mut longest = [Duration::ZERO; 12];
        for seed in 0..200 {
            let mut retry = Retry::new(config, seed);
            for seen in &mut longest {
                assert!(retry.again());
                *seen = retry.next_pause().max(*seen);
            }
            assert!(!retry.again(), "no more than {} attempts", config.attempts);
        }
        for (attempt, seen) in longest.into_iter().enumerate() {
            let bound = Duration::from_micros((4 << attempt).min(64));
            assert!(seen <= bound && seen > bound / 2, "attempt {attempt}: {seen:?} of {bound:?}");
        }
    }
}
