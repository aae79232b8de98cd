//! What is printed: the figures there are, how long they take, and which claims hold.

use super::claim::Verdict;
use super::cost::Cost;
use super::figures::FIGURES;
use super::scale::Scale;
use super::watch::length;
use super::{Entry, State};
use std::io::{self, Write};
use std::time::Duration;

/// What the longest name of a figure takes, and a gap.
const ID_WIDTH: usize = 17;

/// One line for each figure there is.
pub(crate) fn list(out: &mut dyn Write) -> io::Result<()> {
    for figure in FIGURES {
        writeln!(out, "{:<ID_WIDTH$}{}", figure.id, figure.title)?;
        writeln!(out, "{:<ID_WIDTH$}{}, {}", "", figure.paper.title, figure.place)?;
    }
    writeln!(out, "\nhotrow reproduce FIGURE --out DIR measures one, `all` all of them; --quick within ten minutes")
}

/// How long each figure will take, about.
pub(crate) fn announce(out: &mut dyn Write, entries: &[Entry], costs: &[Vec<Cost>], scale: &Scale) -> io::Result<()> {
    let lengths: Vec<Duration> =
        costs.iter().map(|costs| costs.iter().map(|cost| cost.duration(scale)).sum::<Duration>()).collect();
    for (entry, &takes) in entries.iter().zip(&lengths) {
        writeln!(out, "{:<ID_WIDTH$}about {:<12}{}", entry.figure.id, length(takes), entry.figure.title)?;
    }
    writeln!(out, "{:<ID_WIDTH$}about {}\n", "all of it", length(lengths.iter().sum()))?;
    out.flush()
}

/// Which claims of a figure hold.
pub(crate) fn tell(out: &mut dyn Write, entry: &Entry) -> io::Result<()> {
    let what = match &entry.state {
        State::Failed(what) => format!("failed: {what}"),
        State::Interrupted => "interrupted".to_owned(),
        State::Waiting | State::Done => format!("{} claims hold", entry.tally()),
    };
    writeln!(out, "{}: {what} ({})", entry.figure.id, length(entry.took))?;
    for claim in entry.figure.claims.iter().filter(|_| entry.state == State::Done) {
        let verdict = claim.verdict(&entry.results);
        writeln!(out, "  {verdict}: {}", claim.text)?;
        if let Verdict::Holds(evidence) | Verdict::Fails(evidence) = &verdict {
            writeln!(out, "    {evidence}")?;
        }
        if let Some(weaker) = &claim.weaker {
            writeln!(out, "    weaker than the paper, {}: {}", weaker.verdict(&entry.results), weaker.criterion)?;
        }
    }
    out.flush()
}
