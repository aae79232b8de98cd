//! Request-to-coroutine: the messages that have come on a connection are answered in a coroutine.
//!
//! When whole messages have come on a connection, its worker takes a stack from its pool and answers all of them in a
//! coroutine on it. The coroutine ends when they are answered, so an idle connection has no stack. While no coroutine
//! waits, nothing is switched. A coroutine that waits, for a lock, for its socket or for the rest of a message, is
//! suspended, and the worker goes on with another connection.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `runner` | runs conversations in coroutines: stacks, suspension, long statements |
//! | `scheduler` | how a coroutine waits, and how others wake it |
//! | `worker` | a worker that reads, runs and writes for its connections (`--io worker`) |
//! | `moving` | how a connection moves away from a worker with a long statement, and back |
//! | `handoff` | I/O threads that read and write, and workers that run the messages (`--io handoff`) |
//!
//! Connections move between workers, coroutines do not: compiled code may keep the address of a thread's own data
//! across a call, so a coroutine is resumed by one thread from its first to its last instruction.

mod handoff;
mod moving;
mod runner;
mod scheduler;
mod worker;

pub use handoff::HandoffWorkers;
pub use worker::CoroutineWorkers;
