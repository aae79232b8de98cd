//! A worker that reads and writes for its connections, and hands their conversations to other workers to be run.

use super::messages::{Handover, IoMessage, ReturnAddress, RunMessage};
use crate::clients::ClientSlot;
use crate::conversation::Conversation;
use crate::execution::coroutine::runner::Answered;
use crate::execution::coroutine::scheduler::{CoroutineScheduler, WaitEvent};
use crate::execution::reader::{Connection, Reader};
use crate::execution::worker::{InboxWaker, Worker, WorkerCore, WorkerHandle};
use crate::socket::SocketWait;
use hotrow_sync::{Arc, Scheduler};

/// The part of a connection that is particular to this model.
struct IoConnection {
    /// How the coroutines of the connection wait.
    scheduler: Arc<CoroutineScheduler>,
    /// The worker that runs the connection's messages. It counts the connection among its own.
    runner: WorkerHandle<RunMessage>,
}

/// An I/O worker: a thread that reads and writes the sockets of its connections, and hands their conversations to other
/// workers.
pub struct IoWorker {
    reader: Reader<IoMessage, IoConnection>,
    /// The workers that run messages.
    runners: Arc<[WorkerHandle<RunMessage>]>,
}

impl IoWorker {
    /// Makes an I/O worker without connections. It hands conversations to the workers `runners`.
    pub fn new(core: WorkerCore<IoMessage>, runners: Arc<[WorkerHandle<RunMessage>]>) -> Self {
        Self { reader: Reader::new(core), runners }
    }

    /// Returns the number of a connection at the worker that runs its messages. No two connections of all I/O workers
    /// have the same number.
    fn number_at_runner(&self, number: usize) -> usize {
        number * self.reader.core.group.len() + self.reader.core.rank
    }

    fn admit(&mut self, slot: ClientSlot) {
        let number = self.reader.take_number();
        let runner = WorkerHandle::least_loaded(&self.runners).clone();
        runner.add_connection();
        let inbox = self.reader.core.handle.inbox.clone();
        slot.client().set_idle_waker(Arc::new(InboxWaker { inbox, message: IoMessage::Look, number }));
        let scheduler = Arc::new(CoroutineScheduler::new(self.number_at_runner(number), runner.inbox.clone()));
        let connection = IoConnection { scheduler: scheduler.clone(), runner };
        let waits = (SocketWait::Through(scheduler.clone()), scheduler as Arc<dyn Scheduler>);
        if let Err(connection) = self.reader.admit(number, slot, waits, connection) {
            connection.runner.remove_connection();
        }
    }

    /// Hands a conversation over to be run.
    fn hand_over(&mut self, number: usize, conversation: Box<Conversation>) {
        self.change_runner(number);
        let number_at_runner = self.number_at_runner(number);
        let Some(connection) = self.reader.get(number) else { return };
        let IoConnection { scheduler, runner } = &connection.model;
        if connection.has_left {
            scheduler.note_left();
        }
        let handover = Handover {
            conversation,
            number: number_at_runner,
            client: connection.client.clone(),
            scheduler: scheduler.clone(),
            return_to: ReturnAddress { inbox: self.reader.core.handle.inbox.clone(), number },
        };
        runner.inbox.send(RunMessage::Run(Box::new(handover)));
    }

    /// Gives a connection another runner if its runner is busy and another one is not.
    fn change_runner(&mut self, number: usize) {
        let number_at_runner = self.number_at_runner(number);
        let Some(connection) = self.reader.get_mut(number) else { return };
        let IoConnection { scheduler, runner } = &mut connection.model;
        if !runner.is_busy() {
            return;
        }
        if let Some(other) = WorkerHandle::least_loaded_of_free(&self.runners) {
            other.add_connection();
            runner.remove_connection();
            *runner = other.clone();
            scheduler.move_to(number_at_runner, other.inbox.clone());
            self.reader.core.shared.count_move();
        }
    }

    /// Takes back the conversation of a connection whose messages are answered, and sends the answers.
    fn take_back(&mut self, number: usize, conversation: Answered) {
        let Some(mut conversation) = conversation else {
            if let Some(connection) = self.reader.remove(number) {
                connection.model.runner.remove_connection();
            }
            return;
        };
        conversation.send_at_once();
        if conversation.has_work() {
            self.hand_over(number, conversation);
        } else {
            self.reader.rest(number, conversation);
        }
    }
}

/// Passes a notice about the socket on to the worker that runs the connection's messages.
fn pass_on_notice(connection: &Connection<IoConnection>) {
    let scheduler = &connection.model.scheduler;
    if connection.has_left {
        // This comes before the look at the wait. If there is no wait yet, the runner sees the note once there is one.
        scheduler.note_left();
    }
    match scheduler.wait() {
        Some(wait) if wait.event != WaitEvent::Socket => {
            if connection.has_left {
                connection.client.cancel();
            }
        }
        _ => scheduler.resume(),
    }
}

impl Worker for IoWorker {
    type Message = IoMessage;

    fn core(&mut self) -> &mut WorkerCore<IoMessage> {
        &mut self.reader.core
    }

    fn handle(&mut self, message: IoMessage) {
        match message {
            IoMessage::Admit(slot) => self.admit(slot),
            IoMessage::Answered(number, conversation) => self.take_back(number, conversation),
            IoMessage::Look(number) => self.reader.wake_idle(number),
            IoMessage::End => self.reader.core.end(),
        }
    }

    fn notice(&mut self, number: usize, has_left: bool) {
        let Some(connection) = self.reader.note(number, has_left) else { return };
        if connection.idle.is_none() {
            return pass_on_notice(connection);
        }
        self.enqueue(number);
    }

    fn enqueue(&mut self, number: usize) {
        self.reader.enqueue(number);
    }

    fn look_after(&mut self, number: usize) {
        if let Some(conversation) = self.reader.take_work(number) {
            self.hand_over(number, conversation);
        }
    }
}
