//! The folder that everything is written into.

use super::figure::Figure;
use super::page::{self, Cover};
use super::results::Results;
use super::scale::Scale;
use super::{Entry, chart, csv};
use crate::BenchError;
use crate::host::Host;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The name of the page.
const PAGE: &str = "index.html";

/// Writes what was measured into a folder.
pub(crate) struct Book<'a> {
    folder: &'a Path,
    host: &'a Host,
    scale: &'a Scale,
    begin: Instant,
    /// When it began, by the clock on the wall.
    date: String,
}

impl<'a> Book<'a> {
    /// Makes the folder, and the page that has nothing in it yet: what cannot be written is better known now.
    pub(crate) fn create(
        folder: &'a Path,
        host: &'a Host,
        scale: &'a Scale,
        entries: &[Entry],
    ) -> Result<Self, BenchError> {
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        let date = jiff::Zoned::now().strftime("%Y-%m-%d %H:%M %Z").to_string();
        let book = Self { folder, host, scale, begin: Instant::now(), date };
        book.write_page(entries)?;
        Ok(book)
    }

    /// The page's place.
    pub(crate) fn page(&self) -> PathBuf {
        self.folder.join(PAGE)
    }

    /// The page as it is now.
    pub(crate) fn write_page(&self, entries: &[Entry]) -> Result<(), BenchError> {
        let cover = Cover { host: self.host, date: self.date.clone(), scale: self.scale, took: self.begin.elapsed() };
        let page = page::render(&cover, entries).map_err(BenchError::Failed)?;
        self.write(PAGE, page.as_bytes())
    }

    /// The points that were measured so far.
    pub(crate) fn write_points(&self, figure: &Figure, results: &Results) -> Result<(), BenchError> {
        let points = csv::write(figure, results).map_err(BenchError::Failed)?;
        self.write(&format!("{}.csv", figure.id), &points)
    }

    /// The points and the drawings. A figure of which nothing was measured leaves no files.
    pub(crate) fn write_figure(&self, entry: &Entry) -> Result<(), BenchError> {
        if entry.results.is_empty() {
            return Ok(());
        }
        self.write_points(entry.figure, &entry.results)?;
        for (number, panel) in entry.results.plan.panels.iter().enumerate() {
            let svg = chart::draw(&entry.results, number).map_err(BenchError::Failed)?;
            self.write(&format!("{}-{}.svg", entry.figure.id, panel.id), svg.as_bytes())?;
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
