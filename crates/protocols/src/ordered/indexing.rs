//! The indexes of the ordered-locking engines: one for all workers, or split.

use hotrow_txn::{Capabilities, EngineInfo, Isolation, Scheduler};

/// The way in which an engine of ordered locking divides the primary indexes of its tables. The engines of the family
/// differ in nothing else.
pub trait Indexing: Send + Sync + 'static {
    /// The engine's name and what it offers.
    const INFO: EngineInfo;

    /// The knobs of the engine.
    type Config: Default + Clone + Send + Sync;

    /// Returns the number of parts of the primary index of a table that has a partition key.
    fn parts(config: &Self::Config) -> usize;
}

/// The isolation levels that the engines of the family offer.
const LEVELS: &[Isolation] = &[Isolation::Serializable];

/// The engine `2pl-ordered`, in which all workers share one primary index of each table.
pub struct Whole;

impl Indexing for Whole {
    const INFO: EngineInfo = EngineInfo {
        name: "2pl-ordered",
        summary: "two-phase locking; the access set comes first, its locks are taken in one order",
        source: "ORTHRUS §3.2, §4 (deadlock-free locking)",
        capabilities: Capabilities::PLANNED,
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: LEVELS,
        concurrency: None,
        settings: &[],
        pool_settings: &[],
    };
    type Config = ();

    fn parts(_config: &()) -> usize {
        1
    }
}

/// The engine `2pl-ordered-split` (ORTHRUS §4.3). The primary index of each table with a partition key has several
/// parts, so that workers that run transactions on different partitions use different parts.
pub struct Split;

/// Knobs of [`Split`].
#[derive(Clone, Debug)]
pub struct SplitConfig {
    /// The number of parts of each partitioned table's primary index, usually one for each worker. Zero counts as one.
    pub parts: usize,
}

impl Default for SplitConfig {
    /// Returns a configuration with a part for each core.
    fn default() -> Self {
        Self { parts: hotrow_sync::cores() }
    }
}

impl Indexing for Split {
    const INFO: EngineInfo = EngineInfo {
        name: "2pl-ordered-split",
        summary: "as 2pl-ordered, with the index of partitioned tables split, a part for each core",
        source: "ORTHRUS §4.3 (split deadlock-free)",
        capabilities: Capabilities::PLANNED,
        scheduler: Scheduler::Thread,
        isolates: true,
        isolation: LEVELS,
        concurrency: None,
        settings: &[],
        pool_settings: &[],
    };
    type Config = SplitConfig;

    fn parts(config: &SplitConfig) -> usize {
        config.parts.max(1)
    }
}
