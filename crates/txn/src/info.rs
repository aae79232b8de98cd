//! The properties of an engine that are known without a database.

use crate::{Capabilities, Concurrency, Isolation, Setting};

/// The way in which one-shot transactions are assigned to worker threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Each thread runs one transaction at a time, and waits when the transaction does.
    Thread,
    /// Each thread of a pool runs several transactions, and continues with another one when one waits.
    Planned,
    /// Each thread of a pool runs several transactions, as with [`Planned`](Self::Planned), and owns a partition of the
    /// data.
    Partition,
    /// Each thread of a pool has one of two roles: it runs several transactions, as with [`Planned`](Self::Planned), or
    /// it does concurrency control for the transactions of other threads.
    Roles,
}

impl Scheduler {
    /// Returns the name by which reports call the scheduler.
    pub fn name(self) -> &'static str {
        match self {
            Scheduler::Thread => "thread",
            Scheduler::Planned => "planned pool",
            Scheduler::Partition => "partition",
            Scheduler::Roles => "pool with roles",
        }
    }
}

/// The properties of an engine, as `hotrow engines` prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineInfo {
    /// The name by which users choose the engine.
    pub name: &'static str,
    /// The description of the engine, in one line.
    pub summary: &'static str,
    /// The paper and section that the engine follows; empty if there is none.
    pub source: &'static str,
    /// The capabilities of the engine's transactions under default settings. A setting may remove a capability.
    pub capabilities: Capabilities,
    /// The way in which the engine's transactions are assigned to threads.
    pub scheduler: Scheduler,
    /// Whether the engine isolates transactions at all. The server refuses an engine that does not.
    pub isolates: bool,
    /// The isolation levels that the engine offers, weakest first. Any other level is raised to the first of these that
    /// covers it.
    pub isolation: &'static [Isolation],
    /// The concurrency control of a transaction that does not choose between optimistic and pessimistic
    /// ([`Begin::concurrency`](crate::Begin::concurrency)). `None` if the engine does not offer the choice.
    pub concurrency: Option<Concurrency>,
    /// The settings of the engine that users can set.
    pub settings: &'static [Setting],
    /// The further settings that users can set if the engine's transactions run in a pool: the pool's workers obey
    /// them.
    pub pool_settings: &'static [Setting],
}

impl EngineInfo {
    /// Returns the level that a transaction gets if it asks for `wanted`.
    pub fn granted(&self, wanted: Isolation) -> Isolation {
        self.isolation.iter().copied().find(|level| level.covers(wanted)).unwrap_or(Isolation::Serializable)
    }

    /// Whether the engine keeps partitions of the data apart. Users can set how many there are, and each table needs a
    /// partition key unless it is constant.
    pub fn keeps_partitions(&self) -> bool {
        self.settings.contains(&Setting::Partitions)
    }

    /// Whether users can set `setting`; `in_pool` says whether the engine's transactions run in a pool.
    pub fn has(&self, setting: Setting, in_pool: bool) -> bool {
        self.settings.contains(&setting) || in_pool && self.pool_settings.contains(&setting)
    }
}
