//! `hotrow bench`

use super::Failure;
use hotrow_bench::{BenchCommand, BenchError, Interrupt};
use std::io::Write;

/// Runs the benchmark; Ctrl-C ends it early, with a report of what was measured until then.
pub fn run(command: &BenchCommand, out: &mut dyn Write) -> Result<(), Failure> {
    let interrupt = Interrupt::new();
    let on_signal = interrupt.clone();
    ctrlc::set_handler(move || on_signal.raise())
        .map_err(|error| Failure::Failed(format!("the signal handler could not be set: {error}")))?;
    hotrow_bench::bench(command, out, &interrupt).map_err(|error| match error {
        BenchError::Usage(what) => Failure::Usage(what),
        BenchError::Output(error) => Failure::Output(error),
        other => Failure::Failed(other.to_string()),
    })
}
