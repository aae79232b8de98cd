//! The paper on speculative lock inheritance, and what its figures share: transactions, engines, parts of the time.

use crate::reproduce::claim::Finding;
use crate::reproduce::figure::Paper;
use crate::reproduce::plan::{Panel, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static SLI_PAPER: Paper =
    Paper { name: "sli", title: "Improving OLTP Scalability using Speculative Lock Inheritance" };

/// The engine without inheritance, and the engine with it.
pub(super) const HIER: &str = "hier";
pub(super) const SLI: &str = "sli";

/// The option with which an inherited lock that the next transaction has not used is released, as in the paper.
pub(super) const AS_PRINTED: &str = "--momentum 0";

/// The options with which, in addition, every lock counts as hot, so that inheritance is seen without contention.
pub(super) const ALL_HOT: &str = "--hot-percent 0 --momentum 0";

/// The options with which an inherited lock is kept although some transactions do not use it: none, since that is the
/// engine's default.
pub(super) const WITH_MOMENTUM: &str = "";

/// The names of the bars that claims speak of.
pub(super) const TATP_MIX: &str = "TATP mix";
pub(super) const TPCB: &str = "TPC-B";
pub(super) const PAYMENT: &str = "Payment";
pub(super) const STOCK_LEVEL: &str = "Stock Level";

/// The transactions of TATP that are run alone.
pub(super) const TATP_SINGLE: [&str; 5] = ["getSub", "getDest", "getAccess", "updateSub", "updateLoc"];

/// The bars of the shortest transactions.
pub(super) const SHORT: [&str; 8] =
    [TATP_MIX, "getSub", "getDest", "getAccess", "updateSub", "updateLoc", "forward mix", TPCB];

/// The bars of TATP and TPC-C: the label of each, and the mix of its workload.
const TATP: [(&str, &str); 7] = [
    (TATP_MIX, "standard"),
    (TATP_SINGLE[0], "get-subscriber-data"),
    (TATP_SINGLE[1], "get-new-destination"),
    (TATP_SINGLE[2], "get-access-data"),
    (TATP_SINGLE[3], "update-subscriber-data"),
    (TATP_SINGLE[4], "update-location"),
    ("forward mix", "forward"),
];
const TPCC: [(&str, &str); 6] = [
    ("TPC-C mix", "full"),
    ("TPC-C small mix", "small"),
    (PAYMENT, "payment"),
    ("New Order", "neworder"),
    ("Order Status", "orderstatus"),
    (STOCK_LEVEL, "stocklevel"),
];

/// The bars that are left out when little is measured.
const IN_FULL_ONLY: [&str; 5] = [TATP_SINGLE[1], TATP_SINGLE[3], "forward mix", "TPC-C small mix", "Order Status"];

/// The parts of a transaction's time.
pub(super) const WORK: &str = "work";
pub(super) const LOCK_MANAGER: &str = "lock manager";
pub(super) const CONTENTION: &str = "contention";
pub(super) const INHERITANCE: &str = "inheritance";
pub(super) const WAIT: &str = "waiting for locks";
pub(super) const ABORTED: &str = "aborted attempts";

/// Returns the words that choose TATP's rows. The paper has 100,000 subscribers.
pub(super) fn tatp(scale: &Scale) -> String {
    format!("tatp --subscribers {}", scale.pick(100_000, 10_000, 100))
}

/// Returns the words that choose TPC-B's rows. The paper has 1,000 branches, so that threads seldom meet at one.
pub(super) fn tpcb(scale: &Scale) -> String {
    scale.of_paper("tpcb --scale 1000 --accounts 100".to_owned(), format!("tpcb --scale {}", scale.pick(40, 1, 1)))
}

/// Returns the words that choose TPC-C's rows.
pub(super) fn tpcc(scale: &Scale) -> &'static str {
    let here = scale.pick(
        "tpcc --warehouses 4",
        "tpcc --warehouses 4 --items 10000 --customers 300",
        "tpcc --warehouses 1 --items 100 --customers 10",
    );
    // The paper has 300 warehouses, so that threads seldom meet at one.
    scale.of_paper("tpcc --warehouses 128 --items 1000 --customers 30", here)
}

/// Returns a panel with a bar for each transaction and mix, with this number of threads. If little is measured, some
/// bars are left out.
pub(super) fn bars(scale: &Scale, id: &'static str, title: String, threads: u64, series: Vec<Series>) -> Panel {
    let options = |mix: &str| format!("--mix {mix} --threads {threads}");
    let mut bars: Vec<_> = TATP.iter().map(|&(label, mix)| (label, tatp(scale), options(mix))).collect();
    bars.push((TPCB, tpcb(scale), format!("--threads {threads}")));
    bars.extend(TPCC.iter().map(|&(label, mix)| (label, tpcc(scale).to_owned(), options(mix))));
    bars.retain(|(label, ..)| scale.pick(true, false, false) || !IN_FULL_ONLY.contains(label));
    let point = |(number, (label, rows, options)): (usize, (&str, String, String))| Point {
        x: number as f64,
        label: label.to_owned(),
        rows,
        options,
    };
    Panel { id, title, points: bars.into_iter().enumerate().map(point).collect(), series }
}

/// Returns the point of the first panel whose bar has this label, or `None` if there is none.
pub(super) fn bar(results: &Results, label: &str) -> Option<At> {
    let find = |panel: &Panel| panel.points.iter().position(|point| point.label == label);
    results.plan.panels.first().and_then(find).map(At::Number)
}

/// Returns the sum of the medians of some series at a point.
pub(super) fn sum_at(results: &Results, panel: &str, series: &[&str], at: At) -> Option<f64> {
    series.iter().map(|name| results.median(panel, name, at)).sum()
}

/// Returns the sum of the medians of some series at each point of a panel, with the point.
pub(super) fn sums(results: &Results, panel: &str, series: &[&str]) -> Option<Vec<(At, f64)>> {
    let all = (0..results.points(panel)).map(At::Number);
    all.map(|at| Some((at, sum_at(results, panel, series, at)?))).collect()
}

/// Decides whether the sum of some series is at most `most` per cent at each point of a panel. The evidence is the
/// greatest sum.
pub(super) fn at_most(results: &Results, panel: &str, series: &[&str], most: f64) -> Option<Finding> {
    let (at, sum) = sums(results, panel, series)?.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let evidence =
        format!("({panel}) {} is {sum:.1} % at its most, at {}", series.join(" and "), results.label(panel, at));
    Some(Finding { holds: sum <= most, evidence })
}

/// Decides whether the sum of some series is at least `least` per cent at each point of a panel. The evidence is the
/// least sum.
pub(super) fn at_least(results: &Results, panel: &str, series: &[&str], least: f64) -> Option<Finding> {
    let (at, sum) = sums(results, panel, series)?.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let evidence =
        format!("({panel}) {} is {sum:.1} % at its least, at {}", series.join(" and "), results.label(panel, at));
    Some(Finding { holds: sum >= least, evidence })
}
