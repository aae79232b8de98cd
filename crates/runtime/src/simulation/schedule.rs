//! The record of a simulation: the steps that it made, and its failure.

use std::fmt;

/// The steps that a simulation has made, in their order. It is printed when a simulation fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    names: Vec<String>,
    steps: Vec<(usize, String)>,
}

impl Schedule {
    /// The greatest number of steps that are printed: the last ones.
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

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether the schedule has no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl fmt::Display for Schedule {
    /// Writes a line for each step; the beginning of a long schedule is left out.
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

/// The reason why a simulation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Tasks wait without a deadline, and no task is left that could wake them. Holds the names of the tasks that have
    /// not ended.
    Stalled(Vec<String>),
    /// A wake was lost: the condition for which a task waited came true, but no task woke it. Holds the task's name.
    LostWakeup(String),
    /// A task panicked. Holds the task's name and the message of the panic.
    Panicked(String, String),
    /// The check that [`Simulation::after_each_step`](super::Simulation::after_each_step) has set returned this error.
    Audit(String),
    /// The simulation did not end within [`SimulationConfig::most_steps`](super::SimulationConfig::most_steps).
    Endless,
    /// The tasks ended, but the test that ran the simulation found their results wrong, for this reason.
    Wrong(String),
}

/// The failure of a simulation, with all that is needed to reproduce it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The seed of the simulation that failed.
    pub seed: u64,
    /// The steps that the simulation has made.
    pub schedule: Schedule,
    /// The name of the simulated thing, such as an engine, if a test simulates several; otherwise empty.
    pub subject: String,
}

impl Failure {
    /// Makes a failure of the simulation with this seed. A test calls it to report [`FailureKind::Wrong`].
    pub fn new(kind: FailureKind, seed: u64, schedule: Schedule) -> Self {
        Self { kind, seed, schedule, subject: String::new() }
    }

    /// Sets the name of the simulated thing, such as an engine, for a test that simulates several.
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
