//! A transaction object that suspends its task before every access.

use super::Task;
use hotrow_storage::{Key, RowMut, RowRef, TableId};
use hotrow_txn::{Abort, Begin, Diagnostics, Holding, Planned, Savepoint, Scan, Transaction, Write, Yielding, forward};
use std::ops::ControlFlow;

/// A transaction object that wraps another one, and makes a [step](Task::step) of its task before each access. So the
/// simulation can switch tasks between any two accesses.
///
/// Aborts are not steps: they also happen while a transaction object is dropped in the middle of an unwinding.
pub struct Simulated {
    inner: Box<dyn Transaction>,
    task: Task,
}

impl Simulated {
    /// Wraps `inner`, which must wait through the waiter of `task`.
    pub fn new(inner: Box<dyn Transaction>, task: Task) -> Self {
        Self { inner, task }
    }
}

impl Transaction for Simulated {
    forward!(inner: savepoint, abort, takes_residual, capabilities, statistics);

    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        self.task.step("begin");
        self.inner.begin(begin)
    }

    fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.task.step(format!("read {}", name(table, key)));
        self.inner.read(table, key)
    }

    fn read_for_update(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.task.step(format!("read for update {}", name(table, key)));
        self.inner.read_for_update(table, key)
    }

    fn update(
        &mut self,
        table: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.task.step(format!("update {}", name(table, key)));
        self.inner.update(table, key, change)
    }

    fn insert(&mut self, table: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        self.task.step(format!("insert {row:?}"));
        self.inner.insert(table, row)
    }

    fn delete(&mut self, table: TableId, key: &Key) -> Result<Write, Abort> {
        self.task.step(format!("delete {}", name(table, key)));
        self.inner.delete(table, key)
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        self.task.step(format!("scan {:?} {:?} to {:?}", scan.index, scan.lower, scan.upper));
        self.inner.scan(scan, visit)
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        self.task.step("rollback to savepoint");
        self.inner.rollback_to(savepoint);
    }

    fn commit(&mut self) -> Result<(), Abort> {
        self.task.step("commit");
        self.inner.commit()
    }
}

impl Holding for Simulated {
    forward!(inner: hold_reads, own_table, check_owned_table);

    fn hold_row(&mut self, table: TableId, key: &Key) -> Result<bool, Abort> {
        self.task.step(format!("hold {}", name(table, key)));
        self.inner.hold_row(table, key)
    }
}

impl Yielding for Simulated {
    forward!(inner: retire_writes, idle);

    fn give_way(&mut self, to: Option<Savepoint>) -> Result<bool, Abort> {
        self.task.step("give way");
        self.inner.give_way(to)
    }
}

impl Planned for Simulated {
    forward!(inner: schema_of, add_missing, announce);
}

impl Diagnostics for Simulated {
    forward!(inner: deadlock, exclusion, prospect);
}

fn name(table: TableId, key: &Key) -> String {
    match key {
        Key::Int(int) => format!("{}/{int}", table.0),
        other => format!("{}/{:02x?}", table.0, other.bytes().unwrap_or_default()),
    }
}
