//! The folder that page, drawings and points are written into.

use super::page::{self, PageHeader};
use super::{chart, csv};
use crate::error::BenchError;
use crate::machine::Host;
use crate::reproduce::figure::Figure;
use crate::reproduce::requested::RequestedFigure;
use crate::reproduce::results::Results;
use crate::reproduce::scale::Scale;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The name of the page.
const PAGE: &str = "index.html";

/// The folder that page, drawings and points are written into.
pub(crate) struct OutputFolder<'a> {
    folder: &'a Path,
    host: &'a Host,
    scale: &'a Scale,
    begin: Instant,
    /// The time at which the reproduction began, by the wall clock, as the page shows it.
    date: String,
}

impl<'a> OutputFolder<'a> {
    /// Makes the folder, and a page without results, so that a folder that cannot be written is found before anything
    /// is run.
    pub(crate) fn create(
        folder: &'a Path,
        host: &'a Host,
        scale: &'a Scale,
        figures: &[RequestedFigure],
    ) -> Result<Self, BenchError> {
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        let date = jiff::Zoned::now().strftime("%Y-%m-%d %H:%M %Z").to_string();
        let created = Self { folder, host, scale, begin: Instant::now(), date };
        created.write_page(figures)?;
        Ok(created)
    }

    /// Returns the path of the page.
    pub(crate) fn page(&self) -> PathBuf {
        self.folder.join(PAGE)
    }

    /// Writes the page with the results so far.
    pub(crate) fn write_page(&self, figures: &[RequestedFigure]) -> Result<(), BenchError> {
        let header =
            PageHeader { host: self.host, date: self.date.clone(), scale: self.scale, took: self.begin.elapsed() };
        let page = page::render(&header, figures).map_err(BenchError::Failed)?;
        self.write(PAGE, page.as_bytes())
    }

    /// Writes the points that were measured so far.
    pub(crate) fn write_points(&self, figure: &Figure, results: &Results) -> Result<(), BenchError> {
        let points = csv::write(figure, results).map_err(BenchError::Failed)?;
        self.write(&format!("{}.csv", figure.id), &points)
    }

    /// Writes the points and the drawings. A figure of which nothing was measured leaves no files.
    pub(crate) fn write_figure(&self, requested: &RequestedFigure) -> Result<(), BenchError> {
        if requested.results.is_empty() {
            return Ok(());
        }
        self.write_points(requested.figure, &requested.results)?;
        for (number, panel) in requested.results.plan.panels.iter().enumerate() {
            let svg = chart::draw(&requested.results, number).map_err(BenchError::Failed)?;
            self.write(&format!("{}-{}.svg", requested.figure.id, panel.id), svg.as_bytes())?;
        }
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), BenchError> {
        let path = self.folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| unwritable(&path, &error))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> BenchError {
    BenchError::Failed(format!("{} could not be written: {error}", path.display()))
}
