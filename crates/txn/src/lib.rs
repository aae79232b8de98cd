//! The vocabulary of transactions. It has no behaviour, except for the rule that limits how many transactions are let
//! in where they make each other fail.
//!
//! | noun | what it is |
//! | --- | --- |
//! | [`Protocol`] | a concurrency-control protocol: its data beside a record, per worker and per transaction |
//! | [`Transaction`] | what a transaction can do; object-safe, so that SQL is compiled once |
//! | [`Wrapper`] | a transaction object around another one |
//! | [`Procedure`] | a one-shot transaction, written once for all engines |
//! | [`Accesses`] | what a procedure will read and write, as far as it is known beforehand |
//! | [`Engine`] | a database under one protocol chosen at run time |
//! | [`Deadlock`] | the cycle of waits that a deadlock's victim was part of |
//! | [`LoadLimit`] | how many transactions are let in where they make each other fail |
//! | [`Tickets`] | which of these are let in, and for how long that counts |
//! | [`Abort`] | why a transaction cannot go on, and whether a retry can help |

mod abort;
mod access;
mod concurrency;
mod deadlock;
mod engine;
mod isolation;
mod load_limit;
mod procedure;
mod protocol;
mod settings;
mod statistics;
mod tickets;
mod transaction;
mod words;
mod wrapper;

pub use abort::Abort;
pub use access::{Access, Accesses, EntriesAccess, EntryAccess, Intent, RangeAccess};
pub use concurrency::Concurrency;
pub use deadlock::{Deadlock, LockPart, LockTarget, LockWait, WaitsFor};
pub use engine::{
    AdmissionStatistics, EarlyReleaseStatistics, Engine, EngineInfo, LockStatistics, Scheduler, VersionStatistics,
};
pub use isolation::Isolation;
pub use load_limit::LoadLimit;
pub use procedure::{Procedure, Runner};
pub use protocol::{Duties, Protocol, WorkerId};
pub use settings::{Setting, Settings, SettingsError};
pub use statistics::Statistics;
pub use tickets::Tickets;
pub use transaction::{Begin, Direction, Exclusion, LockFor, Prospect, Residual, Savepoint, Scan, Transaction, Write};
pub use words::number_of;
pub use wrapper::Wrapper;
