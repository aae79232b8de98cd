//! The runs of a figure's points. A database is loaded once for all points that have the same rows; the engines take
//! turns.

use super::cost::{self, Cost, engines_on};
use super::plan::Plan;
use super::point_command::{parse_options, parse_rows};
use super::results::{Results, RunPosition};
use super::scale::Scale;
use crate::command::{Drivers, WithWorkload};
use crate::options::{RunOptions, WireOptions, WorkloadOptions};
use crate::report::{EngineReport, RunIdentity};
use crate::run::{LoadedDatabase, RunContext, RunFailure};
use hotrow_protocols::ENGINES;
use hotrow_txn::{EngineInfo, Scheduler, Settings};
use hotrow_workloads::Workload;

/// An observer of a figure's runs while they are made.
pub(crate) trait RunObserver {
    /// The rows of the next set are about to be loaded under all its engines.
    fn loading(&mut self, cost: Cost);

    /// A run is about to begin, at a point with this name.
    fn running(&mut self, point: &str, engine: &str);

    /// Every point of a set of rows has one more repetition.
    ///
    /// # Errors
    /// The message of an error that ends the figure.
    fn repeated(&mut self, results: &Results) -> Result<(), String>;
}

/// Runs the plan in `results` to its end. What was measured before an error stays in `results`.
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
        let runs = self.point_runs::<W>().map_err(RunFailure::Failed)?;
        // All points have the same rows.
        let Some(first) = runs.first() else { return Ok(()) };
        let loading = loading(&first.options, runs.iter().map(|run| &run.options));
        let mut databases = Vec::new();
        for engine in engines_on(self.plan, self.rows) {
            for settings in
                runs.iter().filter(|run| run.engines.contains(&engine)).map(|run| run.settings(engine, first))
            {
                if !databases.iter().any(|loaded: &DatabaseOfEngine<W>| loaded.is(engine, &settings)) {
                    let database = drivers.load(engine, &first.workload, &loading, &settings, self.context)?;
                    databases.push(DatabaseOfEngine { engine, settings, database });
                }
            }
        }
        let Self { results, scale, context, observer, .. } = self;
        for repetition in 1..=scale.repetitions() {
            for run in &runs {
                for (number, engine) in run.engines.iter().enumerate() {
                    observer.running(&run.name, engine);
                    let settings = run.settings(engine, first);
                    let loaded = databases.iter_mut().find(|loaded| loaded.is(engine, &settings));
                    let loaded = loaded.expect("every engine of the row set has its database");
                    let identity = run.identity(engine, repetition).map_err(RunFailure::Failed)?;
                    let report = loaded.database.measure(&run.workload, &identity, context)?;
                    let failure = report.has_failed().then(|| failure(engine, run, &report));
                    if !report.interrupted || failure.is_some() {
                        results.push(RunPosition { engine: number, ..run.position }, report);
                    }
                    match failure {
                        Some(failure) => return Err(failure),
                        None if context.interrupt.is_raised() => return Err(RunFailure::Interrupted),
                        None => {}
                    }
                }
            }
            observer.repeated(results).map_err(RunFailure::Failed)?;
        }
        Ok(())
    }
}

/// Returns the options for a load on which the points with these `options` run: those of the `first` point, but with
/// the most clients of any point, for which a server is started.
fn loading<'o>(first: &RunOptions, options: impl Iterator<Item = &'o RunOptions>) -> RunOptions {
    let clients = options.filter(|options| options.wire.over_wire).map(|options| options.wire.clients() as u32).max();
    RunOptions { wire: WireOptions { clients, ..first.wire.clone() }, ..first.clone() }
}

impl RunRowSet<'_> {
    /// Returns the points of this set of rows, ready to run.
    fn point_runs<W: Workload>(&self) -> Result<Vec<PointRun<W>>, String> {
        let mut runs = Vec::new();
        for (panel_number, panel) in self.plan.panels.iter().enumerate() {
            for (point_number, point) in panel.points.iter().enumerate().filter(|(_, point)| point.rows == self.rows) {
                let (workload, mut options) = parse_options::<W>(&point.rows, &point.options)?;
                options.seconds = self.plan.measured(self.scale);
                options.warmup = self.scale.warmup();
                options.steps = self.scale.steps();
                options.report.breakdown = panel.has_shares();
                runs.push(PointRun {
                    name: format!("({}) {}", panel.id, point.label),
                    position: RunPosition { panel: panel_number, point: point_number, engine: 0 },
                    engines: panel.engines(),
                    workload,
                    options,
                });
            }
        }
        Ok(runs)
    }
}

/// Returns the failure for a run whose consistency check failed.
fn failure<W>(engine: &str, run: &PointRun<W>, report: &EngineReport) -> RunFailure {
    RunFailure::Failed(format!("{engine} at {}: the consistency check {}", run.name, report.consistency))
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

/// A point, ready to run.
struct PointRun<W> {
    name: String,
    position: RunPosition,
    engines: Vec<&'static str>,
    workload: W,
    options: RunOptions,
}

impl<W: Workload> PointRun<W> {
    /// Returns the settings of an engine at this point. If the engine runs in a pool they are those of the point; all
    /// points share one database of any other engine, with the settings of the first point.
    fn settings(&self, engine: &str, first: &PointRun<W>) -> Settings {
        let depends = |info: &EngineInfo| info.name == engine && info.scheduler != Scheduler::Thread;
        let run = if ENGINES.iter().any(depends) { self } else { first };
        run.options.settings(&run.workload)
    }

    fn identity<'a>(&'a self, engine: &'a str, repetition: u32) -> Result<RunIdentity<'a>, String> {
        let workload_options = serde_json::to_value(self.workload.options()).map_err(|error| error.to_string())?;
        let (workload, kinds, options) = (W::NAME, self.workload.kinds(), &self.options);
        Ok(RunIdentity { engine, workload, workload_options, kinds, options, repetition })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_workloads::ycsb::Ycsb;

    #[test]
    fn servers_are_started_for_the_clients_of_all_points() {
        let options = |line: &str| parse_options::<Ycsb>("ycsb --over-wire", line).expect("the options are good").1;
        let points = ["--clients 4", "--clients 64", ""].map(options);
        let loading = loading(&points[0], points.iter());
        assert_eq!((loading.wire.clients, loading.wire.over_wire), (Some(64), true));
    }
}
