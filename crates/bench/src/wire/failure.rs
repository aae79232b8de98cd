//! What goes wrong over the network, and what a retry cures.

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// What a retry of the transaction cures: serialization failures, deadlocks, and locks that were not to be had in time.
const RETRIED: [SqlState; 3] =
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::LOCK_NOT_AVAILABLE];

/// Why an attempt at a transaction did not commit.
#[derive(Debug)]
pub(crate) enum AttemptError {
    /// What the server or the connection said.
    Sql(Error),
    /// The answer was not what the workload's rows imply.
    Unexpected(String),
    /// Nothing went wrong: the transaction is one that its user takes back.
    TakenBack,
}

impl From<Error> for AttemptError {
    fn from(error: Error) -> Self {
        AttemptError::Sql(error)
    }
}

impl AttemptError {
    /// The SQLSTATE, if a retry of the transaction cures it.
    pub(super) fn retried(&self) -> Option<&SqlState> {
        match self {
            AttemptError::Sql(error) => error.code().filter(|code| RETRIED.contains(code)),
            AttemptError::Unexpected(_) | AttemptError::TakenBack => None,
        }
    }

    /// What it says to people.
    pub(super) fn explain(&self) -> String {
        match self {
            AttemptError::Sql(error) => explain(error),
            AttemptError::Unexpected(what) => what.clone(),
            AttemptError::TakenBack => "the transaction was taken back".to_owned(),
        }
    }
}

/// What the server said, or why it could not be asked.
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
