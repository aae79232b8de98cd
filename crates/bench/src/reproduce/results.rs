//! The results of a figure: its runs so far, and the values that drawings and claims take from them.

use super::plan::{Plan, Series, Value};
use super::scale::Scale;
use crate::report::EngineReport;
use std::collections::BTreeMap;

/// The runs of a figure so far, and the plan that they follow.
#[derive(Debug)]
pub(crate) struct Results {
    pub plan: Plan,
    /// The number of cores of the machine.
    cores: u64,
    runs: BTreeMap<RunPosition, Vec<EngineReport>>,
}

/// The position of a run in the plan: the numbers of its panel, point and contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunPosition {
    pub panel: usize,
    pub point: usize,
    pub contender: usize,
}

/// The values of a series over the repetitions of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub repetitions: usize,
    /// Aborted attempts in per cent of all attempts.
    pub abort_percent: f64,
}

/// A point of a panel, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    First,
    Last,
    Number(usize),
}

impl Results {
    /// Makes the results of a plan at a scale, of which nothing is measured yet.
    pub(crate) fn new(plan: Plan, scale: &Scale) -> Self {
        Self { plan, cores: scale.cores, runs: BTreeMap::new() }
    }

    /// Returns the number of cores of the machine on which the plan is measured.
    pub(crate) fn cores(&self) -> u64 {
        self.cores
    }

    /// Adds a run as the next repetition at a position.
    pub(crate) fn push(&mut self, position: RunPosition, report: EngineReport) {
        self.runs.entry(position).or_default().push(report);
    }

    /// Whether every contender has a run at every point.
    pub(crate) fn is_complete(&self) -> bool {
        self.runs.len() == self.plan.runs()
    }

    /// Whether there are no runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns all runs of a series at a point, in the order of their repetitions.
    pub(crate) fn runs(&self, panel: usize, point: usize, series: &Series) -> &[EngineReport] {
        let contenders = self.plan.panels[panel].contenders();
        let Some(contender) = contenders.iter().position(|&other| other == series.contender()) else { return &[] };
        self.runs.get(&RunPosition { panel, point, contender }).map_or(&[], Vec::as_slice)
    }

    /// Returns the values of a series at a point, or `None` if the series was not measured there. The median is the
    /// value of the run whose throughput is the median, so that parts of a whole are all of one run. For a series of
    /// one kind of transactions it is the run whose throughput in this kind is the median.
    pub(crate) fn summary(&self, panel: usize, point: usize, series: &Series) -> Option<Summary> {
        let mut runs: Vec<_> = self.runs(panel, point, series).iter().collect();
        let place = |run: &EngineReport| match series.value {
            Value::Kind { .. } => series.value.of(run),
            Value::Throughput | Value::Cpu | Value::Share(_) | Value::LockShare(_) | Value::ThreadShare(_) => {
                run.throughput()
            }
        };
        runs.sort_by(|a, b| place(a).total_cmp(&place(b)));
        let middle = runs.get(runs.len().checked_sub(1)? / 2)?;
        let values = || runs.iter().map(|run| series.value.of(run));
        Some(Summary {
            median: series.value.of(middle),
            min: values().fold(f64::INFINITY, f64::min),
            max: values().fold(f64::NEG_INFINITY, f64::max),
            repetitions: runs.len(),
            abort_percent: middle.abort_percent(),
        })
    }

    /// Returns the median of a series at a point, or `None` if there is no such series or point or it was not measured.
    pub(crate) fn median(&self, panel: &str, series: &str, at: At) -> Option<f64> {
        let (panel, point, series) = self.find(panel, series, at)?;
        self.summary(panel, point, series).map(|summary| summary.median)
    }

    /// Returns the aborted attempts of the median run of a series at a point, in per cent of all attempts.
    pub(crate) fn aborts(&self, panel: &str, series: &str, at: At) -> Option<f64> {
        let (panel, point, series) = self.find(panel, series, at)?;
        self.summary(panel, point, series).map(|summary| summary.abort_percent)
    }

    /// Returns the median of the values that `value` takes from each run of a series at a point.
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

    /// Returns the ratio of the series `over` to the series `under` at a point: the median of the ratios within one
    /// repetition.
    pub(crate) fn ratio(&self, panel: &str, at: At, over: &str, under: &str) -> Option<f64> {
        let values = |name| {
            let (panel, point, series) = self.find(panel, name, at)?;
            let value: Value = series.value;
            Some(self.runs(panel, point, series).iter().map(move |run| value.of(run)))
        };
        let ratios = values(over)?.zip(values(under)?).map(|(over, under)| over / under.max(f64::MIN_POSITIVE));
        median(&ratios.collect::<Vec<_>>())
    }

    /// Returns the number of points of a panel.
    pub(crate) fn points(&self, panel: &str) -> usize {
        self.plan.panels.iter().find(|other| other.id == panel).map_or(0, |panel| panel.points.len())
    }

    /// Returns the title of the axis of a panel's points.
    pub(crate) fn x(&self, panel: &str) -> &'static str {
        let number = self.plan.panels.iter().position(|other| other.id == panel);
        number.map_or("", |number| self.plan.chart.x(number))
    }

    /// Returns the point of a panel that is at the place `x` on the axis, or `None` if there is none.
    pub(crate) fn point_at(&self, panel: &str, x: f64) -> Option<At> {
        let panel = self.plan.panels.iter().find(|other| other.id == panel)?;
        panel.points.iter().position(|point| point.x == x).map(At::Number)
    }

    /// Returns the label of a point.
    pub(crate) fn label(&self, panel: &str, at: At) -> &str {
        let panel = self.plan.panels.iter().find(|other| other.id == panel);
        panel.and_then(|panel| panel.points.get(at.index(panel.points.len())?)).map_or("", |point| &point.label)
    }

    /// Returns the number of all runs, and the number of those in which an engine that promises no isolation lost
    /// updates.
    pub(crate) fn checked(&self) -> (usize, usize) {
        let runs = || self.runs.values().flatten();
        (runs().count(), runs().filter(|run| run.is_unisolated()).count())
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

/// Returns the middle value, or the lower of the two middle values, or `None` if there are no values.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(values.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::report::{KindReport, tests::report};
    use crate::reproduce::figure::Figure;
    use crate::reproduce::figures::FIGURES;
    use crate::reproduce::plan::Value;
    use crate::reproduce::scale::{Scale, Size};
    use serde_json::json;

    /// A scale at which figures have few points.
    pub(crate) const QUICK: Scale = Scale { size: Size::Quick, cores: 2 };

    /// A point of a series, for which a test makes up the value.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct MadeUpPoint<'a> {
        pub panel: &'a str,
        pub series: &'a str,
        /// The label of the point.
        pub label: &'a str,
        /// From zero at the first point to one at the last.
        pub way: f64,
        pub repetition: usize,
    }

    /// Returns a complete figure with made-up values, three repetitions of each point.
    pub(crate) fn made_up(figure: &Figure, value: impl Fn(MadeUpPoint<'_>) -> f64) -> Results {
        let mut results = Results::new((figure.plan)(&QUICK), &QUICK);
        for (panel_number, panel) in results.plan.clone().panels.iter().enumerate() {
            for (point, at) in panel.points.iter().enumerate() {
                for (number, contender) in panel.contenders().into_iter().enumerate() {
                    for repetition in 0..3 {
                        let mut made = report(contender.engine, 1000.0, "ok");
                        for series in panel.series.iter().filter(|series| series.contender() == contender) {
                            let way = point as f64 / (panel.points.len() - 1).max(1) as f64;
                            let (panel, label) = (panel.id, at.label.as_str());
                            let value = value(MadeUpPoint { panel, series: series.name, label, way, repetition });
                            match series.value {
                                Value::Throughput => made.transactions.throughput = value * 1e3,
                                Value::Kind { kind, unit } => {
                                    let throughput = value * f64::from(unit);
                                    made.transactions.kinds.push(KindReport {
                                        kind,
                                        committed: 1,
                                        throughput,
                                        success: 1.0,
                                    });
                                }
                                Value::Cpu => made.transactions.cpu_us_per_txn = value,
                                Value::ThreadShare(part) => {
                                    made.costs.execution_threads.insert(part.to_owned(), json!(value / 100.0));
                                }
                                Value::Share(part) => {
                                    // Of transactions that take 100 µs.
                                    made.costs.breakdown.insert(part.to_owned(), json!(value / 100.0));
                                    made.costs.breakdown_us.insert(part.to_owned(), json!(value));
                                }
                                Value::LockShare(part) => {
                                    made.costs.lock_shares.insert(part.to_owned(), serde_json::json!(value / 100.0));
                                }
                            }
                        }
                        results.push(RunPosition { panel: panel_number, point, contender: number }, made);
                    }
                }
            }
        }
        results
    }

    /// Changes all made-up runs of a series, which are those of the contender in all its panels.
    pub(crate) fn change_runs(results: &mut Results, series: &str, change: impl Fn(&mut EngineReport)) {
        for (position, runs) in &mut results.runs {
            let panel = &results.plan.panels[position.panel];
            let contender = panel.contenders()[position.contender];
            if panel.series.iter().any(|other| other.name == series && other.contender() == contender) {
                runs.iter_mut().for_each(&change);
            }
        }
    }

    #[test]
    fn medians_are_over_repetitions_and_ratios_within_them() {
        let figure = FIGURES[0];
        let names: Vec<_> = (figure.plan)(&QUICK).panels[0].series.iter().map(|series| series.name).collect();
        let results = made_up(figure, |made| {
            let drift = [1.0, 4.0, 2.0][made.repetition];
            if made.series == names[0] { 10.0 * drift } else { 5.0 * drift + made.repetition as f64 }
        });
        let series = results.plan.panels[0].series[0].clone();
        let summary = results.summary(0, 0, &series).expect("it was measured");
        assert_eq!((summary.median, summary.min, summary.max, summary.repetitions), (20.0, 10.0, 40.0, 3));
        // 10/5, 40/21, 20/12
        let ratio = results.ratio("a", At::Last, names[0], names[1]).expect("both were measured");
        assert!((ratio - 40.0 / 21.0).abs() < 1e-9, "{ratio}");
        assert_eq!(results.median("a", names[1], At::First), Some(12.0));
    }

    #[test]
    fn what_was_not_measured_has_no_values() {
        let results = Results::new((FIGURES[0].plan)(&QUICK), &QUICK);
        let series = results.plan.panels[0].series[0].clone();
        assert_eq!(results.summary(0, 0, &series), None);
        assert!(results.is_empty() && !results.is_complete());
        for (panel, name, at) in [("a", series.name, At::First), ("z", series.name, At::First), ("a", "z", At::First)] {
            assert_eq!(results.median(panel, name, at), None, "{panel} {name}");
        }
        let complete = made_up(FIGURES[0], |_| 1.0);
        assert!(complete.is_complete());
        assert_eq!(complete.median("a", series.name, At::Number(99)), None);
        assert_eq!((complete.point_at("a", 4.0), complete.point_at("a", 5.0)), (Some(At::Number(2)), None));
    }
}
