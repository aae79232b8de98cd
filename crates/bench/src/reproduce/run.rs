//! The runs of a figure's points. A database is loaded once for all points that have the same rows; the engines take
//! turns.

use super::cost::{self, Cost};
use super::plan::Plan;
use super::point_command::parse_rows;
use super::point_run::{PointRun, databases, runs_on};
use super::results::Results;
use super::scale::Scale;
use crate::command::{Drivers, WithWorkload};
use crate::options::{RunOptions, WireOptions, WorkloadOptions};
use crate::report::{EngineReport, RunIdentity};
use crate::run::{LoadedDatabase, RunContext, RunFailure};
use hotrow_txn::Settings;
use hotrow_workloads::Workload;

/// An observer of a figure's runs while they are made.
pub(crate) trait RunObserver {
    /// Takes note that the rows of the next set are about to be loaded into all their databases, at this cost.
    fn loading(&mut self, cost: Cost);

    /// Takes note that a run of `engine` is about to begin, at the point with the name `point`.
    fn running(&mut self, point: &str, engine: &str);

    /// Takes note that every point of a set of rows has been measured once more.
    ///
    /// # Errors
    /// The message of an error that ends the figure.
    fn repeated(&mut self, results: &Results) -> Result<(), String>;
}

/// Makes all runs of the plan in `results`, and adds them there. The runs before an error or an interrupt stay in
/// `results`.
pub(crate) fn run(
    results: &mut Results,
    scale: &Scale,
    context: RunContext<'_>,
    observer: &mut dyn RunObserver,
) -> Result<(), RunFailure> {
    let plan = results.plan.clone();
    let costs = cost::costs(&plan).map_err(RunFailure::Failed)?;
    for (rows, cost) in plan.row_sets().into_iter().zip(costs) {
        observer.loading(cost);
        let command = parse_rows(rows).map_err(RunFailure::Failed)?;
        let run = RunRowSet { rows, plan: &plan, results, scale, context, observer };
        command.with_workload(run)?;
    }
    Ok(())
}

/// Runs all points that have the same rows, on databases that are loaded once.
struct RunRowSet<'a> {
    rows: &'a str,
    plan: &'a Plan,
    results: &'a mut Results,
    scale: &'a Scale,
    context: RunContext<'a>,
    observer: &'a mut dyn RunObserver,
}

impl WithWorkload for RunRowSet<'_> {
    type Output = Result<(), RunFailure>;

    fn run<W: Workload>(self, _: &WorkloadOptions<W::Options>, drivers: Drivers<W>) -> Self::Output {
        let runs = self.runs::<W>().map_err(RunFailure::Failed)?;
        let mut loaded_databases = Vec::new();
        for (run, settings) in databases(&runs) {
            let loading = loading(&run.options, runs.iter().map(|run| &run.options));
            let database = drivers.load(run.engine, &run.workload, &loading, &settings, self.context)?;
            loaded_databases.push(DatabaseOfEngine { engine: run.engine, settings, database });
        }
        let Self { results, scale, context, observer, .. } = self;
        for repetition in 1..=scale.repetitions() {
            for run in &runs {
                observer.running(&run.name, run.engine);
                let settings = run.settings(&runs);
                let loaded = loaded_databases.iter_mut().find(|loaded| loaded.is(run.engine, &settings));
                let loaded = loaded.expect("every run has its database");
                let identity = identity(run, repetition).map_err(RunFailure::Failed)?;
                let report = loaded.database.measure(&run.workload, &identity, context)?;
                let failure = report.has_failed().then(|| failure(run, &report));
                if !report.interrupted || failure.is_some() {
                    results.push(run.position, report);
                }
                match failure {
                    Some(failure) => return Err(failure),
                    None if context.interrupt.is_raised() => return Err(RunFailure::Interrupted),
                    None => {}
                }
            }
            observer.repeated(results).map_err(RunFailure::Failed)?;
        }
        Ok(())
    }
}

/// Returns the options for a load on which runs with these `options` are made: those of the `first` run on it, but with
/// the most clients of any run, for which a server is started.
fn loading<'o>(first: &RunOptions, options: impl Iterator<Item = &'o RunOptions>) -> RunOptions {
    let clients = options.filter(|options| options.wire.over_wire).map(|options| options.wire.clients() as u32).max();
    RunOptions { wire: WireOptions { clients, ..first.wire.clone() }, ..first.clone() }
}

impl RunRowSet<'_> {
    /// Returns the runs on this set of rows, with the lengths that they have at the scale.
    fn runs<W: Workload>(&self) -> Result<Vec<PointRun<W>>, String> {
        let mut runs = runs_on::<W>(self.plan, self.rows)?;
        for PointRun { options, has_shares, .. } in &mut runs {
            options.seconds = self.plan.measured(self.scale);
            options.warmup = self.scale.warmup();
            options.steps = self.scale.steps();
            options.report.breakdown = *has_shares;
        }
        Ok(runs)
    }
}

/// Returns the identity of a run in its repetition.
fn identity<W: Workload>(run: &PointRun<W>, repetition: u32) -> Result<RunIdentity<'_>, String> {
    let workload_options = serde_json::to_value(run.workload.options()).map_err(|error| error.to_string())?;
    let (engine, workload, kinds, options) = (run.engine, W::NAME, run.workload.kinds(), &run.options);
    Ok(RunIdentity { engine, workload, workload_options, kinds, options, repetition })
}

/// Returns the failure for a run whose consistency check failed.
fn failure<W>(run: &PointRun<W>, report: &EngineReport) -> RunFailure {
    RunFailure::Failed(format!("{} at {}: the consistency check {}", run.engine, run.name, report.consistency))
}

/// A database that one engine has loaded with the set of rows.
struct DatabaseOfEngine<W: Workload> {
    engine: &'static str,
    settings: Settings,
    database: Box<dyn LoadedDatabase<W>>,
}

impl<W: Workload> DatabaseOfEngine<W> {
    /// Whether the database belongs to this engine with these settings.
    fn is(&self, engine: &str, settings: &Settings) -> bool {
        (self.engine, &self.settings) == (engine, settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::point_command::parse_options;
    use hotrow_workloads::ycsb::Ycsb;

    #[test]
    fn servers_are_started_for_the_clients_of_all_points() {
        let options = |line: &str| parse_options::<Ycsb>("ycsb --over-wire", line).expect("the options are good").1;
        let points = ["--clients 4", "--clients 64", ""].map(options);
        let loading = loading(&points[0], points.iter());
        assert_eq!((loading.wire.clients, loading.wire.over_wire), (Some(64), true));
    }
}
