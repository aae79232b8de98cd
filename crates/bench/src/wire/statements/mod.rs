//! The transactions of each workload as statements.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `counters.rs` | workloads of one table whose rows count their updates: what `interactive` and `ycsb` share |
//! | `interactive.rs`, `ycsb.rs` | their statements, and how their requests are sent |
//! | `tatp.rs`, `tpcb.rs`, `tpcc.rs`, `transfers.rs` | the other workloads, a file each |
//! | `decimal.rs` | decimals, as the driver sends and takes them |
//!
//! A client draws its transactions from the workload's own client, so that a seed gives the same transactions with and
//! without a network. Every statement is prepared, and is called by its position in the list of the workload. A file
//! begins with these positions. A workload with a procedure has its text here, too: the same for Hotrow and PostgreSQL.

mod counters;
mod decimal;
mod interactive;
mod tatp;
mod tpcb;
mod tpcc;
mod transfers;
mod ycsb;
