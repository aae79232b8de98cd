//! The data directory of a database with a log, as long as its runs last.

use crate::options::RunOptions;
use crate::report::LogReport;
use hotrow_log::directory::{Directory, LiveDirectory, Options};
use hotrow_log::recovery::Recovered;
use hotrow_log::writer::{Durability, Statistics};
use hotrow_sync::Arc;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use std::fs;
use std::path::PathBuf;

/// The number of folders that this process has made.
static MADE: AtomicU64 = AtomicU64::new(0);

/// A data directory that is in use. It is removed from the disk when the object is dropped.
pub(super) struct LogFolder {
    pub(super) live: Arc<LiveDirectory>,
    _folder: Folder,
}

/// A folder that is removed from the disk when the object is dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed is left to the user.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl LogFolder {
    /// Makes a data directory in the folder of `--data`.
    ///
    /// # Errors
    /// If there is no `--data`, or the folder cannot be used.
    pub(super) fn new(options: &RunOptions, durability: Durability) -> Result<Self, String> {
        let data = options.data.as_ref().ok_or("an engine with a log needs a folder: expected --data DIR")?;
        let number = MADE.fetch_add(1, Ordering::AcqRel);
        let folder = Folder(data.join(format!("hotrow-bench-{}-{number}", std::process::id())));
        let mut log = Options::default();
        log.log.durability = durability;
        let started = Directory::open(&folder.0).and_then(|directory| directory.start(&Recovered::default(), &log));
        let live = started.map_err(|failure| format!("{}: {failure}", folder.0.display()))?;
        Ok(Self { live: Arc::new(live), _folder: folder })
    }

    /// Waits until everything that was loaded is durable.
    pub(super) fn settle(&self) -> Result<(), String> {
        self.live.make_durable()
    }

    /// Returns the log's statistics and the number of completed checkpoint steps, so far.
    pub(super) fn figures(&self) -> (Statistics, u64) {
        (self.live.log().statistics(), self.live.checkpoints().statistics().published)
    }

    /// Makes the report on the log since the moment at which [`figures`](Self::figures) returned the given numbers.
    ///
    /// # Errors
    /// If the log has failed, or its disk is full.
    pub(super) fn since(&self, (before, steps_before): (Statistics, u64)) -> Result<LogReport, String> {
        let (after, steps) = self.figures();
        if let Some(why) = self.live.log().failure() {
            return Err(format!("the log has failed: {why}"));
        }
        if after.is_full {
            return Err("the disk of the log is full".to_owned());
        }
        Ok(LogReport::new(self.live.log().durability(), &before, &after, steps - steps_before))
    }
}
