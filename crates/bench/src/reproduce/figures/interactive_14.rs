//! Interactive, Fig. 14: TPC-C as clients are added.

use super::interactive::{
    ILOCK, INTERACTIVE, LOCK_TABLE, PATIENCE, ROW_LOCKING, STRETCH, methods, terminals, tpcc, warehouses,
    with_server_cpu,
};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "interactive-14",
    paper: &INTERACTIVE,
    place: "Fig. 14, §5.1",
    title: "TPC-C as clients are added",
    there: "The standard mix on 200 warehouses, up to 500 clients on other machines, and a server of 12 cores.",
    here: "All five transactions as statements over TCP. As many warehouses and clients for each core as there, with a \
           thousand items and a hundred customers in each district. Clients and server share this machine.",
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
        weaker: None,
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
        weaker: None,
        otherwise: "A request that meets a conflict pauses before it is tried again, and while it pauses others \
                    commit. What warehouses are wanted for is short here.",
    },
    Claim {
        text: "The peak of iLock, 23 thousand transactions a second, is 2.3 times that of Lock-Table.",
        criterion: "iLock's best is at least 2.30 times Lock-Table's best.",
        judge: |results| with_server_cpu(results, "a", At::Last, peaks(results, 2.3)),
        weaker: Some(Weaker {
            criterion: "iLock's best is at least 1.50 times Lock-Table's best.",
            judge: |results| peaks(results, 1.5),
        }),
        otherwise: "The clients take much of the machine's time, and the kernel's network most of the rest.",
    },
];

/// Returns a method's throughput with the most clients as a share of its own best throughput, and the same in words.
fn of_best(results: &Results, name: &str) -> Option<(f64, String)> {
    let share = results.median("a", name, At::Last)? / best(results, name)?.max(f64::MIN_POSITIVE);
    Some((share, format!("{name} has {share:.2}")))
}

/// Returns a method's best throughput over all numbers of clients.
fn best(results: &Results, name: &str) -> Option<f64> {
    let all = (0..results.points("a")).map(|number| results.median("a", name, At::Number(number)));
    all.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::max)
}

/// Decides whether iLock's best throughput is at least `least` times that of Lock-Table.
fn peaks(results: &Results, least: f64) -> Option<Finding> {
    let ratio = best(results, ILOCK)? / best(results, LOCK_TABLE)?.max(f64::MIN_POSITIVE);
    Some(Finding { holds: ratio >= least, evidence: format!("at their best, iLock is {ratio:.2} times Lock-Table") })
}

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
                ILOCK => 10.0 + 13.5 * made.way,
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

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match made.series {
            ILOCK => 20.0,
            _ => 10.0,
        };
        check_weaker(&FIGURE, less, &[true; 1]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            ILOCK => 10.0,
            _ => 9.0,
        };
        check_weaker(&FIGURE, other, &[false; 1]);
    }
}
