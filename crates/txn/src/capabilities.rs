//! What the transactions of a database can do, as one value.

/// What the transactions of one database can do beyond the core of [`Transaction`](crate::Transaction), and what they
/// want from their callers.
///
/// All transactions of a database have the same capabilities, and these never change: a session or a runner may copy
/// them once. [`EngineInfo::capabilities`](crate::EngineInfo::capabilities) has those of an engine without settings; a
/// setting may take one away. What depends on the running transaction is a method of
/// [`Transaction`](crate::Transaction).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether the engine wants the whole access set before a transaction begins:
    /// [`Begin::accesses`](crate::Begin::accesses) says how a transaction runs that brings none.
    pub needs_accesses: bool,
    /// Whether the engine locks the rows of an access set as the transaction begins, in one order that all transactions
    /// share, and locks a row outside the set when the transaction comes to it. Such an engine does without a set as
    /// well: no reconnaissance is worth its while.
    pub locks_accesses: bool,
    /// Whether transactions never wait for each other: after [`Abort::Conflict`](crate::Abort::Conflict) the caller may
    /// go back to a savepoint, wait by itself, and try again what was in conflict.
    pub retries_requests: bool,
}

impl Capabilities {
    /// The capabilities of an engine that does the core and nothing else.
    pub const NONE: Self = Self { needs_accesses: false, locks_accesses: false, retries_requests: false };

    /// The capabilities of an engine that plans transactions: it needs the access set.
    pub const PLANNED: Self = Self { needs_accesses: true, ..Self::NONE };
}
