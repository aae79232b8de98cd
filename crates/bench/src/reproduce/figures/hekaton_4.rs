//! Hekaton, Fig. 4: short transactions on a large table, as threads are added.

use super::hekaton::{HEKATON, LOCKING, OPTIMISTIC, SINGLE, VERSIONED, large, schemes, short};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "hekaton-4",
    paper: &HEKATON,
    place: "Fig. 4, §5.1.1",
    title: "Ten reads and two writes on a large table, as threads are added",
    there: "Ten reads and two writes, uniform, of ten million rows of 24 bytes with a hash index, at read committed; \
            up to 24 hardware threads of two sockets with six cores each. Log records are written in the background.",
    here: "The same transactions; a transaction's keys are looked up together, and nothing is logged. The two writes of \
           a transaction lie in one tenth of the table, chosen anew each time. The threads go up to the cores and then \
           on to four on each core. No concurrency control at all is drawn for comparison.",
    plan,
    claims: &CLAIMS,
};

const NOTHING: &str = "no concurrency control";

fn plan(scale: &Scale) -> Plan {
    let rows = large(scale);
    let point = |threads| Point::at(threads, &rows, short(threads));
    let series = schemes().into_iter().chain([Series::reference(NOTHING, "none")]).collect();
    let points = scale.thread_counts().into_iter().map(point).collect();
    Plan {
        chart: Chart::Curves { x: "threads" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![Panel { id: "a", title: "low contention".to_owned(), points, series }],
    }
}

static CLAIMS: [Claim; 4] = [
    Claim {
        text: "All three schemes scale linearly with the cores of a socket.",
        criterion: "Each reaches at least 0.95 times as much per core with a thread on each core as with one thread.",
        judge: |results| all([SINGLE, LOCKING, OPTIMISTIC].map(|name| scales(results, name, 1.0 - TOLERANCE))),
        weaker: Some(Weaker {
            criterion: "Each reaches at least 0.8 times as much.",
            judge: |results| all([SINGLE, LOCKING, OPTIMISTIC].map(|name| scales(results, name, 0.8))),
        }),
        otherwise: "The cores of a shared machine may be two threads of one core, and share its caches and its memory \
                    bandwidth.",
    },
    Claim {
        text: "1V is the fastest: making versions and cleaning them up costs more than an update in place.",
        criterion: "With a thread on each core, 1V is at least 1.05 times each of the other two.",
        judge: |results| leads(results, "a", only(cores(results)?), SINGLE, &VERSIONED, 1.0 + TOLERANCE),
        weaker: None,
        otherwise: "Keys are looked up together here, so that the cache misses of a longer chain overlap, and reads of \
                    versions take no locks.",
    },
    Claim {
        text: "MV/O has 67 % of the throughput of 1V, MV/L 47 %.",
        criterion: "With a thread on each core, MV/O is at least 0.67 times 1V, and MV/L at least 0.47 times.",
        judge: |results| {
            let near = |name, least| leads(results, "a", only(cores(results)?), name, &[SINGLE], least);
            all([near(OPTIMISTIC, 0.67), near(LOCKING, 0.47)])
        },
        weaker: Some(Weaker {
            criterion: "With a thread on each core, MV/O is at least 0.60 times 1V, and MV/L at least 0.45 times.",
            judge: |results| {
                let near = |name, least| leads(results, "a", only(cores(results)?), name, &[SINGLE], least);
                all([near(OPTIMISTIC, 0.6), near(LOCKING, 0.45)])
            },
        }),
        otherwise: "A version is a cache line more to write, and one to fetch when it is collected.",
    },
    Claim {
        text: "MV/L is slower than MV/O, by 30 %: it writes more, for locks and dependencies.",
        criterion: "With a thread on each core, MV/O is at least 1.42 times MV/L.",
        judge: |results| leads(results, "a", only(cores(results)?), OPTIMISTIC, &[LOCKING], 1.42),
        weaker: Some(Weaker {
            criterion: "With a thread on each core, MV/O is at least 1.05 times MV/L.",
            judge: |results| leads(results, "a", only(cores(results)?), OPTIMISTIC, &[LOCKING], 1.0 + TOLERANCE),
        }),
        otherwise: "At read committed neither tracks what it reads: a pessimistic transaction has no read locks here, \
                    and waits for nobody who has none.",
    },
];

/// Returns the point with a thread on each core. It is the third from the last: two larger numbers of threads follow
/// it.
fn cores(results: &Results) -> Option<At> {
    Some(At::Number(results.points("a").checked_sub(3)?))
}

/// Decides whether the throughput with a thread on each core is at least the share `least` of the throughput of one
/// thread times the number of cores.
fn scales(results: &Results, series: &str, least: f64) -> Option<Finding> {
    let cores = cores(results)?;
    let (one, many) = (results.median("a", series, At::First)?, results.median("a", series, cores)?);
    let threads: f64 = results.label("a", cores).parse().ok()?;
    let share = many / (one * threads).max(f64::MIN_POSITIVE);
    let evidence = format!("{series} has {share:.2} of its single-threaded throughput on each of {threads} cores");
    Some(Finding { holds: share >= least, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let threads = |made: MadeUpPoint<'_>| made.label.parse::<f64>().expect("a number of threads").min(2.0);
        let paper = |made: MadeUpPoint<'_>| {
            threads(made)
                * match made.series {
                    SINGLE => 100.0,
                    OPTIMISTIC => 68.0,
                    LOCKING => 47.5,
                    _ => 110.0,
                }
        };
        check(&FIGURE, paper, &[true; 4]);
        let slow = |made: MadeUpPoint<'_>| if made.series == SINGLE { 50.0 } else { 20.0 };
        check(&FIGURE, slow, &[false, true, false, false]);
        check(&FIGURE, |_| 50.0, &[false, false, true, false]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| {
            let threads = if made.label == "1" { 1.0 } else { 1.8 };
            threads
                * match made.series {
                    OPTIMISTIC => 62.0,
                    LOCKING => 46.0,
                    _ => 100.0,
                }
        };
        check_weaker(&FIGURE, less, &[true; 3]);
        let other = |made: MadeUpPoint<'_>| if made.series == SINGLE { 50.0 } else { 20.0 };
        check_weaker(&FIGURE, other, &[false; 3]);
    }
}
