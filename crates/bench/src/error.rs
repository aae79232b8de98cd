//! The errors with which a benchmark ends.

use std::fmt;
use std::io;

/// The reason why a benchmark or a reproduction ended early or failed.
#[derive(Debug)]
pub enum BenchError {
    /// The command line asks for something impossible; the message says what is possible.
    Usage(String),
    /// A run, its consistency check or its report failed.
    Failed(String),
    /// The interrupt was raised. Everything that was measured before has been reported.
    Interrupted,
    /// The output of the command could not be written.
    Output(io::Error),
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Usage(what) | BenchError::Failed(what) => f.write_str(what),
            BenchError::Interrupted => f.write_str("interrupted"),
            BenchError::Output(error) => write!(f, "the report could not be written: {error}"),
        }
    }
}

impl std::error::Error for BenchError {}

impl From<io::Error> for BenchError {
    fn from(error: io::Error) -> Self {
        BenchError::Output(error)
    }
}
