//! The request for a lock on a range of keys.

/// A transaction's request for a lock on a range of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The first key of the range.
    pub first: u64,
    /// The last key of the range.
    pub last: u64,
    /// Whether the lock is exclusive: no other transaction may hold a key of the range.
    pub exclusive: bool,
    /// Whether the transaction waits once it holds the range.
    pub is_delayed: bool,
}
