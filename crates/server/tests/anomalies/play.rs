//! One script, played by sessions on a stage.

use crate::script::{MAX_SESSIONS, Script, Statement, Step, Term};
use crate::stage::{Outcome, Stage};
use hotrow_sql::isolation;
use hotrow_txn::Isolation;
use std::collections::{HashMap, VecDeque};

/// How many sessions a stage has. The last one prepares the table, and looks at it afterwards.
pub const SESSIONS: usize = OBSERVER + 1;

const OBSERVER: usize = MAX_SESSIONS;

/// Codes of aborts that are the engine's right.
const ABORTS: [&str; 2] = ["40001", "40P01"];

/// Statements that find any lock that is left: on rows, on gaps, on absent keys, on the table.
const EPILOGUE: [&str; 5] = [
    "begin isolation level serializable; update test set value = value + 1",
    "insert into test values (-1, 0), (6, 60), (1000, 1000)",
    "delete from test where value > 0",
    "rollback",
    "drop table test",
];

/// The order in which the transactions begin. An engine may treat older transactions differently from younger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Each with its first step.
    InTurn,
    /// All before the first step, the last session first.
    Backwards,
}

/// The outcome of a play.
pub struct Ending {
    /// Whether the script's anomaly appeared.
    pub anomaly: bool,
    /// The events of the play, a line each.
    pub story: String,
}

/// The end of a session's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Running,
    Committed,
    RolledBack,
    /// The engine has aborted the transaction.
    Aborted,
    /// A statement was refused with the code that the script allows.
    Refused,
}

struct Play<'s> {
    script: &'s Script,
    stage: &'s mut Stage,
    /// The remaining steps, in turn.
    steps: VecDeque<Step>,
    /// The statement that each session runs, if it runs one.
    doing: Vec<Option<Statement>>,
    waiting: Vec<bool>,
    fates: Vec<Fate>,
    readings: HashMap<String, (usize, String)>,
    story: Vec<String>,
}

/// Plays a script on a stage that has [`SESSIONS`] and no table; `table` makes one. An error describes a fault that no
/// play may have, with the story so far; the stage cannot be used after it.
pub fn play(stage: &mut Stage, level: Isolation, table: &str, begin: Begin, script: &Script) -> Result<Ending, String> {
    let mut play = Play {
        script,
        stage,
        steps: VecDeque::new(),
        doing: vec![None; script.sessions],
        waiting: vec![false; script.sessions],
        fates: vec![Fate::Running; script.sessions],
        readings: HashMap::new(),
        story: Vec::new(),
    };
    let played = play.all(level, table, begin);
    let story = play.story.join("\n");
    match played {
        Ok(()) => Ok(Ending { anomaly: play.shows_anomaly(), story }),
        Err(error) => Err(format!("{error}\n{story}")),
    }
}

impl Play<'_> {
    fn all(&mut self, level: Isolation, table: &str, begin: Begin) -> Result<(), String> {
        self.alone(table)?;
        for session in self.script.sessions() {
            self.steps.push_back(step(session, &format!("begin isolation level {}", isolation::name(level))));
        }
        if begin == Begin::Backwards {
            self.steps.extend(self.script.sessions().rev().map(|session| step(session, "select 1")));
        }
        self.steps.extend(self.script.steps.iter().cloned());
        self.perform()?;
        for statement in &self.script.after {
            let rows = self.alone(&statement.sql)?;
            self.tell("after", &statement.sql, &rows);
            self.read(OBSERVER, statement, rows);
        }
        if self.fates.iter().all(|fate| *fate == Fate::Aborted) {
            return Err("all were aborted, although one of them could have gone on".to_owned());
        }
        EPILOGUE.iter().try_for_each(|sql| self.alone(sql).map(drop))
    }

    /// Takes the steps in turn; those of a session that waits are kept until it goes on.
    fn perform(&mut self) -> Result<(), String> {
        loop {
            let next = self.steps.iter().position(|step| self.doing[step.session].is_none());
            if let Some(step) = next.and_then(|at| self.steps.remove(at)) {
                self.stage.give(step.session, &step.statement.sql);
                self.doing[step.session] = Some(step.statement);
            } else {
                match self.doing.iter().flatten().count() {
                    0 => return Ok(()),
                    1 => return Err("somebody waits although all others have ended".to_owned()),
                    _ => {}
                }
                let passed = self.stage.pass_time().ok_or("everybody waits, and nobody has a deadline")?;
                self.story.push(format!("  everybody waits; {passed:?} pass"));
            }
            self.observe()?;
        }
    }

    /// Waits until no session moves, and records what has happened.
    fn observe(&mut self) -> Result<(), String> {
        self.stage.settle();
        while let Some((session, outcome)) = self.stage.next_outcome() {
            let statement = self.doing[session].take().expect("who has an answer was asked");
            let waited = std::mem::take(&mut self.waiting[session]);
            let what = if waited { "goes on" } else { statement.sql.as_str() };
            match outcome {
                Outcome::Done(result) => {
                    self.tell(&name(session), what, &result);
                    self.done(session, &statement, result);
                }
                Outcome::Failed(code, message) => {
                    self.tell(&name(session), what, &format!("{code} {message}"));
                    self.failed(session, &statement, &code)?;
                }
            }
        }
        for session in self.script.sessions() {
            let Some(Statement { sql, .. }) = self.doing[session].clone() else { continue };
            if self.stage.is_gone(session) {
                return Err(format!("{} lost its connection in `{sql}`", name(session)));
            }
            if !std::mem::replace(&mut self.waiting[session], true) {
                self.tell(&name(session), &sql, "waits");
            }
        }
        Ok(())
    }

    fn done(&mut self, session: usize, statement: &Statement, result: String) {
        match statement.sql.as_str() {
            "commit" => self.fates[session] = Fate::Committed,
            "rollback" if self.fates[session] == Fate::Running => self.fates[session] = Fate::RolledBack,
            _ => self.read(session, statement, result),
        }
    }

    /// A session whose transaction was aborted or refused rolls back, and is out of the play.
    fn failed(&mut self, session: usize, statement: &Statement, code: &str) -> Result<(), String> {
        self.fates[session] = match code {
            _ if ABORTS.contains(&code) => Fate::Aborted,
            _ if self.script.refusal.as_deref() == Some(code) => Fate::Refused,
            _ => return Err(format!("{} failed in `{}` with {code}", name(session), statement.sql)),
        };
        self.steps.retain(|step| step.session != session);
        self.steps.push_front(step(session, "rollback"));
        Ok(())
    }

    fn read(&mut self, session: usize, statement: &Statement, rows: String) {
        if let Some(reading) = &statement.reading {
            self.readings.insert(reading.clone(), (session, rows));
        }
    }

    /// Runs a statement in the session beside the script, and returns its rows. It is an error if the statement waits.
    fn alone(&mut self, sql: &str) -> Result<String, String> {
        self.stage.give(OBSERVER, sql);
        self.stage.settle();
        match self.stage.next_outcome() {
            Some((_, Outcome::Done(rows))) => Ok(rows),
            Some((_, Outcome::Failed(code, message))) => Err(format!("`{sql}` failed with {code}: {message}")),
            None if self.stage.is_gone(OBSERVER) => Err(format!("the connection beside was lost in `{sql}`")),
            None => Err(format!("`{sql}` waits: something is still locked")),
        }
    }

    fn tell(&mut self, who: &str, what: &str, result: &str) {
        let result = if result.is_empty() { "no rows" } else { result };
        self.story.push(format!("  {who:<5} {what:<60} {result}"));
    }

    fn shows_anomaly(&self) -> bool {
        self.script.anomalies.iter().any(|terms| terms.iter().all(|term| self.holds(term)))
    }

    fn holds(&self, term: &Term) -> bool {
        match term {
            Term::Commits(session) => self.fates[*session] == Fate::Committed,
            Term::Refused(session) => self.fates[*session] == Fate::Refused,
            Term::Reads { reading, equal, rows } => self.readings.get(reading).is_some_and(|(session, read)| {
                let fate = self.fates.get(*session);
                let counts = fate.is_none_or(|fate| matches!(fate, Fate::Committed | Fate::Refused));
                counts && (read == rows) == *equal
            }),
        }
    }
}

fn step(session: usize, sql: &str) -> Step {
    Step { session, statement: Statement { sql: sql.to_owned(), reading: None } }
}

/// Session 0 is `T1`.
fn name(session: usize) -> String {
    format!("T{}", session + 1)
}
