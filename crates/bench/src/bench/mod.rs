//! `hotrow bench`: a workload on one engine after the other, reported as a table, as JSON and as a drawing.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this one | the command from its options to its reports |
//! | `refuse.rs` | what the command line asks for and cannot have, refused before anything is run |
//! | `turns.rs` | which engine runs when, over all repetitions |
//!
//! An interrupt or a failed run ends the command early. What was measured until then is reported all the same, and the
//! error comes last.

mod refuse;
mod turns;

use crate::command::{BenchCommand, Drivers, WithWorkload};
use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::options::names::DEFAULT_ENGINE;
use crate::options::{By, RunOptions, WorkloadOptions};
use crate::report::{EngineReport, summarize};
use crate::run::BareLoop;
use crate::{plot, table};
use hotrow_txn::number_of;
use hotrow_workloads::Workload;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Runs a benchmark and prints its table on `out`. `interrupt` ends it early; the measurements until then are still
/// checked and reported.
///
/// # Errors
/// The options do not go together, which is found before anything is run; a run or its consistency check failed; or the
/// interrupt was raised.
pub fn bench(command: &BenchCommand, out: &mut dyn Write, interrupt: &Interrupt) -> Result<(), BenchError> {
    struct Bench<'a> {
        out: &'a mut dyn Write,
        interrupt: &'a Interrupt,
    }

    impl WithWorkload for Bench<'_> {
        type Output = Result<(), BenchError>;

        fn run<W: Workload>(self, options: &WorkloadOptions<W::Options>, drivers: Drivers<W>) -> Self::Output {
            bench_workload::<W>(options, drivers, self.out, self.interrupt)
        }
    }

    command.with_workload(Bench { out, interrupt })
}

/// Runs a benchmark of a workload whose type is known.
fn bench_workload<W: Workload>(
    options: &WorkloadOptions<W::Options>,
    drivers: Drivers<W>,
    out: &mut dyn Write,
    interrupt: &Interrupt,
) -> Result<(), BenchError> {
    let workload = W::new(options.workload.clone()).map_err(BenchError::Usage)?;
    let run = &mut options.run.clone();
    if !W::RUNS_ON_ENGINES {
        run.threads.get_or_insert(1);
    }
    refuse::refuse_kind_of_run(&workload, drivers, run)?;
    // The server of a URL is run as an engine is, under the name of its address.
    let urls: Vec<_> = run.wire.urls.iter().map(|url| url.name.clone()).collect();
    if run.engines.is_empty() && urls.is_empty() {
        run.engines = default_engines(&workload, drivers.bare);
    }
    refuse::refuse_engines(&workload, drivers.bare, run)?;
    run.engines.extend(urls);
    let run = &*run;
    refuse::refuse_options(&workload, run)?;
    // The files are opened before anything is run, so that a name that cannot be written costs no run.
    let json = run.report.json.as_deref().map(create).transpose()?;
    let svg = run.report.plot.as_deref().map(create).transpose()?;

    let title = format!("{}: {}", W::NAME, workload.summary());
    print_title(out, &title, run)?;
    let (turns, failure) = turns::take_turns(&workload, drivers, run, interrupt);
    if !turns.is_empty() {
        table::print(out, &summarize(&turns), run)?;
        out.flush()?;
    }
    if let Some((path, mut file)) = json {
        let reports: Vec<_> = turns.iter().flatten().collect();
        let written = serde_json::to_writer_pretty(&mut file, &reports).map_err(io::Error::from);
        written.and_then(|()| writeln!(file)).and_then(|()| file.flush()).map_err(|error| unwritable(path, &error))?;
    }
    if let Some((path, mut file)) = svg {
        let drawing = plot::draw(&title, &summarize(&turns)).map_err(BenchError::Failed)?;
        file.write_all(drawing.as_bytes()).and_then(|()| file.flush()).map_err(|error| unwritable(path, &error))?;
    }
    match failure {
        Some(failure) => Err(failure),
        None if interrupt.is_raised() => Err(BenchError::Interrupted),
        None => fail_if_inconsistent(&turns),
    }
}

/// Returns the names that are run if the command line gives none: the default engine, or, for a workload that only its
/// own loop runs, those names of the loop that can have the workload's options.
fn default_engines<W: Workload>(workload: &W, bare: Option<BareLoop<W>>) -> Vec<String> {
    match bare {
        Some(own) if !W::RUNS_ON_ENGINES => {
            let able = own.names.iter().filter(|name| (own.refuse)(name, workload.options()).is_ok());
            able.map(|name| (*name).to_owned()).collect()
        }
        _ => vec![DEFAULT_ENGINE.to_owned()],
    }
}

/// Prints the workload and how it is run, before the first run.
fn print_title(out: &mut dyn Write, title: &str, run: &RunOptions) -> io::Result<()> {
    let batch = if run.no_batch { "one by one" } else { "looked up together" };
    let threads = number_of(run.threads(), "thread");
    writeln!(out, "{title}")?;
    if run.wire.over_wire {
        let (clients, seconds) = (number_of(run.wire.clients(), "client"), run.seconds.as_secs_f64());
        let by = match (run.wire.by(), run.wire.pipeline()) {
            (By::Statements, _) => String::new(),
            (By::Call, 1) => ", by CALL".to_owned(),
            (By::Call, pipeline) => format!(", by CALL, {pipeline} under way on each connection"),
        };
        writeln!(out, "over the wire: {clients} on {threads}, {seconds} s, {}{by}", run.isolation)?;
        writeln!(out)?;
        return out.flush();
    }
    writeln!(out, "{threads}, {} s, {}, keys {batch}\n", run.seconds.as_secs_f64(), run.isolation)?;
    out.flush()
}

/// Fails if the consistency check of any run failed.
fn fail_if_inconsistent(turns: &[Vec<EngineReport>]) -> Result<(), BenchError> {
    let failed: Vec<_> = turns.iter().flatten().filter(|report| report.has_failed()).collect();
    match failed.first() {
        None => Ok(()),
        Some(first) => {
            Err(BenchError::Failed(format!("{}: the consistency check {}", first.engine(), first.consistency)))
        }
    }
}

fn create(path: &Path) -> Result<(&Path, BufWriter<File>), BenchError> {
    let file = File::create(path).map_err(|error| unwritable(path, &error))?;
    Ok((path, BufWriter::new(file)))
}

fn unwritable(path: &Path, error: &io::Error) -> BenchError {
    BenchError::Failed(format!("{} could not be written: {error}", path.display()))
}
