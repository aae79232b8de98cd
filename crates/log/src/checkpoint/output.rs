//! Writes runs of tables into new files.

use super::Options;
use crate::disk::Disk;
use crate::failure::Failure;
use crate::manifest::{Part, Run};
use crate::merge::Sorted;
use crate::table_file::{self, FOLDER, TableFile, TableFileWriter};
use hotrow_storage::TableId;

/// The new files of a step. They are removed unless they are published.
pub(super) struct Output<'a> {
    disk: &'a dyn Disk,
    options: &'a Options,
    /// Returns whether the step is to stop.
    stop: &'a dyn Fn() -> bool,
    /// Returns the number of the next file.
    next_file: &'a dyn Fn() -> u64,
    /// The numbers of the files that were begun.
    begun: Vec<u64>,
    /// The file for the sections of many tables, if there is one.
    shared: Option<TableFileWriter>,
    /// The bytes of the blocks of all complete files.
    bytes: u64,
    /// The position of the log up to which the runs hold the changes.
    until: u64,
}

/// The number of entries between two checks whether the step is to stop.
const ENTRIES_AT_A_TIME: u32 = 4096;

impl<'a> Output<'a> {
    /// Begins a step, whose files get the numbers that `next_file` gives.
    pub(super) fn new(
        disk: &'a dyn Disk,
        options: &'a Options,
        stop: &'a dyn Fn() -> bool,
        next_file: &'a dyn Fn() -> u64,
    ) -> Self {
        Self { disk, options, stop, next_file, begun: Vec::new(), shared: None, bytes: 0, until: 0 }
    }

    /// Sets the position of the log up to which the runs hold the changes that are written from now on.
    pub(super) fn set_until(&mut self, until: u64) {
        self.until = until;
    }

    /// Returns an error if the step is to stop.
    pub(super) fn check_stop(&self) -> Result<(), Failure> {
        if (self.stop)() { Err(Failure::Stopped) } else { Ok(()) }
    }

    /// Returns the numbers of all files that were begun.
    pub(super) fn begun(&self) -> &[u64] {
        &self.begun
    }

    /// Returns the bytes of the blocks of all complete files.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes the entries of a table as a run. `bytes` is the expected size of the run: if it is less than
    /// [`own_file_bytes`](Options::own_file_bytes), the run goes to the file that the step shares among tables. If
    /// `full` is true, the table has no older entries below the run, so absences are left out. The run is empty if
    /// nothing is left.
    pub(super) fn run(
        &mut self,
        table: TableId,
        bytes: u64,
        full: bool,
        entries: &mut dyn Sorted,
    ) -> Result<Run, Failure> {
        let shared = bytes < self.options.own_file_bytes;
        let open = if shared { self.shared.take() } else { None };
        let mut writer = open.map_or_else(|| self.file(), Ok)?;
        let mut run = Run::new();
        writer.begin_section(table);
        let mut until_look = ENTRIES_AT_A_TIME;
        while let Some((key, row)) = entries.next()? {
            until_look -= 1;
            if until_look == 0 {
                self.check_stop()?;
                until_look = ENTRIES_AT_A_TIME;
            }
            if full && row.is_none() {
                continue;
            }
            if !shared && writer.bytes() >= self.options.file_bytes {
                run.extend(end_section(&mut writer, shared, self.until)?);
                self.finish(writer)?;
                writer = self.file()?;
                writer.begin_section(table);
            }
            writer.push(key, row)?;
        }
        run.extend(end_section(&mut writer, shared, self.until)?);
        match shared {
            true => self.shared = Some(writer),
            false => self.finish(writer)?,
        }
        Ok(run)
    }

    fn file(&mut self) -> Result<TableFileWriter, Failure> {
        let number = (self.next_file)();
        self.begun.push(number);
        TableFileWriter::create(self.disk, number, self.options.block_bytes)
    }

    fn finish(&mut self, writer: TableFileWriter) -> Result<(), Failure> {
        let number = writer.number();
        writer.finish()?;
        // Only files that can be read back may take the place of others.
        let file = TableFile::open(self.disk, number)?;
        file.verify(&mut |bytes| {
            self.bytes += bytes;
            self.check_stop()
        })
    }

    /// Completes all files, and makes their names durable.
    pub(super) fn complete(&mut self) -> Result<(), Failure> {
        if let Some(writer) = self.shared.take() {
            self.finish(writer)?;
        }
        if self.begun.is_empty() {
            return Ok(());
        }
        self.disk.sync_folder(FOLDER).map_err(Failure::on(FOLDER))
    }

    /// Removes the files of the step, as far as that is possible.
    pub(super) fn abandon(self) {
        let Self { disk, begun, shared, .. } = self;
        drop(shared);
        for number in begun {
            // A file that stays is removed when the directory is opened the next time.
            let _ = disk.remove(&table_file::name(number));
        }
    }
}

fn end_section(writer: &mut TableFileWriter, shared: bool, until: u64) -> Result<Option<Part>, Failure> {
    let file = writer.number();
    let part = |summary: table_file::Summary| {
        let table_file::Summary { bytes, rows, absences, first, last } = summary;
        Part { file, shared, until, bytes, rows, absences, first, last }
    };
    Ok(writer.end_section()?.map(part))
}
