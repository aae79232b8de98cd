//! Hekaton, Fig. 7: short read-only transactions beside updates, on a thousand rows.

use super::hekaton::{HEKATON, LOCKING, OPTIMISTIC, SINGLE, crowds, gains, hot, labelled, schemes};
use super::hekaton_6::reading;
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;
use hotrow_txn::number_of;

pub(super) static FIGURE: Figure = Figure {
    id: "hekaton-7",
    paper: &HEKATON,
    place: "Fig. 7, §5.2.1",
    title: "Short transactions that only read beside updates, on a thousand rows",
    there: "The transactions of Fig. 6 on a table of 1,000 rows.",
    here: "The same, with a thread on each core (a) and four on each (b).",
    plan,
    claims: &CLAIMS,
};

/// The percentage of read-only transactions at the point of the claims.
const MANY: u64 = 80;

fn plan(scale: &Scale) -> Plan {
    let rows = hot(scale);
    let shares: &[u64] = scale.pick(&[0, 20, 40, 60, MANY, 100], &[0, MANY, 100], &[0, MANY]);
    let panel = |(id, threads)| Panel {
        id,
        title: format!("a hot spot, {}", number_of(threads, "thread")),
        points: shares.iter().map(|&share| reading(share, &rows, threads)).collect(),
        series: schemes(),
    };
    Plan {
        chart: Chart::Curves { x: "read-only transactions, %" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: crowds(scale).map(panel).into(),
    }
}

static CLAIMS: [Claim; 2] = [
    Claim {
        text: "With 80 % read-only transactions MV/L is 63 % and MV/O 73 % faster than 1V: who reads a snapshot is in \
               nobody's way.",
        criterion: "At 80 %, MV/L is at least 1.63 times 1V, and MV/O at least 1.73 times, in (a) and in (b).",
        judge: |results| lead_at_many(results, 1.63, 1.73),
        weaker: Some(Weaker {
            criterion: "At 80 %, both are at least 1.05 times 1V in (a) and in (b).",
            judge: |results| lead_at_many(results, 1.0 + TOLERANCE, 1.0 + TOLERANCE),
        }),
        otherwise: "A reader of 1V that meets a writer waits for a transaction of a few microseconds. On two cores \
                    that is seldom, on 24 threads it is not.",
    },
    Claim {
        text: "The more transactions only read, the better for the schemes with versions.",
        criterion: "In (a) and in (b), MV/L and MV/O are both a greater multiple of 1V at 80 % than at the first \
                    point.",
        judge: |results| {
            let gain = |panel| gains(results, panel, At::First, labelled(results, panel, &MANY.to_string())?);
            all([gain("a"), gain("b")])
        },
        weaker: None,
        otherwise: "What an update costs more with versions has to be gone when there are fewer.",
    },
];

/// Decides whether MV/L has at least `locking` times and MV/O at least `optimistic` times the throughput of 1V at
/// [`MANY`] per cent of read-only transactions, in both panels.
fn lead_at_many(results: &Results, locking: f64, optimistic: f64) -> Option<Finding> {
    let lead = |panel, name, least| {
        let many = labelled(results, panel, &MANY.to_string())?;
        leads(results, panel, only(many), name, &[SINGLE], least)
    };
    all([
        lead("a", LOCKING, locking),
        lead("a", OPTIMISTIC, optimistic),
        lead("b", LOCKING, locking),
        lead("b", OPTIMISTIC, optimistic),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match made.series {
            SINGLE => 10.0 + 2.0 * made.way,
            _ => 10.0 + 20.0 * made.way,
        };
        check(&FIGURE, paper, &[true; 2]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            SINGLE => 20.0 + 10.0 * made.way,
            _ => 15.0,
        };
        check(&FIGURE, other, &[false; 2]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match made.series {
            SINGLE => 10.0,
            _ => 12.0,
        };
        check_weaker(&FIGURE, less, &[true; 1]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            SINGLE => 10.0,
            _ => 10.0,
        };
        check_weaker(&FIGURE, other, &[false; 1]);
    }
}
