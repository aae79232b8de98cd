//! What the figures of the interactive paper share: its three methods, its tables, and its numbers of clients.

use crate::reproduce::claim::Finding;
use crate::reproduce::figure::{Paper, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

/// The paper.
pub(super) static INTERACTIVE: Paper =
    Paper { name: "interactive", title: "Interactive Transaction Processing for In-Memory Database System" };

/// The methods, as the paper names them.
pub(super) const ILOCK: &str = "iLock";
pub(super) const ROW_LOCKING: &str = "Row-Locking";
pub(super) const LOCK_TABLE: &str = "Lock-Table";

/// The methods with their engines, each under the execution model that the paper gives it (§5).
pub(super) const METHODS: [(&str, &str); 3] =
    [(ILOCK, "ilock:coroutine"), (ROW_LOCKING, "row-nowait:request"), (LOCK_TABLE, "lock-table:thread")];

/// All that the methods commit.
pub(super) fn methods() -> Vec<Series> {
    METHODS.map(|(name, server)| Series::throughput(name, server)).to_vec()
}

/// The table of the micro benchmark.
pub(super) fn micro(scale: &Scale) -> String {
    format!("interactive --over-wire --records {}", scale.pick(1_000_000, 100_000, 500))
}

/// Numbers of clients of the micro benchmark.
pub(super) fn clients(scale: &Scale) -> &'static [u64] {
    scale.pick(&[10, 50, 100, 200, 300, 500], &[10, 300], &[2, 4])
}

/// Adds to a finding what the server's processors did for it: clients on the same machine have no part in that.
pub(super) fn with_server_cpu(results: &Results, panel: &str, at: At, finding: Option<Finding>) -> Option<Finding> {
    let Finding { holds, mut evidence } = finding?;
    let cpu = |name| results.median_of(panel, name, at, |run| run.cpu_us_per_txn);
    let [ilock, row_locking, lock_table] = [cpu(ILOCK)?, cpu(ROW_LOCKING)?, cpu(LOCK_TABLE)?];
    evidence += &format!(
        "; a transaction took the server {ilock:.0} µs of CPU under {ILOCK}, {row_locking:.0} under {ROW_LOCKING}, \
         {lock_table:.0} under {LOCK_TABLE}"
    );
    Some(Finding { holds, evidence })
}
