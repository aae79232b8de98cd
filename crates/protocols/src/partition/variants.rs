//! The engines of the family.

use super::locks::LockState;
use super::whole::Whole;
use hotrow_txn::{EngineInfo, Isolation, Scheduler};

/// What tells one engine of the family from another.
pub trait PartitionLocking: Send + Sync + 'static {
    /// The engine's name and what it offers.
    const INFO: EngineInfo;

    /// Whether a thread that has nothing else to do looks for blocked transactions that can run.
    const ANALYSES: bool = false;

    /// How a partition locks.
    type Locks: LockState;
}

const fn info(name: &'static str, summary: &'static str, source: &'static str) -> EngineInfo {
    EngineInfo {
        name,
        summary,
        source,
        needs_accesses: true,
        scheduler: Scheduler::Partition,
        isolates: true,
        isolation: &[Isolation::ReadCommitted, Isolation::Serializable],
    }
}

/// One transaction at a time in each partition.
pub struct HStore;

impl PartitionLocking for HStore {
    const INFO: EngineInfo = info("hstore", "a thread for each partition, which runs one transaction at a time", "VLL §3.1.1");
    type Locks = Whole;
}
