//! A claim of a paper about its figure, and the verdict of the measurements made here.

use super::results::{At, Results};
use std::fmt;

/// The share by which two throughputs must differ to count as different: results on shared machines vary by less.
pub(crate) const TOLERANCE: f64 = 0.05;

/// A conclusion that a paper draws from its figure.
#[derive(Debug)]
pub(crate) struct Claim {
    /// The claim in our words.
    pub text: &'static str,
    /// The criterion by which `judge` decides the claim, in words. It is the paper's own bar.
    pub criterion: &'static str,
    /// Decides the claim from the results. Returns `None` if points that the claim needs are missing.
    pub judge: fn(&Results) -> Option<Finding>,
    /// A weaker claim that is decided as well, for a criterion that this machine may be unable to meet.
    pub weaker: Option<Weaker>,
    /// The reason why the claim may not hold on this machine.
    pub otherwise: &'static str,
}

/// A weaker claim than the paper's. The page shows it as such beside the claim, and does not count it as holding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weaker {
    /// The criterion by which `judge` decides the weaker claim, in words.
    pub criterion: &'static str,
    /// Decides the weaker claim, as [`Claim::judge`] does.
    pub judge: fn(&Results) -> Option<Finding>,
}

/// The decision whether the measurements support a claim, with the numbers that show it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub holds: bool,
    /// The numbers that decided the claim.
    pub evidence: String,
}

/// The verdict on a claim.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Holds(String),
    Fails(String),
    /// Points that the claim needs were not measured.
    Undecided,
}

impl Claim {
    /// Returns the verdict on the claim. A claim about a figure whose points are not all measured is undecided.
    pub(crate) fn verdict(&self, results: &Results) -> Verdict {
        decide(self.judge, results)
    }
}

impl Weaker {
    /// Returns the verdict on the weaker claim, as [`Claim::verdict`] does.
    pub(crate) fn verdict(&self, results: &Results) -> Verdict {
        decide(self.judge, results)
    }
}

fn decide(judge: fn(&Results) -> Option<Finding>, results: &Results) -> Verdict {
    let finding = if results.is_complete() { judge(results) } else { None };
    match finding {
        Some(Finding { holds: true, evidence }) => Verdict::Holds(evidence),
        Some(Finding { holds: false, evidence }) => Verdict::Fails(evidence),
        None => Verdict::Undecided,
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Holds(_) => "holds here",
            Verdict::Fails(_) => "does not hold here",
            Verdict::Undecided => "not decided",
        })
    }
}

/// Decides whether `name` has at least `least` times the throughput of each of `others` at every one of `points`. The
/// evidence is the worst comparison. Returns `None` if a series or a point was not measured.
pub(crate) fn leads(
    results: &Results,
    panel: &str,
    points: impl Iterator<Item = At> + Clone,
    name: &str,
    others: &[&str],
    least: f64,
) -> Option<Finding> {
    let mut worst: Option<(f64, At, &str)> = None;
    for &other in others.iter().filter(|&&other| other != name) {
        for at in points.clone() {
            let ratio = results.ratio(panel, at, name, other)?;
            if worst.is_none_or(|(lowest, ..)| ratio < lowest) {
                worst = Some((ratio, at, other));
            }
        }
    }
    let (ratio, at, other) = worst?;
    let (x, label) = (results.x(panel), results.label(panel, at));
    let evidence = format!("({panel}) at its worst, {name} is {ratio:.2} times {other}, at {label} ({x})");
    Some(Finding { holds: ratio >= least, evidence })
}

/// Returns all points of a panel.
pub(crate) fn everywhere(results: &Results, panel: &str) -> impl Iterator<Item = At> + Clone + use<> {
    (0..results.points(panel)).map(At::Number)
}

/// Returns the points in the left half of a panel, without the middle one.
pub(crate) fn left_half(results: &Results, panel: &str) -> impl Iterator<Item = At> + Clone + use<> {
    (0..results.points(panel) / 2).map(At::Number)
}

/// Returns an iterator over this point alone.
pub(crate) fn only(at: At) -> impl Iterator<Item = At> + Clone {
    std::iter::once(at)
}

/// Joins findings into one that holds if each of them holds, with the evidence of all. Returns `None` if a finding is
/// missing.
pub(crate) fn all<const N: usize>(findings: [Option<Finding>; N]) -> Option<Finding> {
    let findings: Vec<Finding> = findings.into_iter().collect::<Option<_>>()?;
    let evidence = findings.iter().map(|finding| finding.evidence.as_str()).collect::<Vec<_>>().join("; ");
    Some(Finding { holds: findings.iter().all(|finding| finding.holds), evidence })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::reproduce::figure::Figure;
    use crate::reproduce::figures::FIGURES;
    use crate::reproduce::results::tests::{MadeUpPoint, QUICK, made_up};

    /// Judges a figure's claims by made-up data. A weaker claim must hold wherever its claim does.
    pub(crate) fn check(figure: &Figure, value: impl Fn(MadeUpPoint<'_>) -> f64, expected: &[bool]) {
        check_results(figure, &made_up(figure, value), expected);
    }

    /// Judges a figure's claims by results, as [`check`] does.
    pub(crate) fn check_results(figure: &Figure, results: &Results, expected: &[bool]) {
        let verdicts: Vec<_> = figure.claims.iter().map(|claim| claim.verdict(results)).collect();
        let holding: Vec<_> = verdicts.iter().map(|verdict| matches!(verdict, Verdict::Holds(_))).collect();
        assert_eq!(holding, expected, "{}: {verdicts:#?}", figure.id);
        for (claim, holds) in figure.claims.iter().zip(holding) {
            let weaker = claim.weaker.map(|weaker| weaker.verdict(results));
            let fails = weaker.as_ref().is_some_and(|verdict| !matches!(verdict, Verdict::Holds(_)));
            assert!(!(holds && fails), "{}: {} holds, and less does not: {weaker:?}", figure.id, claim.text);
        }
    }

    /// Judges the weaker claims of a figure, in their order, by made-up data.
    pub(crate) fn check_weaker(figure: &Figure, value: impl Fn(MadeUpPoint<'_>) -> f64, expected: &[bool]) {
        check_weaker_results(figure, &made_up(figure, value), expected);
    }

    /// Judges the weaker claims of a figure by results, as [`check_weaker`] does.
    pub(crate) fn check_weaker_results(figure: &Figure, results: &Results, expected: &[bool]) {
        let weaker = figure.claims.iter().filter_map(|claim| claim.weaker);
        let verdicts: Vec<_> = weaker.map(|weaker| weaker.verdict(results)).collect();
        let holding: Vec<_> = verdicts.iter().map(|verdict| matches!(verdict, Verdict::Holds(_))).collect();
        assert_eq!(holding, expected, "{}: {verdicts:#?}", figure.id);
    }

    #[test]
    fn every_claim_is_decided_when_all_is_measured_and_none_before() {
        for figure in FIGURES {
            let (complete, empty) = (made_up(figure, |_| 10.0), Results::new((figure.plan)(&QUICK), &QUICK));
            for claim in figure.claims {
                assert_ne!(claim.verdict(&complete), Verdict::Undecided, "{}: {}", figure.id, claim.text);
                assert_eq!(claim.verdict(&empty), Verdict::Undecided, "{}: {}", figure.id, claim.text);
                let Some(weaker) = claim.weaker else { continue };
                assert_ne!(weaker.verdict(&complete), Verdict::Undecided, "{}: {}", figure.id, weaker.criterion);
                assert_eq!(weaker.verdict(&empty), Verdict::Undecided, "{}: {}", figure.id, weaker.criterion);
            }
        }
    }

    #[test]
    fn a_lead_is_judged_at_its_worst_point() {
        let names = ["deadlock-free", "wait-die"];
        let figure = FIGURES.iter().find(|figure| figure.id == "orthrus-4").expect("it is listed");
        let results = made_up(figure, |made| match made.series {
            name if name == names[0] => 10.0 - made.way,
            _ => 5.0 + 5.0 * made.way,
        });
        let lead = |least| leads(&results, "a", everywhere(&results, "a"), names[0], &names, least);
        let finding = lead(0.9).expect("all was measured");
        assert!(finding.holds, "{}", finding.evidence);
        assert!(finding.evidence.contains("0.90 times wait-die, at 4 (hot rows)"), "{}", finding.evidence);
        assert!(!lead(0.91).expect("all was measured").holds);
        let first = leads(&results, "a", only(At::First), names[0], &names, 2.0).expect("it was measured");
        assert!(first.holds, "{}", first.evidence);
        let ways: Vec<_> = left_half(&results, "a").collect();
        assert_eq!(ways, [At::Number(0), At::Number(1)]);
    }
}
