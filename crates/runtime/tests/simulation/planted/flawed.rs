//! Engines that break their promise, each in one way: the checker's canaries.

use super::{Planted, key_of};
use hotrow_storage::{IndexRef, Key, RowMut, RowRef, TableId};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{
    Abort, Begin, Diagnostics, Engine, Holding, Isolation, Planned, Scan, Transaction, Write, Yielding, forward,
};
use std::ops::ControlFlow;
use std::time::Duration;

/// The flaw of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Serializable transactions run as read committed ones.
    WeakerLevel,
    /// Scans lock the rows that they find, and nothing between them.
    NoGaps,
    /// Every write is committed at once, so that its locks are free and an abort cannot undo it.
    EarlyCommit,
    /// A scan's time of reading moves on while it walks over versions: it passes over a row that was changed since it
    /// began, as it meets a version that has ended, and the next one is behind it.
    WalkMoves,
    /// A key that is to be kept is looked for, and not kept.
    KeyNotKept,
}

impl Planted for Flaw {
    fn transaction(&self, inner: &Arc<dyn Engine>, waiter: Waiter) -> Box<dyn Transaction> {
        Box::new(FlawedTransaction {
            inner: inner.transaction(waiter.clone()),
            looker: inner.transaction(waiter.clone()),
            waiter,
            flaw: *self,
            engine: inner.clone(),
            isolation: Isolation::Serializable,
        })
    }
}

struct FlawedTransaction {
    inner: Box<dyn Transaction>,
    /// Looks at what is committed, apart from `inner`.
    looker: Box<dyn Transaction>,
    waiter: Waiter,
    engine: Arc<dyn Engine>,
    flaw: Flaw,
    isolation: Isolation,
}

impl FlawedTransaction {
    fn after_write(&mut self, write: Write) -> Result<Write, Abort> {
        if self.flaw == Flaw::EarlyCommit && write == Write::Done {
            self.inner.commit()?;
            self.inner.begin(&Begin::at(self.isolation))?;
        }
        Ok(write)
    }

    /// The rows in a range that are committed now, and their keys.
    fn look(&mut self, scan: &Scan) -> Result<Vec<(Key, String)>, Abort> {
        let mut keys = Vec::new();
        let looked = self.looker.begin(&Begin::at(Isolation::ReadCommitted)).and_then(|()| {
            self.looker.scan(scan, &mut |row| {
                keys.push((key_of(&*self.engine, scan.table, row), format!("{row:?}")));
                ControlFlow::Continue(())
            })
        });
        self.looker.abort();
        looked.map(|()| keys)
    }
}

impl Transaction for FlawedTransaction {
    forward!(inner: read, read_for_update, savepoint, rollback_to, commit, abort);
    forward!(inner: takes_residual, capabilities, statistics);

    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        let weaker = self.flaw == Flaw::WeakerLevel;
        self.isolation = if weaker { Isolation::ReadCommitted } else { begin.isolation };
        self.inner.begin(&Begin { isolation: self.isolation, ..*begin })
    }

    fn update(
        &mut self,
        table: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        let write = self.inner.update(table, key, change)?;
        self.after_write(write)
    }

    fn insert(&mut self, table: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        let write = self.inner.insert(table, row)?;
        self.after_write(write)
    }

    fn delete(&mut self, table: TableId, key: &Key) -> Result<Write, Abort> {
        let write = self.inner.delete(table, key)?;
        self.after_write(write)
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        if !matches!(self.flaw, Flaw::NoGaps | Flaw::WalkMoves) || scan.index != IndexRef::Primary {
            return self.inner.scan(scan, visit);
        }
        for (key, before) in self.look(scan)? {
            if self.flaw == Flaw::WalkMoves {
                self.waiter.pause(Duration::from_micros(20));
            }
            let row = self.inner.read(scan.table, &key)?;
            let is_passed_over = |row: &RowRef<'_>| self.flaw == Flaw::WalkMoves && format!("{row:?}") != before;
            if let Some(row) = row.filter(|row| !is_passed_over(row))
                && visit(row).is_break()
            {
                break;
            }
        }
        Ok(())
    }
}

impl Holding for FlawedTransaction {
    forward!(inner: hold_reads, own_table, check_owned_table);

    fn hold_row(&mut self, table: TableId, key: &Key) -> Result<bool, Abort> {
        if self.flaw != Flaw::KeyNotKept {
            return self.inner.hold_row(table, key);
        }
        let looked = self.looker.begin(&Begin::at(Isolation::ReadCommitted));
        let found = looked.and_then(|()| self.looker.read(table, key).map(|row| row.is_some()));
        self.looker.abort();
        found
    }
}

impl Yielding for FlawedTransaction {
    forward!(inner: give_way, retire_writes, idle);
}

impl Planned for FlawedTransaction {
    forward!(inner: schema_of, add_missing, announce);
}

impl Diagnostics for FlawedTransaction {
    forward!(inner: deadlock, exclusion, prospect);
}
