//! SLI, Fig. 6: where the time of transactions goes, without lock inheritance.

use super::sli::{
    ABORTED, CONTENTION, HIER, LOCK_MANAGER, PAYMENT, SLI_PAPER, STOCK_LEVEL, TATP_MIX, WAIT, WORK, bar, bars, sum_at,
};
use crate::report::EngineReport;
use crate::reproduce::claim::{Claim, Finding, Weaker};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Plan, Series};
use crate::reproduce::results::{At, Results, median};
use crate::reproduce::scale::Scale;
use hotrow_txn::number_of;

pub(super) static FIGURE: Figure = Figure {
    id: "sli-6",
    paper: &SLI_PAPER,
    place: "Fig. 6, §6.1",
    title: "Where the time of TATP, TPC-B and TPC-C transactions goes",
    there: "The baseline without inheritance: Shore-MT, whose hierarchical lock manager detects deadlocks with \
            Dreadlocks, at its best throughput on 64 hardware threads. CPU time, profiled, is split into work and \
            contention, inside and outside of the lock manager.",
    here: "A hierarchy of locks on the database, tables, pages and rows, without inheritance. One transaction in 32 \
           has its time taken with a clock, whose reading is taken off: its own work, the lock manager, contention \
           (the time in which the lock manager spins for a latch), waiting for locks, and what attempts that aborted \
           took. Panel (a) has one thread and so no contention. Deliveries alone, and call forwardings alone, are left \
           out: soon there would be none left to make.",
    plan,
    claims: &CLAIMS,
};

/// The panels of one thread, and of one on each core.
const ALONE: &str = "a";
const TOGETHER: &str = "b";

fn plan(scale: &Scale) -> Plan {
    let all = format!("{}, one on each core", number_of(scale.cores, "thread"));
    Plan {
        chart: Chart::Bars { x: "transaction" },
        value: "per cent of a transaction's time",
        stretch: 1,
        panels: vec![
            bars(scale, ALONE, "one thread".to_owned(), 1, parts()),
            bars(scale, TOGETHER, all, scale.cores, parts()),
        ],
    }
}

fn parts() -> Vec<Series> {
    let part = |name, part| Series::share(name, HIER, part);
    vec![
        part(WORK, "work"),
        part(LOCK_MANAGER, "lock_manager"),
        part(CONTENTION, "contention"),
        part(WAIT, "wait"),
        part(ABORTED, "other"),
    ]
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
        criterion: "In (b), contention takes more of the time of a transaction of the TATP mix than the lock manager's \
                    own work.",
        judge: |results| {
            let part = |name| in_microseconds(results, name);
            let (own, contention) = (part("lock_manager")?, part("contention")?);
            let evidence = format!("contention takes {contention:.2} µs, the lock manager's own work {own:.2} µs");
            Some(Finding { holds: contention > own, evidence })
        },
        weaker: Some(Weaker {
            criterion: "It takes at least a quarter as long as the lock manager's own work.",
            judge: |results| {
                let part = |name| in_microseconds(results, name);
                let ratio = part("contention")? / part("lock_manager")?.max(f64::MIN_POSITIVE);
                let evidence = format!("contention takes {ratio:.2} times as long as the lock manager's own work");
                Some(Finding { holds: ratio >= 0.25, evidence })
            },
        }),
        otherwise: "The contention there is for the latches of locks high in the hierarchy, which up to 64 threads \
                    want at once. Two threads meet seldom at a latch that is held for some ten nanoseconds.",
    },
    Claim {
        text: "The smaller the transaction, the larger the lock manager's share: most in TATP, little in Stock Level.",
        criterion: "In (b), its share with contention is larger in the TATP mix than in Stock Level.",
        judge: |results| {
            let share = |label| sum_at(results, TOGETHER, &[LOCK_MANAGER, CONTENTION], bar(results, label)?);
            let (small, large) = (share(TATP_MIX)?, share(STOCK_LEVEL)?);
            let evidence = format!("its share is {small:.0} % of the TATP mix, {large:.0} % of Stock Level");
            Some(Finding { holds: small > large, evidence })
        },
        weaker: None,
        otherwise: "Large transactions amortise locks high in the hierarchy. But every row that is read has its lock, \
                    and a transaction that does little but read rows spends much of its time on them.",
    },
    Claim {
        text: "Waiting for locks that others hold matters in TPC-C, not in TATP.",
        criterion: "In (b), waiting is below 5 % of the TATP mix, and a larger share of Payment.",
        judge: |results| {
            let share = |label| results.median(TOGETHER, WAIT, bar(results, label)?);
            let (tatp, payment) = (share(TATP_MIX)?, share(PAYMENT)?);
            let evidence = format!("waiting is {tatp:.1} % of the TATP mix, {payment:.1} % of Payment");
            Some(Finding { holds: tatp < 5.0 && payment > tatp, evidence })
        },
        weaker: None,
        otherwise: "Two threads on four warehouses are seldom at the same one at the same moment, and a Payment is \
                    over in microseconds.",
    },
];

/// Returns the lock manager's share in each bar of (a), where there is no contention.
fn own_shares(results: &Results) -> Option<Vec<f64>> {
    (0..results.points(ALONE)).map(|number| results.median(ALONE, LOCK_MANAGER, At::Number(number))).collect()
}

/// Returns the microseconds that a part takes of a transaction of the TATP mix in (b).
fn in_microseconds(results: &Results, part: &str) -> Option<f64> {
    let of = |run: &EngineReport| run.costs.breakdown_us.get(part).and_then(serde_json::Value::as_f64).unwrap_or(0.0);
    results.median_of(TOGETHER, LOCK_MANAGER, bar(results, TATP_MIX)?, of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn bars_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.panel, made.series, made.label) {
            (_, LOCK_MANAGER, STOCK_LEVEL) => 12.0,
            (_, LOCK_MANAGER, _) => 15.0,
            (ALONE, CONTENTION, _) | (_, CONTENTION, STOCK_LEVEL) => 0.0,
            (_, CONTENTION, _) => 45.0,
            (_, WAIT, PAYMENT) => 20.0,
            (_, WAIT, _) => 1.0,
            _ => 20.0,
        };
        check(&FIGURE, paper, &[true; 4]);
        let other = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (LOCK_MANAGER, STOCK_LEVEL) => 50.0,
            (LOCK_MANAGER, _) => 30.0,
            (CONTENTION, _) => 1.0,
            (WAIT, _) => 10.0,
            _ => 30.0,
        };
        check(&FIGURE, other, &[false; 4]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.panel, made.series, made.label) {
            (ALONE, LOCK_MANAGER, STOCK_LEVEL) => 30.0,
            (_, LOCK_MANAGER, _) => 15.0,
            (_, CONTENTION, _) => 4.0,
            _ => 20.0,
        };
        check_weaker(&FIGURE, less, &[true; 2]);
        let other = |made: MadeUpPoint<'_>| if made.series == CONTENTION { 1.0 } else { 30.0 };
        check_weaker(&FIGURE, other, &[false; 2]);
    }
}
