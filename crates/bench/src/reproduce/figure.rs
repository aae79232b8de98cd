//! The declaration of a figure. The rest of this folder runs, draws and judges it.

use super::claim::Claim;
use super::plan::Plan;
use super::scale::Scale;

/// A paper whose figures are reproduced.
#[derive(Debug)]
pub(crate) struct Paper {
    /// The name by which users choose all figures of the paper.
    pub name: &'static str,
    /// The title of the paper.
    pub title: &'static str,
}

/// A figure of a paper, as it can be measured here.
#[derive(Debug)]
pub(crate) struct Figure {
    /// The name by which users choose the figure.
    pub id: &'static str,
    /// The paper that the figure is from.
    pub paper: &'static Paper,
    /// The figure's number and section in the paper.
    pub place: &'static str,
    /// The figure's subject, in one line.
    pub title: &'static str,
    /// The paper's measurement, and the machine on which it was made.
    pub there: &'static str,
    /// The measurement made here, and its differences from the paper's.
    pub here: &'static str,
    /// Returns the points to measure at a scale.
    pub plan: fn(&Scale) -> Plan,
    /// The conclusions that the paper draws from the figure.
    pub claims: &'static [Claim],
}
