//! The execution models: which thread runs a connection's messages, and what happens when they wait.
//!
//! | folder or file | model | a connection |
//! | --- | --- | --- |
//! | `thread` | transaction-to-thread | has a thread, which blocks while it waits for the client or for a lock |
//! | `request` | request-to-thread | has a worker that reads; a thread of a pool runs its messages, and may block |
//! | `coroutine` | request-to-coroutine | has a worker, and a coroutine while its messages are answered |
//! | `coroutine/handoff` | the same with I/O threads | has a worker that reads and writes, and one that runs coroutines |
//!
//! The models share these parts:
//!
//! | file | what it holds |
//! | --- | --- |
//! | `worker` | a worker's thread: its inbox, its loop, its handle for others, and groups of workers |
//! | `agenda`, `ready` | which of its connections a worker looks at, when, and in which order |
//! | `reader` | the connections whose sockets a worker reads |
//! | `blocking` | how a session waits for a lock if its thread blocks |
//!
//! Each model drives [`Conversation`](crate::conversation::Conversation)s, which do not know which model it is. The
//! models do not know each other: a model is written out in its own file, and shares structures with the others, not
//! decisions.
//!
//! **Source.** Tao Zhu et al., *Interactive Transaction Processing for In-Memory Database System*, §3.

mod agenda;
mod blocking;
mod coroutine;
mod reader;
mod ready;
mod request;
mod thread;
mod worker;

use crate::clients::ClientSlot;
use crate::shared::Shared;
use crate::{Execution, ServerError};
use coroutine::{CoroutineWorkers, HandoffWorkers};
use hotrow_sync::Arc;
use request::RequestWorkers;

/// A running execution model. It takes connections and serves them to their ends.
///
/// **Thread safety.** Any thread may [`serve`](Self::serve).
pub enum Executor {
    /// Transaction-to-thread.
    Thread(Arc<Shared>),
    /// Request-to-thread.
    Request(RequestWorkers),
    /// Request-to-coroutine, whose workers read and write for themselves.
    Coroutine(CoroutineWorkers),
    /// Request-to-coroutine with I/O threads.
    Handoff(HandoffWorkers),
}

impl Executor {
    /// Starts the model of the configuration, with its threads.
    ///
    /// # Errors
    /// [`ServerError::System`] if the system refuses a thread, or a stack of the configured size.
    pub fn start(shared: &Arc<Shared>) -> Result<Self, ServerError> {
        match shared.config.execution {
            Execution::Thread => Ok(Executor::Thread(shared.clone())),
            Execution::Request => RequestWorkers::start(shared).map(Executor::Request),
            Execution::Coroutine if shared.config.hands_over() => HandoffWorkers::start(shared).map(Executor::Handoff),
            Execution::Coroutine => CoroutineWorkers::start(shared).map(Executor::Coroutine),
        }
    }

    /// Serves a client. Returns at once.
    ///
    /// # Errors
    /// [`ServerError::System`] if the client cannot have a thread. It is turned away then.
    pub fn serve(&self, slot: ClientSlot) -> Result<(), ServerError> {
        match self {
            Executor::Thread(shared) => return thread::serve(shared, slot),
            Executor::Request(workers) => workers.serve(slot),
            Executor::Coroutine(workers) => workers.serve(slot),
            Executor::Handoff(workers) => workers.serve(slot),
        }
        Ok(())
    }

    /// Ends the model's threads. All clients have left.
    pub fn end(self) {
        match self {
            Executor::Thread(_) => {}
            Executor::Request(workers) => workers.end(),
            Executor::Coroutine(workers) => workers.end(),
            Executor::Handoff(workers) => workers.end(),
        }
    }
}
