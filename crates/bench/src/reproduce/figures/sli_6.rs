//! SLI, Fig. 6: where the time of transactions goes, without lock inheritance.

use crate::report::EngineReport;
use crate::reproduce::claim::{Claim, Finding, Weaker};
use crate::reproduce::figure::{Figure, Paper};
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::{At, Results, median};
use crate::reproduce::scale::Scale;
use hotrow_txn::number_of;

/// The paper on speculative lock inheritance, from which the figure is.
static SLI: Paper = Paper { name: "sli", title: "Improving OLTP Scalability using Speculative Lock Inheritance" };

pub(super) static FIGURE: Figure = Figure {
    id: "sli-6",
    paper: &SLI,
    place: "Fig. 6, §6.1",
    title: "Where the time of TATP, TPC-B and TPC-C transactions goes",
    there: "The baseline without inheritance: Shore-MT, whose hierarchical lock manager detects deadlocks with \
            Dreadlocks, at its best throughput on 64 hardware threads. CPU time, profiled, is split into work and \
            contention, inside and outside of the lock manager.",
    here: "2PL with Dreadlocks and without a hierarchy: no intention locks, a latch for each bucket. One transaction \
           in 32 has its time taken with a clock, whose reading is taken off: its own work, the lock manager with the \
           latches in it, waiting for locks, and what attempts that aborted took. Panel (a) has one thread and so no \
           contention; what the lock manager takes more in (b) is contention. Deliveries alone, and call forwardings \
           alone, are left out: soon there would be none left to make.",
    plan,
    claims: &CLAIMS,
};

const WORK: &str = "work";
const LOCK_MANAGER: &str = "lock manager";
const WAIT: &str = "waiting for locks";
const ABORTED: &str = "aborted attempts";

/// The names of the bars that claims speak of.
const TATP_MIX: &str = "TATP mix";
const PAYMENT: &str = "Payment";
const STOCK_LEVEL: &str = "Stock Level";

/// The bars: the label of each, and the mix of its workload.
const TATP: [(&str, &str); 7] = [
    (TATP_MIX, "standard"),
    ("getSub", "get-subscriber-data"),
    ("getDest", "get-new-destination"),
    ("getAccess", "get-access-data"),
    ("updateSub", "update-subscriber-data"),
    ("updateLoc", "update-location"),
    ("forward mix", "forward"),
];
const TPCC: [(&str, &str); 6] = [
    ("TPC-C mix", "full"),
    ("TPC-C small mix", "small"),
    (PAYMENT, "payment"),
    ("New Order", "neworder"),
    ("Order Status", "orderstatus"),
    (STOCK_LEVEL, "stocklevel"),
];

fn plan(scale: &Scale) -> Plan {
    let tatp = format!("tatp --subscribers {}", scale.pick(1_000_000, 100_000, 100));
    let tpcb = format!("tpcb --scale {}", scale.pick(100, 10, 1));
    let tpcc = scale.pick(
        "tpcc --warehouses 4",
        "tpcc --warehouses 4 --items 10000 --customers 300",
        "tpcc --warehouses 1 --items 100 --customers 10",
    );
    let panel = |id, threads: u64, title: String| {
        let options = |mix: &str| format!("--mix {mix} --threads {threads}");
        let mut bars: Vec<_> = TATP.iter().map(|&(label, mix)| (label, tatp.as_str(), options(mix))).collect();
        bars.push(("TPC-B", tpcb.as_str(), format!("--threads {threads}")));
        bars.extend(TPCC.iter().map(|&(label, mix)| (label, tpcc, options(mix))));
        let point = |(number, (label, rows, options)): (usize, (&str, &str, String))| Point {
            x: number as f64,
            label: label.to_owned(),
            rows: rows.to_owned(),
            options,
        };
        Panel { id, title, points: bars.into_iter().enumerate().map(point).collect(), series: parts() }
    };
    Plan {
        chart: Chart::Bars { x: "transaction" },
        value: "per cent of a transaction's time",
        stretch: 1,
        panels: vec![
            panel("a", 1, "one thread".to_owned()),
            panel("b", scale.cores, format!("{}, one on each core", number_of(scale.cores, "thread"))),
        ],
    }
}

fn parts() -> Vec<Series> {
    let part = |name, part| Series::share(name, "2pl-dreadlocks", part);
    vec![part(WORK, "work"), part(LOCK_MANAGER, "lock_manager"), part(WAIT, "wait"), part(ABORTED, "other")]
}

static CLAIMS: [Claim; 4] = [
    Claim {
        text: "Useful work of the lock manager is 10 to 20 % of a transaction.",
        criterion: "In (a), the lock manager's share is between 10 and 20 % in every bar.",
        judge: |results| {
            let shares = own_shares(results)?;
            let (least, most) = (shares.iter().copied().reduce(f64::min)?, shares.iter().copied().reduce(f64::max)?);
            let evidence = format!("the shares with one thread are {least:.0} to {most:.0} %");
            Some(Finding { holds: least >= 10.0 && most <= 20.0, evidence })
        },
        weaker: Some(Weaker {
            criterion: "The median over all bars is between 10 and 20 %.",
            judge: |results| {
                let share = median(&own_shares(results)?)?;
                let evidence = format!("the median share with one thread is {share:.0} %");
                Some(Finding { holds: (10.0..=20.0).contains(&share), evidence })
            },
        }),
        otherwise: "A share depends on what is beside it. Shore-MT keeps pages, a buffer pool and a log; a transaction \
                    here is a few look-ups in memory, so a lock that costs a fraction of Shore-MT's weighs more.",
    },
    Claim {
        text: "Under load contention inside the lock manager comes on top, and grows to be its largest part.",
        criterion: "The lock manager's time for a transaction of the TATP mix is in (b) at least 2.0 times that in \
                    (a), so that the larger part of it is contention.",
        judge: |results| contention_grows(results, 2.0),
        weaker: Some(Weaker {
            criterion: "It is at least 1.5 times that in (a).",
            judge: |results| contention_grows(results, 1.5),
        }),
        otherwise: "The contention there is for the latches of locks high in the hierarchy, which every transaction \
                    takes. There is no hierarchy here, row locks are seldom wanted twice, and two threads meet seldom.",
    },
    Claim {
        text: "The smaller the transaction, the larger the lock manager's share: most in TATP, little in Stock Level.",
        criterion: "In (b), its share is larger in the TATP mix than in Stock Level.",
        judge: |results| {
            let share = |label| results.median("b", LOCK_MANAGER, bar(results, label)?);
            let (small, large) = (share(TATP_MIX)?, share(STOCK_LEVEL)?);
            let evidence = format!("its share is {small:.0} % of the TATP mix, {large:.0} % of Stock Level");
            Some(Finding { holds: small > large, evidence })
        },
        weaker: None,
        otherwise: "Large transactions amortise locks high in a hierarchy. Without one, every row that is read has its \
                    lock, and a transaction that does little but read rows has the largest share.",
    },
    Claim {
        text: "Waiting for locks that others hold matters in TPC-C, not in TATP.",
        criterion: "In (b), waiting is below 5 % of the TATP mix, and a larger share of Payment.",
        judge: |results| {
            let share = |label| results.median("b", WAIT, bar(results, label)?);
            let (tatp, payment) = (share(TATP_MIX)?, share(PAYMENT)?);
            let evidence = format!("waiting is {tatp:.1} % of the TATP mix, {payment:.1} % of Payment");
            Some(Finding { holds: tatp < 5.0 && payment > tatp, evidence })
        },
        weaker: None,
        otherwise: "Two threads on four warehouses are seldom at the same one at the same moment, and a Payment is \
                    over in microseconds.",
    },
];

/// Returns the lock manager's share in each bar of (a).
fn own_shares(results: &Results) -> Option<Vec<f64>> {
    (0..results.points("a")).map(|number| results.median("a", LOCK_MANAGER, At::Number(number))).collect()
}

/// Returns the point whose bar has this label, or `None` if there is none.
fn bar(results: &Results, label: &str) -> Option<At> {
    let find = |panel: &Panel| panel.points.iter().position(|point| point.label == label);
    results.plan.panels.first().and_then(find).map(At::Number)
}

/// Decides whether the lock manager takes at least `least` times as long for a transaction with a thread on each core
/// as with one thread.
fn contention_grows(results: &Results, least: f64) -> Option<Finding> {
    let at = bar(results, TATP_MIX)?;
    let in_microseconds = |run: &EngineReport| {
        run.costs.breakdown_us.get("lock_manager").and_then(serde_json::Value::as_f64).unwrap_or(0.0)
    };
    let microseconds = |panel| results.median_of(panel, LOCK_MANAGER, at, in_microseconds);
    let (alone, together) = (microseconds("a")?, microseconds("b")?);
    let ratio = together / alone.max(f64::MIN_POSITIVE);
    let evidence = format!("it takes {alone:.2} µs with one thread and {together:.2} µs with one on each core");
    Some(Finding { holds: ratio >= least, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn bars_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.panel, made.series, made.label) {
            ("a", LOCK_MANAGER, _) => 15.0,
            (_, LOCK_MANAGER, STOCK_LEVEL) => 10.0,
            (_, LOCK_MANAGER, _) => 60.0,
            (_, WAIT, PAYMENT) => 20.0,
            (_, WAIT, _) => 1.0,
            _ => 20.0,
        };
        check(&FIGURE, paper, &[true; 4]);
        let other = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (LOCK_MANAGER, STOCK_LEVEL) => 50.0,
            (LOCK_MANAGER, _) => 30.0,
            (WAIT, _) => 10.0,
            _ => 30.0,
        };
        check(&FIGURE, other, &[false; 4]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.panel, made.series, made.label) {
            ("a", LOCK_MANAGER, STOCK_LEVEL) => 30.0,
            ("a", LOCK_MANAGER, _) => 15.0,
            (_, LOCK_MANAGER, _) => 24.0,
            _ => 20.0,
        };
        check_weaker(&FIGURE, less, &[true; 2]);
        let other = |_: MadeUpPoint<'_>| 30.0;
        check_weaker(&FIGURE, other, &[false; 2]);
    }
}
