//! SLI, Fig. 9: what becomes of the locks that could be inherited.

use super::sli::{ALL_HOT, AS_PRINTED, SLI, SLI_PAPER, STOCK_LEVEL, TATP_MIX, TATP_SINGLE, bar, bars, sum_at};
use crate::reproduce::claim::{Claim, Finding, Weaker};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Plan, Series};
use crate::reproduce::results::{Results, median};
use crate::reproduce::scale::Scale;
use hotrow_txn::number_of;

pub(super) static FIGURE: Figure = Figure {
    id: "sli-9",
    paper: &SLI_PAPER,
    place: "Fig. 9, §7.1",
    title: "What becomes of locks that could be inherited",
    there: "The locks that Shore-MT with inheritance could pass on from one transaction to the next, under load on 64 \
            hardware threads: used again, invalidated by another transaction, discarded because the next transaction \
            had no use for them, or not passed on because they were not hot.",
    here: "The same counts of the hierarchy of locks with inheritance, with a thread on each core. Since few threads \
           seldom make a lock hot, every lock counts as hot in (b).",
    plan,
    claims: &CLAIMS,
};

const USED: &str = "used";
const INVALIDATED: &str = "invalidated";
const DISCARDED: &str = "discarded";
const RELEASED: &str = "not passed on";

/// The outcomes of a lock that a transaction passes on.
const PASSED: [&str; 3] = [USED, INVALIDATED, DISCARDED];

/// The panels of hot locks, and of all.
const HOT: &str = "a";
const ALL: &str = "b";

fn plan(scale: &Scale) -> Plan {
    let parts = |options: &str| {
        let part = |name, part| Series::locks(name, SLI, part).with(options);
        vec![
            part(USED, "used"),
            part(INVALIDATED, "invalidated"),
            part(DISCARDED, "discarded"),
            part(RELEASED, "released"),
        ]
    };
    let threads = format!("{}, one on each core", number_of(scale.cores, "thread"));
    let every = format!("{threads}; every lock is hot");
    Plan {
        chart: Chart::LockBars { x: "transaction" },
        value: "per cent of a transaction's heritable locks",
        stretch: 1,
        panels: vec![
            bars(scale, HOT, threads, scale.cores, parts(AS_PRINTED)),
            bars(scale, ALL, every, scale.cores, parts(ALL_HOT)),
        ],
    }
}

static CLAIMS: [Claim; 3] = [
    Claim {
        text: "Most heritable locks of the shorter transactions are hot and passed on.",
        criterion: "In (a), more than 50 % of the TATP mix's heritable locks are passed on.",
        judge: |results| {
            let passed = of(results, HOT, &PASSED, TATP_MIX)?;
            let evidence = format!("{passed:.1} % of the TATP mix's heritable locks are passed on");
            Some(Finding { holds: passed > 50.0, evidence })
        },
        weaker: Some(Weaker {
            criterion: "In (b), where every lock is hot, more of the TATP mix's inherited locks are used than \
                        invalidated and discarded.",
            judge: |results| {
                let used = of(results, ALL, &[USED], TATP_MIX)?;
                let useless = of(results, ALL, &[INVALIDATED, DISCARDED], TATP_MIX)?;
                let evidence = format!("{used:.0} % are used, {useless:.0} % invalidated or discarded");
                Some(Finding { holds: used > useless, evidence })
            },
        }),
        otherwise: "A lock is passed on only if it is hot, and few threads seldom meet at a latch.",
    },
    Claim {
        text: "The longest transactions have practically no hot locks to pass on.",
        criterion: "In (a), at most 5 % of Stock Level's heritable locks are passed on. What is practically none is \
                    ours.",
        judge: |results| {
            let passed = of(results, HOT, &PASSED, STOCK_LEVEL)?;
            let evidence = format!("{passed:.1} % of Stock Level's heritable locks are passed on");
            Some(Finding { holds: passed <= 5.0, evidence })
        },
        weaker: None,
        otherwise: "Long transactions here take microseconds, and meet at the locks of the few tables that they read.",
    },
    Claim {
        text: "Mixing types of transactions leaves more inherited locks invalidated and discarded.",
        criterion: "In (a), a larger part of the locks that are passed on is invalidated or discarded in the TATP mix \
                    than in the median of its transactions alone.",
        judge: |results| mixing_wastes(results, HOT),
        weaker: Some(Weaker {
            criterion: "So it is in (b), where every lock is hot.",
            judge: |results| mixing_wastes(results, ALL),
        }),
        otherwise: "If no lock is passed on, none is wasted.",
    },
];

/// Returns the sum of some parts in the bar with this label.
fn of(results: &Results, panel: &str, parts: &[&str], label: &str) -> Option<f64> {
    sum_at(results, panel, parts, bar(results, label)?)
}

/// Decides whether a larger part of the inherited locks is wasted in the TATP mix than in its transactions alone.
fn mixing_wastes(results: &Results, panel: &str) -> Option<Finding> {
    let wasted = |label| {
        let useless = of(results, panel, &[INVALIDATED, DISCARDED], label)?;
        let passed = useless + of(results, panel, &[USED], label)?;
        Some(100.0 * useless / passed.max(f64::MIN_POSITIVE))
    };
    let measured = TATP_SINGLE.iter().filter(|label| bar(results, label).is_some());
    let alone: Vec<f64> = measured.map(|label| wasted(label)).collect::<Option<_>>()?;
    let (mixed, alone) = (wasted(TATP_MIX)?, median(&alone)?);
    let evidence = format!("({panel}) {mixed:.1} % are wasted in the mix, {alone:.1} % alone");
    Some(Finding { holds: mixed > alone, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn bars_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (RELEASED, STOCK_LEVEL) => 98.0,
            (_, STOCK_LEVEL) => 0.6,
            (USED, TATP_MIX) => 40.0,
            (USED, _) => 60.0,
            (INVALIDATED, TATP_MIX) => 20.0,
            (RELEASED, _) => 25.0,
            _ => 5.0,
        };
        check(&FIGURE, paper, &[true; 3]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            RELEASED => 80.0,
            USED => 5.0,
            _ => 7.5,
        };
        check(&FIGURE, other, &[false; 3]);
        check_weaker(&FIGURE, other, &[false; 2]);
    }

    #[test]
    fn without_any_heritable_lock_none_is_passed_on() {
        check(&FIGURE, |_| 0.0, &[false, true, false]);
        check_weaker(&FIGURE, |_| 0.0, &[false; 2]);
    }

    #[test]
    fn nothing_is_passed_on_unless_every_lock_is_hot() {
        let few = |made: MadeUpPoint<'_>| match (made.panel, made.series, made.label) {
            (HOT, RELEASED, _) => 100.0,
            (HOT, ..) => 0.0,
            (_, USED, _) => 60.0,
            (_, DISCARDED, TATP_MIX) => 40.0,
            (_, DISCARDED, _) => 10.0,
            _ => 0.0,
        };
        check(&FIGURE, few, &[false, true, false]);
        check_weaker(&FIGURE, few, &[true; 2]);
    }
}
