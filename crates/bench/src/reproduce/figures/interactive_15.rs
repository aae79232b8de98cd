//! Interactive, Fig. 15: TPC-C as warehouses are added.

use super::interactive::{
    ILOCK, INTERACTIVE, LOCK_TABLE, PATIENCE, ROW_LOCKING, STRETCH, clients_for_warehouses, methods, tpcc,
    with_server_cpu,
};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, everywhere, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::At;
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "interactive-15",
    paper: &INTERACTIVE,
    place: "Fig. 15, §5.2",
    title: "TPC-C as warehouses are added",
    there: "The standard mix from 300 clients, up to 300 warehouses.",
    here: "As Fig. 14: as many warehouses and clients for each core as there.",
    plan,
    claims: &CLAIMS,
};

fn plan(scale: &Scale) -> Plan {
    let clients = clients_for_warehouses(scale);
    let for_each_core: &[u64] = scale.pick(&[1, 5, 10, 15, 25], &[1, 10], &[1, 2]);
    let counts = for_each_core.iter().map(|count| count * scale.pick(scale.cores, scale.cores, 1));
    let point = |warehouses| Point::at(warehouses, &tpcc(scale, warehouses), format!("--clients {clients} {PATIENCE}"));
    Plan {
        chart: Chart::Curves { x: "warehouses" },
        value: "thousand transactions per second",
        stretch: STRETCH,
        panels: vec![Panel {
            id: "a",
            title: format!("{clients} clients"),
            points: counts.map(point).collect(),
            series: methods(),
        }],
    }
}

static CLAIMS: [Claim; 3] = [
    Claim {
        text: "iLock has the best performance.",
        criterion: "At every number of warehouses, iLock is at least 1.00 times each of the others.",
        judge: |results| {
            let lead = leads(results, "a", everywhere(results, "a"), ILOCK, &[ROW_LOCKING, LOCK_TABLE], 1.0);
            with_server_cpu(results, "a", At::Last, lead)
        },
        weaker: Some(Weaker {
            criterion: "It is at least 0.95 times each of the others.",
            judge: |results| {
                leads(results, "a", everywhere(results, "a"), ILOCK, &[ROW_LOCKING, LOCK_TABLE], 1.0 - TOLERANCE)
            },
        }),
        otherwise: "On few warehouses all wait for each other, and who waits costs nothing.",
    },
    Claim {
        text: "With few warehouses Row-Locking is worse than iLock; with many it is similar.",
        criterion: "With the fewest, iLock is more than 1.05 times Row-Locking; with the most, at most 1.1 times.",
        judge: |results| {
            let ratio = |at| results.ratio("a", at, ILOCK, ROW_LOCKING);
            let (few, many) = (ratio(At::First)?, ratio(At::Last)?);
            let evidence =
                format!("iLock is {few:.2} times Row-Locking with the fewest, {many:.2} times with the most");
            Some(Finding { holds: few > 1.0 + TOLERANCE && many <= 1.1, evidence })
        },
        weaker: None,
        otherwise: "Requests on threads are handed over twice, conflict or not; and a request that meets a conflict \
                    pauses, so that it costs less than the paper's.",
    },
    Claim {
        text: "Lock-Table is low throughout.",
        criterion: "With the most warehouses, iLock and Row-Locking are each at least 1.5 times Lock-Table. The paper \
                    shows a curve and gives no number.",
        judge: |results| {
            let lead = |name| leads(results, "a", only(At::Last), name, &[LOCK_TABLE], 1.5);
            all([lead(ILOCK), lead(ROW_LOCKING)])
        },
        weaker: None,
        otherwise: "The clients take much of the machine's time, and the kernel's network most of the rest.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        check(
            &FIGURE,
            |made| match made.series {
                ILOCK => 15.0 + 8.0 * made.way,
                ROW_LOCKING => 5.0 + 18.0 * made.way,
                _ => 9.0,
            },
            &[true; 3],
        );
        check(
            &FIGURE,
            |made| match made.series {
                ILOCK => 10.0,
                _ => 12.0,
            },
            &[false; 3],
        );
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match made.series {
            ILOCK => 97.0,
            _ => 100.0,
        };
        check_weaker(&FIGURE, less, &[true; 1]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            ILOCK => 10.0,
            _ => 12.0,
        };
        check_weaker(&FIGURE, other, &[false; 1]);
    }
}
