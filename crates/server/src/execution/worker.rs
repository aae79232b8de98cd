//! The thread of a worker, its loop and its inbox, for all execution models that have workers.
//!
//! A worker has connections, each with a number. It takes messages of other threads from its inbox, notices of the
//! system about its sockets, and timers; each of them may make a connection ready. Then it looks at the ready
//! connections, one turn at a time. It sleeps only while no connection is ready and no message has come.
//!
//! The system gives each notice once (edge-triggered), so a model has to remember notices that it does not act upon at
//! once.
//!
//! **Balance.** A new connection goes to the worker with the fewest connections, and to one with a long statement only
//! if all workers have one. One listening socket for each worker (`SO_REUSEPORT`) would spread connections by a hash of
//! their addresses, with no regard to that, and would let a second server listen on the same address unnoticed.

use super::agenda::Agenda;
use crate::ServerError;
use crate::clients::IdleWaker;
use crate::shared::Shared;
use hotrow_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use hotrow_sync::coroutine::Stack;
use hotrow_sync::{Arc, Inbox, Time, thread};
use mio::event::Event;
use mio::{Events, Poll, Registry, Token, Waker};
use std::io;
use std::time::Duration;

/// The time slice of a statement: when it has run for this time, it lets the worker's other connections run. It is
/// about the time of a short statement, so that a short statement seldom yields, and a yield costs about a hundredth of
/// a slice.
pub const SLICE: Duration = Duration::from_micros(100);

/// The most notices that a worker takes from the system at once.
const EVENTS: usize = 256;

/// The token of an inbox's alarm. Connections' tokens are their numbers.
const WAKER: Token = Token(usize::MAX);

/// The handle through which other threads send messages to a worker, and learn how many connections it has.
///
/// **Thread safety.** Any thread may call any method.
pub struct WorkerHandle<M> {
    /// The inbox through which other threads send messages to the worker.
    pub inbox: Arc<Inbox<M>>,
    /// How many connections the worker has.
    load: Arc<AtomicUsize>,
    /// Whether the worker has a long statement.
    busy: Arc<AtomicBool>,
}

impl<M> Clone for WorkerHandle<M> {
    fn clone(&self) -> Self {
        Self { inbox: self.inbox.clone(), load: self.load.clone(), busy: self.busy.clone() }
    }
}

impl<M> WorkerHandle<M> {
    /// Returns the worker with the fewest connections. A [busy](Self::is_busy) worker is returned only if all are busy.
    pub fn least_loaded(all: &[Self]) -> &Self {
        all.iter().min_by_key(|worker| (worker.is_busy(), worker.load())).expect("a group has a worker")
    }

    /// Returns the worker with the fewest connections among the workers that are not [busy](Self::is_busy), or `None`
    /// if all are busy.
    pub fn least_loaded_of_free(all: &[Self]) -> Option<&Self> {
        all.iter().filter(|worker| !worker.is_busy()).min_by_key(|worker| worker.load())
    }

    fn load(&self) -> usize {
        self.load.load(Ordering::Acquire)
    }

    /// Adds one to the number of the worker's connections.
    pub fn add_connection(&self) {
        self.load.fetch_add(1, Ordering::AcqRel);
    }

    /// Subtracts one from the number of the worker's connections.
    pub fn remove_connection(&self) {
        self.load.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether the worker is busy: it has a long statement, so that its other connections should move to another
    /// worker.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    /// Sets whether the worker is busy. The worker itself calls it.
    pub fn set_busy(&self, busy: bool) {
        self.busy.store(busy, Ordering::Release);
    }

    /// Whether `self` and `other` are handles of the same worker.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inbox, &other.inbox)
    }
}

/// The waker of an idle connection that stays with one worker: it sends the worker a message.
pub struct InboxWaker<M> {
    /// The worker's inbox.
    pub inbox: Arc<Inbox<M>>,
    /// Makes the message that asks the worker to check the connection with the given number.
    pub message: fn(usize) -> M,
    /// The connection's number at the worker.
    pub number: usize,
}

impl<M: Send> IdleWaker for InboxWaker<M> {
    fn wake_idle(&self) {
        self.inbox.send((self.message)(self.number));
    }
}

/// A kind of worker, as an execution model defines it: how the worker handles messages, socket events and ready
/// connections. All methods run on the worker's thread.
pub trait Worker {
    /// The type of the messages that other threads send to the worker.
    type Message: Send + 'static;

    /// Returns the parts of the worker that all execution models share.
    fn core(&mut self) -> &mut WorkerCore<Self::Message>;

    /// Handles a message from the inbox.
    fn handle(&mut self, message: Self::Message);

    /// Handles an event at the socket of the connection with this number. If `has_left`, the client has closed its
    /// side. The system reports each event once, so the worker must remember an event that it cannot handle at once.
    fn notice(&mut self, number: usize, has_left: bool);

    /// Marks a connection as ready: the worker calls [`look_after`](Self::look_after) for it in its next turn.
    fn enqueue(&mut self, number: usize);

    /// Serves a ready connection: reads the bytes that have come, and answers its messages or resumes its coroutine.
    fn look_after(&mut self, number: usize);
}

/// The parts of a worker that all execution models share.
pub struct WorkerCore<M> {
    /// The state that all connections share.
    pub shared: Arc<Shared>,
    /// The handle of this worker. The worker takes its messages from the handle's inbox. Other threads have clones of
    /// the handle: they send messages through it, and read how many connections the worker has and whether it is busy.
    pub handle: WorkerHandle<M>,
    /// The handles of all workers of the group, this one's included.
    pub group: Arc<[WorkerHandle<M>]>,
    /// The worker's position in `group`.
    pub rank: usize,
    /// The connections that are ready to be served, and the timers.
    pub agenda: Agenda,
    poll: Poll,
    is_ending: bool,
}

impl<M> WorkerCore<M> {
    /// Returns the registry of the sockets whose events the worker handles.
    pub fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// Makes the worker's thread end after it has handled the messages that it has already taken from the inbox.
    pub fn end(&mut self) {
        self.is_ending = true;
    }

    /// Fills `events` with the system's notices about sockets. If no connection is ready, sleeps until there is a
    /// notice or a message, or the first timer passes. Returns `false` if waiting failed and `events` must not be used.
    fn wait_for_notices(&mut self, events: &mut Events) -> bool {
        let now = Duration::ZERO;
        let outcome = if self.agenda.has_ready() {
            self.poll.poll(events, Some(now))
        } else {
            let timer = self.agenda.first_timer().map(|time| time.since(Time::now()));
            let Self { handle, poll, .. } = self;
            handle.inbox.doze(|may_sleep| poll.poll(events, if may_sleep { timer } else { Some(now) }))
        };
        match outcome {
            Ok(()) => true,
            // A signal has come. `events` may hold the notices of the last call.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => false,
            Err(error) => {
                self.shared.log(&format!("cannot wait for sockets: {error}"));
                false
            }
        }
    }
}

/// Runs a worker until its end.
fn work(mut worker: impl Worker) {
    let mut events = Events::with_capacity(EVENTS);
    let mut messages = Vec::new();
    loop {
        worker.core().handle.inbox.take(&mut messages);
        messages.drain(..).for_each(|message| worker.handle(message));
        if worker.core().is_ending {
            return;
        }
        pass_time(&mut worker);
        let mut turn = worker.core().agenda.turn();
        while let Some(number) = worker.core().agenda.next(&mut turn) {
            worker.look_after(number);
        }
        if worker.core().wait_for_notices(&mut events) {
            for event in events.iter().filter(|event| event.token() != WAKER) {
                worker.notice(event.token().0, says_left(event));
            }
        }
    }
}

/// Makes the connections ready whose timers have passed.
fn pass_time(worker: &mut impl Worker) {
    if worker.core().agenda.first_timer().is_none() {
        return;
    }
    let now = Time::now();
    while let Some(number) = worker.core().agenda.take_due(now) {
        worker.enqueue(number);
    }
}

/// Whether a notice says that the client has closed its end.
fn says_left(event: &Event) -> bool {
    event.is_read_closed() || event.is_error()
}

/// A group of workers of one kind, each with its own thread.
pub struct WorkerGroup<M> {
    workers: Arc<[WorkerHandle<M>]>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl<M: Send + 'static> WorkerGroup<M> {
    /// Starts `threads` workers, at least one. The names of their threads are `name` and a number. Each thread calls
    /// `make` for its worker.
    ///
    /// # Errors
    /// [`ServerError::System`] if the system refuses a thread, or a stack of the configured size.
    pub fn start<W: Worker<Message = M>>(
        shared: &Arc<Shared>,
        (name, threads): (&str, usize),
        make: impl Fn(WorkerCore<M>) -> W + Clone + Send + 'static,
    ) -> Result<Self, ServerError> {
        // A size of stacks that cannot be had is an error now, not when the first client needs a stack.
        drop(Stack::new(shared.config.stack_bytes).map_err(ServerError::System)?);
        let mut workers = Vec::new();
        let mut polls = Vec::new();
        for _ in 0..threads.max(1) {
            let poll = Poll::new().map_err(ServerError::System)?;
            let waker = Waker::new(poll.registry(), WAKER).map_err(ServerError::System)?;
            let inbox = Arc::new(Inbox::new(move || {
                // A wake fails only if the counter behind it is full, and then the worker wakes anyway.
                let _ = waker.wake();
            }));
            workers.push(WorkerHandle { inbox, load: Arc::default(), busy: Arc::default() });
            polls.push(poll);
        }
        let workers: Arc<[WorkerHandle<M>]> = workers.into();
        let mut threads = Vec::new();
        for (rank, poll) in polls.into_iter().enumerate() {
            let core = WorkerCore {
                shared: shared.clone(),
                handle: workers[rank].clone(),
                group: workers.clone(),
                rank,
                agenda: Agenda::default(),
                poll,
                is_ending: false,
            };
            let make = make.clone();
            let thread = thread::Builder::new().name(format!("{name} {rank}")).spawn(move || work(make(core)));
            threads.push(thread.map_err(ServerError::System)?);
        }
        Ok(Self { workers, threads })
    }

    /// Returns the handles of all workers of the group.
    pub fn workers(&self) -> &Arc<[WorkerHandle<M>]> {
        &self.workers
    }

    /// Sends a message about a new connection to the [least loaded](WorkerHandle::least_loaded) worker, and counts the
    /// connection as its own.
    pub fn assign(&self, message: M) {
        let worker = WorkerHandle::least_loaded(&self.workers);
        worker.add_connection();
        worker.inbox.send(message);
    }

    /// Ends the threads: sends `message` to each worker, and waits until its thread has ended. The message must make a
    /// worker call [`WorkerCore::end`].
    pub fn end(self, message: impl Fn() -> M) {
        for (worker, thread) in self.workers.iter().zip(self.threads) {
            worker.inbox.send(message());
            // A panic has been reported by itself.
            let _ = thread.join();
        }
    }
}

/// Returns the number of workers to start that only read and write: half as many as run messages. A [`WorkerGroup`]
/// starts at least one.
pub fn io_threads(shared: &Shared) -> usize {
    shared.config.threads / 2
}
