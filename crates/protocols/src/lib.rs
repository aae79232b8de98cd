//! Concurrency-control protocols, one folder each, and the registry that finds them by name.
//!
//! A folder's `mod.rs` names its paper, says the idea in a paragraph, maps the paper's nouns to the code, and numbers its invariants
//! and departures. Its `transaction.rs` has begin, read, update, insert, delete, scan, commit and abort in this order,
//! so that two protocols can be laid side by side. Those that lock rows and change them in place go through one life, in
//! `shared/locking.rs`; their `transaction.rs` has what their locks do at begin, to read, to write, to insert, to scan and at the end.
//!
//! A protocol names no other protocol. What two of them need is a structure in `shared`.

pub mod atomic;
pub mod hekaton;
pub mod ilock;
mod instance;
pub mod none;
pub mod one_version;
pub mod ordered;
pub mod partition;
mod registry;
pub mod row_nowait;
pub mod serial;
mod shared;
pub mod two_phase;
pub mod vll;

pub use instance::Instance;
pub use registry::{ENGINES, OpenError, UnknownEngine, WithProtocol, dispatch, open, open_with, refuse_unheeded};
pub use shared::range_locks::managers as range_locks;
pub use shared::time_outs::TimeOuts;
