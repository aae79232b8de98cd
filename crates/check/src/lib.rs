//! Recorded histories, and the check whether they are as isolated as they should be.
//!
//! A [`Recorder`] wraps a transaction object and records what each transaction reads and writes. Every write gets a
//! unique stamp, in a column that is set aside for it, so that a read shows which write made the version that it saw.
//! If all transactions are serializable, [`check()`] searches a serial order that explains what they saw, each
//! transaction at its commit. At other levels, and to explain why there is no such order, it searches for Adya's
//! phenomena: it orders each item's versions, derives the dependencies between transactions, and searches for cycles.
//!
//! ```text
//! let recording = Recording::new();
//! recording.table(&*engine, table, stamp_column);
//! let mut txn = Recorder::new(engine.transaction(waiter), &recording, "a");
//! … run transactions, in one thread or many …
//! check(&recording.history())?;
//! ```
//!
//! | noun | what it is |
//! | --- | --- |
//! | [`History`] | transactions, their operations and how they ended |
//! | [`Recording`] | a history in the making, into which recorders write |
//! | [`Anomaly`] | a proof that a history is not isolated, with its evidence in sentences |
//! | [`Objection`] | an anomaly, or that the history is undecided |
//! | [`Evidence`] | the basis of a verdict without objection |
//! | [`RedoRecorder`] | a redo sink that rebuilds the rows from the records |
//! | [`RecordedLog`] | a redo sink that stands for a log, for restarts from any of its prefixes |
//! | [`write_history`], [`read_history`] | histories in files |
//!
//! **Levels.** Each transaction is judged at its own level ([`check()`]) or all at one ([`check_at`]). An
//! anti-dependency counts if the level of the transaction that read rules such a cycle out: Adya's mixing-correct
//! histories.
//!
//! **How versions are ordered.** An update says which version it replaced, so the versions of one life of an item (from
//! its insert to its delete) are a chain. Lives follow each other in the order in which their inserts returned, which
//! is right for every engine that lets an item have one uncommitted writer. Two facts cannot be observed. If a read
//! found nothing, it is unknown which of the item's absences it met. If a unique index refused a write, it is unknown
//! which row was the reason. The checker guesses that the call met the latest state at the time when it returned. If
//! the transaction reads as of one time, it guesses the latest state when another transaction began to replace a
//! version that this one has seen. Before the checker reports a cycle that rests on such a guess, it tries the other
//! possibilities, first those that take the transaction back to its beginning. The search for a serial order makes no
//! guesses.
//!
//! Sources: A. Adya, "Weak Consistency: A Generalized Theory and Optimistic Implementations for Distributed
//! Transactions", 1999, chapters 3 and 4.

mod anomaly;
mod check;
mod cycle;
mod edges;
mod evidence;
mod file;
mod history;
mod internal;
mod items;
mod recorded_log;
mod recorder;
mod recording;
mod redo;
mod redo_table;
mod serial;
mod versions;

pub use anomaly::{Anomaly, AnomalyKind, Objection};
pub use check::{check, check_at, final_versions};
pub use evidence::Evidence;
pub use file::{About, FileError, read_history, write_history};
pub use history::{Event, History, Item, Operation, Outcome, Range, Record, Stamp, Version};
pub use recorded_log::RecordedLog;
pub use recorder::Recorder;
pub use recording::Recording;
pub use redo::RedoRecorder;
