//! Interactive, Fig. 14: TPC-C as clients are added.

use super::interactive::{
    ILOCK, INTERACTIVE, LOCK_TABLE, PATIENCE, ROW_LOCKING, STRETCH, methods, terminals, tpcc, warehouses,
    with_server_cpu,
};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, all, leads, only};
use crate::reproduce::figure::{Chart, Figure, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "interactive-14",
    paper: &INTERACTIVE,
    place: "Fig. 14, §5.1",
    title: "TPC-C as clients are added",
    there: "The standard mix on 200 warehouses, up to 500 clients on other machines, and a server of 12 cores.",
    here: "All five transactions as statements over TCP. As many \
           warehouses and clients for each core as there, with a thousand items and a hundred customers in each district. \
           Clients and server share this machine.",
    plan,
    claims: &CLAIMS,
};

fn plan(scale: &Scale) -> Plan {
    let warehouses = warehouses(scale);
    let rows = tpcc(scale, warehouses);
    let point = |clients| Point::at(clients, &rows, format!("--clients {clients} {PATIENCE}"));
    Plan {
        chart: Chart::Curves { x: "clients" },
        value: "thousand transactions per second",
        stretch: STRETCH,
        panels: vec![Panel {
            id: "a",
            title: format!("{warehouses} warehouses"),
            points: terminals(scale).into_iter().map(point).collect(),
            series: methods(),
        }],
    }
}

static CLAIMS: [Claim; 3] = [
    Claim {
        text: "With few clients iLock and Row-Locking are equal.",
        criterion: "With the fewest clients, each of the two is at least 0.95 times the other.",
        judge: |results| {
            let lead = |name, other| leads(results, "a", only(At::First), name, &[other], 1.0 - TOLERANCE);
            with_server_cpu(results, "a", At::First, all([lead(ILOCK, ROW_LOCKING), lead(ROW_LOCKING, ILOCK)]))
        },
        otherwise: "Requests on threads are handed over twice, from who reads to who runs them and back.",
    },
    Claim {
        text: "With more clients Row-Locking decreases, and iLock does not.",
        criterion: "With the most clients, Row-Locking has less than 0.95 times its own best, and iLock at least that.",
        judge: |results| {
            let (row_locking, ilock) = (of_best(results, ROW_LOCKING)?, of_best(results, ILOCK)?);
            let (holds, least) = (row_locking.0 < 1.0 - TOLERANCE && ilock.0 >= 1.0 - TOLERANCE, " of its best");
            let evidence = format!("{}{least}, {}{least}", row_locking.1, ilock.1);
            Some(Finding { holds, evidence })
        },
        otherwise: "A request that meets a conflict pauses before it is tried again, and while it pauses others commit. What \
                    warehouses are wanted for is short here.",
    },
    Claim {
        text: "At its peak iLock is about twice Lock-Table.",
        criterion: "With the most clients, iLock is at least 1.5 times Lock-Table.",
        judge: |results| {
            let lead = leads(results, "a", only(At::Last), ILOCK, &[LOCK_TABLE], 1.5);
            with_server_cpu(results, "a", At::Last, lead)
        },
        otherwise: "The clients take much of the machine's time, and the kernel's network most of the rest.",
    },
];

/// A method's share of its own best with the most clients, and the same in words.
fn of_best(results: &Results, name: &str) -> Option<(f64, String)> {
    let all = (0..results.points("a")).map(|number| results.median("a", name, At::Number(number)));
    let best = all.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::max)?;
    let share = results.median("a", name, At::Last)? / best.max(f64::MIN_POSITIVE);
    Some((share, format!("{name} has {share:.2}")))
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
                ILOCK => 10.0 + 13.0 * made.way,
                ROW_LOCKING => 10.0 - 6.0 * made.way,
                _ => 6.0 + 4.0 * made.way,
            },
            &[true; 3],
        );
        check(
            &FIGURE,
            |made| match made.series {
                ILOCK => 10.0 - made.way,
                _ => 9.0,
            },
            &[false; 3],
        );
    }
}
