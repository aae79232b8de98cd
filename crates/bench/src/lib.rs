//! The benchmark driver: runs a workload on one engine after the other and reports.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `options.rs` | the command line of `hotrow bench` |
//! | `plan.rs` | which engine runs when, over all repetitions |
//! | `engine_run.rs` | one run: load, drive, check |
//! | `bare.rs` | the floor: a loop over index and records without transactions |
//! | `range.rs` | the loop of workload `range`, over a manager of range locks |
//! | `report.rs` | what is reported of a run, in JSON |
//! | `table.rs`, `plot.rs` | the same for people |
//! | `footprint.rs` | what tables take of the memory |
//! | `host.rs`, `memory.rs` | what the figures were measured on, and whether it is large enough |
//! | [`reproduce()`] | figures of papers: measured, drawn and compared with what the papers say |
//! | [`trial`] | recorded runs of random transactions, to be judged |
//! | `wire/` | the same workloads as statements over the network |
//! | `progress.rs` | bars on a terminal, lines otherwise |
//!
//! **How it measures.** Every run has a database of its own, loaded for it and checked after it. With repetitions the
//! engines take turns, so that a drift of the machine hits all of them; the table shows medians, and ratios are medians
//! of the ratios within one turn. Latency runs from the first begin to the commit, retries included, and is taken of one
//! transaction in 16; of one in 128 the time is broken down instead, which slows that one down. Counts are complete.
//! CPU time is the workers' own, user and system: on a machine that others use too, it is what can be compared.
//!
//! **Consistency.** A check that fails fails the run. An engine that promises no isolation may lose updates and nothing
//! else: its check then says `ok without isolation` and what was lost.

mod bare;
mod engine_run;
mod footprint;
mod host;
mod interrupt;
mod memory;
mod options;
mod plan;
mod plot;
mod progress;
mod range;
mod report;
mod reproduce;
mod table;
pub mod trial;
mod wire;

pub use interrupt::Interrupt;
pub use options::{BenchCommand, ConcurrencyName, RunOptions, SchedulerName, WORKLOADS, WorkloadOptions};
pub use plan::{BenchError, bench};
pub use reproduce::{ReproduceOptions, reproduce};
pub use wire::{Url, WireOptions};
