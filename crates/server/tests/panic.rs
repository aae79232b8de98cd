//! A defect in the engine ends one session, and only that one.

mod common;

use common::Running;
use hotrow_server::ServerConfig;
use hotrow_storage::{Duplicate, Key, RedoSink, RowLayout, RowMut, RowRef, TableId, TableMemory, TableSchema};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Begin, Engine, EngineInfo, Savepoint, Scan, Statistics, Transaction, Write};
use std::ops::ControlFlow;
use std::time::Duration;

/// The engine `2pl-timeout`, but for a defect in deleting.
struct Defective(Arc<dyn Engine>);

impl Engine for Defective {
    fn info(&self) -> &'static EngineInfo {
        self.0.info()
    }

    fn set_redo(&self, sink: Arc<dyn RedoSink>) {
        self.0.set_redo(sink);
    }

    fn create_table(&self, schema: TableSchema) -> TableId {
        self.0.create_table(schema)
    }

    fn drop_table(&self, table: TableId) {
        self.0.drop_table(table);
    }

    fn schema(&self, table: TableId) -> Arc<TableSchema> {
        self.0.schema(table)
    }

    fn layout(&self, table: TableId) -> Arc<RowLayout> {
        self.0.layout(table)
    }

    fn row_count(&self, table: TableId) -> u64 {
        self.0.row_count(table)
    }

    fn memory(&self, table: TableId) -> TableMemory {
        self.0.memory(table)
    }

    fn load(&self, table: TableId, row: RowRef<'_>) -> Result<(), Duplicate> {
        self.0.load(table, row)
    }

    fn transaction(&self, waiter: Waiter) -> Box<dyn Transaction> {
        Box::new(DefectiveTransaction(self.0.transaction(waiter)))
    }
}

struct DefectiveTransaction(Box<dyn Transaction>);

impl Transaction for DefectiveTransaction {
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        self.0.begin(begin)
    }

    fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.0.read(table, key)
    }

    fn read_for_update(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.0.read_for_update(table, key)
    }

    fn update(
        &mut self,
        table: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.0.update(table, key, change)
    }

    fn insert(&mut self, table: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        self.0.insert(table, row)
    }

    fn delete(&mut self, _: TableId, _: &Key) -> Result<Write, Abort> {
        panic!("a defect, on purpose")
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        self.0.scan(scan, visit)
    }

    fn hold_reads(&mut self, hold: bool) {
        self.0.hold_reads(hold);
    }

    fn own_table(&mut self, table: TableId) {
        self.0.own_table(table);
    }

    fn savepoint(&mut self) -> Savepoint {
        self.0.savepoint()
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        self.0.rollback_to(savepoint);
    }

    fn give_way(&mut self, to: Option<Savepoint>, limit: Option<Duration>) -> Result<bool, Abort> {
        self.0.give_way(to, limit)
    }

    fn commit(&mut self) -> Result<(), Abort> {
        self.0.commit()
    }

    fn abort(&mut self) {
        self.0.abort();
    }

    fn idle(&mut self) {
        self.0.idle();
    }

    fn statistics(&mut self) -> &mut Statistics {
        self.0.statistics()
    }
}

#[test]
fn a_panic_ends_its_session_and_releases_its_locks() {
    let engine = hotrow_protocols::open("2pl-timeout").unwrap();
    let server = Running::over(Arc::new(Defective(engine)), ServerConfig::default());
    let mut client = server.client();
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0), (2, 0)");
    let mut other = server.client();
    other.run("BEGIN; UPDATE t SET v = 1");
    other.send_query("DELETE FROM t WHERE id = 1");
    let failure = other.last_words().unwrap();
    assert_eq!((failure.severity.as_str(), failure.code.as_str()), ("FATAL", "XX000"));
    client.run("UPDATE t SET v = v + 2");
    assert_eq!(client.column("SELECT v FROM t ORDER BY id"), ["2", "2"]);
}
