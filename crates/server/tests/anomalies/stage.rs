//! The stage of a play: clients of a server, each on a thread of its own, of which one at a time runs, and a clock that
//! the play moves.
//!
//! The server runs in this process, and the stage decides how its sessions wait. A session runs until its statement is
//! answered or it waits. A waiting session goes on when it was woken or its deadline has passed, and the play lets it.
//! So a play has one course, however the machine schedules the threads.
//!
//! A PostgreSQL server keeps its own time. The stage asks it which sessions wait.

use crate::common::{self, Client, Model, Running};
use crate::postgres::Observer;
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use hotrow_sync::{Arc, Condvar, Mutex, MutexGuard, Scheduler, Time, Waiter, mpsc, thread};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// After this time without an answer the stage asks PostgreSQL again which sessions wait.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// The longest wait that counts as a pause before another attempt. Waits for locks are much longer.
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// The time after which the stage no longer waits for PostgreSQL, which ends a deadlock long before.
const PATIENCE: Duration = Duration::from_secs(20);

/// The outcome of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Rows, with blanks between them; or the command's tag.
    Done(String),
    /// The error's code and message.
    Failed(String, String),
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Idle,
    Running,
    Waiting(Option<Time>),
    /// The session's connection is lost.
    Gone,
}

struct Player {
    status: Status,
    /// Whether the session was woken and has not noticed it yet.
    woken: bool,
    /// The scheduler in which the session waits, or has waited last.
    waits_in: Option<Arc<dyn Scheduler>>,
}

struct Scene {
    now: Time,
    players: Vec<Player>,
    /// The outcomes of statements, in the order in which the statements ended, each with its session.
    outcomes: VecDeque<(usize, Outcome)>,
    /// Whether the play is over, so that no session waits any more.
    over: bool,
}

struct Board {
    scene: Mutex<Scene>,
    changed: Condvar,
}

impl Board {
    fn new(players: usize) -> Arc<Self> {
        let players = (0..players).map(|_| Player { status: Status::Idle, woken: false, waits_in: None }).collect();
        let scene = Scene { now: Time::default(), players, outcomes: VecDeque::new(), over: false };
        Arc::new(Self { scene: Mutex::new(scene), changed: Condvar::new() })
    }

    fn scene(&self) -> MutexGuard<'_, Scene> {
        self.scene.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    fn wait<'b>(&self, scene: MutexGuard<'b, Scene>) -> MutexGuard<'b, Scene> {
        self.changed.wait(scene).unwrap_or_else(|poison| poison.into_inner())
    }

    fn set(&self, number: usize, status: Status, outcome: Option<Outcome>) {
        let mut scene = self.scene();
        scene.players[number].status = status;
        scene.outcomes.extend(outcome.map(|outcome| (number, outcome)));
        drop(scene);
        self.changed.notify_all();
    }
}

/// A session's place on the stage: how it waits in the server.
struct Place {
    board: Arc<Board>,
    number: usize,
    /// The scheduler through which the session really waits.
    house: Arc<dyn Scheduler>,
}

impl Scheduler for Place {
    fn now(&self) -> Time {
        self.board.scene().now
    }

    fn suspend(&self, deadline: Option<Time>) {
        let mut scene = self.board.scene();
        let player = &mut scene.players[self.number];
        if std::mem::take(&mut player.woken) {
            return;
        }
        player.status = Status::Waiting(deadline);
        player.waits_in = Some(self.house.clone());
        self.board.changed.notify_all();
        while matches!(scene.players[self.number].status, Status::Waiting(_)) && !scene.over {
            drop(scene);
            self.house.suspend(None);
            scene = self.board.scene();
        }
    }

    fn resume(&self) {
        self.board.scene().players[self.number].woken = true;
        self.board.changed.notify_all();
    }
}

/// A client, its thread, and the way to it.
struct Performer {
    statements: Option<mpsc::Sender<String>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// Where the sessions are.
enum House {
    /// Ours; its sessions have their places on the board.
    Hotrow(Running),
    /// A PostgreSQL server; the observer sees which of its sessions wait.
    Postgres(Observer),
}

/// Sessions of one database.
pub struct Stage {
    board: Arc<Board>,
    performers: Vec<Performer>,
    house: House,
}

impl Stage {
    /// So many sessions on an empty database under an engine of ours.
    pub fn new(engine: &str, model: Model, sessions: usize) -> Self {
        let board = Board::new(sessions);
        let (next, places) = (AtomicUsize::new(0), board.clone());
        // Clients come one after the other, so the first waiter is the first client's.
        let waiters = Box::new(move |house| {
            let number = next.fetch_add(1, Ordering::AcqRel);
            Waiter::new(Arc::new(Place { board: places.clone(), number, house }))
        });
        let engine = hotrow_protocols::open(engine).expect("the engine is in the registry");
        let server = Running::waiting(engine, common::model(model), waiters);
        let clients = (0..sessions).map(|_| server.client()).collect();
        Self { performers: performers(&board, clients), board, house: House::Hotrow(server) }
    }

    /// So many sessions of a PostgreSQL server.
    pub fn postgres(address: SocketAddr, sessions: usize) -> Self {
        let mut clients: Vec<_> = (0..sessions).map(|_| Client::connect(address)).collect();
        for client in &mut clients {
            client.run("set deadlock_timeout = '10ms'; set client_min_messages = error");
        }
        let observer = Observer::new(address, clients.iter().map(|client| client.key.0).collect());
        let board = Board::new(sessions);
        Self { performers: performers(&board, clients), board, house: House::Postgres(observer) }
    }

    /// Gives a session that is idle a statement to run. A moment passes first, so that a session that begins earlier is
    /// older.
    ///
    /// # Panics
    /// If the session is not idle.
    pub fn give(&self, number: usize, sql: &str) {
        let mut scene = self.board.scene();
        assert_eq!(scene.players[number].status, Status::Idle, "session {number} cannot do `{sql}`");
        scene.players[number].status = Status::Running;
        scene.now = scene.now.after(Duration::from_micros(1));
        drop(scene);
        let statements = self.performers[number].statements.as_ref();
        let given = statements.is_some_and(|statements| statements.send(sql.to_owned()).is_ok());
        assert!(given, "session {number} is gone");
    }

    /// Lets the sessions go on that can, one after the other, until all are idle or wait.
    pub fn settle(&mut self) {
        match &mut self.house {
            House::Hotrow(_) => settle(&self.board),
            House::Postgres(observer) => settle_observed(&self.board, observer),
        }
    }

    /// Whether a session's connection is lost.
    pub fn is_gone(&self, number: usize) -> bool {
        self.board.scene().players[number].status == Status::Gone
    }

    /// The next statement that has ended: whose it was, and what it came to.
    pub fn next_outcome(&self) -> Option<(usize, Outcome)> {
        self.board.scene().outcomes.pop_front()
    }

    /// Lets time pass while all sessions wait: up to the earliest deadline, or until PostgreSQL ends a wait. `None` if
    /// nothing ends by time.
    pub fn pass_time(&self) -> Option<Duration> {
        let mut scene = self.board.scene();
        if matches!(self.house, House::Postgres(_)) {
            let began = Instant::now();
            while scene.outcomes.is_empty() {
                let left = PATIENCE.checked_sub(began.elapsed())?;
                let waited = self.board.changed.wait_timeout(scene, left);
                scene = waited.unwrap_or_else(|poison| poison.into_inner()).0;
            }
            return Some(began.elapsed());
        }
        let deadline = |player: &Player| match player.status {
            Status::Waiting(deadline) => deadline,
            _ => None,
        };
        let earliest = scene.players.iter().filter_map(deadline).min()?;
        let passed = earliest.since(scene.now);
        scene.now = scene.now.max(earliest);
        Some(passed)
    }
}

/// Lets the sessions go on that can, one after the other, until none can. A session that only pauses before it tries
/// again does that once, after the others.
fn settle(board: &Board) {
    let mut scene = board.scene();
    let mut pauses_end = false;
    loop {
        while scene.players.iter().any(|player| player.status == Status::Running) {
            scene = board.wait(scene);
        }
        let now = scene.now;
        let Some(player) = scene.players.iter_mut().find(|player| player.may_go_on(now)) else {
            let pauses = scene.players.iter().any(|player| player.may_go_on(now.after(LONGEST_PAUSE)));
            if !pauses || std::mem::replace(&mut pauses_end, true) {
                return;
            }
            scene.now = now.after(LONGEST_PAUSE);
            continue;
        };
        player.woken = false;
        player.go_on();
    }
}

/// Waits until each session is idle, or seen to wait for another one with no answer since.
fn settle_observed(board: &Board, observer: &mut Observer) {
    let mut scene = board.scene();
    loop {
        let answers = scene.outcomes.len();
        drop(scene);
        let waiting = observer.waiting();
        scene = board.scene();
        for (player, waits) in scene.players.iter_mut().zip(waiting) {
            if matches!(player.status, Status::Running | Status::Waiting(_)) {
                player.status = if waits { Status::Waiting(None) } else { Status::Running };
            }
        }
        let runs = scene.players.iter().any(|player| player.status == Status::Running);
        if !runs && scene.outcomes.len() == answers {
            return;
        }
        if runs {
            let waited = board.changed.wait_timeout(scene, LOOK_AGAIN);
            scene = waited.unwrap_or_else(|poison| poison.into_inner()).0;
        }
    }
}

impl Player {
    fn may_go_on(&self, now: Time) -> bool {
        match self.status {
            Status::Waiting(deadline) => self.woken || deadline.is_some_and(|deadline| deadline <= now),
            _ => false,
        }
    }

    /// Ends its wait.
    fn go_on(&mut self) {
        self.status = Status::Running;
        if let Some(house) = &self.waits_in {
            house.resume();
        }
    }
}

impl Drop for Stage {
    /// Ends all waits and threads; sessions that are in a transaction roll it back.
    fn drop(&mut self) {
        let mut scene = self.board.scene();
        scene.over = true;
        scene.players.iter().filter_map(|player| player.waits_in.as_ref()).for_each(|house| house.resume());
        drop(scene);
        for performer in &mut self.performers {
            performer.statements = None;
        }
        match &mut self.house {
            House::Hotrow(server) => server.stop(),
            House::Postgres(observer) => observer.end_all(),
        }
        for performer in &mut self.performers {
            // A panic of the thread was reported by itself, and by the session that found it gone.
            let _ = performer.thread.take().map(thread::JoinHandle::join);
        }
    }
}

fn performers(board: &Arc<Board>, clients: Vec<Client>) -> Vec<Performer> {
    let performer = |(number, mut client): (usize, Client)| {
        let (statements, received) = mpsc::channel();
        let board = board.clone();
        let thread = thread::spawn(move || perform(&board, number, &mut client, &received));
        Performer { statements: Some(statements), thread: Some(thread) }
    };
    clients.into_iter().enumerate().map(performer).collect()
}

/// A client's thread.
fn perform(board: &Board, number: usize, client: &mut Client, statements: &mpsc::Receiver<String>) {
    while let Ok(sql) = statements.recv() {
        client.send_query(&sql);
        let Ok(answer) = client.try_answer() else { return board.set(number, Status::Gone, None) };
        let rows = || answer.rows.iter().map(|row| line(row)).collect::<Vec<_>>().join(" ");
        let outcome = match answer.failure {
            Some(failure) => Outcome::Failed(failure.code, failure.message),
            None if answer.columns == 0 => Outcome::Done(answer.tags.join(" ")),
            None => Outcome::Done(rows()),
        };
        board.set(number, Status::Idle, Some(outcome));
    }
}

/// A row's columns, with bars between them.
fn line(row: &[Option<String>]) -> String {
    row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_it_is_woken_or_its_time_is_up() {
        let mut stage = Stage::new("2pl-timeout", common::DEFAULT_MODEL, 2);
        let mut after = |number: usize, sql: &str| {
            stage.give(number, sql);
            stage.settle();
            stage.next_outcome()
        };
        let done = |number: usize, result: &str| Some((number, Outcome::Done(result.to_owned())));
        assert_eq!(after(0, "create table t (id int primary key)"), done(0, "CREATE TABLE"));
        assert_eq!(after(0, "insert into t values (1)"), done(0, "INSERT 0 1"));
        assert_eq!(after(0, "begin; delete from t"), done(0, "BEGIN DELETE 1"));
        assert_eq!(after(1, "begin; select id from t where id = 1"), None, "it waits for the row");
        assert_eq!(after(0, "rollback"), done(0, "ROLLBACK"));
        assert_eq!(stage.next_outcome(), done(1, "1"), "and goes on");
        stage.give(0, "set lock_timeout = '10s'");
        stage.settle();
        assert_eq!(stage.next_outcome(), done(0, "SET"));
        stage.give(0, "truncate t");
        stage.settle();
        assert_eq!(stage.next_outcome(), None, "it waits for the table");
        let ended = loop {
            assert!(stage.pass_time().is_some_and(|passed| passed > Duration::ZERO));
            stage.settle();
            // A wait for a table looks for deadlocks now and then.
            if let Some(outcome) = stage.next_outcome() {
                break outcome;
            }
        };
        assert!(matches!(ended, (0, Outcome::Failed(code, _)) if code == "55P03"));
        assert_eq!(stage.pass_time(), None, "nobody waits");
        stage.give(1, "lock table t");
        stage.settle();
        assert_eq!(stage.next_outcome(), done(1, "LOCK TABLE"));
        stage.give(0, "select id from t");
        stage.settle();
        assert_eq!(stage.next_outcome(), None, "what is left waiting ends with the stage");
    }
}
