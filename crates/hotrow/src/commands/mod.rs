//! One file per command.

pub mod bench;
pub mod engines;
pub mod serve;

use std::fmt;
use std::io;
use std::process::ExitCode;

/// Why a command did not end well.
#[derive(Debug)]
pub enum Failure {
    /// The command line asked for what cannot be; says what can.
    Usage(String),
    /// It was tried, and failed.
    Failed(String),
    /// Standard output could not be written.
    Output(io::Error),
}

impl Failure {
    /// 2 for a wrong command line, 1 otherwise.
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
