//! ORTHRUS, Fig. 8: TPC-C as warehouses are added.

use super::orthrus::{DEADLOCK_FREE, ORTHRUS, ORTHRUS_PAPER, busy};
use super::orthrus_tpcc::{FEW, MANY, TWO_PHASE, neworder_payment, systems, tpcc, warehouses};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "orthrus-8",
    paper: &ORTHRUS_PAPER,
    place: "Fig. 8, §4.4.1",
    title: "New-Order and Payment as warehouses are added",
    there: "TPC-C's New-Order and Payment, half and half, on 80 cores, up to 128 warehouses. 2PL has Dreadlocks. ORTHRUS \
            locks with 16 threads, each for the rows of its warehouses, and executes on 64.",
    here: "The same transactions on a tenth of the rows in a warehouse, with a thread on each core, or four on each of \
           fewer than eight cores. There are as many threads for a warehouse as in the paper: the second point stands \
           for its 16 warehouses, the last one for 128.",
    plan,
    claims: &CLAIMS,
};

/// The point that stands for the paper's 16 warehouses, at every scale.
const AT_FEW: At = At::Number(1);

fn plan(scale: &Scale) -> Plan {
    let threads = busy(scale.cores);
    let there: &[u64] = scale.pick(&[4, FEW, 32, 64, MANY], &[4, FEW, MANY], &[4, FEW, MANY]);
    let mut counts: Vec<u64> = Vec::new();
    for &there in there {
        // With few threads two of the paper's numbers may stand for the same number here.
        let more_than_before = counts.last().map_or(1, |&before| before + 1);
        counts.push(warehouses(threads, there).max(more_than_before));
    }
    let point = |count| Point::at(count, &tpcc(scale, count), neworder_payment(threads));
    let panel = Panel {
        id: "a",
        title: format!("{threads} threads"),
        points: counts.into_iter().map(point).collect(),
        series: systems(),
    };
    Plan {
        chart: Chart::Curves { x: "warehouses" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![panel],
    }
}

static CLAIMS: [Claim; 3] = [
    Claim {
        text: "With 16 warehouses for 80 cores ORTHRUS is 2 times as fast as deadlock-free locking, and nearly ten \
               times as fast as 2PL.",
        criterion: "At the second point, ORTHRUS is at least 2.00 times deadlock-free locking and 9.00 times 2PL. What \
                    is nearly ten is ours.",
        judge: |results| ahead(results, AT_FEW, 2.0, 9.0),
        weaker: Some(Weaker {
            criterion: "It is at least 1.05 times each of them.",
            judge: |results| ahead(results, AT_FEW, 1.0 + TOLERANCE, 1.0 + TOLERANCE),
        }),
        otherwise: "What ORTHRUS avoids is that dozens of cores ask for one latch and spin on one digest. Few cores do \
                    neither, and some of its threads execute nothing.",
    },
    Claim {
        text: "With 128 warehouses ORTHRUS is still 1.3 times as fast as deadlock-free locking and 1.5 times as fast as \
               2PL.",
        criterion: "At the last point, ORTHRUS is at least 1.30 times deadlock-free locking and 1.50 times 2PL.",
        judge: |results| ahead(results, At::Last, 1.3, 1.5),
        weaker: Some(Weaker {
            criterion: "It is at least 1.05 times each of them.",
            judge: |results| ahead(results, At::Last, 1.0 + TOLERANCE, 1.0 + TOLERANCE),
        }),
        otherwise: "Caches that hold either locks or rows are an advantage if the other role has cores of its own. On \
                    few cores both roles share a core's cache, or half of the cores execute nothing.",
    },
    Claim {
        text: "Its lead shrinks as warehouses are added, since contention falls.",
        criterion: "ORTHRUS is a smaller multiple of deadlock-free locking and of 2PL at the last point than at the \
                    second.",
        judge: |results| {
            let shrinks = |other| {
                let [few, many] = [AT_FEW, At::Last].map(|at| results.ratio("a", at, ORTHRUS, other));
                let (few, many) = (few?, many?);
                let evidence = format!("ORTHRUS is {few:.2} times {other} at the second point, {many:.2} at the last");
                Some(Finding { holds: many < few, evidence })
            };
            all([shrinks(DEADLOCK_FREE), shrinks(TWO_PHASE)])
        },
        weaker: None,
        otherwise: "If there is no lead at high contention, nothing can shrink.",
    },
];

/// Decides whether ORTHRUS has at a point at least `deadlock_free` times the throughput of deadlock-free locking and
/// `two_phase` times that of 2PL.
fn ahead(results: &Results, at: At, deadlock_free: f64, two_phase: f64) -> Option<Finding> {
    let lead = |other, least| leads(results, "a", only(at), ORTHRUS, &[other], least);
    all([lead(DEADLOCK_FREE, deadlock_free), lead(TWO_PHASE, two_phase)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;
    use crate::reproduce::scale::Size;

    #[test]
    fn the_points_have_as_many_warehouses_for_a_thread_as_in_the_paper() {
        for (cores, expected) in [(1, [1, 2, 3, 4, 6]), (2, [1, 2, 3, 6, 13]), (80, [4, 16, 32, 64, 128])] {
            let plan = plan(&Scale { size: Size::Full, cores });
            let counts: Vec<_> = plan.panels[0].points.iter().map(|point| point.x).collect();
            assert_eq!(counts, expected.map(f64::from), "{cores} cores");
        }
    }

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match made.series {
            ORTHRUS => 20.0 + 10.0 * made.way,
            DEADLOCK_FREE => 2.0 + 20.0 * made.way,
            _ => 20.0 * made.way * made.way * made.way,
        };
        check(&FIGURE, paper, &[true; 3]);
        check(&FIGURE, |_| 10.0, &[false; 3]);
        // The lead shrinks, but is too small from the beginning.
        let few = |made: MadeUpPoint<'_>| match made.series {
            ORTHRUS => 20.0,
            _ => 2.0 + 18.0 * made.way * made.way * made.way * made.way,
        };
        check(&FIGURE, few, &[false, false, true]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match made.series {
            ORTHRUS => 12.0,
            _ => 10.0,
        };
        check_weaker(&FIGURE, less, &[true; 2]);
        check_weaker(&FIGURE, |_| 10.0, &[false; 2]);
    }
}
