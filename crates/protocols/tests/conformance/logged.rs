//! A redo sink with a log on a simulated disk, from which the database is recovered.

use hotrow_check::RedoRecorder;
use hotrow_log::directory::Directory;
use hotrow_log::disk::simulated::SimulatedDisk;
use hotrow_log::writer::{Clock, Flushed, Log, Options};
use hotrow_log::{format, recovery};
use hotrow_protocols::open;
use hotrow_storage::{Change, End, LogFailed, Position, RedoSink, Refusal, RowRef, TableId, TableSchema};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::Engine;

/// A log that is written by the transactions that wait for it, and a recorder of the same records.
pub struct Logged {
    disk: Arc<SimulatedDisk>,
    log: Arc<Log>,
    pub recorder: Arc<RedoRecorder>,
}

impl Logged {
    /// Makes a new data directory.
    pub fn new() -> Arc<Self> {
        let disk = SimulatedDisk::new(0);
        let options = Options { segment_bytes: 1 << 20, clock: Clock(Arc::new(|| 0)), ..Options::default() };
        format::create(&*disk).expect("the disk has no faults");
        let log = Log::open(disk.clone(), &options, 0).expect("the disk has no faults");
        Arc::new(Self { disk, log, recorder: RedoRecorder::new() })
    }

    /// The database that is recovered after the power has failed has the rows of the records.
    pub fn check(&self, engine: &dyn Engine) -> Result<(), String> {
        let recovered = open(engine.info().name).map_err(|unknown| unknown.to_string())?;
        let target: &dyn Engine = &*recovered;
        let directory = Directory::over(self.disk.crash()).map_err(|failure| failure.to_string())?;
        let options = recovery::Options { threads: 2, ..recovery::Options::default() };
        directory.recover(&target, &options, &|_| ()).map_err(|failure| failure.to_string())?;
        self.recorder.compare(target)
    }
}

impl RedoSink for Logged {
    fn created(&self, table: TableId, schema: &TableSchema) {
        self.recorder.created(table, schema);
        self.log.created(table, schema);
    }

    fn loaded(&self, table: TableId, row: RowRef<'_>) {
        self.recorder.loaded(table, row);
        self.log.loaded(table, row);
    }

    fn dropped(&self, table: TableId) {
        self.recorder.dropped(table);
        self.log.dropped(table);
    }

    fn append(&self, end: End, changes: &mut dyn Iterator<Item = Change<'_>>, waiter: &Waiter) -> Position {
        let changes: Vec<_> = changes.collect();
        self.recorder.append(end, &mut changes.iter().cloned(), waiter);
        self.log.append(end, &mut changes.into_iter(), waiter)
    }

    fn appended(&self) -> Position {
        self.log.appended()
    }

    fn wait_durable(&self, position: Position, waiter: &Waiter) -> Result<(), LogFailed> {
        while self.log.flush() == Flushed::Done {}
        self.log.wait_durable(position, waiter)
    }

    fn admits(&self) -> Result<(), Refusal> {
        self.log.admits()
    }
}
