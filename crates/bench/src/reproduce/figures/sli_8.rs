//! SLI, Fig. 8: the locks of transactions, by level, heat and heritability.

use super::sli::{HIER, SLI_PAPER, STOCK_LEVEL, TATP_MIX, at_most, bar, bars, sum_at};
use crate::reproduce::claim::{Claim, Finding, Weaker};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Plan, Series};
use crate::reproduce::results::Results;
use crate::reproduce::scale::Scale;
use hotrow_txn::number_of;

pub(super) static FIGURE: Figure = Figure {
    id: "sli-8",
    paper: &SLI_PAPER,
    place: "Fig. 8, §6.2",
    title: "Which locks transactions take: of rows or higher, hot, heritable",
    there: "The locks of Shore-MT's transactions, counted under load on 64 hardware threads, with the average number \
            of locks of a transaction. Hot is a lock whose latch is contended; heritable is a lock of a page or \
            higher, in a shared mode, for which nobody waits.",
    here: "The same counts of a hierarchy of locks without inheritance, with a thread on each core. A lock is hot if \
           enough of the last requests for it met contention for its latch. A page is 2 MiB of a table's rows in \
           memory, so there are few pages. A lock is hot when it is granted and heritable when it is given up; locks \
           that are hot and not heritable are taken to be of high levels first.",
    plan,
    claims: &CLAIMS,
};

const HOT_HERITABLE: &str = "hot, heritable";
const COLD_HERITABLE: &str = "cold, heritable";
const HOT_ONLY: &str = "hot, not heritable";
const HIGH_LEVEL: &str = "other high-level";
const ROW: &str = "of rows";

/// The panel, which has the paper's conditions as far as possible.
const LOADED: &str = "a";

fn plan(scale: &Scale) -> Plan {
    let part = |name, part| Series::locks(name, HIER, part);
    let parts = vec![
        part(HOT_HERITABLE, "hot_heritable"),
        part(COLD_HERITABLE, "cold_heritable"),
        part(HOT_ONLY, "hot_only"),
        part(HIGH_LEVEL, "high_level"),
        part(ROW, "row"),
    ];
    let title = format!("{}, one on each core", number_of(scale.cores, "thread"));
    Plan {
        chart: Chart::LockBars { x: "transaction" },
        value: "per cent of a transaction's locks",
        stretch: 1,
        panels: vec![bars(scale, LOADED, title, scale.cores, parts)],
    }
}

static CLAIMS: [Claim; 3] = [
    Claim {
        text: "Most locks of the smallest transactions are heritable, and many are hot.",
        criterion: "Of the TATP mix's locks more than 50 % are heritable, and at least 25 % are hot. What is many is \
                    ours.",
        judge: |results| {
            let heritable = of(results, &[HOT_HERITABLE, COLD_HERITABLE], TATP_MIX)?;
            let hot = of(results, &[HOT_HERITABLE, HOT_ONLY], TATP_MIX)?;
            let evidence = format!("{heritable:.0} % of the TATP mix's locks are heritable, {hot:.1} % hot");
            Some(Finding { holds: heritable > 50.0 && hot >= 25.0, evidence })
        },
        weaker: Some(Weaker {
            criterion: "More than 50 % are heritable.",
            judge: |results| {
                let heritable = of(results, &[HOT_HERITABLE, COLD_HERITABLE], TATP_MIX)?;
                let evidence = format!("{heritable:.0} % of the TATP mix's locks are heritable");
                Some(Finding { holds: heritable > 50.0, evidence })
            },
        }),
        otherwise: "Locks are heritable by what they are, and hot by how many threads want them at once. Few threads \
                    seldom meet at a latch.",
    },
    Claim {
        text: "The more locks a transaction takes, the smaller the part of hot and heritable ones.",
        criterion: "The part of hot and heritable locks is larger in the TATP mix than in Stock Level.",
        judge: |results| {
            let part = |label| of(results, &[HOT_HERITABLE], label);
            let (small, large) = (part(TATP_MIX)?, part(STOCK_LEVEL)?);
            let evidence = format!("{small:.1} % of the TATP mix's locks, {large:.1} % of Stock Level's");
            Some(Finding { holds: small > large, evidence })
        },
        weaker: Some(Weaker {
            criterion: "The part of heritable locks, hot or cold, is larger in the TATP mix than in Stock Level.",
            judge: |results| {
                let part = |label| of(results, &[HOT_HERITABLE, COLD_HERITABLE], label);
                let (small, large) = (part(TATP_MIX)?, part(STOCK_LEVEL)?);
                let evidence = format!("{small:.1} % of the TATP mix's locks, {large:.1} % of Stock Level's");
                Some(Finding { holds: small > large, evidence })
            },
        }),
        otherwise: "If no lock is hot, the parts of hot locks cannot differ.",
    },
    Claim {
        text: "Hardly any lock is hot and not heritable.",
        criterion: "In every bar at most 5 % of the locks are hot and not heritable. What is hardly any is ours.",
        judge: |results| at_most(results, LOADED, &[HOT_ONLY], 5.0),
        weaker: None,
        otherwise: "TPC-C's warehouses are few rows that many transactions change. Their locks are exclusive, and \
                    their latches are contended.",
    },
];

/// Returns the sum of some parts in the bar with this label.
fn of(results: &Results, parts: &[&str], label: &str) -> Option<f64> {
    sum_at(results, LOADED, parts, bar(results, label)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn bars_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (HOT_HERITABLE, STOCK_LEVEL) => 1.0,
            (HOT_HERITABLE, _) => 40.0,
            (COLD_HERITABLE, _) => 30.0,
            (HOT_ONLY, _) => 1.0,
            _ => 10.0,
        };
        check(&FIGURE, paper, &[true; 3]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            HOT_HERITABLE | COLD_HERITABLE => 20.0,
            HOT_ONLY => 6.0,
            _ => 27.0,
        };
        check(&FIGURE, other, &[false; 3]);
        check_weaker(&FIGURE, other, &[false; 2]);
    }

    #[test]
    fn locks_that_are_heritable_and_cold_are_told_apart() {
        let cold = |made: MadeUpPoint<'_>| match (made.series, made.label) {
            (COLD_HERITABLE, STOCK_LEVEL) => 10.0,
            (COLD_HERITABLE, _) => 60.0,
            (ROW, _) => 40.0,
            _ => 0.0,
        };
        check(&FIGURE, cold, &[false, false, true]);
        check_weaker(&FIGURE, cold, &[true; 2]);
    }
}
