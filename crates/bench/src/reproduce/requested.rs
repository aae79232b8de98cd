//! A figure that was asked for, and how far it is.

use super::claim::Verdict;
use super::figure::Figure;
use super::results::Results;
use super::scale::Scale;
use crate::run::RunFailure;
use std::time::Duration;

/// A figure that was asked for, its runs so far, and how far it is.
pub(crate) struct RequestedFigure {
    pub figure: &'static Figure,
    pub results: Results,
    pub state: State,
    /// How long its loads and runs have taken.
    pub took: Duration,
}

/// How far a figure is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    Done,
    Interrupted,
    Failed(String),
}

impl State {
    /// Returns the state after its runs ended in this way.
    pub(crate) fn after(outcome: Result<(), RunFailure>) -> Self {
        match outcome {
            Ok(()) => State::Done,
            Err(RunFailure::Interrupted) => State::Interrupted,
            Err(RunFailure::Failed(what)) => State::Failed(what),
        }
    }
}

impl RequestedFigure {
    /// Returns the figure with nothing measured yet.
    pub(crate) fn new(figure: &'static Figure, scale: &Scale) -> Self {
        let results = Results::new((figure.plan)(scale));
        Self { figure, results, state: State::Waiting, took: Duration::ZERO }
    }

    /// Returns how many of its claims hold, of how many.
    pub(crate) fn tally(&self) -> String {
        let verdicts = self.figure.claims.iter().map(|claim| claim.verdict(&self.results));
        let holding = verdicts.filter(|verdict| matches!(verdict, Verdict::Holds(_))).count();
        format!("{holding} of {}", self.figure.claims.len())
    }
}
