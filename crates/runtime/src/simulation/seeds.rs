//! The seeds that a test runs.

use super::Failure;

/// The environment variable that makes [`for_each_seed`] run this one seed.
pub const SEED_VARIABLE: &str = "HOTROW_SIM_SEED";

/// The environment variable that makes [`for_each_seed`] run this many seeds, for the long form of a test.
pub const SEEDS_VARIABLE: &str = "HOTROW_SIM_SEEDS";

/// Runs `simulate` for the seeds from 0 to `count`, or for those that the environment specifies.
///
/// # Panics
/// If a seed fails. The message holds what is needed to reproduce the failure.
pub fn for_each_seed(count: u64, mut simulate: impl FnMut(u64) -> Result<(), Box<Failure>>) {
    let seeds = match (variable(SEED_VARIABLE), variable(SEEDS_VARIABLE)) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(count)) => 0..count,
        (None, None) => 0..count,
    };
    for seed in seeds {
        if let Err(failure) = simulate(seed) {
            panic!("{failure}\nsee it again with {SEED_VARIABLE}={seed}");
        }
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
