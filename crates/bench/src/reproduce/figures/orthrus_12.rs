//! ORTHRUS, Fig. 12: ten read-modify-writes as cores are added, without ORTHRUS itself.

use super::orthrus::{DEADLOCK_FREE, ORTHRUS, as_contended_as_the_paper, table, ten_updates};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "orthrus-12",
    paper: &ORTHRUS,
    place: "Fig. 12, appendix A.2",
    title: "Ten read-modify-writes as threads are added",
    there: "YCSB transactions of ten read-modify-writes on 10 million rows of 1,000 bytes: keys uniform (a), and two \
            of the ten on 64 hot rows (b); up to 80 cores. 2PL is wait-die. ORTHRUS itself is not among our engines \
            yet.",
    here: "The same transactions on a smaller table. The threads go up to the cores and then on to four on each core, \
           which adds contention but no speed. Panel (c) has so few hot rows that a transaction of the crowded machine \
           meets as many others as with 80 threads on 64. No locking at all is drawn for comparison.",
    plan,
    claims: &CLAIMS,
};

const TWO_PHASE: &str = "2PL (wait-die)";
const NOTHING: &str = "no locking";

fn plan(scale: &Scale) -> Plan {
    let hot = as_contended_as_the_paper(scale.crowd());
    let panel = |id, title: String, options: fn(u64, u64) -> String, hot: u64| {
        let point = |threads| Point::at(threads, &table(scale), options(threads, hot));
        let series = vec![
            Series::throughput(DEADLOCK_FREE, "2pl-ordered"),
            Series::throughput(TWO_PHASE, "2pl-waitdie"),
            Series::reference(NOTHING, "none"),
        ];
        Panel { id, title, points: scale.thread_counts().into_iter().map(point).collect(), series }
    };
    let uniform = |threads, _| format!("--rmw --ops 10 --threads {threads}");
    let contended = |threads, hot| ten_updates(threads, hot, 2, "first");
    Plan {
        chart: Chart::Curves { x: "threads" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![
            panel("a", "uniform keys".to_owned(), uniform, 0),
            panel("b", "2 of 10 on 64 hot rows".to_owned(), contended, 64),
            panel("c", format!("2 of 10 on {hot} hot rows"), contended, hot),
        ],
    }
}

static CLAIMS: [Claim; 4] = [
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
];

/// Decides whether the throughput with a thread on each core is at least 0.8 of the throughput of one thread times the
/// number of cores.
fn scales(results: &Results, series: &str) -> Option<Finding> {
    // Two larger numbers of threads follow that of the cores.
    let cores = At::Number(results.points("a").checked_sub(3)?);
    let (one, many) = (results.median("a", series, At::First)?, results.median("a", series, cores)?);
    let threads: f64 = results.label("a", cores).parse().ok()?;
    let share = many / (one * threads).max(f64::MIN_POSITIVE);
    let evidence = format!("{series} has {share:.2} of its single-threaded throughput on each of {threads} cores");
    Some(Finding { holds: share >= 0.8, evidence })
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
            (_, DEADLOCK_FREE) => 20.0,
            _ => 20.0 - 12.0 * made.way,
        };
        check(&FIGURE, paper, &[true; 4]);
        let other = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", _) => 10.0,
            (_, DEADLOCK_FREE) => 20.0 - 12.0 * made.way,
            _ => 10.0 + 5.0 * made.way,
        };
        check(&FIGURE, other, &[false; 4]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match made.series {
            DEADLOCK_FREE => 20.0 - 2.0 * made.way,
            _ => 10.0,
        };
        check_weaker(&FIGURE, less, &[true; 1]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            DEADLOCK_FREE => 20.0 - 12.0 * made.way,
            _ => 10.0,
        };
        check_weaker(&FIGURE, other, &[false; 1]);
    }
}
