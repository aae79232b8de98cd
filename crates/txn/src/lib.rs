//! The vocabulary of transactions. It has no behaviour, except for the rule that limits how many transactions are let
//! in where they make each other fail.
//!
//! | noun | what it is |
//! | --- | --- |
//! | [`Protocol`] | a concurrency-control protocol: its data beside a record, per worker and per transaction |
//! | [`Transaction`] | the calls of a transaction; object-safe, so that SQL is compiled once |
//! | [`Holding`], [`Yielding`], [`Planned`], [`Diagnostics`] | the further parts of [`Transaction`] |
//! | [`Capabilities`] | what the transactions of a database can do beyond the core |
//! | [`Procedure`] | a one-shot transaction, written once for all engines |
//! | [`Accesses`] | what a procedure will read and write, as far as it is known beforehand |
//! | [`Engine`] | a database under one protocol chosen at run time |
//! | [`Inspection`] | the view of a database from outside its transactions |
//! | [`Deadlock`] | the cycle of waits that a deadlock's victim was part of |
//! | [`LoadLimit`] | how many transactions are let in at once if they make each other fail |
//! | [`Tickets`] | which transactions are let in, and for how long each of them counts |
//! | [`Abort`] | why a transaction cannot go on, and whether a retry can help |
//! | [`standard!`], [`forward!`] | macros that write an engine's standard methods, or methods that forward to a wrapped object |

mod abort;
mod access;
mod capabilities;
mod concurrency;
mod deadlock;
mod diagnostics;
mod engine;
mod forward;
mod holding;
mod info;
mod inspection;
mod isolation;
mod load_limit;
mod planned;
mod procedure;
mod protocol;
mod savepoint;
mod settings;
mod standard;
mod statistics;
mod tickets;
mod transaction;
mod words;
mod yielding;

pub use abort::Abort;
pub use access::{Access, Accesses, EntriesAccess, EntryAccess, Intent, RangeAccess};
pub use capabilities::Capabilities;
pub use concurrency::Concurrency;
pub use deadlock::{Deadlock, LockPart, LockTarget, LockWait, WaitsFor};
pub use diagnostics::{Diagnostics, Exclusion, Prospect};
pub use engine::Engine;
pub use holding::{Holding, Ownership};
pub use info::{EngineInfo, Scheduler};
pub use inspection::{AdmissionStatistics, EarlyReleaseStatistics, Inspection, LockStatistics, VersionStatistics};
pub use isolation::Isolation;
pub use load_limit::LoadLimit;
pub use planned::Planned;
pub use procedure::{Procedure, Runner};
pub use protocol::{Duties, Protocol, WorkerId};
pub use savepoint::Savepoint;
pub use settings::{Setting, Settings, SettingsError};
pub use statistics::{AnalysisCounts, HierarchyStatistics, LogTimes, Statistics};
pub use tickets::Tickets;
pub use transaction::{Begin, Direction, LockFor, Residual, Scan, Transaction, Write};
pub use words::number_of;
pub use yielding::Yielding;
