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

/// The time after which the worker tries again if there was no memory for a stack.
pub const STACK_RETRY: Duration = Duration::from_millis(10);

/// The number of yields without a wait in between from which on a statement makes its worker busy. They take a
/// hundredth of a second at the least, and moving a connection costs little beside that.
const LONG_STATEMENT_YIELDS: u32 = 100;

/// The conversation whose messages are answered, or `None` if it has ended.
pub type Answered = Option<Box<Conversation>>;

/// The coroutine of one connection. It exists while the connection's messages are answered.
pub struct ConnectionCoroutine {
    client: Arc<ClientHandle>,
    /// How the coroutine waits.
    pub scheduler: Arc<CoroutineScheduler>,
    suspended: Option<Coroutine<Answered>>,
    /// How often the coroutine has yielded since it began, or since its last wait.
    yields: u32,
}

/// How a coroutine stopped running: suspended or ended.
pub enum Outcome {
    /// The coroutine is suspended. If it only yields it is ready at once. At the deadline it is resumed in any case.
    Suspended {
        /// Whether the coroutine could go on, and only lets other connections run.
        yields: bool,
        /// The time at which the wait ends in any case.
        deadline: Option<Time>,
    },
    /// The coroutine has ended.
    Ended(Answered),
}

impl ConnectionCoroutine {
    /// Makes the runner's part of an idle connection, which has no coroutine.
    pub fn new(client: Arc<ClientHandle>, scheduler: Arc<CoroutineScheduler>) -> Self {
        Self { client, scheduler, suspended: None, yields: 0 }
    }

    /// Whether the coroutine is suspended.
    pub fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// Whether other sessions may wait for locks that the coroutine's session holds. Only a coroutine that waits for a
    /// wake counts: it was woken in the middle of a statement and has got what it waited for, while one that yields has
    /// had its turn.
    pub fn may_be_waited_for(&self) -> bool {
        self.suspended.is_some() && self.scheduler.wait().is_some_and(|wait| wait.event == WaitEvent::Wake)
    }

    /// Notes that something has happened to the socket of a suspended coroutine. Returns whether that makes the
    /// coroutine ready. If the client has left and the coroutine does not wait for its socket, the statement is
    /// cancelled.
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

/// Runs the coroutines of one worker.
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
    /// Makes the runner of a worker. It calls `set_busy` when a long statement begins or ends, and says whether the
    /// worker has one.
    pub fn new(shared: Arc<Shared>, set_busy: impl Fn(bool) + 'static) -> Self {
        Self { shared, stacks: Vec::new(), long_statements: 0, set_busy: Box::new(set_busy) }
    }

    /// Whether the worker has a long statement.
    pub fn is_busy(&self) -> bool {
        self.long_statements > 0
    }

    /// Answers the messages of a conversation in a new coroutine, until that is suspended or ends. `has_left` says
    /// whether the client has closed its end.
    ///
    /// # Errors
    /// Gives the conversation back if there is no memory for a stack. The caller tries again after [`STACK_RETRY`].
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

    /// Resumes a suspended coroutine, until it is suspended again or ends. Returns `None` if it is not suspended.
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
