//! ORTHRUS, Fig. 1: two-phase locking of read-only transactions as cores are added.

use super::orthrus::{NOTHING, ON_64_HOT_ROWS, ORTHRUS_PAPER, at_cores, growth, share_of_best, table_by_threads};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, everywhere};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "orthrus-1",
    paper: &ORTHRUS_PAPER,
    place: "Fig. 1, §2.1",
    title: "Two-phase locking of reads that never conflict, as threads are added",
    there: "Ten reads of rows of 1,000 bytes, two of them on 64 hot rows; 10 million rows, up to 80 cores. No request \
            for a lock ever waits. What keeps 2PL from scaling is that all cores change the same lock requests.",
    here: "The same transactions on a smaller table, with wait-die as in appendix A. The threads go up to the cores \
           and then on to four on each core. No locking at all is drawn for comparison.",
    plan,
    claims: &CLAIMS,
};

const TWO_PHASE: &str = "2PL (wait-die)";

fn plan(scale: &Scale) -> Plan {
    let point = |threads| {
        let options = format!("--read-only --ops 10 {ON_64_HOT_ROWS} --threads {threads}");
        Point::at(threads, &table_by_threads(scale), options)
    };
    let panel = Panel {
        id: "a",
        title: "ten reads, 2 of them on 64 hot rows".to_owned(),
        points: scale.thread_counts().into_iter().map(point).collect(),
        series: vec![Series::throughput(TWO_PHASE, "2pl-waitdie"), Series::reference(NOTHING, "none")],
    };
    Plan {
        chart: Chart::Curves { x: "threads" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![panel],
    }
}

static CLAIMS: [Claim; 2] = [
    Claim {
        text: "Two-phase locking does not scale beyond 40 cores: its throughput falls as cores are added, although \
               nothing conflicts.",
        criterion: "With a thread on each core it has less than 0.95 times its own best with fewer threads.",
        judge: |results| {
            let (share, evidence) = share_of_best(results, "a", TWO_PHASE, at_cores(results, "a")?)?;
            Some(Finding { holds: share < 1.0 - TOLERANCE, evidence })
        },
        weaker: Some(Weaker {
            criterion: "From one thread to one on each core, its throughput grows by less than 0.95 times the factor \
                        by which that of no locking grows.",
            judge: grows_less,
        }),
        otherwise: "It takes some forty cores. The lines of 64 hot locks do move between a few cores, but the lines of \
                    the rows themselves are in every core's cache, and most of the time no other core asks.",
    },
    Claim {
        text: "The transactions are in no conflict: deadlock handling is never invoked.",
        criterion: "At every point, no request of 2PL waits for a lock, and no attempt aborts.",
        judge: no_conflict,
        weaker: None,
        otherwise: "A request that shares its bucket of the lock table with others still shares no lock with them.",
    },
];

fn grows_less(results: &Results) -> Option<Finding> {
    let at = at_cores(results, "a")?;
    let (locks, none) = (growth(results, "a", TWO_PHASE, at)?, growth(results, "a", NOTHING, at)?);
    let evidence = format!(
        "with {} threads {TWO_PHASE} is {locks:.2} times what it is with one, {NOTHING} {none:.2} times",
        results.label("a", at)
    );
    Some(Finding { holds: locks < (1.0 - TOLERANCE) * none, evidence })
}

fn no_conflict(results: &Results) -> Option<Finding> {
    let most = |value: &dyn Fn(At) -> Option<f64>| {
        everywhere(results, "a").map(value).collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::max)
    };
    let waits = most(&|at| results.median_of("a", TWO_PHASE, at, |run| run.costs.waits_per_txn))?;
    let aborts = most(&|at| results.aborts("a", TWO_PHASE, at))?;
    let evidence = format!("at most {waits:.4} requests of a transaction wait, and {aborts:.2} % of attempts abort");
    Some(Finding { holds: waits == 0.0 && aborts == 0.0, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_results, check_weaker};
    use crate::reproduce::results::tests::{MadeUpPoint, change_runs, made_up};

    #[test]
    fn a_curve_as_in_the_paper_confirms_its_claims_and_another_refutes_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (TWO_PHASE, "1") => 10.0,
            (TWO_PHASE, _) => 9.0,
            _ => 10.0 + 10.0 * made.way,
        };
        check(&FIGURE, paper, &[true; 2]);
        // More threads than cores do not count.
        let other = |made: MadeUpPoint<'_>| match made.label {
            "1" => 10.0,
            "2" => 20.0,
            _ => 5.0,
        };
        let mut results = made_up(&FIGURE, other);
        change_runs(&mut results, TWO_PHASE, |run| run.costs.waits_per_txn = 0.5);
        check_results(&FIGURE, &results, &[false; 2]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (_, "1") => 10.0,
            (TWO_PHASE, _) => 15.0,
            _ => 20.0,
        };
        check_weaker(&FIGURE, less, &[true]);
        check_weaker(&FIGURE, |made| 10.0 + made.way, &[false]);
    }
}
