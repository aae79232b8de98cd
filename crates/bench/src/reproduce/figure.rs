//! What a figure is: declared here, and run, drawn and judged by the rest of this folder.

use super::claim::Claim;
use super::scale::Scale;
use crate::report::EngineReport;
use std::time::Duration;

/// A paper whose figures are reproduced.
#[derive(Debug)]
pub(crate) struct Paper {
    /// The name by which users choose all of its figures.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
}

/// A figure of a paper, as it can be measured here.
#[derive(Debug)]
pub(crate) struct Figure {
    /// The name by which users choose it.
    pub id: &'static str,
    /// Where it is from.
    pub paper: &'static Paper,
    /// Number and section in the paper.
    pub place: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// What the paper measured, and on what.
    pub there: &'static str,
    /// What is measured here, and what is different.
    pub here: &'static str,
    /// Its points.
    pub plan: fn(&Scale) -> Plan,
    /// What the paper reads from it.
    pub claims: &'static [Claim],
}

/// What is run for a figure, and how it is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub chart: Chart,
    /// What the values are, with their unit.
    pub value: &'static str,
    /// How many times as long as elsewhere its runs are measured.
    pub stretch: u32,
    pub panels: Vec<Panel>,
}

/// How the panels of a figure are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chart {
    /// A curve for each series over an axis of this title, points in the order of the plan. It is logarithmic, but linear
    /// if a point is at zero.
    Curves { x: &'static str },
    /// The same, with an axis of its own for each panel.
    CurvesOver { x: &'static [&'static str] },
    /// A bar for each point, the series stacked in it.
    Bars { x: &'static str },
    /// A column for each point, a row for each series, and how far they are from the first column.
    Table { x: &'static str },
}

impl Chart {
    /// What the points of a panel are.
    pub(crate) fn x(self, panel: usize) -> &'static str {
        match self {
            Chart::Curves { x } | Chart::Bars { x } | Chart::Table { x } => x,
            Chart::CurvesOver { x } => x[panel],
        }
    }
}

/// One of a figure's drawings.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// A letter, as in the paper where there is one.
    pub id: &'static str,
    pub title: String,
    /// From left to right, or from the top down.
    pub points: Vec<Point>,
    pub series: Vec<Series>,
}

/// What all series of a panel are measured at.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// Its place on the axis.
    pub x: f64,
    /// What is written there.
    pub label: String,
    /// Workload of `hotrow bench`, and those of its options that decide which rows there are. Points with the same rows
    /// run on the same database.
    pub rows: String,
    /// The other options.
    pub options: String,
}

impl Point {
    /// A point at a whole number.
    pub(crate) fn at(x: u64, rows: &str, options: String) -> Self {
        Self { x: x as f64, label: x.to_string(), rows: rows.to_owned(), options }
    }
}

/// What is compared at each point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Series {
    pub name: &'static str,
    /// The engine that is run for it. Series of one engine share its runs.
    pub engine: &'static str,
    pub value: Value,
    /// Whether it is there to compare the others with.
    pub is_reference: bool,
}

impl Series {
    /// The throughput of an engine.
    pub(crate) const fn throughput(name: &'static str, engine: &'static str) -> Self {
        Self { name, engine, value: Value::Throughput, is_reference: false }
    }

    /// The throughput of an engine in transactions of one kind, so many at a time.
    pub(crate) const fn kind(name: &'static str, engine: &'static str, kind: &'static str, unit: u32) -> Self {
        Self { value: Value::Kind { kind, unit }, ..Self::throughput(name, engine) }
    }

    /// The throughput of an engine to compare the others with.
    pub(crate) const fn reference(name: &'static str, engine: &'static str) -> Self {
        Self { is_reference: true, ..Self::throughput(name, engine) }
    }
}

/// What is taken of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Thousand committed transactions per second.
    Throughput,
    /// Committed transactions of this kind per second, so many at a time.
    Kind { kind: &'static str, unit: u32 },
    /// CPU time of a worker for each committed transaction, in microseconds.
    Cpu,
    /// This part of the breakdown of the transactions' time, in per cent.
    Share(&'static str),
}

impl Value {
    /// Takes it.
    pub(crate) fn of(self, report: &EngineReport) -> f64 {
        match self {
            Value::Throughput => report.throughput / 1e3,
            Value::Kind { kind, unit } => report
                .kinds
                .iter()
                .filter(|other| other.kind == kind)
                .map(|other| other.throughput / f64::from(unit))
                .sum(),
            Value::Cpu => report.cpu_us_per_txn,
            Value::Share(part) => report.breakdown.get(part).and_then(serde_json::Value::as_f64).unwrap_or(0.0) * 100.0,
        }
    }
}

impl Panel {
    /// The engines that are run at each point, in the order of the series.
    pub(crate) fn engines(&self) -> Vec<&'static str> {
        let mut engines = Vec::new();
        for series in &self.series {
            if !engines.contains(&series.engine) {
                engines.push(series.engine);
            }
        }
        engines
    }

    /// Whether it shows where time goes.
    pub(crate) fn has_shares(&self) -> bool {
        self.series.iter().any(|series| matches!(series.value, Value::Share(_)))
    }

    /// The command that measures a point on its own.
    pub(crate) fn command(&self, point: &Point, plan: &Plan, scale: &Scale) -> String {
        format!(
            "hotrow bench {} {} --engine {} --seconds {} --warmup {} --repetitions {}{}",
            point.rows,
            point.options,
            self.engines().join(","),
            plan.measured(scale).as_secs_f64(),
            scale.warmup().as_secs_f64(),
            scale.repetitions(),
            if self.has_shares() { " --breakdown" } else { "" }
        )
    }
}

impl Plan {
    /// Length of a run's measured period.
    pub(crate) fn measured(&self, scale: &Scale) -> Duration {
        scale.measured() * self.stretch
    }

    /// How many runs there are in one repetition.
    pub(crate) fn runs(&self) -> usize {
        self.panels.iter().map(|panel| panel.points.len() * panel.engines().len()).sum()
    }

    /// The different sets of rows, in the order of their first points.
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
