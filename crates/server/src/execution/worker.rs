//! Request-to-coroutine: a worker has many connections, and runs the messages of one at a time in a coroutine.
//!
//! A connection lives on its worker. When bytes have come, the worker reads them; if there are whole messages among them it takes
//! a stack from its pool and answers them, all that have come, in a coroutine on it. The coroutine ends when they are answered, so
//! an idle connection has no stack. Nothing is switched while nobody waits. If a coroutine waits, for a lock, for room in its
//! socket or for what belongs to a message, it is suspended, and the worker goes on with another connection.
//!
//! **Invariants**
//!
//! 1. A connection is idle, with its conversation in its place, or has a coroutine, which has the conversation.
//! 2. A suspended coroutine is resumed by its worker when somebody has woken it ([`Message::Wake`]), its deadline has passed, or,
//!    if it waits for its socket, something happened there. Each of its waits looks again whether it is over.
//! 3. The system gives notice once of what happens to a socket (edge-triggered). `readable` is set by a notice and cleared only when
//!    a read of before the next notice has found less than it had room for; so a connection is read again if there may be something.
//! 4. A client that has left while its statement waits for a lock has the statement cancelled.
//! 5. What a session has is dropped within its coroutine: to roll back may have to wait.
//!
//! **Balance.** A new connection goes to the worker with the fewest. One listening socket per worker (`SO_REUSEPORT`) would
//! spread them by a hash of their addresses, with no regard to that, and would let a second server listen on the same address unnoticed.

use super::request::{Holding, Pool, Request};
use super::task::{Task, Wait};
use super::turn_away;
use crate::ServerError;
use crate::connection::Received;
use crate::conversation::{Conversation, Progress};
use crate::presence::Attentive;
use crate::server::Shared;
use crate::sessions::{Guest, Peer};
use crate::stream::Patience;
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::coroutine::{Coroutine, Resumed, Stack};
use hotrow_sync::{Arc, Inbox, Scheduler, Time, thread};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Stacks that a worker keeps for later; what is beyond them is given back.
const KEPT_STACKS: usize = 16;

/// When there is no memory for a stack, it is asked for again after this time.
const LOOK_FOR_STACK: Duration = Duration::from_millis(10);

/// Notices that a worker takes at once.
const EVENTS: usize = 256;

/// What a worker is told.
pub enum Message {
    /// A client has come.
    Admit(Guest),
    /// Somebody has woken the connection with this number.
    Wake(usize),
    /// The pool has answered what has come on the connection with this number; this is left of it.
    Answered(usize, Option<Box<Conversation>>),
    /// All clients have left, and none will come.
    End,
}

/// The workers, as others see them.
pub struct Workers {
    workers: Vec<Handle>,
    pool: Option<Arc<Pool>>,
}

struct Handle {
    inbox: Arc<Inbox<Message>>,
    /// Its connections.
    load: Arc<AtomicUsize>,
    thread: thread::JoinHandle<()>,
}

impl Workers {
    /// Starts them; with a pool, they read, and it runs what has come.
    pub fn start(shared: &Arc<Shared>, pool: Option<Arc<Pool>>) -> Result<Self, ServerError> {
        // So that a size that cannot be had is told now.
        drop(Stack::new(shared.config.stack_bytes).map_err(ServerError::System)?);
        let mut workers = Vec::new();
        // Who only reads has less to do.
        let threads = if pool.is_some() { shared.config.threads / 2 } else { shared.config.threads };
        for number in 0..threads.max(1) {
            let poll = Poll::new().map_err(ServerError::System)?;
            let waker = Waker::new(poll.registry(), WAKER).map_err(ServerError::System)?;
            let inbox = Arc::new(Inbox::new(move || {
                // The counter behind it would have to be full, and then the worker wakes.
                let _ = waker.wake();
            }));
            let load = Arc::new(AtomicUsize::new(0));
            let worker = (shared.clone(), inbox.clone(), load.clone(), pool.clone());
            let thread = thread::Builder::new()
                .name(format!("worker {number}"))
                .spawn(move || {
                    let (shared, inbox, load, pool) = worker;
                    Worker::new(shared, inbox, load, poll, pool).work();
                })
                .map_err(ServerError::System)?;
            workers.push(Handle { inbox, load, thread });
        }
        Ok(Self { workers, pool })
    }

    /// Gives a client to the worker with the fewest.
    pub fn serve(&self, guest: Guest) {
        let load = |worker: &&Handle| worker.load.load(Ordering::Acquire);
        let worker = self.workers.iter().min_by_key(load).expect("one at the least");
        worker.load.fetch_add(1, Ordering::AcqRel);
        worker.inbox.send(Message::Admit(guest));
    }

    /// Ends the threads. All clients have left.
    pub fn end(self) {
        for worker in self.workers {
            worker.inbox.send(Message::End);
            // A panic has been told by itself.
            let _ = worker.thread.join();
        }
        if let Some(pool) = self.pool {
            pool.end();
        }
    }
}

const WAKER: Token = Token(usize::MAX);

struct Worker {
    shared: Arc<Shared>,
    inbox: Arc<Inbox<Message>>,
    load: Arc<AtomicUsize>,
    poll: Poll,
    /// Runs what has come; without, the worker does.
    pool: Option<Arc<Pool>>,
    places: Vec<Option<Place>>,
    free: Vec<usize>,
    /// Connections to look at, each once.
    ready: VecDeque<usize>,
    timers: BTreeSet<(Time, usize)>,
    stacks: Vec<Stack>,
    is_ending: bool,
}

/// A connection of the worker's.
struct Place {
    peer: Arc<Peer>,
    task: Arc<Task>,
    state: State,
    /// There may be something to read.
    readable: bool,
    /// The client has closed its end.
    left: bool,
    /// It is among the ready.
    queued: bool,
    /// As in the timers.
    timer: Option<Time>,
}

enum State {
    Idle(Box<Conversation>),
    Suspended(Coroutine<Answered>),
    /// Just now the worker, or the pool, is at it.
    Running,
}

/// What is left of a conversation when what has come is answered.
type Answered = Option<Box<Conversation>>;

impl Worker {
    fn new(
        shared: Arc<Shared>,
        inbox: Arc<Inbox<Message>>,
        load: Arc<AtomicUsize>,
        poll: Poll,
        pool: Option<Arc<Pool>>,
    ) -> Self {
        Self {
            shared,
            inbox,
            load,
            poll,
            pool,
            places: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            timers: BTreeSet::new(),
            stacks: Vec::new(),
            is_ending: false,
        }
    }

    /// The worker's thread.
    fn work(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        let mut messages = Vec::new();
        loop {
            self.inbox.take(&mut messages);
            messages.drain(..).for_each(|message| self.heed(message));
            if self.is_ending {
                return;
            }
            self.pass_time();
            for _ in 0..self.ready.len() {
                let Some(number) = self.ready.pop_front() else { break };
                self.look_after(number);
            }
            self.listen(&mut events);
        }
    }

    /// Takes the system's notices; sleeps until there are some if there is nothing to do.
    fn listen(&mut self, events: &mut Events) {
        let now = Duration::ZERO;
        let outcome = if !self.ready.is_empty() {
            self.poll.poll(events, Some(now))
        } else {
            let timer = self.timers.first().map(|&(time, _)| time.since(Time::now()));
            let Self { inbox, poll, .. } = self;
            inbox.doze(|may_sleep| poll.poll(events, if may_sleep { timer } else { Some(now) }))
        };
        match outcome {
            Ok(()) => {}
            // A signal. The events may be those of the last time.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(error) => return self.shared.log(&format!("cannot wait for sockets: {error}")),
        }
        for event in events.iter().filter(|event| event.token() != WAKER) {
            self.note(event.token().0, event.is_read_closed() || event.is_error());
        }
    }

    /// Something has happened to a socket.
    fn note(&mut self, number: usize, left: bool) {
        let Some(Some(place)) = self.places.get_mut(number) else { return };
        place.readable = true;
        place.left |= left;
        if let State::Suspended(_) = place.state {
            match place.task.wait() {
                Some(Wait { for_socket: false, .. }) if !place.left => return,
                Some(Wait { for_socket: false, .. }) => return place.peer.cancel(),
                _ => {}
            }
        }
        self.enqueue(number);
    }

    fn heed(&mut self, message: Message) {
        match message {
            Message::Admit(guest) => self.admit(guest),
            Message::Wake(number) => {
                if let Some(Some(Place { state: State::Suspended(_), .. })) = self.places.get(number) {
                    self.enqueue(number);
                }
            }
            Message::Answered(number, conversation) => self.go_on(number, conversation),
            Message::End => self.is_ending = true,
        }
    }

    fn admit(&mut self, guest: Guest) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        let peer = guest.peer().clone();
        let task = Arc::new(Task::new(number, self.inbox.clone()));
        let (patience, scheduler): (_, Arc<dyn Scheduler>) = match &self.pool {
            None => (Patience::Suspend(task.clone()), task.clone()),
            Some(pool) => (
                Patience::Poll(pool.clone()),
                Arc::new(Holding::new(pool.clone(), Attentive::new(&self.shared.config, &peer))),
            ),
        };
        let conversation = Conversation::new(self.shared.clone(), guest, patience, scheduler);
        let registered = conversation.and_then(|conversation| {
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(&mut SourceFd(&peer.socket.as_raw_fd()), Token(number), interest)?;
            Ok(conversation)
        });
        let conversation = match registered {
            Ok(conversation) => Box::new(conversation),
            Err(error) => {
                self.shared.log(&format!("cannot serve a connection: {error}"));
                turn_away(&peer.socket);
                return self.free_place(number);
            }
        };
        let state = State::Idle(conversation);
        let place = Place { peer, task, state, readable: false, left: false, queued: false, timer: None };
        self.places[number] = Some(place);
        // If it has not said anything by then, it is told so.
        self.set_timer(number, Some(Time::now().after(self.shared.config.startup_timeout)));
    }

    fn free_place(&mut self, number: usize) {
        self.set_timer(number, None);
        self.places[number] = None;
        self.free.push(number);
        self.load.fetch_sub(1, Ordering::AcqRel);
    }

    fn enqueue(&mut self, number: usize) {
        if let Some(Some(place)) = self.places.get_mut(number)
            && !std::mem::replace(&mut place.queued, true)
        {
            self.ready.push_back(number);
        }
    }

    /// Lets those go on whose deadline has passed.
    fn pass_time(&mut self) {
        if self.timers.is_empty() {
            return;
        }
        let now = Time::now();
        while let Some(&(time, number)) = self.timers.first()
            && time <= now
        {
            self.set_timer(number, None);
            self.enqueue(number);
        }
    }

    fn set_timer(&mut self, number: usize, timer: Option<Time>) {
        let Some(Some(place)) = self.places.get_mut(number) else { return };
        let before = std::mem::replace(&mut place.timer, timer);
        if before == timer {
            return;
        }
        if let Some(before) = before {
            self.timers.remove(&(before, number));
        }
        if let Some(timer) = timer {
            self.timers.insert((timer, number));
        }
    }

    /// Does for a connection what there is to do.
    fn look_after(&mut self, number: usize) {
        let Some(Some(place)) = self.places.get_mut(number) else { return };
        place.queued = false;
        match std::mem::replace(&mut place.state, State::Running) {
            // It is looked after when the pool has answered.
            State::Running => {}
            State::Suspended(coroutine) => self.resume(number, coroutine),
            State::Idle(mut conversation) => {
                if place.readable {
                    place.readable = match conversation.receive_at_once() {
                        Received::Some => true,
                        // The end has no further notice.
                        Received::All => place.left,
                        Received::Nothing => false,
                    };
                }
                if conversation.has_work() {
                    self.set_timer(number, None);
                    self.begin(number, conversation);
                } else {
                    self.rest(number, conversation);
                }
            }
        }
    }

    /// A conversation whose messages are answered is idle, unless there may be more of them.
    fn rest(&mut self, number: usize, conversation: Box<Conversation>) {
        let Some(Some(place)) = self.places.get_mut(number) else { return };
        place.state = State::Idle(conversation);
        if place.readable {
            self.enqueue(number);
        }
    }

    /// Answers what has come, in a coroutine or through the pool.
    fn begin(&mut self, number: usize, conversation: Box<Conversation>) {
        if let Some(pool) = &self.pool {
            return pool.run(Request { conversation, number, inbox: self.inbox.clone() });
        }
        let Some(Some(place)) = self.places.get_mut(number) else { return };
        let stack = match self.stacks.pop() {
            Some(stack) => Ok(stack),
            None => Stack::new(self.shared.config.stack_bytes),
        };
        let stack = match stack {
            Ok(stack) => stack,
            Err(error) => {
                self.shared.log(&format!("no memory for another stack, so a client has to wait: {error}"));
                place.state = State::Idle(conversation);
                return self.set_timer(number, Some(Time::now().after(LOOK_FOR_STACK)));
            }
        };
        place.task.set_suspender(Some(stack.suspender()));
        let mut conversation = conversation;
        let coroutine = Coroutine::new(stack, move || match conversation.proceed() {
            Progress::Answered => Some(conversation),
            Progress::Over => None,
        });
        self.resume(number, coroutine);
    }

    /// Runs a coroutine until it is suspended or ends.
    fn resume(&mut self, number: usize, mut coroutine: Coroutine<Answered>) {
        let resumed = coroutine.resume();
        let Some(Some(place)) = self.places.get_mut(number) else { return };
        let conversation = match resumed {
            Resumed::Suspended => {
                let wait = place.task.wait();
                place.state = State::Suspended(coroutine);
                if place.left && wait.is_some_and(|wait| !wait.for_socket) {
                    place.peer.cancel();
                }
                return self.set_timer(number, wait.and_then(|wait| wait.deadline));
            }
            Resumed::Returned(conversation) => conversation,
            Resumed::Panicked(_) => {
                self.shared.log("a connection panicked and has ended");
                None
            }
        };
        place.task.set_suspender(None);
        if self.stacks.len() < KEPT_STACKS {
            self.stacks.push(coroutine.into_stack());
        }
        self.set_timer(number, None);
        self.go_on(number, conversation);
    }

    /// With what is left of a conversation.
    fn go_on(&mut self, number: usize, conversation: Answered) {
        match conversation {
            Some(conversation) => self.rest(number, conversation),
            None => self.free_place(number),
        }
    }
}
