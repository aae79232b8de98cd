//! ORTHRUS, Fig. 4: what handling deadlocks costs as contention rises.

use super::orthrus::{
    DEADLOCK_FREE, DREADLOCKS, HANDLING, ORTHRUS_PAPER, WAIT_DIE, WAIT_FOR, policies, table_of_policies, ten_updates,
};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, everywhere, leads, left_half, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;
use hotrow_txn::number_of;

pub(super) static FIGURE: Figure = Figure {
    id: "orthrus-4",
    paper: &ORTHRUS_PAPER,
    place: "Fig. 4, §4.1",
    title: "Deadlock policies as hot rows get fewer",
    there: "Ten read-modify-writes on rows of 1,000 bytes, two of them on hot rows; 10 million rows, 10 cores (a) and \
            80 cores (b). Fewer hot rows, to the right, mean more contention.",
    here: "The same transactions on a smaller table. In (a) there is a thread on each core; in (b) four on each, so \
           that there are as many transactions in each other's way as a larger machine would have, though not as many \
           that run. The axis goes on to fewer hot rows than the paper's 64, because few threads seldom meet on 64. ORTHRUS, \
           which the paper leaves out of this figure, is drawn for comparison.",
    plan,
    claims: &CLAIMS,
};

fn plan(scale: &Scale) -> Plan {
    let here: &[u64] = scale.pick(&[16384, 4096, 1024, 256, 64, 32, 16, 8, 4], &[4096, 256, 64, 16, 4], &[64, 4]);
    let hot: &[u64] = scale.of_paper(&[16384, 4096, 1024, 256, 64], here);
    let few = scale.of_paper(scale.cores.min(10), scale.cores);
    let many = number_of(scale.crowd(), "thread");
    let panel = |id, threads: u64, title: String| {
        let point = |&hot: &u64| Point::at(hot, &table_of_policies(scale), ten_updates(threads, hot, 2, "first"));
        Panel { id, title, points: hot.iter().map(point).collect(), series: policies() }
    };
    Plan {
        chart: Chart::Curves { x: "hot rows" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![
            panel("a", few, format!("{}, one on each core", number_of(few, "thread"))),
            panel("b", scale.crowd(), scale.of_paper(many.clone(), format!("{many}, four on each core"))),
        ],
    }
}

static CLAIMS: [Claim; 5] = [
    Claim {
        text: "With few cores it matters little how deadlocks are handled, at any contention.",
        criterion: "In (a), the slowest of the four policies of the paper reaches at least 70 % of the fastest at \
                    every point. The paper calls the difference small and gives no number.",
        judge: little_difference,
        weaker: None,
        otherwise: "Two cores meet on a handful of hot rows as often as many cores do on 64, and a lock that is held \
                    costs the other core half of the machine; aborts and retries weigh more than on ten cores.",
    },
    Claim {
        text: "With many cores, deadlock-free locking is faster than every way to handle deadlocks, at every \
               contention.",
        criterion: "In (b), deadlock-free locking is at least 1.00 times each other policy at every point.",
        judge: |results| leads(results, "b", everywhere(results, "b"), DEADLOCK_FREE, &HANDLING, 1.0),
        weaker: Some(Weaker {
            criterion: "In (b), deadlock-free locking is at least 0.95 times each other policy at every point.",
            judge: |results| leads(results, "b", everywhere(results, "b"), DEADLOCK_FREE, &HANDLING, 1.0 - TOLERANCE),
        }),
        otherwise: "There are more threads than cores here. A lock that is handed over goes to a transaction whose \
                    thread sleeps, and nobody else gets it until the system has woken that thread: many times as long \
                    as a transaction takes. Wait-die seldom waits; it gives up and tries again.",
    },
    Claim {
        text: "Its lead grows with contention, to 2.2 times wait-die and 5.5 times both kinds of detection.",
        criterion: "In (b), its ratio to the best of the others is larger at the last point than at the first, and \
                    there it is at least 2.20 times wait-die and 5.50 times the wait-for graph and Dreadlocks.",
        judge: |results| {
            let last = |others: &[&str], least| leads(results, "b", only(At::Last), DEADLOCK_FREE, others, least);
            all([lead_grows(results), last(&[WAIT_DIE], 2.2), last(&[WAIT_FOR, DREADLOCKS], 5.5)])
        },
        weaker: Some(Weaker {
            criterion: "In (b), its ratio to the best of the others is larger at the last point than at the first, and \
                        there more than 1.05.",
            judge: lead_grows,
        }),
        otherwise: "Aborted work is what the others lose, and with few cores little is lost: the one that aborts makes \
                    room for one that does not, while locks in key order are waited for by threads that sleep.",
    },
    Claim {
        text: "At low and middling contention detection beats wait-die, which aborts transactions that are in no \
               deadlock.",
        criterion: "In (b), the wait-for graph and Dreadlocks are both more than 1.00 times wait-die at each point of \
                    the left half.",
        judge: |results| {
            let detection = |name| leads(results, "b", left_half(results, "b"), name, &[WAIT_DIE], 1.0);
            all([detection(WAIT_FOR), detection(DREADLOCKS)])
        },
        weaker: None,
        otherwise: "To the left few transactions meet at all, so the policies are as good as each other and noise \
                    decides.",
    },
    Claim {
        text: "At the highest contention wait-die beats detection, because giving up early frees locks early.",
        criterion: "In (b), wait-die is at least 1.05 times the wait-for graph and Dreadlocks at the last point.",
        judge: |results| leads(results, "b", only(At::Last), WAIT_DIE, &[WAIT_FOR, DREADLOCKS], 1.0 + TOLERANCE),
        weaker: None,
        otherwise: "Detection here looks for a cycle when a transaction begins to wait, not some time later: the \
                    deadlock is broken at once, and its locks are free as early as wait-die's.",
    },
];

fn little_difference(results: &Results) -> Option<Finding> {
    let mut worst: Option<(f64, At, &str, &str)> = None;
    for at in everywhere(results, "a") {
        for slow in [DEADLOCK_FREE, WAIT_DIE, WAIT_FOR, DREADLOCKS] {
            for fast in [DEADLOCK_FREE, WAIT_DIE, WAIT_FOR, DREADLOCKS] {
                let ratio = results.ratio("a", at, slow, fast)?;
                if worst.is_none_or(|(lowest, ..)| ratio < lowest) {
                    worst = Some((ratio, at, slow, fast));
                }
            }
        }
    }
    let (ratio, at, slow, fast) = worst?;
    let evidence = format!("at its worst, {slow} is {ratio:.2} times {fast}, at {} hot rows", results.label("a", at));
    Some(Finding { holds: ratio >= 0.7, evidence })
}

fn lead_grows(results: &Results) -> Option<Finding> {
    let lead = |at| {
        let ratios = HANDLING.map(|other| results.ratio("b", at, DEADLOCK_FREE, other));
        ratios.into_iter().collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::min)
    };
    let (first, last) = (lead(At::First)?, lead(At::Last)?);
    let evidence =
        format!("deadlock-free locking is {first:.2} times the best other at the first point, {last:.2} at the last");
    Some(Finding { holds: last > first && last > 1.0 + TOLERANCE, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims() {
        let paper = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", _) => 100.0 - 40.0 * made.way,
            (_, DEADLOCK_FREE) => 100.0 - 50.0 * made.way,
            (_, WAIT_DIE) => 80.0 - 58.0 * made.way,
            _ => 95.0 - 86.0 * made.way,
        };
        check(&FIGURE, paper, &[true; 5]);
    }

    #[test]
    fn other_curves_refute_them() {
        let other = |made: MadeUpPoint<'_>| match made.series {
            DEADLOCK_FREE => 50.0 - 30.0 * made.way,
            WAIT_DIE => 100.0 - 50.0 * made.way,
            _ => 90.0 - 30.0 * made.way,
        };
        check(&FIGURE, other, &[false; 5]);
        let equal = |_: MadeUpPoint<'_>| 100.0;
        check(&FIGURE, equal, &[true, true, false, true, false]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("b", DEADLOCK_FREE) => 97.0 - 40.0 * made.way,
            _ => 100.0 - 50.0 * made.way,
        };
        check_weaker(&FIGURE, less, &[true; 2]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            DEADLOCK_FREE => 50.0 - 30.0 * made.way,
            _ => 100.0 - 50.0 * made.way,
        };
        check_weaker(&FIGURE, other, &[false; 2]);
    }
}
