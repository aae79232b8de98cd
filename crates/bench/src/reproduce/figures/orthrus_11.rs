//! ORTHRUS, Fig. 11: ten reads as cores are added.

use super::orthrus::{
    DEADLOCK_FREE, DUAL, ON_64_HOT_ROWS, ORTHRUS_PAPER, RANDOM, SINGLE, at_busy, at_cores, configurations, equals,
    share_of_best, table_by_threads, threads_and_partitions,
};
use crate::report::EngineReport;
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::Results;
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "orthrus-11",
    paper: &ORTHRUS_PAPER,
    place: "Fig. 11, appendix A.1",
    title: "Ten reads as threads are added, by how many threads a transaction has its locks of",
    there: "YCSB transactions of ten reads on 10 million rows of 1,000 bytes: keys uniform (a), and two of the ten on \
            64 hot rows (b); up to 80 cores. 2PL is wait-die. A transaction of ORTHRUS has all its locks of one \
            concurrency-control thread and needs two messages for them (single), of two and needs three (dual), or of \
            any and needs eight to ten (random).",
    here: "The same transactions on a smaller table. The threads go up to the cores and then on to four on each core. \
           Random has locks of at most as many threads as there are in that role, four of eight threads. Claims about \
           many cores are judged with a thread on each core, or with four on each of fewer than eight cores.",
    plan,
    claims: &CLAIMS,
};

const TWO_PHASE: &str = "2PL (wait-die)";

fn plan(scale: &Scale) -> Plan {
    let panel = |id, title: &str, hot: &str| {
        let point = |threads| {
            let options = format!("--read-only --ops 10 {hot}{}", threads_and_partitions(threads));
            Point::at(threads, &table_by_threads(scale), options)
        };
        let others = [Series::throughput(DEADLOCK_FREE, "2pl-ordered"), Series::throughput(TWO_PHASE, "2pl-waitdie")];
        Panel {
            id,
            title: title.to_owned(),
            points: scale.thread_counts().into_iter().map(point).collect(),
            series: configurations().into_iter().chain(others).collect(),
        }
    };
    Plan {
        chart: Chart::Curves { x: "threads" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![
            panel("a", "uniform keys", ""),
            panel("b", "2 of 10 on 64 hot rows", &format!("{ON_64_HOT_ROWS} ")),
        ],
    }
}

static CLAIMS: [Claim; 6] = [
    Claim {
        text: "At low contention ORTHRUS with locks of one or of two threads is faster than deadlock-free locking and \
               2PL.",
        criterion: "In (a), with the threads that stand for 80, single and dual are at least 1.05 times each of the \
                    two. The paper shows curves and gives no number.",
        judge: |results| all([beats_locking(results, SINGLE), beats_locking(results, DUAL)]),
        weaker: Some(Weaker {
            criterion: "In (a), with the threads that stand for 80, single is at least 1.05 times each of the two.",
            judge: |results| beats_locking(results, SINGLE),
        }),
        otherwise: "What ORTHRUS saves is that the lines of locks move between cores. Between two cores that share a \
                    cache they move as fast as messages, and half of ORTHRUS' threads execute nothing.",
    },
    Claim {
        text: "With locks of any threads it is slower than both: so many messages cost more than latches.",
        criterion: "In (a), with the threads that stand for 80, deadlock-free locking and 2PL are at least 1.05 times \
                    random.",
        judge: |results| {
            let at = at_busy(results, "a")?;
            let ahead = |name| leads(results, "a", only(at), name, &[RANDOM], 1.0 + TOLERANCE);
            all([ahead(DEADLOCK_FREE), ahead(TWO_PHASE)])
        },
        weaker: None,
        otherwise: "With few concurrency-control threads there are few messages: no more than five with four of them.",
    },
    Claim {
        text: "The number of messages explains it: one for each thread that a transaction has locks of, and one more.",
        criterion: "In (a), with the threads that stand for 80, a transaction takes 1.9 to 2.1 messages in single, 2.85 \
                    to 3.15 in dual and at least 1.05 times as many in random as in dual; and single is at least 1.05 \
                    times as fast as dual, and dual as random.",
        judge: |results| {
            messages_explain(results, 1.0 + TOLERANCE, |[single, dual, _]| {
                (1.9..=2.1).contains(&single) && (2.85..=3.15).contains(&dual)
            })
        },
        weaker: Some(Weaker {
            criterion: "A transaction takes more messages in dual than in single and in random than in dual, and each \
                        is at least 1.00 times as fast as the one with more.",
            judge: |results| messages_explain(results, 1.0, |_| true),
        }),
        otherwise: "With one concurrency-control thread all three are the same, with two dual and random are. Where \
                    threads share cores, a message waits for its receiver's turn and not for its way.",
    },
    Claim {
        text: "At high contention deadlock-free locking and 2PL do not scale beyond 60 cores, although nothing \
               conflicts.",
        criterion: "In (b), with a thread on each core, each of the two has less than 0.95 times its own best with \
                    fewer threads.",
        judge: |results| {
            let at = at_cores(results, "b")?;
            let falls = |name| {
                let (share, evidence) = share_of_best(results, "b", name, at)?;
                Some(Finding { holds: share < 1.0 - TOLERANCE, evidence })
            };
            all([falls(DEADLOCK_FREE), falls(TWO_PHASE)])
        },
        weaker: None,
        otherwise: "It takes some sixty cores. Between a few, the lines of 64 hot locks move seldom enough.",
    },
    Claim {
        text: "Deadlock-free locking and 2PL are then nearly the same: no deadlock is ever handled.",
        criterion: "In (b), with the threads that stand for 80, deadlock-free locking is 0.95 to 1.05 times 2PL.",
        judge: |results| equals(results, "b", only(at_busy(results, "b")?), DEADLOCK_FREE, TWO_PHASE),
        weaker: None,
        otherwise: "Deadlock-free locking sorts its keys and asks for all locks at once; 2PL knows its keys here, too, \
                    but asks one by one. Neither is the other's code with a part left out.",
    },
    Claim {
        text: "ORTHRUS becomes slightly faster at high contention, since hot rows and hot locks stay in caches.",
        criterion: "With the threads that stand for 80, each of its three configurations is in (b) at least 1.00 times \
                    what it is in (a).",
        judge: |results| hot_is_faster(results, 1.0),
        weaker: Some(Weaker {
            criterion: "It is at least 0.95 times.",
            judge: |results| hot_is_faster(results, 1.0 - TOLERANCE),
        }),
        otherwise: "Two of ten rows are hot; what they save is little beside what a shared machine varies by.",
    },
];

/// Decides whether a configuration of ORTHRUS is faster than deadlock-free locking and 2PL at low contention.
fn beats_locking(results: &Results, name: &str) -> Option<Finding> {
    leads(results, "a", only(at_busy(results, "a")?), name, &[DEADLOCK_FREE, TWO_PHASE], 1.0 + TOLERANCE)
}

/// Decides whether `counts` accepts the messages of a transaction in single, dual and random, each has more than
/// `factor` times as many as the one before, or just more if the factor is one, and is at most 1/`factor` times as
/// fast.
fn messages_explain(results: &Results, factor: f64, counts: impl Fn([f64; 3]) -> bool) -> Option<Finding> {
    let at = at_busy(results, "a")?;
    let messages = |name| {
        let of_run = |run: &EngineReport| run.costs.messages as f64 / run.transactions.committed.max(1) as f64;
        results.median_of("a", name, at, of_run)
    };
    let (single, dual, random) = (messages(SINGLE)?, messages(DUAL)?, messages(RANDOM)?);
    let holds = counts([single, dual, random]) && dual > factor * single && random > factor * dual;
    let evidence =
        format!("a transaction takes {single:.2} messages in single, {dual:.2} in dual, {random:.2} in random");
    let faster = |name, other| leads(results, "a", only(at), name, &[other], factor);
    all([Some(Finding { holds, evidence }), faster(SINGLE, DUAL), faster(DUAL, RANDOM)])
}

/// Decides whether each configuration of ORTHRUS has at high contention at least `least` times its throughput at low.
fn hot_is_faster(results: &Results, least: f64) -> Option<Finding> {
    let ratio = |name| {
        let [cold, hot] = ["a", "b"].map(|panel| results.median(panel, name, at_busy(results, panel)?));
        let ratio = hot? / cold?.max(f64::MIN_POSITIVE);
        let evidence = format!("{name} is in (b) {ratio:.2} times what it is in (a)");
        Some(Finding { holds: ratio >= least, evidence })
    };
    all([SINGLE, DUAL, RANDOM].map(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check_results, check_weaker_results};
    use crate::reproduce::results::tests::{MadeUpPoint, change_runs, made_up};

    /// Makes up results with so many messages of a transaction in single, dual and random.
    fn with_messages(value: impl Fn(MadeUpPoint<'_>) -> f64, messages: [f64; 3]) -> Results {
        let mut results = made_up(&FIGURE, value);
        for (name, messages) in [SINGLE, DUAL, RANDOM].into_iter().zip(messages) {
            change_runs(&mut results, name, |run| {
                run.costs.messages = (messages * run.transactions.committed as f64) as u64;
            });
        }
        results
    }

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.panel, made.series, made.label) {
            ("a", SINGLE, _) => 30.0,
            ("a", DUAL, _) => 25.0,
            ("a", RANDOM, _) => 15.0,
            ("b", SINGLE | DUAL | RANDOM, _) => 31.0,
            ("b", _, "1") => 20.0,
            ("b", ..) => 15.0,
            _ => 20.0,
        };
        check_results(&FIGURE, &with_messages(paper, [2.0, 3.0, 7.0]), &[true; 6]);
        // A message more than the paper has is not the paper's protocol.
        check_results(&FIGURE, &with_messages(paper, [3.0, 5.0, 11.0]), &[true, true, false, true, true, true]);
        let other = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", _) => 10.0,
            (_, DEADLOCK_FREE) => 10.0 + made.way,
            (_, TWO_PHASE) => 12.0,
            _ => 9.0,
        };
        check_results(&FIGURE, &with_messages(other, [2.0, 2.0, 2.0]), &[false; 6]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", SINGLE) => 12.0,
            ("a", DUAL) => 10.1,
            ("b", SINGLE) => 11.6,
            ("b", DUAL) => 9.7,
            ("b", RANDOM) => 9.6,
            _ => 10.0,
        };
        check_weaker_results(&FIGURE, &with_messages(less, [2.4, 3.4, 3.5]), &[true; 3]);
        let other = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("b", SINGLE) => 9.0,
            _ => 10.0,
        };
        check_weaker_results(&FIGURE, &with_messages(other, [2.0, 2.0, 2.0]), &[false; 3]);
    }
}
