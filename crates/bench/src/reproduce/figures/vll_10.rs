//! VLL, Fig. 10: partitions on cores, by contention.

use super::vll::{HSTORE, PER_CORE, SCA, VLL, VLL_PAPER, hot_records, label, partition_engines, partitions};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, everywhere, leads};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "vll-10",
    paper: &VLL_PAPER,
    place: "Fig. 10, §3.3.1",
    title: "A partition on each core, as contention rises",
    there: "As Fig. 9, with 20 % of the transactions on two partitions, and more or fewer hot records in each.",
    here: "As our Fig. 9: one machine, a partition on each core, messages held back for 100 µs, 16 blocked \
           transactions to a queue and 62 transactions to a thread.",
    plan,
    claims: &CLAIMS,
};

fn plan(scale: &Scale) -> Plan {
    let rows = partitions(scale);
    let [low, high] = hot_records(scale);
    let full = &[10_000, 3000, 1000, 300, 100, 30, 10, 3, 1][..];
    let hot: Vec<u64> = scale.pick(full.to_vec(), vec![low, high, 1], vec![low, 1]);
    let panel = |id, length: &str| {
        let point = |&hot: &u64| {
            let index = (hot as f64).recip();
            let options = format!("--{length} --hot-records {hot} --multi-partition 0.2");
            Point { x: index, label: label(index), rows: rows.clone(), options }
        };
        Panel { id, title: length.to_owned(), points: hot.iter().map(point).collect(), series: partition_engines() }
    };
    Plan {
        chart: Chart::Curves { x: "contention index" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![panel("a", "short"), panel("b", "long")],
    }
}

static CLAIMS: [Claim; 4] = [
    Claim {
        text: "VLL is always faster with SCA, even at low contention.",
        criterion: "VLL with SCA is at least 1.00 times VLL at every point of (a) and (b).",
        judge: |results| sca_leads(results, 1.0),
        weaker: Some(Weaker {
            criterion: "It is at least 0.95 times VLL at every point.",
            judge: |results| sca_leads(results, 1.0 - TOLERANCE),
        }),
        otherwise: "While a partition looks for a transaction in the queue, a message may wait for it.",
    },
    Claim {
        text: "SCA becomes more important as contention rises, and stays so where it is highest, since the front of a \
               queue may be waiting for a message.",
        criterion: "In (a) and in (b), the ratio of VLL with SCA to VLL is at least 1.05 at the last point, and \
                    greater than at the first.",
        judge: |results| all(["a", "b"].map(|panel| rises(results, panel, SCA, VLL, 1.0 + TOLERANCE))),
        weaker: None,
        otherwise: "With one hot record, whoever is behind a transaction that waits for a message conflicts with it.",
    },
    Claim {
        text: "The lock manager in each partition catches up with VLL as contention rises, and is slightly ahead in \
               the end.",
        criterion: "In (a) and in (b), the ratio of the per-core lock manager to VLL with SCA is at least 1.00 at the \
                    last point, and greater than at the first.",
        judge: |results| all(["a", "b"].map(|panel| rises(results, panel, PER_CORE, SCA, 1.0))),
        weaker: Some(Weaker {
            criterion: "In (a) and in (b), the ratio of the per-core lock manager to VLL with SCA is at least 0.95 at \
                        the last point, and greater than at the first.",
            judge: |results| all(["a", "b"].map(|panel| rises(results, panel, PER_CORE, SCA, 1.0 - TOLERANCE))),
        }),
        otherwise: "SCA here looks again whenever a transaction ends, and finds what the queues would have known.",
    },
    Claim {
        text: "H-Store is unaffected by contention: it is serial anyway.",
        criterion: "H-Store at the last point is 0.95 to 1.05 times what it is at the first, in (a) and in (b).",
        judge: |results| hstore_is_steady(results, TOLERANCE),
        weaker: Some(Weaker {
            criterion: "It is 0.85 to 1.15 times.",
            judge: |results| hstore_is_steady(results, 0.15),
        }),
        otherwise: "A hot record is in the cache.",
    },
];

/// Decides whether VLL with SCA is at least `least` times as fast as VLL at all points of both panels.
fn sca_leads(results: &Results, least: f64) -> Option<Finding> {
    all(["a", "b"].map(|panel| leads(results, panel, everywhere(results, panel), SCA, &[VLL], least)))
}

/// Decides whether H-Store's throughput at the last point differs from that at the first by at most the share
/// `tolerance`.
fn hstore_is_steady(results: &Results, tolerance: f64) -> Option<Finding> {
    let steady = |panel| {
        let (first, last) = (results.median(panel, HSTORE, At::First)?, results.median(panel, HSTORE, At::Last)?);
        let share = last / first.max(f64::MIN_POSITIVE);
        let evidence = format!("({panel}) H-Store at the last point is {share:.2} times the first");
        Some(Finding { holds: (share - 1.0).abs() <= tolerance, evidence })
    };
    all([steady("a"), steady("b")])
}

/// Decides whether the ratio of `over` to `under` is at least `least` at the last point, and greater than at the first
/// point.
fn rises(results: &Results, panel: &str, over: &str, under: &str, least: f64) -> Option<Finding> {
    let ratio = |at| results.ratio(panel, at, over, under);
    let (first, last) = (ratio(At::First)?, ratio(At::Last)?);
    let evidence = format!("({panel}) {over} is {first:.2} times {under} at the first point, {last:.2} at the last");
    Some(Finding { holds: last >= least && last > first, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match made.series {
            HSTORE => 10.0,
            PER_CORE => 80.0 - 40.0 * made.way,
            VLL => 95.0 - 80.0 * made.way,
            _ => 100.0 - 62.0 * made.way,
        };
        check(&FIGURE, paper, &[true; 4]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            HSTORE => 10.0 + 5.0 * made.way,
            PER_CORE => 80.0 - 60.0 * made.way,
            VLL => 100.0 - 40.0 * made.way,
            _ => 90.0 - 40.0 * made.way,
        };
        check(&FIGURE, other, &[false; 4]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match made.series {
            HSTORE => 10.0 + made.way,
            PER_CORE => 80.0 - 33.0 * made.way,
            VLL => 100.0 - 50.0 * made.way,
            _ => 97.0 - 48.5 * made.way,
        };
        check_weaker(&FIGURE, less, &[true; 3]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            HSTORE => 10.0 + 5.0 * made.way,
            PER_CORE => 80.0 - 60.0 * made.way,
            VLL => 100.0 - 40.0 * made.way,
            _ => 90.0 - 40.0 * made.way,
        };
        check_weaker(&FIGURE, other, &[false; 3]);
    }
}
