//! Connections that move from one worker to another: away from a worker with a long statement, and back when it has
//! ended.
//!
//! A long statement yields between two rows, so its worker's other connections have their turns. But the system lets a
//! thread that computes all the time wait for other threads, for milliseconds where cores are scarce, and its
//! connections would wait with it. So when something comes on a connection of a *busy* worker, the connection moves to
//! a worker that is not busy. It moves back in the same way when its first worker is busy no longer.
//!
//! **Invariants**
//!
//! 1. Only an idle connection moves. It has no coroutine, so a coroutine is resumed by one thread from its first to its
//!    last instruction.
//! 2. Wakes find a connection's worker through its [`CoroutineScheduler`](super::scheduler::CoroutineScheduler), which
//!    learns of the move before the new worker looks at the connection. A wake that is under way meanwhile finds
//!    another connection or none at the old worker, and a wake without a reason does no harm; its note stays with the
//!    scheduler, where the next wait finds it.
//! 3. The system reports to the new worker what there is to read when the worker registers the socket. What the old
//!    worker knew of the socket moves with the connection.

use super::runner::ConnectionCoroutine;
use super::worker::{CoroutineConnection, CoroutineWorker, Message, MovedConnection};
use crate::execution::reader::Connection;
use crate::execution::worker::WorkerHandle;

impl CoroutineWorker {
    /// Returns a better worker for a connection with new input, or `None` if the connection should stay: a worker that
    /// is not busy if this one is, otherwise the connection's first worker once that is no longer busy.
    fn better_worker(&self, connection: &CoroutineConnection) -> Option<WorkerHandle<Message>> {
        if self.runner.is_busy() {
            return WorkerHandle::least_loaded_of_free(&self.reader.core.group).cloned();
        }
        let is_better = |first: &&WorkerHandle<Message>| !first.is(&self.reader.core.handle) && !first.is_busy();
        connection.first_worker.as_ref().filter(is_better).cloned()
    }

    /// Moves a connection to another worker, if it is idle, has new input, and has a better worker. That is a worker
    /// without a long statement if this one has one, or else the connection's first worker, if that has none any more.
    /// Returns whether the connection was moved.
    pub(super) fn give_away(&mut self, number: usize) -> bool {
        let Some(connection) = self.reader.get(number) else { return false };
        if !connection.readable || connection.idle.is_none() {
            return false;
        }
        let Some(other) = self.better_worker(&connection.model) else { return false };
        let Some((connection, timer)) = self.reader.release(number) else { return false };
        let Connection { client, idle, has_left, model, .. } = connection;
        let conversation = idle.expect("the connection was idle when this function began");
        other.add_connection();
        let first_worker = model.first_worker.unwrap_or_else(|| self.reader.core.handle.clone());
        let scheduler = model.coroutine.scheduler;
        self.reader.core.shared.count_move();
        let moved = MovedConnection { client, conversation, scheduler, first_worker, has_left, timer };
        other.inbox.send(Message::Adopt(Box::new(moved)));
        true
    }

    /// Takes over an idle connection that another worker has moved to this one.
    pub(super) fn adopt(&mut self, moved: MovedConnection) {
        let MovedConnection { client, conversation, scheduler, first_worker, has_left, timer } = moved;
        let number = self.reader.take_number();
        scheduler.move_to(number, self.reader.core.handle.inbox.clone());
        let coroutine = ConnectionCoroutine::new(client.clone(), scheduler);
        let model = CoroutineConnection { coroutine, first_worker: Some(first_worker) };
        let connection = Connection { client, idle: Some(conversation), readable: true, has_left, model };
        self.reader.adopt(number, connection, timer);
    }
}
