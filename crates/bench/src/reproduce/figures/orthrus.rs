//! The common parts of the ORTHRUS paper's figures: its table, its transactions, and its deadlock policies.

use crate::reproduce::figure::Paper;
use crate::reproduce::plan::Series;
use crate::reproduce::scale::Scale;

/// The paper on ORTHRUS, from which the figures `orthrus-…` are.
pub(super) static ORTHRUS: Paper =
    Paper { name: "orthrus", title: "Design Principles for Scaling Multi-core OLTP Under High Contention" };

/// The names of the series, as in the paper.
pub(super) const WAIT_DIE: &str = "wait-die";
pub(super) const WAIT_FOR: &str = "wait-for graph";
pub(super) const DREADLOCKS: &str = "Dreadlocks";
pub(super) const DEADLOCK_FREE: &str = "deadlock-free";
pub(super) const TIMEOUT: &str = "time-out";

/// The paper's ways to detect or avoid deadlocks while a transaction runs.
pub(super) const HANDLING: [&str; 3] = [WAIT_DIE, WAIT_FOR, DREADLOCKS];

/// Returns the series of the paper's deadlock policies, and of time-outs beside them.
pub(super) fn policies() -> Vec<Series> {
    vec![
        Series::throughput(DEADLOCK_FREE, "2pl-ordered"),
        Series::throughput(WAIT_DIE, "2pl-waitdie"),
        Series::throughput(WAIT_FOR, "2pl-waitfor"),
        Series::throughput(DREADLOCKS, "2pl-dreadlocks"),
        Series::throughput(TIMEOUT, "2pl-timeout"),
    ]
}

/// Returns the command for the paper's table, whose rows have ten columns of 100 bytes. The table has fewer rows here.
pub(super) fn table(scale: &Scale) -> String {
    let records = scale.pick(1_000_000, 100_000, 200);
    format!("ycsb --records {records} --fields 10 --value-bytes 100")
}

/// Returns the command for the paper's table if the series are [`policies`], of which one ends deadlocks by time-out.
pub(super) fn table_of_policies(scale: &Scale) -> String {
    format!("{} --deadlock-time-outs", table(scale))
}

/// Returns the options of transactions of ten read-modify-writes, of which `hot_ops` are on hot rows at `position`.
pub(super) fn ten_updates(threads: u64, hot_records: u64, hot_ops: u64, position: &str) -> String {
    format!(
        "--rmw --ops 10 --hot-records {hot_records} --hot-ops {hot_ops} --hot-position {position} --threads {threads}"
    )
}

/// Returns the number of hot rows at which a transaction conflicts with as many others in flight as in the paper, about
/// five with 80 threads on 64 hot rows. Each transaction updates two hot rows. With few threads there is no such
/// number; then it is four, the least at which some transactions conflict with no other.
pub(super) fn as_contended_as_the_paper(threads: u64) -> u64 {
    let meeting = |threads: u64, hot: u64| {
        let (hot, others) = (hot as f64, threads as f64 - 1.0);
        others * (1.0 - (hot - 2.0) * (hot - 3.0) / (hot * (hot - 1.0)))
    };
    let wanted = meeting(80, 64);
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
}
