//! Request-to-thread: what has come on a connection is run by a thread of a pool, the next time by another one.
//!
//! The workers read, and put conversations with work into the pool's queue; a thread takes one, answers what has come, and gives
//! the conversation back. A request that has to wait keeps its thread, which blocks. So that the others can go on, the pool then
//! lets another thread run: as many run as there are to be, and those that block come on top. Which one takes a request is a matter of
//! who is free, so none is idle while another has too much to do. A long statement lets one more run from time to time.

use super::blocking::BlockingScheduler;
use super::task::SLICE;
use super::worker::Message;
use crate::conversation::{Conversation, Progress};
use crate::shared::Shared;
use crate::socket::SocketWaiter;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Condvar, Inbox, Mutex, MutexGuard, Scheduler, Time, thread};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::Socket;
use std::collections::VecDeque;

/// Stack of a thread; only what is used takes memory.
const STACK_BYTES: usize = 8 << 20;

/// Threads that wait for requests, more than may run at a time: those that blocked come back, and starting one is dear.
const KEPT_THREADS: usize = 64;

/// A conversation with work, and whose it is.
pub struct Request {
    /// The conversation.
    pub conversation: Box<Conversation>,
    /// Its number at its worker.
    pub number: usize,
    /// Where it goes back to.
    pub inbox: Arc<Inbox<Message>>,
}

/// Threads that run requests.
///
/// **Thread safety.** Anybody may call anything, but [`block`](Self::block) is for what runs in a request.
pub struct Pool {
    shared: Arc<Shared>,
    state: Mutex<State>,
    /// Notified when a thread may find something to run.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    requests: VecDeque<Request>,
    /// Threads that run a request, and do not block.
    running: usize,
    /// Threads that look for a request.
    idle: usize,
    is_ending: bool,
}

impl Pool {
    /// A pool without threads; they come as they are needed.
    pub fn new(shared: Arc<Shared>) -> Arc<Self> {
        Arc::new(Self { shared, state: Mutex::default(), changed: Condvar::new() })
    }

    /// Has a request run.
    pub fn run(self: &Arc<Self>, request: Request) {
        let mut state = self.state();
        state.requests.push_back(request);
        self.see_to_it(state);
    }

    /// Blocks the thread of a request, in `block`.
    pub fn block<R>(self: &Arc<Self>, block: impl FnOnce() -> R) -> R {
        let mut state = self.state();
        state.running -= 1;
        self.see_to_it(state);
        let outcome = block();
        self.state().running += 1;
        outcome
    }

    /// Lets another request run, in another thread, beside the one that calls.
    fn let_another_run(self: &Arc<Self>) {
        let mut state = self.state();
        if state.requests.is_empty() {
            return;
        }
        state.running -= 1;
        self.see_to_it(state);
        self.state().running += 1;
    }

    /// Ends the threads. No request is left.
    pub fn end(&self) {
        self.state().is_ending = true;
        self.changed.notify_all();
    }

    /// How many threads run at a time, those aside that block.
    fn limit(&self) -> usize {
        self.shared.config.threads.max(1)
    }

    /// Sees to it that a request is run if there is one and one more may.
    fn see_to_it(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if state.requests.is_empty() || state.running >= self.limit() {
            return;
        }
        if state.idle > 0 {
            return self.changed.notify_one();
        }
        state.idle += 1;
        drop(state);
        let pool = self.clone();
        let thread = thread::Builder::new().name("request".to_owned()).stack_size(STACK_BYTES);
        if let Err(error) = thread.spawn(move || pool.work()) {
            // Whoever runs takes it next.
            self.state().idle -= 1;
            self.shared.log(&format!("cannot start a thread for a request: {error}"));
        }
    }

    /// A thread, from when it was started as an idle one.
    fn work(self: Arc<Self>) {
        let mut state = self.state();
        loop {
            if state.running < self.limit()
                && let Some(request) = state.requests.pop_front()
            {
                state.idle -= 1;
                state.running += 1;
                self.see_to_it(state);
                answer(request);
                state = self.state();
                state.running -= 1;
                state.idle += 1;
            } else if state.is_ending || state.idle > self.limit() + KEPT_THREADS {
                state.idle -= 1;
                return;
            } else {
                state = self.changed.wait(state).unwrap_or_else(|poison| poison.into_inner());
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

/// Answers what has come, and gives the conversation back.
fn answer(request: Request) {
    let Request { mut conversation, number, inbox } = request;
    let left = match conversation.proceed() {
        Progress::Answered => Some(conversation),
        Progress::Over => {
            drop(conversation);
            None
        }
    };
    inbox.send(Message::Answered(number, left));
}

/// How a session's request waits for a lock: it keeps its thread.
pub struct Holding {
    pool: Arc<Pool>,
    blocking: BlockingScheduler,
    /// When it let others run the last time, as [`Time`]. Only the session's thread uses it.
    yielded: AtomicU64,
}

impl Holding {
    /// In this pool, in this way.
    pub fn new(pool: Arc<Pool>, blocking: BlockingScheduler) -> Self {
        Self { pool, blocking, yielded: AtomicU64::new(0) }
    }
}

impl SocketWaiter for Holding {
    fn wait_for_socket(&self, socket: &Socket, events: PollFlags, deadline: Option<Time>) {
        self.pool.block(|| {
            let mut sockets = [PollFd::new(socket, events)];
            // A limit beyond what the system can count is none. An error shows at the next try.
            let limit = deadline.and_then(|deadline| Timespec::try_from(deadline.since(Time::now())).ok());
            let _ = poll(&mut sockets, limit.as_ref());
        });
    }
}

impl Scheduler for Holding {
    fn now(&self) -> Time {
        self.blocking.now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        self.pool.block(|| self.blocking.suspend(deadline));
    }

    /// The thread goes on, and so does that of a request that has waited for it; the system lets them take turns.
    fn yield_now(&self) {
        let now = self.now();
        if now.since(Time(self.yielded.load(Ordering::Acquire))) >= SLICE {
            self.yielded.store(now.0, Ordering::Release);
            self.pool.let_another_run();
        }
    }

    fn resume(&self) {
        self.blocking.resume();
    }

    fn spin(&self, deadline: Option<Time>, condition: &mut dyn FnMut() -> bool) -> bool {
        self.blocking.spin(deadline, condition)
    }
}
