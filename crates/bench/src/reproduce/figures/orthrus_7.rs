//! ORTHRUS, Fig. 7: systems with and without partitions, by how many transactions touch two.

use super::orthrus::{DEADLOCK_FREE, ORTHRUS, ORTHRUS_PAPER, growth};
use super::orthrus_stores::{
    PARTITIONED, SPLIT, SPLIT_FREE, partitions_lead, split_leads, stores, table_of_stores, ten_uniform_updates,
};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, everywhere, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "orthrus-7",
    paper: &ORTHRUS_PAPER,
    place: "Fig. 7, §4.3",
    title: "ORTHRUS and a store in partitions, by the share of transactions on two partitions",
    there: "As Fig. 6, with transactions on one partition and others on exactly two.",
    here: "As our Fig. 6: a smaller table, and a thread on each core, or four on each of fewer than eight cores.",
    plan,
    claims: &CLAIMS,
};

fn plan(scale: &Scale) -> Plan {
    let shares: &[u64] = scale.pick(&[0, 20, 40, 60, 80, 100], &[0, 20, 100], &[0, 100]);
    let point = |&share: &u64| {
        let multi_partition = share as f64 / 100.0;
        let options =
            format!("{} --partitions-per-txn 2 --multi-partition {multi_partition}", ten_uniform_updates(scale));
        Point::at(share, &table_of_stores(scale), options)
    };
    let panel = Panel {
        id: "a",
        title: "ten read-modify-writes".to_owned(),
        points: shares.iter().map(point).collect(),
        series: stores(scale),
    };
    Plan {
        chart: Chart::Curves { x: "transactions on two partitions, %" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![panel],
    }
}

static CLAIMS: [Claim; 5] = [
    Claim {
        text: "Without multi-partition transactions Partitioned-store is faster than ORTHRUS and deadlock-free \
               locking.",
        criterion: "At the first point, Partitioned-store is at least 1.05 times each of them.",
        judge: |results| partitions_lead(results, 1.0 + TOLERANCE, 1.0 + TOLERANCE),
        weaker: None,
        otherwise: "Ten updates of rows of 1,000 bytes take most of a transaction here, and a lock of ours costs a \
                    fraction of a row that is not in the cache.",
    },
    Claim {
        text: "Partitioned-store loses throughput with each multi-partition transaction, and ends behind both.",
        criterion: "At each point it has less than at the one before, and at the last point ORTHRUS and deadlock-free \
                    locking are at least 1.05 times Partitioned-store.",
        judge: |results| {
            let ahead = |name| leads(results, "a", only(At::Last), name, &[PARTITIONED], 1.0 + TOLERANCE);
            all([falls_throughout(results), ahead(ORTHRUS), ahead(DEADLOCK_FREE)])
        },
        weaker: Some(Weaker {
            criterion: "At the last point it has less than 0.95 times its first.",
            judge: |results| loses(results, PARTITIONED),
        }),
        otherwise: "On two cores no more than two transactions ever run, and they seldom want the same partition.",
    },
    Claim {
        text: "ORTHRUS is always faster than deadlock-free locking, even if every transaction is on two partitions.",
        criterion: "ORTHRUS is at least 1.00 times deadlock-free locking at every point.",
        judge: |results| leads(results, "a", everywhere(results, "a"), ORTHRUS, &[DEADLOCK_FREE], 1.0),
        weaker: Some(Weaker {
            criterion: "It is at least 0.95 times deadlock-free locking at every point.",
            judge: |results| leads(results, "a", everywhere(results, "a"), ORTHRUS, &[DEADLOCK_FREE], 1.0 - TOLERANCE),
        }),
        otherwise: "ORTHRUS pays with threads that lock and do nothing else. Of 80 they are a few; of few cores they \
                    are a large part, and the caches that they keep clean are shared.",
    },
    Claim {
        text: "ORTHRUS, too, loses throughput as more transactions are on two partitions: they need a message more.",
        criterion: "At the last point ORTHRUS has less than 0.95 times its first.",
        judge: |results| loses(results, ORTHRUS),
        weaker: None,
        otherwise: "A message more is one of three. An execution thread runs other transactions while it is under way.",
    },
    Claim {
        text: "Split indexes bring most of Partitioned-store's advantage, but do not reach it without multi-partition \
               transactions, since it has no concurrency control then.",
        criterion: "At the first point each split variant is at least 1.05 times its variant with one index, and \
                    Partitioned-store at least 1.05 times both split variants.",
        judge: |results| {
            let ahead = leads(results, "a", only(At::First), PARTITIONED, &[SPLIT, SPLIT_FREE], 1.0 + TOLERANCE);
            all([split_leads(results), ahead])
        },
        weaker: None,
        otherwise: "An index of a million rows is no larger than the caches that two cores have; to split it brings a \
                    core little that is not in its cache already.",
    },
];

/// Decides whether Partitioned-store has less throughput at each point than at the one before.
fn falls_throughout(results: &Results) -> Option<Finding> {
    let medians = everywhere(results, "a").map(|at| results.median("a", PARTITIONED, at));
    let medians = medians.collect::<Option<Vec<_>>>()?;
    let ratios = medians.windows(2).map(|pair| pair[1] / pair[0].max(f64::MIN_POSITIVE));
    let most = ratios.reduce(f64::max)?;
    let evidence = format!("where it loses least, {PARTITIONED} has {most:.2} times the point before");
    Some(Finding { holds: most < 1.0, evidence })
}

/// Decides whether a series has less throughput at the last point than at the first.
fn loses(results: &Results, name: &str) -> Option<Finding> {
    let share = growth(results, "a", name, At::Last)?;
    let evidence = format!("{name} has {share:.2} of its first point at the last");
    Some(Finding { holds: share < 1.0 - TOLERANCE, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match made.series {
            PARTITIONED => 26.0 - 21.0 * made.way,
            SPLIT => 20.5 - 9.0 * made.way,
            ORTHRUS => 12.5 - 2.0 * made.way,
            SPLIT_FREE => 18.0 - 8.0 * made.way,
            _ => 10.0,
        };
        check(&FIGURE, paper, &[true; 5]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            PARTITIONED => 10.0,
            ORTHRUS => 9.0 + 0.5 * made.way,
            _ => 10.0 + made.way,
        };
        check(&FIGURE, other, &[false; 5]);
        // A split index that makes up for all of the advantage is more than the paper found.
        let split = |made: MadeUpPoint<'_>| match made.series {
            SPLIT => 26.0 - 9.0 * made.way,
            _ => paper(made),
        };
        check(&FIGURE, split, &[true, true, true, true, false]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match made.series {
            PARTITIONED => 20.0 - 5.0 * made.way,
            ORTHRUS => 9.8,
            _ => 10.0,
        };
        check_weaker(&FIGURE, less, &[true; 2]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            PARTITIONED => 10.0,
            ORTHRUS => 9.0,
            _ => 10.0,
        };
        check_weaker(&FIGURE, other, &[false; 2]);
    }
}
