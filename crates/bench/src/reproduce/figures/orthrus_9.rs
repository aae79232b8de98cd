//! ORTHRUS, Fig. 9: TPC-C at high contention, as cores are added.

use super::orthrus::{DEADLOCK_FREE, ORTHRUS, ORTHRUS_PAPER, at_busy, busy, equals, growth, share_of_best};
use super::orthrus_tpcc::{FEW, TWO_PHASE, neworder_payment, systems, tpcc, warehouses};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;
use hotrow_txn::number_of;

pub(super) static FIGURE: Figure = Figure {
    id: "orthrus-9",
    paper: &ORTHRUS_PAPER,
    place: "Fig. 9, §4.4.2",
    title: "New-Order and Payment at high contention, as threads are added",
    there: "The transactions of Fig. 8 on 16 warehouses, from 10 to 80 cores.",
    here: "The transactions of our Fig. 8. The threads go up to the cores and then on to four on each core. The number \
           of warehouses is the one that stands for 16 in our Fig. 8. Claims about 80 cores are judged with a thread \
           on each core, or with four on each of fewer than eight cores.",
    plan,
    claims: &CLAIMS,
};

fn plan(scale: &Scale) -> Plan {
    let count = warehouses(busy(scale.cores), FEW);
    let rows = tpcc(scale, count);
    let point = |threads| Point::at(threads, &rows, neworder_payment(threads));
    let panel = Panel {
        id: "a",
        title: number_of(count, "warehouse"),
        points: scale.thread_counts().into_iter().map(point).collect(),
        series: systems(),
    };
    Plan {
        chart: Chart::Curves { x: "threads" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![panel],
    }
}

static CLAIMS: [Claim; 4] = [
    Claim {
        text: "At 80 cores ORTHRUS is 2 times as fast as deadlock-free locking, and nearly ten times as fast as 2PL.",
        criterion: "With the threads that stand for 80, ORTHRUS is at least 2.00 times deadlock-free locking and 9.00 \
                    times 2PL. What is nearly ten is ours.",
        judge: |results| ahead(results, 2.0, 9.0),
        weaker: Some(Weaker {
            criterion: "It is at least 1.05 times each of them.",
            judge: |results| ahead(results, 1.0 + TOLERANCE, 1.0 + TOLERANCE),
        }),
        otherwise: "What ORTHRUS avoids is that dozens of cores ask for one latch and spin on one digest. Few cores do \
                    neither, and some of its threads execute nothing.",
    },
    Claim {
        text: "ORTHRUS scales with the cores despite the contention.",
        criterion: "Up to the threads that stand for 80, ORTHRUS has at each point at least 0.95 times its best so \
                    far, and in the end at least 1.05 times what it has with one thread. The paper shows a curve and \
                    gives no number.",
        judge: scales,
        weaker: None,
        otherwise: "Threads beyond the cores add no speed. With one thread there are no messages at all.",
    },
    Claim {
        text: "2PL becomes slower as cores are added: handling deadlocks costs, although there are hardly any.",
        criterion: "With the threads that stand for 80, 2PL has less than 0.95 times its best with fewer.",
        judge: |results| {
            let (share, evidence) = share_of_best(results, "a", TWO_PHASE, at_busy(results, "a")?)?;
            Some(Finding { holds: share < 1.0 - TOLERANCE, evidence })
        },
        weaker: None,
        otherwise: "In the paper all threads that wait for a lock spin on its holder's digest. Here they sleep, and \
                    the digest is read when a wait begins.",
    },
    Claim {
        text: "With few cores deadlock-free locking and 2PL are equally fast.",
        criterion: "At the first point, deadlock-free locking is 0.95 to 1.05 times 2PL.",
        judge: |results| equals(results, "a", only(At::First), DEADLOCK_FREE, TWO_PHASE),
        weaker: None,
        otherwise: "Deadlock-free locking finds its locks first and sorts them. That costs time even on one thread, \
                    where ten cores of the paper's machine hide it behind waits.",
    },
];

/// Decides whether ORTHRUS has, with the threads that stand for 80, at least `deadlock_free` times the throughput of
/// deadlock-free locking and `two_phase` times that of 2PL.
fn ahead(results: &Results, deadlock_free: f64, two_phase: f64) -> Option<Finding> {
    let at = at_busy(results, "a")?;
    let lead = |other, least| leads(results, "a", only(at), ORTHRUS, &[other], least);
    all([lead(DEADLOCK_FREE, deadlock_free), lead(TWO_PHASE, two_phase)])
}

fn scales(results: &Results) -> Option<Finding> {
    let last = at_busy(results, "a")?;
    let mut worst: Option<(f64, String)> = None;
    for at in (0..results.points("a")).map(At::Number) {
        let (share, evidence) = share_of_best(results, "a", ORTHRUS, at)?;
        if worst.as_ref().is_none_or(|(lowest, _)| share < *lowest) {
            worst = Some((share, evidence));
        }
        if at == last {
            break;
        }
    }
    let ((share, evidence), growth) = (worst?, growth(results, "a", ORTHRUS, last)?);
    let evidence = format!("{evidence}; at {} it is {growth:.2} times its first point", results.label("a", last));
    Some(Finding { holds: share >= 1.0 - TOLERANCE && growth >= 1.0 + TOLERANCE, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match made.series {
            ORTHRUS => 10.0 + 10.0 * made.way,
            DEADLOCK_FREE => 10.0,
            _ => 10.0 - 8.0 * made.way,
        };
        check(&FIGURE, paper, &[true; 4]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            ORTHRUS => 10.0 - made.way,
            DEADLOCK_FREE => 12.0,
            _ => 10.0 + made.way,
        };
        check(&FIGURE, other, &[false; 4]);
        // A dip on the way is no scaling.
        let dips = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (ORTHRUS, "2") => 8.0,
            _ => paper(made),
        };
        check(&FIGURE, dips, &[true, false, true, true]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match made.series {
            ORTHRUS => 12.0,
            _ => 10.0,
        };
        check_weaker(&FIGURE, less, &[true]);
        check_weaker(&FIGURE, |_| 10.0, &[false]);
    }
}
