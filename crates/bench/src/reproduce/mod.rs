//! `hotrow reproduce`: figures of papers, measured here.
//!
//! A figure is a declaration: what the paper measured, the points to measure here as command lines of `hotrow bench`,
//! and the paper's claims with the functions that decide them. A later engine adds a series, a later paper a file in
//! `figures/` and a line in [`FIGURES`]; nothing else knows one figure from another.
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
//! | `watch.rs` | progress and the time left |
//!
//! **How it measures.** Every run goes through the driver of `hotrow bench`. Points that have the same rows run on the
//! same database, one for each engine, all loaded at once. A repetition goes through all points, and at each point
//! through all engines, so that a drift of the machine hits all of them; ratios are medians of the ratios within one
//! repetition. After every run the workload's check is made over everything that has run on that database. A check that
//! fails ends the figure, and the page says so.
//!
//! **Files.** The points are written after each repetition, drawings and page after each figure; an interrupt ends the
//! run under way, and what was measured before is written.

mod chart;
mod claim;
mod cost;
mod csv;
mod figure;
mod figures;
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
use claim::Verdict;
use cost::Cost;
use figure::Figure;
use page::Cover;
use results::Results;
use run::Observer;
use scale::Scale;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use watch::{Watch, length};

/// Measures the figures that were asked for, or lists those there are.
///
/// # Errors
/// A folder that cannot be written, before anything is run; a run that failed or whose check did; the interrupt.
pub fn reproduce(options: &ReproduceOptions, out: &mut dyn Write, interrupt: &Interrupt) -> Result<(), BenchError> {
    let Some(folder) = options.folder() else { return Ok(list(out)?) };
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
    let book = Book { folder, host: &host, scale: &scale, begin: Instant::now(), date: now() };
    book.create(&entries)?;
    announce(out, &entries, &costs, &scale)?;
    let mut watch = Watch::new(&costs.concat(), &scale);
    let tools = Tools { host: &host, progress: &Progress::silent(), interrupt };
    for number in 0..entries.len() {
        let entry = &mut entries[number];
        let begin = Instant::now();
        let mut observer =
            Notes { figure: entry.figure, book: &book, watch: &mut watch, run: Duration::ZERO, unwritten: None };
        let outcome = run::run(&mut entry.results, &scale, tools, &mut observer);
        let unwritten = observer.unwritten.take();
        watch.hide();
        entry.took = begin.elapsed();
        entry.state = State::after(outcome);
        book.write_figure(&entries[number])?;
        book.write_page(&entries)?;
        tell(out, &entries[number])?;
        if let Some(error) = unwritten {
            return Err(error);
        }
        if interrupt.is_raised() {
            break;
        }
    }
    writeln!(out, "\n{}", book.folder.join(PAGE).display())?;
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

/// The name of the page.
const PAGE: &str = "index.html";

/// Writes what was measured into a folder.
struct Book<'a> {
    folder: &'a Path,
    host: &'a Host,
    scale: &'a Scale,
    begin: Instant,
    date: String,
}

impl Book<'_> {
    /// Makes the folder, and the page that has nothing in it yet: what cannot be written is better known now.
    fn create(&self, entries: &[Entry]) -> Result<(), BenchError> {
        std::fs::create_dir_all(self.folder).map_err(|error| unwritable(self.folder, &error))?;
        self.write_page(entries)
    }

    fn write_page(&self, entries: &[Entry]) -> Result<(), BenchError> {
        let cover = Cover { host: self.host, date: self.date.clone(), scale: self.scale, took: self.begin.elapsed() };
        let page = page::render(&cover, entries).map_err(BenchError::Failed)?;
        self.write(PAGE, page.as_bytes())
    }

    fn write_points(&self, figure: &Figure, results: &Results) -> Result<(), BenchError> {
        let points = csv::write(figure, results).map_err(BenchError::Failed)?;
        self.write(&format!("{}.csv", figure.id), &points)
    }

    /// The points and the drawings. A figure of which nothing was measured leaves no files.
    fn write_figure(&self, entry: &Entry) -> Result<(), BenchError> {
        if entry.results.is_empty() {
            return Ok(());
        }
        self.write_points(entry.figure, &entry.results)?;
        for (number, panel) in entry.results.plan.panels.iter().enumerate() {
            let svg = chart::draw(&entry.results, number).map_err(BenchError::Failed)?;
            self.write(&format!("{}-{}.svg", entry.figure.id, panel.id), svg.as_bytes())?;
        }
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), BenchError> {
        let path = self.folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| unwritable(&path, &error))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> BenchError {
    BenchError::Failed(format!("{} could not be written: {error}", path.display()))
}

/// Shows the progress of one figure, and writes its points down.
struct Notes<'a> {
    figure: &'static Figure,
    book: &'a Book<'a>,
    watch: &'a mut Watch,
    /// How long a run on the present rows was planned to take.
    run: Duration,
    unwritten: Option<BenchError>,
}

impl Observer for Notes<'_> {
    fn loading(&mut self, cost: Cost) {
        let Cost { rows, engines, .. } = cost;
        self.watch.show(&format!("{} loading {rows} rows under {engines} engines", self.figure.id));
        self.watch.advance(cost.load(self.book.scale), 0);
        self.run = cost.run(self.book.scale);
    }

    fn running(&mut self, point: &str, engine: &str) {
        self.watch.show(&format!("{} {point} {engine}", self.figure.id));
        self.watch.advance(self.run, 1);
    }

    fn repeated(&mut self, results: &Results) {
        let written = self.book.write_points(self.figure, results);
        self.unwritten = self.unwritten.take().or(written.err());
    }
}

/// Today's date and the time, as the clock on the wall shows it.
fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%d %H:%M %Z").to_string()
}

/// One line for each figure there is.
fn list(out: &mut dyn Write) -> io::Result<()> {
    for figure in figures::FIGURES {
        writeln!(out, "{:<12}{}", figure.id, figure.title)?;
        writeln!(out, "{:<12}{}, {}", "", figure.paper.title, figure.place)?;
    }
    writeln!(out, "\nhotrow reproduce FIGURE --out DIR measures one, `all` all of them; --quick within five minutes")
}

fn announce(out: &mut dyn Write, entries: &[Entry], costs: &[Vec<Cost>], scale: &Scale) -> io::Result<()> {
    let lengths: Vec<Duration> =
        costs.iter().map(|costs| costs.iter().map(|cost| cost.duration(scale)).sum::<Duration>()).collect();
    for (entry, &takes) in entries.iter().zip(&lengths) {
        writeln!(out, "{:<12}about {:<12}{}", entry.figure.id, length(takes), entry.figure.title)?;
    }
    writeln!(out, "all of it   about {}\n", length(lengths.iter().sum()))?;
    out.flush()
}

/// Which claims of a figure hold.
fn tell(out: &mut dyn Write, entry: &Entry) -> io::Result<()> {
    let what = match &entry.state {
        State::Failed(what) => format!("failed: {what}"),
        State::Interrupted => "interrupted".to_owned(),
        State::Waiting | State::Done => format!("{} claims hold", entry.tally()),
    };
    writeln!(out, "{}: {what} ({})", entry.figure.id, length(entry.took))?;
    for claim in entry.figure.claims.iter().filter(|_| entry.state == State::Done) {
        let verdict = claim.verdict(&entry.results);
        writeln!(out, "  {verdict}: {}", claim.text)?;
        if let Verdict::Holds(evidence) | Verdict::Fails(evidence) = &verdict {
            writeln!(out, "    {evidence}")?;
        }
    }
    out.flush()
}

fn refuse_if_too_large(entries: &[Entry], costs: &[Vec<Cost>]) -> Result<(), BenchError> {
    for (entry, costs) in entries.iter().zip(costs) {
        for &Cost { rows, bytes, engines, .. } in costs {
            let what =
                || format!("{}: {rows} rows under {engines} engines at once (--quick takes fewer)", entry.figure.id);
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
