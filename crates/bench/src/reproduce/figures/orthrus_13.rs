//! ORTHRUS, Fig. 13: where in a transaction its hot updates are.

use super::orthrus::{
    DEADLOCK_FREE, DREADLOCKS, HANDLING, ORTHRUS_PAPER, WAIT_DIE, WAIT_FOR, policies, table_of_policies, ten_updates,
};
use crate::reproduce::claim::{Claim, Finding, TOLERANCE, Weaker, all, everywhere, leads, only};
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::{Chart, Panel, Plan, Point};
use crate::reproduce::results::{At, Results};
use crate::reproduce::scale::Scale;

pub(super) static FIGURE: Figure = Figure {
    id: "orthrus-13",
    paper: &ORTHRUS_PAPER,
    place: "Fig. 13, appendix B",
    title: "Deadlock policies by place and number of the hot updates",
    there: "Ten read-modify-writes on rows of 1,000 bytes, two (a, b, c) or one (d, e, f) of them on hot rows: before \
            the others (a, d), after them (b, e) or anywhere (c, f). 80 cores.",
    here: "The same transactions on a smaller table, with a thread on each core. The axis goes on to fewer hot rows \
           than the paper's 64, because few threads seldom meet on 64. ORTHRUS, which the paper leaves out of this \
           figure, is drawn for comparison.",
    plan,
    claims: &CLAIMS,
};

fn plan(scale: &Scale) -> Plan {
    let hot: &[u64] = scale.pick(&[4096, 1024, 256, 64, 32, 16, 8, 4], &[1024, 64, 4], &[64, 4]);
    let panel = |id, hot_ops: u64, position: &str| {
        let options = |hot| ten_updates(scale.cores, hot, hot_ops, position);
        let points = hot.iter().map(|&hot| Point::at(hot, &table_of_policies(scale), options(hot))).collect();
        let title = match (hot_ops, position) {
            (1, "random") => "1 hot update, anywhere".to_owned(),
            (1, position) => format!("1 hot update, {position}"),
            (number, "random") => format!("{number} hot updates, anywhere"),
            (number, position) => format!("{number} hot updates, {position}"),
        };
        Panel { id, title, points, series: policies() }
    };
    Plan {
        chart: Chart::Curves { x: "hot rows" },
        value: "thousand transactions per second",
        stretch: 1,
        panels: vec![
            panel("a", 2, "first"),
            panel("b", 2, "last"),
            panel("c", 2, "random"),
            panel("d", 1, "first"),
            panel("e", 1, "last"),
            panel("f", 1, "random"),
        ],
    }
}

static CLAIMS: [Claim; 6] = [
    Claim {
        text: "Hot updates first: deadlock-free locking beats every policy, with two hot updates by 2.2 times, with \
               one by 1.4.",
        criterion: "It is at least 1.00 times each other policy at every point of (a) and (d), and at the last point \
                    at least 2.20 times the best of them in (a) and 1.40 times in (d).",
        judge: |results| {
            let beats = |panel| leads(results, panel, everywhere(results, panel), DEADLOCK_FREE, &HANDLING, 1.0);
            let by = |panel, least| leads(results, panel, only(At::Last), DEADLOCK_FREE, &HANDLING, least);
            all([beats("a"), beats("d"), by("a", 2.2), by("d", 1.4)])
        },
        weaker: Some(Weaker {
            criterion: "It is at least 0.95 times each other policy at every point of (a) and (d), and its ratio to \
                        the best of them at the last point is larger in (a) than in (d).",
            judge: first_updates,
        }),
        otherwise: "With a few cores the policies abort little, and what remains is noise and the price of waiting.",
    },
    Claim {
        text: "Two hot updates first: wait-die beats detection at the highest contention, since deadlocks are \
               frequent.",
        criterion: "In (a), wait-die is at least 1.05 times the wait-for graph and Dreadlocks at the last point.",
        judge: |results| leads(results, "a", only(At::Last), WAIT_DIE, &[WAIT_FOR, DREADLOCKS], 1.0 + TOLERANCE),
        weaker: None,
        otherwise: "Detection here breaks a deadlock when its last wait begins; it costs one transaction, as \
                    wait-die's abort does, but only when there is a deadlock.",
    },
    Claim {
        text: "One hot update first: detection beats wait-die, since deadlocks are rare and its aborts are for \
               nothing.",
        criterion: "In (d), the wait-for graph and Dreadlocks are both at least 1.05 times wait-die at the last point.",
        judge: |results| detection_leads(results, "d"),
        weaker: None,
        otherwise: "A transaction whose first update is refused has done nothing that could be lost, and on two cores \
                    the other one goes on meanwhile: such an abort is nearly free.",
    },
    Claim {
        text: "Two hot updates last: 2PL holds hot rows only briefly and leads, until contention is highest.",
        criterion: "In (b), the best of the three policies is more than 1.00 times deadlock-free locking at the first \
                    point, and less than 1.00 times at the last.",
        judge: last_updates,
        weaker: None,
        otherwise: "Which of the two weighs more, short locks or no aborts, depends on how many transactions run at \
                    the same time; here that is never more than there are cores.",
    },
    Claim {
        text: "One hot update last is the best case of 2PL: Dreadlocks beat deadlock-free locking by 1.5 times, the \
               wait-for graph by 1.3.",
        criterion: "In (e), Dreadlocks are at least 1.50 times and the wait-for graph at least 1.30 times \
                    deadlock-free locking at the last point.",
        judge: |results| {
            let beats = |name, least| leads(results, "e", only(At::Last), name, &[DEADLOCK_FREE], least);
            all([beats(DREADLOCKS, 1.5), beats(WAIT_FOR, 1.3)])
        },
        weaker: Some(Weaker {
            criterion: "In (e), the wait-for graph and Dreadlocks are both at least 1.05 times deadlock-free locking \
                        at the last point.",
            judge: |results| {
                let beats = |name| leads(results, "e", only(At::Last), name, &[DEADLOCK_FREE], 1.0 + TOLERANCE);
                all([beats(WAIT_FOR), beats(DREADLOCKS)])
            },
        }),
        otherwise: "The paper's transactions hold a hot row while they look up nine others one after the other; ours \
                    look all ten up beforehand, so locks in key order are held for much less.",
    },
    Claim {
        text: "Hot updates anywhere: deadlock-free locking beats every policy.",
        criterion: "It is at least 1.00 times each other policy at every point of (c) and (f).",
        judge: |results| {
            let beats = |panel| leads(results, panel, everywhere(results, panel), DEADLOCK_FREE, &HANDLING, 1.0);
            all([beats("c"), beats("f")])
        },
        weaker: Some(Weaker {
            criterion: "It is at least 0.95 times each other policy at every point of (c) and (f).",
            judge: |results| {
                let beats = |panel| {
                    leads(results, panel, everywhere(results, panel), DEADLOCK_FREE, &HANDLING, 1.0 - TOLERANCE)
                };
                all([beats("c"), beats("f")])
            },
        }),
        otherwise: "Half of the time the hot rows come late, and 2PL then holds them for less; that weighs more where \
                    few transactions run at once and deadlocks are rare.",
    },
];

/// Returns the throughput of deadlock-free locking as a multiple of that of the best other policy, at a point.
fn lead(results: &Results, panel: &str, at: At) -> Option<f64> {
    let ratios = HANDLING.map(|other| results.ratio(panel, at, DEADLOCK_FREE, other));
    ratios.into_iter().collect::<Option<Vec<_>>>()?.into_iter().reduce(f64::min)
}

fn first_updates(results: &Results) -> Option<Finding> {
    let beats = |panel| leads(results, panel, everywhere(results, panel), DEADLOCK_FREE, &HANDLING, 1.0 - TOLERANCE);
    let (two, one) = (lead(results, "a", At::Last)?, lead(results, "d", At::Last)?);
    let evidence =
        format!("at the last point it is {two:.2} times the best other with two hot updates, {one:.2} with one");
    all([beats("a"), beats("d"), Some(Finding { holds: two > one, evidence })])
}

fn last_updates(results: &Results) -> Option<Finding> {
    let (first, last) = (lead(results, "b", At::First)?, lead(results, "b", At::Last)?);
    let evidence = format!(
        "the best of them is {:.2} times deadlock-free locking at the first point, {:.2} at the last",
        first.max(f64::MIN_POSITIVE).recip(),
        last.max(f64::MIN_POSITIVE).recip()
    );
    Some(Finding { holds: first < 1.0 && last > 1.0, evidence })
}

fn detection_leads(results: &Results, panel: &str) -> Option<Finding> {
    let beats = |name| leads(results, panel, only(At::Last), name, &[WAIT_DIE], 1.0 + TOLERANCE);
    all([beats(WAIT_FOR), beats(DREADLOCKS)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::{check, check_weaker};
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a" | "c", DEADLOCK_FREE) => 100.0 - 40.0 * made.way,
            ("a" | "c", WAIT_DIE) => 90.0 - 63.0 * made.way,
            ("a" | "c", _) => 90.0 - 80.0 * made.way,
            ("b", DEADLOCK_FREE) => 80.0 - 20.0 * made.way,
            ("b", _) => 100.0 - 60.0 * made.way,
            ("d" | "f", DEADLOCK_FREE) => 100.0 - 40.0 * made.way,
            ("d" | "f", WAIT_DIE) => 90.0 - 60.0 * made.way,
            ("d" | "f", _) => 95.0 - 53.0 * made.way,
            (_, DEADLOCK_FREE) => 80.0 - 30.0 * made.way,
            (_, WAIT_DIE) => 100.0 - 70.0 * made.way,
            _ => 100.0 - 24.0 * made.way,
        };
        check(&FIGURE, paper, &[true; 6]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            DEADLOCK_FREE => 80.0,
            WAIT_DIE => 90.0,
            _ => 81.0 + 20.0 * made.way * f64::from(u8::from(made.panel == "a")),
        };
        check(&FIGURE, other, &[false; 6]);
    }

    #[test]
    fn less_than_the_paper_says_is_told_apart() {
        let less = |made: MadeUpPoint<'_>| match (made.panel, made.series) {
            ("a", DEADLOCK_FREE) => 97.0 - 20.0 * made.way,
            ("e", DEADLOCK_FREE) => 80.0,
            ("e", _) => 90.0,
            (_, DEADLOCK_FREE) => 97.0 - 27.0 * made.way,
            _ => 100.0 - 30.0 * made.way,
        };
        check_weaker(&FIGURE, less, &[true; 3]);
        let other = |made: MadeUpPoint<'_>| match made.series {
            DEADLOCK_FREE => 80.0,
            WAIT_DIE => 90.0,
            _ => 81.0,
        };
        check_weaker(&FIGURE, other, &[false; 3]);
    }
}
