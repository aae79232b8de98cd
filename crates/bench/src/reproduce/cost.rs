//! The time and the memory that a figure will take, estimated before it is run.

use super::plan::Plan;
use super::point_command::parse_rows;
use super::point_run::{databases, runs_on};
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

/// The cost of loading one set of rows, and of all runs on these rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// The number of rows that are loaded into each database.
    pub rows: u64,
    /// The bytes of all rows in all databases together.
    pub bytes: u64,
    /// The number of databases: one for each engine, and for each of its settings if it runs in a pool.
    pub databases: u64,
    /// The number of runs in one repetition.
    pub runs: u64,
    /// The factor by which the runs are longer than those of other figures.
    pub stretch: u32,
    /// The number of clients that connect over the network in one repetition; zero for runs without a network.
    pub clients: u64,
}

/// Estimates the cost of each set of rows of a figure.
pub(crate) fn costs(plan: &Plan) -> Result<Vec<Cost>, String> {
    /// Counts the rows of a set and the runs on them.
    struct OfRows<'a>(&'a Plan, &'a str);

    impl WithWorkload for OfRows<'_> {
        type Output = Result<Cost, String>;

        fn run<W: Workload>(self, _: &WorkloadOptions<W::Options>, _: Drivers<W>) -> Self::Output {
            let OfRows(plan, rows) = self;
            let runs = runs_on::<W>(plan, rows)?;
            // All points have the same rows.
            let first = runs.first().ok_or("a set of rows has no points")?;
            let databases = databases(&runs).len() as u64;
            let wires = runs.iter().map(|run| &run.options.wire).filter(|wire| wire.over_wire);
            Ok(Cost {
                rows: first.workload.rows(),
                bytes: needed_bytes(&first.workload).saturating_mul(databases),
                databases,
                runs: runs.len() as u64,
                stretch: plan.stretch,
                clients: wires.map(|wire| wire.clients() as u64).sum(),
            })
        }
    }

    plan.row_sets().into_iter().map(|rows| parse_rows(rows)?.with_workload(OfRows(plan, rows))).collect()
}

impl Cost {
    /// Estimates how long the load and all runs take.
    pub(crate) fn duration(&self, scale: &Scale) -> Duration {
        self.load(scale) + self.run(scale).mul_f64((self.runs * u64::from(scale.repetitions())) as f64)
    }

    /// Estimates how long the load takes.
    pub(crate) fn load(&self, scale: &Scale) -> Duration {
        match self.clients {
            0 => LOAD_ROW.mul_f64((self.rows * self.databases) as f64 / scale.cores.max(1) as f64),
            _ => COPY_ROW.mul_f64((self.rows * self.databases) as f64),
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
