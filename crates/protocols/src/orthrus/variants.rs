//! The engines of the family, one type for each name.

use super::table::{LockTable, Owned, Shared};
use hotrow_txn::{Capabilities, EngineInfo, Isolation, Scheduler, Setting};

/// The properties in which the engines of the family differ.
pub trait Variant: Send + Sync + 'static {
    /// The engine's name and what it offers.
    const INFO: EngineInfo;

    /// Whether the primary index of a table with a partition key has a part for each execution thread.
    const SPLITS_INDEX: bool = false;

    /// The lock table as a part reaches it: its own, or the one that all parts share.
    type Table: LockTable;
}

const fn info(name: &'static str, summary: &'static str, source: &'static str) -> EngineInfo {
    EngineInfo {
        name,
        summary,
        source,
        capabilities: Capabilities::PLANNED,
        scheduler: Scheduler::Roles,
        isolates: true,
        isolation: &[Isolation::ReadCommitted, Isolation::Serializable],
        concurrency: None,
        settings: &[],
        pool_settings: &[Setting::CcThreads],
    }
}

/// The engine `orthrus`, whose concurrency-control threads own parts of the lock table.
pub struct Owning;

impl Variant for Owning {
    const INFO: EngineInfo = info(
        "orthrus",
        "locks on threads of their own, each of which owns a part of the lock table; messages in between",
        "ORTHRUS §3",
    );
    type Table = Owned;
}

/// The engine `orthrus-split`, which divides the lock table as [`Owning`] does and also splits indexes. The primary
/// index of each table with a partition key has parts. A worker that keeps to its partition keeps to its part of each
/// index.
pub struct Split;

impl Variant for Split {
    const INFO: EngineInfo = info(
        "orthrus-split",
        "as orthrus, with the index of partitioned tables split, a part for each execution thread",
        "ORTHRUS §4.3 (split ORTHRUS)",
    );
    const SPLITS_INDEX: bool = true;
    type Table = Owned;
}

/// The engine `orthrus-shared`, whose concurrency-control threads share one lock table.
pub struct OneTable;

impl Variant for OneTable {
    const INFO: EngineInfo = info(
        "orthrus-shared",
        "as orthrus, with one latched lock table that the concurrency-control threads share",
        "ORTHRUS §3.4",
    );
    type Table = Shared;
}
