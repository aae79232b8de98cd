//! Hekaton, Fig. 7: short read-only transactions beside updates, on a thousand rows.

use super::hekaton::{HEKATON, crowds, gains, hot, labelled, schemes, versions_lead};
use super::hekaton_6::reading;
use crate::reproduce::claim::{Claim, TOLERANCE, all, only};
use crate::reproduce::figure::{Chart, Figure, Panel, Plan};
use crate::reproduce::results::At;
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

/// The percentage of read-only transactions that claims look at.
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
        text: "With 80 % read-only transactions MV/L is 63 % and MV/O 73 % faster than 1V: who reads a snapshot is in nobody's \
               way.",
        criterion: "At 80 %, MV/L and MV/O are both at least 1.05 times 1V in (a) and in (b).",
        judge: |results| {
            let lead = |panel| {
                let many = labelled(results, panel, &MANY.to_string())?;
                versions_lead(results, panel, only(many), 1.0 + TOLERANCE)
            };
            all([lead("a"), lead("b")])
        },
        otherwise: "A reader of 1V that meets a writer waits for a transaction of a few microseconds. On two cores that is \
                    seldom, on 24 threads it is not.",
    },
    Claim {
        text: "The more transactions only read, the better for the schemes with versions.",
        criterion: "In (a) and in (b), MV/L and MV/O are both a greater multiple of 1V at 80 % than at the first point.",
        judge: |results| {
            let gain = |panel| gains(results, panel, At::First, labelled(results, panel, &MANY.to_string())?);
            all([gain("a"), gain("b")])
        },
        otherwise: "What an update costs more with versions has to be gone when there are fewer.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::check;
    use crate::reproduce::figures::hekaton::SINGLE;
    use crate::reproduce::results::tests::Made;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: Made<'_>| match made.series {
            SINGLE => 10.0 + 2.0 * made.way,
            _ => 10.0 + 20.0 * made.way,
        };
        check(&FIGURE, paper, &[true; 2]);
        let other = |made: Made<'_>| match made.series {
            SINGLE => 20.0 + 10.0 * made.way,
            _ => 15.0,
        };
        check(&FIGURE, other, &[false; 2]);
    }
}
