//! The shares of locks by level and by state, for an engine whose locks form a hierarchy.

use hotrow_txn::Statistics;
use serde_json::{Map, Value, json};

/// Returns the parts of the locks of a run, as shares. The map is empty if the engine has no hierarchy of locks.
///
/// A lock is in one of the parts `hot_heritable`, `cold_heritable`, `hot_only`, `high_level` and `row`, which add up to
/// all locks; and a heritable lock also in one of `used`, `invalidated`, `discarded` and `released` (not passed on),
/// which add up to the heritable ones.
pub(super) fn lock_shares(statistics: &Statistics) -> Map<String, Value> {
    // A transaction locks the database first.
    if statistics.hierarchy.databases == 0 {
        return Map::new();
    }
    shares(kinds(statistics)).chain(shares(outcomes(statistics))).collect()
}

/// Divides all locks into parts. Hot locks that are not heritable are taken to be of a high level as far as there are
/// such locks.
fn kinds(statistics: &Statistics) -> [(&'static str, u64); 5] {
    let hierarchy = &statistics.hierarchy;
    let hot_heritable = hierarchy.hot_heritable;
    let cold_heritable = hierarchy.heritable.saturating_sub(hot_heritable);
    let hot_only = hierarchy.hot.saturating_sub(hot_heritable);
    let above_rows = hierarchy.databases + hierarchy.tables + hierarchy.pages;
    let high_level = above_rows.saturating_sub(hot_heritable + cold_heritable + hot_only);
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
fn outcomes(statistics: &Statistics) -> [(&'static str, u64); 4] {
    let hierarchy = &statistics.hierarchy;
    [
        ("used", hierarchy.used),
        ("invalidated", hierarchy.invalidated),
        ("discarded", hierarchy.discarded),
        ("released", hierarchy.heritable.saturating_sub(hierarchy.inherited)),
    ]
}

/// Returns the share of each part in their sum. All shares are zero if the sum is.
fn shares<const N: usize>(parts: [(&'static str, u64); N]) -> impl Iterator<Item = (String, Value)> {
    let sum = parts.iter().map(|(_, count)| count).sum::<u64>().max(1) as f64;
    parts.into_iter().map(move |(part, count)| (part.to_owned(), json!(count as f64 / sum)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the shares of `parts`, in their order.
    fn check<const N: usize>(statistics: &Statistics, parts: [&str; N], expected: [f64; N]) {
        let shares = lock_shares(statistics);
        let of = |part: &str| shares[part].as_f64().expect("a share");
        assert_eq!(parts.map(of), expected, "{statistics:?}");
    }

    #[test]
    fn an_engine_without_a_hierarchy_has_no_parts() {
        assert!(lock_shares(&Statistics { locks: 7, ..Statistics::default() }).is_empty());
    }

    #[test]
    fn every_lock_is_in_one_part() {
        // The columns are: all locks, those of a high level, hot, heritable, both; and the expected hot and heritable,
        // cold and heritable, hot only, of a high level, of a row.
        for (locks, high_level, hot, heritable, both, expected) in [
            (10, 6, 4, 5, 4, [0.4, 0.1, 0.0, 0.1, 0.4]),
            (10, 6, 5, 4, 4, [0.4, 0.0, 0.1, 0.1, 0.4]),
            (10, 2, 6, 2, 2, [0.2, 0.0, 0.4, 0.0, 0.4]),
            (10, 1, 0, 0, 0, [0.0, 0.0, 0.0, 0.1, 0.9]),
        ] {
            let mut statistics = Statistics { locks, ..Statistics::default() };
            let hierarchy = &mut statistics.hierarchy;
            (hierarchy.databases, hierarchy.pages, hierarchy.hot) = (1, high_level - 1, hot);
            (hierarchy.heritable, hierarchy.hot_heritable) = (heritable, both);
            check(&statistics, ["hot_heritable", "cold_heritable", "hot_only", "high_level", "row"], expected);
        }
    }

    #[test]
    fn every_heritable_lock_has_an_outcome() {
        let mut statistics = Statistics { locks: 80, ..Statistics::default() };
        let hierarchy = &mut statistics.hierarchy;
        (hierarchy.databases, hierarchy.heritable, hierarchy.inherited) = (10, 40, 20);
        (hierarchy.used, hierarchy.invalidated, hierarchy.discarded) = (14, 2, 4);
        check(&statistics, ["used", "invalidated", "discarded", "released"], [0.35, 0.05, 0.1, 0.5]);
    }
}
