//! The command `hotrow reproduce`, which measures figures of papers.

use super::Failure;
use hotrow_bench::ReproduceOptions;
use std::io::Write;

/// Runs `hotrow reproduce`, which measures figures of papers, and prints its report on `out`. Ctrl-C or SIGTERM ends it
/// early; the measurements up to then are kept.
pub fn run(options: &ReproduceOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let interrupt = super::interrupt()?;
    hotrow_bench::reproduce(options, out, &interrupt).map_err(Failure::from)
}
