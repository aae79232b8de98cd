//! Interactive, Fig. 18 and 19: reads and writes as keys get more skewed.

use super::interactive::{
    ILOCK, INTERACTIVE, LOCK_TABLE, PATIENCE, ROW_LOCKING, STRETCH, methods, micro, with_server_cpu,
};
use crate::reproduce::claim::{Claim, Finding, all, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "interactive-18",
    paper: &INTERACTIVE,
    place: "Fig. 18 and 19, §5.3",
    title: "Five reads and five writes as keys get more skewed",
    there: "The transactions of Fig. 17 from 200 clients. Fig. 19 shows the same points as shares of iLock's \
            throughput.",
    here: "The same. Fig. 19 has no drawing of its own: what it shows is what the claims are decided by.",
    plan,
    claims: &CLAIMS,
};

fn plan(scale: &Scale) -> Plan {
    let rows = micro(scale);
    let clients = scale.pick(200, 200, 3);
    let thetas: &[f64] = scale.pick(&[0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0], &[0.0, 0.6, 0.9], &[0.0, 0.9]);
    let point = |&theta: &f64| Point {
        x: theta,
        label: theta.to_string(),
        rows: rows.clone(),
        options: format!("--reads 5 --writes 5 --theta {theta} --clients {clients} {PATIENCE}"),
    };
    Plan {
        chart: Chart::Curves { x: "exponent of Zipf" },
        value: "thousand transactions per second",
        stretch: STRETCH,
        panels: vec![Panel {
            id: "a",
            title: format!("{clients} clients"),
            points: thetas.iter().map(point).collect(),
            series: methods(),
        }],
    }
}

static CLAIMS: [Claim; 3] = [
    Claim {
        text: "All methods commit less as keys get more skewed.",
        criterion: "Each of the three commits less than 0.95 times as much at the most skew as without any.",
        judge: |results| all([ILOCK, ROW_LOCKING, LOCK_TABLE].map(|name| falls(results, name))),
        weaker: None,
        otherwise: "As long as the processors are busy, transactions that wait cost nothing.",
    },
    Claim {
        text: "Without skew the lighter lock manager is ahead: iLock of Lock-Table.",
        criterion: "iLock is at least 1.5 times Lock-Table at no skew. The paper shows a curve and gives no number.",
        judge: |results| {
            let lead = leads(results, "a", only(At::First), ILOCK, &[LOCK_TABLE], 1.5);
            with_server_cpu(results, "a", At::First, lead)
        },
        weaker: None,
        otherwise: "The clients take much of the machine's time, and the kernel's network most of the rest.",
    },
    Claim {
        text: "The more skew, the further Row-Locking falls behind iLock.",
        criterion: "iLock is a greater multiple of Row-Locking at the most skew than without any, by 5 % at least.",
        judge: |results| {
            let ratio = |at| results.ratio("a", at, ILOCK, ROW_LOCKING);
            let (before, after) = (ratio(At::First)?, ratio(At::Last)?);
            let evidence =
                format!("iLock is {before:.2} times Row-Locking without skew, {after:.2} times with the most");
            Some(Finding { holds: after > 1.05 * before, evidence })
        },
        weaker: None,
        otherwise: "Where deadlocks are ended by time alone, hot rows hold everybody up alike.",
    },
];

fn falls(results: &Results, name: &str) -> Option<Finding> {
    let median = |at| results.median("a", name, at);
    let share = median(At::Last)? / median(At::First)?.max(f64::MIN_POSITIVE);
    Some(Finding { holds: share < 0.95, evidence: format!("{name} keeps {share:.2} of its throughput") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::check;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        check(
            &FIGURE,
            |made| match made.series {
                ILOCK => 40.0 - 30.0 * made.way,
                ROW_LOCKING => 38.0 - 37.0 * made.way,
                _ => 12.0 - 6.0 * made.way,
            },
            &[true; 3],
        );
        check(&FIGURE, |_| 10.0, &[false; 3]);
    }
}
