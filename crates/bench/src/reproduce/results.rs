//! What was measured of a figure.

use super::figure::{Plan, Series, Value};
use crate::report::EngineReport;
use std::collections::BTreeMap;

/// The runs of a figure so far, and the plan that they follow.
#[derive(Debug)]
pub(crate) struct Results {
    pub plan: Plan,
    runs: BTreeMap<Place, Vec<EngineReport>>,
}

/// Panel, point and engine of a run, each by its number in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub panel: usize,
    pub point: usize,
    pub engine: usize,
}

/// Of the repetitions of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub repetitions: usize,
    /// Aborted attempts in per cent of all.
    pub abort_percent: f64,
}

/// Which point of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    First,
    Last,
    Number(usize),
}

impl Results {
    /// Nothing measured yet.
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan, runs: BTreeMap::new() }
    }

    /// Adds the next repetition of a place.
    pub(crate) fn push(&mut self, place: Place, report: EngineReport) {
        self.runs.entry(place).or_default().push(report);
    }

    /// Whether every point has a run.
    pub(crate) fn is_complete(&self) -> bool {
        self.runs.len() == self.plan.runs()
    }

    /// Whether there are no runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// All runs of a series at a point, in the order of their repetitions.
    pub(crate) fn runs(&self, panel: usize, point: usize, series: &Series) -> &[EngineReport] {
        let engines = self.plan.panels[panel].engines();
        let Some(engine) = engines.iter().position(|&engine| engine == series.engine) else { return &[] };
        self.runs.get(&Place { panel, point, engine }).map_or(&[], Vec::as_slice)
    }

    /// A series at a point, if it was measured there.
    pub(crate) fn summary(&self, panel: usize, point: usize, series: &Series) -> Option<Summary> {
        let runs = self.runs(panel, point, series);
        let values: Vec<_> = runs.iter().map(|run| series.value.of(run)).collect();
        let fold = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
        Some(Summary {
            median: median(&values)?,
            min: fold(f64::min)?,
            max: fold(f64::max)?,
            repetitions: runs.len(),
            abort_percent: median(&runs.iter().map(EngineReport::abort_percent).collect::<Vec<_>>())?,
        })
    }

    /// The median of a series at a point.
    pub(crate) fn median(&self, panel: &str, series: &str, at: At) -> Option<f64> {
        let (panel, point, series) = self.find(panel, series, at)?;
        self.summary(panel, point, series).map(|summary| summary.median)
    }

    /// The median share of aborted attempts, in per cent.
    pub(crate) fn aborts(&self, panel: &str, series: &str, at: At) -> Option<f64> {
        let (panel, point, series) = self.find(panel, series, at)?;
        self.summary(panel, point, series).map(|summary| summary.abort_percent)
    }

    /// The median of anything that a run tells.
    pub(crate) fn median_of(
        &self,
        panel: &str,
        series: &str,
        at: At,
        value: impl Fn(&EngineReport) -> f64,
    ) -> Option<f64> {
        let (panel, point, series) = self.find(panel, series, at)?;
        median(&self.runs(panel, point, series).iter().map(value).collect::<Vec<_>>())
    }

    /// How many times one series is another at a point: the median of the ratios within one repetition.
    pub(crate) fn ratio(&self, panel: &str, at: At, over: &str, under: &str) -> Option<f64> {
        let values = |name| {
            let (panel, point, series) = self.find(panel, name, at)?;
            let value: Value = series.value;
            Some(self.runs(panel, point, series).iter().map(move |run| value.of(run)))
        };
        let ratios = values(over)?.zip(values(under)?).map(|(over, under)| over / under.max(f64::MIN_POSITIVE));
        median(&ratios.collect::<Vec<_>>())
    }

    /// How many points a panel has.
    pub(crate) fn points(&self, panel: &str) -> usize {
        self.plan.panels.iter().find(|other| other.id == panel).map_or(0, |panel| panel.points.len())
    }

    /// What is written at a point.
    pub(crate) fn label(&self, panel: &str, at: At) -> &str {
        let panel = self.plan.panels.iter().find(|other| other.id == panel);
        panel.and_then(|panel| panel.points.get(at.index(panel.points.len())?)).map_or("", |point| &point.label)
    }

    fn find(&self, panel: &str, series: &str, at: At) -> Option<(usize, usize, &Series)> {
        let number = self.plan.panels.iter().position(|other| other.id == panel)?;
        let panel = &self.plan.panels[number];
        let series = panel.series.iter().find(|other| other.name == series)?;
        Some((number, at.index(panel.points.len())?, series))
    }
}

impl At {
    fn index(self, points: usize) -> Option<usize> {
        let index = match self {
            At::First => 0,
            At::Last => points.checked_sub(1)?,
            At::Number(number) => number,
        };
        (index < points).then_some(index)
    }
}

/// The middle value, or the lower of the two.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(values.len().checked_sub(1)? / 2).copied()
}
