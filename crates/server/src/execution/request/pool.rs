//! The threads that run requests, and the queue from which they take them.
//!
//! As many threads run requests as the configuration says. A thread that blocks does not count, so another one runs
//! meanwhile; when the wait is over both run. A long statement lets one more request run from time to time.

use crate::conversation::{Conversation, Progress};
use crate::shared::Shared;
use hotrow_sync::{Arc, Condvar, Mutex, MutexGuard, thread};
use std::collections::VecDeque;

/// The size of a thread's stack, in bytes. Only the used part takes memory.
const STACK_BYTES: usize = 8 << 20;

/// How many idle threads are kept beyond the number that may run. Threads that were blocked become idle, and starting a
/// thread is expensive.
const KEPT_THREADS: usize = 64;

/// A request to the pool: to answer the messages that have come on one connection.
pub struct Request {
    /// The conversation whose messages are to be answered.
    pub conversation: Box<Conversation>,
    /// The connection's number at its worker.
    pub number: usize,
    /// The worker to which the conversation is returned when its messages are answered.
    pub worker: Arc<dyn TakeBack>,
}

/// A worker, as far as a pool uses it: to return a conversation whose messages are answered.
pub trait TakeBack: Send + Sync {
    /// Returns the conversation of the connection with this number to the worker, or `None` if the connection has
    /// ended.
    fn take_back(&self, number: usize, conversation: Option<Box<Conversation>>);
}

/// A pool of threads that run requests, from one queue. A limited number of its threads run at a time, not counting
/// those that block.
///
/// **Thread safety.** Any thread may call any method, except that [`block`](Self::block) and
/// [`let_another_run`](Self::let_another_run) are for code that runs within a request.
pub struct RequestPool {
    shared: Arc<Shared>,
    state: Mutex<State>,
    /// Notified when a thread may find something to run.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    requests: VecDeque<Request>,
    /// The number of threads that run a request and do not block.
    running: usize,
    /// The number of threads that wait for a request.
    idle: usize,
    is_ending: bool,
}

impl RequestPool {
    /// Makes a pool without threads. Threads start as requests need them.
    pub fn new(shared: Arc<Shared>) -> Arc<Self> {
        Arc::new(Self { shared, state: Mutex::default(), changed: Condvar::new() })
    }

    /// Queues a request. It begins as soon as fewer threads than the limit run requests. Returns at once.
    pub fn run(self: &Arc<Self>, request: Request) {
        let mut state = self.state();
        state.requests.push_back(request);
        self.start_next(state);
    }

    /// Calls `block`, which may block the calling thread, and lets another request run meanwhile. Returns the result of
    /// `block`. Afterwards, more threads than the limit may run for a while.
    pub fn block<R>(self: &Arc<Self>, block: impl FnOnce() -> R) -> R {
        let mut state = self.state();
        state.running -= 1;
        self.start_next(state);
        let outcome = block();
        self.state().running += 1;
        outcome
    }

    /// Lets one more queued request begin, although the calling thread continues with its own. A long request calls
    /// this now and then.
    pub fn let_another_run(self: &Arc<Self>) {
        let mut state = self.state();
        if state.requests.is_empty() {
            return;
        }
        state.running -= 1;
        self.start_next(state);
        self.state().running += 1;
    }

    /// Makes each of the pool's threads end as soon as it is idle, and does not wait for this. The queue must be empty.
    pub fn end(&self) {
        self.state().is_ending = true;
        self.changed.notify_all();
    }

    /// Returns the most threads that may run requests at a time. Threads that block do not count.
    fn limit(&self) -> usize {
        self.shared.config.threads.max(1)
    }

    /// Lets a thread run the next request, if there is one and one more thread may run.
    fn start_next(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
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
            // A thread that is running takes the request next.
            self.state().idle -= 1;
            self.shared.log(&format!("cannot start a thread for a request: {error}"));
        }
    }

    /// Runs requests: the work of a thread, which is counted as idle when it starts.
    fn work(self: Arc<Self>) {
        let mut state = self.state();
        loop {
            if state.running < self.limit()
                && let Some(request) = state.requests.pop_front()
            {
                state.idle -= 1;
                state.running += 1;
                self.start_next(state);
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

/// Answers the messages of a request, and gives the conversation back.
fn answer(request: Request) {
    let Request { mut conversation, number, worker } = request;
    let left = match conversation.proceed() {
        Progress::Answered => Some(conversation),
        Progress::Over => {
            drop(conversation);
            None
        }
    };
    worker.take_back(number, left);
}
