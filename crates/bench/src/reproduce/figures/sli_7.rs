//! SLI, Fig. 7: the throughput as the load grows, without lock inheritance.

use super::sli::{HIER, PAYMENT, SLI_PAPER, TATP_MIX, TPCB, tatp, tpcb, tpcc};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point, Series};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "sli-7",
    paper: &SLI_PAPER,
    place: "Fig. 7, §6.1",
    title: "Throughput of TATP, TPC-B and Payment as threads are added",
    there: "The TATP (NDBB) mix, TPC-B and TPC-C's Payment in Shore-MT without inheritance, from a machine that is \
            nearly idle to one whose 64 hardware threads are all busy.",
    here: "The hierarchy of locks without inheritance. Load is the number of threads, up to four for each core; the \
           paper gives its program a part of the machine. In full, TATP has as many subscribers as there; TPC-B and \
           TPC-C always have fewer branches and warehouses.",
    plan,
    claims: &CLAIMS,
};

const THROUGHPUT: &str = "without inheritance";

/// The panels: the letter and the title of each.
const PANELS: [(&str, &str); 3] = [("a", TATP_MIX), ("b", TPCB), ("c", PAYMENT)];
const IDS: [&str; 3] = [PANELS[0].0, PANELS[1].0, PANELS[2].0];

fn plan(scale: &Scale) -> Plan {
    let rows = [tatp(scale), tpcb(scale), tpcc(scale).to_owned()];
    let mixes = ["--mix standard ", "", "--mix payment "];
    let panel = |(((id, title), rows), mix): (((&'static str, &str), String), &str)| {
        let point = |threads| Point::at(threads, &rows, format!("{mix}--threads {threads}"));
        Panel {
            id,
            title: title.to_owned(),
            points: scale.thread_counts().into_iter().map(point).collect(),
            series: vec![Series::throughput(THROUGHPUT, HIER)],
        }
    };
    Plan {
        chart: Chart::Curves { x: "threads" },
        value: "thousand txn/s",
        stretch: 1,
        panels: PANELS.into_iter().zip(rows).zip(mixes).map(panel).collect(),
    }
}

static CLAIMS: [Claim; 2] = [
    Claim {
        text: "As long as few threads run, throughput grows nearly in proportion to them.",
        criterion: "In every panel, the throughput with a thread on each core is at least 0.8 times that of one \
                    thread, multiplied by the cores. What is nearly in proportion is ours.",
        judge: |results| all(IDS.map(|panel| grows(results, panel, 0.8))),
        weaker: Some(Weaker {
            criterion: "It is at least 0.6 times as much.",
            judge: |results| all(IDS.map(|panel| grows(results, panel, 0.6))),
        }),
        otherwise: "The cores of a virtual machine may be hardware threads of one core. Cache lines that all \
                    transactions write, the latches of the database's and the tables' locks among them, cost more as \
                    soon as a second core wants them.",
    },
    Claim {
        text: "Under heavy load the lock manager makes throughput fall as more threads are added.",
        criterion: "In every panel, the most threads have at least 5 % less throughput than the best number of \
                    threads.",
        judge: |results| all(IDS.map(|panel| falls(results, panel))),
        weaker: Some(Weaker { criterion: "So it is in the TATP mix.", judge: |results| falls(results, IDS[0]) }),
        otherwise: "Throughput falls there because threads that run at once spin for one latch. Threads beyond the \
                    number of cores take turns and do not spin for each other.",
    },
];

/// Decides whether throughput with a thread on each core is at least `least` times that of one thread multiplied by the
/// cores.
fn grows(results: &Results, panel: &str, least: f64) -> Option<Finding> {
    let cores = results.cores() as f64;
    let alone = results.median(panel, THROUGHPUT, At::First)?;
    let together = results.median(panel, THROUGHPUT, results.point_at(panel, cores)?)?;
    let ratio = together / (alone * cores).max(f64::MIN_POSITIVE);
    let evidence = format!("({panel}) {ratio:.2} times in proportion");
    Some(Finding { holds: ratio >= least, evidence })
}

/// Decides whether the most threads have less throughput than the best number.
fn falls(results: &Results, panel: &str) -> Option<Finding> {
    let at = |number| results.median(panel, THROUGHPUT, At::Number(number));
    let all: Vec<f64> = (0..results.points(panel)).map(at).collect::<Option<_>>()?;
    let (best, last) = (all.iter().copied().reduce(f64::max)?, all.last().copied()?);
    let ratio = last / best.max(f64::MIN_POSITIVE);
    let evidence = format!("({panel}) the most threads have {ratio:.2} times the best throughput");
    Some(Finding { holds: ratio <= 1.0 - TOLERANCE, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        // The points are 1, 2, 4 and 8 threads.
        let curve = |made: MadeUpPoint<'_>, values: [f64; 4]| values[(made.way * 3.0).round() as usize];
        check(&FIGURE, |made| curve(made, [100.0, 190.0, 180.0, 150.0]), &[true, true]);
        check(&FIGURE, |made| curve(made, [100.0, 150.0, 150.0, 149.0]), &[false, false]);
        // One panel alone that is not as in the paper refutes a claim about all.
        let last = |made: MadeUpPoint<'_>| match made.panel {
            "c" => curve(made, [100.0, 110.0, 120.0, 130.0]),
            _ => curve(made, [100.0, 190.0, 180.0, 150.0]),
        };
        check(&FIGURE, last, &[false, false]);
        check_weaker(&FIGURE, last, &[false, true]);
        check_weaker(&FIGURE, |made| curve(made, [100.0, 130.0, 130.0, 130.0]), &[true, false]);
    }
}
