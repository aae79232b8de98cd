//! `serial`: one transaction at a time, under one global lock.
//!
//! **Paper.** None: this is the smallest protocol, the skeleton to copy, and the oracle that tests compare others with.
//!
//! **The idea.** `begin` takes the lock, the end of the transaction gives it back; in between the transaction is alone.
//! So it needs no lock per row, sees no anomaly, and cannot deadlock. Transactions get the lock in the order in which
//! they asked for it. A transaction that keeps it for longer than another is willing to wait makes that one abort with
//! [`Abort::Timeout`](hotrow_txn::Abort::Timeout).
//!
//! **Invariants**
//!
//! 1. A transaction that touches a row holds the global lock.
//! 2. The lock is released after the last change is final or undone.

mod transaction;

pub use transaction::{GlobalLock, Serial, SerialConfig, SerialTransaction};
