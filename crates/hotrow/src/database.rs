//! A database with everything that belongs to it: the engine, SQL, and the data directory.

use hotrow_log::directory::{self, Directory, LiveDirectory};
use hotrow_log::failure::Failure;
use hotrow_log::recovery::{Progress, Recovered};
use hotrow_storage::LogFailed;
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Engine, Settings};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The options of a [`Database`].
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the engine. A database may be opened with another engine than before, if that engine admits its
    /// tables.
    pub engine: String,
    /// The settings of the engine.
    pub settings: Settings,
    /// The configuration of SQL. The database sets [`directory`](hotrow_sql::Config::directory).
    pub sql: hotrow_sql::Config,
    /// The options of the log, of checkpoints and of the recovery. A database in memory has no use for them.
    pub data: directory::Options,
}

impl Default for Options {
    /// Returns options with the engine `ilock`. Commits wait until they are durable.
    fn default() -> Self {
        Self {
            engine: "ilock".to_owned(),
            settings: Settings::default(),
            sql: hotrow_sql::Config::default(),
            data: directory::Options::default(),
        }
    }
}

/// A database: its engine, and SQL over the same tables. A durable one also has a data directory, which it uses until
/// the last session, transaction and handle of the engine is dropped.
#[derive(Debug)]
pub struct Database {
    sql: Arc<hotrow_sql::Database>,
    recovered: Recovered,
}

/// The reason why a database cannot be opened. The attempt has changed no rows in the data directory.
#[derive(Debug)]
pub enum OpenError {
    /// There is no engine of this name, or it cannot have these settings.
    Engine(hotrow_protocols::OpenError),
    /// The data directory cannot be used, is damaged, or has tables that the engine does not admit.
    Data(Failure),
    /// The stored definition of a table or another object cannot be read.
    Definition(hotrow_sql::OpenError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Engine(error) => error.fmt(f),
            OpenError::Data(failure) => failure.fmt(f),
            OpenError::Definition(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

impl Database {
    /// Makes an empty database that is in memory only.
    ///
    /// # Errors
    /// [`OpenError::Engine`] if there is no such engine, or it cannot have the settings.
    pub fn in_memory(options: &Options) -> Result<Self, OpenError> {
        let engine = open_engine(options)?;
        Ok(Self { sql: hotrow_sql::Database::new(engine, options.sql.clone()), recovered: Recovered::default() })
    }

    /// Opens the database in a data directory, which is made if there is none. The database has the state that the last
    /// process left, up to the last durable commit.
    ///
    /// # Errors
    /// See [`OpenError`]; for example if another process uses the directory.
    pub fn open(folder: impl AsRef<Path>, options: &Options) -> Result<Self, OpenError> {
        Self::open_with(folder.as_ref(), options, &|_| {})
    }

    /// Opens the database as [`open`](Self::open) does. Each thread of the recovery calls `progress` about every 4 MiB.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_with(
        folder: &Path,
        options: &Options,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Self, OpenError> {
        let engine = open_engine(options)?;
        let directory = Directory::open(folder).map_err(OpenError::Data)?;
        let recovered = directory.recover(&&*engine, &options.data.recovery, progress).map_err(OpenError::Data)?;
        let live = Arc::new(directory.start(&recovered, &options.data).map_err(OpenError::Data)?);
        let config = hotrow_sql::Config { directory: Some(live.clone()), ..options.sql.clone() };
        let sql = hotrow_sql::Database::open(engine, live.sink(), config).map_err(OpenError::Definition)?;
        Ok(Self { sql, recovered })
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        self.sql.engine()
    }

    /// Returns the SQL database, which opens further sessions and has the catalog.
    pub fn sql(&self) -> &Arc<hotrow_sql::Database> {
        &self.sql
    }

    /// Returns the data directory, or `None` if the database is in memory only.
    pub fn directory(&self) -> Option<&Arc<LiveDirectory>> {
        self.sql.directory()
    }

    /// Returns the report on the recovery: what was in the data directory when the database was opened. The report of a
    /// database in memory is empty.
    pub fn recovered(&self) -> &Recovered {
        &self.recovered
    }

    /// Opens a session for SQL, as `user`. The session's waits block its thread.
    pub fn session(&self, user: &str) -> hotrow_sql::Session {
        self.sql.session(user, Waiter::thread(Duration::ZERO))
    }

    /// Opens a session for [procedures](hotrow_txn::Procedure) and interactive transactions. Its waits block its
    /// thread.
    pub fn worker(&self) -> hotrow_runtime::Session {
        hotrow_runtime::Session::new(&**self.engine())
    }

    /// Closes the database. All sessions have ended. When the call returns, every commit is durable, whatever the
    /// options, and sequences will go on without a gap. If the database is dropped instead, its records become durable,
    /// too, if that is possible; but no error is reported, and sequences may skip numbers.
    ///
    /// # Errors
    /// If the log has failed, or the disk is full.
    pub fn close(self) -> Result<(), LogFailed> {
        self.sql.close()?;
        self.directory().map_or(Ok(()), |directory| directory.make_durable().map_err(|_| LogFailed))
    }
}

fn open_engine(options: &Options) -> Result<Arc<dyn Engine>, OpenError> {
    hotrow_protocols::open_with(&options.engine, &options.settings).map_err(OpenError::Engine)
}
