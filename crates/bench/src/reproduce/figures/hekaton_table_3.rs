//! Hekaton, Table 3: what the isolation levels cost.

use super::hekaton::{HEKATON, LOCKING, OPTIMISTIC, SINGLE, large, schemes};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results, median};
use crate::reproduce::scale::Scale;
use hotrow_txn::{Isolation, number_of};

pub(super) static FIGURE: Figure = Figure {
    id: "hekaton-table-3",
    paper: &HEKATON,
    place: "Table 3, §5.1.3",
    title: "What repeatable read and serializable cost",
    there: "The transactions of Fig. 4 on 24 threads, at three isolation levels.",
    here: "The same, with a thread on each core. A repetition goes from level to level on the same rows, and a drop is \
           the median over the repetitions.",
    plan,
    claims: &CLAIMS,
};

/// The levels, in the order of the points.
const LEVELS: [Isolation; 3] = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
const REPEATABLE: usize = 1;
const SERIALIZABLE: usize = 2;

fn plan(scale: &Scale) -> Plan {
    let rows = large(scale);
    let point = |(number, level): (usize, Isolation)| Point {
        x: number as f64,
        label: level.name().to_owned(),
        rows: rows.clone(),
        options: format!(
            "--reads 10 --writes 2 --isolation {} --threads {}",
            level.name().replace(' ', "-"),
            scale.cores
        ),
    };
    let points = LEVELS.into_iter().enumerate().map(point).collect();
    Plan {
        chart: Chart::Table { x: "isolation level" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![Panel { id: "a", title: number_of(scale.cores, "thread"), points, series: schemes() }],
    }
}

static CLAIMS: [Claim; 3] = [
    Claim {
        text: "1V loses 1.8 % at either level: a lock on a key's hash keeps phantoms out, too.",
        criterion: "1V drops by at most 1.85 % at repeatable read and at serializable.",
        judge: |results| all([drops(results, SINGLE, REPEATABLE, 1.85), drops(results, SINGLE, SERIALIZABLE, 1.85)]),
        weaker: Some(Weaker {
            criterion: "1V drops by at most 5 % at repeatable read and at serializable.",
            judge: |results| {
                let most = 100.0 * TOLERANCE;
                all([drops(results, SINGLE, REPEATABLE, most), drops(results, SINGLE, SERIALIZABLE, most)])
            },
        }),
        otherwise: "To keep a lock until the end means to remember it, and to give twelve back at once.",
    },
    Claim {
        text: "MV/L loses 1.2 % at repeatable read, 10 % at serializable.",
        criterion: "MV/L drops by at most 1.2 % at repeatable read and by at most 10 % at serializable.",
        judge: |results| all([drops(results, LOCKING, REPEATABLE, 1.2), drops(results, LOCKING, SERIALIZABLE, 10.0)]),
        weaker: Some(Weaker {
            criterion: "MV/L drops by at most 5 % at repeatable read and by at most 10 % at serializable.",
            judge: |results| {
                let most = 100.0 * TOLERANCE;
                all([drops(results, LOCKING, REPEATABLE, most), drops(results, LOCKING, SERIALIZABLE, 10.0)])
            },
        }),
        otherwise: "A read lock is a write to the version's line, and another one when it is given back. The paper's \
                    read committed may do more, and so leave less to lose.",
    },
    Claim {
        text: "MV/O loses 8 % at repeatable read, where it looks at all versions again, and 19 % at serializable, \
               where it repeats all scans.",
        criterion: "MV/O drops by at most 8.3 % at repeatable read and by at most 19.2 % at serializable.",
        judge: |results| {
            all([drops(results, OPTIMISTIC, REPEATABLE, 8.3), drops(results, OPTIMISTIC, SERIALIZABLE, 19.2)])
        },
        weaker: None,
        otherwise: "A transaction here is over sooner, so that to look again weighs more.",
    },
];

/// Decides whether a scheme loses at most `most` per cent of its throughput at read committed when it runs at the level
/// with number `level`. The loss is the median over the repetitions.
fn drops(results: &Results, name: &str, level: usize, most: f64) -> Option<Finding> {
    let series = results.plan.panels[0].series.iter().find(|series| series.name == name)?;
    let runs = |point| results.runs(0, point, series).iter().map(|run| series.value.of(run));
    let drops: Vec<_> =
        runs(0).zip(runs(level)).map(|(first, at)| 100.0 * (1.0 - at / first.max(f64::MIN_POSITIVE))).collect();
    let drop = median(&drops)?;
    let evidence = format!("{name} drops by {drop:.1} % at {}", results.label("a", At::Number(level)));
    Some(Finding { holds: drop <= most, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn the_papers_numbers_confirm_its_claims_and_others_refute_them() {
        let level = |made: MadeUpPoint<'_>| (made.way * 2.0) as usize;
        let paper = |made: MadeUpPoint<'_>| match made.series {
            SINGLE => [2080.0, 2042.0, 2042.0][level(made)],
            LOCKING => [974.0, 963.0, 877.0][level(made)],
            _ => [1387.0, 1272.0, 1121.0][level(made)],
        };
        check(&FIGURE, paper, &[true; 3]);
        check(&FIGURE, |made| [100.0, 80.0, 60.0][level(made)], &[false; 3]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| {
            let drops = match made.series {
                SINGLE => [100.0, 97.0, 96.0],
                _ => [100.0, 96.0, 91.0],
            };
            drops[(made.way * 2.0) as usize]
        };
        check_weaker(&FIGURE, less, &[true; 2]);
        let other = |made: MadeUpPoint<'_>| [100.0, 80.0, 60.0][(made.way * 2.0) as usize];
        check_weaker(&FIGURE, other, &[false; 2]);
    }
}
