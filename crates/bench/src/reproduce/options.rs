//! The command line of `hotrow reproduce`.

use super::figure::Figure;
use super::figures::FIGURES;
use super::scale::Size;
use clap::builder::PossibleValuesParser;
use hotrow_sync::simulated_hardware;
use std::path::{Path, PathBuf};

/// The figures to reproduce, and the folder to write them into.
#[derive(clap::Args, Clone, Debug)]
pub struct ReproduceOptions {
    /// Figures to measure, papers for all of their figures, or `all`; without any, the figures are listed
    #[arg(value_name = "FIGURE", value_parser = figure_names(), requires = "out", hide_possible_values = true)]
    figures: Vec<String>,

    /// All figures within ten minutes: fewer points, shorter runs, smaller tables
    #[arg(long, requires = "figures")]
    quick: bool,

    /// Write the page, the drawings and the points into this folder; files of the same names are replaced
    #[arg(long, value_name = "DIR", requires = "figures")]
    out: Option<PathBuf>,

    /// List the figures
    #[arg(long, conflicts_with_all = ["figures", "out", "quick"])]
    list: bool,

    /// End each run after this number of transactions of each worker, on tables of a few rows: a test that everything
    /// works, not a measurement
    #[arg(long, value_name = "N", conflicts_with = "quick", requires = "figures", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,
}

/// The name of all figures together.
const ALL: &str = "all";

/// Returns the parser of the names of figures and papers.
fn figure_names() -> PossibleValuesParser {
    let mut names: Vec<_> = FIGURES.iter().flat_map(|figure| [figure.id, figure.paper.name]).chain([ALL]).collect();
    names.sort_unstable();
    names.dedup();
    PossibleValuesParser::new(names)
}

impl ReproduceOptions {
    /// Returns the folder to write into, or `None` if the figures are to be listed.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.out.as_deref()
    }

    /// Returns the figures that were asked for, each once, in the order of the list.
    pub(super) fn figures(&self) -> Vec<&'static Figure> {
        let asked = |figure: &&'static Figure| {
            self.figures.iter().any(|name| [figure.id, figure.paper.name, ALL].contains(&name.as_str()))
        };
        FIGURES.iter().copied().filter(asked).collect()
    }

    /// Returns how much is measured.
    pub(super) fn size(&self) -> Size {
        match self.steps {
            Some(steps) => Size::Steps(steps),
            None if simulated_hardware().is_some() => Size::Simulated,
            None if self.quick => Size::Quick,
            None => Size::Full,
        }
    }
}
