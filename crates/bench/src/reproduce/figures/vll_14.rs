//! VLL, Fig. 14: four managers of range locks, by how many transactions wait with their locks.

use super::vll::{BLOCKS, BLOCKS_SCA, RANGES, RANGES_SCA, VLL_PAPER, greatest_ratio};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, all, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::At;
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "vll-14",
    paper: &VLL_PAPER,
    place: "Fig. 14, §3.4.1",
    title: "Locks on ranges of keys, as transactions wait with their locks",
    there: "Each transaction locks one range; a share of them then waits, for 100 ms (a, b) or 500 ms (c, d), as if \
            for another machine. The ends of a range have 15 bits in common on average (a, c), or 6 (b, d). The \
            standard manager keeps ranges in a sorted map and splits them where they overlap; the hierarchical one has \
            a request queue for each prefix. One thread.",
    here: "The same, with keys of 32 bits, and delays of 100 and 500 µs: with the milliseconds of the text nothing but \
           delays could be measured. Ranges are locked exclusively. VLLR is the paper's: four counters for each \
           prefix, and an analysis with bit maps that ends when it has found a transaction. Beside it there is ours, \
           which the paper has not: it counts once for six levels of prefixes, and one exact analysis finds all that \
           can run. Under all managers, and at either contention, 100 transactions may be blocked before no new ones \
           begin: a limit of blocked transactions is met early where contention is high, and late or never where it is \
           low, so that it need not be set for each (§2.1). The paper does not say what its limit is. The empty prefix \
           is counted, too, for ranges that have no other in common.",
    plan,
    claims: &CLAIMS,
};

const STANDARD: &str = "standard range lock manager";
const HIERARCHICAL: &str = "hierarchical lock manager";

/// The number of blocked transactions at which no new ones begin, under every manager and at each level of contention.
const BLOCKED_LIMIT: u64 = 100;

fn plan(scale: &Scale) -> Plan {
    let shares: &[u64] = scale.pick(&[0, 20, 40, 60, 80, 100], &[0, 100], &[0, 100]);
    let panel = |id, delay_us: u64, contention: &str, prefix_bits: u64| {
        let options = |share: u64| {
            let delayed = share as f64 / 100.0;
            format!(
                "--threads 1 --random-ends --prefix-bits {prefix_bits} --blocked-limit {BLOCKED_LIMIT} --delayed \
                 {delayed} --delay-us {delay_us}"
            )
        };
        Panel {
            id,
            title: format!("{delay_us} µs, {contention} contention"),
            points: shares.iter().map(|&share| Point::at(share, "range", options(share))).collect(),
            series: vec![
                Series::throughput(RANGES, "vllr"),
                Series::throughput(RANGES_SCA, "vllr-sca"),
                Series::throughput(BLOCKS, "vllr-blocks"),
                Series::throughput(BLOCKS_SCA, "vllr-blocks-sca"),
                Series::throughput(STANDARD, "standard"),
                Series::throughput(HIERARCHICAL, "hierarchical"),
            ],
        }
    };
    Plan {
        chart: Chart::Curves { x: "transactions that wait, %" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![
            panel("a", 100, "low", 15),
            panel("b", 100, "high", 6),
            panel("c", 500, "low", 15),
            panel("d", 500, "high", 6),
        ],
    }
}

static CLAIMS: [Claim; 6] = [
    Claim {
        text: "Under low contention VLLR beats both other managers: it neither searches and rebalances a tree nor puts \
               requests into queues.",
        criterion: "VLLR with SCA is at least 1.05 times each of the two at every point of (a) and (c) at which \
                    transactions wait; when nobody waits it is at least 2.00 times the hierarchical manager.",
        judge: |results| {
            let beats = |panel| {
                let points = (1..results.points(panel)).map(At::Number);
                leads(results, panel, points, RANGES_SCA, &[STANDARD, HIERARCHICAL], 1.0 + TOLERANCE)
            };
            let first = |panel| leads(results, panel, only(At::First), RANGES_SCA, &[HIERARCHICAL], 2.0);
            all([beats("a"), beats("c"), first("a"), first("c")])
        },
        weaker: None,
        otherwise: "It depends on how many transactions are under way: the more there are, the larger the map is.",
    },
    Claim {
        text: "The standard manager costs more than VLLR even when nobody waits.",
        criterion: "When nobody waits, VLLR is at least 1.05 times the standard manager in (a) and in (c).",
        judge: |results| {
            let beats = |panel| leads(results, panel, only(At::First), RANGES, &[STANDARD], 1.0 + TOLERANCE);
            all([beats("a"), beats("c")])
        },
        weaker: None,
        otherwise: "With one transaction at a time the map is empty here: a range that nobody holds is not in it, and \
                    there is nothing to search, split or rebalance.",
    },
    Claim {
        text: "The hierarchical manager pays for many intention locks, each with its request in a queue: where it is \
               not held up by contention, that bounds it.",
        criterion: "When nobody waits, it is at most 0.50 times VLLR in each panel. The paper calls its overhead very \
                    high and gives no number.",
        judge: |results| {
            let twice = |panel| leads(results, panel, only(At::First), RANGES, &[HIERARCHICAL], 2.0);
            all(["a", "b", "c", "d"].map(twice))
        },
        weaker: None,
        otherwise: "Lock heads here know how many requests of each mode are granted, so that nobody walks a queue.",
    },
    Claim {
        text: "Under high contention, when transactions wait, SCA is critical to VLLR.",
        criterion: "The greatest ratio of VLLR with SCA to VLLR is at least 2.00 in (b) and in (d). The paper calls \
                    the drop without it significant and gives no number.",
        judge: |results| {
            let gains = |panel| {
                let gain = greatest_ratio(results, panel, RANGES_SCA, RANGES)?;
                let evidence = format!("({panel}) at its best, SCA is {gain:.2} times VLLR without it");
                Some(Finding { holds: gain >= 2.0, evidence })
            };
            all([gains("b"), gains("d")])
        },
        weaker: None,
        otherwise: "With few transactions blocked the front of the queue is all there is to find.",
    },
    Claim {
        text: "SCA costs little, and where nobody waits it is of no use.",
        criterion: "When nobody waits, VLLR with SCA and VLLR are within 5 % of each other in each panel.",
        judge: |results| {
            all(["a", "b", "c", "d"].map(|panel| {
                let ratio = results.ratio(panel, At::First, RANGES_SCA, RANGES)?;
                let evidence = format!("({panel}) with SCA VLLR is {ratio:.2} times VLLR without it when nobody waits");
                Some(Finding { holds: (ratio - 1.0).abs() <= TOLERANCE, evidence })
            }))
        },
        weaker: None,
        otherwise: "Nothing else runs then but the same code.",
    },
    Claim {
        text: "The standard manager, which knows ranges exactly, declines the most gracefully, and beats VLLR when \
               contention is high and many transactions wait for long.",
        criterion: "At the last point of (d) it is at least 1.05 times VLLR, and VLLR with SCA.",
        judge: |results| leads(results, "d", only(At::Last), STANDARD, &[RANGES, RANGES_SCA], 1.0 + TOLERANCE),
        weaker: None,
        otherwise: "Where all wait for their delays, few of those blocked under VLLR could run under the standard \
                    manager: blocked ranges are in the way of others too, and they are exact or not as the granted \
                    ones are.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::check;

    #[test]
    fn claims_are_judged_as_they_read() {
        let value = |series: &str, panel: &str, way: f64| match series {
            RANGES if way > 0.0 && (panel == "b" || panel == "d") => 10.0,
            RANGES | RANGES_SCA => 100.0,
            STANDARD if panel == "d" && way == 1.0 => 120.0,
            STANDARD => 90.0,
            _ => 45.0,
        };
        check(&FIGURE, |made| value(made.series, made.panel, made.way), &[true; 6]);
        check(&FIGURE, |_| 100.0, &[false, false, false, false, true, false]);
        let reversed = |series: &str, panel: &str, way: f64| match series {
            RANGES_SCA if way == 0.0 => 92.0,
            STANDARD if panel == "c" => 99.0,
            _ => value(series, panel, way),
        };
        let expected = [false, false, true, true, false, true];
        check(&FIGURE, |made| reversed(made.series, made.panel, made.way), &expected);
    }
}
