//! ORTHRUS, Fig. 10: where the time of threads that execute goes.

use super::orthrus::{DEADLOCK_FREE, ORTHRUS, ORTHRUS_PAPER};
use super::orthrus_tpcc::{FEW, MANY, SYSTEMS, TWO_PHASE, neworder_payment, tpcc, warehouses};
use crate::report::EngineReport;
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "orthrus-10",
    paper: &ORTHRUS_PAPER,
    place: "Fig. 10, §4.4.3",
    title: "Where the time of New-Order and Payment goes at low and at high contention",
    there: "The CPU time of execution threads on 128 (a) and on 16 warehouses (b), divided into executing, locking and \
            waiting. All 80 threads of 2PL and of deadlock-free locking execute, and 64 threads of ORTHRUS.",
    here: "A panel for each system, with a bar at low and one at high contention: as many threads for a warehouse as \
           in the paper, one on each core. A bar divides the time of the threads that execute, by the clock, and its \
           parts add up to 100 %. A thread waits while none of its transactions can go on and no message has come, or \
           while it has no core. That is measured for all of its time. The rest is divided as sampled transactions \
           divide their own time outside of waits: executing, the lock manager, and attempts that aborted. Under \
           ORTHRUS the lock manager's part is for requests and releases, which the thread sends as messages; \
           concurrency-control threads are in no bar, as in the paper.",
    plan,
    claims: &CLAIMS,
};

const WORK: &str = "executing";
const LOCKS: &str = "locking";
const WAIT: &str = "waiting";
const ABORTED: &str = "aborted attempts";

/// The parts of the threads' time: the label of each in the drawing, and its name in reports.
const PARTS: [(&str, &str); 4] = [(WORK, "work"), (LOCKS, "lock_manager"), (WAIT, "wait"), (ABORTED, "other")];

/// The panels of the systems.
const OF_ORTHRUS: &str = "a";
const OF_DEADLOCK_FREE: &str = "b";
const OF_TWO_PHASE: &str = "c";
const PANELS: [&str; 3] = [OF_ORTHRUS, OF_DEADLOCK_FREE, OF_TWO_PHASE];

/// The bars of low and of high contention.
const AT_MANY: At = At::First;
const AT_FEW: At = At::Last;

fn plan(scale: &Scale) -> Plan {
    let panel = |(id, (name, engine)): (&'static str, (&'static str, &'static str))| {
        let point = |there| {
            let count = warehouses(scale.cores, there);
            Point::at(count, &tpcc(scale, count), neworder_payment(scale.cores))
        };
        Panel {
            id,
            title: name.to_owned(),
            points: [MANY, FEW].map(point).to_vec(),
            series: PARTS.map(|(label, part)| Series::thread_share(label, engine, part)).to_vec(),
        }
    };
    Plan {
        chart: Chart::Bars { x: "warehouses" },
        value: "per cent of the execution threads' time",
        stretch: 1,
        panels: PANELS.into_iter().zip(SYSTEMS).map(panel).collect(),
    }
}

static CLAIMS: [Claim; 4] = [
    Claim {
        text: "At high contention ORTHRUS' execution threads execute for 18 % of their time, 2.5 times as much as under \
               deadlock-free locking (7.2 %) and about 5 times as much as under 2PL (3.7 %).",
        criterion: "At high contention, executing is at least 2.50 times as large a share of the execution threads' \
                    time under ORTHRUS as under deadlock-free locking, and 4.86 times as large as under 2PL.",
        judge: |results| executes_more(results, AT_FEW, 2.5, 4.86),
        weaker: Some(Weaker {
            criterion: "It is at least 1.05 times as large as under each of them.",
            judge: |results| executes_more(results, AT_FEW, 1.0 + TOLERANCE, 1.0 + TOLERANCE),
        }),
        otherwise: "A few threads hardly wait for each other: they execute for most of their time under every system, \
                    and no share can be a multiple of that.",
    },
    Claim {
        text: "At low and at high contention ORTHRUS' execution threads do more useful work than those of the others.",
        criterion: "At both, executing is at least 1.05 times as large a share of the execution threads' time under \
                    ORTHRUS as under each of the others.",
        judge: |results| {
            let more = |at| executes_more(results, at, 1.0 + TOLERANCE, 1.0 + TOLERANCE);
            all([more(AT_MANY), more(AT_FEW)])
        },
        weaker: None,
        otherwise: "An execution thread that has to wait for messages of threads with which it shares two cores has \
                    nothing to execute meanwhile.",
    },
    Claim {
        text: "2PL spends significantly more time locking than deadlock-free locking.",
        criterion: "In both bars, locking is at least 1.05 times as large a share under 2PL as under deadlock-free \
                    locking. The paper shows bars and gives no number.",
        judge: locks_more,
        weaker: None,
        otherwise: "The paper's 2PL waits inside the lock manager, spinning on digests, and deadlock-free locking \
                    outside. Ours sleep while they wait, both outside.",
    },
    Claim {
        text: "At high contention all three spend a large fraction of their time waiting for locks.",
        criterion: "At high contention, waiting is at least 50 % of the execution threads' time under each system, and \
                    more than at low contention. What is a large fraction is ours.",
        judge: |results| all(PANELS.map(|panel| waits(results, panel))),
        weaker: None,
        otherwise: "In the paper five threads are busy at one warehouse. On two cores one thread at one warehouse has \
                    another one to wait for, and seldom for long.",
    },
];

/// Decides whether executing is at least `deadlock_free` times as large a share of the threads' time under ORTHRUS as
/// under deadlock-free locking, and `two_phase` times as large as under 2PL.
fn executes_more(results: &Results, at: At, deadlock_free: f64, two_phase: f64) -> Option<Finding> {
    let share = |panel| results.median(panel, WORK, at);
    let (orthrus, free, locking) = (share(OF_ORTHRUS)?, share(OF_DEADLOCK_FREE)?, share(OF_TWO_PHASE)?);
    let busy = |run: &EngineReport| run.costs.service_threads_busy.unwrap_or_default();
    let busy = 100.0 * results.median_of(OF_ORTHRUS, WORK, at, busy)?;
    let evidence = format!(
        "at {} warehouses it is {orthrus:.1} % under {ORTHRUS}, whose concurrency-control threads are busy for \
         {busy:.1} %, {free:.1} % under {DEADLOCK_FREE}, {locking:.1} % under {TWO_PHASE}",
        results.label(OF_ORTHRUS, at)
    );
    // A share of zero says that no transaction was sampled.
    let is_sampled = orthrus > 0.0 && free > 0.0 && locking > 0.0;
    let is_more = orthrus >= deadlock_free * free && orthrus >= two_phase * locking;
    Some(Finding { holds: is_sampled && is_more, evidence })
}

fn locks_more(results: &Results) -> Option<Finding> {
    let more = |at| {
        let share = |panel| results.median(panel, LOCKS, at);
        let (free, locking) = (share(OF_DEADLOCK_FREE)?, share(OF_TWO_PHASE)?);
        let count = results.label(OF_TWO_PHASE, at);
        let evidence = format!(
            "at {count} warehouses locking is {locking:.1} % under {TWO_PHASE}, {free:.1} % under {DEADLOCK_FREE}"
        );
        Some(Finding { holds: locking >= (1.0 + TOLERANCE) * free, evidence })
    };
    all([more(AT_MANY), more(AT_FEW)])
}

/// Decides whether waiting is a large share of the threads' time at high contention, and a larger one than at low.
fn waits(results: &Results, panel: &str) -> Option<Finding> {
    let share = |at| results.median(panel, WAIT, at);
    let (many, few) = (share(AT_MANY)?, share(AT_FEW)?);
    let evidence = format!("({panel}) waiting is {many:.1} % at low and {few:.1} % at high contention");
    Some(Finding { holds: few >= 50.0 && few > many, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn bars_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", WORK) => 18.2,
            ("b", WORK) => 7.2,
            (_, WORK) => 3.7,
            ("c", LOCKS) => 30.0,
            (_, LOCKS) => 20.0,
            (_, WAIT) => 30.0 + 40.0 * made.way,
            _ => 1.0,
        };
        check(&FIGURE, paper, &[true; 4]);
        let other = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", WORK) => 40.0,
            ("a", WAIT) => 60.0,
            (_, WORK) => 80.0,
            _ => 20.0,
        };
        check(&FIGURE, other, &[false; 4]);
        // The lead at high contention is not that at low contention.
        let low = |made: MadeUpPoint<'_>| match (made.panel, made.series, made.way == 0.0) {
            ("a", WORK, true) => 7.0,
            _ => paper(made),
        };
        check(&FIGURE, low, &[true, false, true, true]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", WORK) => 60.0,
            (_, WORK) => 50.0,
            _ => 20.0,
        };
        check_weaker(&FIGURE, less, &[true]);
        check_weaker(&FIGURE, |_| 50.0, &[false]);
    }
}
