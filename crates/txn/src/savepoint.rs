//! The points in a transaction to which it can roll back.

/// A point in a transaction to which it can roll back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(pub usize);
