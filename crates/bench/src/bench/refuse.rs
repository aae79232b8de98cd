//! Refuses requests of the command line that cannot be met, before anything is run.
//!
//! Every refusal says which option or engine is at fault and what would be possible.

use crate::command::Drivers;
use crate::error::BenchError;
use crate::machine::{needed_bytes, refuse_if_too_large};
use crate::options::names::{BARE, DEFAULT_ENGINE, MANAGERS, durability_of, engine_of, execution_of, is_engine};
use crate::options::{AssignName, By, RunOptions, SchedulerName, UNDER_WAY_MAX};
use crate::run::BareLoop;
use hotrow_protocols::{ENGINES, open_with, refuse_unheeded};
use hotrow_txn::{EngineInfo, Setting, number_of};
use hotrow_workloads::Workload;
use hotrow_workloads::range::Range;
use hotrow_workloads::ycsb::Ycsb;
use std::path::{Path, PathBuf};

/// Refuses requests that runs of this kind, over the network or in this process, cannot meet.
pub(super) fn refuse_kind_of_run<W: Workload>(
    workload: &W,
    drivers: Drivers<W>,
    run: &RunOptions,
) -> Result<(), BenchError> {
    if run.wire.over_wire {
        return refuse_over_wire(drivers, run);
    }
    refuse_models(run)?;
    refuse_data(run)?;
    workload.refuse_threads(run.threads()).map_err(BenchError::Usage)
}

/// Refuses options that do not go together, or mean nothing to the workload and the engines, and tables that are larger
/// than this machine's memory.
pub(super) fn refuse_options<W: Workload>(workload: &W, run: &RunOptions) -> Result<(), BenchError> {
    refuse_unheeded_options::<W>(run)?;
    refuse_concurrency(run)?;
    refuse_assignment(workload, run)?;
    refuse_memory::<W>(run)?;
    refuse_one_file_for_two(run)?;
    let bytes = needed_bytes(workload);
    let rows = || format!("{} of about {} bytes", number_of(workload.rows(), "row"), bytes / workload.rows().max(1));
    refuse_if_too_large(bytes, rows)
}

/// Refuses a workload or an engine that does not run over the network, and options that mean nothing there.
fn refuse_over_wire<W: Workload>(drivers: Drivers<W>, run: &RunOptions) -> Result<(), BenchError> {
    if drivers.wire.is_none() {
        let what = format!("{} is not run over the wire: it is run in this process only, without --over-wire", W::NAME);
        return Err(BenchError::Usage(what));
    }
    if let Some(name) = run.engines.iter().find(|name| durability_of(name).is_some()) {
        return Err(BenchError::Usage(format!(
            "{name} is for runs in this process: expected {}, whose server keeps its data in memory",
            engine_of(name)
        )));
    }
    if run.wire.by() == By::Call && !drivers.has_procedure {
        let message = format!("{} has no procedure that could be called: expected --by statements", W::NAME);
        return Err(BenchError::Usage(message));
    }
    refuse_pipeline(run)?;
    let isolates = |name: &str| ENGINES.iter().any(|info| info.name == engine_of(name) && info.isolates);
    match run.engines.iter().find(|name| !isolates(name)) {
        Some(name) => Err(BenchError::Usage(format!(
            "{name} does not isolate transactions and has no server: with --over-wire, --engine takes others"
        ))),
        None => refuse_wire_options(run),
    }
}

/// Refuses a pipeline of transactions of several statements, because the transactions of a connection would be in one
/// transaction block. Also refuses more than [`UNDER_WAY_MAX`] transactions under way, because the clients need memory
/// for each.
fn refuse_pipeline(run: &RunOptions) -> Result<(), BenchError> {
    let (clients, pipeline) = (run.wire.clients(), run.wire.pipeline());
    if pipeline > 1 && run.wire.by() != By::Call {
        let message = format!("--pipeline {pipeline} is for transactions of one statement: expected --by call with it");
        return Err(BenchError::Usage(message));
    }
    if clients * pipeline > UNDER_WAY_MAX {
        let message = format!(
            "--clients {clients} with --pipeline {pipeline} are {} transactions under way: expected at most \
             {UNDER_WAY_MAX}",
            clients * pipeline
        );
        return Err(BenchError::Usage(message));
    }
    Ok(())
}

/// Refuses options that mean nothing to clients on the network.
fn refuse_wire_options(run: &RunOptions) -> Result<(), BenchError> {
    let given = [
        ("--scheduler", run.placement.scheduler.is_some()),
        ("--spin-us", run.placement.spin_us.is_some()),
        ("--assign by-type", run.placement.assign == AssignName::ByType),
        ("--blocked-limit", run.engine_options.blocked_limit.is_some()),
        ("--engine-partitions", run.engine_options.engine_partitions.is_some()),
        ("--cc-threads", run.engine_options.cc_threads.is_some()),
        ("--escalate-after", run.engine_options.escalate_after.is_some()),
        ("--hot-percent", run.engine_options.hot_percent.is_some()),
        ("--momentum", run.engine_options.momentum.is_some()),
        ("--deadlock-time-outs", run.engine_options.deadlock_time_outs),
        ("--lock-as-it-goes", run.engine_options.lock_as_it_goes),
        ("--network-delay-us", run.engine_options.network_delay_us > 0),
        ("--concurrency", run.concurrency.is_some()),
        ("--no-batch", run.no_batch),
        ("--data", run.data.is_some()),
        ("--memory", run.report.memory),
    ];
    if let Some((option, _)) = given.into_iter().find(|&(_, is_given)| is_given) {
        let message =
            format!("{option} means nothing with --over-wire; what a server has of its own is a --serve-option");
        return Err(BenchError::Usage(message));
    }
    if run.report.breakdown && !run.wire.urls.is_empty() {
        let message =
            "--breakdown is of servers of engines, which count their times: of one at a --url they are not known";
        return Err(BenchError::Usage(message.to_owned()));
    }
    let names = run.wire.urls.iter().map(|url| &url.name);
    match names.clone().enumerate().find(|&(at, name)| names.clone().take(at).any(|other| other == name)) {
        Some((_, name)) => Err(BenchError::Usage(format!("--url {name} is given twice: expected different servers"))),
        None => Ok(()),
    }
}

/// Refuses names with an execution model, ENGINE:MODEL, in runs in this process, because only a server has one.
fn refuse_models(run: &RunOptions) -> Result<(), BenchError> {
    match run.engines.iter().find(|name| execution_of(name).is_some()) {
        Some(name) => Err(BenchError::Usage(format!(
            "{name} is a server with an execution model: expected --over-wire, or {}",
            engine_of(name)
        ))),
        None => Ok(()),
    }
}

/// Refuses a log for anything but an engine, an engine with a log if there is no `--data` folder for it, and a `--data`
/// folder if no engine has a log.
fn refuse_data(run: &RunOptions) -> Result<(), BenchError> {
    let logged = run.engines.iter().find(|name| durability_of(name).is_some());
    let what = match (logged, &run.data) {
        (Some(name), _) if !is_engine(engine_of(name)) => format!("{name}: only an engine can have a log"),
        (Some(name), None) => format!("{name} has a log: expected --data DIR, a folder for it"),
        (None, Some(_)) => {
            let name = run.engines.first().map_or(DEFAULT_ENGINE, String::as_str);
            format!("--data means nothing to an engine without a log: expected {name}@sync, {name}@async or {name}@off")
        }
        _ => return Ok(()),
    };
    Err(BenchError::Usage(what))
}

/// Refuses engines that cannot have the settings or the workload's tables.
pub(super) fn refuse_engines<W: Workload>(
    workload: &W,
    bare: Option<BareLoop<W>>,
    run: &RunOptions,
) -> Result<(), BenchError> {
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
        for (names, workload) in [(&[BARE][..], Ycsb::NAME), (&MANAGERS, Range::NAME)] {
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

/// Refuses options for settings that none of the engines has. The managers of range locks are no engines, but have the
/// limit on blocked transactions.
fn refuse_unheeded_options<W: Workload>(run: &RunOptions) -> Result<(), BenchError> {
    let given = [
        ("--engine-partitions", Setting::Partitions, run.engine_options.engine_partitions.is_some()),
        ("--blocked-limit", Setting::BlockedLimit, run.engine_options.blocked_limit.is_some() && W::RUNS_ON_ENGINES),
        ("--cc-threads", Setting::CcThreads, run.engine_options.cc_threads.is_some()),
        ("--escalate-after", Setting::Escalation, run.engine_options.escalate_after.is_some()),
        ("--hot-percent", Setting::HotPercent, run.engine_options.hot_percent.is_some()),
        ("--momentum", Setting::Momentum, run.engine_options.momentum.is_some()),
        ("--deadlock-time-outs", Setting::DeadlockTimeOuts, run.engine_options.deadlock_time_outs),
        ("--lock-as-it-goes", Setting::LockAsItGoes, run.engine_options.lock_as_it_goes),
        ("--network-delay-us", Setting::NetworkDelay, run.engine_options.network_delay_us > 0),
    ];
    let names: Vec<_> = run.engines.iter().map(|name| engine_of(name)).collect();
    for (option, setting, _) in given.into_iter().filter(|&(_, _, is_given)| is_given) {
        let in_pool = |info: &EngineInfo| run.scheduler_of(info.name) == SchedulerName::Pool;
        refuse_unheeded(option, setting, &names, in_pool).map_err(|error| BenchError::Usage(error.to_string()))?;
    }
    Ok(())
}

/// Refuses a choice between optimistic and pessimistic transactions if none of the engines has it.
fn refuse_concurrency(run: &RunOptions) -> Result<(), BenchError> {
    let Some(concurrency) = run.concurrency else { return Ok(()) };
    let able: Vec<_> = ENGINES.iter().filter(|info| info.concurrency.is_some()).map(|info| info.name).collect();
    if run.engines.iter().any(|name| able.contains(&engine_of(name))) {
        return Ok(());
    }
    let (given, expected) = (run.engines.join(", "), able.join(", "));
    Err(BenchError::Usage(format!(
        "--concurrency {} means nothing to engine {given}: expected one of {expected}",
        concurrency.name()
    )))
}

/// Refuses to assign transactions to threads by type if there are no types to tell apart, or no threads to choose from.
fn refuse_assignment<W: Workload>(workload: &W, run: &RunOptions) -> Result<(), BenchError> {
    if run.placement.assign != AssignName::ByType {
        return Ok(());
    }
    let why = match workload.types() {
        None => format!("to {}, whose transactions are of one type: expected tatp, tpcc or bimodal", W::NAME),
        Some(types) if types.groups().len() < 2 => {
            format!("to this mix of {}, whose transactions are of one group: expected a mix of several", W::NAME)
        }
        Some(_) if run.threads() < 2 => "with one thread: expected --threads 2 or more".to_owned(),
        Some(_) => return Ok(()),
    };
    Err(BenchError::Usage(format!("--assign by-type means nothing {why}")))
}

/// Refuses to measure the tables of a workload that has none.
fn refuse_memory<W: Workload>(run: &RunOptions) -> Result<(), BenchError> {
    if run.report.memory && !W::RUNS_ON_ENGINES {
        return Err(BenchError::Usage(format!("--memory means nothing to {}, which has no tables", W::NAME)));
    }
    Ok(())
}

/// Refuses to write the runs and the drawing into one file, even under two names.
fn refuse_one_file_for_two(run: &RunOptions) -> Result<(), BenchError> {
    match (&run.report.json, &run.report.plot) {
        (Some(json), Some(plot)) if resolved(json) == resolved(plot) => Err(BenchError::Usage(format!(
            "--json {} and --plot {} are one file: expected two",
            json.display(),
            plot.display()
        ))),
        _ => Ok(()),
    }
}

/// Returns the path without links and detours. Parts of it that do not exist stay as they are.
fn resolved(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(in_folder).unwrap_or_else(|| path.to_owned())
}
