//! A defect in the engine ends one session, and only that one.

mod common;

use common::Running;
use hotrow_server::ServerConfig;
use hotrow_storage::{Key, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Diagnostics, Engine, Holding, Inspection, Planned, Transaction, Write, Yielding, forward};

/// The engine `2pl-timeout`, but for a defect in deleting.
struct Defective(Arc<dyn Engine>);

impl Engine for Defective {
    forward!(0: info, admits, set_redo, create_table, restore_table, skip_tables, tables);
    forward!(0: drop_table, schema, layout, load_rows, attendants);

    fn transaction(&self, waiter: Waiter) -> Box<dyn Transaction> {
        Box::new(DefectiveTransaction(self.0.transaction(waiter)))
    }
}

impl Inspection for Defective {
    forward!(0: row_count, memory, spare_bytes, versions, locks, admission, early_release, lock_waits, audit);
}

struct DefectiveTransaction(Box<dyn Transaction>);

impl Transaction for DefectiveTransaction {
    forward!(0: begin, read, read_for_update, update, insert, scan, savepoint, rollback_to);
    forward!(0: commit, abort, takes_residual, capabilities, statistics);

    fn delete(&mut self, _: TableId, _: &Key) -> Result<Write, Abort> {
        panic!("a defect, on purpose")
    }
}

impl Holding for DefectiveTransaction {
    forward!(0: hold_reads, hold_row, own_table, check_owned_table);
}

impl Yielding for DefectiveTransaction {
    forward!(0: give_way, retire_writes, idle);
}

impl Planned for DefectiveTransaction {
    forward!(0: schema_of, add_missing, announce);
}

impl Diagnostics for DefectiveTransaction {
    forward!(0: deadlock, exclusion, prospect);
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
