//! VLL, Fig. 9: partitions on cores, by how many transactions span several of them.

use super::vll::{HSTORE, PER_CORE, SCA, VLL, VLL_PAPER, greatest_ratio, hot_records, partition_engines, partitions};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, everywhere, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "vll-9",
    paper: &VLL_PAPER,
    place: "Fig. 9, §3.3.1",
    title: "A partition on each core, by the share of multi-partition transactions",
    there: "Ten records read and updated, one of them hot in each partition that the transaction touches; short \
            transactions (a, b) and long ones (c, d); an index of 0.0001 (a, c) or 0.01 (b, d). Eight machines with \
            five cores each, every core with a partition and one thread, and a network between the machines. All \
            transactions are ordered before they are run.",
    here: "One machine, a partition on each core (two at least), messages between them through rings and held back for \
           100 µs. Transactions are ordered when they begin, which the paper's are before. Long ones compute ten \
           microseconds for each record. What bounds a partition's queue is 16 blocked transactions, as in the paper, \
           whose own limit is not said; a thread keeps no more than 62 transactions of any kind, which bounds those \
           that wait for messages where most do. The single-threaded VLL with arrayed counters is not among our \
           engines.",
    plan,
    claims: &CLAIMS,
};

/// The share of multi-partition transactions at the point of the claims, in per cent. It is twice the largest share for
/// which H-Store is made.
const SOME: u64 = 20;

fn plan(scale: &Scale) -> Plan {
    let rows = partitions(scale);
    let shares: &[u64] = scale.pick(&[0, 5, 10, SOME, 40, 60, 80, 100], &[0, SOME, 100], &[0, SOME]);
    let panel = |id, length: &str, contention: &str, hot: u64| {
        let options = |share: u64| {
            let multi_partition = share as f64 / 100.0;
            format!("--{length} --hot-records {hot} --multi-partition {multi_partition}")
        };
        let points = shares.iter().map(|&share| Point::at(share, &rows, options(share))).collect();
        Panel { id, title: format!("{length}, {contention} contention"), points, series: partition_engines() }
    };
    let [low, high] = hot_records(scale);
    Plan {
        chart: Chart::Curves { x: "multi-partition transactions, %" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![
            panel("a", "short", "low", low),
            panel("b", "short", "high", high),
            panel("c", "long", "low", low),
            panel("d", "long", "high", high),
        ],
    }
}

static CLAIMS: [Claim; 6] = [
    Claim {
        text: "Without multi-partition transactions H-Store, which takes no locks, is not much faster than VLL.",
        criterion: "At the first point of (a) and (c), VLL is at least 0.95 times H-Store.",
        judge: |results| {
            let near = |panel| leads(results, panel, only(At::First), VLL, &[HSTORE], 1.0 - TOLERANCE);
            all([near("a"), near("c")])
        },
        weaker: None,
        otherwise: "Ten counters go up and down; where a transaction does little else, that may show.",
    },
    Claim {
        text: "H-Store performs extremely poorly with multi-partition transactions: it waits for messages and does \
               nothing meanwhile.",
        criterion: "At 20 % multi-partition transactions VLL is at least 5.00 times H-Store in (a), and with SCA it is \
                    at least 2.00 times H-Store in (b), (c) and (d). The paper shows curves and gives no number.",
        judge: |results| {
            let twice = |panel| leads(results, panel, some(results, panel)?, SCA, &[HSTORE], 2.0);
            all([leads(results, "a", some(results, "a")?, VLL, &[HSTORE], 5.0), twice("b"), twice("c"), twice("d")])
        },
        weaker: None,
        otherwise: "What others can do meanwhile is bounded by how many transactions may be blocked, and by the \
                    messages.",
    },
    Claim {
        text: "VLL beats a lock manager in each partition by 10 to 30 % when few transactions span partitions, and by \
               less when many do.",
        criterion: "At the first point of (a), VLL with SCA is at least 1.10 times the per-core lock manager, and that \
                    ratio is smaller at the last point.",
        judge: |results| beats_managers(results, 1.1),
        weaker: Some(Weaker {
            criterion: "It is at least 1.05 times the per-core lock manager at the first point, and less at the last.",
            judge: |results| beats_managers(results, 1.0 + TOLERANCE),
        }),
        otherwise: "The request queues here are in the hash table's own lines and allocate nothing when nobody waits.",
    },
    Claim {
        text: "Under high contention SCA is extremely important: it makes short transactions up to 130 % faster, long \
               ones up to 100 %.",
        criterion: "The greatest ratio of VLL with SCA to VLL is at least 2.30 in (b) and at least 2.00 in (d).",
        judge: |results| all([sca_gains(results, "b", 2.3), sca_gains(results, "d", 2.0)]),
        weaker: Some(Weaker {
            criterion: "It is at least 1.30 in both.",
            judge: |results| all([sca_gains(results, "b", 1.3), sca_gains(results, "d", 1.3)]),
        }),
        otherwise: "Two partitions stall each other less than forty do: the front of a queue waits for one message.",
    },
    Claim {
        text: "Under low contention SCA costs next to nothing: it runs when there is nothing else to do.",
        criterion: "VLL with SCA is at least 0.95 times VLL at every point of (a) and (c).",
        judge: |results| {
            let near = |panel| leads(results, panel, everywhere(results, panel), SCA, &[VLL], 1.0 - TOLERANCE);
            all([near("a"), near("c")])
        },
        weaker: None,
        otherwise: "While a partition looks for a transaction in the queue, a message may wait for it.",
    },
    Claim {
        text: "Multi-partition transactions cost all systems throughput.",
        criterion: "In each panel, each system is below 0.95 times its first point at the last.",
        judge: |results| all(["a", "b", "c", "d"].map(|panel| falls(results, panel))),
        weaker: None,
        otherwise: "While one transaction waits for a message others run, as long as there are enough of them.",
    },
];

/// Decides whether VLL with SCA is at least `least` times as fast as the per-core lock manager if no transaction spans
/// partitions, and leads by less if all transactions do.
fn beats_managers(results: &Results, least: f64) -> Option<Finding> {
    let ratio = |at| results.ratio("a", at, SCA, PER_CORE);
    let (first, last) = (ratio(At::First)?, ratio(At::Last)?);
    let evidence = format!(
        "(a) VLL with SCA is {first:.2} times the per-core lock manager at the first point, {last:.2} at the last"
    );
    Some(Finding { holds: first >= least && last < first, evidence })
}

/// Decides whether SCA makes VLL at least `least` times as fast at some point.
fn sca_gains(results: &Results, panel: &str, least: f64) -> Option<Finding> {
    let gain = greatest_ratio(results, panel, SCA, VLL)?;
    Some(Finding { holds: gain >= least, evidence: format!("({panel}) at its best, SCA is {gain:.2} times VLL") })
}

/// Returns the point with [`SOME`] per cent of multi-partition transactions, as an iterator over it alone.
fn some(results: &Results, panel: &str) -> Option<impl Iterator<Item = At> + Clone + use<>> {
    let label = SOME.to_string();
    (0..results.points(panel)).map(At::Number).find(|&at| results.label(panel, at) == label).map(only)
}

/// Decides whether every system has less throughput at the last point than at the first. The evidence names the system
/// that loses least.
fn falls(results: &Results, panel: &str) -> Option<Finding> {
    let share = |name| {
        let (first, last) = (results.median(panel, name, At::First)?, results.median(panel, name, At::Last)?);
        Some((last / first.max(f64::MIN_POSITIVE), name))
    };
    let shares = [HSTORE, PER_CORE, VLL, SCA].map(share).into_iter().collect::<Option<Vec<_>>>()?;
    let (share, name) = shares.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let evidence = format!("({panel}) {name} loses least: {share:.2} times its first point");
    Some(Finding { holds: share < 1.0 - TOLERANCE, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            (_, HSTORE) if made.way == 0.0 => 100.0,
            (_, HSTORE) => 4.0,
            ("a" | "c", PER_CORE) => 80.0 - 30.0 * made.way,
            (_, PER_CORE) => 70.0 - 40.0 * made.way,
            ("a" | "c", VLL) => 99.0 - 45.0 * made.way,
            ("a" | "c", _) => 99.0 - 46.0 * made.way,
            (_, VLL) => 99.0 - 83.0 * made.way,
            _ => 99.0 - 60.0 * made.way,
        };
        check(&FIGURE, paper, &[true; 6]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            HSTORE => 100.0,
            PER_CORE => 100.0 - 50.0 * made.way,
            VLL => 90.0,
            _ => 95.0 - 20.0 * made.way,
        };
        check(&FIGURE, other, &[false; 6]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", SCA) => 86.0 - 10.0 * made.way,
            ("a", _) => 80.0,
            (_, VLL) => 50.0,
            _ => 75.0,
        };
        check_weaker(&FIGURE, less, &[true; 2]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            PER_CORE => 100.0,
            VLL => 90.0,
            _ => 95.0,
        };
        check_weaker(&FIGURE, other, &[false; 2]);
    }
}
