//! A figure that was asked for, and its state.

use super::claim::Verdict;
use super::figure::Figure;
use super::results::Results;
use super::scale::Scale;
use crate::run::RunFailure;
use std::time::Duration;

/// A figure that was asked for, with its runs so far and its state.
pub(crate) struct RequestedFigure {
    pub figure: &'static Figure,
    pub results: Results,
    pub state: State,
    /// The time that the loads and runs of the figure have taken.
    pub took: Duration,
}

/// The state of a figure's measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    Done,
    Interrupted,
    Failed(String),
}

impl State {
    /// Returns the state of a figure whose runs ended with `outcome`.
    pub(crate) fn after(outcome: Result<(), RunFailure>) -> Self {
        match outcome {
            Ok(()) => State::Done,
            Err(RunFailure::Interrupted) => State::Interrupted,
            Err(RunFailure::Failed(what)) => State::Failed(what),
        }
    }
}

impl RequestedFigure {
    /// Makes a figure of which nothing is measured yet.
    pub(crate) fn new(figure: &'static Figure, scale: &Scale) -> Self {
        let results = Results::new((figure.plan)(scale), scale);
        Self { figure, results, state: State::Waiting, took: Duration::ZERO }
    }

    /// Returns how many of the figure's claims hold, in words such as `2 of 3`.
    pub(crate) fn tally(&self) -> String {
        let verdicts = self.figure.claims.iter().map(|claim| claim.verdict(&self.results));
        let holding = verdicts.filter(|verdict| matches!(verdict, Verdict::Holds(_))).count();
        format!("{holding} of {}", self.figure.claims.len())
    }
}
