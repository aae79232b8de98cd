//! A data directory in use: the right to it, its rows at the start, and the threads that keep it.
//!
//! 1. [`Directory::open`] takes the lock of the folder and looks at its format.
//! 2. [`recover`](Directory::recover) gives the rows to an empty database.
//! 3. [`start`](Directory::start) opens the log for writing where it ended, and starts the threads that write it and
//!    make checkpoints.
//!
//! Before the last step, nothing is made or changed but the folder, if it is missing, and the file of the lock. So a
//! directory that is refused, or a recovery that fails, leaves everything as it was.

use crate::backup::{self, BackupLog, Contents};
use crate::checkpoint::{self, Checkpointer, Checkpoints};
use crate::disk::Disk;
use crate::disk::real::{DirectoryLock, RealDisk};
use crate::failure::Failure;
use crate::reader::LogFiles;
use crate::recovery::{self, Progress, Recovered, Target, recover};
use crate::source::{LiveSource, Source};
use crate::writer::{self, Log, LogThreads};
use crate::{format, frame_file};
use hotrow_storage::{Change, End, LogFailed, Position, RedoSink, Refusal, RowRef, TableId, TableSchema};
use hotrow_sync::{Arc, Waiter, Wake};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time between two checks whether another thread has finished a step.
const LOOK: Duration = Duration::from_millis(5);

/// The least length of a segment, in bytes, that [`Options::checkpoint_after`] sets.
const LEAST_SEGMENT_BYTES: u64 = 1 << 20;

/// The options of a data directory.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The options of the log.
    pub log: writer::Options,
    /// The sizes of checkpoints.
    pub checkpoints: checkpoint::Options,
    /// The options of the recovery.
    pub recovery: recovery::Options,
}

impl Options {
    /// Sets the number of bytes of log after which a checkpoint begins. The log gives space back in whole segments, so
    /// they get a quarter of that as their length: at least 1 MiB, at most the default.
    #[must_use]
    pub fn checkpoint_after(mut self, bytes: u64) -> Self {
        let longest = writer::Options::default().segment_bytes;
        self.log.segment_bytes = (bytes / 4).next_multiple_of(LEAST_SEGMENT_BYTES).clamp(LEAST_SEGMENT_BYTES, longest);
        self.checkpoints.trigger_bytes = bytes;
        self
    }
}

/// A data directory that is open, but not being written yet.
#[derive(Debug)]
pub struct Directory {
    disk: Arc<dyn Disk>,
    folder: Option<PathBuf>,
    /// Whether there is no data yet.
    is_new: bool,
    _lock: Option<DirectoryLock>,
}

/// A data directory that is being written. Dropping it makes all records durable, if that is possible, ends the threads
/// and gives up the right to the directory.
#[derive(Debug)]
pub struct LiveDirectory {
    // The threads end before the lock is given up, and those that read the log before those that write it.
    checkpointer: Checkpointer,
    checkpoints: Arc<Checkpoints>,
    _threads: LogThreads,
    log: Arc<Log>,
    folder: Option<PathBuf>,
    /// The time of day at which the log was opened, in microseconds since 2000-01-01 UTC.
    opened: i64,
    _lock: Option<DirectoryLock>,
}

impl Directory {
    /// Opens the data directory in a folder, and takes the exclusive right to use it. The folder is made if it is
    /// missing.
    ///
    /// # Errors
    /// If another process uses the folder, if it has files that are not those of a data directory, if it has another
    /// format, or if the system refuses it.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let disk = RealDisk::create(folder).map_err(Failure::on(""))?;
        let lock = disk.lock().map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => Failure::Refused(error.to_string()),
            _ => Failure::on("LOCK")(error),
        })?;
        Ok(Self { folder: Some(folder.to_owned()), _lock: Some(lock), ..Self::over(disk)? })
    }

    /// Opens the data directory on a disk that nothing but the caller uses. No lock is taken.
    ///
    /// # Errors
    /// If the disk has files that are not those of a data directory, if it has another format, or if it refuses an
    /// operation.
    pub fn over(disk: Arc<dyn Disk>) -> Result<Self, Failure> {
        let names = disk.list("").map_err(Failure::on(""))?;
        if names.iter().any(|name| name == frame_file::NAME) {
            let text = "this is a backup: expected a data directory, which hotrow restore makes of it";
            return Err(Failure::Refused(text.to_owned()));
        }
        let is_new = !format::check(&*disk)?;
        let of_others = names.iter().find(|name| !format::is_of_new_directory(name));
        match of_others.filter(|_| is_new) {
            Some(name) => Err(Failure::Refused(format!(
                "there is {name}, and no data of Hotrow: expected a data directory, or one that is empty or not there"
            ))),
            None => Ok(Self { disk, folder: None, is_new, _lock: None }),
        }
    }

    /// Whether there is no data yet.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Gives the tables and rows to an empty database. `progress` is called by all threads, about every 4 MiB.
    ///
    /// # Errors
    /// See [`recover`]. The directory is never changed.
    pub fn recover(
        &self,
        target: &dyn Target,
        options: &recovery::Options,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Recovered, Failure> {
        if self.is_new {
            return Ok(Recovered::default());
        }
        let log = LogFiles::open(&*self.disk)?;
        recover(&*self.disk, &log, target, options, progress)
    }

    /// Opens the log for writing at the end that the recovery found, and starts the threads.
    ///
    /// # Errors
    /// If the options of the log are not allowed; nothing is made then. If the disk refuses an operation or has no room
    /// for a segment, or if the system refuses a thread.
    pub fn start(self, recovered: &Recovered, options: &Options) -> Result<LiveDirectory, Failure> {
        options.log.check()?;
        if self.is_new {
            format::create(&*self.disk)?;
        }
        let checkpoints = Checkpoints::open(self.disk.clone(), options.checkpoints.clone())?;
        let log = Log::open(self.disk.clone(), &options.log, recovered.end)?;
        log.discard_before(checkpoints.needed());
        let of_threads = |error| Failure::Disk { name: "a thread".to_owned(), error };
        let threads = LogThreads::start(log.clone()).map_err(of_threads)?;
        let checkpointer = Checkpointer::start(checkpoints.clone(), log.clone()).map_err(of_threads)?;
        let Self { folder, _lock, .. } = self;
        let opened = log.time_of_day();
        Ok(LiveDirectory { checkpointer, checkpoints, _threads: threads, log, folder, opened, _lock })
    }

    /// Copies a directory that is not being written into an empty one: see [`backup`](backup::backup). Files that an
    /// interrupted checkpoint has left are removed from the source.
    ///
    /// # Errors
    /// See there.
    pub fn backup(&self, dest: &dyn Disk, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<Contents, Failure> {
        if self.is_new {
            return Err(Failure::Refused("there is no data: expected a data directory".to_owned()));
        }
        let log = LogFiles::open(&*self.disk)?;
        let checkpoints = Checkpoints::open(self.disk.clone(), checkpoint::Options::default())?;
        backup::backup(&checkpoints, &log, &|| u64::MAX, dest, progress)
    }
}

impl LiveDirectory {
    /// Returns the log.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Returns the sink for the redo records of a database. The directory stays in use as long as the database has the
    /// sink.
    pub fn sink(self: &Arc<Self>) -> Arc<dyn RedoSink> {
        self.clone()
    }

    /// Returns the folder, or `None` if the directory is on no file system.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Makes all records durable that were appended, whatever the [durability](writer::Durability) of the log.
    ///
    /// # Errors
    /// If the log has failed or its disk is full. The text says so, for people.
    pub fn make_durable(&self) -> Result<(), String> {
        if self.log.close() {
            return Ok(());
        }
        Err(self.log.failure().unwrap_or_else(|| "the disk of the log is full".to_owned()))
    }

    /// Returns the checkpoint.
    pub fn checkpoints(&self) -> &Arc<Checkpoints> {
        &self.checkpoints
    }

    /// Returns why the last checkpoint or the last merge failed, for people, or `None` if neither failed.
    pub fn checkpoint_failure(&self) -> Option<String> {
        self.checkpointer.failure()
    }

    /// Returns about how old the oldest durable change is that the checkpoint does not hold, or zero if there is none.
    pub fn checkpoint_age(&self) -> Duration {
        let (position, time) = (self.checkpoints.position(), self.checkpoints.time());
        if position >= self.log.durable() {
            return Duration::ZERO;
        }
        let began = time.unwrap_or(self.opened);
        Duration::from_micros(u64::try_from(self.log.time_of_day().saturating_sub(began)).unwrap_or_default())
    }

    /// Asks for a checkpoint, and waits until it holds everything that was durable when the call began. Returns false
    /// if the waiter was cancelled.
    ///
    /// # Errors
    /// If the checkpoint cannot be made. The text says why, for people.
    pub fn checkpoint(&self, waiter: &Waiter) -> Result<bool, String> {
        let until = self.log.durable();
        self.checkpointer.ask();
        while self.checkpoints.position() < until {
            if let Some(failure) = self.checkpointer.failure_to_advance().or_else(|| self.log.failure()) {
                return Err(failure);
            }
            if waiter.rest(LOOK) == Wake::Cancelled {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Copies the directory into an empty one while it is in use: see [`backup`](backup::backup).
    ///
    /// # Errors
    /// See there.
    pub fn backup(&self, dest: &dyn Disk, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<Contents, Failure> {
        backup::backup(&self.checkpoints, &*self.log, &|| self.log.durable(), dest, progress)
    }
}

impl RedoSink for LiveDirectory {
    fn created(&self, table: TableId, schema: &TableSchema) {
        self.log.created(table, schema);
    }

    fn loaded(&self, table: TableId, row: RowRef<'_>) {
        self.log.loaded(table, row);
    }

    fn dropped(&self, table: TableId) {
        self.log.dropped(table);
    }

    fn append(&self, end: End, changes: &mut dyn Iterator<Item = Change<'_>>, waiter: &Waiter) -> Position {
        self.log.append(end, changes, waiter)
    }

    fn appended(&self) -> Position {
        self.log.appended()
    }

    fn wait_durable(&self, position: Position, waiter: &Waiter) -> Result<(), LogFailed> {
        self.log.wait_durable(position, waiter)
    }

    fn admits(&self) -> Result<(), Refusal> {
        self.log.admits()
    }
}

/// Opens the log of a backup, or of a data directory that is not being written.
///
/// # Errors
/// If a file is damaged, has another format or cannot be read.
pub fn open_log(disk: &dyn Disk) -> Result<Box<dyn Source>, Failure> {
    let names = disk.list("").map_err(Failure::on(""))?;
    if names.iter().any(|name| name == frame_file::NAME) {
        return Ok(Box::new(BackupLog::open(disk)?));
    }
    Ok(Box::new(LogFiles::open(disk)?))
}
