//! The partition engines, one type for each name.

use super::counted::InRecords;
use super::locks::LockState;
use super::queued::InQueues;
use super::whole::Whole;
use hotrow_txn::{Capabilities, EngineInfo, Isolation, Scheduler, Setting};

/// The properties in which the engines with partitioned data differ.
pub trait PartitionLocking: Send + Sync + 'static {
    /// The engine's name and what it offers.
    const INFO: EngineInfo;

    /// Whether a partition's thread that has nothing else to do looks for blocked transactions that can run (selective
    /// contention analysis).
    const ANALYSES: bool = false;

    /// The locks of a partition.
    type Locks: LockState;
}

const fn info(name: &'static str, summary: &'static str, source: &'static str) -> EngineInfo {
    EngineInfo {
        name,
        summary,
        source,
        capabilities: Capabilities::PLANNED,
        scheduler: Scheduler::Partition,
        isolates: true,
        isolation: &[Isolation::ReadCommitted, Isolation::Serializable],
        concurrency: None,
        settings: &[Setting::Partitions],
        pool_settings: &[Setting::BlockedLimit, Setting::NetworkDelay],
    }
}

/// The engine `hstore`, which runs one transaction at a time in each partition.
pub struct HStore;

impl PartitionLocking for HStore {
    const INFO: EngineInfo =
        info("hstore", "a thread for each partition, which runs one transaction at a time", "VLL §3.1.1");
    type Locks = Whole;
}

/// The engine `vll-st`, which counts requests in the records' headers, without a latch.
pub struct Counting;

impl PartitionLocking for Counting {
    const INFO: EngineInfo = info(
        "vll-st",
        "a thread for each partition, which counts requests before each record without a latch",
        "VLL §2.3",
    );
    type Locks = InRecords;
}

/// The engine `vll-st-sca`, which counts requests in the records' headers, and analyses contention when a thread is
/// idle.
pub struct Analysed;

impl PartitionLocking for Analysed {
    const INFO: EngineInfo =
        info("vll-st-sca", "as vll-st; looks for blocked transactions that can run when idle", "VLL §2.3, §2.6");
    const ANALYSES: bool = true;
    type Locks = InRecords;
}

/// The engine `2pl-st`, which has a queue of requests for each locked name, without a latch.
pub struct Queueing;

impl PartitionLocking for Queueing {
    const INFO: EngineInfo =
        info("2pl-st", "a thread for each partition, with a lock manager of request queues inside", "VLL §3.1.1");
    type Locks = InQueues;
}
