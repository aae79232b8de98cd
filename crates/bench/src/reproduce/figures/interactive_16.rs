//! Interactive, Fig. 16 and 17: reads alone, and as many writes as reads, as clients are added.

use super::interactive::{
    ILOCK, INTERACTIVE, LOCK_TABLE, PATIENCE, ROW_LOCKING, STRETCH, clients, methods, micro, with_server_cpu,
};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "interactive-16",
    paper: &INTERACTIVE,
    place: "Fig. 16 and 17, §5.3",
    title: "Ten reads, and five reads and five writes, as clients are added",
    there: "Keys and values of 64 bits, Zipf 0.6, up to 500 clients on other machines, and a server of 12 cores. iLock \
            runs requests in coroutines, Row-Locking on threads and tries them again that meet a conflict, Lock-Table \
            has a thread for each client.",
    here: "As many clients, prepared statements over TCP, serializable. The paper does not say how many rows there \
           are, nor how long a wait is a deadlock: a million here, and 100 ms. Clients and server share this machine, \
           so that a good half of its time is the clients'. A request of Row-Locking that meets a conflict pauses on \
           its thread before it is tried again, and connections live on the workers that run their requests, without \
           threads for the network beside them.",
    plan,
    claims: &CLAIMS,
};

fn plan(scale: &Scale) -> Plan {
    let rows = micro(scale);
    let panel = |id, title: &str, operations: &str| Panel {
        id,
        title: title.to_owned(),
        points: clients(scale)
            .iter()
            .map(|&clients| Point::at(clients, &rows, format!("{operations} --clients {clients} {PATIENCE}")))
            .collect(),
        series: methods(),
    };
    Plan {
        chart: Chart::Curves { x: "clients" },
        value: "thousand transactions per second",
        stretch: STRETCH,
        panels: vec![
            panel("a", "ten reads", "--reads 10 --writes 0"),
            panel("b", "five reads and five writes", "--reads 5 --writes 5"),
        ],
    }
}

static CLAIMS: [Claim; 2] = [
    Claim {
        text: "On reads alone iLock and Row-Locking are equal, and three times Lock-Table.",
        criterion: "With the most clients, in (a), iLock is at least 0.95 times Row-Locking and 3 times Lock-Table, \
                    and Row-Locking at least 0.95 times iLock.",
        judge: |results| with_server_cpu(results, "a", At::Last, reads_alone(results, 3.0)),
        weaker: Some(Weaker {
            criterion: "The same, with iLock at least 2 times Lock-Table.",
            judge: |results| reads_alone(results, 2.0),
        }),
        otherwise: "The clients take much of the machine's time, and the kernel's network most of the rest. Requests \
                    on threads are handed over twice, from who reads to who runs them and back, which costs about what \
                    a thread for each client does.",
    },
    Claim {
        text: "With writes and 500 clients iLock is 5.3 times Row-Locking, and 1.6 times Lock-Table.",
        criterion: "With the most clients, in (b), iLock is at least 5.3 times Row-Locking and 1.6 times Lock-Table.",
        judge: |results| with_server_cpu(results, "b", At::Last, writes_too(results, 5.3, 1.6)),
        weaker: Some(Weaker {
            criterion: "It is at least 3 times Row-Locking and 1.5 times Lock-Table.",
            judge: |results| writes_too(results, 3.0, 1.5),
        }),
        otherwise: "As above; and where deadlocks are ended by time alone, hot rows hold everybody up alike.",
    },
];

/// Decides whether iLock and Row-Locking are equally fast on reads alone, and iLock at least `least` times as fast as
/// Lock-Table, with the most clients.
fn reads_alone(results: &Results, least: f64) -> Option<Finding> {
    let lead = |name, other, least| leads(results, "a", only(At::Last), name, &[other], least);
    let equal = 1.0 - TOLERANCE;
    all([lead(ILOCK, ROW_LOCKING, equal), lead(ROW_LOCKING, ILOCK, equal), lead(ILOCK, LOCK_TABLE, least)])
}

/// Decides whether iLock is at least `row_locking` times as fast as Row-Locking and `lock_table` times as fast as
/// Lock-Table if there are writes, with the most clients.
fn writes_too(results: &Results, row_locking: f64, lock_table: f64) -> Option<Finding> {
    let lead = |other, least| leads(results, "b", only(At::Last), ILOCK, &[other], least);
    all([lead(ROW_LOCKING, row_locking), lead(LOCK_TABLE, lock_table)])
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
            |made| match (made.panel, made.series) {
                (_, ILOCK) => 45.0,
                ("a", ROW_LOCKING) => 45.0,
                (_, ROW_LOCKING) => 8.0,
                _ => 15.0,
            },
            &[true; 2],
        );
        check(&FIGURE, |_| 10.0, &[false; 2]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            (_, ILOCK) | ("a", ROW_LOCKING) => 45.0,
            ("a", _) => 20.0,
            (_, ROW_LOCKING) => 12.0,
            _ => 28.0,
        };
        check_weaker(&FIGURE, less, &[true; 2]);
        let other = |_: MadeUpPoint<'_>| 10.0;
        check_weaker(&FIGURE, other, &[false; 2]);
    }
}
