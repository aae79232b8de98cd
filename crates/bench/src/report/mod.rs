//! The report of a run: an object of the `--json` file, and the source of tables, drawings and figures.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `identity.rs` | which run a report is about, and the parameters that it states |
//! | `engine_report.rs` | the report as a whole |
//! | `transactions.rs` | what the clients measured: counts, throughput, latencies, kinds |
//! | `costs.rs` | what transactions cost the engine: where time went, locks, waits, analyses, messages |
//! | `lock_shares.rs` | the parts of the locks of an engine whose locks form a hierarchy |
//! | `log.rs` | the writes of the log, for databases that have one |
//! | `wire.rs` | what a run over the network reports besides |
//! | `footprint.rs` | the memory of the tables before and after the run |
//! | `consistency.rs` | the outcome of the check after the run |
//! | `summary.rs` | the reports of all repetitions, engine by engine |
//!
//! The names and the order of the fields are those of the file, which programs read: a renamed field breaks them. A
//! field that does not apply is null, so that all objects have the same fields.

mod consistency;
mod costs;
mod engine_report;
mod footprint;
mod identity;
mod lock_shares;
mod log;
mod summary;
mod transactions;
mod wire;

pub(crate) use consistency::Consistency;
pub(crate) use costs::Analyses;
#[cfg(test)]
pub(crate) use costs::Hierarchy;
pub(crate) use engine_report::EngineReport;
pub(crate) use footprint::{Footprint, Footprints, MemorySnapshot, VersionCounts, Versions};
pub(crate) use identity::RunIdentity;
pub(crate) use log::LogReport;
pub(crate) use summary::{EngineSummary, span, summarize};
pub(crate) use transactions::KindReport;
pub(crate) use wire::{SERVER_TIME_PARTS, SwitchReport, WireReport};

#[cfg(test)]
pub(crate) use engine_report::tests;
