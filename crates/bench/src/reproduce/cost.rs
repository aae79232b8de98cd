//! What a figure costs before it is run: time and memory.

use super::figure::{Panel, Plan, Point};
use super::run::{engines, parse_options, parse_rows};
use super::scale::Scale;
use crate::engine_run::Drivers;
use crate::options::WithWorkload;
use crate::{WorkloadOptions, memory};
use hotrow_workloads::Workload;
use std::time::Duration;

/// Loading a row takes about so long on one core.
const LOAD_ROW: Duration = Duration::from_nanos(1500);
/// Looking at a row after a run.
const CHECK_ROW: Duration = Duration::from_nanos(150);
/// Over the wire, loading a row, on one core of the server's and one of the client's.
const COPY_ROW: Duration = Duration::from_nanos(4000);
/// Connecting a client, which prepares its statements.
const CONNECT: Duration = Duration::from_micros(400);
/// Starting and ending a run.
const RUN: Duration = Duration::from_millis(10);

/// One set of rows and the runs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Rows under one engine.
    pub rows: u64,
    /// Bytes under all engines together.
    pub bytes: u64,
    pub engines: u64,
    /// Runs of one repetition.
    pub runs: u64,
    /// How many times as long as elsewhere they are.
    pub stretch: u32,
    /// Clients on the network that connect in one repetition; without any, there is no network.
    pub clients: u64,
}

/// What each set of rows of a figure costs.
pub(crate) fn costs(plan: &Plan) -> Result<Vec<Cost>, String> {
    /// Of a point: all with its rows are alike.
    struct Rows<'a>(&'a Point);

    impl WithWorkload for Rows<'_> {
        type Output = Result<(u64, u64), String>;

        fn run<W: Workload>(self, _: &WorkloadOptions<W::Options>, _: Drivers<W>) -> Self::Output {
            let (workload, _) = parse_options::<W>(&self.0.rows, &self.0.options)?;
            Ok((workload.rows(), memory::needed_bytes(&workload)))
        }
    }

    /// Clients of a point on the network.
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
        let engines = engines(plan, set).len() as u64;
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

impl Cost {
    /// How long the load and all runs will take, about.
    pub(crate) fn duration(&self, scale: &Scale) -> Duration {
        self.load(scale) + self.run(scale).mul_f64((self.runs * u64::from(scale.repetitions())) as f64)
    }

    /// How long loading takes, about.
    pub(crate) fn load(&self, scale: &Scale) -> Duration {
        match self.clients {
            0 => LOAD_ROW.mul_f64((self.rows * self.engines) as f64 / scale.cores.max(1) as f64),
            _ => COPY_ROW.mul_f64((self.rows * self.engines) as f64),
        }
    }

    /// How long one run takes with its check, about.
    pub(crate) fn run(&self, scale: &Scale) -> Duration {
        let run =
            if scale.steps().is_some() { Duration::ZERO } else { scale.warmup() + scale.measured() * self.stretch };
        let connect = CONNECT.mul_f64(self.clients as f64 / self.runs.max(1) as f64);
        run + RUN + connect + CHECK_ROW.mul_f64(self.rows as f64)
    }
}
