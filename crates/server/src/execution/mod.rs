//! What runs the clients' messages: the execution models.
//!
//! | file | model | a connection |
//! | --- | --- | --- |
//! | `thread` | transaction-to-thread | has a thread, which blocks while it waits for the client or a lock |
//! | `request`, `worker` | request-to-thread | is read by one of a few workers; its messages are run by a thread of a pool, which blocks while they wait |
//! | `worker`, `task` | request-to-coroutine | lives on one of a few workers; has a coroutine while its messages are answered |
//! | the same | the same, handed over | is read and written by one of a few workers; its messages are run by another one |
//!
//! `ready` says whose messages a worker looks at first. `moving` takes connections from a worker that has a long statement to another one.
//!
//! Each drives [`Conversation`](crate::conversation::Conversation)s, which know nothing of it.
//!
//! **Source.** Tao Zhu et al., *Interactive Transaction Processing for In-Memory Database System*, §3.

mod blocking;
mod moving;
mod ready;
mod request;
mod task;
mod thread;
mod worker;

use request::Pool;

use crate::clients::ClientSlot;
use crate::shared::Shared;
use crate::{Execution, ServerError};
use hotrow_sync::Arc;
use worker::Workers;

/// Takes connections, each to whoever is to run it.
pub enum Executor {
    /// A thread each.
    Threads(Arc<Shared>),
    /// One of a few workers.
    Workers(Workers),
}

impl Executor {
    /// As the configuration has it.
    pub fn new(shared: &Arc<Shared>) -> Result<Self, ServerError> {
        match shared.config.execution {
            Execution::Thread => Ok(Executor::Threads(shared.clone())),
            Execution::Request => Workers::start_for(shared, Pool::new(shared.clone())).map(Executor::Workers),
            Execution::Coroutine if shared.config.hands_over() => Workers::start_apart(shared).map(Executor::Workers),
            Execution::Coroutine => Workers::start(shared).map(Executor::Workers),
        }
    }

    /// Serves a client.
    pub fn serve(&self, slot: ClientSlot) -> Result<(), ServerError> {
        match self {
            Executor::Threads(shared) => thread::serve(shared, slot),
            Executor::Workers(workers) => {
                workers.serve(slot);
                Ok(())
            }
        }
    }

    /// Ends its threads. All clients have left.
    pub fn end(self) {
        if let Executor::Workers(workers) = self {
            workers.end();
        }
    }
}
