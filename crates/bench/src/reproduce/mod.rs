//! `hotrow reproduce`: figures of papers, measured here.
//!
//! A figure is a declaration: what the paper measured, the points to measure here as command lines of `hotrow bench`,
//! and the paper's claims with the functions that decide them. A later engine adds a series, a later paper a file in
//! `figures/` and a line in [`FIGURES`](figures::FIGURES); nothing else knows one figure from another.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `figure.rs` | what a figure is |
//! | `figures/` | one file for each |
//! | `scale.rs` | how long and how large: in full, `--quick`, and for tests |
//! | `cost.rs` | the time and memory that a figure takes, before it is run |
//! | `run.rs` | running its points |
//! | `results.rs` | what was measured: medians, and ratios within one repetition |
//! | `claim.rs` | comparing it with what the paper says |
//! | `csv.rs`, `chart.rs`, `sheet.rs`, `page.rs` | the points, the drawings, the page |
//! | `book.rs` | the folder with the files |
//! | `watch.rs`, `listing.rs` | progress and the time left; what is printed |
//!
//! **How it measures.** Every run goes through the driver of `hotrow bench`. Points that have the same rows run on the
//! same database, one for each engine, all loaded at once. A repetition goes through all points, and at each point
//! through all engines, so that a drift of the machine hits all of them; ratios are medians of the ratios within one
//! repetition. After every run the workload's check is made over everything that has run on that database. A check that
//! fails ends the figure, and the page says so.
//!
//! **Files.** The points are written after each repetition, drawings and page after each figure; an interrupt ends the
//! run under way, and what was measured before is written.

mod book;
mod chart;
mod claim;
mod cost;
mod csv;
mod figure;
mod figures;
mod listing;
mod options;
mod page;
mod results;
mod run;
mod scale;
mod sheet;
mod watch;

pub use options::ReproduceOptions;

use crate::engine_run::{RunFailure, Tools};
use crate::host::Host;
use crate::progress::Progress;
use crate::{BenchError, Interrupt, memory};
use book::Book;
use claim::Verdict;
use cost::Cost;
use figure::Figure;
use hotrow_txn::number_of;
use results::Results;
use run::Observer;
use scale::Scale;
use std::io::Write;
use std::time::{Duration, Instant};
use watch::Watch;

/// Measures the figures that were asked for, or lists those there are.
///
/// # Errors
/// A folder that cannot be written, before anything is run; a run that failed or whose check did; the interrupt.
pub fn reproduce(options: &ReproduceOptions, out: &mut dyn Write, interrupt: &Interrupt) -> Result<(), BenchError> {
    let Some(folder) = options.folder() else { return Ok(listing::list(out)?) };
    let cores = hotrow_sync::thread::available_parallelism().map_or(1, usize::from) as u64;
    let scale = Scale { size: options.size(), cores };
    let mut entries: Vec<_> = options.figures().into_iter().map(|figure| Entry::new(figure, &scale)).collect();
    let costs: Vec<Vec<Cost>> = entries
        .iter()
        .map(|entry| cost::costs(&entry.results.plan))
        .collect::<Result<_, _>>()
        .map_err(BenchError::Failed)?;
    refuse_if_too_large(&entries, &costs)?;

    let host = Host::detect();
    let book = Book::create(folder, &host, &scale, &entries)?;
    listing::announce(out, &entries, &costs, &scale)?;
    let mut watch = Watch::new(&costs, &scale);
    let tools = Tools { host: &host, progress: &Progress::silent(), interrupt };
    for number in 0..entries.len() {
        let entry = &mut entries[number];
        let begin = Instant::now();
        let mut notes =
            Notes { figure: entry.figure, book: &book, scale: &scale, watch: &mut watch, run: Duration::ZERO };
        entry.state = State::after(run::run(&mut entry.results, &scale, tools, &mut notes));
        entry.took = begin.elapsed();
        watch.end_figure(number);
        book.write_figure(&entries[number])?;
        book.write_page(&entries)?;
        watch.suspend(|| listing::tell(out, &entries[number]))?;
        if interrupt.is_raised() {
            break;
        }
    }
    watch.end();
    writeln!(out, "\n{}", book.page().display())?;
    conclude(&entries, interrupt)
}

/// A figure that was asked for, and what became of it.
pub(crate) struct Entry {
    figure: &'static Figure,
    results: Results,
    state: State,
    took: Duration,
}

/// How far a figure is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    Done,
    Interrupted,
    Failed(String),
}

impl State {
    fn after(outcome: Result<(), RunFailure>) -> Self {
        match outcome {
            Ok(()) => State::Done,
            Err(RunFailure::Interrupted) => State::Interrupted,
            Err(RunFailure::Failed(what)) => State::Failed(what),
        }
    }
}

impl Entry {
    fn new(figure: &'static Figure, scale: &Scale) -> Self {
        let results = Results::new((figure.plan)(scale));
        Self { figure, results, state: State::Waiting, took: Duration::ZERO }
    }

    /// How many of its claims hold.
    fn tally(&self) -> String {
        let verdicts = self.figure.claims.iter().map(|claim| claim.verdict(&self.results));
        let holding = verdicts.filter(|verdict| matches!(verdict, Verdict::Holds(_))).count();
        format!("{holding} of {}", self.figure.claims.len())
    }
}

/// Shows the progress of one figure, and writes its points down.
struct Notes<'a> {
    figure: &'static Figure,
    book: &'a Book<'a>,
    scale: &'a Scale,
    watch: &'a mut Watch,
    /// How long a run on the present rows was planned to take.
    run: Duration,
}

impl Observer for Notes<'_> {
    fn loading(&mut self, cost: Cost) {
        let Cost { rows, engines, .. } = cost;
        self.watch.begin(&format!("{} loading {} {}", self.figure.id, number_of(rows, "row"), under(engines)));
        self.watch.advance(cost.load(self.scale), 0);
        self.run = cost.run(self.scale);
    }

    fn running(&mut self, point: &str, engine: &str) {
        self.watch.show(&format!("{} {point} {engine}", self.figure.id));
        self.watch.advance(self.run, 1);
    }

    fn repeated(&mut self, results: &Results) -> Result<(), String> {
        self.book.write_points(self.figure, results).map_err(|error| error.to_string())
    }
}

/// Under how many engines rows are loaded.
fn under(engines: u64) -> String {
    match engines {
        1 => "under one engine".to_owned(),
        _ => format!("under {engines} engines at once"),
    }
}

fn refuse_if_too_large(entries: &[Entry], costs: &[Vec<Cost>]) -> Result<(), BenchError> {
    for (entry, costs) in entries.iter().zip(costs) {
        for &Cost { rows, bytes, engines, .. } in costs {
            let under = under(engines);
            let what = || format!("{}: {} {under} (--quick takes fewer)", entry.figure.id, number_of(rows, "row"));
            memory::refuse_if_too_large(bytes, what)?;
        }
    }
    Ok(())
}

fn conclude(entries: &[Entry], interrupt: &Interrupt) -> Result<(), BenchError> {
    let failed: Vec<_> = entries.iter().filter(|entry| matches!(entry.state, State::Failed(_))).collect();
    match failed.first() {
        Some(Entry { figure, state: State::Failed(what), .. }) => {
            Err(BenchError::Failed(format!("{}: {what}", figure.id)))
        }
        _ if interrupt.is_raised() => Err(BenchError::Interrupted),
        _ => Ok(()),
    }
}
