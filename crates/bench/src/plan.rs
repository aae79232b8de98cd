//! Which engine runs when, over all repetitions, and what becomes of the reports.

use crate::engine_run::{self, BareLoop, Drivers, RunFailure, Tools};
use crate::host::Host;
use crate::options::{DEFAULT_ENGINE, WithWorkload};
use crate::progress::Progress;
use crate::report::{EngineReport, RunIdentity};
use crate::table::{self, summarize};
use crate::wire::engine_of;
use crate::{BenchCommand, Interrupt, RunOptions, SchedulerName, WorkloadOptions, bare, memory, plot, range, wire};
use hotrow_protocols::{ENGINES, open_with, refuse_unheeded};
use hotrow_txn::{EngineInfo, Setting, number_of};
use hotrow_workloads::Workload;
use hotrow_workloads::range::Range;
use hotrow_workloads::ycsb::Ycsb;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Why a benchmark did not end well.
#[derive(Debug)]
pub enum BenchError {
    /// The command line asked for what cannot be; says what can.
    Usage(String),
    /// A run, its check or its report failed.
    Failed(String),
    /// The interrupt was raised. What was measured before has been reported.
    Interrupted,
    /// The table could not be written.
    Output(io::Error),
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Usage(what) | BenchError::Failed(what) => f.write_str(what),
            BenchError::Interrupted => f.write_str("interrupted"),
            BenchError::Output(error) => write!(f, "the report could not be written: {error}"),
        }
    }
}

impl std::error::Error for BenchError {}

impl From<io::Error> for BenchError {
    fn from(error: io::Error) -> Self {
        BenchError::Output(error)
    }
}

/// Runs a benchmark and prints its table on `out`. `interrupt` ends it early; what was measured until then is still
/// checked and reported.
///
/// # Errors
/// A wrong combination of options, before anything is run; a run that failed or whose check did; the interrupt.
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
    if run.wire.over_wire {
        refuse_over_wire(drivers, run)?;
    } else {
        refuse_models(run)?;
        workload.refuse_threads(run.threads()).map_err(BenchError::Usage)?;
    }
    // What a URL leads to is run as an engine is, under the name of the place.
    let urls: Vec<_> = run.wire.urls.iter().map(|url| url.name.clone()).collect();
    if run.engines.is_empty() && urls.is_empty() {
        run.engines = default_engines(&workload, drivers.bare);
    }
    refuse_engines(&workload, drivers.bare, run)?;
    run.engines.extend(urls);
    let run = &*run;
    refuse_unheeded_options::<W>(run)?;
    refuse_concurrency(run)?;
    refuse_memory::<W>(run)?;
    refuse_one_file_for_two(run)?;
    let bytes = memory::needed_bytes(&workload);
    let rows = || format!("{} of about {} bytes", number_of(workload.rows(), "row"), bytes / workload.rows().max(1));
    memory::refuse_if_too_large(bytes, rows)?;
    // Opened before anything is run: a name that cannot be written is better known now.
    let json = run.json.as_deref().map(create).transpose()?;
    let svg = run.plot.as_deref().map(create).transpose()?;

    let title = format!("{}: {}", W::NAME, workload.summary());
    print_title(out, &title, run)?;
    let (turns, failure) = take_turns(&workload, drivers, run, interrupt);
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

/// Refuses what cannot be run over the network, or means nothing there.
fn refuse_over_wire<W: Workload>(drivers: Drivers<W>, run: &RunOptions) -> Result<(), BenchError> {
    if drivers.wire.is_none() {
        let what = format!("{} is not run over the wire: it is run in this process only, without --over-wire", W::NAME);
        return Err(BenchError::Usage(what));
    }
    let isolates = |name: &str| ENGINES.iter().any(|info| info.name == engine_of(name) && info.isolates);
    match run.engines.iter().find(|name| !isolates(name)) {
        Some(name) => Err(BenchError::Usage(format!(
            "{name} does not isolate transactions and has no server: with --over-wire, --engine takes others"
        ))),
        None => wire::refuse_options(run),
    }
}

/// Refuses execution models where there is no server that could have one.
fn refuse_models(run: &RunOptions) -> Result<(), BenchError> {
    match run.engines.iter().find(|name| engine_of(name) != name.as_str()) {
        Some(name) => Err(BenchError::Usage(format!(
            "{name} is a server with an execution model: expected --over-wire, or {}",
            engine_of(name)
        ))),
        None => Ok(()),
    }
}

/// What is run if the command line names nothing: one engine, or whatever of the workload's own can have its options.
fn default_engines<W: Workload>(workload: &W, bare: Option<BareLoop<W>>) -> Vec<String> {
    match bare {
        Some(own) if !W::RUNS_ON_ENGINES => {
            let able = own.names.iter().filter(|name| (own.refuse)(name, workload.options()).is_ok());
            able.map(|name| (*name).to_owned()).collect()
        }
        _ => vec![DEFAULT_ENGINE.to_owned()],
    }
}

/// Refuses engines that cannot have the settings or the workload's tables.
fn refuse_engines<W: Workload>(workload: &W, bare: Option<BareLoop<W>>, run: &RunOptions) -> Result<(), BenchError> {
    let settings = run.settings(workload);
    for name in &run.engines {
        if let Some(bare) = bare.filter(|bare| bare.named(name).is_some()) {
            (bare.refuse)(name, workload.options()).map_err(BenchError::Usage)?;
            continue;
        }
        if let Some(own) = bare.filter(|_| !W::RUNS_ON_ENGINES) {
            let message = format!("{} is not run by engine {name}: --manager {}", W::NAME, own.names.join(","));
            return Err(BenchError::Usage(message));
        }
        for (names, workload) in [(&[bare::NAME][..], Ycsb::NAME), (&range::MANAGERS, Range::NAME)] {
            if names.contains(&name.as_str()) {
                let message = format!("{name} runs {workload} only, not {}", W::NAME);
                return Err(BenchError::Usage(message));
            }
        }
        let refusal = |why: String| BenchError::Usage(format!("engine {name} does not run {}: {why}", W::NAME));
        let engine = open_with(engine_of(name), &settings).map_err(|error| refusal(error.to_string()))?;
        for schema in workload.schemas() {
            engine.admits(&schema).map_err(|why| refusal(format!("table {}: {why}", schema.name)))?;
        }
    }
    Ok(())
}

/// Refuses options that mean nothing to any of the engines that are run. Managers of range locks have a limit on blocked
/// transactions.
fn refuse_unheeded_options<W: Workload>(run: &RunOptions) -> Result<(), BenchError> {
    let given = [
        ("--engine-partitions", Setting::Partitions, run.engine_partitions.is_some()),
        ("--blocked-limit", Setting::BlockedLimit, run.blocked_limit.is_some() && W::RUNS_ON_ENGINES),
        ("--deadlock-time-outs", Setting::DeadlockTimeOuts, run.deadlock_time_outs),
        ("--lock-as-it-goes", Setting::LockAsItGoes, run.lock_as_it_goes),
        ("--network-delay-us", Setting::NetworkDelay, run.network_delay_us > 0),
    ];
    let names: Vec<_> = run.engines.iter().map(String::as_str).collect();
    for (option, setting, _) in given.into_iter().filter(|&(_, _, is_given)| is_given) {
        let in_pool = |info: &EngineInfo| run.scheduler_of(info.name) == SchedulerName::Pool;
        refuse_unheeded(option, setting, &names, in_pool).map_err(|error| BenchError::Usage(error.to_string()))?;
    }
    Ok(())
}

/// Refuses to let transactions be optimistic or pessimistic under engines none of which has the choice.
fn refuse_concurrency(run: &RunOptions) -> Result<(), BenchError> {
    let Some(concurrency) = run.concurrency else { return Ok(()) };
    let able: Vec<_> = ENGINES.iter().filter(|info| info.concurrency.is_some()).map(|info| info.name).collect();
    if run.engines.iter().any(|name| able.contains(&name.as_str())) {
        return Ok(());
    }
    let (given, expected) = (run.engines.join(", "), able.join(", "));
    Err(BenchError::Usage(format!(
        "--concurrency {} means nothing to engine {given}: expected one of {expected}",
        concurrency.name()
    )))
}

/// Refuses to look at the tables of a workload that has none.
fn refuse_memory<W: Workload>(run: &RunOptions) -> Result<(), BenchError> {
    if run.memory && !W::RUNS_ON_ENGINES {
        return Err(BenchError::Usage(format!("--memory means nothing to {}, which has no tables", W::NAME)));
    }
    Ok(())
}

/// Refuses to write the runs and the drawing into one file, by whatever names.
fn refuse_one_file_for_two(run: &RunOptions) -> Result<(), BenchError> {
    match (&run.json, &run.plot) {
        (Some(json), Some(plot)) if resolved(json) == resolved(plot) => Err(BenchError::Usage(format!(
            "--json {} and --plot {} are one file: expected two",
            json.display(),
            plot.display()
        ))),
        _ => Ok(()),
    }
}

/// The path without links and detours, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(in_folder).unwrap_or_else(|| path.to_owned())
}

/// Runs every engine once a turn: the reports of each turn, and what ended them early.
fn take_turns<W: Workload>(
    workload: &W,
    drivers: Drivers<W>,
    options: &RunOptions,
    interrupt: &Interrupt,
) -> (Vec<Vec<EngineReport>>, Option<BenchError>) {
    let host = Host::detect();
    let mut progress = Progress::new();
    let mut turns = Vec::new();
    let total = options.engines.len() * options.repetitions as usize;
    let workload_options = match serde_json::to_value(workload.options()) {
        Ok(value) => value,
        Err(error) => return (turns, Some(BenchError::Failed(error.to_string()))),
    };
    for repetition in 1..=options.repetitions {
        turns.push(Vec::new());
        for (position, engine) in options.engines.iter().enumerate() {
            let turn = turns.len() - 1;
            progress.begin_run(turn * options.engines.len() + position + 1, total, engine);
            let workload_options = workload_options.clone();
            let identity = RunIdentity {
                engine,
                workload: W::NAME,
                workload_options,
                kinds: workload.kinds(),
                options,
                repetition,
            };
            let tools = Tools { host: &host, progress: &progress, interrupt };
            let bed = engine_run::load(engine, workload, drivers, options, &options.settings(workload), tools);
            match bed.and_then(|mut bed| bed.measure(workload, &identity, tools)) {
                Ok(report) => turns[turn].push(report),
                Err(RunFailure::Interrupted) => {}
                Err(RunFailure::Failed(what)) => {
                    return (without_empty(turns), Some(BenchError::Failed(format!("{engine}: {what}"))));
                }
            }
            if interrupt.is_raised() {
                return (without_empty(turns), Some(BenchError::Interrupted));
            }
        }
    }
    (turns, None)
}

fn without_empty(mut turns: Vec<Vec<EngineReport>>) -> Vec<Vec<EngineReport>> {
    turns.retain(|turn| !turn.is_empty());
    turns
}

fn print_title(out: &mut dyn Write, title: &str, run: &RunOptions) -> io::Result<()> {
    let batch = if run.no_batch { "one by one" } else { "looked up together" };
    let threads = number_of(run.threads(), "thread");
    writeln!(out, "{title}")?;
    if run.wire.over_wire {
        let (clients, seconds) = (number_of(run.wire.clients(), "client"), run.seconds.as_secs_f64());
        writeln!(out, "over the wire: {clients} on {threads}, {seconds} s, {}", run.isolation)?;
        writeln!(out)?;
        return out.flush();
    }
    writeln!(out, "{threads}, {} s, {}, keys {batch}\n", run.seconds.as_secs_f64(), run.isolation)?;
    out.flush()
}

fn fail_if_inconsistent(turns: &[Vec<EngineReport>]) -> Result<(), BenchError> {
    let failed: Vec<_> = turns.iter().flatten().filter(|report| report.has_failed()).collect();
    match failed.first() {
        None => Ok(()),
        Some(first) => {
            Err(BenchError::Failed(format!("{}: the consistency check {}", first.engine, first.consistency)))
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
