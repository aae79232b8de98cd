//! SLI, Fig. 1: what the lock manager takes of the time as the load grows.

use super::sli::{AS_PRINTED, CONTENTION, HIER, INHERITANCE, LOCK_MANAGER, SLI, SLI_PAPER, at_most, sum_at, tatp};
use crate::reproduce::claim::{Claim, Finding, Weaker};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "sli-1",
    paper: &SLI_PAPER,
    place: "Fig. 1, §1.1, §1.3",
    title: "What the lock manager takes of TATP's time as threads are added",
    there: "TATP (NDBB) in Shore-MT on 64 hardware threads, from a light to a heavy load: the part of a transaction's \
            CPU time in the lock manager, divided into useful work and contention. Waits for locks and for the disk \
            are left out.",
    here: "The hierarchy of locks without (a) and with inheritance (b). One transaction in 32 has its time taken with \
           a clock; contention is the time in which the lock manager spins for a latch. Load is the number of threads. \
           Beyond the number of cores threads take turns, and seldom meet at a latch.",
    plan,
    claims: &CLAIMS,
};

/// The panels without and with inheritance.
const WITHOUT: &str = "a";
const WITH: &str = "b";

fn plan(scale: &Scale) -> Plan {
    let panel = |id, title: &str, series: Vec<Series>| {
        let point = |threads| Point::at(threads, &tatp(scale), format!("--threads {threads}"));
        Panel { id, title: title.to_owned(), points: scale.thread_counts().into_iter().map(point).collect(), series }
    };
    let lock_manager = |engine| {
        vec![Series::share(LOCK_MANAGER, engine, "lock_manager"), Series::share(CONTENTION, engine, "contention")]
    };
    let mut inherited = lock_manager(SLI);
    inherited.push(Series::share(INHERITANCE, SLI, "inheritance"));
    let inherited = inherited.into_iter().map(|series| series.with(AS_PRINTED)).collect();
    Plan {
        chart: Chart::Curves { x: "threads" },
        value: "per cent of a transaction's time",
        stretch: 1,
        panels: vec![
            panel(WITHOUT, "without inheritance", lock_manager(HIER)),
            panel(WITH, "with inheritance", inherited),
        ],
    }
}

static CLAIMS: [Claim; 4] = [
    Claim {
        text: "At the heaviest load, contention inside the lock manager takes nearly 75 % of a transaction's time.",
        criterion: "In (a), at the most threads, contention takes at least 70 %, which is nearly 75 %.",
        judge: |results| {
            let contention = results.median(WITHOUT, CONTENTION, At::Last)?;
            let evidence = format!("contention takes {contention:.1} % at the most threads");
            Some(Finding { holds: contention >= 70.0, evidence })
        },
        weaker: Some(Weaker {
            criterion: "It takes more than the lock manager's own work, and the two together at least 10 %.",
            judge: |results| {
                let own = results.median(WITHOUT, LOCK_MANAGER, At::Last)?;
                let contention = results.median(WITHOUT, CONTENTION, At::Last)?;
                let evidence = format!("contention takes {contention:.1} %, the lock manager's own work {own:.1} %");
                Some(Finding { holds: contention > own && own + contention >= 10.0, evidence })
            },
        }),
        otherwise: "The paper has up to 64 threads that run at once and want the same latch. On few cores at most as \
                    many threads as there are cores run at once, and a latch is held for some ten nanoseconds.",
    },
    Claim {
        text: "The lock manager's useful work is a small part at every load.",
        criterion: "In (a), the lock manager without contention takes at most 20 % at every point, which is the most \
                    that the paper measures for any transaction (§6.1).",
        judge: |results| at_most(results, WITHOUT, &[LOCK_MANAGER], 20.0),
        weaker: Some(Weaker {
            criterion: "It takes at most 50 % at every point.",
            judge: |results| at_most(results, WITHOUT, &[LOCK_MANAGER], 50.0),
        }),
        otherwise: "A share depends on what is beside it. Shore-MT keeps a buffer pool and a log. Here a transaction \
                    of TATP is a look-up or two in memory, and takes a lock on the database, a table, a page and a row \
                    for it.",
    },
    Claim {
        text: "Contention grows rapidly with the load.",
        criterion: "In (a), contention takes at least 5 % more of the time at the most threads than with one thread.",
        judge: |results| {
            let at = |at| results.median(WITHOUT, CONTENTION, at);
            let (alone, together) = (at(At::First)?, at(At::Last)?);
            let evidence = format!("contention takes {alone:.1} % with one thread and {together:.1} % at the most");
            Some(Finding { holds: together - alone >= 5.0, evidence })
        },
        weaker: None,
        otherwise: "Threads beyond the number of cores do not run at once, so they add no contention.",
    },
    Claim {
        text: "With inheritance, contention is small at every load, and nearly the same.",
        criterion: "In (b), contention takes at most 5 % at every point. The paper shows small bars and gives no \
                    number.",
        judge: |results| at_most(results, WITH, &[CONTENTION], 5.0),
        weaker: Some(Weaker {
            criterion: "At the most threads it takes at most as much as without inheritance, or 5 %.",
            judge: less_contention,
        }),
        otherwise: "A lock is inherited only once it is hot. Rows and their latches are not inherited at all.",
    },
];

/// Decides whether contention takes no more with inheritance than without at the most threads, or little.
fn less_contention(results: &Results) -> Option<Finding> {
    let at = |panel| sum_at(results, panel, &[CONTENTION], At::Last);
    let (without, with) = (at(WITHOUT)?, at(WITH)?);
    let evidence = format!("contention takes {without:.1} % without inheritance and {with:.1} % with it");
    Some(Finding { holds: with <= without.max(5.0), evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            (_, LOCK_MANAGER) => 12.0,
            (WITHOUT, CONTENTION) => 74.0 * made.way,
            (_, CONTENTION) => 3.0,
            _ => 2.0,
        };
        check(&FIGURE, paper, &[true; 4]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            LOCK_MANAGER => 60.0,
            CONTENTION => 6.0 + made.way,
            _ => 2.0,
        };
        check(&FIGURE, other, &[false; 4]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            (WITHOUT, CONTENTION) => 45.0 * made.way,
            (_, LOCK_MANAGER) => 40.0,
            _ => 6.0,
        };
        check_weaker(&FIGURE, less, &[true; 3]);
        let other = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            (_, LOCK_MANAGER) => 60.0,
            (WITH, CONTENTION) => 7.0,
            _ => 4.0,
        };
        check_weaker(&FIGURE, other, &[false; 3]);
    }
}
