//! SLI, Fig. 11: what lock inheritance gains.

use super::sli::{ALL_HOT, AS_PRINTED, HIER, SHORT, SLI, SLI_PAPER, STOCK_LEVEL, WITH_MOMENTUM, bar, bars};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, everywhere, leads};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Plan, Series};
use crate::reproduce::results::{Results, median};
use crate::reproduce::scale::Scale;
use hotrow_txn::number_of;

pub(super) static FIGURE: Figure = Figure {
    id: "sli-11",
    paper: &SLI_PAPER,
    place: "Fig. 11, §7.2",
    title: "The throughput of these transactions with lock inheritance, over that without",
    there: "Shore-MT with inheritance over the same without, each at the number of hardware threads, of 64, at which \
            it has the most throughput.",
    here: "The hierarchy of locks with inheritance over the same without, with a thread on each core. Since few \
           threads seldom make a lock hot, there is inheritance of every lock besides, hot or not, to compare with; and \
           inheritance with the momentum of section 4.4, by which a lock is kept for 16 transactions that do not use it.",
    plan,
    claims: &CLAIMS,
};

const WITHOUT: &str = "without inheritance";
const WITH: &str = "with inheritance";
const OF_ALL: &str = "of every lock";
const WITH_IT: &str = "with momentum";

/// The panel, which has the paper's conditions as far as possible.
const LOADED: &str = "a";

/// The gain of which the paper speaks, at the least.
const LEAST: f64 = 1.10;

fn plan(scale: &Scale) -> Plan {
    let title = format!("{}, one on each core", number_of(scale.cores, "thread"));
    let series = vec![
        Series::reference(WITHOUT, HIER),
        Series::throughput(WITH, SLI).with(AS_PRINTED),
        Series::reference(OF_ALL, SLI).with(ALL_HOT),
        Series::reference(WITH_IT, SLI).with(WITH_MOMENTUM),
    ];
    Plan {
        chart: Chart::Ratios { x: "transaction" },
        value: "thousand txn/s",
        stretch: 1,
        panels: vec![bars(scale, LOADED, title, scale.cores, series)],
    }
}

static CLAIMS: [Claim; 3] = [
    Claim {
        text: "Inheritance gains 10 to 40 % of throughput on short transactions.",
        criterion: "It gains at least 10 % in each transaction and mix of TATP and in TPC-B.",
        judge: |results| {
            let ratios = short_ratios(results)?;
            let (least, most) = (ratios.iter().copied().reduce(f64::min)?, ratios.iter().copied().reduce(f64::max)?);
            let evidence = format!("the ratios of short transactions are {least:.2} to {most:.2}");
            Some(Finding { holds: least >= LEAST, evidence })
        },
        weaker: Some(Weaker {
            criterion: "It gains at least 5 % in the median of these.",
            judge: |results| {
                let ratio = median(&short_ratios(results)?)?;
                let evidence = format!("the median ratio of short transactions is {ratio:.2}");
                Some(Finding { holds: ratio >= 1.0 + TOLERANCE, evidence })
            },
        }),
        otherwise: "The gain there is the contention that goes away, of 64 hardware threads that run at once. The \
                    paper found that calls of the lock manager which are saved gain less than 4 %. Few cores have \
                    little contention to lose.",
    },
    Claim {
        text: "Inheritance never costs throughput.",
        criterion: "In every bar, it has at least 0.95 times the throughput of no inheritance.",
        judge: |results| leads(results, LOADED, everywhere(results, LOADED), WITH, &[WITHOUT], 1.0 - TOLERANCE),
        weaker: Some(Weaker {
            criterion: "It has at least 0.90 times that throughput in every bar.",
            judge: |results| leads(results, LOADED, everywhere(results, LOADED), WITH, &[WITHOUT], 0.90),
        }),
        otherwise: "A transaction of a microsecond notices each reading of a lock's heat. Throughputs on a shared \
                    machine vary by some per cent, and one of many bars may be lower by chance.",
    },
    Claim {
        text: "The largest transactions gain little or nothing.",
        criterion: "Stock Level has at most 1.05 times the throughput of no inheritance.",
        judge: |results| {
            let ratio = results.ratio(LOADED, bar(results, STOCK_LEVEL)?, WITH, WITHOUT)?;
            let evidence = format!("Stock Level has {ratio:.2} times the throughput");
            Some(Finding { holds: ratio <= 1.0 + TOLERANCE, evidence })
        },
        weaker: None,
        otherwise: "Stock Level has few locks of high levels and many of rows. A gain would not come from inheritance.",
    },
];

/// Returns the ratio of throughputs for each short transaction and mix that was measured.
fn short_ratios(results: &Results) -> Option<Vec<f64>> {
    let measured = SHORT.iter().filter_map(|label| bar(results, label));
    measured.map(|at| results.ratio(LOADED, at, WITH, WITHOUT)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn bars_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (WITH, label) if SHORT.contains(&label) => 125.0,
            (WITH, _) => 101.0,
            _ => 100.0,
        };
        check(&FIGURE, paper, &[true; 3]);
        let other = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (WITH, STOCK_LEVEL) => 120.0,
            (WITH, _) => 89.0,
            _ => 100.0,
        };
        check(&FIGURE, other, &[false; 3]);
        check_weaker(&FIGURE, other, &[false; 2]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (WITH, "updateLoc") => 92.0,
            (WITH, label) if SHORT.contains(&label) => 107.0,
            _ => 100.0,
        };
        check(&FIGURE, less, &[false, false, true]);
        check_weaker(&FIGURE, less, &[true; 2]);
    }
}
