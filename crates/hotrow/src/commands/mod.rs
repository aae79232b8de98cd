//! The commands of the program, one file for each.

pub mod backup;
pub mod bench;
pub mod check;
mod data;
pub mod engines;
pub mod log;
mod memory;
pub mod reproduce;
pub mod serve;

use hotrow_bench::{BenchError, Interrupt};
use std::fmt;
use std::io;
use std::process::ExitCode;

/// The exit code that a shell reports for a program that Ctrl-C has ended.
const KILLED_BY_INTERRUPT: i32 = 130;

/// Sets the program's signal handler, and returns an interrupt that the first Ctrl-C or SIGTERM raises. A second signal
/// ends the program at once. It can be called once in a program.
///
/// # Errors
/// [`Failure::Failed`] if the handler cannot be set.
pub fn interrupt() -> Result<Interrupt, Failure> {
    let interrupt = Interrupt::new();
    let on_signal = interrupt.clone();
    let handler = move || {
        if on_signal.is_raised() {
            std::process::exit(KILLED_BY_INTERRUPT);
        }
        on_signal.raise();
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Failure::Failed(format!("the signal handler could not be set: {error}")))?;
    Ok(interrupt)
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Usage(what) => Failure::Usage(what),
            BenchError::Output(error) => Failure::Output(error),
            other => Failure::Failed(other.to_string()),
        }
    }
}

/// The reason why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The command line, or a file that it names, is wrong. The text says what was expected.
    Usage(String),
    /// The command has run, and has failed.
    Failed(String),
    /// Standard output could not be written.
    Output(io::Error),
}

impl Failure {
    /// Returns the exit code: 2 for a wrong command line, 1 otherwise.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Failed(_) | Failure::Output(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(what) | Failure::Failed(what) => f.write_str(what),
            Failure::Output(error) => write!(f, "standard output could not be written: {error}"),
        }
    }
}
