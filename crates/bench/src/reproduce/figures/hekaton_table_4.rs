//! Hekaton, Table 4: TATP.

use super::hekaton::{HEKATON, LOCKING, OPTIMISTIC, SINGLE, VERSIONED, schemes};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::At;
use crate::reproduce::scale::Scale;
use hotrow_txn::number_of;

pub(super) static FIGURE: Figure = Figure {
    id: "hekaton-table-4",
    paper: &HEKATON,
    place: "Table 4, §5.3",
    title: "TATP",
    there: "The standard mix with 20 million subscribers, non-uniform, on 24 threads at read committed; two indexes on \
            each of the four tables.",
    here: "The same mix with a million subscribers, and a thread on each core. Subscribers have two indexes, special \
           facilities two, call forwardings three; access infos, which are looked up by their key and in no other way, \
           have one.",
    plan,
    claims: &CLAIMS,
};

fn plan(scale: &Scale) -> Plan {
    let rows = format!("tatp --subscribers {}", scale.pick(1_000_000, 50_000, 100));
    let options = format!("--mix standard --isolation read-committed --threads {}", scale.cores);
    let points = vec![Point { x: 0.0, label: "standard mix".to_owned(), rows, options }];
    Plan {
        chart: Chart::Table { x: "mix" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![Panel { id: "a", title: number_of(scale.cores, "thread"), points, series: schemes() }],
    }
}

static CLAIMS: [Claim; 2] = [
    Claim {
        text: "1V is 35 % faster than the schemes with versions.",
        criterion: "1V is at least 1.34 times each of the other two.",
        judge: |results| leads(results, "a", only(At::First), SINGLE, &VERSIONED, 1.34),
        weaker: Some(Weaker {
            criterion: "1V is at least 1.05 times each of the other two.",
            judge: |results| leads(results, "a", only(At::First), SINGLE, &VERSIONED, 1.0 + TOLERANCE),
        }),
        otherwise: "Four in five transactions only read, and take no locks under versions.",
    },
    Claim {
        text: "MV/L and MV/O are the same: at read committed, with short transactions, there is nothing to wait for.",
        criterion: "They are within 5 % of each other.",
        judge: |results| {
            let ratio = results.ratio("a", At::First, LOCKING, OPTIMISTIC)?;
            let evidence = format!("MV/L is {ratio:.2} times MV/O");
            Some(Finding { holds: (ratio - 1.0).abs() <= TOLERANCE, evidence })
        },
        weaker: None,
        otherwise: "They differ in what they do before they commit.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn the_papers_numbers_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match made.series {
            SINGLE => 4220.0,
            LOCKING => 3130.0,
            _ => 3121.0,
        };
        check(&FIGURE, paper, &[true; 2]);
        check(&FIGURE, |made| if made.series == LOCKING { 2000.0 } else { 4000.0 }, &[false; 2]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match made.series {
            SINGLE => 110.0,
            _ => 100.0,
        };
        check_weaker(&FIGURE, less, &[true; 1]);
        let other = |_: MadeUpPoint<'_>| 100.0;
        check_weaker(&FIGURE, other, &[false; 1]);
    }
}
