//! The printed text: the list of figures, how long they take, and which claims hold.

use crate::numbers::length;
use crate::reproduce::claim::Verdict;
use crate::reproduce::cost::Cost;
use crate::reproduce::figures::FIGURES;
use crate::reproduce::requested::{RequestedFigure, State};
use crate::reproduce::scale::Scale;
use std::io::{self, Write};
use std::time::Duration;

/// The width of the column of names: that of the longest name of a figure, and of a gap.
const ID_WIDTH: usize = 17;

/// Prints the name, the title and the source of each figure.
pub(crate) fn print_figures(out: &mut dyn Write) -> io::Result<()> {
    for figure in FIGURES {
        writeln!(out, "{:<ID_WIDTH$}{}", figure.id, figure.title)?;
        writeln!(out, "{:<ID_WIDTH$}{}, {}", "", figure.paper.title, figure.place)?;
    }
    writeln!(out, "\nhotrow reproduce FIGURE --out DIR measures one, `all` all of them; --quick within ten minutes")
}

/// Prints how long each figure will take, as estimated.
pub(crate) fn print_durations(
    out: &mut dyn Write,
    figures: &[RequestedFigure],
    costs: &[Vec<Cost>],
    scale: &Scale,
) -> io::Result<()> {
    let lengths: Vec<Duration> =
        costs.iter().map(|costs| costs.iter().map(|cost| cost.duration(scale)).sum::<Duration>()).collect();
    for (requested, &takes) in figures.iter().zip(&lengths) {
        writeln!(out, "{:<ID_WIDTH$}about {:<12}{}", requested.figure.id, length(takes), requested.figure.title)?;
    }
    writeln!(out, "{:<ID_WIDTH$}about {}\n", "all of it", length(lengths.iter().sum()))?;
    out.flush()
}

/// Prints which claims of a figure hold.
pub(crate) fn print_claims(out: &mut dyn Write, requested: &RequestedFigure) -> io::Result<()> {
    let what = match &requested.state {
        State::Failed(what) => format!("failed: {what}"),
        State::Interrupted => "interrupted".to_owned(),
        State::Waiting | State::Done => format!("{} claims hold", requested.tally()),
    };
    writeln!(out, "{}: {what} ({})", requested.figure.id, length(requested.took))?;
    for claim in requested.figure.claims.iter().filter(|_| requested.state == State::Done) {
        let verdict = claim.verdict(&requested.results);
        writeln!(out, "  {verdict}: {}", claim.text)?;
        if let Verdict::Holds(evidence) | Verdict::Fails(evidence) = &verdict {
            writeln!(out, "    {evidence}")?;
        }
        if let Some(weaker) = &claim.weaker {
            writeln!(out, "    weaker than the paper, {}: {}", weaker.verdict(&requested.results), weaker.criterion)?;
        }
    }
    out.flush()
}
