//! What a transaction knows of its relation to others.

use crate::Deadlock;

/// What a transaction keeps from others between two of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exclusion {
    /// At the most what it has touched.
    #[default]
    None,
    /// The whole database, or all writes to it, and no other transaction waits for it.
    Database,
    /// The same, and others wait.
    WaitedFor,
}

/// Whether a transaction may still commit, between two of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prospect {
    /// It may, as far as others are concerned.
    #[default]
    Open,
    /// It may if others commit whose changes it has seen.
    Follows,
    /// It will not: one of those has failed.
    Doomed,
}

/// What a transaction knows of its relation to others, for its caller to act on or to report.
pub trait Diagnostics {
    /// Returns the deadlock that the transaction was the victim of, if the engine knows it: after
    /// [`Abort::Deadlock`](crate::Abort::Deadlock), until the next [`begin`](crate::Transaction::begin).
    fn deadlock(&self) -> Option<&Deadlock>;

    /// Returns what the running transaction keeps from all others.
    fn exclusion(&self) -> Exclusion;

    /// Returns whether the running transaction may still commit, whatever its next calls are. A transaction that cannot
    /// commit is better rolled back at once than at its next call, because it has locks.
    fn prospect(&self) -> Prospect;
}
