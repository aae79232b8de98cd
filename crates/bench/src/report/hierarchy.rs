//! The locks of an engine whose locks form a hierarchy.

use hotrow_txn::{HierarchyStatistics, Statistics};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The locks of a run by their level and their state. All counts are divided by the number of committed transactions;
/// locks of aborted attempts count as well.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct HierarchyReport {
    /// The granted locks on the database.
    pub databases: f64,
    /// The granted locks on tables.
    pub tables: f64,
    /// The granted locks on pages.
    pub pages: f64,
    /// All other granted locks: on rows, gaps and unique keys.
    pub rows: f64,
    /// The locks that were hot when they were granted.
    pub hot: f64,
    /// The locks that were given up in a state in which another transaction could have inherited them.
    pub heritable: f64,
    /// The locks that were passed on to the next transaction.
    pub inherited: f64,
    /// The parts of all locks, as shares: `hot_heritable`, `cold_heritable`, `hot_only`, `high_level` and `row`. A lock
    /// is in one part only.
    pub kinds: Map<String, Value>,
    /// The parts of the heritable locks by what became of them, as shares: `used`, `invalidated`, `discarded` and
    /// `released`, which were not passed on.
    pub outcomes: Map<String, Value>,
}

impl HierarchyReport {
    /// Makes the report from the statistics of a run in which `committed` transactions committed. Returns `None` if the
    /// engine has counted no lock of a hierarchy.
    pub(super) fn new(statistics: &Statistics, committed: u64) -> Option<Self> {
        let hierarchy = &statistics.hierarchy;
        if *hierarchy == HierarchyStatistics::default() {
            return None;
        }
        let per_txn = |count: u64| count as f64 / committed.max(1) as f64;
        Some(Self {
            databases: per_txn(hierarchy.databases),
            tables: per_txn(hierarchy.tables),
            pages: per_txn(hierarchy.pages),
            rows: per_txn(statistics.locks.saturating_sub(high_level(hierarchy))),
            hot: per_txn(hierarchy.hot),
            heritable: per_txn(hierarchy.heritable),
            inherited: per_txn(hierarchy.inherited),
            kinds: shares(kinds(statistics)),
            outcomes: shares(outcomes(hierarchy)),
        })
    }

    /// Returns the share of one part of all locks or of the heritable locks, or zero if there is no such part.
    pub(crate) fn share(&self, part: &str) -> f64 {
        self.kinds.get(part).or_else(|| self.outcomes.get(part)).and_then(Value::as_f64).unwrap_or(0.0)
    }
}

/// Returns the number of locks above those on rows.
fn high_level(hierarchy: &HierarchyStatistics) -> u64 {
    hierarchy.databases + hierarchy.tables + hierarchy.pages
}

/// Divides all locks into parts. Hot locks that are not heritable are counted as such first; as far as there are enough
/// locks of a high level, they are taken to be of these.
fn kinds(statistics: &Statistics) -> [(&'static str, u64); 5] {
    let hierarchy = &statistics.hierarchy;
    let hot_heritable = hierarchy.hot_heritable;
    let cold_heritable = hierarchy.heritable.saturating_sub(hot_heritable);
    let hot_only = hierarchy.hot.saturating_sub(hot_heritable);
    let high_level = high_level(hierarchy).saturating_sub(hot_heritable + cold_heritable + hot_only);
    let row = statistics.locks.saturating_sub(hot_heritable + cold_heritable + hot_only + high_level);
    [
        ("hot_heritable", hot_heritable),
        ("cold_heritable", cold_heritable),
        ("hot_only", hot_only),
        ("high_level", high_level),
        ("row", row),
    ]
}

/// Divides the heritable locks into parts by what became of them.
fn outcomes(hierarchy: &HierarchyStatistics) -> [(&'static str, u64); 4] {
    [
        ("used", hierarchy.used),
        ("invalidated", hierarchy.invalidated),
        ("discarded", hierarchy.discarded),
        ("released", hierarchy.heritable.saturating_sub(hierarchy.inherited)),
    ]
}

/// Returns the share of each part in their sum. All shares are zero if the sum is.
fn shares<const N: usize>(parts: [(&'static str, u64); N]) -> Map<String, Value> {
    let sum = parts.iter().map(|(_, count)| count).sum::<u64>().max(1) as f64;
    parts.into_iter().map(|(part, count)| (part.to_owned(), json!(count as f64 / sum))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_without_a_hierarchy_has_no_report() {
        let statistics = Statistics { locks: 7, ..Statistics::default() };
        assert_eq!(HierarchyReport::new(&statistics, 1), None);
    }

    #[test]
    fn every_lock_is_in_one_part() {
        // The columns are: all locks, those of a high level, hot, heritable, both; and the expected hot and heritable,
        // cold and heritable, hot only, of a high level, of a row.
        for (locks, high_level, hot, heritable, both, expected) in [
            (10, 6, 4, 5, 4, [0.4, 0.1, 0.0, 0.1, 0.4]),
            (10, 6, 5, 4, 4, [0.4, 0.0, 0.1, 0.1, 0.4]),
            (10, 2, 6, 2, 2, [0.2, 0.0, 0.4, 0.0, 0.4]),
            (10, 0, 0, 0, 0, [0.0, 0.0, 0.0, 0.0, 1.0]),
        ] {
            let mut statistics = Statistics { locks, ..Statistics::default() };
            let hierarchy = &mut statistics.hierarchy;
            (hierarchy.pages, hierarchy.hot) = (high_level, hot);
            (hierarchy.heritable, hierarchy.hot_heritable) = (heritable, both);
            let shares = shares(kinds(&statistics));
            let of = |part: &str| shares[part].as_f64().expect("a share");
            let actual = ["hot_heritable", "cold_heritable", "hot_only", "high_level", "row"].map(of);
            assert_eq!(actual, expected, "{statistics:?}");
        }
    }

    #[test]
    fn counts_are_those_of_one_transaction_and_outcomes_add_up() {
        let mut statistics = Statistics { locks: 80, ..Statistics::default() };
        statistics.hierarchy = HierarchyStatistics {
            databases: 10,
            tables: 20,
            pages: 20,
            heritable: 40,
            hot_heritable: 20,
            inherited: 20,
            used: 14,
            discarded: 4,
            invalidated: 2,
            ..HierarchyStatistics::default()
        };
        let report = HierarchyReport::new(&statistics, 10).expect("there is a hierarchy");
        assert_eq!((report.databases, report.tables, report.pages, report.rows), (1.0, 2.0, 2.0, 3.0));
        let parts = ["used", "invalidated", "discarded", "released"].map(|part| report.share(part));
        assert_eq!(parts, [0.35, 0.05, 0.1, 0.5]);
        assert_eq!((report.share("hot_heritable"), report.share("none of them")), (0.25, 0.0));
    }
}
