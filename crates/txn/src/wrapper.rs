//! Transaction objects around others.

use crate::{
    Abort, Accesses, Begin, Deadlock, Exclusion, LockFor, Prospect, Savepoint, Scan, Statistics, Transaction, Write,
};
use hotrow_storage::{Key, RowMut, RowRef, TableId, TableSchema};
use hotrow_sync::Arc;
use std::ops::ControlFlow;

/// A transaction object around another one. It forwards every call of [`Transaction`] that it does not change, those
/// included for which [`Transaction`] has a default.
///
/// A type implements this trait in place of [`Transaction`], which it has then too.
pub trait Wrapper: Send {
    /// The object within.
    fn inner(&self) -> &dyn Transaction;

    /// The object within.
    fn inner_mut(&mut self) -> &mut dyn Transaction;

    /// [`Transaction::begin`].
    #[inline]
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        self.inner_mut().begin(begin)
    }

    /// [`Transaction::read`].
    #[inline]
    fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.inner_mut().read(table, key)
    }

    /// [`Transaction::read_for_update`].
    #[inline]
    fn read_for_update(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.inner_mut().read_for_update(table, key)
    }

    /// [`Transaction::update`].
    #[inline]
    fn update(
        &mut self,
        table: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.inner_mut().update(table, key, change)
    }

    /// [`Transaction::insert`].
    #[inline]
    fn insert(&mut self, table: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        self.inner_mut().insert(table, row)
    }

    /// [`Transaction::delete`].
    #[inline]
    fn delete(&mut self, table: TableId, key: &Key) -> Result<Write, Abort> {
        self.inner_mut().delete(table, key)
    }

    /// [`Transaction::scan`].
    #[inline]
    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        self.inner_mut().scan(scan, visit)
    }

    /// [`Transaction::hold_reads`].
    #[inline]
    fn hold_reads(&mut self, hold: bool) {
        self.inner_mut().hold_reads(hold);
    }

    /// [`Transaction::hold_row`].
    #[inline]
    fn hold_row(&mut self, table: TableId, key: &Key) -> Result<bool, Abort> {
        self.inner_mut().hold_row(table, key)
    }

    /// [`Transaction::own_table`].
    #[inline]
    fn own_table(&mut self, table: TableId) {
        self.inner_mut().own_table(table);
    }

    /// [`Transaction::own_new_table`].
    #[inline]
    fn own_new_table(&mut self, table: TableId) {
        self.inner_mut().own_new_table(table);
    }

    /// [`Transaction::check_owned_table`].
    #[inline]
    fn check_owned_table(&mut self, table: TableId) -> Result<(), Abort> {
        self.inner_mut().check_owned_table(table)
    }

    /// [`Transaction::savepoint`].
    #[inline]
    fn savepoint(&mut self) -> Savepoint {
        self.inner_mut().savepoint()
    }

    /// [`Transaction::rollback_to`].
    #[inline]
    fn rollback_to(&mut self, savepoint: Savepoint) {
        self.inner_mut().rollback_to(savepoint);
    }

    /// [`Transaction::give_way`].
    #[inline]
    fn give_way(&mut self, to: Option<Savepoint>) -> Result<bool, Abort> {
        self.inner_mut().give_way(to)
    }

    /// [`Transaction::retire_writes`].
    #[inline]
    fn retire_writes(&mut self) {
        self.inner_mut().retire_writes();
    }

    /// [`Transaction::commit`].
    #[inline]
    fn commit(&mut self) -> Result<(), Abort> {
        self.inner_mut().commit()
    }

    /// [`Transaction::abort`].
    #[inline]
    fn abort(&mut self) {
        self.inner_mut().abort();
    }

    /// [`Transaction::takes_residual`].
    #[inline]
    fn takes_residual(&self, lock: LockFor) -> bool {
        self.inner().takes_residual(lock)
    }

    /// [`Transaction::needs_accesses`].
    #[inline]
    fn needs_accesses(&self) -> bool {
        self.inner().needs_accesses()
    }

    /// [`Transaction::locks_accesses`].
    #[inline]
    fn locks_accesses(&self) -> bool {
        self.inner().locks_accesses()
    }

    /// [`Transaction::retries_requests`].
    #[inline]
    fn retries_requests(&self) -> bool {
        self.inner().retries_requests()
    }

    /// [`Transaction::schema`].
    #[inline]
    fn schema(&mut self, table: TableId) -> Option<Arc<TableSchema>> {
        self.inner_mut().schema(table)
    }

    /// [`Transaction::add_missing`].
    #[inline]
    fn add_missing(&mut self, accesses: &mut Accesses) {
        self.inner_mut().add_missing(accesses);
    }

    /// [`Transaction::deadlock`].
    #[inline]
    fn deadlock(&self) -> Option<&Deadlock> {
        self.inner().deadlock()
    }

    /// [`Transaction::exclusion`].
    #[inline]
    fn exclusion(&self) -> Exclusion {
        self.inner().exclusion()
    }

    /// [`Transaction::prospect`].
    #[inline]
    fn prospect(&self) -> Prospect {
        self.inner().prospect()
    }

    /// [`Transaction::idle`].
    #[inline]
    fn idle(&mut self) {
        self.inner_mut().idle();
    }

    /// [`Transaction::statistics`].
    #[inline]
    fn statistics(&mut self) -> &mut Statistics {
        self.inner_mut().statistics()
    }
}

// A method that is missing here would answer by its default, whatever the object within says.
#[deny(clippy::missing_trait_methods)]
impl<W: Wrapper> Transaction for W {
    #[inline]
    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        Wrapper::begin(self, begin)
    }

    #[inline]
    fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        Wrapper::read(self, table, key)
    }

    #[inline]
    fn read_for_update(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        Wrapper::read_for_update(self, table, key)
    }

    #[inline]
    fn update(
        &mut self,
        table: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        Wrapper::update(self, table, key, change)
    }

    #[inline]
    fn insert(&mut self, table: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        Wrapper::insert(self, table, row)
    }

    #[inline]
    fn delete(&mut self, table: TableId, key: &Key) -> Result<Write, Abort> {
        Wrapper::delete(self, table, key)
    }

    #[inline]
    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        Wrapper::scan(self, scan, visit)
    }

    #[inline]
    fn hold_reads(&mut self, hold: bool) {
        Wrapper::hold_reads(self, hold);
    }

    #[inline]
    fn hold_row(&mut self, table: TableId, key: &Key) -> Result<bool, Abort> {
        Wrapper::hold_row(self, table, key)
    }

    #[inline]
    fn own_table(&mut self, table: TableId) {
        Wrapper::own_table(self, table);
    }

    #[inline]
    fn own_new_table(&mut self, table: TableId) {
        Wrapper::own_new_table(self, table);
    }

    #[inline]
    fn check_owned_table(&mut self, table: TableId) -> Result<(), Abort> {
        Wrapper::check_owned_table(self, table)
    }

    #[inline]
    fn savepoint(&mut self) -> Savepoint {
        Wrapper::savepoint(self)
    }

    #[inline]
    fn rollback_to(&mut self, savepoint: Savepoint) {
        Wrapper::rollback_to(self, savepoint);
    }

    #[inline]
    fn give_way(&mut self, to: Option<Savepoint>) -> Result<bool, Abort> {
        Wrapper::give_way(self, to)
    }

    #[inline]
    fn retire_writes(&mut self) {
        Wrapper::retire_writes(self);
    }

    #[inline]
    fn commit(&mut self) -> Result<(), Abort> {
        Wrapper::commit(self)
    }

    #[inline]
    fn abort(&mut self) {
        Wrapper::abort(self);
    }

    #[inline]
    fn takes_residual(&self, lock: LockFor) -> bool {
        Wrapper::takes_residual(self, lock)
    }

    #[inline]
    fn needs_accesses(&self) -> bool {
        Wrapper::needs_accesses(self)
    }

    #[inline]
    fn locks_accesses(&self) -> bool {
        Wrapper::locks_accesses(self)
    }

    #[inline]
    fn retries_requests(&self) -> bool {
        Wrapper::retries_requests(self)
    }

    #[inline]
    fn schema(&mut self, table: TableId) -> Option<Arc<TableSchema>> {
        Wrapper::schema(self, table)
    }

    #[inline]
    fn add_missing(&mut self, accesses: &mut Accesses) {
        Wrapper::add_missing(self, accesses);
    }

    #[inline]
    fn deadlock(&self) -> Option<&Deadlock> {
        Wrapper::deadlock(self)
    }

    #[inline]
    fn exclusion(&self) -> Exclusion {
        Wrapper::exclusion(self)
    }

    #[inline]
    fn prospect(&self) -> Prospect {
        Wrapper::prospect(self)
    }

    #[inline]
    fn idle(&mut self) {
        Wrapper::idle(self);
    }

    #[inline]
    fn statistics(&mut self) -> &mut Statistics {
        Wrapper::statistics(self)
    }
}
