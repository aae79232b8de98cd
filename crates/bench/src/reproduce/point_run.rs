//! A run at a point of a figure: one engine, with the options of the point and its own. And the databases on which the
//! runs with the same rows are made.

use super::plan::Plan;
use super::point_command::parse_options;
use super::results::RunPosition;
use crate::options::RunOptions;
use hotrow_protocols::ENGINES;
use hotrow_txn::{EngineInfo, Scheduler, Setting, Settings};
use hotrow_workloads::Workload;

/// A run that measures one engine at one point of a figure, with its workload and options.
pub(super) struct PointRun<W> {
    /// The panel and the label of the point.
    pub name: String,
    pub position: RunPosition,
    pub engine: &'static str,
    /// Whether the time of the run's transactions is broken down into its parts.
    pub has_shares: bool,
    pub workload: W,
    pub options: RunOptions,
}

/// Returns the runs of one repetition on these rows, in their order: at each point all contenders.
pub(super) fn runs_on<W: Workload>(plan: &Plan, rows: &str) -> Result<Vec<PointRun<W>>, String> {
    let mut runs = Vec::new();
    for (panel_number, panel) in plan.panels.iter().enumerate() {
        for (point_number, point) in panel.points.iter().enumerate().filter(|(_, point)| point.rows == rows) {
            for (number, contender) in panel.contenders().into_iter().enumerate() {
                let name = format!("({}) {}", panel.id, point.label);
                let (workload, options) = parse_options::<W>(rows, &format!("{} {}", point.options, contender.options))
                    .map_err(|error| format!("{name} {} {error}", contender.engine))?;
                let position = RunPosition { panel: panel_number, point: point_number, contender: number };
                let (engine, has_shares) = (contender.engine, panel.has_shares());
                runs.push(PointRun { name, position, engine, has_shares, workload, options });
            }
        }
    }
    Ok(runs)
}

/// Returns the databases that `runs` need, each once: the first run on the database, and the database's settings.
pub(super) fn databases<W: Workload>(runs: &[PointRun<W>]) -> Vec<(&PointRun<W>, Settings)> {
    let mut databases: Vec<(&PointRun<W>, Settings)> = Vec::new();
    for run in runs {
        let settings = run.settings(runs);
        if !databases.iter().any(|(other, its)| (other.engine, its) == (run.engine, &settings)) {
            databases.push((run, settings));
        }
    }
    databases
}

impl<W: Workload> PointRun<W> {
    /// Returns the settings of the database on which this run, which is one of `runs`, is made. If the engine runs in a
    /// pool, they are the run's own. All runs of any other engine share one database, with the settings of the first of
    /// these runs. Settings of a hierarchy of locks are always the run's own. A number of partitions is dropped unless
    /// the engine keeps partitions apart.
    pub(super) fn settings(&self, runs: &[Self]) -> Settings {
        let info: Option<&EngineInfo> = ENGINES.iter().find(|info| info.name == self.engine);
        let run = match info.is_some_and(|info| info.scheduler != Scheduler::Thread) {
            true => self,
            false => runs.iter().find(|run| run.engine == self.engine).unwrap_or(self),
        };
        let settings = run.options.settings(&run.workload);
        let Settings { escalation, hot_percent, momentum, .. } = self.options.settings(&self.workload);
        let has_partitions = info.is_some_and(|info| info.settings.contains(&Setting::Partitions));
        let partitions = settings.partitions.filter(|_| has_partitions);
        Settings { partitions, escalation, hot_percent, momentum, ..settings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::plan::{Chart, Panel, Point, Series};
    use hotrow_workloads::micro::Micro;

    const ROWS: &str = "micro --records 1000 --hot-records 0 --hot-ops 0";

    /// Returns a plan of two points, with one and with two threads, where `series` run.
    fn plan(series: Vec<Series>) -> Plan {
        let point = |threads| Point::at(threads, ROWS, format!("--threads {threads}"));
        let panel = Panel { id: "a", title: String::new(), points: vec![point(1), point(2)], series };
        Plan { chart: Chart::Curves { x: "threads" }, value: "", stretch: 1, panels: vec![panel] }
    }

    fn runs(series: Vec<Series>) -> Vec<PointRun<Micro>> {
        runs_on(&plan(series), ROWS).expect("the options are good")
    }

    #[test]
    fn series_with_the_same_options_share_their_runs() {
        let series = || Series::throughput("one", "none");
        let other = Series { name: "other", ..series() };
        for (second, expected) in
            [(other.clone(), &["none"; 2][..]), (other.with("--ops 5"), &["none", "none", "none", "none"])]
        {
            let runs = runs(vec![series(), second]);
            assert_eq!(runs.iter().map(|run| run.engine).collect::<Vec<_>>(), expected);
            let numbers: Vec<_> = runs.iter().map(|run| (run.position.point, run.position.contender)).collect();
            assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        }
    }

    #[test]
    fn engines_in_pools_have_a_database_for_each_of_their_settings() {
        for (engine, options, expected) in [
            // A database that is shared has the settings of the first run.
            ("none", ["", "--blocked-limit 7"], vec![(1, None)]),
            ("vll", ["", "--ops 5"], vec![(1, None), (2, None)]),
            ("vll", ["", "--blocked-limit 7"], vec![(1, None), (1, Some(7)), (2, None), (2, Some(7))]),
            // VLL does not keep partitions apart.
            ("vll", ["", "--partitions 2"], vec![(1, None), (2, None)]),
        ] {
            let [first, second] = [("one", options[0]), ("other", options[1])]
                .map(|(name, options)| Series::throughput(name, engine).with(options));
            let runs = runs(vec![first, second]);
            let settings = databases(&runs).into_iter().map(|(_, settings)| (settings.workers, settings.blocked_limit));
            assert_eq!(settings.collect::<Vec<_>>(), expected, "{engine} {options:?}");
        }
    }

    #[test]
    fn settings_of_a_hierarchy_of_locks_have_databases_of_their_own() {
        for (options, expected) in [
            (["", "--hot-percent 0"], &[(None, None, None), (Some(0), None, None)][..]),
            (["--momentum 3", ""], &[(None, Some(3), None), (None, None, None)]),
            (["--escalate-after 7", "--escalate-after 7 --ops 5"], &[(None, None, Some(7))]),
        ] {
            let [first, second] = [("one", options[0]), ("other", options[1])]
                .map(|(name, options)| Series::throughput(name, "none").with(options));
            let runs = runs(vec![first, second]);
            let settings = databases(&runs).into_iter().map(|(_, it)| (it.hot_percent, it.momentum, it.escalation));
            assert_eq!(settings.collect::<Vec<_>>(), expected, "{options:?}");
        }
    }

    #[test]
    fn a_wrong_option_is_refused_with_the_point_and_the_engine() {
        let plan = plan(vec![Series::throughput("one", "none").with("--ops none")]);
        let error = runs_on::<Micro>(&plan, ROWS).err().expect("it is no number");
        assert!(error.starts_with("(a) 1 none ") && error.contains("--ops"), "{error}");
    }
}
