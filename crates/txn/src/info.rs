//! What is known of an engine without a database.

use crate::{Capabilities, Concurrency, Isolation, Setting};

/// How one-shot transactions are put onto worker threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// One at a time on each thread, which waits when its transaction does.
    Thread,
    /// Several on each thread of a pool, which goes on with another one when one waits.
    Planned,
    /// As planned, and each thread owns a partition of the data.
    Partition,
}

impl Scheduler {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Scheduler::Thread => "thread",
            Scheduler::Planned => "planned pool",
            Scheduler::Partition => "partition",
        }
    }
}

/// What `hotrow engines` prints of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineInfo {
    /// The name by which users choose it.
    pub name: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// Paper and section, or none.
    pub source: &'static str,
    /// What its transactions can do without settings. A setting may take something away.
    pub capabilities: Capabilities,
    /// How its transactions are put onto threads.
    pub scheduler: Scheduler,
    /// Whether it isolates transactions at all; one that does not is refused by the server.
    pub isolates: bool,
    /// The isolation levels it offers, weakest first. Another one is raised to the first of them that covers it.
    pub isolation: &'static [Isolation],
    /// If each transaction may choose to be optimistic or pessimistic: what those are that do not
    /// ([`Begin::concurrency`](crate::Begin::concurrency)). None if there is no choice.
    pub concurrency: Option<Concurrency>,
    /// What users can set of it.
    pub settings: &'static [Setting],
    /// What users can set of it besides, if its transactions run in a pool: the pool's workers heed it.
    pub pool_settings: &'static [Setting],
}

impl EngineInfo {
    /// The level that a transaction gets which asks for `wanted`.
    pub fn granted(&self, wanted: Isolation) -> Isolation {
        self.isolation.iter().copied().find(|level| level.covers(wanted)).unwrap_or(Isolation::Serializable)
    }

    /// Whether users can set this of it; `in_pool` says whether its transactions run in a pool.
    pub fn has(&self, setting: Setting, in_pool: bool) -> bool {
        self.settings.contains(&setting) || in_pool && self.pool_settings.contains(&setting)
    }
}
