//! The seeds that a test runs.

use super::Failure;
use std::ops::Range;

/// The environment variable with a seed that [`for_each_seed`] then runs alone, to reproduce a failure.
pub const SEED_VARIABLE: &str = "HOTROW_SIM_SEED";

/// The environment variable with the number of seeds that [`for_each_seed`] then runs, for longer tests.
pub const SEEDS_VARIABLE: &str = "HOTROW_SIM_SEEDS";

/// Calls `simulate` for each seed from 0 to `count - 1`, or for the seeds that [`SEED_VARIABLE`] or [`SEEDS_VARIABLE`]
/// specifies.
///
/// # Panics
/// If a simulation fails, with a message that says how to reproduce the failure, or if one of the variables is not a
/// number.
pub fn for_each_seed(count: u64, mut simulate: impl FnMut(u64) -> Result<(), Box<Failure>>) {
    for seed in seeds(count) {
        if let Err(failure) = simulate(seed) {
            panic!("{failure}\nsee it again with {SEED_VARIABLE}={seed}");
        }
    }
}

/// Returns the seeds from 0 to `count - 1`, or those that [`SEED_VARIABLE`] or [`SEEDS_VARIABLE`] specifies.
///
/// # Panics
/// If one of the variables is not a number.
pub fn seeds(count: u64) -> Range<u64> {
    match (variable(SEED_VARIABLE), variable(SEEDS_VARIABLE)) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(count)) => 0..count,
        (None, None) => 0..count,
    }
}

/// Reads a number from the environment.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    match text.parse() {
        Ok(number) => Some(number),
        Err(_) => panic!("{name} is {text:?}: expected a number"),
    }
}
