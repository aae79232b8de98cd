//! The outcome of the consistency check after a run.

use hotrow_txn::Isolation;
use std::fmt;

/// The outcome of the check after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Consistency {
    Ok,
    /// Updates were lost, which an engine that promises no isolation may do; nothing else is wrong.
    Unisolated(String),
    /// A transaction met an anomaly that this isolation level permits; nothing else is wrong.
    Weak(Isolation, String),
    Failed(String),
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Consistency::Ok => f.write_str("ok"),
            Consistency::Unisolated(what) => write!(f, "ok without isolation: {what}"),
            Consistency::Weak(level, what) => write!(f, "ok at {level}: {what}"),
            Consistency::Failed(what) => write!(f, "failed: {what}"),
        }
    }
}
