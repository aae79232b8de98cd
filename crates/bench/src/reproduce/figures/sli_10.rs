//! SLI, Fig. 10: where the time of transactions goes, with lock inheritance.

use super::sli::{
    ABORTED, ALL_HOT, AS_PRINTED, CONTENTION, INHERITANCE, LOCK_MANAGER, SLI, SLI_PAPER, WAIT, WITH_MOMENTUM, WORK,
    at_least, at_most, bars,
};
use crate::reproduce::claim::{Claim, Weaker, all};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Plan, Series};
use crate::reproduce::scale::Scale;
use hotrow_txn::number_of;

pub(super) static FIGURE: Figure = Figure {
    id: "sli-10",
    paper: &SLI_PAPER,
    place: "Fig. 10, §7.2",
    title: "Where the time of these transactions goes with lock inheritance",
    there: "As Fig. 6, in Shore-MT with inheritance and with all 64 hardware threads busy. What inheritance itself \
            takes is a part of its own.",
    here: "As sli-6, with inheritance and a thread on each core. Inheritance is the time for choosing locks, passing \
           them on, and releasing those that the next transaction did not use. Since few threads seldom make a lock \
           hot, every lock counts as hot in (b). In (c) an inherited lock is kept for 16 transactions that do not use \
           it, which section 4.4 calls momentum.",
    plan,
    claims: &CLAIMS,
};

/// The panels in which hot locks are inherited, in which all locks are, and in which hot locks are, with momentum.
const HOT: &str = "a";
const ALL: &str = "b";
const MOMENTUM: &str = "c";

fn plan(scale: &Scale) -> Plan {
    let threads = format!("{}, one on each core", number_of(scale.cores, "thread"));
    let every = format!("{threads}; every lock is hot");
    let momentum = format!("{threads}; with momentum");
    Plan {
        chart: Chart::Bars { x: "transaction" },
        value: "per cent of a transaction's time",
        stretch: 1,
        panels: vec![
            bars(scale, HOT, threads, scale.cores, parts(AS_PRINTED)),
            bars(scale, ALL, every, scale.cores, parts(ALL_HOT)),
            bars(scale, MOMENTUM, momentum, scale.cores, parts(WITH_MOMENTUM)),
        ],
    }
}

fn parts(options: &str) -> Vec<Series> {
    let part = |name, part| Series::share(name, SLI, part).with(options);
    vec![
        part(WORK, "work"),
        part(LOCK_MANAGER, "lock_manager"),
        part(CONTENTION, "contention"),
        part(INHERITANCE, "inheritance"),
        part(WAIT, "wait"),
        part(ABORTED, "other"),
    ]
}

static CLAIMS: [Claim; 3] = [
    Claim {
        text: "No transaction spends much time on contention in the lock manager any more.",
        criterion: "In (a), contention takes at most 5 % in every bar. What is much is ours.",
        judge: |results| at_most(results, HOT, &[CONTENTION], 5.0),
        weaker: Some(Weaker {
            criterion: "It takes at most 10 % in every bar.",
            judge: |results| at_most(results, HOT, &[CONTENTION], 10.0),
        }),
        otherwise: "A lock is inherited only once it is hot, and the locks of rows never are. A thread that loses its \
                    core while it holds a latch makes others spin for long.",
    },
    Claim {
        text: "Inheritance itself costs at most 5 % of the time.",
        criterion: "In (a) and in (b), inheritance takes at most 5 % in every bar.",
        judge: |results| all([HOT, ALL].map(|panel| at_most(results, panel, &[INHERITANCE], 5.0))),
        weaker: Some(Weaker {
            criterion: "So it is in (a), where locks are passed on only if they are hot.",
            judge: |results| at_most(results, HOT, &[INHERITANCE], 5.0),
        }),
        otherwise: "A transaction that takes a microsecond has 50 ns for that, about as long as two readings of the \
                    clock that measures it.",
    },
    Claim {
        text: "Transactions spend at least 75 % of the time on useful work.",
        criterion: "In (a), all parts but contention, waiting and aborted attempts take at least 75 % in every bar.",
        judge: |results| at_least(results, HOT, &[WORK, LOCK_MANAGER, INHERITANCE], 75.0),
        weaker: Some(Weaker {
            criterion: "So it is in (c), with momentum.",
            judge: |results| at_least(results, MOMENTUM, &[WORK, LOCK_MANAGER, INHERITANCE], 75.0),
        }),
        otherwise: "TPC-C's transactions wait for each other's rows, here as there. The paper's profile leaves waiting \
                    out, and a clock does not.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn bars_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match made.series {
            WORK => 70.0,
            LOCK_MANAGER => 15.0,
            CONTENTION => 3.0,
            INHERITANCE => 4.0,
            _ => 4.0,
        };
        check(&FIGURE, paper, &[true; 3]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            WORK => 40.0,
            CONTENTION => 30.0,
            _ => 7.5,
        };
        check(&FIGURE, other, &[false; 3]);
        check_weaker(&FIGURE, other, &[false; 3]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            (HOT, INHERITANCE) => 2.0,
            (MOMENTUM, WORK) => 70.0,
            (_, INHERITANCE) => 9.0,
            (_, CONTENTION) => 8.0,
            _ => 30.0,
        };
        check(&FIGURE, less, &[false, false, false]);
        check_weaker(&FIGURE, less, &[true; 3]);
    }
}
