//! The VLL engines. They differ in where counters are kept, and in whether the queue is analysed.

use super::counters::{Arrayed, Counters};
use crate::shared::counts::Colocated;
use hotrow_txn::{Capabilities, EngineInfo, Isolation, Scheduler, Setting};

/// The properties in which the VLL engines differ.
pub trait Variant: Send + Sync + 'static {
    /// The engine's name and what it offers.
    const INFO: EngineInfo;

    /// Whether the engine looks for blocked transactions that could run (§2.6).
    const ANALYSES: bool;

    /// The header of each record, which leads to the record's counters.
    type Record: Counters;
}

/// The engine `vll`: counters in the header of each record, and no contention analysis.
pub struct Plain;

/// The engine `vll-sca`: counters in the header of each record, and selective contention analysis.
pub struct Analysed;

/// The engine `vll-arrayed`: counters in vectors beside the records, and no contention analysis.
pub struct InVectors;

const ISOLATION: &[Isolation] = &[Isolation::ReadCommitted, Isolation::Serializable];

const fn info(name: &'static str, summary: &'static str, source: &'static str) -> EngineInfo {
    EngineInfo {
        name,
        summary,
        source,
        capabilities: Capabilities::PLANNED,
        scheduler: Scheduler::Planned,
        isolates: true,
        isolation: ISOLATION,
        concurrency: None,
        settings: &[],
        pool_settings: &[Setting::BlockedLimit],
    }
}

impl Variant for Plain {
    const INFO: EngineInfo = info(
        "vll",
        "very lightweight locking: two counters before each record, and a queue of transactions",
        "VLL §2.1",
    );
    const ANALYSES: bool = false;
    type Record = Colocated;
}

impl Variant for Analysed {
    const INFO: EngineInfo = info(
        "vll-sca",
        "very lightweight locking with selective contention analysis: idle workers look for transactions to unblock",
        "VLL §2.6",
    );
    const ANALYSES: bool = true;
    type Record = Colocated;
}

impl Variant for InVectors {
    const INFO: EngineInfo =
        info("vll-arrayed", "very lightweight locking with the counters in two vectors beside the records", "VLL §2.2");
    const ANALYSES: bool = false;
    type Record = Arrayed;
}
