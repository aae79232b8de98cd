//! A run: a database that is loaded, driven by clients for a while, and checked.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `database.rs` | a loaded database, what its runs have at hand, and how they fail |
//! | `engine.rs` | a database in this process, driven under an engine or by a bare loop |
//! | `log_folder.rs` | the data directory of a database with a log |
//! | `bare_loop.rs` | a loop that drives a workload where an engine would |
//! | `ycsb_loop.rs` | the floor: YCSB over index and records without transactions |
//! | `range_lock_loop.rs` | the workload `range` over a manager of range locks |
//! | `progress.rs` | bars on a terminal, lines otherwise |
//!
//! Every database is loaded once, and then driven and checked as often as the command wants. A check is made of all
//! that has run on the database since the load. An engine that promises no isolation may lose updates, and a weak level
//! may show rows as they never were together: the report says so, and the run has not failed.
//!
//! Runs over the network are in the layer above, in `wire`.

mod bare_loop;
mod database;
mod engine;
mod log_folder;
mod progress;
mod range_lock_loop;
mod ycsb_loop;

pub(crate) use bare_loop::BareLoop;
pub(crate) use database::{LoadedDatabase, RunContext, RunFailure};
pub(crate) use engine::{load_bare, load_engine};
pub(crate) use progress::Progress;
pub(crate) use range_lock_loop::range_lock_loop;
pub(crate) use ycsb_loop::ycsb_loop;
