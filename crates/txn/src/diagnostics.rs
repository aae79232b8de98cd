//! The diagnostics of a transaction: its deadlock, the other transactions that it excludes, and whether it may commit.

use crate::Deadlock;

/// The extent to which a transaction excludes other transactions between two of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exclusion {
    /// The transaction excludes others at most from the rows and ranges that it has accessed.
    #[default]
    None,
    /// The transaction excludes others from the whole database, or from all writes to it. No other transaction waits
    /// for it.
    Database,
    /// The transaction excludes others as [`Database`](Self::Database) does, and other transactions wait for it.
    WaitedFor,
}

/// Whether a transaction may still commit, between two of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prospect {
    /// The transaction may commit: it depends on no uncommitted transaction.
    #[default]
    Open,
    /// The transaction may commit only after other transactions, whose uncommitted changes it has seen, have committed.
    Follows,
    /// The transaction cannot commit: a transaction whose uncommitted changes it has seen has failed.
    Doomed,
}

/// The diagnostics of a transaction, for its caller to act on or to report.
pub trait Diagnostics {
    /// Returns the deadlock that the transaction was the victim of, if the engine knows it: after
    /// [`Abort::Deadlock`](crate::Abort::Deadlock), until the next [`begin`](crate::Transaction::begin).
    fn deadlock(&self) -> Option<&Deadlock>;

    /// Returns the extent to which the running transaction excludes all others.
    fn exclusion(&self) -> Exclusion;

    /// Returns whether the running transaction may still commit, whatever its next calls are. If a transaction cannot
    /// commit, the caller should roll it back at once and not wait for its next call, because it holds locks.
    fn prospect(&self) -> Prospect;
}
