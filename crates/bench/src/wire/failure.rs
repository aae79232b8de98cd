//! The errors of transactions over the network: those that a retry cures, and the messages of the rest.

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// The errors that a retry of the transaction cures: serialization failures, deadlocks, and locks that were not granted
/// in time.
const RETRIED: [SqlState; 3] =
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::LOCK_NOT_AVAILABLE];

/// The reason why an attempt at a transaction did not commit.
#[derive(Debug)]
pub(crate) enum AttemptError {
    /// The error of the server or of the connection.
    Sql(Error),
    /// The answer is not what the workload's rows imply; the message says how.
    Unexpected(String),
    /// The workload has this transaction roll back. Nothing went wrong.
    RolledBack,
}

impl From<Error> for AttemptError {
    fn from(error: Error) -> Self {
        AttemptError::Sql(error)
    }
}

impl AttemptError {
    /// Returns the SQLSTATE if a retry of the transaction cures the error, else `None`.
    pub(super) fn retried(&self) -> Option<&SqlState> {
        match self {
            AttemptError::Sql(error) => error.code().filter(|code| RETRIED.contains(code)),
            AttemptError::Unexpected(_) | AttemptError::RolledBack => None,
        }
    }

    /// Returns the message of the error, for people.
    pub(super) fn explain(&self) -> String {
        match self {
            AttemptError::Sql(error) => explain(error),
            AttemptError::Unexpected(what) => what.clone(),
            AttemptError::RolledBack => "the transaction was taken back".to_owned(),
        }
    }
}

/// Returns the server's message, or the reasons why the server did not answer.
pub(super) fn explain(error: &Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("the server says {}: {}", said.code().code(), said.message());
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        let more = inner.to_string();
        if !text.contains(&more) {
            text += &format!(": {more}");
        }
        source = inner.source();
    }
    text
}
