//! Runs over the network: transactions as prepared statements, from many clients, to any server that speaks
//! PostgreSQL's protocol.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `over_wire.rs` | a workload whose transactions can be sent, and a client that sends them |
//! | `statements/` | the transactions of each workload as statements |
//! | `database.rs` | the loaded server, its runs, and their reports |
//! | `target.rs` | the server: one of ours in a process of its own, or one that a URL leads to |
//! | `tables.rs` | the workload's tables there: made, filled by COPY, and dropped |
//! | `procedure.rs` | the workload's procedure there: made, called, and dropped |
//! | `table_reader.rs` | the rows after a run: summed up there, or read back |
//! | `closed_loop.rs` | the clients, each with one transaction after the other |
//! | `session.rs` | a client's connection |
//! | `failure.rs` | the errors that a retry cures, and the messages of the rest |
//! | `breakdown.rs` | where the server's CPU time goes |
//! | `execute.rs` | one statement for another command |
//!
//! **Calls and pipelines.** A workload with a [procedure](procedure::ServerProcedure) can send each transaction as one
//! CALL. Then a connection may have several transactions under way, each followed by its own Sync: several clients of
//! the closed loop share its session.
//!
//! **How it measures.** The server's CPU time is that of its processes, user and system, and so apart from that of the
//! clients, which is reported too. Every statement is a request and a reply; those that begin and end transactions
//! count. Latency runs from the first statement to the answer to COMMIT, retries included, and is taken of every
//! transaction. A transaction that the server refuses with 40001, 40P01 or 55P03 is retried at once, and counted.
//!
//! **Consistency.** After the run the tables are summed up in SQL, and the sums are compared with what the clients know
//! to be committed. The tables of TPC-C are read back row by row instead, and are judged by the check of runs in this
//! process.

mod breakdown;
mod closed_loop;
mod database;
mod execute;
mod failure;
mod over_wire;
mod procedure;
mod session;
mod statements;
mod table_reader;
mod tables;
mod target;

pub(crate) use database::{LoadOverWire, load_over_wire};
pub use execute::execute;
pub(crate) use over_wire::OverWire;
