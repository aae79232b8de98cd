//! The two engines of the family.

use hotrow_txn::{Capabilities, EngineInfo, Isolation, Scheduler, Setting};

/// The properties that tell the engines of the family apart.
pub trait Variant: Send + Sync + 'static {
    /// The engine's name and what it offers.
    const INFO: EngineInfo;

    /// Whether transactions pass hot locks on to the next transaction of their agents.
    const INHERITS: bool;
}

/// The isolation levels that both engines offer. A level between the two is raised to serializable.
const LEVELS: &[Isolation] = &[Isolation::ReadCommitted, Isolation::Serializable];

/// The hierarchical lock manager by itself: `hier`.
pub struct Released;

impl Variant for Released {
    const INFO: EngineInfo = EngineInfo {
        name: "hier",
        summary: "two-phase locking in a hierarchy: database, tables, pages and rows, with intention locks",
        source: "speculative lock inheritance §3 (the lock manager of Shore-MT)",
        capabilities: Capabilities::NONE,
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: LEVELS,
        concurrency: None,
        settings: &[Setting::Escalation],
        pool_settings: &[],
    };
    const INHERITS: bool = false;
}

/// Speculative lock inheritance: `sli`.
pub struct Inherited;

impl Variant for Inherited {
    const INFO: EngineInfo = EngineInfo {
        name: "sli",
        summary: "as hier, and hot locks above the rows pass from a transaction to the next one on the same thread",
        source: "speculative lock inheritance §4",
        settings: &[Setting::Escalation, Setting::HotPercent, Setting::Momentum],
        ..Released::INFO
    };
    const INHERITS: bool = true;
}
