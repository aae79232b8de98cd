//! The common parts of the Hekaton paper's figures: its three schemes, its tables, and its numbers of threads.

use crate::reproduce::claim::{Finding, all, leads};
use crate::reproduce::figure::Paper;
use crate::reproduce::plan::Series;
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

/// The paper on Hekaton, from which the figures `hekaton-…` are.
pub(super) static HEKATON: Paper =
    Paper { name: "hekaton", title: "High-Performance Concurrency Control Mechanisms for Main-Memory Databases" };

/// The schemes, as the paper names them.
pub(super) const SINGLE: &str = "1V";
pub(super) const LOCKING: &str = "MV/L";
pub(super) const OPTIMISTIC: &str = "MV/O";

/// The schemes that keep versions of rows.
pub(super) const VERSIONED: [&str; 2] = [LOCKING, OPTIMISTIC];

/// The schemes with their engines.
const ENGINES: [(&str, &str); 3] = [(SINGLE, "1v"), (LOCKING, "mvl"), (OPTIMISTIC, "mvo")];

/// Returns the series of the schemes, with all transactions that they commit.
pub(super) fn schemes() -> Vec<Series> {
    ENGINES.map(|(name, engine)| Series::throughput(name, engine)).to_vec()
}

/// Returns the series of the schemes, with the transactions of one kind that they commit, counted in this unit.
pub(super) fn schemes_by_kind(kind: &'static str, unit: u32) -> Vec<Series> {
    ENGINES.map(|(name, engine)| Series::kind(name, engine, kind, unit)).to_vec()
}

/// The option with which deadlocks end by time-out, as in the paper.
const TIME_OUTS: &str = "--deadlock-time-outs";

/// Returns the command for the paper's large table, of ten million rows at the full scale.
pub(super) fn large(scale: &Scale) -> String {
    format!("hekaton {TIME_OUTS} --rows {}", scale.pick(10_000_000, 100_000, 500))
}

/// Returns the command for the paper's hot spot, a table of a thousand rows.
pub(super) fn hot(scale: &Scale) -> String {
    format!("hekaton {TIME_OUTS} --rows {}", scale.pick(1000, 1000, 500))
}

/// Returns the options of transactions with ten reads and two writes, at read committed.
pub(super) fn short(threads: u64) -> String {
    format!("--reads 10 --writes 2 --isolation read-committed --threads {threads}")
}

/// Returns the numbers of long readers to measure, from none to all of the given number of threads. The other threads
/// run short transactions.
pub(super) fn readers(scale: &Scale, threads: u64) -> Vec<u64> {
    let mut readers = vec![0, 1, threads / 2, threads];
    readers.extend_from_slice(scale.pick(&[threads / 4, 3 * threads / 4], &[], &[]));
    readers.sort_unstable();
    readers.dedup();
    readers
}

/// Returns the letters of two panels, and their numbers of threads: as many as cores, and the larger number of
/// [`Scale::crowd`].
pub(super) fn crowds(scale: &Scale) -> [(&'static str, u64); 2] {
    [("a", scale.cores), ("b", scale.crowd())]
}

/// Returns the point of a panel with this label, or `None` if there is none.
pub(super) fn labelled(results: &Results, panel: &str, label: &str) -> Option<At> {
    (0..results.points(panel)).map(At::Number).find(|&at| results.label(panel, at) == label)
}

/// Decides whether both schemes with versions have at least `least` times the throughput of 1V, at each of `points`.
pub(super) fn versions_lead(
    results: &Results,
    panel: &str,
    points: impl Iterator<Item = At> + Clone,
    least: f64,
) -> Option<Finding> {
    all(VERSIONED.map(|name| leads(results, panel, points.clone(), name, &[SINGLE], least)))
}

/// Decides whether the throughput of each scheme with versions is a greater multiple of that of 1V at `to` than at
/// `from`.
pub(super) fn gains(results: &Results, panel: &str, from: At, to: At) -> Option<Finding> {
    all(VERSIONED.map(|name| {
        let ratio = |at| results.ratio(panel, at, name, SINGLE);
        let (before, after) = (ratio(from)?, ratio(to)?);
        let (first, last) = (results.label(panel, from), results.label(panel, to));
        let x = results.x(panel);
        let evidence = format!("({panel}) {name} is {before:.2} times 1V at {first}, {after:.2} times at {last} ({x})");
        Some(Finding { holds: after > before, evidence })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::scale::Size;

    #[test]
    fn readers_are_none_some_and_all() {
        for (size, threads, expected) in [
            (Size::Full, 1, &[0, 1][..]),
            (Size::Full, 2, &[0, 1, 2]),
            (Size::Full, 8, &[0, 1, 2, 4, 6, 8]),
            (Size::Full, 24, &[0, 1, 6, 12, 18, 24]),
            (Size::Quick, 8, &[0, 1, 4, 8]),
        ] {
            assert_eq!(readers(&Scale { size, cores: 2 }, threads), expected);
        }
    }
}
