//! VLL, Fig. 15: a lock on a range against a lock on each of its records.

use super::vll::{BLOCKS, RANGES, VLL, VLL_PAPER};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, all, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "vll-15",
    paper: &VLL_PAPER,
    place: "Fig. 15, §3.4.2",
    title: "A lock on a range, or one on each of its records, by the length of the range",
    there: "Each transaction locks one range of 16-bit keys, whose ends have from 16 down to 7 bits in common, so that \
            it has 1 to 256 records on average; short transactions (a) and long ones (b). One thread.",
    here: "The same, exclusively; a long transaction computes for ten microseconds. Basic VLL has its counters before \
           the bytes of records of a cache line, which lie in the order of their keys: it pays for no look-up. VLLR is \
           the paper's, with four counters for each prefix; beside it there is ours, which counts once for six levels \
           of prefixes.",
    plan,
    claims: &CLAIMS,
};

/// The number of bits of a key.
const KEY_BITS: u32 = 16;

fn plan(scale: &Scale) -> Plan {
    let common: &[u32] = scale.pick(&[16, 15, 14, 13, 12, 11, 10, 9, 8, 7], &[16, 11, 8, 7], &[16, 11, 7]);
    let panel = |id, length: &str| {
        let point = |&common: &u32| {
            let options = format!("--threads 1 --key-bits {KEY_BITS} --{length} --prefix-bits {common}");
            Point::at(average_length(common), "range", options)
        };
        Panel {
            id,
            title: format!("{length} transactions"),
            points: common.iter().map(point).collect(),
            series: vec![
                Series::throughput(RANGES, "vllr"),
                Series::throughput(BLOCKS, "vllr-blocks"),
                Series::throughput(VLL, "records"),
            ],
        }
    };
    Plan {
        chart: Chart::Curves { x: "records of a range" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![panel("a", "short"), panel("b", "long")],
    }
}

/// Returns the average number of records of a range whose ends have `common` bits in common. One end is anywhere in the
/// lower half of the records with these bits, the other anywhere in the upper half.
fn average_length(common: u32) -> u64 {
    match KEY_BITS - common {
        0 => 1,
        free => (1 << (free - 1)) + 1,
    }
}

static CLAIMS: [Claim; 3] = [
    Claim {
        text: "A single record is cheaper to lock by itself: VLLR has all prefixes to count.",
        criterion: "At the first point of (a), basic VLL is at least 1.05 times VLLR.",
        judge: |results| leads(results, "a", only(At::First), VLL, &[RANGES], 1.0 + TOLERANCE),
        weaker: None,
        otherwise: "VLLR's counters of 17 prefixes are in the cache, where those of 65,536 records are not all.",
    },
    Claim {
        text: "From some length on VLLR is faster, and the more so the longer the range is.",
        criterion: "In (a) there is a point before the last from which on VLLR is at least 1.05 times basic VLL; at \
                    the last point of (b) it is ahead too.",
        judge: |results| {
            let from = crossing(results, "a");
            let crossing = Some(Finding {
                holds: from.is_some_and(|from| from + 1 < results.points("a")),
                evidence: match from {
                    Some(from) => format!("(a) VLLR leads from {} records on", results.label("a", At::Number(from))),
                    None => "(a) VLLR leads from no length on".to_owned(),
                },
            });
            all([
                crossing,
                leads(results, "a", only(At::Last), RANGES, &[VLL], 1.0 + TOLERANCE),
                leads(results, "b", only(At::Last), RANGES, &[VLL], 1.0),
            ])
        },
        weaker: None,
        otherwise: "Counters of neighbouring records are quick to count through.",
    },
    Claim {
        text: "The difference is more pronounced for short transactions, of whose time locks are a larger part.",
        criterion: "At the last point the ratio of VLLR to basic VLL is greater in (a) than in (b).",
        judge: |results| {
            let ratio = |panel| results.ratio(panel, At::Last, RANGES, VLL);
            let (short, long) = (ratio("a")?, ratio("b")?);
            let evidence = format!("at the longest ranges VLLR is {short:.2} times basic VLL in (a), {long:.2} in (b)");
            Some(Finding { holds: short > long, evidence })
        },
        weaker: None,
        otherwise: "Ten microseconds of computation are most of a long transaction under either.",
    },
];

/// Returns the first point from which on VLLR leads at all points.
fn crossing(results: &Results, panel: &str) -> Option<usize> {
    let leads = |&point: &usize| {
        results.ratio(panel, At::Number(point), RANGES, VLL).is_some_and(|ratio| ratio >= 1.0 + TOLERANCE)
    };
    (0..results.points(panel)).rev().take_while(leads).last()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::check;

    #[test]
    fn lengths_are_averages() {
        let found: Vec<_> = (7..=16).rev().map(average_length).collect();
        assert_eq!(found, [1, 2, 3, 5, 9, 17, 33, 65, 129, 257]);
    }

    #[test]
    fn claims_are_judged_as_they_read() {
        // The quick figure has four points.
        for (short_lead_from, last_of_long, expected) in [
            (0.5, 12.0, [true, true, true]),
            (1.0, 12.0, [true, false, true]),
            (2.0, 12.0, [true, false, false]),
            (0.0, 12.0, [false, true, true]),
            (0.5, 9.0, [true, false, true]),
            (0.5, 40.0, [true, true, false]),
        ] {
            let value = |panel: &str, series: &str, way: f64| match (panel, series) {
                (_, VLL) => 10.0,
                ("a", _) if way >= short_lead_from => 20.0,
                ("a", _) => 5.0,
                (_, _) if way == 1.0 => last_of_long,
                _ => 10.0,
            };
            check(&FIGURE, |made| value(made.panel, made.series, made.way), &expected);
        }
    }
}
