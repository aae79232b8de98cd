//! I/O threads: some workers read and write the sockets, other workers run the messages (`--io handoff`).
//!
//! An I/O worker has connections. When whole messages have come on one, it hands the conversation over to the
//! connection's runner, another worker, which answers the messages in a coroutine and gives the conversation back. Then
//! the I/O worker sends the answers. It is the same conversation, in the same kind of coroutine. Only startup, COPY
//! data and answers beyond the output buffer are read and written by the runner.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `io_worker` | the workers that read and write, and move connections away from busy runners |
//! | `run_worker` | the workers that run the conversations that are handed over |
//! | `messages` | the messages between the two kinds of workers |
//!
//! While a conversation is handed over, its I/O worker still gets the notices about its socket. It passes them on as
//! wakes. It notes that the client has left in the connection's scheduler *before* it looks at the coroutine's wait,
//! and the runner looks at the note after the wait has begun: so either the I/O worker finds the wait and cancels the
//! statement, or the runner finds the note.

mod io_worker;
mod messages;
mod run_worker;

use crate::ServerError;
use crate::clients::ClientSlot;
use crate::execution::worker::{WorkerGroup, io_threads};
use crate::shared::Shared;
use hotrow_sync::Arc;
use io_worker::IoWorker;
use messages::{IoMessage, RunMessage};
use run_worker::RunWorker;

/// The threads of the execution model: I/O workers, and the workers that run conversations.
pub struct HandoffWorkers {
    io: WorkerGroup<IoMessage>,
    runners: WorkerGroup<RunMessage>,
}

impl HandoffWorkers {
    /// Starts the workers of both kinds.
    ///
    /// # Errors
    /// [`ServerError::System`] if the system refuses a thread, or a stack of the configured size.
    pub fn start(shared: &Arc<Shared>) -> Result<Self, ServerError> {
        let runners = WorkerGroup::start(shared, ("worker", shared.config.threads), RunWorker::new)?;
        let handles = runners.workers().clone();
        let make = move |core| IoWorker::new(core, handles.clone());
        let io = WorkerGroup::start(shared, ("io", io_threads(shared)), make)?;
        Ok(Self { io, runners })
    }

    /// Assigns a client to an I/O worker, which serves it. Returns at once.
    pub fn serve(&self, slot: ClientSlot) {
        self.io.assign(IoMessage::Admit(slot));
    }

    /// Ends the threads, and waits for them. The caller makes sure that all clients have left.
    pub fn end(self) {
        self.io.end(|| IoMessage::End);
        self.runners.end(|| RunMessage::End);
    }
}
