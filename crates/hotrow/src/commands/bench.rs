//! The command `hotrow bench`, which runs a benchmark on engines.

use super::Failure;
use hotrow_bench::BenchCommand;
use std::io::Write;

/// Runs `hotrow bench`, and prints its results on `out`. Ctrl-C or SIGTERM ends the benchmark early; the measurements
/// up to then are still reported.
pub fn run(command: &BenchCommand, out: &mut dyn Write) -> Result<(), Failure> {
    let interrupt = super::interrupt()?;
    hotrow_bench::bench(command, out, &interrupt).map_err(Failure::from)
}
