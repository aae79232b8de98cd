//! Runs a figure's points: databases loaded once for all points that have the same rows, engines taking turns.

use super::cost::{self, Cost};
use super::figure::{Panel, Plan};
use super::results::{Place, Results};
use super::scale::Scale;
use crate::engine_run::{self, Bed, Drivers, RunFailure, Tools};
use crate::options::WithWorkload;
use crate::report::{EngineReport, RunIdentity};
use crate::{BenchCommand, RunOptions, WireOptions, WorkloadOptions};
use clap::Parser;
use hotrow_protocols::ENGINES;
use hotrow_txn::{EngineInfo, Scheduler, Settings};
use hotrow_workloads::Workload;

/// Who hears of a figure's runs while they are made.
pub(crate) trait Observer {
    /// The rows of the next set are about to be loaded under all its engines.
    fn loading(&mut self, cost: Cost);

    /// A run is about to begin, at a point with this name.
    fn running(&mut self, point: &str, engine: &str);

    /// Every point of a set of rows has one more repetition.
    ///
    /// # Errors
    /// What went wrong and ends the figure.
    fn repeated(&mut self, results: &Results) -> Result<(), String>;
}

/// Runs all of the plan in `results`, to the end or until something ends it early. What was measured until then stays.
pub(crate) fn run(
    results: &mut Results,
    scale: &Scale,
    tools: Tools<'_>,
    observer: &mut dyn Observer,
) -> Result<(), RunFailure> {
    let plan = results.plan.clone();
    let costs = cost::costs(&plan).map_err(RunFailure::Failed)?;
    for (rows, cost) in plan.row_sets().into_iter().zip(costs) {
        observer.loading(cost);
        let command = parse_rows(rows).map_err(RunFailure::Failed)?;
        let run = RunRowSet { rows, plan: &plan, results, scale, tools, observer };
        command.with_workload(run)?;
    }
    Ok(())
}

/// The words of a command that name a workload and its rows.
pub(super) fn parse_rows(rows: &str) -> Result<BenchCommand, String> {
    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        #[command(subcommand)]
        workload: BenchCommand,
    }

    let line = Line::try_parse_from(rows.split_whitespace()).map_err(|error| error.to_string())?;
    Ok(line.workload)
}

/// The workload of a point, whose type is known, and how it is run.
pub(super) fn parse_options<W: Workload>(rows: &str, options: &str) -> Result<(W, RunOptions), String> {
    #[derive(Parser)]
    struct Line<O: clap::Args> {
        #[command(flatten)]
        options: WorkloadOptions<O>,
    }

    let words = rows.split_whitespace().chain(options.split_whitespace());
    let line = Line::<W::Options>::try_parse_from(words).map_err(|error| error.to_string())?;
    Ok((W::new(line.options.workload)?, line.options.run))
}

/// The engines that some point with these rows is run on.
pub(super) fn engines(plan: &Plan, rows: &str) -> Vec<&'static str> {
    let has_them = |panel: &&Panel| panel.points.iter().any(|point| point.rows == rows);
    let mut engines: Vec<_> = plan.panels.iter().filter(has_them).flat_map(Panel::engines).collect();
    engines.sort_unstable();
    engines.dedup();
    engines
}

/// Runs the points with the same rows.
struct RunRowSet<'a> {
    rows: &'a str,
    plan: &'a Plan,
    results: &'a mut Results,
    scale: &'a Scale,
    tools: Tools<'a>,
    observer: &'a mut dyn Observer,
}

impl WithWorkload for RunRowSet<'_> {
    type Output = Result<(), RunFailure>;

    fn run<W: Workload>(self, _: &WorkloadOptions<W::Options>, drivers: Drivers<W>) -> Self::Output {
        let jobs = self.jobs::<W>().map_err(RunFailure::Failed)?;
        // All of them have the same rows.
        let Some(first) = jobs.first() else { return Ok(()) };
        let loading = loading(&first.options, jobs.iter().map(|job| &job.options));
        let mut beds = Vec::new();
        for engine in engines(self.plan, self.rows) {
            for settings in
                jobs.iter().filter(|job| job.engines.contains(&engine)).map(|job| job.settings(engine, first))
            {
                if !beds.iter().any(|bed: &Made<W>| bed.is(engine, &settings)) {
                    let bed = engine_run::load(engine, &first.workload, drivers, &loading, &settings, self.tools)?;
                    beds.push(Made { engine, settings, bed });
                }
            }
        }
        let Self { results, scale, tools, observer, .. } = self;
        for repetition in 1..=scale.repetitions() {
            for job in &jobs {
                for (number, engine) in job.engines.iter().enumerate() {
                    observer.running(&job.name, engine);
                    let settings = job.settings(engine, first);
                    let made = beds.iter_mut().find(|made| made.is(engine, &settings));
                    let made = made.expect("every engine of the row set has its database");
                    let identity = job.identity(engine, repetition).map_err(RunFailure::Failed)?;
                    let report = made.bed.measure(&job.workload, &identity, tools)?;
                    let failure = report.has_failed().then(|| failure(engine, job, &report));
                    if !report.interrupted || failure.is_some() {
                        results.push(Place { engine: number, ..job.place }, report);
                    }
                    match failure {
                        Some(failure) => return Err(failure),
                        None if tools.interrupt.is_raised() => return Err(RunFailure::Interrupted),
                        None => {}
                    }
                }
            }
            observer.repeated(results).map_err(RunFailure::Failed)?;
        }
        Ok(())
    }
}

/// The options with which the rows are loaded of points that are measured with `options`: servers are started for all of their clients.
fn loading<'o>(first: &RunOptions, options: impl Iterator<Item = &'o RunOptions>) -> RunOptions {
    let clients = options.filter(|options| options.wire.over_wire).map(|options| options.wire.clients() as u32).max();
    RunOptions { wire: WireOptions { clients, ..first.wire.clone() }, ..first.clone() }
}

impl RunRowSet<'_> {
    fn jobs<W: Workload>(&self) -> Result<Vec<Job<W>>, String> {
        let mut jobs = Vec::new();
        for (panel_number, panel) in self.plan.panels.iter().enumerate() {
            for (point_number, point) in panel.points.iter().enumerate().filter(|(_, point)| point.rows == self.rows) {
                let (workload, mut options) = parse_options::<W>(&point.rows, &point.options)?;
                options.seconds = self.plan.measured(self.scale);
                options.warmup = self.scale.warmup();
                options.steps = self.scale.steps();
                options.breakdown = panel.has_shares();
                jobs.push(Job {
                    name: format!("({}) {}", panel.id, point.label),
                    place: Place { panel: panel_number, point: point_number, engine: 0 },
                    engines: panel.engines(),
                    workload,
                    options,
                });
            }
        }
        Ok(jobs)
    }
}

fn failure<W>(engine: &str, job: &Job<W>, report: &EngineReport) -> RunFailure {
    RunFailure::Failed(format!("{engine} at {}: the consistency check {}", job.name, report.consistency))
}

/// A database with the rows, under one engine.
struct Made<W: Workload> {
    engine: &'static str,
    settings: Settings,
    bed: Box<dyn Bed<W>>,
}

impl<W: Workload> Made<W> {
    fn is(&self, engine: &str, settings: &Settings) -> bool {
        (self.engine, &self.settings) == (engine, settings)
    }
}

/// A point, ready to run.
struct Job<W> {
    name: String,
    place: Place,
    engines: Vec<&'static str>,
    workload: W,
    options: RunOptions,
}

impl<W: Workload> Job<W> {
    /// What is set of an engine for this point. To all but engines in a pool they mean nothing, so that all points
    /// share a database, made as the first one says.
    fn settings(&self, engine: &str, first: &Job<W>) -> Settings {
        let depends = |info: &EngineInfo| info.name == engine && info.scheduler != Scheduler::Thread;
        let job = if ENGINES.iter().any(depends) { self } else { first };
        job.options.settings(&job.workload)
    }

    fn identity<'a>(&'a self, engine: &'a str, repetition: u32) -> Result<RunIdentity<'a>, String> {
        let workload_options = serde_json::to_value(self.workload.options()).map_err(|error| error.to_string())?;
        let (workload, kinds, options) = (W::NAME, self.workload.kinds(), &self.options);
        Ok(RunIdentity { engine, workload, workload_options, kinds, options, repetition })
    }
}

/// Whether every point of a plan is a command that can be run.
#[cfg(test)]
pub(super) fn check_points(plan: &Plan) -> Result<(), String> {
    struct Check<'a>(&'a Plan, &'a str);

    impl WithWorkload for Check<'_> {
        type Output = Result<(), String>;

        fn run<W: Workload>(self, _: &WorkloadOptions<W::Options>, _: Drivers<W>) -> Self::Output {
            let Check(plan, rows) = self;
            let points = plan.panels.iter().flat_map(|panel| &panel.points).filter(|point| point.rows == rows);
            for point in points {
                parse_options::<W>(rows, &point.options).map_err(|error| format!("{} {error}", point.label))?;
            }
            Ok(())
        }
    }

    for rows in plan.row_sets() {
        parse_rows(rows)?.with_workload(Check(plan, rows))?;
    }
    Ok(())
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
