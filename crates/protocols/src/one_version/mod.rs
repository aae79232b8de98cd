//! Locking without versions, the lock table inside each index: `1v`.
//!
//! **Paper.** Larson, Blanas, Diaconu, Freedman, Patel, Zwilling: High-Performance Concurrency Control Mechanisms for
//! Main-Memory Databases, §5, the single-version engine that the multiversion ones are compared with.
//!
//! **The idea.** There is no lock manager. Each index has a table of small locks, and a key's hash says which of them
//! is the key's. So a lock is found without a search, taken and released by one exchange each, and covers all records
//! with its key, absent ones too: a transaction that has read an absent key keeps inserters out. Rows are changed in
//! place; a log undoes them. The transaction whose wait closes a cycle finds it, and the youngest of the cycle aborts.
//! A row takes its columns, its slot of the hash index and no word for locks of its own: the locks of an index take 256
//! KiB, or 4 to 8 bytes for each row, 16 if they are few, once a transaction has held a thousand at once.
//!
//! | paper | code |
//! | --- | --- |
//! | a lock table in every index, partitioned | [`KeyLocks`], in [`RecordHeader::Index`](hotrow_storage::RecordHeader::Index); in chunks that are made when first used |
//! | each hash key assigned to a lock | [`key_locks`]: a key's hash names a word; how few become many while they are held |
//! | a lock | [`key_lock`]: counts in a word |
//! | a lock covers all records with its key, and so phantoms | a row's lock is its key's in the primary hash index, whether or not there is a row |
//! | time-outs break deadlocks | [`TimeOuts`](crate::shared::time_outs::TimeOuts), if they are asked for; else deadlocks are [found](crate::shared::deadlocks) |
//! | cursor stability at read committed | [`Locker::row_for_now`](locker::Locker::row_for_now) |
//!
//! # What is locked where
//!
//! | index | locks |
//! | --- | --- |
//! | hash, on the primary key | rows, present or absent |
//! | ordered, on the primary key | gaps, by the key above each; without such an index, the pseudo-gaps of scans of everything |
//! | secondary hash | all rows with the same columns; the right to have them, if the index is unique |
//! | secondary ordered | gaps, by the entry above each; the right to have the columns, if the index is unique |
//!
//! [`shared::gaps`](crate::shared::gaps) says why gaps named by the keys above them keep phantoms out of ranges. Here
//! several names may share a lock: then it covers more than was asked for, and never less.
//!
//! # Isolation levels
//!
//! At **read committed** a read's lock is released when the transaction goes on to its next call, and gaps are not
//! locked to be read. At **repeatable read** reads keep the locks of rows that are there to the end. A scan of a
//! secondary ordered index locks its gaps, too, and gives them back when it has ended: otherwise a row that is not
//! locked yet could move to where the scan has been, and be missed. So each scan sees all rows that are in its range
//! throughout, and the next one may see new rows. At **serializable** reads keep the locks of absent keys and lock
//! gaps, too. Writes are the same at all levels: they announce themselves to gaps, since other transactions may be
//! serializable. A transaction may hold a lock by another key that shares it, and then keeps it.
//!
//! # Departures
//!
//! 1. The paper says nothing of the transactions that wait. They stand in [`queues`] beside the locks, found by the
//!    lock's number, first come first served; a word says whether any transaction waits.
//! 2. Deadlocks are found where the paper has time-outs, which stay as a setting. A wait is then taken for a deadlock
//!    when the requests that it waits for have not moved for some time, not when it has lasted so long: transactions
//!    that stand behind a deadlock do not give up with it.
//! 3. The paper's lock tables have a fixed size. Here locks are split when a transaction holds many.
//! 4. The paper has hash indexes only. Ordered ones lock gaps, in a mode of their own for inserters.

mod held;
mod key_lock;
mod key_locks;
mod locker;
mod queues;
mod transaction;

pub use key_locks::{KeyLocked, KeyLocks};
pub use transaction::{KeyLocking, OneVersion, OneVersionTransaction};

#[cfg(all(test, shuttle))]
mod model;
#[cfg(all(test, not(shuttle)))]
mod tests;
