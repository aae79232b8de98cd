//! Concurrency-control protocols, one folder each, and the registry that finds them by name.
//!
//! A folder's `mod.rs` names the protocol's paper, says the idea in a paragraph, maps the paper's nouns to the code,
//! and numbers invariants and departures. The folder's `transaction.rs` has begin, read, update, insert, delete, scan,
//! commit and abort in this order, so that two protocols can be laid side by side. Protocols that lock rows and change
//! them in place go through one life, in `shared/locking.rs`; their `transaction.rs` has what their locks do at begin,
//! to read, to write, to insert, to scan and at the end.
//!
//! A protocol names no other protocol. Structures that two of them need are in `shared`.

pub mod atomic;
pub mod hekaton;
pub mod hier;
pub mod ilock;
mod instance;
pub mod none;
pub mod one_version;
pub mod ordered;
pub mod orthrus;
pub mod partition;
pub mod partition_store;
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
