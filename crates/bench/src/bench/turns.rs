//! The order in which engines run: the engines take turns, so that a drift of the machine affects all of them.

use crate::command::Drivers;
use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::machine::Host;
use crate::options::RunOptions;
use crate::report::{EngineReport, RunIdentity};
use crate::run::{Progress, RunContext, RunFailure};
use hotrow_workloads::Workload;

/// Runs every engine once in each turn. Returns the reports of each turn, and the error that ended them early if there
/// was one.
pub(super) fn take_turns<W: Workload>(
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
            let context = RunContext { host: &host, progress: &progress, interrupt };
            let loaded = drivers.load(engine, workload, options, &options.settings(workload), context);
            match loaded.and_then(|mut database| database.measure(workload, &identity, context)) {
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

/// Drops turns in which no engine was run.
fn without_empty(mut turns: Vec<Vec<EngineReport>>) -> Vec<Vec<EngineReport>> {
    turns.retain(|turn| !turn.is_empty());
    turns
}
