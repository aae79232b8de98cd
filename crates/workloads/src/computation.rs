//! Computation that transactions do in addition to their accesses to rows.

use hotrow_storage::mix;
use std::hint::black_box;
use std::time::Instant;

/// Measures how many rounds of computation take `microseconds` on this machine now.
pub(crate) fn rounds_of(microseconds: f64) -> u64 {
    const ROUNDS: u64 = 50_000;
    const ATTEMPTS: u64 = 5;
    if microseconds == 0.0 {
        return 0;
    }
    let attempt = |seed| {
        let begin = Instant::now();
        black_box(compute(black_box(ROUNDS), seed));
        begin.elapsed()
    };
    // The shortest attempt is the one that was not interrupted.
    let shortest = (0..ATTEMPTS).map(attempt).min().unwrap_or_default();
    let round_us = shortest.as_secs_f64() * 1e6 / ROUNDS as f64;
    ((microseconds / round_us.max(1e-6)) as u64).max(1)
}

/// Runs `rounds` rounds of computation, each of which needs the result of the one before.
pub(crate) fn compute(rounds: u64, seed: u64) -> u64 {
    (0..rounds).fold(seed, |word, round| mix(word ^ round))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computation_grows_with_the_time_asked_for() {
        assert_eq!(rounds_of(0.0), 0);
        assert!(rounds_of(0.000_001) >= 1);
        assert!(rounds_of(1000.0) > rounds_of(1.0));
    }
}
