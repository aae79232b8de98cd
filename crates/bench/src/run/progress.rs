//! The progress of runs, on standard error so that the table can be piped: bars on a terminal, plain lines otherwise.

use crate::interrupt::Interrupt;
use crate::options::RunOptions;
use hotrow_runtime::Stop;
use hotrow_sync::thread;
use hotrow_txn::number_of;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write, stderr};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The time between two redraws of a bar.
const TICK: Duration = Duration::from_millis(100);

/// The display of the progress of one run after the other, on standard error.
pub(crate) struct Progress {
    shown: Shown,
    /// The number of the run, of how many, and its engine.
    title: String,
}

/// How progress is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Bars,
    Lines,
    Nothing,
}

impl Progress {
    /// Makes a display that shows bars on a terminal, and lines elsewhere.
    pub(crate) fn new() -> Self {
        Self { shown: if stderr().is_terminal() { Shown::Bars } else { Shown::Lines }, title: String::new() }
    }

    /// Makes a display that shows nothing, for a caller that shows the progress of many runs at once.
    pub(crate) fn silent() -> Self {
        Self { shown: Shown::Nothing, title: String::new() }
    }

    /// Sets the title of what is shown next: run `number` out of `of`, under `engine`.
    pub(crate) fn begin_run(&mut self, number: usize, of: usize, engine: &str) {
        self.title = format!("[{number}/{of}] {engine}");
    }

    /// Calls `load`, which loads `rows` rows, and shows its progress. An interrupt stops the load. Returns the result
    /// of `load`.
    pub(crate) fn loading<T>(
        &self,
        rows: u64,
        interrupt: &Interrupt,
        load: impl FnOnce(&hotrow_workloads::Progress<'_>) -> T,
    ) -> T {
        self.line(&format!("loading {}", number_of(rows, "row")));
        let bar = self.bar(rows, "{prefix:.bold} loading {wide_bar:.cyan} {human_pos} of {human_len} rows, {eta} left");
        let result = load(&|more| {
            bar.inc(more);
            if interrupt.is_raised() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        bar.finish_and_clear();
        result
    }

    /// Calls `measure`, which makes a run, and shows the run's progress. Raises `stop` when `measure` has returned, and
    /// returns its result.
    pub(crate) fn measuring<T>(&self, options: &RunOptions, stop: &Stop, measure: impl FnOnce() -> T) -> T {
        thread::scope(|scope| {
            scope.spawn(|| self.running(options.warmup + options.seconds, options.threads(), stop));
            let result = measure();
            // A run that failed has not raised it.
            stop.raise();
            result
        })
    }

    /// Shows a run of about `length` until `stop` is raised.
    fn running(&self, length: Duration, threads: usize, stop: &Stop) {
        self.line(&format!("running for {} s on {}", length.as_secs_f64(), number_of(threads, "thread")));
        if self.shown != Shown::Bars {
            return;
        }
        let bar = self.bar(length.as_millis() as u64, "{prefix:.bold} running {wide_bar:.green} {msg}");
        let start = Instant::now();
        while !stop.wait(TICK) {
            let elapsed = start.elapsed();
            bar.set_position(elapsed.as_millis() as u64);
            bar.set_message(format!("{:.0} of {:.0} s", elapsed.as_secs_f64(), length.as_secs_f64()));
        }
        bar.finish_and_clear();
    }

    /// Shows that the tables are being checked.
    pub(crate) fn checking(&self) {
        self.line("checking consistency");
    }

    fn bar(&self, length: u64, template: &str) -> ProgressBar {
        let target =
            if self.shown == Shown::Bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template(template).expect("the template is well-formed");
        ProgressBar::with_draw_target(Some(length), target).with_style(style).with_prefix(self.title.clone())
    }

    /// Prints a plain line if lines are shown. A closed standard error is ignored: there is no reader to tell.
    fn line(&self, text: &str) {
        if self.shown == Shown::Lines {
            let _ = writeln!(stderr(), "{} {text}", self.title);
        }
    }
}
