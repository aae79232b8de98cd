//! Benchmark workloads: native one-shot procedures over the schemas and rows that SQL sees.
//!
//! Each workload is a folder with the same five files:
//!
//! | file | what it holds |
//! | --- | --- |
//! | `schema.rs` | the workload's tables |
//! | `load.rs` | the initial rows of the tables |
//! | `generate.rs` | the options, and the next transaction of a client |
//! | `procedures.rs` | the transactions, as [`Procedure`](hotrow_txn::Procedure)s |
//! | `consistency.rs` | the conditions that must hold after a run, under any engine |
//!
//! | workload | what it is |
//! | --- | --- |
//! | [`ycsb`] | reads and read-modify-writes of one table's rows; uniform, Zipfian or hot/cold keys |
//! | [`bimodal`] | groups of transactions that touch different tables |
//! | [`hekaton`] | short reads and writes of small rows, beside long readers |
//! | [`interactive`] | reads and writes of a table of keys and values, each a separate request |
//! | [`micro`] | read-and-update of a few records, some of them hot |
//! | [`range`] | locks on ranges of keys: no rows, no engine, and so neither schema nor procedures |
//! | [`roving`] | appends to a history whose hot page moves on, and reads of its newest rows |
//! | [`tatp`] | TATP: seven short transactions on a register of mobile subscribers |
//! | [`tpcb`] | TPC-B on pgbench's schema |
//! | [`tpcc`] | TPC-C, all five transactions, on BenchBase's schema |
//! | [`transfers`] | transfers between accounts, a few of which are very popular |
//!
//! | file | what several workloads share |
//! | --- | --- |
//! | `workload.rs` | the interface of workloads and of their clients |
//! | `assignment.rs` | the assignment of transactions to threads by their types |
//! | `options.rs`, [`distribution`] | parsers for options; the popularity of keys |
//! | `computation.rs`, `checksum.rs`, `time.rs` | computation of transactions; checksums of rows; the time of day in rows |
//! | `visit.rs`, `counters.rs` | visits to rows after a run; the check of workloads whose rows count their updates |
//!
//! A workload never asks which engine runs it. Once their buffers have grown, its transactions allocate nothing.

mod assignment;
pub mod bimodal;
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
pub mod roving;
pub mod tatp;
mod time;
pub mod tpcb;
pub mod tpcc;
pub mod transfers;
mod visit;
mod workload;
pub mod ycsb;

pub use assignment::{Dealer, Group, Hand, Types};
pub use load::{LoadError, Progress};
pub use workload::{Client, ClientIdentity, Violation, Workload};
