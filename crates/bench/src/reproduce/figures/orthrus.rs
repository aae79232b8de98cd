//! The common parts of the ORTHRUS paper's figures: its tables, its transactions, the systems that it compares, and how
//! its 80 cores are scaled to those that there are.

use crate::reproduce::claim::{Finding, TOLERANCE, everywhere};
use crate::reproduce::figure::Paper;
use crate::reproduce::plan::Series;
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

/// The paper on ORTHRUS, from which the figures `orthrus-…` are.
pub(super) static ORTHRUS_PAPER: Paper =
    Paper { name: "orthrus", title: "Design Principles for Scaling Multi-core OLTP Under High Contention" };

/// The names of the series, as in the paper.
pub(super) const ORTHRUS: &str = "ORTHRUS";
pub(super) const SINGLE: &str = "ORTHRUS, single";
pub(super) const DUAL: &str = "ORTHRUS, dual";
pub(super) const RANDOM: &str = "ORTHRUS, random";
pub(super) const WAIT_DIE: &str = "wait-die";
pub(super) const WAIT_FOR: &str = "wait-for graph";
pub(super) const DREADLOCKS: &str = "Dreadlocks";
pub(super) const DEADLOCK_FREE: &str = "deadlock-free";
pub(super) const TIMEOUT: &str = "time-out";
pub(super) const NOTHING: &str = "no locking";

/// The paper's ways to detect or avoid deadlocks while a transaction runs.
pub(super) const HANDLING: [&str; 3] = [WAIT_DIE, WAIT_FOR, DREADLOCKS];

/// The number of cores of the paper's machine, each with a thread.
pub(super) const PAPER_CORES: u64 = 80;

/// Returns the series of the paper's deadlock policies, and of time-outs and ORTHRUS beside them.
pub(super) fn policies() -> Vec<Series> {
    vec![
        Series::throughput(DEADLOCK_FREE, "2pl-ordered"),
        Series::throughput(WAIT_DIE, "2pl-waitdie"),
        Series::throughput(WAIT_FOR, "2pl-waitfor"),
        Series::throughput(DREADLOCKS, "2pl-dreadlocks"),
        Series::throughput(TIMEOUT, "2pl-timeout"),
        Series::throughput(ORTHRUS, "orthrus"),
    ]
}

/// Returns the series of ORTHRUS whose transactions have all their locks of one concurrency-control thread, of two of
/// them, and of any. The points say how many partitions there are.
pub(super) fn configurations() -> [Series; 3] {
    [
        Series::throughput(SINGLE, "orthrus").with("--partitions-per-txn 1"),
        Series::throughput(DUAL, "orthrus").with("--partitions-per-txn 2"),
        Series::throughput(RANDOM, "orthrus"),
    ]
}

/// Returns the command for a table as the paper's, whose rows have ten columns of 100 bytes.
pub(super) fn table_of(records: u64) -> String {
    format!("ycsb --records {records} --fields 10 --value-bytes 100")
}

/// Returns the command for the paper's table, which has fewer rows here.
pub(super) fn table(scale: &Scale) -> String {
    table_of(scale.pick(1_000_000, 100_000, 200))
}

/// Returns the command for the paper's table in figures where ORTHRUS has a database for each number of threads. So
/// that all of them fit into memory, the table has fewer rows still.
pub(super) fn table_by_threads(scale: &Scale) -> String {
    table_of(scale.pick(250_000, 50_000, 200))
}

/// Returns the command for the paper's table if the series are [`policies`], of which one ends deadlocks by time-out.
pub(super) fn table_of_policies(scale: &Scale) -> String {
    format!("{} --deadlock-time-outs", table(scale))
}

/// Returns the options of transactions of ten read-modify-writes, of which `hot_ops` are on hot rows at `position`.
pub(super) fn ten_updates(threads: u64, hot_records: u64, hot_ops: u64, position: &str) -> String {
    format!(
        "--rmw --ops 10 --hot-records {hot_records} --hot-ops {hot_ops} --hot-position {position} {}",
        threads_of_both_roles(threads)
    )
}

/// The options of transactions on the paper's hot rows: two operations come first, on 64 rows.
pub(super) const ON_64_HOT_ROWS: &str = "--hot-records 64 --hot-ops 2 --hot-position first";

/// The option with which threads without work look for some for a second before they sleep: in effect always, as on the
/// paper's machine.
const NEVER_SLEEP: &str = "--spin-us 1000000";

/// Returns the options for a number of threads, some of which are concurrency-control threads under ORTHRUS.
pub(super) fn threads_of_both_roles(threads: u64) -> String {
    format!("--threads {threads} --cc-threads {} {NEVER_SLEEP}", concurrency_control(threads))
}

/// Returns the options for a number of threads under [`configurations`]: as many partitions as there are
/// concurrency-control threads, so that a transaction in two partitions has locks of two threads. If there is one such
/// thread, there are two partitions, and it has the locks of both.
pub(super) fn threads_and_partitions(threads: u64) -> String {
    format!("{} --partitions {}", threads_of_both_roles(threads), concurrency_control(threads).max(2))
}

/// Returns how many of ORTHRUS' threads are concurrency-control threads: a fifth, up to 16, as on the paper's machine.
/// Of few threads it is half of them, up to four, so that transactions can have locks of several. A single thread has
/// both roles.
pub(super) fn concurrency_control(threads: u64) -> u64 {
    let fifth = (threads + 2) / 5;
    fifth.max((threads / 2).min(4)).min(16)
}

/// Returns the number of threads that stands for the paper's 80: one on each core, or on a small machine four, so that
/// there are as many transactions in each other's way as a larger machine would have.
pub(super) fn busy(cores: u64) -> u64 {
    /// The number of cores from which on a thread on each of them has others to meet.
    const ENOUGH: u64 = 8;
    if cores >= ENOUGH { cores } else { 4 * cores }
}

/// Returns the point with the number of threads that stands for the paper's 80, of a panel over threads.
pub(super) fn at_busy(results: &Results, panel: &str) -> Option<At> {
    results.point_at(panel, busy(results.cores()) as f64)
}

/// Returns the point with a thread on each core, of a panel over threads.
pub(super) fn at_cores(results: &Results, panel: &str) -> Option<At> {
    results.point_at(panel, results.cores() as f64)
}

/// Returns the throughput of a series at a point as a share of its best up to there, and the same in words.
pub(super) fn share_of_best(results: &Results, panel: &str, series: &str, at: At) -> Option<(f64, String)> {
    let up_to = everywhere(results, panel).take_while(|&other| other != at).chain([at]);
    let medians = up_to.map(|point| results.median(panel, series, point)).collect::<Option<Vec<_>>>()?;
    let best = medians.into_iter().reduce(f64::max)?;
    let share = results.median(panel, series, at)? / best.max(f64::MIN_POSITIVE);
    let (label, x) = (results.label(panel, at), results.x(panel));
    Some((share, format!("({panel}) {series} has {share:.2} of its best so far at {label} ({x})")))
}

/// Returns the throughput of a series at a point as a multiple of that at the first point.
pub(super) fn growth(results: &Results, panel: &str, series: &str, at: At) -> Option<f64> {
    Some(results.median(panel, series, at)? / results.median(panel, series, At::First)?.max(f64::MIN_POSITIVE))
}

/// Decides whether `name` has between 0.95 and 1.05 times the throughput of `other` at every one of `points`. The
/// evidence is the point where they differ most.
pub(super) fn equals(
    results: &Results,
    panel: &str,
    points: impl Iterator<Item = At>,
    name: &str,
    other: &str,
) -> Option<Finding> {
    let ratios = points.map(|at| Some((results.ratio(panel, at, name, other)?, at))).collect::<Option<Vec<_>>>()?;
    let distance = |ratio: f64| (ratio - 1.0).abs();
    let (ratio, at) = ratios.into_iter().max_by(|one, two| distance(one.0).total_cmp(&distance(two.0)))?;
    let (label, x) = (results.label(panel, at), results.x(panel));
    let evidence = format!("({panel}) {name} is {ratio:.2} times {other} at {label} ({x}), where they differ most");
    Some(Finding { holds: distance(ratio) <= TOLERANCE, evidence })
}

/// Returns the number of hot rows at which a transaction conflicts with as many others in flight as in the paper, about
/// five with 80 threads on 64 hot rows. Each transaction updates two hot rows. With few threads there is no such
/// number; then it is four, the least at which some transactions conflict with no other.
pub(super) fn as_contended_as_the_paper(threads: u64) -> u64 {
    let meeting = |threads: u64, hot: u64| {
        let (hot, others) = (hot as f64, threads as f64 - 1.0);
        others * (1.0 - (hot - 2.0) * (hot - 3.0) / (hot * (hot - 1.0)))
    };
    let wanted = meeting(PAPER_CORES, 64);
    (4..=64).rev().find(|&hot| meeting(threads, hot) >= wanted).unwrap_or(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contention_is_scaled_to_the_threads() {
        for (threads, hot) in [(80, 64), (40, 31), (8, 5), (2, 4)] {
            assert_eq!(as_contended_as_the_paper(threads), hot, "{threads} threads");
        }
    }

    #[test]
    fn the_roles_are_those_of_the_paper_on_its_machine() {
        for (threads, concurrency_control_threads) in
            [(1, 0), (2, 1), (3, 1), (4, 2), (8, 4), (16, 4), (20, 4), (40, 8), (80, 16), (320, 16)]
        {
            assert_eq!(concurrency_control(threads), concurrency_control_threads, "{threads} threads");
        }
        assert_eq!([1, 2, 7, 8, 80].map(busy), [4, 8, 28, 8, 80]);
    }
}
