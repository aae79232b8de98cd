//! The plan of a figure: what is run at each point, and how it is drawn.

use super::scale::Scale;
use crate::report::EngineReport;
use std::time::Duration;

/// The runs of a figure, and the way in which the figure is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub chart: Chart,
    /// The name of the values on the axis, with their unit.
    pub value: &'static str,
    /// The factor by which the figure's runs are longer than those of other figures.
    pub stretch: u32,
    pub panels: Vec<Panel>,
}

/// How the panels of a figure are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chart {
    /// A curve for each series over an axis with the title `x`. Points are in the order of the plan. The axis is
    /// logarithmic, but linear if a point is at zero.
    Curves { x: &'static str },
    /// Curves, where each panel has an axis with a title of its own.
    CurvesOver { x: &'static [&'static str] },
    /// A bar for each point, which stacks the values of all series.
    Bars { x: &'static str },
    /// Bars as [`Chart::Bars`], with the number of locks of a transaction beside each in place of the throughput.
    LockBars { x: &'static str },
    /// For each point a bar for each series, as long as the ratio of its value to that of the first series.
    Ratios { x: &'static str },
    /// A table with a column for each point and a row for each series. Values are shown with their distance from the
    /// first column.
    Table { x: &'static str },
}

impl Chart {
    /// Returns the title of the axis of a panel's points.
    pub(crate) fn x(self, panel: usize) -> &'static str {
        match self {
            Chart::Curves { x } | Chart::Bars { x } | Chart::LockBars { x } => x,
            Chart::Ratios { x } | Chart::Table { x } => x,
            Chart::CurvesOver { x } => x[panel],
        }
    }
}

/// One drawing of a figure.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// The panel's letter: that of the paper, if the paper has one.
    pub id: &'static str,
    pub title: String,
    /// The points from left to right, or from the top down.
    pub points: Vec<Point>,
    pub series: Vec<Series>,
}

/// A point, at which all series of a panel are measured.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// The place on the axis.
    pub x: f64,
    /// The label of the point on the axis.
    pub label: String,
    /// The workload of `hotrow bench`, and the options that decide which rows there are. Points with the same rows run
    /// on the same database.
    pub rows: String,
    /// The point's other options, which do not decide which rows there are.
    pub options: String,
}

impl Point {
    /// Makes a point at a whole number, which is also its label.
    pub(crate) fn at(x: u64, rows: &str, options: String) -> Self {
        Self { x: x as f64, label: x.to_string(), rows: rows.to_owned(), options }
    }
}

/// One of the things that a panel compares at each point: a curve, a part of each bar, or a row of a table.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub name: &'static str,
    /// The engine that is run for the series.
    pub engine: &'static str,
    /// The options that the series' runs have besides those of the point. Series of one engine with the same options
    /// share their runs.
    pub options: String,
    pub value: Value,
    /// Whether the series is there only to compare the others with.
    pub is_reference: bool,
}

impl Series {
    /// Makes a series of an engine's throughput.
    pub(crate) fn throughput(name: &'static str, engine: &'static str) -> Self {
        Self { name, engine, options: String::new(), value: Value::Throughput, is_reference: false }
    }

    /// Makes a series of one part of the breakdown of an engine's transactions.
    pub(crate) fn share(name: &'static str, engine: &'static str, part: &'static str) -> Self {
        Self { value: Value::Share(part), ..Self::throughput(name, engine) }
    }

    /// Makes a series of one part of the locks of an engine with a hierarchy of locks.
    pub(crate) fn locks(name: &'static str, engine: &'static str, part: &'static str) -> Self {
        Self { value: Value::LockShare(part), ..Self::throughput(name, engine) }
    }

    /// Makes a series of one part of the time of threads that execute an engine's transactions.
    pub(crate) fn thread_share(name: &'static str, engine: &'static str, part: &'static str) -> Self {
        Self { value: Value::ThreadShare(part), ..Self::throughput(name, engine) }
    }

    /// Makes a series of an engine's throughput in transactions of one kind, counted in `unit` transactions per second.
    pub(crate) fn kind(name: &'static str, engine: &'static str, kind: &'static str, unit: u32) -> Self {
        Self { value: Value::Kind { kind, unit }, ..Self::throughput(name, engine) }
    }

    /// Makes a series of an engine's throughput that is only there to compare the others with.
    pub(crate) fn reference(name: &'static str, engine: &'static str) -> Self {
        Self { is_reference: true, ..Self::throughput(name, engine) }
    }

    /// Returns the series with options of its own, which the options of a point must not contain.
    pub(crate) fn with(self, options: impl Into<String>) -> Self {
        Self { options: options.into(), ..self }
    }

    /// Returns the engine and the options that the series is measured with.
    pub(crate) fn contender(&self) -> Contender<'_> {
        Contender { engine: self.engine, options: &self.options }
    }
}

/// An engine that runs at each point of a panel, and the options that it has there besides those of the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contender<'a> {
    pub engine: &'static str,
    pub options: &'a str,
}

/// The value that a series takes from a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Thousand committed transactions per second.
    Throughput,
    /// Committed transactions of one kind per second, counted in `unit` transactions.
    Kind { kind: &'static str, unit: u32 },
    /// CPU time per committed transaction, in microseconds.
    Cpu,
    /// One part of the breakdown of the transactions' time, in per cent.
    Share(&'static str),
    /// One part of the locks in a hierarchy, in per cent of all locks or of the heritable ones.
    LockShare(&'static str),
    /// One part of the time of threads that execute transactions, in per cent.
    ThreadShare(&'static str),
}

impl Value {
    /// Returns the value for a run, from the run's report.
    pub(crate) fn of(self, report: &EngineReport) -> f64 {
        match self {
            Value::Throughput => report.throughput() / 1e3,
            Value::Kind { kind, unit } => report
                .transactions
                .kinds
                .iter()
                .filter(|other| other.kind == kind)
                .map(|other| other.throughput / f64::from(unit))
                .sum(),
            Value::Cpu => report.transactions.cpu_us_per_txn,
            Value::Share(part) => per_cent(&report.costs.breakdown, part),
            Value::ThreadShare(part) => per_cent(&report.costs.execution_threads, part),
            Value::LockShare(part) => per_cent(&report.costs.lock_shares, part),
        }
    }
}

/// Returns a part's share in per cent, or zero if there is no such part.
fn per_cent(shares: &serde_json::Map<String, serde_json::Value>, part: &str) -> f64 {
    shares.get(part).and_then(serde_json::Value::as_f64).unwrap_or(0.0) * 100.0
}

impl Panel {
    /// Returns the engines that are run at each point, each with its options, in the order of the series.
    pub(crate) fn contenders(&self) -> Vec<Contender<'_>> {
        let mut contenders = Vec::new();
        for contender in self.series.iter().map(Series::contender) {
            if !contenders.contains(&contender) {
                contenders.push(contender);
            }
        }
        contenders
    }

    /// Whether the panel shows parts of the time of transactions or threads, so that its runs need a breakdown.
    pub(crate) fn has_shares(&self) -> bool {
        self.series.iter().any(|series| matches!(series.value, Value::Share(_) | Value::ThreadShare(_)))
    }

    /// Returns the command lines that measure a point on its own: one for all engines that have the same options.
    pub(crate) fn commands(&self, point: &Point, plan: &Plan, scale: &Scale) -> Vec<String> {
        let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
        for Contender { engine, options } in self.contenders() {
            match commands.iter_mut().find(|(others, _)| *others == options) {
                Some((_, engines)) => engines.push(engine),
                None => commands.push((options, vec![engine])),
            }
        }
        let command = |(options, engines): (&str, Vec<&str>)| {
            let options = [point.rows.as_str(), point.options.as_str(), options];
            let options = options.into_iter().filter(|options| !options.is_empty());
            format!(
                "hotrow bench {} --engine {} --seconds {} --warmup {} --repetitions {}{}",
                options.collect::<Vec<_>>().join(" "),
                engines.join(","),
                plan.measured(scale).as_secs_f64(),
                scale.warmup().as_secs_f64(),
                scale.repetitions(),
                if self.has_shares() { " --breakdown" } else { "" }
            )
        };
        commands.into_iter().map(command).collect()
    }
}

impl Plan {
    /// Returns the length of a run's measured period.
    pub(crate) fn measured(&self, scale: &Scale) -> Duration {
        scale.measured() * self.stretch
    }

    /// Returns the number of runs in one repetition.
    pub(crate) fn runs(&self) -> usize {
        self.panels.iter().map(|panel| panel.points.len() * panel.contenders().len()).sum()
    }

    /// Returns the different sets of rows of all points, in the order of their first points.
    pub(crate) fn row_sets(&self) -> Vec<&str> {
        let mut sets: Vec<&str> = Vec::new();
        for point in self.panels.iter().flat_map(|panel| &panel.points) {
            if !sets.contains(&point.rows.as_str()) {
                sets.push(&point.rows);
            }
        }
        sets
    }
}
