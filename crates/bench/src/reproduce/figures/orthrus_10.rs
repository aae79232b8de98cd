//! ORTHRUS, Fig. 10: where the time of threads that execute goes.

use super::orthrus::{DEADLOCK_FREE, ORTHRUS, ORTHRUS_PAPER, concurrency_control};
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
           in the paper, one on each core. One transaction in 128 has its time taken with a clock: its own work, the \
           lock manager, waits for locks and messages, and attempts that aborted. A thread of ORTHRUS executes other \
           transactions while one waits. So claims about executing are not judged by the bars, but by the work of all \
           transactions as a share of the execution threads' time.",
    plan,
    claims: &CLAIMS,
};

const WORK: &str = "executing";
const LOCKS: &str = "locking";
const WAIT: &str = "waiting";
const ABORTED: &str = "aborted attempts";

/// The parts of a transaction's time: the label of each in the drawing, and its name in reports.
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
            series: PARTS.map(|(label, part)| Series::share(label, engine, part)).to_vec(),
        }
    };
    Plan {
        chart: Chart::Bars { x: "warehouses" },
        value: "per cent of a transaction's time",
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
        criterion: "In both bars, locking is at least 1.05 times as large a share of a transaction's time under 2PL as \
                    under deadlock-free locking. The paper shows bars and gives no number.",
        judge: locks_more,
        weaker: None,
        otherwise: "The paper's 2PL waits inside the lock manager, spinning on digests, and deadlock-free locking \
                    outside. Ours sleep while they wait, both outside.",
    },
    Claim {
        text: "At high contention all three spend a large fraction of their time waiting for locks.",
        criterion: "At high contention, waiting is at least 50 % of a transaction's time under each system, and more \
                    than at low contention. What is a large fraction is ours.",
        judge: |results| all(PANELS.map(|panel| waits(results, panel))),
        weaker: None,
        otherwise: "In the paper five threads are busy at one warehouse. On two cores one thread at one warehouse has \
                    another one to wait for, and seldom for long.",
    },
];

/// Returns the share of the time of a system's execution threads in which they execute transactions, in per cent: the
/// work of a transaction times the throughput, for each execution thread.
fn executing(results: &Results, panel: &str, at: At) -> Option<f64> {
    let threads = results.cores();
    let lockers = if panel == OF_ORTHRUS { concurrency_control(threads) } else { 0 };
    let execution_threads = threads - lockers;
    let share = |run: &EngineReport| {
        let work_us = run.costs.breakdown_us.get("work").and_then(serde_json::Value::as_f64).unwrap_or(0.0);
        100.0 * run.throughput() * work_us / 1e6 / execution_threads as f64
    };
    results.median_of(panel, WORK, at, share)
}

/// Decides whether executing is at least `deadlock_free` times as large a share of the threads' time under ORTHRUS as
/// under deadlock-free locking, and `two_phase` times as large as under 2PL.
fn executes_more(results: &Results, at: At, deadlock_free: f64, two_phase: f64) -> Option<Finding> {
    let share = |panel| executing(results, panel, at);
    let (orthrus, free, locking) = (share(OF_ORTHRUS)?, share(OF_DEADLOCK_FREE)?, share(OF_TWO_PHASE)?);
    let evidence = format!(
        "at {} warehouses it is {orthrus:.1} % under {ORTHRUS}, {free:.1} % under {DEADLOCK_FREE}, {locking:.1} % \
         under {TWO_PHASE}",
        results.label(OF_ORTHRUS, at)
    );
    Some(Finding { holds: orthrus >= deadlock_free * free && orthrus >= two_phase * locking, evidence })
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

/// Decides whether waiting is a large share of a transaction's time at high contention, and a larger one than at low.
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

    // A thousand transactions of 100 µs run in a second, on two cores: under ORTHRUS on one thread that executes.

    #[test]
    fn bars_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", WORK) => 185.0,
            ("b", WORK) => 144.0,
            (_, WORK) => 74.0,
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
            ("a", WORK, true) => 70.0,
            _ => paper(made),
        };
        check(&FIGURE, low, &[true, false, true, true]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", WORK) => 60.0,
            (_, WORK) => 100.0,
            _ => 20.0,
        };
        check_weaker(&FIGURE, less, &[true]);
        // Of half as many threads, half as much work is the same share.
        let other = |made: MadeUpPoint<'_>| if made.panel == "a" { 50.0 } else { 100.0 };
        check_weaker(&FIGURE, other, &[false]);
    }
}
