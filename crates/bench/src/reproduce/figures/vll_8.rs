//! VLL, Fig. 8: what two-phase locking costs by contention, without VLL itself.

use crate::reproduce::claim::{Claim, Finding, TOLERANCE, all};
use crate::reproduce::figure::{Chart, Figure, Panel, Paper, Plan, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

/// The paper.
static VLL: Paper = Paper { name: "vll", title: "VLL: a lock manager redesign for main memory database systems" };

pub(super) static FIGURE: Figure = Figure {
    id: "vll-8",
    paper: &VLL,
    place: "Fig. 8, §3.2",
    title: "Two-phase locking as contention rises, for long and short transactions",
    there: "Ten records read and updated, one of them hot (a, c) or several (b, d); for each record something is computed \
            in long transactions (a, b), nothing in short ones (c, d). The contention index is the probability that two \
            transactions conflict. 2PL keeps a wait-for graph; its deadlock-free variant takes all locks in one critical \
            section. Five cores of a virtual machine.",
    here: "The same transactions, two hot records in (b) and (d), ten microseconds of computation for each record of a \
           long transaction, a thread on each core. VLL and 2PL with one critical section are not among our engines yet; \
           the deadlock-free variant here takes its locks in key order.",
    plan,
    claims: &CLAIMS,
};

const NOTHING: &str = "no locking";
const TWO_PHASE: &str = "2PL (wait-for graph)";
const ORDERED: &str = "2PL in key order";

fn plan(scale: &Scale) -> Plan {
    let rows = format!("micro --records {}", scale.pick(1_000_000, 100_000, 200));
    let panel = |id, title: &str, length: &str, hot_ops: u64| {
        let hot: &[u64] = scale.pick(&[10000, 3000, 1000, 300, 100, 30, 10, 4], &[10000, 100, 10], &[100]);
        let point = |hot: u64| {
            let x = contention_index(hot, hot_ops);
            let options = format!("{length} --hot-records {hot} --hot-ops {hot_ops} --threads {}", scale.cores);
            Point { x, label: label(x), rows: rows.clone(), options }
        };
        // With as many hot records as a transaction updates, all transactions conflict.
        let points = hot.iter().copied().chain([hot_ops]).map(point).collect();
        let series = vec![
            Series::throughput(TWO_PHASE, "2pl-waitfor"),
            Series::throughput(ORDERED, "2pl-ordered"),
            Series::reference(NOTHING, "none"),
        ];
        Panel { id, title: title.to_owned(), points, series }
    };
    Plan {
        chart: Chart::Curves { x: "contention index" },
        value: "thousand transactions per second",
        panels: vec![
            panel("a", "long, 1 hot record", "--long", 1),
            panel("b", "long, 2 hot records", "--long", 2),
            panel("c", "short, 1 hot record", "--short", 1),
            panel("d", "short, 2 hot records", "--short", 2),
        ],
    }
}

/// The probability that two transactions have a hot record in common, each with one or two of `hot`.
fn contention_index(hot: u64, hot_ops: u64) -> f64 {
    let hot = hot as f64;
    match hot_ops {
        1 => hot.recip(),
        _ => 1.0 - ((hot - 2.0) * (hot - 3.0)).max(0.0) / (hot * (hot - 1.0)),
    }
}

/// A contention index with one digit, or two if the first is a one.
fn label(index: f64) -> String {
    let first = (-index.log10() - 1e-9).ceil().max(0.0);
    let leading = index * 10_f64.powf(first);
    let digits = first as usize + usize::from(leading < 1.95 && first > 0.0);
    let text = format!("{index:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

static CLAIMS: [Claim; 4] = [
    Claim {
        text: "Locking costs short transactions a larger share (43 %) than long ones (22 %).",
        criterion: "At the first point, what 2PL loses against no locking is larger in (c) than in (a), and at least 5 %.",
        judge: |results| {
            let (long, short) = (overhead(results, "a", At::First)?, overhead(results, "c", At::First)?);
            let evidence = format!("2PL loses {long:.0} % of the long and {short:.0} % of the short transactions");
            Some(Finding { holds: short > long && short >= TOLERANCE * 100.0, evidence })
        },
        otherwise: "The difference is within what a shared machine varies by: both lose little.",
    },
    Claim {
        text: "A traditional lock manager costs short transactions nearly half of their throughput.",
        criterion: "At the first point of (c), 2PL loses at least 35 % against no locking.",
        judge: |results| {
            let short = overhead(results, "c", At::First)?;
            Some(Finding {
                holds: short >= 35.0,
                evidence: format!("2PL loses {short:.0} % of the short transactions"),
            })
        },
        otherwise: "The lock table here has a latch for each bucket, the first requests in the bucket's own cache line, \
                    no intention locks and no allocator, and its lines are fetched together with those of the rows; \
                    the paper's is of the kind that VLL was to replace.",
    },
    Claim {
        text: "Throughput of 2PL falls as contention rises.",
        criterion: "In each panel, 2PL at the last point is below 0.95 times what it is at the first.",
        judge: |results| {
            let falls = |panel: &str| {
                let (first, last) =
                    (results.median(panel, TWO_PHASE, At::First)?, results.median(panel, TWO_PHASE, At::Last)?);
                let share = last / first.max(f64::MIN_POSITIVE);
                let evidence = format!("({panel}) {share:.2} times");
                Some(Finding { holds: share < 1.0 - TOLERANCE, evidence })
            };
            all(["a", "b", "c", "d"].map(falls))
        },
        otherwise: "With few threads there is little to lose: if all transactions conflict, one still runs at a time, and \
                    a short one gains what it loses by finding the hot record in its core's cache.",
    },
    Claim {
        text: "Where deadlocks are possible 2PL loses more at high contention.",
        criterion: "At the last point, 2PL has a smaller share of no locking's throughput in (b) than in (a), and in (d) \
                    than in (c).",
        judge: |results| {
            let more = |without: &str, with: &str| {
                let (few, many) = (overhead(results, without, At::Last)?, overhead(results, with, At::Last)?);
                let evidence = format!("it loses {few:.0} % in ({without}) and {many:.0} % in ({with})");
                Some(Finding { holds: many > few, evidence })
            };
            all([more("a", "b"), more("c", "d")])
        },
        otherwise: "If all transactions conflict, they run one after the other with one hot record as with two; the \
                    transaction that a deadlock costs has only just begun, because hot records come first.",
    },
];

/// What 2PL loses of the throughput without locks, in per cent.
fn overhead(results: &Results, panel: &str, at: At) -> Option<f64> {
    Some((1.0 - results.ratio(panel, at, TWO_PHASE, NOTHING)?) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::check;
    use crate::reproduce::results::tests::Made;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: Made<'_>| match (made.panel, made.series) {
            (_, NOTHING) => 100.0,
            ("a", _) => 78.0 - 50.0 * made.way,
            ("b", _) => 78.0 - 55.0 * made.way,
            ("c", _) => 57.0 - 30.0 * made.way,
            _ => 57.0 - 40.0 * made.way,
        };
        check(&FIGURE, paper, &[true; 4]);
        let other = |made: Made<'_>| match (made.panel, made.series) {
            (_, NOTHING) => 100.0,
            ("a" | "b", _) => 80.0,
            _ => 90.0,
        };
        check(&FIGURE, other, &[false; 4]);
    }

    #[test]
    fn the_contention_index_is_the_probability_of_a_conflict() {
        for (hot, hot_ops, index, text) in [
            (10000, 1, 0.0001, "0.0001"),
            (3, 1, 1.0 / 3.0, "0.3"),
            (1, 1, 1.0, "1"),
            (2, 2, 1.0, "1"),
            (3, 2, 1.0, "1"),
            (4, 2, 5.0 / 6.0, "0.8"),
            (100, 2, 0.0398, "0.04"),
            (30, 2, 0.1310, "0.13"),
        ] {
            let computed = contention_index(hot, hot_ops);
            assert!((computed - index).abs() < 1e-4, "{hot} hot, {hot_ops} each: {computed}");
            assert_eq!(label(computed), text, "{hot} hot, {hot_ops} each");
        }
    }
}
