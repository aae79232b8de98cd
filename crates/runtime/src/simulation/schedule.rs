//! What happened in a simulation, and how it failed.

use std::fmt;

/// A simulation's steps in their order, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    names: Vec<String>,
    steps: Vec<(usize, String)>,
}

impl Schedule {
    /// How many of the last steps are printed.
    const PRINTED: usize = 150;

    pub(super) fn name(&mut self, name: &str) {
        self.names.push(name.to_owned());
    }

    pub(super) fn push(&mut self, task: usize, step: String) {
        self.steps.push((task, step));
    }

    pub(super) fn truncate(&mut self, steps: usize) {
        self.steps.truncate(steps);
    }

    /// How many steps there were.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl fmt::Display for Schedule {
    /// One line a step; the beginning of a long one is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skipped = self.steps.len().saturating_sub(Self::PRINTED);
        if skipped > 0 {
            writeln!(f, "  ({skipped} earlier steps)")?;
        }
        for (number, (task, step)) in self.steps.iter().enumerate().skip(skipped) {
            writeln!(f, "{number:5}  {:12} {step}", self.names[*task])?;
        }
        Ok(())
    }
}

/// What went wrong in a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// These tasks wait without a deadline, and nobody is left to wake them.
    Stalled(Vec<String>),
    /// This task's condition came true while it waited, and nobody woke it.
    LostWakeup(String),
    /// This task panicked, and said so.
    Panicked(String, String),
    /// What the tasks share is not as it should be after a step, says the audit.
    Audit(String),
    /// The simulation did not end within its bound of steps.
    Endless,
    /// What the tasks did is wrong, says whoever judged it.
    Wrong(String),
}

/// A simulation that failed, with all that is needed to see it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub kind: FailureKind,
    /// The seed.
    pub seed: u64,
    /// What happened until then.
    pub schedule: Schedule,
    /// What was simulated, if there is more than one thing.
    pub subject: String,
}

impl Failure {
    /// A failure of the simulation with this seed.
    pub fn new(kind: FailureKind, seed: u64, schedule: Schedule) -> Self {
        Self { kind, seed, schedule, subject: String::new() }
    }

    /// Says what was simulated, for those who simulate several things.
    pub fn of(mut self: Box<Self>, subject: &str) -> Box<Self> {
        self.subject = subject.to_owned();
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.subject.is_empty() {
            write!(f, "{}: ", self.subject)?;
        }
        match &self.kind {
            FailureKind::Stalled(tasks) => writeln!(f, "nobody can wake {}", tasks.join(", "))?,
            FailureKind::LostWakeup(task) => writeln!(f, "{task} was not woken when its condition came true")?,
            FailureKind::Panicked(task, message) => writeln!(f, "{task} panicked: {message}")?,
            FailureKind::Endless => writeln!(f, "no end after {} steps", self.schedule.len())?,
            FailureKind::Audit(what) => writeln!(f, "after this step: {what}")?,
            FailureKind::Wrong(what) => writeln!(f, "{what}")?,
        }
        writeln!(f, "seed {}; its schedule:\n{}", self.seed, self.schedule)
    }
}

impl std::error::Error for Failure {}
