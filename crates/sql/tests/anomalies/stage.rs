//! The stage: sessions on threads of their own, of which one at a time runs, and a clock that goes only when told.
//!
//! A session's thread takes statements from a channel. It runs until its statement is done or it waits; who waits goes on when
//! somebody has woken it, or its deadline has passed, and the director of the play lets it. So a play has one course,
//! however the machine schedules the threads.

use crate::common::query;
use hotrow_sql::{Database, Session};
use hotrow_sync::{Arc, Condvar, Mutex, MutexGuard, Scheduler, Time, Waiter, mpsc, thread};
use std::collections::VecDeque;
use std::time::Duration;

/// What a statement comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Rows, with blanks between them; or the command's tag.
    Done(String),
    /// The error's code and message.
    Failed(String, String),
}

/// What a session's thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Idle,
    Running,
    Waiting(Option<Time>),
    /// The thread has ended: by a panic, if the play goes on.
    Gone,
}

struct Player {
    status: Status,
    /// Woken, and has not seen it.
    woken: bool,
}

struct Scene {
    now: Time,
    players: Vec<Player>,
    /// What statements came to, in the order in which they ended, and whose they were.
    outcomes: VecDeque<(usize, Outcome)>,
    /// The play is over: nobody waits any more.
    over: bool,
}

struct Board {
    scene: Mutex<Scene>,
    changed: Condvar,
}

impl Board {
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

/// A session's place on the stage: how it waits.
struct Place {
    board: Arc<Board>,
    number: usize,
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
        self.board.changed.notify_all();
        while matches!(scene.players[self.number].status, Status::Waiting(_)) && !scene.over {
            scene = self.board.wait(scene);
        }
    }

    fn resume(&self) {
        self.board.scene().players[self.number].woken = true;
        self.board.changed.notify_all();
    }
}

/// Tells the board when a session's thread ends, however it ends.
struct Leaving(Arc<Board>, usize);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.set(self.1, Status::Gone, None);
    }
}

struct Performer {
    statements: Option<mpsc::Sender<String>>,
    waiter: Waiter,
    thread: Option<thread::JoinHandle<()>>,
}

/// Sessions of one database.
pub struct Stage {
    board: Arc<Board>,
    performers: Vec<Performer>,
}

impl Stage {
    /// So many sessions, none of which has begun anything.
    pub fn new(database: &Arc<Database>, sessions: usize) -> Self {
        let players = (0..sessions).map(|_| Player { status: Status::Idle, woken: false }).collect();
        let scene = Scene { now: Time::default(), players, outcomes: VecDeque::new(), over: false };
        let board = Arc::new(Board { scene: Mutex::new(scene), changed: Condvar::new() });
        let performer = |number| {
            let waiter = Waiter::new(Arc::new(Place { board: board.clone(), number }));
            let (statements, received) = mpsc::channel();
            let (board, database, own) = (board.clone(), database.clone(), waiter.clone());
            let thread = thread::spawn(move || {
                let leaving = Leaving(board, number);
                perform(&leaving.0, number, database.session("ada", own), &received);
            });
            Performer { statements: Some(statements), waiter, thread: Some(thread) }
        };
        let performers = (0..sessions).map(performer).collect();
        Self { board, performers }
    }

    /// Gives a session that is idle a statement to run. A moment passes first, so that who begins earlier is older.
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

    /// Lets everybody go on who can, one after the other, until all are idle or wait.
    pub fn settle(&self) {
        let mut scene = self.board.scene();
        loop {
            while scene.players.iter().any(|player| player.status == Status::Running) {
                scene = self.board.wait(scene);
            }
            let now = scene.now;
            let Some(player) = scene.players.iter_mut().find(|player| player.may_go_on(now)) else { return };
            player.woken = false;
            player.status = Status::Running;
            self.board.changed.notify_all();
        }
    }

    /// Whether a session's thread has panicked.
    pub fn is_gone(&self, number: usize) -> bool {
        self.board.scene().players[number].status == Status::Gone
    }

    /// The next statement that has ended: whose it was, and what it came to.
    pub fn next_outcome(&self) -> Option<(usize, Outcome)> {
        self.board.scene().outcomes.pop_front()
    }

    /// Moves the clock to the earliest deadline of those who wait; by how much. None if nobody waits with a deadline.
    pub fn pass_time(&self) -> Option<Duration> {
        let mut scene = self.board.scene();
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

impl Player {
    fn may_go_on(&self, now: Time) -> bool {
        match self.status {
            Status::Waiting(deadline) => self.woken || deadline.is_some_and(|deadline| deadline <= now),
            _ => false,
        }
    }
}

impl Drop for Stage {
    /// Ends all waits and threads; sessions that are in a transaction roll it back.
    fn drop(&mut self) {
        self.board.scene().over = true;
        for performer in &mut self.performers {
            performer.waiter.cancel();
            performer.statements = None;
        }
        for performer in &mut self.performers {
            // A panic of the thread has been told by itself, and by whoever found it gone.
            let _ = performer.thread.take().map(thread::JoinHandle::join);
        }
    }
}

/// A session's thread.
fn perform(board: &Board, number: usize, mut session: Session, statements: &mpsc::Receiver<String>) {
    while let Ok(sql) = statements.recv() {
        let (recorder, result) = query(&mut session, &sql);
        let outcome = match result {
            Ok(()) if recorder.columns.is_empty() => Outcome::Done(recorder.tags.join(" ")),
            Ok(()) => Outcome::Done(recorder.rows.join(" ")),
            Err(error) => Outcome::Failed(error.state.0.to_owned(), error.message),
        };
        board.set(number, Status::Idle, Some(outcome));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::database;

    #[test]
    fn a_wait_ends_when_it_is_woken_or_its_time_is_up() {
        let database = database("2pl-timeout");
        let stage = Stage::new(&database, 2);
        let after = |number: usize, sql: &str| {
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
        assert_eq!(after(0, "truncate t"), None, "it waits for the table");
        assert!(stage.pass_time().is_some_and(|passed| passed > Duration::ZERO));
        stage.settle();
        assert!(matches!(stage.next_outcome(), Some((0, Outcome::Failed(code, _))) if code == "40001"));
        assert_eq!(stage.pass_time(), None, "nobody waits");
        assert_eq!(after(1, "lock table t"), done(1, "LOCK TABLE"));
        assert_eq!(after(0, "select id from t"), None, "what is left waiting ends with the stage");
    }
}
