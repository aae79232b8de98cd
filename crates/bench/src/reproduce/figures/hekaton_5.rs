//! Hekaton, Fig. 5: short transactions on a thousand rows, as threads are added.

use super::hekaton::{HEKATON, LOCKING, OPTIMISTIC, SINGLE, hot, schemes, short};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "hekaton-5",
    paper: &HEKATON,
    place: "Fig. 5, §5.1.2",
    title: "Ten reads and two writes on a thousand rows, as threads are added",
    there: "The transactions of Fig. 4 on a table of 1,000 rows.",
    here: "The same. With fewer cores fewer transactions meet; the threads go on to four on each core.",
    plan,
    claims: &CLAIMS,
};

fn plan(scale: &Scale) -> Plan {
    let rows = hot(scale);
    let point = |threads| Point::at(threads, &rows, short(threads));
    let points = scale.thread_counts().into_iter().map(point).collect();
    Plan {
        chart: Chart::Curves { x: "threads" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![Panel { id: "a", title: "a hot spot".to_owned(), points, series: schemes() }],
    }
}

static CLAIMS: [Claim; 2] = [
    Claim {
        text: "With all threads MV/O is slightly ahead of both locking schemes.",
        criterion: "With the most threads, MV/O is at least 1.00 times each of the other two.",
        judge: |results| leads(results, "a", only(At::Last), OPTIMISTIC, &[SINGLE, LOCKING], 1.0),
        weaker: None,
        otherwise: "What holds 1V up there is many cores at the same locks. Two of them meet seldom on a thousand \
                    rows, and a row that is updated in place stays in the cache.",
    },
    Claim {
        text: "1V is at its best with a few threads; with more it drops, and stays flat.",
        criterion: "1V with the most threads is below 0.95 times its own best.",
        judge: drops,
        weaker: None,
        otherwise: "Threads beyond the cores take turns: they add transactions in flight, but no more run at once.",
    },
];

fn drops(results: &Results) -> Option<Finding> {
    let all = (0..results.points("a")).map(|number| results.median("a", SINGLE, At::Number(number)));
    let best = all.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::max)?;
    let share = results.median("a", SINGLE, At::Last)? / best.max(f64::MIN_POSITIVE);
    let evidence = format!("1V with {} threads has {share:.2} of its best", results.label("a", At::Last));
    Some(Finding { holds: share < 1.0 - TOLERANCE, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::check;
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match made.series {
            SINGLE => 15.0 - 5.0 * made.way,
            OPTIMISTIC => 5.0 + 6.0 * made.way,
            _ => 4.0 + 6.0 * made.way,
        };
        check(&FIGURE, paper, &[true; 2]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            SINGLE => 10.0 + 5.0 * made.way,
            _ => 10.0,
        };
        check(&FIGURE, other, &[false; 2]);
    }
}
