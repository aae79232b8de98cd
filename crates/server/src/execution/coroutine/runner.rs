//! Runs conversations in coroutines, on one worker.
//!
//! **Invariants**
//!
//! 1. While a conversation's messages are answered, its coroutine has the conversation.
//! 2. A suspended coroutine is resumed by its worker when another thread has woken it, its deadline has passed, or, if
//!    it waits for its socket, something has happened there. Each wait checks after that whether it is over.
//! 3. If a client has left while its statement waits for a lock, the statement is cancelled.
//! 4. A coroutine that has run for a [`SLICE`](crate::execution::worker::SLICE) is suspended between two rows and is
//!    ready at once. It goes on after all other ready connections, and after those in a transaction on which the system
//!    reports messages.
//! 5. A session is dropped within its coroutine, since a rollback may have to wait.
//!
//! A statement that has yielded [`LONG_STATEMENT_YIELDS`] times is long and makes its worker *busy*. The system lets a
//! thread that computes all the time wait for others, for milliseconds where cores are scarce, and the worker's other
//! connections would wait with it.

use super::scheduler::{CoroutineScheduler, WaitEvent};
use crate::clients::ClientHandle;
use crate::conversation::{Conversation, Progress};
use crate::shared::Shared;
use hotrow_sync::coroutine::{Coroutine, Resumed, Stack};
use hotrow_sync::{Arc, Time};
use std::time::Duration;

/// The most free stacks that a worker keeps. Further ones go back to the system.
const KEPT_STACKS: usize = 16;

/// The time after which a worker retries to run a conversation for which there was no memory for a stack.
pub const STACK_RETRY: Duration = Duration::from_millis(10);

/// The number of yields without a wait in between from which on a statement makes its worker busy. They take a
/// hundredth of a second at the least, and moving a connection costs little beside that.
const LONG_STATEMENT_YIELDS: u32 = 100;

/// The result of a coroutine that has answered a conversation's messages: the conversation, or `None` if the connection
/// has ended.
pub type Answered = Option<Box<Conversation>>;

/// A runner's state of one connection: its scheduler, and its coroutine while that is suspended. The connection has a
/// coroutine only while its messages are answered.
pub struct ConnectionCoroutine {
    client: Arc<ClientHandle>,
    /// The scheduler through which the coroutine waits, and other threads wake it.
    pub scheduler: Arc<CoroutineScheduler>,
    suspended: Option<Coroutine<Answered>>,
    /// How often the coroutine has yielded since it began, or since its last wait.
    yields: u32,
}

/// The state of a coroutine that has run: it is suspended, or has ended.
pub enum Outcome {
    /// The coroutine is suspended. The worker resumes it when it is woken, at the deadline, or, if it yields, at its
    /// next turn.
    Suspended {
        /// Whether the coroutine can continue, and was suspended only to let other connections run.
        yields: bool,
        /// The time at which the worker resumes the coroutine even if it was not woken.
        deadline: Option<Time>,
    },
    /// The coroutine has ended, with this result.
    Ended(Answered),
}

impl ConnectionCoroutine {
    /// Makes the state of an idle connection, which has no coroutine.
    pub fn new(client: Arc<ClientHandle>, scheduler: Arc<CoroutineScheduler>) -> Self {
        Self { client, scheduler, suspended: None, yields: 0 }
    }

    /// Whether the connection has a coroutine that is suspended.
    pub fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// Whether other sessions may be waiting for locks of this connection's session, so that it should be resumed
    /// first. This is so if the coroutine is suspended in the middle of a statement, for a lock. A coroutine that only
    /// yields, or waits for its socket, does not count.
    pub fn may_be_waited_for(&self) -> bool {
        self.suspended.is_some() && self.scheduler.wait().is_some_and(|wait| wait.event == WaitEvent::Wake)
    }

    /// Handles an event at the socket of a suspended coroutine. Returns whether the coroutine waits for the socket, and
    /// so is to be resumed. If it waits for something else and the client has left, cancels the statement.
    pub fn notice(&self, has_left: bool) -> bool {
        match self.scheduler.wait() {
            Some(wait) if wait.event != WaitEvent::Socket => {
                if has_left {
                    self.client.cancel();
                }
                false
            }
            _ => true,
        }
    }
}

/// The part of a worker that runs its connections' coroutines. It pools their stacks, and knows which of their
/// statements are long.
pub struct CoroutineRunner {
    shared: Arc<Shared>,
    /// Free stacks.
    stacks: Vec<Stack>,
    /// The number of the worker's long statements.
    long_statements: usize,
    /// Tells other threads whether the worker has a long statement.
    set_busy: Box<dyn Fn(bool)>,
}

impl CoroutineRunner {
    /// Makes the runner of a worker. Each time when a statement turns out to be long, or a long one ends, the runner
    /// calls `set_busy` with [`is_busy`](Self::is_busy).
    pub fn new(shared: Arc<Shared>, set_busy: impl Fn(bool) + 'static) -> Self {
        Self { shared, stacks: Vec::new(), long_statements: 0, set_busy: Box::new(set_busy) }
    }

    /// Whether one of the worker's statements is long: it has used up its time slice a hundred times in a row.
    pub fn is_busy(&self) -> bool {
        self.long_statements > 0
    }

    /// Answers the messages of a conversation in a new coroutine. Returns when the coroutine is suspended or has ended.
    /// `has_left` says whether the client has closed its side of the connection. If so, the statement is cancelled as
    /// soon as it is suspended, unless it waits for the socket.
    ///
    /// # Errors
    /// The conversation, if there is no memory for a stack. The caller retries after [`STACK_RETRY`].
    pub fn begin(
        &mut self,
        connection: &mut ConnectionCoroutine,
        mut conversation: Box<Conversation>,
        has_left: bool,
    ) -> Result<Outcome, Box<Conversation>> {
        let stack = match self.stacks.pop() {
            Some(stack) => Ok(stack),
            None => Stack::new(self.shared.config.stack_bytes),
        };
        let stack = match stack {
            Ok(stack) => stack,
            Err(error) => {
                self.shared.log(&format!("no memory for another stack, so a client has to wait: {error}"));
                return Err(conversation);
            }
        };
        connection.scheduler.set_suspender(Some(stack.suspender()));
        let coroutine = Coroutine::new(stack, move || match conversation.proceed() {
            Progress::Answered => Some(conversation),
            Progress::Over => None,
        });
        Ok(self.go_on(connection, coroutine, has_left))
    }

    /// Resumes a connection's suspended coroutine. Returns when the coroutine is suspended again or has ended. Returns
    /// `None` at once if there is no suspended coroutine.
    pub fn resume(&mut self, connection: &mut ConnectionCoroutine, has_left: bool) -> Option<Outcome> {
        let coroutine = connection.suspended.take()?;
        Some(self.go_on(connection, coroutine, has_left))
    }

    /// Runs a coroutine until it is suspended or ends.
    fn go_on(
        &mut self,
        connection: &mut ConnectionCoroutine,
        mut coroutine: Coroutine<Answered>,
        has_left: bool,
    ) -> Outcome {
        let resumed = coroutine.resume();
        if let Some(times) = self.shared.database.times() {
            times.count_resume();
        }
        let conversation = match resumed {
            Resumed::Suspended => {
                connection.suspended = Some(coroutine);
                let wait = connection.scheduler.wait();
                // An I/O worker may have noted so before the coroutine began to wait.
                let has_left = has_left || connection.scheduler.has_left();
                if has_left && wait.is_some_and(|wait| wait.event != WaitEvent::Socket) {
                    connection.client.cancel();
                }
                let yields = wait.is_some_and(|wait| wait.event == WaitEvent::Turn);
                self.note_turn(connection, yields);
                return Outcome::Suspended { yields, deadline: wait.and_then(|wait| wait.deadline) };
            }
            Resumed::Returned(conversation) => conversation,
            Resumed::Panicked(_) => {
                self.shared.log("a connection panicked and has ended");
                None
            }
        };
        connection.scheduler.set_suspender(None);
        if self.stacks.len() < KEPT_STACKS {
            self.stacks.push(coroutine.into_stack());
        }
        self.note_turn(connection, false);
        Outcome::Ended(conversation)
    }

    /// Counts a further yield of a coroutine if it `yields`; otherwise it waits or has ended, and its count begins
    /// anew. Reports when the worker becomes busy, or ceases to be.
    fn note_turn(&mut self, connection: &mut ConnectionCoroutine, yields: bool) {
        let was_long = connection.yields >= LONG_STATEMENT_YIELDS;
        connection.yields = if yields { connection.yields.saturating_add(1) } else { 0 };
        match (was_long, connection.yields >= LONG_STATEMENT_YIELDS) {
            (false, true) => self.long_statements += 1,
            (true, false) => self.long_statements -= 1,
            _ => return,
        }
        (self.set_busy)(self.is_busy());
    }
}
