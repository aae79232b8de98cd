//! VLL, Fig. 16: what locking costs a transaction, alone.

use super::vll::{ATOMIC, HSTORE, NOTHING, PER_CORE, TWO_PHASE, VLL, VLL_PAPER};
use crate::reproduce::claim::{Claim, Finding, Weaker};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series, Value};
use crate::reproduce::results::{Results, median};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "vll-16",
    paper: &VLL_PAPER,
    place: "Fig. 16, §3.5",
    title: "What locking costs a transaction",
    there: "The CPU time of requesting and releasing a transaction's locks, alone and not under load: 21.07 µs for \
            traditional 2PL, 20.18 for Calvin's lock manager, 1.83 for VLL with its latch and 0.69 for single-threaded \
            VLL.",
    here: "The CPU time of a transaction that locks records and does nothing with them, on one thread, with records \
           that are in the cache, by how many records it locks. The dashed line looks the same records up and takes no \
           locks: what is above it is the cost of locking. Calvin's lock manager is not among our engines.",
    plan,
    claims: &CLAIMS,
};

/// The names of the series.
const ARRAYED: &str = "VLL, arrayed";
const WAIT_DIE: &str = "2PL (wait-die)";
const ORDERED: &str = "2PL in key order";

/// The number of records that the paper's transactions lock.
const RECORDS: u64 = 10;

fn plan(scale: &Scale) -> Plan {
    let rows = "micro --records 1000 --hot-records 0 --hot-ops 0";
    let counts: &[u64] = scale.pick(&[1, 2, 3, 5, 7, RECORDS, 14, 20], &[1, RECORDS], &[RECORDS, 20]);
    let panel = |id, title: &str, series: &[(&'static str, &'static str)]| {
        // The records are in the cache, where batched look-ups only cost time: the floor goes without them.
        let options = |count| format!("--lock-only --ops {count} --threads 1 --scheduler pool --no-batch");
        let points = counts.iter().map(|&count| Point::at(count, rows, options(count))).collect();
        let cost =
            |name, engine, is_reference| Series { value: Value::Cpu, is_reference, ..Series::throughput(name, engine) };
        let engines = series.iter().map(|&(name, engine)| cost(name, engine, false));
        let series = engines.chain([cost(NOTHING, "none", true)]).collect();
        Panel { id, title: title.to_owned(), points, series }
    };
    Plan {
        chart: Chart::Curves { x: "locked records" },
        value: "µs of CPU time per transaction",
        stretch: 1,
        panels: vec![
            panel(
                "a",
                "for many threads",
                &[
                    (TWO_PHASE, "2pl-waitfor"),
                    (WAIT_DIE, "2pl-waitdie"),
                    (ORDERED, "2pl-ordered"),
                    (ATOMIC, "2pl-atomic"),
                    (VLL, "vll"),
                    (ARRAYED, "vll-arrayed"),
                ],
            ),
            panel("b", "for one thread on a partition", &[(HSTORE, "hstore"), (PER_CORE, "2pl-st"), (VLL, "vll-st")]),
        ],
    }
}

static CLAIMS: [Claim; 4] = [
    Claim {
        text: "Traditional lock managers cost an order of magnitude more than VLL.",
        criterion: "With ten records, what 2PL with a wait-for graph costs above no locking is at least 10.00 times \
                    what VLL costs above it.",
        judge: |results| manager_costs(results, 10.0),
        weaker: Some(Weaker {
            criterion: "It is at least 5.00 times what VLL costs.",
            judge: |results| manager_costs(results, 5.0),
        }),
        otherwise: "A lock here is one exchange on a line of the lock table that is in the cache, with no allocation \
                    and no list; the paper's 2PL takes 2 µs for each lock, ours a fiftieth of that.",
    },
    Claim {
        text: "VLL for many threads costs more than VLL for one, which has no latch.",
        criterion: "With ten records, VLL costs more in (a) than in (b), above no locking.",
        judge: |results| {
            let (many, one) = (overhead(results, "a", VLL)?, overhead(results, "b", VLL)?);
            let evidence = format!("VLL costs {many:.2} µs with a latch, {one:.2} µs without");
            Some(Finding { holds: many > one, evidence })
        },
        weaker: None,
        otherwise: "A latch that nobody else wants costs little.",
    },
    Claim {
        text: "The locks of a transaction on ten records cost 1.83 µs with VLL, 0.69 µs with single-threaded VLL.",
        criterion: "With ten records, on later processors, VLL costs at most 0.70 µs in (a) and 0.25 µs in (b), above \
                    no locking.",
        judge: |results| {
            let (many, one) = (overhead(results, "a", VLL)?, overhead(results, "b", VLL)?);
            let evidence = format!("VLL costs {many:.2} µs with a latch, {one:.2} µs without");
            Some(Finding { holds: many <= 0.7 && one <= 0.25, evidence })
        },
        weaker: None,
        otherwise: "What is above no locking is all that the engine does: plans, queue and access checks as well as \
                    counters.",
    },
    Claim {
        text: "Arrayed counters cost a little more than those beside the records.",
        criterion: "With ten records, VLL with arrayed counters costs more than VLL, above no locking.",
        judge: |results| {
            let (arrayed, beside) = (overhead(results, "a", ARRAYED)?, overhead(results, "a", VLL)?);
            let evidence = format!(
                "VLL costs {arrayed:.2} µs with arrayed counters, {beside:.2} µs with those beside the records"
            );
            Some(Finding { holds: arrayed > beside, evidence })
        },
        weaker: None,
        otherwise: "Here all records and counters are in the cache; the second miss is what arrayed counters cost.",
    },
];

/// Decides whether the locks of 2PL cost at least `least` times as much as those of VLL.
fn manager_costs(results: &Results, least: f64) -> Option<Finding> {
    let (manager, vll) = (overhead(results, "a", TWO_PHASE)?, overhead(results, "a", VLL)?);
    let evidence = format!("2PL costs {manager:.2} µs, VLL {vll:.2} µs");
    // A cost that is within the noise of no locking at all is no number to compare with.
    Some(Finding { holds: vll > 0.0 && manager >= least * vll, evidence })
}

/// Returns how much more time a transaction takes in a series than without locking, in microseconds, with as many
/// records as in the paper. It is the median of the differences within one repetition.
fn overhead(results: &Results, panel: &str, series: &str) -> Option<f64> {
    let label = RECORDS.to_string();
    let number = results.plan.panels.iter().position(|other| other.id == panel)?;
    let shown = &results.plan.panels[number];
    let point = shown.points.iter().position(|point| point.label == label)?;
    let values = |name| {
        let series = shown.series.iter().find(|series| series.name == name)?;
        Some(results.runs(number, point, series).iter().map(|run| series.value.of(run)))
    };
    let differences = values(series)?.zip(values(NOTHING)?).map(|(with, without)| with - without);
    median(&differences.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn costs_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| {
            let drift = made.repetition as f64;
            let locking = match (made.panel, made.series) {
                (_, NOTHING | HSTORE) => 0.0,
                ("a", VLL) => 0.6,
                ("a", ARRAYED) => 0.65,
                ("b", VLL) => 0.2,
                _ => 7.0,
            };
            drift + 1.0 + locking
        };
        check(&FIGURE, paper, &[true; 4]);
        let other = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            (_, NOTHING) => 1.0,
            ("a", VLL) => 1.8,
            ("b", VLL) => 1.9,
            _ => 1.7,
        };
        check(&FIGURE, other, &[false; 4]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match made.series {
            NOTHING => 1.0,
            VLL => 2.0,
            _ => 8.0,
        };
        check_weaker(&FIGURE, less, &[true; 1]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            NOTHING => 1.0,
            VLL => 2.0,
            _ => 5.0,
        };
        check_weaker(&FIGURE, other, &[false; 1]);
    }
}
