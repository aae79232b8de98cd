//! ORTHRUS, Fig. 5: threads that execute, for each number of threads that lock.

use super::orthrus::{ORTHRUS_PAPER, growth, share_of_best, table_of};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, everywhere};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "orthrus-5",
    paper: &ORTHRUS_PAPER,
    place: "Fig. 5, §4.2",
    title: "ORTHRUS as execution threads are added, by the number of concurrency-control threads",
    there: "Ten read-modify-writes of uniform rows of 1,000 bytes, 10 million rows. A transaction has all its locks of \
            one concurrency-control thread. Three numbers of these, and of 80 cores as many execution threads as are \
            left.",
    here: "The same transactions on a table of a hundredth of the rows, because each point has a database of its own. \
           Four, eight and sixteen concurrency-control threads, or one, two and four on fewer than 24 cores. The \
           execution threads go up to the cores, or to eight: on a small machine both roles share the cores.",
    plan,
    claims: &CLAIMS,
};

/// The names of the series, by the number of concurrency-control threads.
const FEWEST: &str = "fewest";
const TWICE: &str = "twice as many";
const FOUR_TIMES: &str = "four times as many";

fn plan(scale: &Scale) -> Plan {
    let fewest = if scale.cores < 24 { 1 } else { 4 };
    let rows = table_of(scale.pick(100_000, 20_000, 200));
    let series = |(name, factor): (&'static str, u64)| {
        let lockers = fewest * factor;
        let options = format!("--cc-threads {lockers} --partitions {lockers} --partitions-per-txn 1");
        Series::throughput(name, "orthrus").with(options)
    };
    let point = |threads| Point::at(threads, &rows, format!("--rmw --ops 10 --exec-threads {threads}"));
    let execution_threads = scale.thread_counts().into_iter().filter(|&threads| threads <= scale.cores.max(8));
    let panel = Panel {
        id: "a",
        title: format!("{fewest}, {} and {} concurrency-control threads", 2 * fewest, 4 * fewest),
        points: execution_threads.map(point).collect(),
        series: [(FEWEST, 1), (TWICE, 2), (FOUR_TIMES, 4)].map(series).to_vec(),
    };
    Plan {
        chart: Chart::Curves { x: "execution threads" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![panel],
    }
}

static CLAIMS: [Claim; 2] = [
    Claim {
        text: "Throughput rises with the execution threads until they saturate the concurrency-control threads; then \
               it stays level.",
        criterion: "Each curve is at its best at least 1.05 times what it is at the first point, and at the last point \
                    at least 0.95 times its best. With the fewest concurrency-control threads the last point is at \
                    most 1.05 times the one before.",
        judge: rise_and_stay,
        weaker: None,
        otherwise: "With few cores a thread that is added takes its core from another one, whichever its role. What \
                    limits throughput is the cores and not one of the roles.",
    },
    Claim {
        text: "The height at which a curve becomes level is proportional to the number of concurrency-control threads.",
        criterion: "The best of the curve with twice as many is 1.8 to 2.2 times the best with the fewest, that of the \
                    curve with four times as many 3.6 to 4.4 times. The paper shows curves and gives no number.",
        judge: |results| {
            let (twice, four_times, evidence) = heights(results)?;
            Some(Finding { holds: (1.8..=2.2).contains(&twice) && (3.6..=4.4).contains(&four_times), evidence })
        },
        weaker: Some(Weaker {
            criterion: "More sustain more: each best is at least 1.05 times the one with half as many.",
            judge: |results| {
                let (twice, four_times, evidence) = heights(results)?;
                let least = 1.0 + TOLERANCE;
                Some(Finding { holds: twice >= least && four_times >= least * twice, evidence })
            },
        }),
        otherwise: "A curve becomes level only where the concurrency-control threads have cores of their own and are \
                    what is short. If all threads share a few cores, these are short.",
    },
];

fn rise_and_stay(results: &Results) -> Option<Finding> {
    let of_curve = |name| {
        let best = best(results, name)? / results.median("a", name, At::First)?.max(f64::MIN_POSITIVE);
        let (share, evidence) = share_of_best(results, "a", name, At::Number(results.points("a").checked_sub(1)?))?;
        let evidence = format!("{evidence}; its best is {best:.2} times its first point");
        Some(Finding { holds: best >= 1.0 + TOLERANCE && share >= 1.0 - TOLERANCE, evidence })
    };
    let level = || {
        let before = At::Number(results.points("a").checked_sub(2)?);
        let (earlier, last) = (growth(results, "a", FEWEST, before)?, growth(results, "a", FEWEST, At::Last)?);
        let ratio = last / earlier.max(f64::MIN_POSITIVE);
        let evidence = format!("with the fewest, the last point is {ratio:.2} times the one before");
        Some(Finding { holds: ratio <= 1.0 + TOLERANCE, evidence })
    };
    all([of_curve(FEWEST), of_curve(TWICE), of_curve(FOUR_TIMES), level()])
}

/// Returns the best throughput of a series.
fn best(results: &Results, series: &str) -> Option<f64> {
    let medians = everywhere(results, "a").map(|at| results.median("a", series, at));
    medians.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::max)
}

/// Returns the best with twice and with four times the concurrency-control threads as multiples of the best with the
/// fewest, and the same in words.
fn heights(results: &Results) -> Option<(f64, f64, String)> {
    let fewest = best(results, FEWEST)?.max(f64::MIN_POSITIVE);
    let (twice, four_times) = (best(results, TWICE)? / fewest, best(results, FOUR_TIMES)? / fewest);
    let evidence =
        format!("the best is {twice:.2} times that with the fewest with {TWICE}, {four_times:.2} with {FOUR_TIMES}");
    Some((twice, four_times, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    fn threads(made: MadeUpPoint<'_>) -> f64 {
        made.label.parse().expect("a number of threads")
    }

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match made.series {
            FEWEST => threads(made).min(2.0),
            TWICE => threads(made).min(4.0),
            _ => threads(made).min(8.0),
        };
        check(&FIGURE, paper, &[true; 2]);
        check(&FIGURE, |made| 10.0 - made.way, &[false; 2]);
        // A curve that still rises is not level.
        check(&FIGURE, threads, &[false; 2]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match made.series {
            FEWEST => 10.0,
            TWICE => 12.0,
            _ => 14.0,
        };
        check_weaker(&FIGURE, less, &[true]);
        check_weaker(&FIGURE, |_| 10.0, &[false]);
    }
}
