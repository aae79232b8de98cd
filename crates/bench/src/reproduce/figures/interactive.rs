//! The common parts of the interactive paper's figures: its three methods, its tables, and its numbers of clients.

use crate::reproduce::claim::Finding;
use crate::reproduce::figure::Paper;
use crate::reproduce::plan::Series;
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

/// The paper on interactive transactions, from which the figures `interactive-…` are.
pub(super) static INTERACTIVE: Paper =
    Paper { name: "interactive", title: "Interactive Transaction Processing for In-Memory Database System" };

/// The methods, as the paper names them.
pub(super) const ILOCK: &str = "iLock";
pub(super) const ROW_LOCKING: &str = "Row-Locking";
pub(super) const LOCK_TABLE: &str = "Lock-Table";

/// The methods with their engines, each under the execution model that the paper gives it (§5).
pub(super) const METHODS: [(&str, &str); 3] =
    [(ILOCK, "ilock:coroutine"), (ROW_LOCKING, "row-nowait:request"), (LOCK_TABLE, "lock-table:thread")];

/// Returns the series of the methods, with all transactions that they commit.
pub(super) fn methods() -> Vec<Series> {
    METHODS.map(|(name, server)| Series::throughput(name, server)).to_vec()
}

/// Returns the command for the table of the micro benchmark.
pub(super) fn micro(scale: &Scale) -> String {
    format!("interactive {SERVERS} --records {}", scale.pick(1_000_000, 1_000_000, 500))
}

/// The options of the servers: as in the paper, they end deadlocks by time-out (§4.3), and lock each row when a
/// statement comes to it (§4.1).
const SERVERS: &str = "--over-wire --serve-option deadlock-time-outs --serve-option lock-as-it-goes";

/// The time after which a wait counts as a deadlock: a multiple of the length of transactions here.
pub(super) const PATIENCE: &str = "--set deadlock_timeout=100ms";

/// The factor by which runs are longer than those of other figures, so that even a quick run is ten times as long as
/// the wait that ends a deadlock.
pub(super) const STRETCH: u32 = 10;

/// Returns the numbers of clients of the micro benchmark.
pub(super) fn clients(scale: &Scale) -> &'static [u64] {
    scale.pick(&[10, 50, 100, 200, 300, 500], &[10, 300], &[2, 4])
}

/// Adds the server's CPU time per transaction to the evidence of a finding. Clients on the same machine have no part in
/// that time.
pub(super) fn with_server_cpu(results: &Results, panel: &str, at: At, finding: Option<Finding>) -> Option<Finding> {
    let Finding { holds, mut evidence } = finding?;
    let cpu = |name| results.median_of(panel, name, at, |run| run.transactions.cpu_us_per_txn);
    let [ilock, row_locking, lock_table] = [cpu(ILOCK)?, cpu(ROW_LOCKING)?, cpu(LOCK_TABLE)?];
    evidence += &format!(
        "; a transaction took the server {ilock:.0} µs of CPU under {ILOCK}, {row_locking:.0} under {ROW_LOCKING}, \
         {lock_table:.0} under {LOCK_TABLE}"
    );
    Some(Finding { holds, evidence })
}

/// The number of TPC-C's warehouses for each core: the paper has 200 on twelve.
const WAREHOUSES_PER_CORE: u64 = 16;

/// Returns the number of warehouses in figures that do not vary it.
pub(super) fn warehouses(scale: &Scale) -> u64 {
    scale.pick(WAREHOUSES_PER_CORE * scale.cores, 10 * scale.cores, 2)
}

/// Returns the command for TPC-C's tables. To fit into memory, they have a hundredth of the specification's items and
/// stock, and a thirtieth of its customers and orders.
pub(super) fn tpcc(scale: &Scale, warehouses: u64) -> String {
    let (items, customers) = scale.pick((1000, 100), (1000, 100), (100, 10));
    format!("tpcc {SERVERS} --warehouses {warehouses} --items {items} --customers {customers}")
}

/// Returns the numbers of clients of TPC-C: as many for each core as 25 to 500 are for twelve cores.
pub(super) fn terminals(scale: &Scale) -> Vec<u64> {
    scale.pick(vec![2, 4, 8, 16, 25, 40], vec![2, 25], vec![1, 2]).into_iter().map(per_core(scale)).collect()
}

/// Returns the numbers of clients that stand for 100, 200, 300 and 500 on twelve cores.
pub(super) fn busy_terminals(scale: &Scale) -> Vec<u64> {
    scale.pick(vec![8, 16, 25, 40], vec![8, 40], vec![1, 2]).into_iter().map(per_core(scale)).collect()
}

/// Returns the number of clients that stands for 300 on twelve cores.
pub(super) fn clients_for_warehouses(scale: &Scale) -> u64 {
    per_core(scale)(scale.pick(25, 25, 2))
}

fn per_core(scale: &Scale) -> impl Fn(u64) -> u64 {
    let cores = scale.pick(scale.cores, scale.cores, 1);
    move |count| count * cores
}
