//! Benchmark workloads: native one-shot procedures over the schemas and rows that SQL sees.
//!
//! A workload is a folder with the same five files:
//!
//! | file | what it holds |
//! | --- | --- |
//! | `schema.rs` | its tables |
//! | `load.rs` | the rows they begin with |
//! | `generate.rs` | its options, and the next transaction of a client |
//! | `procedures.rs` | its transactions, as [`Procedure`](hotrow_txn::Procedure)s |
//! | `consistency.rs` | what must hold after a run, whatever engine ran it |
//!
//! | workload | what it is |
//! | --- | --- |
//! | [`ycsb`] | reads and read-modify-writes of one table's rows; uniform, Zipfian or hot/cold keys |
//! | [`hekaton`] | short reads and writes of small rows, beside long readers |
//! | [`interactive`] | reads and writes of a table of keys and values, each a request of its own |
//! | [`micro`] | read-and-update of a few records, some of them hot |
//! | [`range`] | locks on ranges of keys: no rows, no engine, and so neither schema nor procedures |
//! | [`tatp`] | TATP: seven short transactions of a register of mobile subscribers |
//! | [`tpcb`] | TPC-B on pgbench's schema |
//! | [`tpcc`] | TPC-C, all five transactions, on BenchBase's schema |
//!
//! A workload never asks which engine runs it. Its transactions allocate nothing once the buffers have grown.

mod checksum;
mod computation;
mod counters;
pub mod distribution;
pub mod hekaton;
pub mod interactive;
mod load;
pub mod micro;
mod options;
pub mod range;
pub mod tatp;
mod time;
pub mod tpcb;
pub mod tpcc;
mod visit;
mod workload;
pub mod ycsb;

pub use load::{LoadError, Progress};
pub use workload::{Client, Seat, Violation, Workload};
