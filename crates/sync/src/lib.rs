//! The only door to atomics, latches, threads and waiting.
//!
//! Every other crate takes its atomics and threads from here, so that one `--cfg` turns the whole engine into a model:
//!
//! | build | what stands behind the facade |
//! | --- | --- |
//! | plain | `std` |
//! | `--cfg loom` | loom: every interleaving of a small model |
//! | `--cfg shuttle` | shuttle: many random interleavings of a larger one |
//! | `--cfg machine` | a simulated machine: whole engines on virtual threads, one step at a time |
//!
//! The nouns:
//!
//! | noun | what it is |
//! | --- | --- |
//! | [`Latch`] | protects memory for a moment (a *lock* protects data for a transaction and belongs to a protocol) |
//! | [`Baton`] | protects memory that one thread uses nearly always |
//! | [`Waiter`] | how a transaction waits |
//! | [`Scheduler`] | what a wait does: it blocks a thread, or suspends a coroutine |
//! | [`Doorbell`] | wakes a worker that keeps several transactions, each in a slot |
//! | [`Inbox`] | what other threads send to a worker that waits for sockets |
//! | [`ring`] | a queue between two threads |
//! | [`byte_ring`] | the buffer of a log: many threads fill it, one drains it |
//! | [`meter`] | counts the memory in use |
//!
//! **Orderings.** Acquire and release are the rule. Any other ordering has its reason beside it; `cargo test -p xtask`
//! checks that.

pub mod backoff;
pub mod baton;
pub mod byte_ring;
#[cfg(not(loom))]
pub mod cell;
#[cfg(not(any(loom, shuttle)))]
pub mod coroutine;
pub mod doorbell;
mod facade;
pub mod inbox;
pub mod latch;
#[cfg(machine)]
pub mod machine;
pub mod meter;
pub mod pad;
mod prefetch;
pub mod ring;
#[cfg(not(any(loom, shuttle)))]
pub mod slot;
#[cfg(not(any(loom, shuttle)))]
pub mod stack;
mod thread_number;
pub mod wait;

pub use backoff::Backoff;
pub use baton::Baton;
pub use doorbell::Doorbell;
pub use facade::*;
pub use inbox::Inbox;
pub use latch::{Latch, LatchGuard};
pub use pad::CachePadded;
pub use prefetch::{prefetch, prefetch_bytes, prefetch_to_write};
#[cfg(not(any(loom, shuttle)))]
pub use slot::SlotScheduler;
pub use thread_number::thread_number;
pub use wait::{Scheduler, Time, Waiter, Wake};
