//! Hekaton, Fig. 6: short read-only transactions beside updates, on a large table.

use super::hekaton::{HEKATON, LOCKING, OPTIMISTIC, gains, large, schemes, short, versions_lead};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::At;
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "hekaton-6",
    paper: &HEKATON,
    place: "Fig. 6, §5.2.1",
    title: "Short transactions that only read beside updates, on a large table",
    there: "Updates as in Fig. 4 beside transactions that only read ten rows, on 24 threads, at read committed.",
    here: "The same, with a thread on each core.",
    plan,
    claims: &CLAIMS,
};

fn plan(scale: &Scale) -> Plan {
    let rows = large(scale);
    let shares: &[u64] = scale.pick(&[0, 20, 40, 60, 80, 100], &[0, 80, 100], &[0, 100]);
    let points = shares.iter().map(|&share| reading(share, &rows, scale.cores)).collect();
    Plan {
        chart: Chart::Curves { x: "read-only transactions, %" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![Panel { id: "a", title: "low contention".to_owned(), points, series: schemes() }],
    }
}

/// Returns the point at which this percentage of the transactions only reads.
pub(super) fn reading(percent: u64, rows: &str, threads: u64) -> Point {
    Point::at(percent, rows, format!("{} --read-only-share {}", short(threads), percent as f64 / 100.0))
}

static CLAIMS: [Claim; 3] = [
    Claim {
        text: "The gap closes as more transactions only read: there is less garbage to collect.",
        criterion: "MV/L and MV/O are both a greater multiple of 1V at the last point than at the first.",
        judge: |results| gains(results, "a", At::First, At::Last),
        weaker: None,
        otherwise: "What an update costs more with versions has to be gone when there are none.",
    },
    Claim {
        text: "The schemes with versions are ahead of 1V when most transactions only read: they take no locks, not \
               even short ones.",
        criterion: "At the last point, MV/L and MV/O are both at least 1.05 times 1V.",
        judge: |results| versions_lead(results, "a", only(At::Last), 1.0 + TOLERANCE),
        weaker: None,
        otherwise: "A short lock is one write to a word that is in the cache; and to find a version takes as many \
                    misses as to find a row, or more.",
    },
    Claim {
        text: "When all transactions only read, MV/L and MV/O are the same.",
        criterion: "At the last point they are within 5 % of each other.",
        judge: |results| {
            let ratio = results.ratio("a", At::Last, LOCKING, OPTIMISTIC)?;
            let evidence = format!("(a) MV/L is {ratio:.2} times MV/O at the last point");
            Some(Finding { holds: (ratio - 1.0).abs() <= TOLERANCE, evidence })
        },
        weaker: None,
        otherwise: "Nothing else runs then but the same code.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::check;
    use crate::reproduce::figures::hekaton::SINGLE;
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match made.series {
            SINGLE => 20.0 + 10.0 * made.way,
            OPTIMISTIC => 13.0 + 20.0 * made.way,
            _ => 9.0 + 24.0 * made.way,
        };
        check(&FIGURE, paper, &[true; 3]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            SINGLE => 20.0 + 10.0 * made.way,
            OPTIMISTIC => 13.0,
            _ => 9.0,
        };
        check(&FIGURE, other, &[false; 3]);
    }
}
