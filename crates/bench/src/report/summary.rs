//! The reports of all repetitions, engine by engine.

use super::engine_report::EngineReport;

/// One engine over all repetitions.
#[derive(Clone, Debug)]
pub(crate) struct EngineSummary<'a> {
    pub engine: &'a str,
    /// The run whose throughput is the median. Its other figures are shown with it, so that all are of one run.
    pub median: &'a EngineReport,
    /// The throughputs of the slowest and the fastest run.
    pub range: (f64, f64),
    /// The median of the ratios of this engine's throughput to that of the first engine in the same turn.
    pub ratio: f64,
    /// The outcome of the check: that of a failed run if there is one, otherwise that of the median run.
    pub consistency: &'a str,
    /// The least and the greatest distance between two cores before these runs, in nanoseconds; `None` if it is
    /// unknown.
    pub core_distance: Option<(f64, f64)>,
}

/// Summarises turns, each of which has a report for every engine in the same order. An interrupted turn may have fewer.
pub(crate) fn summarize(turns: &[Vec<EngineReport>]) -> Vec<EngineSummary<'_>> {
    let engines = turns.first().map_or(0, Vec::len);
    (0..engines).map(|engine| summarize_engine(turns, engine)).collect()
}

fn summarize_engine(turns: &[Vec<EngineReport>], engine: usize) -> EngineSummary<'_> {
    let mut runs: Vec<_> = turns.iter().filter_map(|turn| turn.get(engine)).collect();
    let ratio = |turn: &Vec<EngineReport>| Some(turn.get(engine)?.throughput() / turn.first()?.throughput());
    let mut ratios: Vec<_> = turns.iter().filter_map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    runs.sort_by(|a, b| a.throughput().total_cmp(&b.throughput()));
    let median = runs[(runs.len() - 1) / 2];
    let failed = runs.iter().find(|run| run.has_failed());
    EngineSummary {
        engine: median.engine(),
        median,
        range: (runs[0].throughput(), runs[runs.len() - 1].throughput()),
        ratio: ratios[(ratios.len() - 1) / 2],
        consistency: &failed.unwrap_or(&median).consistency,
        core_distance: span(runs.iter().filter_map(|run| run.core_distance_ns)),
    }
}

/// Returns the least and the greatest of the values, or `None` if there are no values.
pub(crate) fn span(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.map(|value| (value, value)).reduce(|span, value| (span.0.min(value.0), span.1.max(value.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    #[test]
    fn medians_are_taken_over_the_turns_and_ratios_within_them() {
        let turn = |slow, fast| vec![report("a", slow, "ok"), report("b", fast, "ok")];
        let mut turns = vec![turn(100.0, 150.0), turn(200.0, 500.0), turn(50.0, 100.0)];
        turns[1][1].consistency = "failed: a sum".to_owned();
        let engines = summarize(&turns);
        let figures: Vec<_> = engines.iter().map(|e| (e.engine, e.median.throughput(), e.range, e.ratio)).collect();
        assert_eq!(figures, [("a", 100.0, (50.0, 200.0), 1.0), ("b", 150.0, (100.0, 500.0), 2.0)]);
        assert_eq!((engines[0].consistency, engines[1].consistency), ("ok", "failed: a sum"));
    }

    #[test]
    fn a_turn_that_was_interrupted_counts_as_far_as_it_went() {
        let turns = [vec![report("a", 100.0, "ok"), report("b", 50.0, "ok")], vec![report("a", 300.0, "ok")]];
        let engines = summarize(&turns);
        assert_eq!((engines[0].range, engines[1].ratio), ((100.0, 300.0), 0.5));
    }
}
