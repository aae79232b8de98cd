//! The time and the memory that a figure will take, estimated before it is run.

use super::plan::{Panel, Plan, Point};
use super::point_command::{parse_options, parse_rows};
use super::scale::Scale;
use crate::command::{Drivers, WithWorkload};
use crate::machine::needed_bytes;
use crate::options::WorkloadOptions;
use hotrow_workloads::Workload;
use std::time::Duration;

/// The time to load a row, on one core.
const LOAD_ROW: Duration = Duration::from_nanos(1500);
/// The time to check a row after a run.
const CHECK_ROW: Duration = Duration::from_nanos(150);
/// The time to load a row over the network, on one core of the server's and one of the client's.
const COPY_ROW: Duration = Duration::from_nanos(4000);
/// The time to connect a client, which prepares its statements.
const CONNECT: Duration = Duration::from_micros(400);
/// The time to start and to end a run.
const RUN: Duration = Duration::from_millis(10);

/// The cost of one set of rows and the runs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// The number of rows under one engine.
    pub rows: u64,
    /// The bytes of all rows under all engines together.
    pub bytes: u64,
    pub engines: u64,
    /// The number of runs in one repetition.
    pub runs: u64,
    /// The factor by which the runs are longer than those of other figures.
    pub stretch: u32,
    /// The number of clients that connect over the network in one repetition; zero for runs without a network.
    pub clients: u64,
}

/// Estimates the cost of each set of rows of a figure.
pub(crate) fn costs(plan: &Plan) -> Result<Vec<Cost>, String> {
    /// Counts the rows of a point and their bytes, which are the same for all points of the set.
    struct Rows<'a>(&'a Point);

    impl WithWorkload for Rows<'_> {
        type Output = Result<(u64, u64), String>;

        fn run<W: Workload>(self, _: &WorkloadOptions<W::Options>, _: Drivers<W>) -> Self::Output {
            let (workload, _) = parse_options::<W>(&self.0.rows, &self.0.options)?;
            Ok((workload.rows(), needed_bytes(&workload)))
        }
    }

    /// Counts the clients of a point on the network.
    struct Clients<'a>(&'a Point);

    impl WithWorkload for Clients<'_> {
        type Output = Result<u64, String>;

        fn run<W: Workload>(self, _: &WorkloadOptions<W::Options>, _: Drivers<W>) -> Self::Output {
            let (_, options) = parse_options::<W>(&self.0.rows, &self.0.options)?;
            Ok(if options.wire.over_wire { options.wire.clients() as u64 } else { 0 })
        }
    }

    let cost = |set: &str| {
        let mut points = plan.panels.iter().flat_map(|panel| &panel.points);
        let first = points.find(|point| point.rows == set).ok_or("a set of rows has no points")?;
        let (rows, bytes) = parse_rows(set)?.with_workload(Rows(first))?;
        let engines = engines_on(plan, set).len() as u64;
        let of_panel =
            |panel: &Panel| panel.points.iter().filter(|point| point.rows == set).count() * panel.engines().len();
        let runs = plan.panels.iter().map(of_panel).sum::<usize>() as u64;
        let mut clients = 0;
        for panel in &plan.panels {
            for point in panel.points.iter().filter(|point| point.rows == set) {
                clients += parse_rows(set)?.with_workload(Clients(point))? * panel.engines().len() as u64;
            }
        }
        Ok(Cost { rows, bytes: bytes.saturating_mul(engines), engines, runs, stretch: plan.stretch, clients })
    };
    plan.row_sets().into_iter().map(cost).collect()
}

/// Returns the engines that run on the database with these rows, each once.
pub(super) fn engines_on(plan: &Plan, rows: &str) -> Vec<&'static str> {
    let has_them = |panel: &&Panel| panel.points.iter().any(|point| point.rows == rows);
    let mut engines: Vec<_> = plan.panels.iter().filter(has_them).flat_map(Panel::engines).collect();
    engines.sort_unstable();
    engines.dedup();
    engines
}

impl Cost {
    /// Estimates how long the load and all runs take.
    pub(crate) fn duration(&self, scale: &Scale) -> Duration {
        self.load(scale) + self.run(scale).mul_f64((self.runs * u64::from(scale.repetitions())) as f64)
    }

    /// Estimates how long the load takes.
    pub(crate) fn load(&self, scale: &Scale) -> Duration {
        match self.clients {
            0 => LOAD_ROW.mul_f64((self.rows * self.engines) as f64 / scale.cores.max(1) as f64),
            _ => COPY_ROW.mul_f64((self.rows * self.engines) as f64),
        }
    }

    /// Estimates how long one run takes with its check.
    pub(crate) fn run(&self, scale: &Scale) -> Duration {
        let run =
            if scale.steps().is_some() { Duration::ZERO } else { scale.warmup() + scale.measured() * self.stretch };
        let connect = CONNECT.mul_f64(self.clients as f64 / self.runs.max(1) as f64);
        run + RUN + connect + CHECK_ROW.mul_f64(self.rows as f64)
    }
}
