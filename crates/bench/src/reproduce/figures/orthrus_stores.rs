//! The common parts of the ORTHRUS paper's figures on multi-partition transactions: the systems, with and without split
//! indexes, and their partitions.

use super::orthrus::{DEADLOCK_FREE, ORTHRUS, busy, concurrency_control, table_of};
use crate::reproduce::claim::{Finding, TOLERANCE, all, leads, only};
use crate::reproduce::plan::Series;
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

/// The names of the series beside those of ORTHRUS and of deadlock-free locking, as in the paper.
pub(super) const PARTITIONED: &str = "Partitioned-store";
pub(super) const SPLIT: &str = "SPLIT ORTHRUS";
pub(super) const SPLIT_FREE: &str = "split deadlock-free";

/// Returns the series of the systems. Partitioned-store has a partition for each thread. ORTHRUS has one for each
/// concurrency-control thread, so that a transaction has locks of as many of these threads as it touches partitions.
pub(super) fn stores(scale: &Scale) -> Vec<Series> {
    let (threads, lockers) = (busy(scale.cores), lockers(scale));
    let messages = format!("--cc-threads {lockers} --partitions {lockers}");
    let partitions = format!("--partitions {threads}");
    vec![
        Series::throughput(ORTHRUS, "orthrus").with(messages.as_str()),
        Series::throughput(SPLIT, "orthrus-split").with(messages),
        Series::throughput(DEADLOCK_FREE, "2pl-ordered").with(partitions.as_str()),
        Series::throughput(SPLIT_FREE, "2pl-ordered-split").with(partitions.as_str()),
        Series::throughput(PARTITIONED, "partitioned").with(partitions),
    ]
}

/// Returns the number of concurrency-control threads, and so that of the partitions that a transaction of ORTHRUS can
/// touch.
pub(super) fn lockers(scale: &Scale) -> u64 {
    concurrency_control(busy(scale.cores))
}

/// Returns the command for the paper's table, which has fewer rows here.
pub(super) fn table_of_stores(scale: &Scale) -> String {
    table_of(scale.pick(1_000_000, 100_000, 20 * busy(scale.cores)))
}

/// Returns the options of transactions of ten read-modify-writes of uniform rows, on the threads that stand for the
/// paper's 80.
pub(super) fn ten_uniform_updates(scale: &Scale) -> String {
    format!("--rmw --ops 10 --threads {}", busy(scale.cores))
}

/// Decides whether Partitioned-store has at the first point at least `orthrus` times the throughput of ORTHRUS and
/// `deadlock_free` times that of deadlock-free locking.
pub(super) fn partitions_lead(results: &Results, orthrus: f64, deadlock_free: f64) -> Option<Finding> {
    let lead = |other, least| leads(results, "a", only(At::First), PARTITIONED, &[other], least);
    all([lead(ORTHRUS, orthrus), lead(DEADLOCK_FREE, deadlock_free)])
}

/// Decides whether at the first point the split variants are faster than those with one index.
pub(super) fn split_leads(results: &Results) -> Option<Finding> {
    let lead = |split, whole| leads(results, "a", only(At::First), split, &[whole], 1.0 + TOLERANCE);
    all([lead(SPLIT, ORTHRUS), lead(SPLIT_FREE, DEADLOCK_FREE)])
}
