//! The progress of all figures and the time left: a bar on a terminal, a line now and then otherwise.

use super::cost::Cost;
use super::scale::Scale;
use crate::numbers::length;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// The least time between two lines of progress.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// The time from which on the time left is estimated from the pace. Before, the planned time is shown.
const LEARN_FROM: Duration = Duration::from_secs(3);

/// The display of the progress of all figures on standard error.
pub(crate) struct FigureProgress {
    /// The bar, or `None` if lines are shown.
    bar: Option<ProgressBar>,
    clock: Clock,
    begin: Instant,
    last_line: Option<Instant>,
    runs: u64,
    runs_done: u64,
    /// The planned time and the number of runs, of all figures together, up to the end of each figure.
    ends: Vec<(Duration, u64)>,
}

impl FigureProgress {
    /// Begins the progress of all figures. `figures` holds the costs of each.
    pub(crate) fn new(figures: &[Vec<Cost>], scale: &Scale) -> Self {
        let (mut planned, mut runs) = (Duration::ZERO, 0);
        let mut ends = Vec::new();
        for costs in figures {
            planned += costs.iter().map(|cost| cost.duration(scale)).sum::<Duration>();
            runs += costs.iter().map(|cost| cost.runs).sum::<u64>() * u64::from(scale.repetitions());
            ends.push((planned, runs));
        }
        let bar = stderr().is_terminal().then(|| {
            let template = "{prefix:.bold} {wide_bar:.cyan} {pos} of {len} runs, {msg}";
            let style = ProgressStyle::with_template(template).expect("the template is well-formed");
            ProgressBar::with_draw_target(Some(runs), ProgressDrawTarget::stderr()).with_style(style)
        });
        let clock = Clock { planned, done: Duration::ZERO };
        Self { bar, clock, begin: Instant::now(), last_line: None, runs, runs_done: 0, ends }
    }

    /// Shows that `what` begins. If lines are shown, this one and the next one are printed even if the last line is
    /// recent.
    pub(crate) fn begin(&mut self, what: &str) {
        self.last_line = None;
        self.show(what);
        self.last_line = None;
    }

    /// Shows that `what` is being done. If lines are shown, none is printed soon after the last one.
    pub(crate) fn show(&mut self, what: &str) {
        let left = format!("{} left", length(self.clock.left(self.begin.elapsed())));
        if let Some(bar) = &self.bar {
            bar.set_prefix(what.to_owned());
            bar.set_position(self.runs_done);
            bar.set_message(left);
            bar.tick();
        } else if self.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
            self.last_line = Some(Instant::now());
            // A closed standard error is ignored: there is no reader to tell.
            let _ = writeln!(stderr(), "[{}/{}] {what}, {left}", self.runs_done, self.runs);
        }
    }

    /// Advances by a number of runs, or by a load, that were planned to take the time `planned`.
    pub(crate) fn advance(&mut self, planned: Duration, runs: u64) {
        self.clock.done += planned;
        self.runs_done += runs;
    }

    /// Advances to the end of the figure with this number. Runs that were skipped count as done.
    pub(crate) fn end_figure(&mut self, number: usize) {
        (self.clock.done, self.runs_done) = self.ends[number];
    }

    /// Hides the bar while `print` prints.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Removes the bar.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Estimates the time left from the planned time and the pace so far.
#[derive(Debug)]
struct Clock {
    planned: Duration,
    /// The planned time of the loads and runs that are done.
    done: Duration,
}

impl Clock {
    fn left(&self, elapsed: Duration) -> Duration {
        let ahead = self.planned.saturating_sub(self.done);
        if elapsed < LEARN_FROM || self.done.is_zero() {
            return ahead;
        }
        ahead.mul_f64((elapsed.as_secs_f64() / self.done.as_secs_f64()).clamp(0.1, 10.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_pace() {
        let seconds = Duration::from_secs;
        let mut clock = Clock { planned: seconds(100), done: Duration::ZERO };
        assert_eq!(clock.left(seconds(1)), seconds(100));
        clock.done = seconds(20);
        for (elapsed, left) in [(1, 80), (20, 80), (40, 160), (10, 40), (20_000, 800)] {
            assert_eq!(clock.left(seconds(elapsed)), seconds(left), "after {elapsed} s");
        }
        clock.done = seconds(120);
        assert_eq!(clock.left(seconds(120)), Duration::ZERO);
    }
}
