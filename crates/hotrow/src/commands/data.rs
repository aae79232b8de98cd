//! Data directories and backups on the command line: how they are opened, and how progress is shown.

use super::Failure;
use hotrow_log::directory::open_log;
use hotrow_log::disk::real::{DirectoryLock, RealDisk};
use hotrow_log::recovery::Progress;
use hotrow_log::source;
use hotrow_sync::{Arc, Mutex};
use jiff::Timestamp;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// The least time between two lines about the progress.
const INTERVAL: Duration = Duration::from_secs(1);

/// The microseconds from the beginning of 1970 to that of 2000, which the log's times count from.
pub const EPOCH_2000: i64 = 946_684_800_000_000;

/// A data directory or a backup that is open for reading.
pub struct Source {
    /// The folder with the files.
    pub disk: Arc<RealDisk>,
    /// The log that the files contain.
    pub log: Box<dyn source::Source>,
    _lock: Option<DirectoryLock>,
}

impl Source {
    /// Opens a folder, which must exist. A data directory must not be in use.
    ///
    /// # Errors
    /// [`Failure::Usage`] if there is no such folder; [`Failure::Failed`] if it cannot be read or is in use.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let disk = RealDisk::open(folder).map_err(|error| {
            Failure::Usage(format!("{}: {error}: expected a data directory or a backup", folder.display()))
        })?;
        // A backup has no lock, and may be on a medium that is only read.
        let has_lock = folder.join("LOCK").exists();
        let lock = has_lock.then(|| disk.lock()).transpose().map_err(|error| failed(folder, &error))?;
        let log = open_log(&*disk).map_err(|failure| failed(folder, &failure))?;
        Ok(Self { disk, log, _lock: lock })
    }
}

/// Returns the failure of a command, with the name of the folder and the reason.
pub fn failed(folder: &Path, why: &dyn Display) -> Failure {
    Failure::Failed(format!("{}: {why}", folder.display()))
}

/// Formats a number of bytes for people: in bytes, KiB or MiB.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_485_760 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// Formats a time of the log, in microseconds since 2000, for people: date and time in UTC.
pub fn time(micros: i64) -> String {
    let timestamp = Timestamp::from_microsecond(micros.saturating_add(EPOCH_2000));
    timestamp.map_or_else(|_| format!("{micros} us since 2000"), |timestamp| timestamp.to_string())
}

/// The time at which the next line about the progress is due, and the start of the work.
#[derive(Clone, Copy, Debug)]
struct Due {
    began: Instant,
    next: Instant,
}

impl Due {
    fn new() -> Self {
        let began = Instant::now();
        Self { began, next: began + INTERVAL }
    }

    /// Whether a line is due. If so, the next one is due after [`INTERVAL`].
    fn take(&mut self) -> bool {
        let now = Instant::now();
        let is_due = now >= self.next;
        if is_due {
            self.next = now + INTERVAL;
        }
        is_due
    }

    /// Describes the bytes that are done, and the time that the rest will take at the average speed so far.
    fn left(&self, done: u64, total: u64) -> String {
        let left = self.began.elapsed().as_secs_f64() * total.saturating_sub(done) as f64 / done.max(1) as f64;
        format!("{} of {}, about {left:.0} s left", size(done), size(total))
    }
}

/// The progress of a copy, on standard error.
#[derive(Debug)]
pub struct Bytes(Due);

impl Bytes {
    /// Makes the progress of work that begins now.
    pub fn new() -> Self {
        Self(Due::new())
    }

    /// Shows how far the copy is, at most once a second. Returns true, which tells the copy to go on.
    pub fn show(&mut self, done: u64, total: u64) -> bool {
        if self.0.take() {
            // If standard error is closed, nobody wants to know.
            let _ = writeln!(io::stderr(), "copied {}", self.0.left(done, total));
        }
        true
    }
}

/// The progress of a recovery, on standard error.
#[derive(Debug)]
pub struct Recovering(Mutex<Due>);

impl Recovering {
    /// Makes the progress of work that begins now.
    pub fn new() -> Self {
        Self(Mutex::new(Due::new()))
    }

    /// Shows how far the recovery is, at most once a second. Any thread may call this.
    pub fn show(&self, progress: Progress) {
        let mut due = self.0.lock().unwrap_or_else(|poison| poison.into_inner());
        if due.take() {
            let Progress { tables, rows, bytes, bytes_in_total } = progress;
            let left = due.left(bytes, bytes_in_total);
            let _ = writeln!(io::stderr(), "recovering: {tables} tables, {rows} rows, {left}");
        }
    }

    /// Returns the time since the work began.
    pub fn elapsed(&self) -> Duration {
        self.0.lock().unwrap_or_else(|poison| poison.into_inner()).began.elapsed()
    }
}
