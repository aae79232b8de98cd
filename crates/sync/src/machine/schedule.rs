//! The switches from thread to thread that a run made.

use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// The reason why a thread stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The machine has stopped the thread before a step. [`Schedule::shrink`] leaves out such switches only.
    Stopped,
    /// The thread waits, or lets others go on.
    Waits,
    /// The thread has ended.
    Ends,
}

/// A switch to another thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The number of the thread that stops.
    pub thread: usize,
    /// The number of steps that this thread had made by then.
    pub step: u64,
    /// The number of the thread that goes on.
    pub next: usize,
    /// The reason why the first thread stops.
    pub why: Why,
    /// The place in the code at which the first thread stops.
    pub at: &'static Location<'static>,
}

/// The switches of a run, in their order. A clone is cheap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    switches: Arc<Vec<Switch>>,
    /// The thread that goes on, by the thread that stops and the number of its steps.
    next: Arc<HashMap<(usize, u64), usize>>,
}

impl Schedule {
    /// The number of switches, at the end of the schedule, that are printed.
    const PRINTED: usize = 80;

    /// Makes a schedule of these switches.
    pub fn new(switches: Vec<Switch>) -> Self {
        let next = switches.iter().map(|switch| ((switch.thread, switch.step), switch.next)).collect();
        Self { switches: Arc::new(switches), next: Arc::new(next) }
    }

    /// Returns the switches.
    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// Returns the number of switches by which the machine stopped a thread.
    pub fn chosen(&self) -> usize {
        self.switches.iter().filter(|switch| switch.why == Why::Stopped).count()
    }

    pub(super) fn next(&self, thread: usize, step: u64) -> Option<usize> {
        self.next.get(&(thread, step)).copied()
    }

    /// Shortens the schedule of a failed run: leaves out switches by which the machine [stopped](Why::Stopped) a
    /// thread, as long as the run still fails. `fails` makes a run by a schedule. It returns the switches that the run
    /// made, or `None` if the run did not fail. The search ends when no single further switch can be left out.
    pub fn shrink(self, mut fails: impl FnMut(&Schedule) -> Option<Schedule>) -> Schedule {
        let mut best = self;
        let mut pieces = 2;
        while best.chosen() > 0 {
            let chosen: Vec<_> = (0..best.switches.len()).filter(|at| best.switches[*at].why == Why::Stopped).collect();
            let length = chosen.len().div_ceil(pieces);
            let shorter = chosen.chunks(length).find_map(|left_out| {
                let kept = best.switches.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
                let ran = fails(&Schedule::new(kept.map(|(_, switch)| switch.clone()).collect()))?;
                (ran.chosen() < best.chosen()).then_some(ran)
            });
            match shorter {
                Some(shorter) => best = shorter,
                None if length == 1 => break,
                None => pieces *= 2,
            }
        }
        best
    }
}

impl fmt::Display for Schedule {
    /// Writes a line for each switch; the beginning of a long schedule is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skipped = self.switches.len().saturating_sub(Self::PRINTED);
        if skipped > 0 {
            writeln!(f, "  ({skipped} earlier switches)")?;
        }
        for Switch { thread, step, next, why, at } in &self.switches[skipped..] {
            let place = format!("its step {step}, {}:{}", at.file(), at.line());
            match why {
                Why::Stopped => writeln!(f, "  thread {thread} is stopped at {place}; {next} goes on")?,
                Why::Waits => writeln!(f, "  thread {thread} waits at {place}; {next} goes on")?,
                Why::Ends => writeln!(f, "  thread {thread} ends; {next} goes on")?,
            }
        }
        Ok(())
    }
}
