//! The capabilities of a database's transactions, as one value.

/// The capabilities of the transactions of one database: the calls that they offer beyond the core of
/// [`Transaction`](crate::Transaction), and the access sets that they need from their callers.
///
/// All transactions of a database have the same capabilities, and these never change: a session or a runner may copy
/// them once. [`EngineInfo::capabilities`](crate::EngineInfo::capabilities) holds the capabilities of an engine without
/// settings; a setting may take one away. If an answer depends on the running transaction, a method of
/// [`Transaction`](crate::Transaction) gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether the engine needs the whole access set before a transaction begins.
    /// [`Begin::accesses`](crate::Begin::accesses) says how a transaction without an access set runs.
    pub needs_accesses: bool,
    /// Whether the engine locks the rows of an access set when the transaction begins, in one order that all
    /// transactions share. It locks a row outside the set when the transaction accesses the row. Such an engine also
    /// runs transactions without an access set, so a read-only run to find the set does not pay.
    pub locks_accesses: bool,
    /// Whether transactions never wait for each other: after [`Abort::Conflict`](crate::Abort::Conflict) the caller may
    /// roll back to a savepoint, wait by itself, and retry the request that was in conflict.
    pub retries_requests: bool,
}

impl Capabilities {
    /// The capabilities of an engine that offers only the core of [`Transaction`](crate::Transaction) and needs no
    /// access sets.
    pub const NONE: Self = Self { needs_accesses: false, locks_accesses: false, retries_requests: false };

    /// The capabilities of an engine that plans transactions: it needs the access set.
    pub const PLANNED: Self = Self { needs_accesses: true, ..Self::NONE };
}
