//! Hekaton, Fig. 9: long readers beside updates.

use super::hekaton::{HEKATON, versions_lead};
use super::hekaton_8;
use crate::reproduce::claim::{Claim, TOLERANCE, all, everywhere};
use crate::reproduce::figure::Figure;

pub(super) static FIGURE: Figure = Figure {
    id: "hekaton-9",
    paper: &HEKATON,
    place: "Fig. 9, §5.2.2",
    title: "Long readers beside updates",
    there: "The long readers of Fig. 8.",
    here: "The same.",
    plan: |scale| hekaton_8::plan(scale, "long-read", 1, "long reads per second", 1),
    claims: &CLAIMS,
};

static CLAIMS: [Claim; 1] = [Claim {
    text: "The schemes with versions read more than 1V, however many threads read.",
    criterion: "MV/L and MV/O are both at least 1.05 times 1V at every point of (a) and (b).",
    judge: |results| {
        let lead = |panel| versions_lead(results, panel, everywhere(results, panel), 1.0 + TOLERANCE);
        all([lead("a"), lead("b")])
    },
    weaker: None,
    otherwise: "Where nobody updates, 1V reads rows that nobody else has locked, and a row is found as fast as a \
                version. Where a long reader holds its updaters up, it has the machine to itself.",
}];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::claim::tests::check;
    use crate::reproduce::figures::hekaton::SINGLE;
    use crate::reproduce::results::tests::MadeUpPoint;

    #[test]
    fn curves_as_in_the_paper_confirm_its_claims_and_others_refute_them() {
        let paper = |made: MadeUpPoint<'_>| if made.series == SINGLE { 2.0 } else { 3.0 + made.way };
        check(&FIGURE, paper, &[true]);
        let other = |made: MadeUpPoint<'_>| if made.series == SINGLE { 2.0 } else { 2.0 + made.way };
        check(&FIGURE, other, &[false]);
    }
}
