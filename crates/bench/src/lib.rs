//! The benchmark driver: runs a workload on one engine after the other and reports.
//!
//! The modules stand in layers. Each uses those above it in this table only:
//!
//! | module | what it holds |
//! | --- | --- |
//! | `error.rs`, `interrupt.rs`, `numbers.rs` | why a benchmark ends without success or early; numbers for people |
//! | `machine/` | what the figures are measured on, and what threads and processes use of it |
//! | `options/` | the options of a run, and the names of what a workload can be run on |
//! | `report/` | the report of a run, in JSON |
//! | `table/`, `plot.rs` | the same for people |
//! | `run/` | a run in this process: load, drive, check |
//! | `wire/` | the same over the network, with the transactions as statements |
//! | `command/` | the workloads of the command line, each with what drives it |
//! | `bench/` | [`bench()`]: the command that runs a workload |
//! | `reproduce/` | [`reproduce()`]: figures of papers, measured, drawn and compared with what the papers say |
//! | [`trial`] | recorded runs of random transactions, to be judged; it uses no other module |
//!
//! **How it measures.** Every run has a database of its own, loaded for it and checked after it. With repetitions the
//! engines take turns, so that a drift of the machine hits all of them; the table shows medians, and ratios are medians
//! of the ratios within one turn. Latency runs from the first begin to the commit, retries included, and is taken of
//! one transaction in 16. Of one in 128, or with `--breakdown` of one in 32, the time is broken down instead, which
//! slows that transaction down. On a simulated machine, whose runs are short, eight times as many are taken. Counts are
//! complete. CPU time is that of the workers, user and system: it can be compared on a busy machine, too.
//!
//! **Consistency.** A failed check fails the run. An engine that promises no isolation may lose updates and nothing
//! else: its check then reports `ok without isolation` and what was lost.

mod bench;
mod command;
mod error;
mod interrupt;
mod machine;
mod numbers;
mod options;
mod plot;
mod report;
mod reproduce;
mod run;
mod table;
pub mod trial;
mod wire;

pub use bench::bench;
pub use command::{BenchCommand, WORKLOADS};
pub use error::BenchError;
pub use interrupt::Interrupt;
pub use options::{
    AssignName, ConcurrencyName, EngineOptions, PlacementOptions, ReportOptions, RunOptions, SchedulerName, Url,
    WireOptions, WorkloadOptions,
};
pub use reproduce::{ReproduceOptions, reproduce};
pub use wire::execute;
