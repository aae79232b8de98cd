//! ORTHRUS, Fig. 12: ten read-modify-writes as cores are added.

use super::orthrus::{
    DEADLOCK_FREE, DUAL, NOTHING, ON_64_HOT_ROWS, ORTHRUS_PAPER, RANDOM, SINGLE, as_contended_as_the_paper, at_busy,
    at_cores, configurations, table_by_threads, ten_updates, threads_and_partitions,
};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "orthrus-12",
    paper: &ORTHRUS_PAPER,
    place: "Fig. 12, appendix A.2",
    title: "Ten read-modify-writes as threads are added",
    there: "YCSB transactions of ten read-modify-writes on 10 million rows of 1,000 bytes: keys uniform (a), and two \
            of the ten on 64 hot rows (b); up to 80 cores. 2PL is wait-die. A transaction of ORTHRUS has all its locks \
            of one concurrency-control thread (single), of two (dual), or of any (random).",
    here: "The same transactions on a smaller table. The threads go up to the cores and then on to four on each core, \
           which adds contention but no speed. Panel (c) has so few hot rows that a transaction of the crowded machine \
           meets as many others as with 80 threads on 64; for ORTHRUS they are too few to be divided. No locking at \
           all is drawn for comparison. Claims about 80 cores are judged with a thread on each core, or with four on \
           each of fewer than eight cores.",
    plan,
    claims: &CLAIMS,
};

const TWO_PHASE: &str = "2PL (wait-die)";

fn plan(scale: &Scale) -> Plan {
    let hot = as_contended_as_the_paper(scale.crowd());
    let panel = |id, title: String, options: &dyn Fn(u64) -> String, orthrus: &[Series]| {
        let point = |threads| Point::at(threads, &table_by_threads(scale), options(threads));
        let others = [
            Series::throughput(DEADLOCK_FREE, "2pl-ordered"),
            Series::throughput(TWO_PHASE, "2pl-waitdie"),
            Series::reference(NOTHING, "none"),
        ];
        let series = orthrus.iter().cloned().chain(others).collect();
        Panel { id, title, points: scale.thread_counts().into_iter().map(point).collect(), series }
    };
    let uniform = |threads| format!("--rmw --ops 10 {}", threads_and_partitions(threads));
    let contended = |threads| format!("--rmw --ops 10 {ON_64_HOT_ROWS} {}", threads_and_partitions(threads));
    let as_contended = |threads| ten_updates(threads, hot, 2, "first");
    let all = configurations();
    Plan {
        chart: Chart::Curves { x: "threads" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![
            panel("a", "uniform keys".to_owned(), &uniform, &all),
            panel("b", "2 of 10 on 64 hot rows".to_owned(), &contended, &all),
            panel("c", format!("2 of 10 on {hot} hot rows"), &as_contended, &all[2..]),
        ],
    }
}

static CLAIMS: [Claim; 6] = [
    Claim {
        text: "At low contention both scale with the cores.",
        criterion: "In (a), both reach at least 0.8 times as much per core with a thread on each core as with one \
                    thread. The paper shows a curve and gives no number.",
        judge: |results| all([scales(results, DEADLOCK_FREE), scales(results, TWO_PHASE)]),
        weaker: None,
        otherwise: "The cores of a shared machine may be two threads of one core, and share its caches and its memory \
                    bandwidth.",
    },
    Claim {
        text: "At high contention 2PL becomes slower as threads are added.",
        criterion: "In (c), wait-die with the most threads is below 0.95 times its own best.",
        judge: |results| {
            let (share, evidence) = last_of_best(results, TWO_PHASE)?;
            Some(Finding { holds: share < 1.0 - TOLERANCE, evidence })
        },
        weaker: None,
        otherwise: "Threads beyond the cores take turns: they add transactions in flight, but no more than two ever \
                    run, and fewer collide than on a machine where all of them do.",
    },
    Claim {
        text: "Deadlock-free locking keeps what it has: it stays level where 2PL falls.",
        criterion: "In (c), deadlock-free locking with the most threads is at least 0.95 times its own best.",
        judge: |results| {
            let (share, evidence) = last_of_best(results, DEADLOCK_FREE)?;
            Some(Finding { holds: share >= 1.0 - TOLERANCE, evidence })
        },
        weaker: Some(Weaker {
            criterion: "In (c), deadlock-free locking with the most threads is at least 0.85 times its own best.",
            judge: |results| {
                let (share, evidence) = last_of_best(results, DEADLOCK_FREE)?;
                Some(Finding { holds: share >= 0.85, evidence })
            },
        }),
        otherwise: "Its best is one thread that never waits. With more threads than cores a holder of hot locks may be \
                    off its core, and everybody waits until it is back.",
    },
    Claim {
        text: "With the most threads and high contention deadlock-free locking is well ahead of 2PL.",
        criterion: "In (b) and in (c), it is at least 1.05 times wait-die at the last point.",
        judge: |results| {
            let ahead = |panel| leads(results, panel, only(At::Last), DEADLOCK_FREE, &[TWO_PHASE], 1.0 + TOLERANCE);
            all([ahead("b"), ahead("c")])
        },
        weaker: None,
        otherwise: "Wait-die loses what it aborts. Two cores abort little on 64 hot rows, and a transaction that waits \
                    for a row in key order holds others that wait-die would have given up.",
    },
    Claim {
        text: "At 80 cores and high contention ORTHRUS is 2.3 times (random), 3.35 times (dual) and 4.65 times (single) \
               as fast as 2PL.",
        criterion: "In (b), with the threads that stand for 80, the three are at least 2.30, 3.35 and 4.65 times \
                    wait-die.",
        judge: |results| orthrus_leads(results, [2.3, 3.35, 4.65]),
        weaker: Some(Weaker {
            criterion: "In (b), with the threads that stand for 80, all three are at least 1.05 times wait-die.",
            judge: |results| orthrus_leads(results, [1.0 + TOLERANCE; 3]),
        }),
        otherwise: "Two cores seldom meet on 64 hot rows, so 2PL loses next to nothing. ORTHRUS pays for messages and \
                    for threads that lock and execute nothing.",
    },
    Claim {
        text: "The fewer threads a transaction has its locks of, the shorter it holds hot locks and the faster it is.",
        criterion: "In (b), with the threads that stand for 80, single is at least 1.05 times dual, and dual at least \
                    1.05 times random. The paper's numbers give 1.39 and 1.46.",
        judge: |results| fewer_is_faster(results, 1.0 + TOLERANCE),
        weaker: Some(Weaker {
            criterion: "Single is at least 1.00 times dual, and dual at least 1.00 times random.",
            judge: |results| fewer_is_faster(results, 1.0),
        }),
        otherwise: "All the keys of a transaction in one partition are also two of that partition's hot rows, and there \
                    are fewer of these: transactions of one partition meet more often.",
    },
];

/// Decides whether the throughput with a thread on each core is at least 0.8 of the throughput of one thread times the
/// number of cores.
fn scales(results: &Results, series: &str) -> Option<Finding> {
    let cores = at_cores(results, "a")?;
    let (one, many) = (results.median("a", series, At::First)?, results.median("a", series, cores)?);
    let threads = results.cores();
    let share = many / (one * threads as f64).max(f64::MIN_POSITIVE);
    let evidence = format!("{series} has {share:.2} of its single-threaded throughput on each of {threads} cores");
    Some(Finding { holds: share >= 0.8, evidence })
}

/// Decides whether ORTHRUS with locks of any, of two, and of one concurrency-control thread is at least so many times
/// as fast as 2PL at high contention.
fn orthrus_leads(results: &Results, least: [f64; 3]) -> Option<Finding> {
    let at = at_busy(results, "b")?;
    let [random, dual, single] = least;
    let lead = |name, least| leads(results, "b", only(at), name, &[TWO_PHASE], least);
    all([lead(RANDOM, random), lead(DUAL, dual), lead(SINGLE, single)])
}

/// Decides whether ORTHRUS at high contention is at least `least` times as fast with locks of one thread as of two, and
/// as fast with locks of two as of any.
fn fewer_is_faster(results: &Results, least: f64) -> Option<Finding> {
    let at = at_busy(results, "b")?;
    let lead = |name, other| leads(results, "b", only(at), name, &[other], least);
    all([lead(SINGLE, DUAL), lead(DUAL, RANDOM)])
}

/// Returns the throughput of a series with the most threads in (c) as a share of its best throughput, and the same in
/// words.
fn last_of_best(results: &Results, series: &str) -> Option<(f64, String)> {
    let all = (0..results.points("c")).map(|number| results.median("c", series, At::Number(number)));
    let best = all.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::max)?;
    let share = results.median("c", series, At::Last)? / best.max(f64::MIN_POSITIVE);
    let aborts = results.aborts("c", series, At::Last)?;
    let threads = results.label("c", At::Last);
    Some((share, format!("{series} with {threads} threads has {share:.2} of its best, and {aborts:.0} % aborts")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let threads = |made: MadeUpPoint<'_>| made.label.parse::<f64>().expect("a number of threads");
        let paper = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", _) => 10.0 * threads(made).min(2.0),
            (_, SINGLE) => 40.0,
            (_, DUAL) => 30.0,
            (_, RANDOM) => 20.0,
            (_, DEADLOCK_FREE) => 20.0,
            _ => 20.0 - 12.0 * made.way,
        };
        check(&FIGURE, paper, &[true; 6]);
        let other = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", _) | (_, SINGLE | DUAL | RANDOM) => 10.0,
            (_, DEADLOCK_FREE) => 20.0 - 12.0 * made.way,
            _ => 10.0 + 5.0 * made.way,
        };
        check(&FIGURE, other, &[false; 6]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match made.series {
            DEADLOCK_FREE => 20.0 - 2.0 * made.way,
            SINGLE => 14.0,
            DUAL => 14.0,
            RANDOM => 12.0,
            _ => 10.0,
        };
        check_weaker(&FIGURE, less, &[true; 3]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            DEADLOCK_FREE => 20.0 - 12.0 * made.way,
            SINGLE => 9.0,
            _ => 10.0,
        };
        check_weaker(&FIGURE, other, &[false; 3]);
    }
}
