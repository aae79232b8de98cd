//! A database under one protocol.

use hotrow_storage::{
    Duplicate, Participant, RedoSink, RowLayout, RowRef, StoredTable, TableId, TableMemory, TableSchema, Tables,
};
use hotrow_sync::{Arc, Mutex, Waiter};
use hotrow_txn::{
    AdmissionStatistics, Duties, EarlyReleaseStatistics, Engine, EngineInfo, Inspection, LockStatistics, LockWait,
    Protocol, Transaction, VersionStatistics, WorkerId,
};

/// A database under protocol `P`. Callers that know the protocol's type use it directly, and all others as an
/// [`Engine`].
pub struct Instance<P: Protocol> {
    protocol: Arc<P>,
    database: Arc<Tables<P::Table>>,
    /// Participants that calls outside of transactions use, one at a time.
    spare: Mutex<Vec<Participant>>,
}

impl<P: Protocol> Instance<P> {
    /// Makes an empty database.
    pub fn new(config: P::Config) -> Arc<Self> {
        let protocol = Arc::new(P::new(config));
        let database = Tables::with_parts(protocol.parts());
        Arc::new(Self { protocol, database, spare: Mutex::new(Vec::new()) })
    }

    /// Returns the protocol of the database.
    pub fn protocol(&self) -> &Arc<P> {
        &self.protocol
    }

    /// Returns the tables of the database.
    pub fn database(&self) -> &Arc<Tables<P::Table>> {
        &self.database
    }

    /// Returns a new state for worker `id`, which the worker's transactions share.
    pub fn worker(&self, id: WorkerId) -> P::Worker {
        self.protocol.worker(id)
    }

    /// Makes a transaction object on `worker`, which waits through `waiter`.
    pub fn transaction(&self, worker: &mut P::Worker, waiter: Waiter) -> P::Transaction {
        self.protocol.transaction(&self.database, worker, waiter)
    }

    fn assert_admits(&self, schema: &TableSchema) {
        if let Err(refused) = self.protocol.admits(schema) {
            panic!("table {}: {refused}", schema.name);
        }
    }

    fn entered<R>(&self, work: impl FnOnce(&Participant) -> R) -> R {
        let spare = self.spare.lock().unwrap_or_else(|poison| poison.into_inner()).pop();
        let mut participant = spare.unwrap_or_else(|| self.database.participant());
        participant.enter();
        let result = work(&participant);
        participant.leave();
        self.spare.lock().unwrap_or_else(|poison| poison.into_inner()).push(participant);
        result
    }

    fn with_table<R>(&self, table: TableId, look: impl FnOnce(&P::Table) -> R) -> R {
        self.entered(|participant| {
            let found = self.database.table(participant.guard(), table);
            look(found.unwrap_or_else(|| panic!("there is no table {}", table.0)))
        })
    }
}

impl<P: Protocol> Engine for Instance<P> {
    fn info(&self) -> &'static EngineInfo {
        &P::INFO
    }

    fn admits(&self, schema: &TableSchema) -> Result<(), String> {
        self.protocol.admits(schema)
    }

    fn set_redo(&self, sink: Arc<dyn RedoSink>) {
        self.database.set_redo(sink);
    }

    fn create_table(&self, schema: TableSchema) -> TableId {
        self.assert_admits(&schema);
        self.database.create_table(schema)
    }

    fn restore_table(&self, table: TableId, schema: TableSchema) {
        self.assert_admits(&schema);
        self.database.restore_table(table, schema);
    }

    fn skip_tables(&self, first: TableId) {
        self.database.skip_tables(first);
    }

    fn tables(&self) -> Vec<TableId> {
        self.database.numbers()
    }

    fn drop_table(&self, table: TableId) {
        self.database.drop_table(table);
    }

    fn schema(&self, table: TableId) -> Arc<TableSchema> {
        self.with_table(table, |table| table.schema().clone())
    }

    fn layout(&self, table: TableId) -> Arc<RowLayout> {
        self.with_table(table, |table| table.layout().clone())
    }

    fn load_rows(&self, table: TableId, rows: &[RowRef<'_>]) -> Result<(), (usize, Duplicate)> {
        self.entered(|participant| self.database.load_rows(participant.guard(), table, rows))
    }

    fn attendants(&self) -> Vec<Box<dyn Duties>> {
        self.protocol.attendants()
    }

    fn transaction(&self, waiter: Waiter) -> Box<dyn Transaction> {
        let mut worker = self.protocol.worker(WorkerId::default());
        Box::new(self.protocol.transaction(&self.database, &mut worker, waiter))
    }
}

impl<P: Protocol> Inspection for Instance<P> {
    fn row_count(&self, table: TableId) -> u64 {
        self.with_table(table, |table| table.row_count())
    }

    fn memory(&self, table: TableId) -> TableMemory {
        self.entered(|participant| {
            let found = self.database.table(participant.guard(), table);
            found.unwrap_or_else(|| panic!("there is no table {}", table.0)).memory(participant.guard())
        })
    }

    fn spare_bytes(&self, table: TableId) -> usize {
        self.with_table(table, |table| table.spare_bytes())
    }

    fn versions(&self) -> Option<VersionStatistics> {
        self.protocol.versions(&self.database)
    }

    fn locks(&self) -> Option<LockStatistics> {
        self.protocol.locks(&self.database)
    }

    fn admission(&self) -> Option<AdmissionStatistics> {
        self.protocol.admission()
    }

    fn early_release(&self) -> Option<EarlyReleaseStatistics> {
        self.protocol.early_release()
    }

    fn lock_waits(&self) -> Vec<LockWait> {
        self.protocol.lock_waits()
    }

    fn audit(&self) -> Result<(), String> {
        self.protocol.audit(&self.database)
    }
}
