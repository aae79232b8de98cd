//! `hotrow reproduce`: figures of papers, measured here.
//!
//! A figure is a declaration: what the paper measured, the points to measure here as command lines of `hotrow bench`,
//! and the paper's claims with the functions that decide them. A new engine adds a series; a new paper adds files to
//! `figures/` and lines to [`FIGURES`](figures::FIGURES). Nothing else knows one figure from another.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `figure.rs`, `plan.rs`, `claim.rs` | the parts of a declaration: the figure, its points, its claims |
//! | `figures/` | a file for each figure |
//! | `options.rs`, `scale.rs` | the command line; how long and how large: in full, `--quick`, and for tests |
//! | `point_command.rs`, `point_run.rs` | the command line of a point; the runs at points, and their databases |
//! | `cost.rs` | the time and memory that a figure takes, before it is run |
//! | `run.rs` | the runs of its points |
//! | `results.rs` | what was measured: medians, and ratios within one repetition |
//! | `requested.rs` | a figure that was asked for, and how far it is |
//! | `output/` | the points, the drawings, the page, and what is printed |
//! | `progress.rs` | progress and the time left |
//!
//! **How it measures.** Every run goes through the driver of `hotrow bench`. Points that have the same rows run on the
//! same database, one for each engine and for each of its settings, all loaded at once. A repetition goes through all
//! points, and at each point through all engines, so that a drift of the machine hits all of them; ratios are medians
//! of the ratios within one repetition. After every run the workload's check is made over everything that has run on
//! that database. A failed check ends the figure, and the page says so.
//!
//! **Files.** The points are written after each repetition, drawings and page after each figure. An interrupt ends the
//! run under way; what was measured before is written.

mod claim;
mod cost;
mod figure;
mod figures;
mod options;
mod output;
mod plan;
mod point_command;
mod point_run;
mod progress;
mod requested;
mod results;
mod run;
mod scale;

pub use options::ReproduceOptions;

use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::machine::{Host, refuse_if_too_large};
use crate::run::{Progress, RunContext};
use cost::Cost;
use figure::Figure;
use hotrow_txn::number_of;
use output::{OutputFolder, listing};
use progress::FigureProgress;
use requested::{RequestedFigure, State};
use results::Results;
use run::RunObserver;
use scale::{Scale, Size};
use std::io::Write;
use std::time::{Duration, Instant};

/// Measures the figures that were asked for, or lists all figures.
///
/// # Errors
/// The folder cannot be written or the tables are too large, which is found before anything is run; a run or its
/// consistency check failed; or the interrupt was raised.
pub fn reproduce(options: &ReproduceOptions, out: &mut dyn Write, interrupt: &Interrupt) -> Result<(), BenchError> {
    let Some(folder) = options.folder() else { return Ok(listing::print_figures(out)?) };
    let cores = hotrow_sync::thread::available_parallelism().map_or(1, usize::from) as u64;
    let scale = Scale { size: options.size(), cores };
    let mut figures: Vec<_> =
        options.figures().into_iter().map(|figure| RequestedFigure::new(figure, &scale)).collect();
    let costs: Vec<Vec<Cost>> = figures
        .iter()
        .map(|requested| cost::costs(&requested.results.plan))
        .collect::<Result<_, _>>()
        .map_err(BenchError::Failed)?;
    refuse_large_figures(&figures, &costs)?;
    if scale.size == Size::Simulated {
        refuse_networks(&figures, &costs)?;
    }

    let host = Host::detect();
    let folder = OutputFolder::create(folder, &host, &scale, &figures)?;
    listing::print_durations(out, &figures, &costs, &scale)?;
    let mut progress = FigureProgress::new(&costs, &scale);
    let context = RunContext { host: &host, progress: &Progress::silent(), interrupt };
    for number in 0..figures.len() {
        let requested = &mut figures[number];
        let begin = Instant::now();
        let figure = requested.figure;
        let mut observer =
            FigureObserver { figure, folder: &folder, scale: &scale, progress: &mut progress, run: Duration::ZERO };
        requested.state = State::after(run::run(&mut requested.results, &scale, context, &mut observer));
        requested.took = begin.elapsed();
        progress.end_figure(number);
        folder.write_figure(&figures[number])?;
        folder.write_page(&figures)?;
        progress.suspend(|| listing::print_claims(out, &figures[number]))?;
        if interrupt.is_raised() {
            break;
        }
    }
    progress.end();
    writeln!(out, "\n{}", folder.page().display())?;
    conclude(&figures, interrupt)
}

/// Shows the progress of one figure, and writes its points after each repetition.
struct FigureObserver<'a> {
    figure: &'static Figure,
    folder: &'a OutputFolder<'a>,
    scale: &'a Scale,
    progress: &'a mut FigureProgress,
    /// The planned duration of a run on the rows that are loaded now.
    run: Duration,
}

impl RunObserver for FigureObserver<'_> {
    fn loading(&mut self, cost: Cost) {
        let Cost { rows, databases, .. } = cost;
        self.progress.begin(&format!("{} loading {} {}", self.figure.id, number_of(rows, "row"), inside(databases)));
        self.progress.advance(cost.load(self.scale), 0);
        self.run = cost.run(self.scale);
    }

    fn running(&mut self, point: &str, engine: &str) {
        self.progress.show(&format!("{} {point} {engine}", self.figure.id));
        self.progress.advance(self.run, 1);
    }

    fn repeated(&mut self, results: &Results) -> Result<(), String> {
        self.folder.write_points(self.figure, results).map_err(|error| error.to_string())
    }
}

/// Returns the words for a number of databases into which rows are loaded.
fn inside(databases: u64) -> String {
    match databases {
        1 => "in one database".to_owned(),
        _ => format!("in {databases} databases at once"),
    }
}

/// Refuses a figure whose tables, in all its databases, are larger than this machine's memory.
fn refuse_large_figures(figures: &[RequestedFigure], costs: &[Vec<Cost>]) -> Result<(), BenchError> {
    for (requested, costs) in figures.iter().zip(costs) {
        for &Cost { rows, bytes, databases, .. } in costs {
            let (id, rows, inside) = (requested.figure.id, number_of(rows, "row"), inside(databases));
            let what = || format!("{id}: {rows} {inside} (--quick takes fewer)");
            refuse_if_too_large(bytes, what)?;
        }
    }
    Ok(())
}

/// Refuses a figure that is measured over the network, which a simulated machine does not have.
fn refuse_networks(figures: &[RequestedFigure], costs: &[Vec<Cost>]) -> Result<(), BenchError> {
    let mut figures = figures.iter().zip(costs);
    match figures.find(|(_, costs)| costs.iter().any(|cost| cost.clients > 0)) {
        None => Ok(()),
        Some((requested, _)) => {
            let id = requested.figure.id;
            Err(BenchError::Usage(format!("{id} is measured over the network, and a simulated machine has none")))
        }
    }
}

/// Returns the error of the first figure that failed, or that of the interrupt.
fn conclude(figures: &[RequestedFigure], interrupt: &Interrupt) -> Result<(), BenchError> {
    let failed: Vec<_> = figures.iter().filter(|requested| matches!(requested.state, State::Failed(_))).collect();
    match failed.first() {
        Some(RequestedFigure { figure, state: State::Failed(what), .. }) => {
            Err(BenchError::Failed(format!("{}: {what}", figure.id)))
        }
        _ if interrupt.is_raised() => Err(BenchError::Interrupted),
        _ => Ok(()),
    }
}
