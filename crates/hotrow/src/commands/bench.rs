//! `hotrow bench`

use super::Failure;
use hotrow_bench::BenchCommand;
use std::io::Write;

/// Runs the benchmark. Ctrl-C ends it early, with a report of the measurements until then.
pub fn run(command: &BenchCommand, out: &mut dyn Write) -> Result<(), Failure> {
    let interrupt = super::interrupt()?;
    hotrow_bench::bench(command, out, &interrupt).map_err(Failure::from)
}
