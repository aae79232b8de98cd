//! Interactive, Fig. 20: where the server's time goes under TPC-C.

use super::interactive::{
    ILOCK, INTERACTIVE, LOCK_TABLE, METHODS, PATIENCE, ROW_LOCKING, STRETCH, busy_terminals, tpcc, warehouses,
};
use crate::report::EngineReport;
use crate::reproduce::claim::{Claim, Finding, Weaker, all};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "interactive-20",
    paper: &INTERACTIVE,
    place: "Fig. 20, §5.4",
    title: "Where the server's CPU time goes under TPC-C",
    there: "The transactions of Fig. 14 from 100 to 500 clients, under a profiler: real work, lock manager, switches \
            of threads and of coroutines, network.",
    here: "The transactions of Fig. 14 here. User and system time are the system's account of the server. The server \
           reads a clock around its calls of the lock manager; what attempts at statements took that met a conflict \
           counts as the lock manager's, too. Switches are counted, by the system and by the server, and taken times \
           what one takes on this machine. The rest of the system time is the network's, and the rest of the user time \
           work: reading and writing messages goes with it.",
    plan,
    claims: &CLAIMS,
};

const WORK: &str = "real work";
const LOCKS: &str = "lock manager";
const THREADS: &str = "context switches";
const COROUTINES: &str = "coroutine switches";
const NETWORK: &str = "network";

/// The parts of the server's time: the label of each in the drawing, and its name in reports.
const PARTS: [(&str, &str); 5] = [
    (WORK, "work"),
    (LOCKS, "lock_manager"),
    (THREADS, "context_switches"),
    (COROUTINES, "coroutine_switches"),
    (NETWORK, "network"),
];

/// The panels of the methods, in their order.
const PANELS: [&str; 3] = ["a", "b", "c"];

fn plan(scale: &Scale) -> Plan {
    let rows = tpcc(scale, warehouses(scale));
    let panel = |(id, (name, engine)): (&'static str, (&'static str, &'static str))| {
        let part = |(name, part)| Series::share(name, engine, part);
        let point = |clients| Point::at(clients, &rows, format!("--clients {clients} {PATIENCE}"));
        Panel {
            id,
            title: name.to_owned(),
            points: busy_terminals(scale).into_iter().map(point).collect(),
            series: PARTS.map(part).to_vec(),
        }
    };
    Plan {
        chart: Chart::Bars { x: "clients" },
        value: "per cent of the server's CPU time",
        stretch: STRETCH,
        panels: PANELS.into_iter().zip(METHODS).map(panel).collect(),
    }
}

static CLAIMS: [Claim; 4] = [
    Claim {
        text: "iLock spends little time on lock management, context switches and coroutine switches, and about 70 % on \
               real work.",
        criterion: "In (a), at every number of clients, the three together are below 20 %, coroutine switches below 1 \
                    %, and work is at least 70 %.",
        judge: |results| ilock_works(results, |work, _| work >= 70.0),
        weaker: Some(Weaker {
            criterion: "The same, with work the largest part but for the network.",
            judge: |results| ilock_works(results, |work, others| work > others),
        }),
        otherwise: "The faster the rest, the larger is a lock's share.",
    },
    Claim {
        text: "Row-Locking wastes a large part on locking when there are many clients, 41 to 53 %.",
        criterion: "With the most clients, the lock manager's share in (b) is at least 41 %, and above that with the \
                    fewest.",
        judge: |results| {
            let share = |at| results.median("b", LOCKS, at);
            let (few, many) = (share(At::First)?, share(At::Last)?);
            let evidence = format!(
                "the lock manager's share under {ROW_LOCKING} is {few:.0} % with the fewest, {many:.0} % with the most"
            );
            Some(Finding { holds: many >= 41.0 && many > few, evidence })
        },
        weaker: None,
        otherwise: "A request that meets a conflict pauses before it is tried again, each time for longer, so that few \
                    attempts are in vain.",
    },
    Claim {
        text: "Lock-Table spends most of its time on context switches, 41 to 58 %.",
        criterion: "In (c), at every number of clients, context switches are at least 41 %.",
        judge: |results| {
            let shares = (0..results.points("c")).map(|number| results.median("c", THREADS, At::Number(number)));
            let least = shares.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::min)?;
            let evidence = format!("context switches are {least:.0} % of {LOCK_TABLE} at their least");
            Some(Finding { holds: least >= 41.0, evidence })
        },
        weaker: None,
        otherwise: "A switch takes less here than the 8 to 13 µs of the paper's machine, and what it does to caches \
                    counts as work.",
    },
    Claim {
        text: "Its lock table takes considerable time, 13 to 16 %, and more than iLock's locks.",
        criterion: "In (c), the lock manager's share is at least 13 % at every number of clients; with the most \
                    clients it takes more µs of a transaction there than 1.05 times those in (a).",
        judge: |results| {
            let shares = (0..results.points("c")).map(|number| results.median("c", LOCKS, At::Number(number)));
            let least = shares.collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::min)?;
            let evidence = format!("the lock manager's share under {LOCK_TABLE} is {least:.0} % at its least");
            all([Some(Finding { holds: least >= 13.0, evidence }), lock_table_costs_more(results)])
        },
        weaker: Some(Weaker {
            criterion: "With the most clients it takes more µs of a transaction in (c) than 1.05 times those in (a).",
            judge: lock_table_costs_more,
        }),
        otherwise: "Both lock gaps and absent keys by name in a lock table.",
    },
];

/// Decides whether the lock manager takes more time of a transaction under Lock-Table than under iLock.
fn lock_table_costs_more(results: &Results) -> Option<Finding> {
    let us = |panel| {
        let time = |run: &EngineReport| {
            run.costs.breakdown_us.get("lock_manager").and_then(serde_json::Value::as_f64).unwrap_or(0.0)
        };
        results.median_of(panel, LOCKS, At::Last, time)
    };
    let (ilock, lock_table) = (us("a")?, us("c")?);
    let evidence = format!("it takes {ilock:.1} µs of a transaction under {ILOCK}, {lock_table:.1} under {LOCK_TABLE}");
    Some(Finding { holds: lock_table > 1.05 * ilock, evidence })
}

/// Decides whether, under iLock, less than a fifth of the time goes to locks and switches, and `judge` accepts two
/// shares in per cent: that of work, and the larger one of those of locks and of context switches.
fn ilock_works(results: &Results, judge: impl Fn(f64, f64) -> bool) -> Option<Finding> {
    let (mut holds, mut evidence) = (true, Vec::new());
    for number in 0..results.points("a") {
        let at = At::Number(number);
        let share = |part| results.median("a", part, at);
        let (work, locks, threads, coroutines) = (share(WORK)?, share(LOCKS)?, share(THREADS)?, share(COROUTINES)?);
        holds &= locks + threads + coroutines < 20.0 && coroutines < 1.0 && judge(work, locks.max(threads));
        evidence.push(format!(
            "with {} clients {work:.0} % work, {locks:.1} % lock manager, {threads:.1} % context switches, \
             {coroutines:.2} % coroutine switches",
            results.label("a", at)
        ));
    }
    Some(Finding { holds, evidence: evidence.join("; ") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn bars_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", WORK) => 72.0,
            ("b", LOCKS) => 10.0 + 40.0 * made.way,
            ("c", LOCKS) => 15.0,
            ("c", THREADS) => 50.0,
            (_, LOCKS | THREADS) => 5.0,
            (_, COROUTINES) => 0.5,
            _ => 20.0,
        };
        check(&FIGURE, paper, &[true; 4]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            LOCKS => 30.0,
            _ => 10.0,
        };
        check(&FIGURE, other, &[false; 4]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", WORK) => 40.0,
            ("c", LOCKS) => 10.0,
            (_, COROUTINES) => 0.5,
            _ => 5.0,
        };
        check_weaker(&FIGURE, less, &[true; 2]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            LOCKS => 30.0,
            _ => 10.0,
        };
        check_weaker(&FIGURE, other, &[false; 2]);
    }
}
