//! CHECKPOINT and BACKUP TO, which concern the data directory.

use super::Session;
use super::output::Tag;
use crate::exec::Fail;
use crate::{SqlError, state};
use hotrow_log::directory::LiveDirectory;
use hotrow_log::disk::real::RealDisk;
use hotrow_log::failure::Failure;
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Wake, thread};
use hotrow_txn::Abort;
use std::path::Path;
use std::time::Duration;

/// The time between two checks whether a backup has been made.
const LOOK: Duration = Duration::from_millis(20);

impl Session {
    /// Runs CHECKPOINT: waits until a checkpoint contains all changes that are durable now. Does nothing if the
    /// database is in memory only.
    ///
    /// # Errors
    /// 58030 if the checkpoint cannot be made, 57014 if the statement is cancelled.
    pub(super) fn checkpoint(&self) -> Result<Tag, Fail> {
        if let Some(directory) = self.database.directory() {
            match directory.checkpoint(&self.waiter) {
                Ok(true) => {}
                Ok(false) => return Err(Abort::Cancelled.into()),
                Err(why) => {
                    let message = format!("could not make a checkpoint: {why}");
                    return Err(SqlError::new(state::IO_ERROR, message).into());
                }
            }
        }
        Ok(Tag::Word("CHECKPOINT"))
    }

    /// Runs BACKUP TO: writes a backup into a folder on the server's machine, which is created if it does not exist.
    ///
    /// # Errors
    /// 55000 if the database is in memory only, 42501 if the user must not make backups, 22023 if the folder cannot be
    /// used, 58030 if a file cannot be read or written, 57014 if the statement is cancelled. After an error the folder
    /// contains no complete backup.
    pub(super) fn back_up(&self, folder: &str) -> Result<Tag, Fail> {
        let Some(directory) = self.database.directory() else {
            let message = "there is no backup of a database that is in memory only";
            return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message).into());
        };
        if self.database.config.administrator.as_ref().is_some_and(|user| *user != self.user) {
            return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, "only the administrator may make backups").into());
        }
        if !Path::new(folder).is_absolute() {
            let message = format!("\"{folder}\" is no absolute path: expected a folder of the server's machine");
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message).into());
        }
        self.watch_backup(directory, folder)?;
        Ok(Tag::Word("BACKUP"))
    }

    /// Makes a backup on a thread of its own, so that the session's thread can serve other sessions and the statement
    /// can be cancelled.
    fn watch_backup(&self, directory: &Arc<LiveDirectory>, folder: &str) -> Result<(), Fail> {
        let (directory, path) = (directory.clone(), Path::new(folder).to_owned());
        let stop: Arc<AtomicBool> = Arc::default();
        let stopped = stop.clone();
        let make = move || {
            let dest = RealDisk::create(&path).map_err(|error| Failure::Refused(error.to_string()))?;
            directory.backup(&*dest, &mut |_, _| !stopped.load(Ordering::Acquire))
        };
        let failed = |what: String| SqlError::new(state::IO_ERROR, what);
        let thread = thread::Builder::new().name("backup".to_owned()).spawn(make);
        let thread = thread.map_err(|error| failed(format!("could not start a thread: {error}")))?;
        while !thread.is_finished() {
            if self.waiter.rest(LOOK) == Wake::Cancelled {
                stop.store(true, Ordering::Release);
                return Err(Abort::Cancelled.into());
            }
        }
        match thread.join() {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(failure)) => Err(explain(folder, &failure).into()),
            Err(_) => Err(failed("the thread that made the backup has panicked".to_owned()).into()),
        }
    }
}

fn explain(folder: &str, failure: &Failure) -> SqlError {
    let state = match failure {
        Failure::Refused(_) => state::INVALID_PARAMETER_VALUE,
        _ => state::IO_ERROR,
    };
    SqlError::new(state, format!("could not make a backup in \"{folder}\": {failure}"))
}
