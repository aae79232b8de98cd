//! Recorded histories, and whether they are isolated as they should be.
//!
//! A [`Recorder`] stands around a transaction object and writes down what each transaction read and wrote; every write
//! gets a stamp of its own in a column set aside for it, so that a read says whose version it saw. If all transactions
//! are serializable, [`check()`] searches a serial order that explains what they saw, each transaction at its commit.
//! At other levels, and to say why there is no such order, it looks for Adya's phenomena: it orders each item's
//! versions, draws the dependencies between transactions, and looks for cycles.
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
//! | [`Recording`] | what recorders write into |
//! | [`Anomaly`] | a proof that a history is not isolated, told as a story |
//! | [`Objection`] | an anomaly, or that the history is undecided |
//! | [`Evidence`] | what a verdict rests on when there is no objection |
//! | [`RedoRecorder`] | a redo sink that makes the rows from the records again |
//! | [`write_history`], [`read_history`] | histories in files |
//!
//! **Levels.** Each transaction is judged at its own level ([`check()`]) or all at one ([`check_at`]). An anti-dependency counts if
//! the level of the transaction that read rules such a cycle out: Adya's mixing-correct histories.
//!
//! **How versions are ordered.** An update says which version it replaced, so the versions of one life of an item (from
//! its insert to its delete) are a chain. Lives follow each other in the order in which their inserts returned, which
//! is right for every engine that lets an item have one uncommitted writer. What cannot be observed is which of an
//! item's absences a read met that found nothing, or which row a unique index refused a write for: the checker takes
//! the latest that was there when the call returned, or when somebody set out to replace what the transaction has seen,
//! if it reads as of one time. Before it reports a cycle that rests on such a guess it tries the others, first those
//! that take the transaction back to its beginning. The search for a serial order guesses nothing.
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
mod recorder;
mod recording;
mod redo;
mod serial;
mod versions;

pub use anomaly::{Anomaly, AnomalyKind, Objection};
pub use check::{check, check_at, final_versions};
pub use evidence::Evidence;
pub use file::{About, FileError, read_history, write_history};
pub use history::{Event, History, Item, Operation, Outcome, Range, Record, Stamp, Version};
pub use recorder::Recorder;
pub use recording::Recording;
pub use redo::RedoRecorder;
