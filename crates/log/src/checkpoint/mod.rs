//! Checkpoints: the log, merged into files from which the rows can be read without it.
//!
//! A checkpoint is made of the log alone. It never looks at the database, so it stops no transaction, and is the same
//! for every engine.
//!
//! There are two kinds of steps, which can run at the same time. Each step ends with a new manifest that is
//! *published*:
//!
//! - [`advance`](Checkpoints::advance) reads a batch of the log, keeps the last change of each key, and writes the
//!   changes of each table, sorted by key, as a delta. The changes of a table with many bytes get files of their own,
//!   those of all other tables share one file.
//! - [`merge`](Checkpoints::merge) merges runs that have become large or many: see `plan` for when, and what it costs.
//!
//! **Memory.** A batch, up to twice while it is sorted; the largest record; a block of each run that is merged; the
//! footers of up to 64 files; and the manifest, with some 100 bytes for each file and the definition of each table.
//!
//! **Order of a publication**, which makes a crash at any moment harmless:
//!
//! 1. The new files are written, synced and read back. Their folder is synced.
//! 2. The new manifest is written under another name, synced and read back.
//! 3. It is renamed, and the folder of the data directory is synced.
//! 4. Only then, files that neither the new manifest nor a pin needs are removed, and the log is allowed to forget what
//!    the checkpoint holds.
//!
//! Before step 3 the old manifest and its files are as they were; files that no manifest names are removed when the
//! directory is opened. If step 3 fails, a crash may leave the old manifest or the new one. So the checkpoint takes no
//! further step and removes nothing until the directory is opened again.

mod batch;
mod output;
mod pins;
mod plan;
#[cfg(not(any(loom, shuttle)))]
mod thread;

pub use pins::Pin;
#[cfg(not(any(loom, shuttle)))]
pub use thread::Checkpointer;

use crate::disk::Disk;
use crate::failure::Failure;
use crate::files::Files;
use crate::format::remove_if_there;
use crate::manifest::{self, Manifest, NEW_NAME, Part, Run, Table, bytes_of};
use crate::merge::Merge;
use crate::source::{Frames, FramesUntil, LiveSource, Until};
use crate::table_file::{self, FOLDER};
use batch::Batch;
use hotrow_storage::TableId;
use hotrow_sync::{Arc, Mutex, MutexGuard};
use output::Output;
use pins::Pins;
use plan::Due;
use std::ops::Range;

/// The sizes that checkpoints keep to.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of bytes of log after the last checkpoint at which the next one begins. A restart reads about as
    /// many.
    pub trigger_bytes: u64,
    /// The number of bytes of changes that are kept in memory before they are written. Each change counts for its row
    /// and 56 bytes.
    pub batch_bytes: usize,
    /// The number of bytes of entries at which a block ends.
    pub block_bytes: usize,
    /// The number of bytes from which on the changes of a table in a batch get files of their own. Deltas with fewer
    /// bytes together are not merged into a base.
    pub own_file_bytes: u64,
    /// The number of bytes at which a table's own file ends. The table's rows go on in another file.
    pub file_bytes: u64,
    /// The greatest number of deltas of a table in files of its own, and of shared files. If there are more, some of
    /// them are merged into one. At least two.
    pub most_runs: usize,
    /// The growth at which a table gets a new base: its deltas are merged into the base when they have at least this
    /// many times the base's bytes.
    pub growth: u64,
    /// The bytes of the disk that merges leave free, for the log and for steps that advance. A merge that would leave
    /// fewer is put off.
    pub reserve_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            trigger_bytes: 512 << 20,
            batch_bytes: 128 << 20,
            block_bytes: 64 << 10,
            own_file_bytes: 1 << 20,
            file_bytes: 256 << 20,
            most_runs: 64,
            growth: 2,
            reserve_bytes: 1 << 30,
        }
    }
}

/// Numbers about checkpoints, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The position of the log up to which everything is in the checkpoint.
    pub position: u64,
    /// The number of files of the checkpoint.
    pub files: u64,
    /// The bytes of the checkpoint that hold rows and deletions.
    pub bytes: u64,
    /// The bytes of files and manifests that were written since the directory was opened.
    pub written_bytes: u64,
    /// The number of manifests that were published since the directory was opened.
    pub published: u64,
}

/// The checkpoint of a data directory. Any thread may call any method. Steps of the same kind run one after the other.
/// A merge, which may take long, does not keep the checkpoint from advancing.
#[derive(Debug)]
pub struct Checkpoints {
    disk: Arc<dyn Disk>,
    options: Options,
    /// Held during a step that advances.
    advancing: Mutex<()>,
    /// Held during a step that merges.
    merging: Mutex<()>,
    /// Held while a manifest is written and published.
    publishing: Mutex<()>,
    /// The memory of the last batch, for the next batch of the same [`advance_all`](Checkpoints::advance_all).
    memory: Mutex<Vec<Vec<u8>>>,
    state: Mutex<State>,
}

/// The kinds of steps. Two steps of different kinds can run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Advance,
    Merge,
}

#[derive(Debug)]
struct State {
    manifest: Arc<Manifest>,
    pins: Pins,
    /// The number that the next file gets.
    next_file: u64,
    /// The failure of a publication, if one has failed. Which manifest is durable is not known then.
    failed: Option<String>,
    written_bytes: u64,
    published: u64,
}

impl Checkpoints {
    /// Opens the checkpoint of a data directory, or begins an empty one at position zero of the log. The call removes
    /// files that an interrupted step has left. [Recovery](crate::recovery), which changes nothing, comes before it.
    ///
    /// # Errors
    /// If the manifest is damaged or has another format; nothing is changed then. If the disk refuses an operation.
    pub fn open(disk: Arc<dyn Disk>, options: Options) -> Result<Arc<Self>, Failure> {
        let manifest = Manifest::read(&*disk)?;
        let top = disk.list("").map_err(Failure::on(""))?;
        if !top.iter().any(|name| name == FOLDER) {
            disk.create_folder(FOLDER).map_err(Failure::on(FOLDER))?;
            disk.sync_folder("").map_err(Failure::on(""))?;
        }
        let files = manifest.files();
        let names = disk.list(FOLDER).map_err(Failure::on(FOLDER))?;
        let is_left = |name: &String| table_file::number(name).is_some_and(|number| !files.contains(&number));
        let left: Vec<_> = names.into_iter().filter(is_left).collect();
        if !left.is_empty() && top.iter().any(|name| name == manifest::NAME) {
            // If the last publication failed, another manifest may be durable, which needs the files that are left.
            manifest.write(&*disk)?;
            Manifest::publish(&*disk)?;
        }
        for name in left {
            remove_if_there(&*disk, &format!("{FOLDER}/{name}"))?;
        }
        if top.iter().any(|name| name == NEW_NAME) {
            remove_if_there(&*disk, NEW_NAME)?;
        }
        let (next_file, manifest) = (manifest.next_file, Arc::new(manifest));
        let state = State { manifest, pins: Pins::default(), next_file, failed: None, written_bytes: 0, published: 0 };
        let (advancing, merging, publishing, memory) = Default::default();
        Ok(Arc::new(Self { disk, options, advancing, merging, publishing, memory, state: Mutex::new(state) }))
    }

    /// Returns the options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the position of the log up to which everything is in the checkpoint.
    pub fn position(&self) -> u64 {
        self.state().manifest.position
    }

    /// Returns the last time of day that the log had before the position, in microseconds since 2000-01-01 UTC, or
    /// `None` if it had none.
    pub fn time(&self) -> Option<i64> {
        Some(self.state().manifest.clock).filter(|time| *time > i64::MIN)
    }

    /// Returns numbers for metrics.
    pub fn statistics(&self) -> Statistics {
        let state = self.state();
        let parts = || state.manifest.tables.values().flat_map(|table| table.parts());
        Statistics {
            position: state.manifest.position,
            files: state.manifest.files().len() as u64,
            bytes: parts().map(|part| part.bytes).sum(),
            written_bytes: state.written_bytes,
            published: state.published,
        }
    }

    /// Makes a checkpoint of everything in the log that is durable now, and then all merges that are due.
    ///
    /// # Errors
    /// If a step fails, or [`Failure::Stopped`] if `stop` returns true during a step. Everything that was published
    /// before stays.
    pub fn run(&self, log: &dyn LiveSource, stop: &dyn Fn() -> bool) -> Result<(), Failure> {
        self.advance_all(log, stop)?;
        self.merge_all(stop)
    }

    /// Makes a checkpoint of everything in the log that is durable now, batch by batch, and lets the log forget what
    /// the checkpoint holds.
    pub(crate) fn advance_all(&self, log: &dyn LiveSource, stop: &dyn Fn() -> bool) -> Result<(), Failure> {
        let done = self.advance_batches(log, stop);
        *self.memory() = Vec::new();
        done
    }

    fn advance_batches(&self, log: &dyn LiveSource, stop: &dyn Fn() -> bool) -> Result<(), Failure> {
        let until = log.durable();
        while self.position() < until {
            let from = self.position();
            let mut frames = log.frames(from)?;
            let mut frames = FramesUntil { frames: &mut *frames, until: Until::Position(until), end: from };
            let moved = self.advance(&mut frames, stop)?;
            log.discard_before(self.needed());
            if !moved {
                break;
            }
        }
        Ok(())
    }

    /// Makes all merges that are due.
    pub(crate) fn merge_all(&self, stop: &dyn Fn() -> bool) -> Result<(), Failure> {
        while self.merge(stop)? {}
        Ok(())
    }

    /// Returns the position from which on the log is still needed: that of the checkpoint, or of a pin that is older.
    pub fn needed(&self) -> u64 {
        let state = self.state();
        state.pins.least_position().map_or(state.manifest.position, |pinned| pinned.min(state.manifest.position))
    }

    /// Reads a batch of frames, which begin at the [position](Self::position), and publishes a checkpoint that holds
    /// them. Returns whether there were any.
    ///
    /// # Errors
    /// If a frame or file is damaged, if the disk refuses an operation, or [`Failure::Stopped`] if `stop` returns true.
    /// The checkpoint then stays as it was. After a publication that failed, every later step fails as well, until the
    /// directory is opened again.
    pub fn advance(&self, frames: &mut dyn Frames, stop: &dyn Fn() -> bool) -> Result<bool, Failure> {
        self.take_step(Step::Advance, stop, |manifest, output| {
            let mut batch = Batch::with_memory(std::mem::take(&mut *self.memory()));
            let from = manifest.position;
            while let Some(frame) = frames.next()? {
                output.check_stop()?;
                if frame.position < manifest.position {
                    return Err(Failure::damage("log", frame.position, "a frame that the checkpoint already holds"));
                }
                batch.add(manifest, &frame)?;
                manifest.position = frame.end;
                if batch.bytes() >= self.options.batch_bytes {
                    batch.sort();
                    if batch.bytes() >= self.options.batch_bytes / 2 {
                        break;
                    }
                    batch.compact();
                }
            }
            batch.sort();
            output.set_until(manifest.position);
            for id in batch.tables.keys() {
                write_delta(&batch, *id, manifest, output)?;
            }
            *self.memory() = batch.into_memory();
            Ok(manifest.position > from)
        })
    }

    /// Makes the merge that is most urgent. Returns false if none is due, or if the disk has no room for it.
    ///
    /// # Errors
    /// If a file is damaged, if the disk refuses an operation, or [`Failure::Stopped`] if `stop` returns true. The
    /// checkpoint is then in the state that [`advance`](Self::advance) describes.
    pub fn merge(&self, stop: &dyn Fn() -> bool) -> Result<bool, Failure> {
        self.take_step(Step::Merge, stop, |manifest, output| {
            let Some(due) = plan::due(manifest, &self.options) else { return Ok(false) };
            let free = self.disk.free_bytes().map_err(Failure::on(""))?;
            if free < due.bytes(manifest).saturating_add(self.options.reserve_bytes) {
                return Ok(false);
            }
            let files = Files::new(&*self.disk);
            match due {
                Due::Bases(tables) => {
                    for id in tables {
                        merge_base(&files, id, manifest, output)?;
                    }
                }
                Due::Deltas(id, range) => merge_deltas(&files, id, range, manifest, output)?,
                Due::Shared(shared) => merge_shared(&files, &shared, manifest, output)?,
            }
            Ok(true)
        })
    }

    /// Keeps the files of the present checkpoint, and the log after it, until the pin is dropped.
    pub fn pin(self: &Arc<Self>) -> Pin {
        Pin::new(self.clone())
    }

    /// Runs a step on a copy of the manifest. If the step returns true, its changes are published. Returns whether they
    /// were.
    fn take_step(
        &self,
        kind: Step,
        stop: &dyn Fn() -> bool,
        step: impl FnOnce(&mut Manifest, &mut Output<'_>) -> Result<bool, Failure>,
    ) -> Result<bool, Failure> {
        let alone = if kind == Step::Advance { &self.advancing } else { &self.merging };
        let _alone = alone.lock().unwrap_or_else(|poison| poison.into_inner());
        let (before, pin) = {
            let mut state = self.state();
            state.check()?;
            let manifest = state.manifest.clone();
            // A step of the other kind does not remove files that this one reads.
            (manifest.clone(), state.pins.add(manifest, false))
        };
        let next_file = || {
            let mut state = self.state();
            state.next_file += 1;
            state.next_file - 1
        };
        let mut output = Output::new(&*self.disk, &self.options, stop, &next_file);
        let mut after = (*before).clone();
        let done = step(&mut after, &mut output).and_then(|changed| {
            if changed {
                output.complete()?;
            }
            Ok(changed)
        });
        let done = match done {
            Ok(true) => self.publish(kind, &before, after, output).map(|()| true),
            other => {
                output.abandon();
                other
            }
        };
        self.state().unpin(pin, &*self.disk);
        done
    }

    /// Publishes the changes that a step has made since `before`, together with those that steps of the other kind have
    /// published in the meantime.
    fn publish(&self, kind: Step, before: &Manifest, after: Manifest, output: Output<'_>) -> Result<(), Failure> {
        let _alone = self.publishing.lock().unwrap_or_else(|poison| poison.into_inner());
        let (checked, current, next_file) = {
            let state = self.state();
            (state.check(), state.manifest.clone(), state.next_file)
        };
        let mut manifest = match kind {
            Step::Advance => combine(before, &current, &after),
            Step::Merge => combine(before, &after, &current),
        };
        manifest.next_file = next_file;
        let bytes = match checked.and_then(|()| manifest.write(&*self.disk)) {
            Ok(bytes) => bytes,
            Err(failure) => {
                output.abandon();
                return Err(failure);
            }
        };
        let published = Manifest::publish(&*self.disk);
        let mut state = self.state();
        if let Err(failure) = published {
            state.failed = Some(failure.to_string());
            return Err(failure);
        }
        let files = manifest.files();
        let gone = current.files().into_iter().chain(output.begun().iter().copied());
        state.pins.add_obsolete(gone.filter(|file| !files.contains(file)));
        state.manifest = Arc::new(manifest);
        state.written_bytes += bytes + output.bytes();
        state.published += 1;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    fn memory(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.memory.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl State {
    /// Returns an error if it is not known which manifest is durable.
    fn check(&self) -> Result<(), Failure> {
        let Some(failed) = &self.failed else { return Ok(()) };
        let text = format!("no checkpoint is made until the next start: {failed}");
        Err(Failure::Disk { name: String::new(), error: std::io::Error::other(text) })
    }

    /// Ends a pin, and removes files that nothing needs any more.
    fn unpin(&mut self, pin: u64, disk: &dyn Disk) {
        self.pins.remove(pin);
        if self.failed.is_none() {
            self.pins.sweep(disk);
        }
    }
}

/// Returns a manifest with the changes of both kinds of steps since `before`: the merged runs of `merged`, and
/// everything else of `advanced`. A merge replaces deltas that existed before, and the base below them. An advance adds
/// deltas after them. It extends the base only of a table without deltas, which no merge touches.
fn combine(before: &Manifest, merged: &Manifest, advanced: &Manifest) -> Manifest {
    let mut manifest = advanced.clone();
    for (id, old) in &before.tables {
        let (Some(new), Some(grown)) = (merged.tables.get(id), advanced.tables.get(id)) else { continue };
        if !Arc::ptr_eq(old, new) {
            let mut table = (**new).clone();
            table.deltas.extend_from_slice(&grown.deltas[old.deltas.len()..]);
            manifest.tables.insert(*id, Arc::new(table));
        }
    }
    manifest
}

/// Returns a table of the manifest to be changed. Copies of the manifest do not see the changes. The table must exist.
fn table_of(manifest: &mut Manifest, id: TableId) -> &mut Table {
    Arc::make_mut(manifest.tables.get_mut(&id).expect("the table is in the manifest"))
}

/// Writes the changes of a table in a batch as a delta. If the table has no deltas, and the changes are rows in files
/// of their own whose keys all come after those of the base, they extend the base instead.
fn write_delta(batch: &Batch, id: TableId, manifest: &mut Manifest, output: &mut Output<'_>) -> Result<(), Failure> {
    let table = table_of(manifest, id);
    let run = output.run(id, batch.section_bytes(id), table.is_empty(), &mut batch.sorted(id))?;
    let Some(first) = run.first() else { return Ok(()) };
    let is_pure = |part: &Part| !part.shared && part.absences == 0;
    let is_behind = table.base.last().is_none_or(|last| last.last < first.first);
    if table.deltas.is_empty() && is_behind && run.iter().all(is_pure) {
        table.base.extend(run);
    } else {
        table.deltas.push(run);
    }
    Ok(())
}

fn until(runs: &[Run]) -> u64 {
    runs.iter().flatten().map(|part| part.until).max().unwrap_or_default()
}

fn merge_base(files: &Files<'_>, id: TableId, manifest: &mut Manifest, output: &mut Output<'_>) -> Result<(), Failure> {
    let table = table_of(manifest, id);
    let bytes = table.runs().map(|run| bytes_of(run)).sum();
    output.set_until(until(&table.deltas));
    let mut merge = Merge::new(files, id, &table.shape, table.runs(), &(None, None))?;
    table.base = output.run(id, bytes, true, &mut merge)?;
    table.deltas.clear();
    Ok(())
}

/// Merges adjacent deltas of a table into one.
fn merge_deltas(
    files: &Files<'_>,
    id: TableId,
    range: Range<usize>,
    manifest: &mut Manifest,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let table = table_of(manifest, id);
    let runs = &table.deltas[range.clone()];
    let bytes = runs.iter().map(|run| bytes_of(run)).sum();
    output.set_until(until(runs));
    let mut merge = Merge::new(files, id, &table.shape, runs.iter(), &(None, None))?;
    let full = range.start == 0 && table.base.is_empty();
    let run = output.run(id, bytes, full, &mut merge)?;
    table.deltas.splice(range, Some(run).filter(|run| !run.is_empty()));
    Ok(())
}

/// Merges the sections of some shared files. Deltas of a table that lie between two of them are merged with them.
fn merge_shared(
    files: &Files<'_>,
    shared: &[u64],
    manifest: &mut Manifest,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let ids: Vec<_> = manifest.tables.keys().copied().collect();
    for id in ids {
        if let Some(range) = plan::span(&manifest.tables[&id], shared) {
            merge_deltas(files, id, range, manifest, output)?;
        }
    }
    Ok(())
}
