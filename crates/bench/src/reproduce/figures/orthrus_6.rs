//! ORTHRUS, Fig. 6: systems with and without partitions, by how many partitions a transaction touches.

use super::orthrus::{DEADLOCK_FREE, ORTHRUS, ORTHRUS_PAPER, equals, growth};
use super::orthrus_stores::{
    PARTITIONED, SPLIT, SPLIT_FREE, lockers, partitions_lead, split_leads, stores, table_of_stores, ten_uniform_updates,
};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, everywhere, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "orthrus-6",
    paper: &ORTHRUS_PAPER,
    place: "Fig. 6, §4.3",
    title: "ORTHRUS and a store in partitions, by the partitions that a transaction touches",
    there: "Ten read-modify-writes of uniform rows of 1,000 bytes, 10 million rows in partitions, 80 cores. \
            Partitioned-store has a partition, an index and a spin-lock for each worker. ORTHRUS' partitions are its \
            concurrency-control threads. The split variants have an index for each worker, too.",
    here: "The same transactions on a smaller table, with a thread on each core, or four on each of fewer than eight \
           cores, so that there are several partitions. A transaction begins in its worker's partition. It touches at \
           most as many as ORTHRUS has concurrency-control threads.",
    plan,
    claims: &CLAIMS,
};

fn plan(scale: &Scale) -> Plan {
    let most = lockers(scale).min(10);
    let all = (1..=most).collect();
    let touched: Vec<u64> = scale.pick(all, if most > 2 { vec![1, 2, most] } else { vec![1, 2] }, vec![1, 2]);
    let point = |partitions| {
        let options = format!("{} --partitions-per-txn {partitions}", ten_uniform_updates(scale));
        Point::at(partitions, &table_of_stores(scale), options)
    };
    let panel = Panel {
        id: "a",
        title: "ten read-modify-writes".to_owned(),
        points: touched.into_iter().map(point).collect(),
        series: stores(scale),
    };
    Plan {
        chart: Chart::Curves { x: "partitions of a transaction" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![panel],
    }
}

static CLAIMS: [Claim; 6] = [
    Claim {
        text: "With one partition for each transaction Partitioned-store is about 2 times as fast as ORTHRUS and 2.6 \
               times as fast as deadlock-free locking: it needs no concurrency control.",
        criterion: "At the first point, Partitioned-store is at least 2.00 times ORTHRUS and 2.60 times deadlock-free \
                    locking.",
        judge: |results| partitions_lead(results, 2.0, 2.6),
        weaker: Some(Weaker {
            criterion: "It is at least 1.05 times each of them.",
            judge: |results| partitions_lead(results, 1.0 + TOLERANCE, 1.0 + TOLERANCE),
        }),
        otherwise: "Ten updates of rows of 1,000 bytes take most of a transaction here, and a lock of ours costs a \
                    fraction of a row that is not in the cache.",
    },
    Claim {
        text: "From two partitions on Partitioned-store drops sharply and is behind both: it locks whole partitions.",
        criterion: "At the second point it has less than half of its first, and from there on ORTHRUS and \
                    deadlock-free locking are at least 1.05 times Partitioned-store at every point. The paper calls \
                    the drop sharp and gives no number.",
        judge: |results| all([drops_sharply(results), is_behind(results)]),
        weaker: Some(Weaker {
            criterion: "From the second point on ORTHRUS and deadlock-free locking are at least 1.05 times \
                        Partitioned-store.",
            judge: is_behind,
        }),
        otherwise: "On two cores no more than two transactions ever run. Locks on whole partitions then cost one of \
                    two cores at most; on 80 cores they cost most of them.",
    },
    Claim {
        text: "Split indexes close most of the gap: Partitioned-store is then 1.3 times as fast as ORTHRUS and 1.5 \
               times as fast as deadlock-free locking.",
        criterion: "At the first point, SPLIT ORTHRUS is at least 0.77 times Partitioned-store (1/1.3) and split \
                    deadlock-free locking at least 0.67 times (1/1.5), and each is at least 1.05 times its variant \
                    with one index.",
        judge: |results| {
            let near = |split, least| leads(results, "a", only(At::First), split, &[PARTITIONED], least);
            all([near(SPLIT, 0.77), near(SPLIT_FREE, 0.67), split_leads(results)])
        },
        weaker: Some(Weaker {
            criterion: "Each split variant is at least 1.05 times its variant with one index.",
            judge: split_leads,
        }),
        otherwise: "An index of a million rows is no larger than the caches that two cores have; to split it brings a \
                    core little that is not in its cache already.",
    },
    Claim {
        text: "As transactions touch more partitions the split variants become as fast as those with one index.",
        criterion: "At the last point, each split variant is 0.95 to 1.05 times its variant with one index.",
        judge: |results| {
            let same = |split, whole| equals(results, "a", only(At::Last), split, whole);
            all([same(SPLIT, ORTHRUS), same(SPLIT_FREE, DEADLOCK_FREE)])
        },
        weaker: None,
        otherwise: "With few partitions even a transaction that touches all of them has several rows in each.",
    },
    Claim {
        text: "ORTHRUS loses throughput as messages for a transaction's locks get more, but modestly.",
        criterion: "At the last point ORTHRUS has less than 0.95 times its first, and a larger share of it than \
                    Partitioned-store has of its own.",
        judge: |results| {
            let (orthrus, finding) = loses(results)?;
            let store = growth(results, "a", PARTITIONED, At::Last)?;
            let evidence = format!("{}, {PARTITIONED} {store:.2} of its own", finding.evidence);
            Some(Finding { holds: finding.holds && orthrus > store, evidence })
        },
        weaker: None,
        otherwise: "A message between threads that share a core waits for no other core. What a transaction loses by \
                    waiting for another message, its thread gains by running other transactions.",
    },
    Claim {
        text: "Deadlock-free locking shares everything, and the number of partitions does not touch it.",
        criterion: "At every point it has 0.95 to 1.05 times the throughput of its first.",
        judge: is_steady,
        weaker: None,
        otherwise: "Transactions of one worker that stay in one partition have rows of their own, so that no two \
                    cores change the same row; one that leaves its partition shares rows with the others.",
    },
];

/// Decides whether Partitioned-store has less than half of its first point at the second.
fn drops_sharply(results: &Results) -> Option<Finding> {
    let share = growth(results, "a", PARTITIONED, At::Number(1))?;
    let evidence = format!("{PARTITIONED} has {share:.2} of its first point at the second");
    Some(Finding { holds: share < 0.5, evidence })
}

/// Decides whether Partitioned-store is behind ORTHRUS and deadlock-free locking from the second point on.
fn is_behind(results: &Results) -> Option<Finding> {
    let leads = |name| {
        let from_second = everywhere(results, "a").skip(1);
        leads(results, "a", from_second, name, &[PARTITIONED], 1.0 + TOLERANCE)
    };
    all([leads(ORTHRUS), leads(DEADLOCK_FREE)])
}

/// Returns what ORTHRUS has of its first point at the last, and whether that is a loss.
fn loses(results: &Results) -> Option<(f64, Finding)> {
    let share = growth(results, "a", ORTHRUS, At::Last)?;
    let evidence = format!("{ORTHRUS} has {share:.2} of its first point at the last");
    Some((share, Finding { holds: share < 1.0 - TOLERANCE, evidence }))
}

fn is_steady(results: &Results) -> Option<Finding> {
    let shares = everywhere(results, "a").map(|at| growth(results, "a", DEADLOCK_FREE, at));
    let shares = shares.collect::<Option<Vec<_>>>()?;
    let (least, most) = (shares.iter().copied().reduce(f64::min)?, shares.iter().copied().reduce(f64::max)?);
    let evidence = format!("{DEADLOCK_FREE} has {least:.2} to {most:.2} times its first point");
    Some(Finding { holds: least >= 1.0 - TOLERANCE && most <= 1.0 + TOLERANCE, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (PARTITIONED, "1") => 26.0,
            (PARTITIONED, _) => 5.0,
            (SPLIT, _) => 20.5 - 10.0 * made.way,
            (ORTHRUS, _) => 12.5 - 2.0 * made.way,
            (SPLIT_FREE, _) => 18.0 - 8.0 * made.way,
            _ => 10.0,
        };
        check(&FIGURE, paper, &[true; 6]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            PARTITIONED => 10.0,
            SPLIT | SPLIT_FREE => 10.0 - 2.0 * made.way,
            _ => 10.0 + 2.0 * made.way,
        };
        check(&FIGURE, other, &[false; 6]);
        // Systems that are all alike lead nowhere.
        check(&FIGURE, |_| 10.0, &[false, false, false, true, false, true]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (PARTITIONED, "1") => 12.0,
            (PARTITIONED, _) => 8.0,
            (SPLIT | SPLIT_FREE, _) => 11.0,
            _ => 10.0,
        };
        check_weaker(&FIGURE, less, &[true; 3]);
        check_weaker(&FIGURE, |_| 10.0, &[false; 3]);
    }
}
