//! A small two-phase-locking engine with bugs to choose from, to see which check finds which.
//!
//! It stands on the engine without isolation, which reads, writes and undoes in place, and brings a lock manager of its
//! own: a list of locks under a mutex. A row's lock is known by its key, and one lock stands for all the gaps of a
//! table: scans take it shared, inserts and deletes exclusively. Locks are kept to the end. With no bug it is
//! serializable, as far as scans of the primary key go.

use super::{Planted, key_of, wait};
use hotrow_storage::{Change, End, Key, LogFailed, Position, RedoSink, Refusal, RowMut, RowRef, TableId, TableSchema};
use hotrow_sync::{Arc, Mutex, MutexGuard, Waiter};
use hotrow_txn::{
    Abort, Diagnostics, Engine, Holding, LockFor, Planned, Scan, Transaction, Write, Yielding, forward, standard,
};
use std::ops::ControlFlow;
use std::time::Duration;

/// The bug of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Nothing.
    None,
    /// A read's lock is released when the read returns.
    ReadLockReleasedEarly,
    /// A write's lock is released when the write returns.
    WriteLockReleasedEarly,
    /// A transaction upgrades its shared lock to an exclusive one although others hold the lock shared too.
    UpgradeForgetsReaders,
    /// A reader that leaves grants the exclusive lock to the transaction that waits to upgrade, and does not look
    /// whether others hold it shared.
    UpgradeGrantedWithoutLook,
    /// Scans do not lock the gaps.
    MissedGap,
    /// Reads of single rows take no lock.
    DirtyRead,
    /// An abort releases the locks, but undoes nothing.
    AbortForgetsUndo,
    /// An abort undoes everything, but keeps the locks.
    AbortForgetsLocks,
    /// A commit undoes the writes.
    CommitLosesWrites,
    /// A transaction that releases a lock wakes no waiter.
    NobodyIsWoken,
    /// A commit releases the locks, and then hands over its redo records.
    HandsOverLate,
    /// The redo records that a commit hands over contain no deletes.
    HandsOverNoDeletes,
}

/// Takes everything but deletes.
struct WithoutDeletes(Arc<dyn RedoSink>);

impl RedoSink for WithoutDeletes {
    fn created(&self, table: TableId, schema: &TableSchema) {
        self.0.created(table, schema);
    }

    fn loaded(&self, table: TableId, row: RowRef<'_>) {
        self.0.loaded(table, row);
    }

    fn dropped(&self, table: TableId) {
        self.0.dropped(table);
    }

    fn append(&self, end: End, changes: &mut dyn Iterator<Item = Change<'_>>, waiter: &Waiter) -> Position {
        self.0.append(end, &mut changes.filter(|change| matches!(change, Change::Put { .. })), waiter)
    }

    fn appended(&self) -> Position {
        self.0.appended()
    }

    fn wait_durable(&self, position: Position, waiter: &Waiter) -> Result<(), LogFailed> {
        self.0.wait_durable(position, waiter)
    }

    fn admits(&self) -> Result<(), Refusal> {
        self.0.admits()
    }
}

/// The engine.
pub struct TwoPhase {
    bug: Bug,
    locks: Arc<Mutex<Locks>>,
}

impl TwoPhase {
    pub fn new(bug: Bug) -> Self {
        Self { bug, locks: Arc::default() }
    }
}

/// The name of a lock: a row, or the gaps of a table.
type Name = (TableId, Option<Key>);

/// The lock manager.
#[derive(Default)]
struct Locks {
    owners: u64,
    held: Vec<(Name, u64, bool)>,
    waiters: Vec<Waiter>,
    /// The transactions that hold a lock shared and wait to have it exclusively, with the lock's name.
    upgrading: Vec<(Name, u64)>,
}

impl Locks {
    /// Takes a lock, if no other transaction holds a conflicting one.
    fn take(&mut self, name: &Name, owner: u64, exclusive: bool, bug: Bug) -> bool {
        let own = self.held.iter().position(|(held, by, _)| held == name && *by == owner);
        if own.is_some_and(|own| self.held[own].2) {
            return true;
        }
        let ignores_readers = bug == Bug::UpgradeForgetsReaders && own.is_some();
        let conflicts = self
            .held
            .iter()
            .any(|(held, by, theirs)| held == name && *by != owner && (*theirs || exclusive && !ignores_readers));
        if conflicts {
            if own.is_some() {
                self.upgrading.push((name.clone(), owner));
            }
            return false;
        }
        match own {
            Some(own) => self.held[own].2 |= exclusive,
            None => self.held.push((name.clone(), owner, exclusive)),
        }
        true
    }
}

struct TwoPhaseTransaction {
    inner: Box<dyn Transaction>,
    engine: Arc<dyn Engine>,
    bug: Bug,
    locks: Arc<Mutex<Locks>>,
    waiter: Waiter,
    owner: u64,
}

impl TwoPhaseTransaction {
    fn locks(&self) -> MutexGuard<'_, Locks> {
        self.locks.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    fn lock(&self, table: TableId, key: Option<&Key>, exclusive: bool) -> Result<(), Abort> {
        let name = (table, key.cloned());
        let taken = || {
            let mut locks = self.locks();
            let taken = locks.take(&name, self.owner, exclusive, self.bug);
            if !taken {
                locks.waiters.push(self.waiter.clone());
            }
            taken
        };
        wait(&self.waiter, Some(Duration::from_millis(10)), taken)
    }

    /// Releases locks: all, or those held in one way.
    fn release(&self, wanted: impl Fn(bool) -> bool) {
        let mut locks = self.locks();
        let Locks { held, upgrading, .. } = &mut *locks;
        upgrading.retain(|(_, owner)| *owner != self.owner);
        if self.bug == Bug::UpgradeGrantedWithoutLook {
            let left = |name: &Name| held.iter().any(|(held, owner, _)| held == name && *owner == self.owner);
            let granted: Vec<_> = upgrading.extract_if(.., |(name, _)| left(name)).collect();
            let is_granted = |name: &Name, owner: u64| granted.iter().any(|to| to.0 == *name && to.1 == owner);
            held.iter_mut().for_each(|(name, owner, exclusive)| *exclusive |= is_granted(name, *owner));
        }
        held.retain(|(_, owner, exclusive)| *owner != self.owner || !wanted(*exclusive));
        let waiters = std::mem::take(&mut locks.waiters);
        drop(locks);
        if self.bug != Bug::NobodyIsWoken {
            waiters.iter().for_each(Waiter::wake);
        }
    }

    fn lock_to_read(&self, table: TableId, key: &Key) -> Result<(), Abort> {
        if self.bug == Bug::DirtyRead { Ok(()) } else { self.lock(table, Some(key), false) }
    }

    fn after_read(&self) {
        if self.bug == Bug::ReadLockReleasedEarly {
            self.release(|exclusive| !exclusive);
        }
    }

    fn after_write(&self) {
        if self.bug == Bug::WriteLockReleasedEarly {
            self.release(|exclusive| exclusive);
        }
    }

    /// The keys of the rows in a range as they are, committed or not.
    fn keys(&mut self, scan: &Scan) -> Result<Vec<Key>, Abort> {
        let mut keys = Vec::new();
        self.inner.scan(scan, &mut |row| {
            keys.push(key_of(&*self.engine, scan.table, row));
            ControlFlow::Continue(())
        })?;
        Ok(keys)
    }
}

impl Transaction for TwoPhaseTransaction {
    forward!(inner: begin, savepoint, rollback_to, takes_residual, capabilities, statistics);

    fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.lock_to_read(table, key)?;
        self.after_read();
        self.inner.read(table, key)
    }

    fn read_for_update(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.lock(table, Some(key), true)?;
        self.inner.read_for_update(table, key)
    }

    fn update(
        &mut self,
        table: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.lock(table, Some(key), true)?;
        let write = self.inner.update(table, key, change)?;
        self.after_write();
        Ok(write)
    }

    fn insert(&mut self, table: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        let key = key_of(&*self.engine, table, row);
        self.lock(table, Some(&key), true)?;
        self.lock(table, None, true)?;
        let write = self.inner.insert(table, row)?;
        self.after_write();
        Ok(write)
    }

    fn delete(&mut self, table: TableId, key: &Key) -> Result<Write, Abort> {
        self.lock(table, Some(key), true)?;
        self.lock(table, None, true)?;
        let write = self.inner.delete(table, key)?;
        self.after_write();
        Ok(write)
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        let exclusive = scan.lock == LockFor::Update;
        if self.bug != Bug::MissedGap {
            self.lock(scan.table, None, false)?;
        }
        for key in self.keys(scan)? {
            self.lock(scan.table, Some(&key), exclusive)?;
            // The row may be gone, if the gaps are not locked.
            if let Some(row) = self.inner.read(scan.table, &key)?
                && visit(row).is_break()
            {
                break;
            }
        }
        self.after_read();
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Abort> {
        if self.bug == Bug::HandsOverLate {
            self.release(|_| true);
        }
        if self.bug == Bug::CommitLosesWrites {
            self.inner.abort();
        } else {
            self.inner.commit()?;
        }
        self.release(|_| true);
        Ok(())
    }

    fn abort(&mut self) {
        match self.bug {
            Bug::AbortForgetsUndo => self.inner.commit().unwrap_or_default(),
            _ => self.inner.abort(),
        }
        if self.bug != Bug::AbortForgetsLocks {
            self.release(|_| true);
        }
    }
}

impl Holding for TwoPhaseTransaction {
    forward!(inner: hold_reads, own_table, check_owned_table);
    standard!(hold_row);
}

impl Yielding for TwoPhaseTransaction {
    forward!(inner: retire_writes, idle);
    standard!(give_way);
}

impl Planned for TwoPhaseTransaction {
    forward!(inner: schema_of, add_missing, announce);
}

impl Diagnostics for TwoPhaseTransaction {
    forward!(inner: deadlock, exclusion, prospect);
}

impl Drop for TwoPhaseTransaction {
    fn drop(&mut self) {
        self.abort();
    }
}

impl Planted for TwoPhase {
    fn set_redo(&self, inner: &dyn Engine, sink: Arc<dyn RedoSink>) {
        match self.bug {
            Bug::HandsOverNoDeletes => inner.set_redo(Arc::new(WithoutDeletes(sink))),
            _ => inner.set_redo(sink),
        }
    }

    fn transaction(&self, inner: &Arc<dyn Engine>, waiter: Waiter) -> Box<dyn Transaction> {
        let mut locks = self.locks.lock().unwrap_or_else(|poison| poison.into_inner());
        locks.owners += 1;
        let owner = locks.owners;
        drop(locks);
        Box::new(TwoPhaseTransaction {
            inner: inner.transaction(waiter.clone()),
            engine: inner.clone(),
            bug: self.bug,
            locks: self.locks.clone(),
            waiter,
            owner,
        })
    }
}
