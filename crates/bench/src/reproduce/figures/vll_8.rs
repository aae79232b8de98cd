//! VLL, Fig. 8: locking on one machine, by contention.

use super::vll::{ATOMIC, NOTHING, SCA, SLOTS, TWO_PHASE, VLL, VLL_PAPER, greatest_ratio, label};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "vll-8",
    paper: &VLL_PAPER,
    place: "Fig. 8, §3.2",
    title: "VLL and two-phase locking as contention rises, for long and short transactions",
    there: "Ten records read and updated, one of them hot (a, c) or several (b, d); for each record something is \
            computed in long transactions (a, b), nothing in short ones (c, d). The contention index is the \
            probability that two transactions conflict. 2PL keeps a wait-for graph; its deadlock-free variant takes \
            all locks in one critical section. A short transaction takes about 50 µs, a long one three times as long. \
            Five cores of a virtual machine.",
    here: "The same transactions, two hot records in (b) and (d), ten microseconds of computation for each record of a \
           long transaction, a thread on each core. Our short transactions take one or two microseconds; those of (e), \
           which the paper has not, compute five for each record and so are as long as the paper's short ones. A \
           worker of VLL and of deadlock-free 2PL keeps up to 62 transactions, so that a queue is bounded as in the \
           paper, by the 16 blocked transactions at which VLL begins no new ones. Beside the paper's systems there is \
           2PL whose locks are taken one by one in key order.",
    plan,
    claims: &CLAIMS,
};

/// The name of the series of 2PL without deadlocks, which locks in key order but not in one critical section.
const ORDERED: &str = "2PL in key order";

fn plan(scale: &Scale) -> Plan {
    let rows = format!("micro --records {}", scale.pick(1_000_000, 100_000, 200));
    let panel = |id, title: &str, length: &str, hot_ops: u64| {
        let hot: &[u64] = scale.pick(&[100_000, 10_000, 1000, 300, 100, 30, 10, 4], &[10_000, 100, 4], &[100]);
        let point = |hot: u64| {
            let x = contention_index(hot, hot_ops);
            let options =
                format!("{length} --hot-records {hot} --hot-ops {hot_ops} --threads {} --slots {SLOTS}", scale.cores);
            Point { x, label: label(x), rows: rows.clone(), options }
        };
        // If a transaction updates all hot records, all transactions conflict.
        let points = hot.iter().copied().chain([hot_ops]).map(point).collect();
        let series = vec![
            Series::throughput(VLL, "vll"),
            Series::throughput(SCA, "vll-sca"),
            Series::throughput(TWO_PHASE, "2pl-waitfor"),
            Series::throughput(ATOMIC, "2pl-atomic"),
            Series::throughput(ORDERED, "2pl-ordered"),
            Series::reference(NOTHING, "none"),
        ];
        Panel { id, title: title.to_owned(), points, series }
    };
    Plan {
        chart: Chart::Curves { x: "contention index" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![
            panel("a", "long, 1 hot record", "--long", 1),
            panel("b", "long, 2 hot records", "--long", 2),
            panel("c", "short, 1 hot record", "--short", 1),
            panel("d", "short, 2 hot records", "--short", 2),
            panel("e", "5 µs for each record, 1 hot record", "--work-us 5", 1),
        ],
    }
}

/// Returns the probability that two transactions have a hot record in common, each with one or two of `hot`.
fn contention_index(hot: u64, hot_ops: u64) -> f64 {
    let hot = hot as f64;
    match hot_ops {
        1 => hot.recip(),
        _ => 1.0 - ((hot - 2.0) * (hot - 3.0)).max(0.0) / (hot * (hot - 1.0)),
    }
}

static CLAIMS: [Claim; 10] = [
    Claim {
        text: "VLL is nearly optimal at low contention: its locks cost long transactions 1.5 %, short ones 10.2 %.",
        criterion: "At the first point, VLL loses at most 1.5 % against no locking in (a), and at most 10.2 % in (c), \
                    whose transactions are thirty times shorter than the paper's.",
        judge: |results| all([costs_at_most(results, "a", 1.5), costs_at_most(results, "c", 10.2)]),
        weaker: Some(Weaker {
            criterion: "It loses less than 5 % in (a) and in (e), and at most 25 % in (c).",
            judge: |results| {
                all([
                    costs_at_most(results, "a", 5.0),
                    costs_at_most(results, "e", 5.0),
                    costs_at_most(results, "c", 25.0),
                ])
            },
        }),
        otherwise: "Two threads enter the critical section twice for each transaction, and the line of its latch moves \
                    between them each time; the shorter the transaction, the more that is of it.",
    },
    Claim {
        text: "At low contention short transactions are much faster with VLL, whose locks cost them 10.2 %, than with \
               2PL, whose locks cost 43 %.",
        criterion: "At the first point of (c), VLL is at least 1.57 times 2PL with a wait-for graph.",
        judge: |results| leads(results, "c", only(At::First), VLL, &[TWO_PHASE], 1.57),
        weaker: None,
        otherwise: "Our lock table costs little more than VLL's counters: a latch for each bucket, the first requests \
                    in its line, and lines that are fetched together with those of the rows.",
    },
    Claim {
        text: "SCA makes long transactions up to 41 % faster than VLL without it, and short ones hardly.",
        criterion: "The greatest ratio of VLL with SCA to VLL is at least 1.41 in (a), and less in (c).",
        judge: |results| sca_gains(results, 1.41),
        weaker: Some(Weaker {
            criterion: "It is at least 1.20 in (a), and less in (c).",
            judge: |results| sca_gains(results, 1.2),
        }),
        otherwise: "With two workers one of them can always run what is in front, and SCA can only be of use to the \
                    other.",
    },
    Claim {
        text: "At low and at extremely high contention SCA and VLL are the same.",
        criterion: "VLL with SCA is 0.95 to 1.05 times VLL at the first and at the last point of (a).",
        judge: |results| {
            let near = |at| {
                let ratio = results.ratio("a", at, SCA, VLL)?;
                let evidence = format!("at {} SCA is {ratio:.2} times VLL", results.label("a", at));
                Some(Finding { holds: (ratio - 1.0).abs() <= TOLERANCE, evidence })
            };
            all([near(At::First), near(At::Last)])
        },
        weaker: None,
        otherwise: "If all transactions conflict, looking through the queue finds nothing, and takes time from those \
                    that run.",
    },
    Claim {
        text: "At high contention VLL with SCA is about as fast as 2PL, which knows who waits for whom.",
        criterion: "At the last point of (a), VLL with SCA is at least 0.95 times 2PL with a wait-for graph.",
        judge: |results| leads(results, "a", only(At::Last), SCA, &[TWO_PHASE], 1.0 - TOLERANCE),
        weaker: None,
        otherwise: "2PL hands a lock over when it is given back; under VLL a worker has to look.",
    },
    Claim {
        text: "2PL in one critical section is poor for short transactions, whatever the contention: the section is the \
               bottleneck.",
        criterion: "In (c), deadlock-free 2PL is at most 0.50 times VLL at the first point, and at the last at least \
                    0.95 times what it is at the first. The paper calls it extremely poor and gives no number.",
        judge: |results| one_section_is_poor(results, 0.5, 1.0 - TOLERANCE),
        weaker: Some(Weaker {
            criterion: "It is below 0.95 times VLL at the first point, and at the last at least 0.80 times what it is \
                        at the first.",
            judge: |results| one_section_is_poor(results, 1.0 - TOLERANCE, 0.8),
        }),
        otherwise: "Two threads can hardly fill a critical section that is a part of a transaction.",
    },
    Claim {
        text: "That deadlocks become possible does not touch VLL, which knows none.",
        criterion: "At the last point, what VLL has of no locking's throughput in (b) is at least 0.95 times what it \
                    has in (a), and so in (d) and (c).",
        judge: |results| untouched(results, 1.0 - TOLERANCE),
        weaker: Some(Weaker { criterion: "It is at least 0.85 times.", judge: |results| untouched(results, 0.85) }),
        otherwise: "If all transactions conflict, they run one after the other with one hot record as with two.",
    },
    Claim {
        text: "Locking costs short transactions a larger share (43 %) than long ones (22 %) under 2PL.",
        criterion: "At the first point, 2PL loses at least 22 % against no locking in (a), and at least 43 % in (c).",
        judge: |results| two_phase_costs(results, |long, short| long >= 22.0 && short >= 43.0),
        weaker: Some(Weaker {
            criterion: "It loses more in (c) than in (a), and at least 5 % there.",
            judge: |results| two_phase_costs(results, |long, short| short > long && short >= TOLERANCE * 100.0),
        }),
        otherwise: "The difference is within what a shared machine varies by: both lose little.",
    },
    Claim {
        text: "Throughput of VLL and of 2PL falls as contention rises.",
        criterion: "In each of (a) to (d), each of the two is at the last point below 0.95 times what it is at the \
                    first.",
        judge: |results| {
            let falls = |panel: &str| {
                let share = |name| {
                    let (first, last) =
                        (results.median(panel, name, At::First)?, results.median(panel, name, At::Last)?);
                    Some(last / first.max(f64::MIN_POSITIVE))
                };
                let (vll, locks) = (share(VLL)?, share(TWO_PHASE)?);
                let evidence = format!("({panel}) {vll:.2} and {locks:.2} times");
                Some(Finding { holds: vll.max(locks) < 1.0 - TOLERANCE, evidence })
            };
            all(["a", "b", "c", "d"].map(falls))
        },
        weaker: None,
        otherwise: "With few threads there is little to lose: if all transactions conflict, one still runs at a time, \
                    and a short one gains what it loses by finding the hot record in its core's cache.",
    },
    Claim {
        text: "Where deadlocks are possible 2PL loses more at high contention.",
        criterion: "At the last point, 2PL has a smaller share of no locking's throughput in (b) than in (a), and in \
                    (d) than in (c).",
        judge: |results| {
            let more = |without: &str, with: &str| {
                let lost = |panel| overhead(results, panel, TWO_PHASE, At::Last);
                let (few, many) = (lost(without)?, lost(with)?);
                let evidence = format!("it loses {few:.0} % in ({without}) and {many:.0} % in ({with})");
                Some(Finding { holds: many > few, evidence })
            };
            all([more("a", "b"), more("c", "d")])
        },
        weaker: None,
        otherwise: "If all transactions conflict, they run one after the other with one hot record as with two; the \
                    transaction that a deadlock costs has only just begun, because hot records come first.",
    },
];

/// Decides whether VLL loses at most `percent` per cent of the throughput without locking at the first point.
fn costs_at_most(results: &Results, panel: &str, percent: f64) -> Option<Finding> {
    let overhead = overhead(results, panel, VLL, At::First)?;
    Some(Finding { holds: overhead <= percent, evidence: format!("({panel}) VLL loses {overhead:.1} %") })
}

/// Decides whether SCA makes VLL at least `least` times as fast at some point of the long transactions, and gains less
/// for the short ones.
fn sca_gains(results: &Results, least: f64) -> Option<Finding> {
    let (long, short) = (greatest_ratio(results, "a", SCA, VLL)?, greatest_ratio(results, "c", SCA, VLL)?);
    let evidence = format!("at its best, SCA is {long:.2} times VLL in (a), {short:.2} times in (c)");
    Some(Finding { holds: long >= least && short < long, evidence })
}

/// Decides whether 2PL in one critical section has at most the share `most` of VLL's throughput at the first point, and
/// keeps at least the share `steady` of its own throughput at the last.
fn one_section_is_poor(results: &Results, most: f64, steady: f64) -> Option<Finding> {
    let ratio = results.ratio("c", At::First, ATOMIC, VLL)?;
    let (first, last) = (results.median("c", ATOMIC, At::First)?, results.median("c", ATOMIC, At::Last)?);
    let share = last / first.max(f64::MIN_POSITIVE);
    let evidence = format!("it is {ratio:.2} times VLL, and at the last point {share:.2} times its first");
    Some(Finding { holds: ratio <= most && share >= steady, evidence })
}

/// Decides whether VLL's share of the throughput without locking is at least `least` times as large in the panels where
/// 2PL may deadlock as in those where it cannot.
fn untouched(results: &Results, least: f64) -> Option<Finding> {
    let untouched = |without: &str, with: &str| {
        let share = |panel: &str| results.ratio(panel, At::Last, VLL, NOTHING);
        let ratio = share(with)? / share(without)?.max(f64::MIN_POSITIVE);
        let evidence = format!("VLL's share in ({with}) is {ratio:.2} times that in ({without})");
        Some(Finding { holds: ratio >= least, evidence })
    };
    all([untouched("a", "b"), untouched("c", "d")])
}

/// Lets `judge` decide by how much 2PL loses at the first point, in per cent of the throughput without locking: with
/// long and with short transactions.
fn two_phase_costs(results: &Results, judge: impl Fn(f64, f64) -> bool) -> Option<Finding> {
    let (long, short) = (overhead(results, "a", TWO_PHASE, At::First)?, overhead(results, "c", TWO_PHASE, At::First)?);
    let evidence = format!("2PL loses {long:.0} % of the long and {short:.0} % of the short transactions");
    Some(Finding { holds: judge(long, short), evidence })
}

/// Returns by how much a series is slower than a series without locking, in per cent.
fn overhead(results: &Results, panel: &str, series: &str, at: At) -> Option<f64> {
    Some((1.0 - results.ratio(panel, at, series, NOTHING)?) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| {
            let bubble = 1.0 + 2.0 * made.way * (1.0 - made.way);
            let short = 1.0 + 0.1 * made.way * (1.0 - made.way);
            match (made.panel, made.series) {
                (_, NOTHING) => 100.0,
                ("a" | "b", VLL) => 98.6 - 70.0 * made.way,
                ("a" | "b", SCA) => (98.6 - 70.0 * made.way) * bubble,
                ("a", TWO_PHASE) => 77.0 - 50.0 * made.way,
                ("b", TWO_PHASE) => 78.0 - 55.0 * made.way,
                ("e", VLL | SCA) => 98.0 - 60.0 * made.way,
                (_, VLL) => 90.0 - 60.0 * made.way,
                (_, SCA) => (90.0 - 60.0 * made.way) * short,
                ("c", TWO_PHASE) => 56.0 - 30.0 * made.way,
                (_, ATOMIC) => 20.0,
                _ => 57.0 - 40.0 * made.way,
            }
        };
        check(&FIGURE, paper, &[true; 10]);
        let other = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            (_, NOTHING) => 100.0,
            ("a", VLL) => 80.0,
            ("a", SCA) => 70.0,
            ("c", VLL) => 70.0,
            ("c", SCA) => 75.0,
            (_, VLL) => 60.0,
            ("a" | "b", TWO_PHASE) => 80.0,
            _ => 90.0,
        };
        check(&FIGURE, other, &[false; 10]);
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

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            (_, NOTHING) => 100.0,
            ("a" | "e", VLL) => 96.0,
            ("a", SCA) => 120.0,
            ("b", VLL) => 86.4,
            ("c", VLL | SCA) => 80.0,
            ("d", VLL) => 72.0,
            ("a", TWO_PHASE) => 95.0,
            ("c", TWO_PHASE) => 90.0,
            _ => 70.0,
        };
        check_weaker(&FIGURE, less, &[true; 5]);
        let other = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            (_, NOTHING) => 100.0,
            ("a", VLL) => 80.0,
            ("c", VLL) => 70.0,
            ("a" | "c", SCA) => 75.0,
            (_, VLL) => 60.0,
            ("a", TWO_PHASE) => 80.0,
            _ => 90.0,
        };
        check_weaker(&FIGURE, other, &[false; 5]);
    }
}
