//! Hekaton, Fig. 8: updates beside long readers.

use super::hekaton::{
    HEKATON, SINGLE, VERSIONED, crowds, labelled, large, readers, schemes_by_kind, short, versions_lead,
};
use crate::reproduce::claim::{Claim, Finding, Weaker, all, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;
use hotrow_txn::number_of;

pub(super) static FIGURE: Figure = Figure {
    id: "hekaton-8",
    paper: &HEKATON,
    place: "Fig. 8, §5.2.2",
    title: "Updates beside long readers",
    there: "On 24 threads, some run transactions that read a tenth of ten million rows, serializable, one after the \
            other; the others run the updates of Fig. 4 at read committed.",
    here: "The same, with a thread on each core (a) and four on each (b). A long reader reads one tenth from its first \
           key to its last, and checks its sum. Runs are twice as long as elsewhere.",
    plan: |scale| plan(scale, "update", 1000, "thousand updates per second", 0),
    claims: &CLAIMS,
};

/// Returns a plan that measures one kind of transactions, counted in `unit`, beside `least_readers` and more long
/// readers.
pub(super) fn plan(scale: &Scale, kind: &'static str, unit: u32, value: &'static str, least_readers: u64) -> Plan {
    let rows = large(scale);
    let panel = |(id, threads)| {
        let point = |readers: u64| {
            let options = format!("{} --long-readers {readers}", short(threads));
            Point::at(readers, &rows, options)
        };
        let readers = readers(scale, threads).into_iter().filter(|&readers| readers >= least_readers);
        Panel {
            id,
            title: number_of(threads, "thread"),
            points: readers.map(point).collect(),
            series: schemes_by_kind(kind, unit),
        }
    };
    Plan {
        chart: Chart::Curves { x: "long readers" },
        value,
        stretch: scale.pick(2, 1, 1),
        panels: crowds(scale).map(panel).into(),
    }
}

/// The first point with a long reader.
const ONE: At = At::Number(1);

static CLAIMS: [Claim; 4] = [
    Claim {
        text: "A single long reader takes three quarters of its update throughput from 1V.",
        criterion: "In (b), 1V has with one long reader at most 0.25 times as many updates for each other thread as \
                    without.",
        judge: |results| single_keeps_at_most(results, 0.25),
        weaker: Some(Weaker {
            criterion: "It has at most 0.50 times as many.",
            judge: |results| single_keeps_at_most(results, 0.5),
        }),
        otherwise: "A lock covers one row in so many that a long reader holds a tenth of them only at its end; and a \
                    wait that takes too long ends one of the two.",
    },
    Claim {
        text: "The schemes with versions lose 5 %, no more than the thread that reads.",
        criterion: "In (b), MV/L and MV/O both have with one long reader at least 0.99 times as many updates for each \
                    other thread as without, and in (a), if a thread is left.",
        judge: |results| versioned_keep(results, 0.99),
        weaker: Some(Weaker {
            criterion: "They have at least 0.90 times as many.",
            judge: |results| versioned_keep(results, 0.9),
        }),
        otherwise: "The reader wants the same caches and the same memory bandwidth.",
    },
    Claim {
        text: "So with a single long reader the schemes with versions are twice as fast as 1V.",
        criterion: "In (b), with one long reader, MV/L and MV/O are both at least 2.00 times 1V.",
        judge: |results| versions_lead(results, "b", only(ONE), 2.0),
        weaker: None,
        otherwise: "1V has to be held up to fall behind.",
    },
    Claim {
        text: "The gap grows with more long readers, to 80 times when half of the threads are.",
        criterion: "In (b), with half of the threads, MV/L and MV/O are both at least 80.00 times 1V.",
        judge: |results| lead_at_half(results, 80.0),
        weaker: Some(Weaker {
            criterion: "They are at least 10.00 times 1V.",
            judge: |results| lead_at_half(results, 10.0),
        }),
        otherwise: "1V has to be held up to fall behind.",
    },
];

/// Decides whether 1V keeps at most the share `most` of its updates beside one long reader.
fn single_keeps_at_most(results: &Results, most: f64) -> Option<Finding> {
    let (share, evidence) = kept(results, "b", SINGLE)?;
    Some(Finding { holds: share <= most, evidence })
}

/// Decides whether the schemes with versions keep at least the share `least` of their updates beside one long reader.
fn versioned_keep(results: &Results, least: f64) -> Option<Finding> {
    let keep = |panel, name| {
        let (share, evidence) = kept(results, panel, name)?;
        Some(Finding { holds: share >= least, evidence })
    };
    let alone = results.points("a") < 3;
    let panels = if alone { ["b", "b"] } else { ["a", "b"] };
    all(panels.map(|panel| all(VERSIONED.map(|name| keep(panel, name)))))
}

/// Decides whether the schemes with versions have at least `least` times the throughput of 1V when half of the threads
/// are long readers.
fn lead_at_half(results: &Results, least: f64) -> Option<Finding> {
    let half = results.label("b", At::Last).parse::<u64>().ok()? / 2;
    versions_lead(results, "b", only(labelled(results, "b", &half.to_string())?), least)
}

/// Returns how many of its updates a scheme keeps beside one long reader, as a share, and the same in words. The
/// updates are counted for each thread that is left, so that the loss of one thread does not count.
fn kept(results: &Results, panel: &str, name: &str) -> Option<(f64, String)> {
    let (without, with) = (results.median(panel, name, At::First)?, results.median(panel, name, ONE)?);
    let threads: f64 = results.label(panel, At::Last).parse().ok()?;
    let share = with / (without * (threads - 1.0) / threads).max(f64::MIN_POSITIVE);
    let evidence = format!("({panel}) {name} keeps {share:.2} of its updates on each of {:.0} threads", threads - 1.0);
    Some((share, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let readers = |made: MadeUpPoint<'_>| made.label.parse::<f64>().expect("a number of readers");
        let threads = |made: MadeUpPoint<'_>| if made.panel == "a" { 2.0 } else { 8.0 };
        let paper = |made: MadeUpPoint<'_>| match (made.series, readers(made)) {
            (SINGLE, 0.0) => 20.0,
            (SINGLE, readers) => 3.9 / readers.powi(3),
            (_, readers) => 10.0 * (1.0 - readers / threads(made)),
        };
        check(&FIGURE, paper, &[true; 4]);
        let other = |made: MadeUpPoint<'_>| match (made.series, readers(made)) {
            (SINGLE, readers) => 20.0 * (1.0 - readers / threads(made)),
            (_, 0.0) => 10.0,
            _ => 2.0,
        };
        check(&FIGURE, other, &[false; 4]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| {
            let readers = made.label.parse::<f64>().expect("a number of readers");
            let threads = if made.panel == "a" { 2.0 } else { 8.0 };
            match (made.series, readers) {
                (SINGLE, 0.0) => 20.0,
                (SINGLE, readers) => 7.0 / readers.powi(2),
                (_, 0.0) => 10.0,
                (_, readers) => 9.5 * (1.0 - readers / threads),
            }
        };
        check_weaker(&FIGURE, less, &[true; 3]);
        let other = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (SINGLE, _) => 20.0,
            (_, "0") => 10.0,
            _ => 2.0,
        };
        check_weaker(&FIGURE, other, &[false; 3]);
    }
}
