//! Managers of range locks behind one interface: VLLR and the managers that it is compared with.
//!
//! **Source.** *VLL: a lock manager redesign for main memory database systems*, §3.4.
//!
//! | manager | what it is | the paper's |
//! | --- | --- | --- |
//! | [`Vllr`] of [`FourCounters`] | four counters for each prefix, a queue of transactions, analysis if wanted | VLLR (Fig. 6) |
//! | [`Vllr`] of [`Blocks`] | the same with one count for six levels of prefixes, and an exact analysis | |
//! | [`Standard`] | ranges in a sorted map, each with a queue of requests | standard range lock manager |
//! | [`Hierarchical`] | prefixes in a hash table, each with a queue of requests | hierarchical lock manager |
//! | [`Records`] | two counters for each key, a queue of transactions | basic VLL, a lock for each record |
//!
//! Each transaction requests one range, all at once, and gives it back in the end. A request is granted when none of
//! the requests before it that were not given back conflicts with it: all managers keep this order, so none of them
//! lets a transaction starve, or deadlock. They differ in what they take for a conflict (the standard manager and the
//! one of records know ranges exactly, the others by their common prefix), and in when they notice that a request can
//! be granted: those with queues of requests at once, those with one queue of transactions when the transaction is the
//! queue's first, or when the analysis finds it.
//!
//! No manager is safe for threads: each belongs to one thread.

mod hierarchical;
mod manager;
mod queue;
mod records;
mod standard;
#[cfg(test)]
mod tests;
mod vllr;

pub use hierarchical::Hierarchical;
pub use manager::{KeyRange, Prefixing, RangeLockManager, TxnNumber};
pub use records::Records;
pub use standard::Standard;
pub use vllr::{Blocks, FourCounters, PrefixState, Vllr};
