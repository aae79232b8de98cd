//! The common parts of the VLL paper's figures: the names of the systems that it compares, and its partitions.

use crate::reproduce::figure::Paper;
use crate::reproduce::plan::Series;
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;
use hotrow_runtime::PoolConfig;

/// The paper on VLL, from which the figures `vll-…` are.
pub(super) static VLL_PAPER: Paper =
    Paper { name: "vll", title: "VLL: a lock manager redesign for main memory database systems" };

/// The names of the series, as in the paper.
pub(super) const NOTHING: &str = "no locking";
pub(super) const VLL: &str = "VLL";
pub(super) const SCA: &str = "VLL with SCA";
pub(super) const RANGES: &str = "VLLR";
pub(super) const RANGES_SCA: &str = "VLLR with SCA";
pub(super) const BLOCKS: &str = "VLLR, six levels at a step";
pub(super) const BLOCKS_SCA: &str = "VLLR, six levels at a step, with SCA";
pub(super) const TWO_PHASE: &str = "2PL (wait-for graph)";
pub(super) const ATOMIC: &str = "2PL, deadlock-free";
pub(super) const HSTORE: &str = "H-Store";
pub(super) const PER_CORE: &str = "per-core lock manager";

/// The additional time of a message between two partitions, in microseconds.
const NETWORK_DELAY_US: u64 = 100;

/// The number of transactions that a worker keeps: as many as it can. The paper bounds a queue by the number of blocked
/// transactions in it (§2.1) and by nothing else; transactions that wait for a message do not count.
pub(super) const SLOTS: usize = PoolConfig::MAX_SLOTS;

/// Returns the series of the systems that have a partition on each core (§3.1.1).
pub(super) fn partition_engines() -> Vec<Series> {
    vec![
        Series::throughput(HSTORE, "hstore"),
        Series::throughput(PER_CORE, "2pl-st"),
        Series::throughput(VLL, "vll-st"),
        Series::throughput(SCA, "vll-st-sca"),
    ]
}

/// Returns the command for the microbenchmark's tables, with a partition on each core, at least two partitions, and a
/// network between them.
pub(super) fn partitions(scale: &Scale) -> String {
    let partitions = scale.cores.max(2);
    let records = partitions * scale.pick(1_000_000, 100_000, 200);
    format!(
        "micro --records {records} --partitions {partitions} --threads {partitions} --network-delay-us \
         {NETWORK_DELAY_US} --slots {SLOTS}"
    )
}

/// Returns the numbers of hot records in each partition, at the paper's low and at its high contention.
pub(super) fn hot_records(scale: &Scale) -> [u64; 2] {
    scale.pick([10_000, 100], [10_000, 100], [100, 10])
}

/// Returns the greatest ratio of the series `over` to the series `under` among the points of a panel.
pub(super) fn greatest_ratio(results: &Results, panel: &str, over: &str, under: &str) -> Option<f64> {
    let ratios = (0..results.points(panel)).map(|point| results.ratio(panel, At::Number(point), over, under));
    ratios.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::max)
}

/// Returns a contention index with one significant digit, or two if the first is a one.
pub(super) fn label(index: f64) -> String {
    let first = (-index.log10() - 1e-9).ceil().max(0.0);
    let leading = index * 10_f64.powf(first);
    let digits = first as usize + usize::from(leading < 1.95 && first > 0.0);
    let text = format!("{index:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
