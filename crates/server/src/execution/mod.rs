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

/// A running execution model, with its threads. It serves the clients that are passed to it.
///
/// **Thread safety.** Any thread may call [`serve`](Self::serve).
pub enum Executor {
    /// Transaction-to-thread: each connection has a thread.
    Thread(Arc<Shared>),
    /// Request-to-thread: threads of a pool run the messages of all connections.
    Request(RequestWorkers),
    /// Request-to-coroutine: the workers that run messages in coroutines also read and write the sockets.
    Coroutine(CoroutineWorkers),
    /// Request-to-coroutine with I/O threads: some workers run messages, and others read and write the sockets.
    Handoff(HandoffWorkers),
}

impl Executor {
    /// Starts the execution model that the configuration names, with its threads.
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

    /// Begins to serve a client that has just connected. Returns at once.
    ///
    /// # Errors
    /// [`ServerError::System`] if the system refuses a thread for the client. The client is then refused with an error.
    pub fn serve(&self, slot: ClientSlot) -> Result<(), ServerError> {
        match self {
            Executor::Thread(shared) => return thread::serve(shared, slot),
            Executor::Request(workers) => workers.serve(slot),
            Executor::Coroutine(workers) => workers.serve(slot),
            Executor::Handoff(workers) => workers.serve(slot),
        }
        Ok(())
    }

    /// Ends the model's threads. The caller makes sure that all clients have left.
    pub fn end(self) {
        match self {
            Executor::Thread(_) => {}
            Executor::Request(workers) => workers.end(),
            Executor::Coroutine(workers) => workers.end(),
            Executor::Handoff(workers) => workers.end(),
        }
    }
}
