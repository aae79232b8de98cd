//! A transaction object for this crate's own tests: it has no data, and aborts as the test says.

use hotrow_storage::{Key, RowMut, RowRef, TableId};
use hotrow_txn::{
    Abort, Accesses, Begin, Capabilities, Concurrency, Diagnostics, Holding, Intent, Isolation, Planned, Procedure,
    Savepoint, Scan, Statistics, Transaction, Write, Yielding, standard,
};
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// A transaction object without data, which records the calls that it gets. Each commit fails with the next abort of
/// the list `aborts`, and succeeds once the list is empty.
#[derive(Debug, Default)]
pub(crate) struct Fake {
    pub aborts: VecDeque<Abort>,
    /// The names of all calls, in order.
    pub calls: Vec<&'static str>,
    /// The number of rows in the access set that was passed to each `begin`.
    pub announced: Vec<usize>,
    /// The concurrency control that each `begin` asked for.
    pub ways: Vec<Option<Concurrency>>,
    /// The isolation level that each `begin` asked for.
    pub levels: Vec<Isolation>,
    pub capabilities: Capabilities,
    statistics: Statistics,
}

impl Fake {
    pub(crate) fn aborting(aborts: &[Abort]) -> Self {
        Self { aborts: aborts.iter().copied().collect(), ..Self::default() }
    }
}

impl Transaction for Fake {
    standard!(takes_residual);

    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        self.calls.push("begin");
        self.ways.push(begin.concurrency);
        self.levels.push(begin.isolation);
        self.announced.push(begin.accesses.map_or(0, |accesses| accesses.rows().len()));
        Ok(())
    }

    fn read(&mut self, _: TableId, _: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.calls.push("read");
        self.statistics.locks += 1;
        Ok(None)
    }

    fn read_for_update(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.read(table, key)
    }

    fn update(
        &mut self,
        _: TableId,
        _: &Key,
        _: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        Ok(Write::Absent)
    }

    fn insert(&mut self, _: TableId, _: RowRef<'_>) -> Result<Write, Abort> {
        Ok(Write::Done)
    }

    fn delete(&mut self, _: TableId, _: &Key) -> Result<Write, Abort> {
        Ok(Write::Absent)
    }

    fn scan(&mut self, _: &Scan, _: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        Ok(())
    }

    fn savepoint(&mut self) -> Savepoint {
        Savepoint(0)
    }

    fn rollback_to(&mut self, _: Savepoint) {}

    fn commit(&mut self) -> Result<(), Abort> {
        self.calls.push("commit");
        self.aborts.pop_front().map_or(Ok(()), Err)
    }

    fn abort(&mut self) {
        self.calls.push("abort");
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.statistics
    }
}

impl Holding for Fake {
    standard!(hold_reads, hold_row, own_table, check_owned_table);
}

impl Yielding for Fake {
    standard!(give_way, retire_writes, idle);
}

impl Planned for Fake {
    standard!(schema_of, add_missing, announce);
}

impl Diagnostics for Fake {
    standard!(deadlock, exclusion, prospect);
}

/// A procedure that requires this isolation level and does nothing.
pub(crate) struct NeedsLevel(pub Isolation);

impl Procedure for NeedsLevel {
    type Output = ();

    fn accesses(&self, _: &mut Accesses) {}

    fn isolation(&self) -> Option<Isolation> {
        Some(self.0)
    }

    fn run<T: Transaction + ?Sized>(&self, _: &mut T) -> Result<(), Abort> {
        Ok(())
    }
}

/// A procedure that announces that it will read this number of rows, and reads none.
pub(crate) struct Tells(pub i64);

impl Procedure for Tells {
    type Output = ();

    fn accesses(&self, accesses: &mut Accesses) {
        (0..self.0).for_each(|key| accesses.push(TableId(0), Key::Int(key), Intent::Read));
    }

    fn run<T: Transaction + ?Sized>(&self, _: &mut T) -> Result<(), Abort> {
        Ok(())
    }
}

/// A procedure that reads one row, and returns this result.
pub(crate) struct ReadOne(pub Result<i64, Abort>);

impl Procedure for ReadOne {
    type Output = i64;

    fn accesses(&self, accesses: &mut Accesses) {
        accesses.push(TableId(0), Key::Int(1), Intent::Read);
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<i64, Abort> {
        txn.read(TableId(0), &Key::Int(1))?;
        self.0
    }
}
