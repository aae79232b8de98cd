//! The command `hotrow engines`, which lists the engines.

use super::Failure;
use hotrow_txn::{EngineInfo, Isolation, Scheduler};
use serde_json::{Value, json};
use std::io::{self, Write};

/// The options of `hotrow engines`.
#[derive(clap::Args)]
pub struct Options {
    /// Print a JSON array with an object for each engine
    #[arg(long)]
    json: bool,
}

/// Runs `hotrow engines`: prints the name, levels, needs and source of every engine on `out`.
pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let engines = hotrow_protocols::ENGINES;
    let printed = if options.json { print_json(engines, out) } else { print_table(engines, out) };
    printed.map_err(Failure::Output)
}

fn print_json(engines: &[EngineInfo], out: &mut dyn Write) -> io::Result<()> {
    let list: Vec<Value> = engines.iter().map(object).collect();
    writeln!(out, "{:#}", Value::Array(list))
}

fn object(engine: &EngineInfo) -> Value {
    json!({
        "name": engine.name,
        "summary": engine.summary,
        "source": engine.source,
        "needs_accesses": engine.capabilities.needs_accesses,
        "scheduler": engine.scheduler.name(),
        "keeps_partitions": engine.keeps_partitions(),
        "isolates": engine.isolates,
        "isolation": engine.isolation.iter().map(|level| level.name()).collect::<Vec<_>>(),
    })
}

/// Prints a few lines for each engine, within 80 columns: what it does, how it runs, and its source.
fn print_table(engines: &[EngineInfo], out: &mut dyn Write) -> io::Result<()> {
    for engine in engines {
        writeln!(out, "{:<19}{}", engine.name, engine.summary)?;
        writeln!(out, "{:<19}{}; {}", "", levels(engine), needs(engine))?;
        writeln!(out, "{:<19}{}", "", scheduler(engine))?;
        if !["", "none"].contains(&engine.source) {
            writeln!(out, "{:<19}from {}", "", engine.source)?;
        }
    }
    Ok(())
}

fn levels(engine: &EngineInfo) -> String {
    match engine.isolation {
        _ if !engine.isolates => "no isolation, for benchmarks only".to_owned(),
        [] => "no isolation level".to_owned(),
        levels => levels.iter().copied().map(Isolation::name).collect::<Vec<_>>().join(", "),
    }
}

fn scheduler(engine: &EngineInfo) -> &'static str {
    match engine.scheduler {
        Scheduler::Thread => "one transaction at a time on each thread",
        Scheduler::Planned => "several transactions on each thread of a pool",
        Scheduler::Partition => "several transactions on each thread, which owns a partition",
        Scheduler::Roles => {
            "several transactions on each execution thread of a pool; other threads do concurrency control"
        }
    }
}

fn needs(engine: &EngineInfo) -> &'static str {
    if engine.capabilities.needs_accesses { "needs the access set first" } else { "needs no access set" }
}
