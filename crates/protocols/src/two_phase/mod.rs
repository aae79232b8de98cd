//! Strict two-phase locking over one lock table, each engine with its deadlock policy: `2pl-waitdie`, `2pl-waitfor`,
//! `2pl-dreadlocks`, `2pl-timeout`, `lock-table`.
//!
//! **Paper.** Ren, Faleiro, Abadi: Design Principles for Scaling Multi-core OLTP Under High Contention, §4, the
//! baselines.
//!
//! **The idea.** A transaction locks each row as it comes to it, shared to read and exclusive to write, and keeps its
//! locks until it ends. Rows are changed in place; a log undoes them. The deadlock policy decides what happens when a
//! lock is not free; the engines differ in nothing else.
//!
//! | paper | code |
//! | --- | --- |
//! | lock table, latch per bucket, no intention locks | [`shared::lock_table`](crate::shared::lock_table) |
//! | memory from thread-local pools only | the requester's own list of held names; requests inside the head's cache line |
//! | wait die | [`WaitDie`] |
//! | wait-for graph, a partition for each thread | [`WaitFor`]; [`shared::wait_graph`](crate::shared::wait_graph), a node for each transaction in flight |
//! | dreadlocks, digests as bitmaps | [`Dreadlocks`] |
//! | timestamps from the core's own counter | [`WaitDie::begin`] |
//!
//! Zhu, Wang, Hu, Qian, Wang, Zhou: Interactive Transaction Processing for In-Memory Database System, §5, compare their
//! lock manager with *Lock-Table*, a centralized lock table with time-outs whose transactions have a thread each: that
//! is `2pl-timeout`, and [`Centralized`] gives it that name, `lock-table`. All engines that are compared there have the
//! same time-outs, and so they have here if time-outs are asked for.
//!
//! # Phantoms
//!
//! The paper locks records only. Serializable transactions here also lock what is *not* there: absent keys, gaps, and
//! the columns of unique indexes, as [`shared::gaps`](crate::shared::gaps) says.
//!
//! # Read committed
//!
//! A read's lock is released when the transaction goes on to its next call (cursor stability); gaps are not locked.
//! Writes are as in serializable, announcing themselves to gaps included, since other transactions may be serializable.
//!
//! # Departures
//!
//! Requests are not objects linked into the head from a pool: a granted request is 8 bytes in the head's own cache
//! line, and the pool holds what its owner needs to release it. One line less is touched per lock.
//!
//! Wait-die compares timestamps of the process's clock, taken at the first try and kept for the retries: on a machine
//! with one invariant counter for all cores the two are the same. A request also waits for conflicting requests before
//! it in the queue, so it must be older than those, too.

mod dreadlocks;
mod policy;
mod transaction;
mod wait_for;

pub use dreadlocks::{Dreadlocks, DreadlocksConfig};
pub use policy::{Centralized, Policy, Timeout, WaitDie, WaitDieConfig};
pub use transaction::{TwoPhase, TwoPhaseConfig, TwoPhaseLocking, TwoPhaseTransaction};
pub use wait_for::{WaitFor, WaitForConfig};

#[cfg(all(test, shuttle))]
mod model;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
