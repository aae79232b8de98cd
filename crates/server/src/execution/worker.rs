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
//! 5. A coroutine that has run for long is suspended between two rows, and is ready at once: it goes on after all other connections that
//!    are ready, and after those in a transaction of which the system knows.
//! 6. What a session has is dropped within its coroutine: to roll back may have to wait.
//!
//! **Handing over.** Workers of two kinds are the same code. One who reads for others has the connections, and gives a conversation with work to the
//! connection's runner ([`Message::Run`]), where it has a place, and a coroutine, until it is answered; then it goes back, and whoever has
//! read sends the answers. What happens to the socket meanwhile the runner is told by a wake, and that the client has left through
//! the [`Task`], before its wait is looked at: either the reader finds the wait, or the runner finds out when it begins.
//!
//! **Balance.** A new connection goes to the worker with the fewest, and not to one that has a long statement. One listening socket per worker (`SO_REUSEPORT`) would
//! spread them by a hash of their addresses, with no regard to that, and would let a second server listen on the same address unnoticed.

use super::moving::Moved;
use super::ready::Ready;
use super::request::{Holding, Pool, Request};
use super::task::{Task, Wait};

use crate::ServerError;

use super::blocking::BlockingScheduler;
use crate::clients::{ClientHandle, ClientSlot};
use crate::conversation::{Conversation, Progress, Received, turn_away};
use crate::shared::Shared;
use crate::socket::SocketWait;
use hotrow_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use hotrow_sync::coroutine::{Coroutine, Resumed, Stack};
use hotrow_sync::{Arc, Inbox, Scheduler, Time, thread};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use std::collections::BTreeSet;
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
    Admit(ClientSlot),
    /// Somebody has woken the connection with this number.
    Wake(usize),
    /// Somebody who reads has a request.
    Run(Box<Visit>),
    /// Who has run what has come on the connection with this number has answered it; this is left of it.
    Answered(usize, Option<Box<Conversation>>),
    /// Another worker gives this connection away.
    Adopt(Box<Moved>),
    /// All clients have left, and none will come.
    End,
}

/// Who runs what has come on a worker's connections.
#[derive(Clone)]
pub enum Hands {
    /// The worker itself.
    Own,
    /// The threads of a pool.
    Pool(Arc<Pool>),
    /// Other workers, who read nothing.
    Workers(Arc<[Colleague]>),
}

/// A worker, as others see it.
#[derive(Clone)]
pub struct Colleague {
    pub(super) inbox: Arc<Inbox<Message>>,
    /// Its connections.
    pub(super) load: Arc<AtomicUsize>,
    /// It has a long statement.
    pub(super) busy: Arc<AtomicBool>,
}

impl Colleague {
    /// The one with the fewest connections, which has one more now; one that is busy only if all are.
    fn with_fewest(all: &[Self]) -> &Self {
        let load = |colleague: &&Self| (colleague.is_busy(), colleague.load.load(Ordering::Acquire));
        let chosen = all.iter().min_by_key(load).expect("one at the least");
        chosen.load.fetch_add(1, Ordering::AcqRel);
        chosen
    }

    /// The one with the fewest connections of those that are not busy.
    pub(super) fn free_of(all: &[Self]) -> Option<&Self> {
        let free = all.iter().filter(|colleague| !colleague.is_busy());
        free.min_by_key(|colleague| colleague.load.load(Ordering::Acquire))
    }

    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    /// Whether both are the same worker.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inbox, &other.inbox)
    }
}

/// The workers.
pub struct Workers {
    /// Those who have the connections.
    readers: Team,
    /// Those who run what has come, if these are others.
    runners: Team,
    pool: Option<Arc<Pool>>,
}

#[derive(Default)]
struct Team {
    workers: Vec<Colleague>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Workers {
    /// Starts those who run what they read.
    pub fn start(shared: &Arc<Shared>) -> Result<Self, ServerError> {
        let readers = Team::start(shared, ("worker", shared.config.threads), &Hands::Own)?;
        Ok(Self { readers, runners: Team::default(), pool: None })
    }

    /// Starts those who read for a pool.
    pub fn start_for(shared: &Arc<Shared>, pool: Arc<Pool>) -> Result<Self, ServerError> {
        let readers = Team::start(shared, ("io", readers(shared)), &Hands::Pool(pool.clone()))?;
        Ok(Self { readers, runners: Team::default(), pool: Some(pool) })
    }

    /// Starts those who read, and others who run what these have read.
    pub fn start_apart(shared: &Arc<Shared>) -> Result<Self, ServerError> {
        let runners = Team::start(shared, ("worker", shared.config.threads), &Hands::Own)?;
        let hands = Hands::Workers(runners.workers.clone().into());
        let readers = Team::start(shared, ("io", readers(shared)), &hands)?;
        Ok(Self { readers, runners, pool: None })
    }

    /// Gives a client to the worker with the fewest.
    pub fn serve(&self, slot: ClientSlot) {
        Colleague::with_fewest(&self.readers.workers).inbox.send(Message::Admit(slot));
    }

    /// Ends the threads. All clients have left.
    pub fn end(self) {
        self.readers.end();
        self.runners.end();
        if let Some(pool) = self.pool {
            pool.end();
        }
    }
}

/// How many there are of those who only read, and so have less to do.
fn readers(shared: &Shared) -> usize {
    shared.config.threads / 2
}

impl Team {
    fn start(shared: &Arc<Shared>, (name, threads): (&str, usize), hands: &Hands) -> Result<Self, ServerError> {
        // So that a size that cannot be had is told now.
        drop(Stack::new(shared.config.stack_bytes).map_err(ServerError::System)?);
        let mut team = Self::default();
        let threads = threads.max(1);
        let mut polls = Vec::new();
        for _ in 0..threads {
            let poll = Poll::new().map_err(ServerError::System)?;
            let waker = Waker::new(poll.registry(), WAKER).map_err(ServerError::System)?;
            let inbox = Arc::new(Inbox::new(move || {
                // The counter behind it would have to be full, and then the worker wakes.
                let _ = waker.wake();
            }));
            team.workers.push(Colleague { inbox, load: Arc::default(), busy: Arc::default() });
            polls.push(poll);
        }
        let all: Arc<[Colleague]> = team.workers.clone().into();
        for (number, poll) in polls.into_iter().enumerate() {
            let worker = (shared.clone(), all.clone(), hands.clone());
            let thread = thread::Builder::new()
                .name(format!("{name} {number}"))
                .spawn(move || {
                    let (shared, team, hands) = worker;
                    Worker::new(shared, team, poll, hands, number).work();
                })
                .map_err(ServerError::System)?;
            team.threads.push(thread);
        }
        Ok(team)
    }

    fn end(self) {
        for (worker, thread) in self.workers.into_iter().zip(self.threads) {
            worker.inbox.send(Message::End);
            // A panic has been told by itself.
            let _ = thread.join();
        }
    }
}

/// A request that is handed over: a conversation with work, at a worker who does not read, until that is done.
pub struct Visit {
    conversation: Box<Conversation>,
    /// Its number there.
    number: usize,
    client: Arc<ClientHandle>,
    task: Arc<Task>,
    home: Home,
}

/// Where a conversation goes back to.
pub(super) struct Home {
    inbox: Arc<Inbox<Message>>,
    number: usize,
}

const WAKER: Token = Token(usize::MAX);

pub(super) struct Worker {
    pub(super) shared: Arc<Shared>,
    pub(super) own: Colleague,
    /// Those of its kind, itself included.
    pub(super) team: Arc<[Colleague]>,
    pub(super) poll: Poll,
    pub(super) hands: Hands,
    /// Its number among those of its kind.
    rank: usize,
    pub(super) places: Vec<Option<Place>>,
    pub(super) free: Vec<usize>,
    /// Its long statements.
    pub(super) long: usize,
    /// Connections to look at, each once.
    ready: Ready,
    timers: BTreeSet<(Time, usize)>,
    stacks: Vec<Stack>,
    is_ending: bool,
}

/// A connection of the worker's, or a visiting one.
pub(super) struct Place {
    pub(super) client: Arc<ClientHandle>,
    pub(super) task: Arc<Task>,
    pub(super) state: State,
    /// Who runs what has come on it, if that is another worker.
    pub(super) runner: Option<Colleague>,
    /// Whose it is, if it is another worker's.
    pub(super) home: Option<Home>,
    /// The worker to which it was given when it came, if it has moved.
    pub(super) native: Option<Colleague>,
    /// There may be something to read.
    pub(super) readable: bool,
    /// The client has closed its end.
    pub(super) left: bool,
    /// It is among the ready.
    queued: bool,
    /// As in the timers.
    pub(super) timer: Option<Time>,
    /// How often its coroutine has yielded since it began, or has waited.
    pub(super) slices: u32,
}

pub(super) enum State {
    Idle(Box<Conversation>),
    Suspended(Coroutine<Answered>),
    /// Just now the worker, or who else runs what has come, is at it.
    Running,
}

/// What is left of a conversation when what has come is answered.
type Answered = Option<Box<Conversation>>;

impl Place {
    pub(super) fn new(
        client: Arc<ClientHandle>,
        task: Arc<Task>,
        state: State,
        runner: Option<Colleague>,
        home: Option<Home>,
    ) -> Self {
        let (native, timer) = (None, None);
        let (readable, left, queued) = (false, false, false);
        Self { client, task, state, runner, home, native, readable, left, queued, timer, slices: 0 }
    }

    /// Whether others may wait for what it does next. Who was woken in the middle of a statement has what it waited for; who only lets others run
    /// has had its turn.
    fn may_be_waited_for(&self) -> bool {
        match &self.state {
            State::Idle(conversation) => conversation.may_be_waited_for(),
            State::Suspended(_) => self.task.wait().is_some_and(|wait| !wait.yields && !wait.for_socket),
            State::Running => false,
        }
    }

    /// Something has happened to the socket of a connection that is handed over.
    fn tell_runner(&self) {
        if self.left {
            // Before its wait is looked at: if it has none yet, its worker will see this when it has.
            self.task.say_left();
        }
        match self.task.wait() {
            Some(Wait { for_socket: false, .. }) if self.left => self.client.cancel(),
            Some(Wait { for_socket: false, .. }) => {}
            _ => self.task.resume(),
        }
    }
}

impl Worker {
    fn new(shared: Arc<Shared>, team: Arc<[Colleague]>, poll: Poll, hands: Hands, rank: usize) -> Self {
        Self {
            shared,
            own: team[rank].clone(),
            team,
            poll,
            hands,
            rank,
            places: Vec::new(),
            free: Vec::new(),
            long: 0,
            ready: Ready::default(),
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
            self.own.inbox.take(&mut messages);
            messages.drain(..).for_each(|message| self.heed(message));
            if self.is_ending {
                return;
            }
            self.pass_time();
            let mut turn = self.ready.turn();
            while let Some(number) = self.ready.pop(&mut turn) {
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
            let Self { own, poll, .. } = self;
            own.inbox.doze(|may_sleep| poll.poll(events, if may_sleep { timer } else { Some(now) }))
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
        if place.runner.is_some() && matches!(place.state, State::Running) {
            return place.tell_runner();
        }
        if let State::Suspended(_) = place.state {
            match place.task.wait() {
                Some(Wait { for_socket: false, .. }) if !place.left => return,
                Some(Wait { for_socket: false, .. }) => return place.client.cancel(),
                _ => {}
            }
        }
        self.enqueue(number);
    }

    fn heed(&mut self, message: Message) {
        match message {
            Message::Admit(slot) => self.admit(slot),
            Message::Wake(number) => {
                if let Some(Some(Place { state: State::Suspended(_), .. })) = self.places.get(number) {
                    self.enqueue(number);
                }
            }
            Message::Run(visit) => self.receive(*visit),
            Message::Answered(number, conversation) => self.take_back(number, conversation),
            Message::Adopt(moved) => self.adopt(*moved),
            Message::End => self.is_ending = true,
        }
    }

    /// The number of a place that is free.
    pub(super) fn free_number(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        })
    }

    fn admit(&mut self, slot: ClientSlot) {
        let number = self.free_number();
        let client = slot.client().clone();
        let runner = match &self.hands {
            Hands::Workers(runners) => Some(Colleague::with_fewest(runners).clone()),
            Hands::Own | Hands::Pool(_) => None,
        };
        let task = Arc::new(match &runner {
            Some(runner) => Task::new(self.number_elsewhere(number), runner.inbox.clone()),
            None => Task::new(number, self.own.inbox.clone()),
        });
        let (patience, scheduler): (_, Arc<dyn Scheduler>) = match &self.hands {
            Hands::Own | Hands::Workers(_) => (SocketWait::Through(task.clone()), task.clone()),
            Hands::Pool(pool) => {
                let blocking = BlockingScheduler::new(&self.shared.config, &client);
                let holding = Arc::new(Holding::new(pool.clone(), blocking));
                (SocketWait::Through(holding.clone()), holding)
            }
        };
        let conversation = Conversation::new(self.shared.clone(), slot, patience, scheduler);
        let registered = conversation.and_then(|conversation| {
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(&mut SourceFd(&client.socket.as_raw_fd()), Token(number), interest)?;
            Ok(conversation)
        });
        let conversation = match registered {
            Ok(conversation) => Box::new(conversation),
            Err(error) => {
                self.shared.log(&format!("cannot serve a connection: {error}"));
                turn_away(&client.socket);
                if let Some(runner) = runner {
                    runner.load.fetch_sub(1, Ordering::AcqRel);
                }
                return self.free_place(number);
            }
        };
        let state = State::Idle(conversation);
        self.places[number] = Some(Place::new(client, task, state, runner, None));
        // If it has not said anything by then, it is told so.
        let config = &self.shared.config;
        let deadline = Time::now().after(config.silence_timeout.min(config.startup_timeout));
        self.set_timer(number, Some(deadline));
    }

    pub(super) fn free_place(&mut self, number: usize) {
        self.set_timer(number, None);
        if let Some(Place { runner: Some(runner), .. }) = self.places[number].take() {
            runner.load.fetch_sub(1, Ordering::AcqRel);
        }
        self.free.push(number);
        self.own.load.fetch_sub(1, Ordering::AcqRel);
    }

    pub(super) fn enqueue(&mut self, number: usize) {
        if let Some(Some(place)) = self.places.get_mut(number)
            && !std::mem::replace(&mut place.queued, true)
        {
            self.ready.push(number, place.may_be_waited_for());
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

    pub(super) fn set_timer(&mut self, number: usize, timer: Option<Time>) {
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
        if place.readable && matches!(place.state, State::Idle(_)) && self.give_away(number) {
            return;
        }
        let Some(Some(place)) = self.places.get_mut(number) else { return };
        match std::mem::replace(&mut place.state, State::Running) {
            // It is looked after when it is answered.
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
    fn rest(&mut self, number: usize, mut conversation: Box<Conversation>) {
        conversation.rest();
        let Some(Some(place)) = self.places.get_mut(number) else { return };
        let until = conversation.idle_until();
        place.state = State::Idle(conversation);
        if place.readable {
            self.enqueue(number);
        }
        self.set_timer(number, until);
    }

    /// Answers what has come, in a coroutine or through others.
    fn begin(&mut self, number: usize, conversation: Box<Conversation>) {
        if let Hands::Pool(pool) = &self.hands {
            return pool.run(Request { conversation, number, inbox: self.own.inbox.clone() });
        }
        let number_there = self.number_elsewhere(number);
        self.change_runner(number);
        let Some(Some(place)) = self.places.get_mut(number) else { return };
        if let Some(runner) = &place.runner {
            place.state = State::Running;
            if place.left {
                place.task.say_left();
            }
            let home = Home { inbox: self.own.inbox.clone(), number };
            let (client, task) = (place.client.clone(), place.task.clone());
            let visit = Visit { conversation, number: number_there, client, task, home };
            return runner.inbox.send(Message::Run(Box::new(visit)));
        }
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
        if let Some(times) = self.shared.database.times() {
            times.count_resume();
        }
        let Some(Some(place)) = self.places.get_mut(number) else { return };
        let conversation = match resumed {
            Resumed::Suspended => {
                let wait = place.task.wait();
                place.state = State::Suspended(coroutine);
                if (place.left || place.task.has_left()) && wait.is_some_and(|wait| !wait.for_socket) {
                    place.client.cancel();
                }
                let yields = wait.is_some_and(|wait| wait.yields);
                self.note_turn(number, yields);
                if yields {
                    self.enqueue(number);
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
        self.note_turn(number, false);
        self.go_on(number, conversation);
    }

    /// What a connection of this worker's, with that number, is called by others.
    pub(super) fn number_elsewhere(&self, number: usize) -> usize {
        number * self.team.len() + self.rank
    }

    /// Runs a request that another worker has read.
    fn receive(&mut self, visit: Visit) {
        let Visit { conversation, number, client, task, home } = visit;
        if self.places.len() <= number {
            self.places.resize_with(number + 1, || None);
        }
        self.places[number] = Some(Place::new(client, task, State::Running, None, Some(home)));
        self.begin(number, conversation);
    }

    /// Takes what is left of a conversation back from who has run it, and sends the answers that it has kept.
    fn take_back(&mut self, number: usize, conversation: Answered) {
        let handed_over = matches!(self.hands, Hands::Workers(_));
        match conversation {
            Some(mut conversation) if handed_over => {
                conversation.send_at_once();
                if conversation.has_work() {
                    self.begin(number, conversation);
                } else {
                    self.rest(number, conversation);
                }
            }
            conversation => self.go_on(number, conversation),
        }
    }

    /// With what is left of a conversation.
    fn go_on(&mut self, number: usize, conversation: Answered) {
        if let Some(Some(Place { home: Some(_), .. })) = self.places.get(number) {
            self.set_timer(number, None);
            if let Some(Place { home: Some(home), .. }) = self.places[number].take() {
                home.inbox.send(Message::Answered(home.number, conversation));
            }
            return;
        }
        match conversation {
            Some(conversation) => self.rest(number, conversation),
            None => self.free_place(number),
        }
    }
}
