//! The runtime of transactions: workers for one-shot procedures, sessions for interactive ones, and a simulator for
//! tests.
//!
//! The shortest useful program over a transaction object `txn` that waits through `waiter`:
//!
//! ```text
//! let mut runner = OneShot::new(txn, waiter, OneShotConfig::default());
//! let output = runner.run(&procedure)?;      // begins, runs, commits; retries what a retry can cure
//! ```
//!
//! | noun | what it is |
//! | --- | --- |
//! | [`OneShot`] | runs procedures on one transaction object, with retry and back-off |
//! | [`drive`] | worker threads that run procedures for a measured time, one at a time on each |
//! | [`drive_pool`] | workers that each run several procedures at a time, and switch when one waits |
//! | [`RunReport`] | the counts of a run |
//! | [`Planner`] | the access sets of procedures, for engines that need them |
//! | [`Estimate`], [`Reconnaissance`] | access sets that are not known beforehand |
//! | [`Attendants`] | threads for the workers of an engine that serve the transactions of sessions |
//! | [`Session`] | interactive transactions on an engine chosen at run time |
//! | [`simulation`] | many transactions on one thread, interleaved at every access by a seed |
//!
//! The runtime names no protocol: it is generic over [`Transaction`](hotrow_txn::Transaction).

mod attendants;
mod driver;
mod estimate;
#[cfg(test)]
mod fake;
mod planner;
mod pool;
mod random;
mod reconnaissance;
mod report;
mod retry;
mod run;
mod runner;
mod session;
pub mod simulation;
mod stop;

pub use attendants::Attendants;
pub use driver::drive;
pub use estimate::{Corrected, Estimate, Estimates, Renewal};
pub use planner::Planner;
pub use pool::{PoolConfig, Slot, drive_pool};
pub use random::Random;
pub use reconnaissance::{Reconnaissance, Shapes};
pub use report::{Aborts, Breakdown, Counts, KindCount, Kinds, RunReport, ThreadTime};
pub use retry::{Retry, RetryConfig};
pub use run::{RunConfig, RunError};
pub use runner::{ConcurrencyMix, OneShot, OneShotConfig};
pub use session::{Session, Txn};
pub use stop::Stop;
