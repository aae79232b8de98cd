//! The reasons for which a transaction cannot go on.

use hotrow_storage::LogFailed;
use std::fmt;

/// The reason why the engine, or the transaction's own code, gave a transaction up.
///
/// After a call has returned an `Abort`, the transaction must still be ended by
/// [`Transaction::abort`](crate::Transaction::abort). Until then it holds its locks, and its changes are in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Abort {
    /// Another transaction blocked this one, and the deadlock policy did not let this one wait (wait-die).
    Conflict,
    /// The transaction was the victim of a deadlock that the engine found.
    Deadlock,
    /// A lock was not granted within the wait limit.
    Timeout,
    /// A row or a range that the transaction has read has changed since (optimistic engines).
    Validation,
    /// Another transaction was the first to change a row that this one was to change (engines that keep versions).
    WriteConflict,
    /// The transaction had read an uncommitted change of another transaction, which was rolled back or changed the row
    /// once more.
    Cascade,
    /// The transaction reads a snapshot, and after that snapshot a table was created or replaced, or rows changed in a
    /// table that the transaction [owns](crate::Ownership).
    TableChanged,
    /// The transaction accessed data outside the access set that it began with (engines that lock the whole set
    /// beforehand).
    OutsidePlan,
    /// The transaction's waiter was cancelled: the client asked for it or is gone, or the server shuts down.
    Cancelled,
    /// The engine ran out of something that it needs, such as memory or transaction slots.
    Resources,
    /// The log failed while the transaction waited at its commit for its record to become durable. The transaction is
    /// committed in memory; whether it will be there after a restart is not known.
    LogFailed,
    /// The transaction's own code gave up and keeps the reason, or it made a call that is not allowed, such as a write
    /// in a read-only transaction.
    User,
}

impl Abort {
    /// All reasons, in the order in which reports list them.
    pub const ALL: [Abort; 12] = [
        Abort::Conflict,
        Abort::Deadlock,
        Abort::Timeout,
        Abort::Validation,
        Abort::WriteConflict,
        Abort::Cascade,
        Abort::TableChanged,
        Abort::OutsidePlan,
        Abort::Cancelled,
        Abort::Resources,
        Abort::LogFailed,
        Abort::User,
    ];

    /// Whether other transactions caused the abort.
    pub fn is_because_of_others(self) -> bool {
        match self {
            Abort::Conflict
            | Abort::Deadlock
            | Abort::Timeout
            | Abort::Validation
            | Abort::WriteConflict
            | Abort::Cascade => true,
            Abort::TableChanged
            | Abort::OutsidePlan
            | Abort::Cancelled
            | Abort::Resources
            | Abort::LogFailed
            | Abort::User => false,
        }
    }

    /// Whether the same transaction may succeed if it is run again.
    pub fn is_retryable(self) -> bool {
        self.is_because_of_others() || matches!(self, Abort::TableChanged | Abort::OutsidePlan)
    }

    /// Returns the reason's name in reports and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Abort::Conflict => "conflict",
            Abort::Deadlock => "deadlock",
            Abort::Timeout => "timeout",
            Abort::Validation => "validation",
            Abort::WriteConflict => "write_conflict",
            Abort::Cascade => "cascade",
            Abort::TableChanged => "table_changed",
            Abort::OutsidePlan => "outside_plan",
            Abort::Cancelled => "cancelled",
            Abort::Resources => "resources",
            Abort::LogFailed => "log_failed",
            Abort::User => "user",
        }
    }
}

impl fmt::Display for Abort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Abort::Conflict => "another transaction stood in the way; a retry can succeed",
            Abort::Deadlock => "deadlock detected; a retry can succeed",
            Abort::Timeout => "a lock was not granted within the wait limit; a retry can succeed",
            Abort::Validation => "data read by the transaction was changed by another; a retry can succeed",
            Abort::WriteConflict => "another transaction changed the row first; a retry can succeed",
            Abort::Cascade => {
                "a transaction whose changes this one had read was rolled back, or made others; a retry can succeed"
            }
            Abort::TableChanged => "a table was changed as a whole after the transaction began; a retry can succeed",
            Abort::OutsidePlan => "the transaction touched something outside its access set; a retry can succeed",
            Abort::Cancelled => "the transaction was cancelled",
            Abort::Resources => "the engine is out of memory or transaction slots",
            Abort::LogFailed => "the log has failed; whether the transaction is durable is not known",
            Abort::User => "the transaction's own code gave up",
        })
    }
}

impl std::error::Error for Abort {}

impl From<LogFailed> for Abort {
    fn from(_: LogFailed) -> Self {
        Abort::LogFailed
    }
}
