//! The macro by which an object that wraps another one forwards calls to it.

/// Writes methods of an object that wraps another one. Each method calls the same method of the inner object.
///
/// `forward!(inner: savepoint, rollback_to);` in an `impl` of [`Transaction`](crate::Transaction), of one of its parts,
/// of [`Engine`](crate::Engine) or of [`Inspection`](crate::Inspection) writes the methods `savepoint` and
/// `rollback_to`, which call those of `self.inner`. The wrapping object lists every method that it does not write
/// itself. These traits have no defaults, so an object that omits a method does not compile.
///
/// ```
/// # use hotrow_storage::{Key, RowRef, TableId};
/// # use hotrow_txn::{Abort, Diagnostics, Holding, Planned, Transaction, Yielding, forward};
/// /// Counts reads.
/// struct Counting {
///     inner: Box<dyn Transaction>,
///     reads: u64,
/// }
///
/// impl Transaction for Counting {
///     fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
///         self.reads += 1;
///         self.inner.read(table, key)
///     }
///
///     forward!(inner: begin, read_for_update, update, insert, delete, scan, savepoint, rollback_to, commit, abort);
///     forward!(inner: takes_residual, capabilities, statistics);
/// }
///
/// impl Holding for Counting {
///     forward!(inner: hold_reads, hold_row, own_table, check_owned_table);
/// }
///
/// impl Yielding for Counting {
///     forward!(inner: give_way, retire_writes, idle);
/// }
///
/// impl Planned for Counting {
///     forward!(inner: schema_of, add_missing, announce);
/// }
///
/// impl Diagnostics for Counting {
///     forward!(inner: deadlock, exclusion, prospect);
/// }
/// ```
///
/// This object omits a method, so it does not compile:
///
/// ```compile_fail,E0046
/// # use hotrow_txn::{Transaction, Yielding, forward};
/// struct Forgetful {
///     inner: Box<dyn Transaction>,
/// }
///
/// impl Yielding for Forgetful {
///     forward!(inner: give_way, retire_writes);
/// }
/// ```
#[macro_export]
macro_rules! forward {
    ($inner:tt: $($method:ident),+ $(,)?) => { $($crate::forward! { @ $inner $method })+ };

    // Transaction.
    (@ $inner:tt begin) => {
        #[inline]
        fn begin(&mut self, begin: &$crate::Begin<'_>) -> Result<(), $crate::Abort> {
            self.$inner.begin(begin)
        }
    };
    (@ $inner:tt read) => {
        #[inline]
        fn read(
            &mut self,
            table: ::hotrow_storage::TableId,
            key: &::hotrow_storage::Key,
        ) -> Result<Option<::hotrow_storage::RowRef<'_>>, $crate::Abort> {
            self.$inner.read(table, key)
        }
    };
    (@ $inner:tt read_for_update) => {
        #[inline]
        fn read_for_update(
            &mut self,
            table: ::hotrow_storage::TableId,
            key: &::hotrow_storage::Key,
        ) -> Result<Option<::hotrow_storage::RowRef<'_>>, $crate::Abort> {
            self.$inner.read_for_update(table, key)
        }
    };
    (@ $inner:tt update) => {
        #[inline]
        fn update(
            &mut self,
            table: ::hotrow_storage::TableId,
            key: &::hotrow_storage::Key,
            change: &mut dyn FnMut(&mut ::hotrow_storage::RowMut<'_>) -> Result<(), $crate::Abort>,
        ) -> Result<$crate::Write, $crate::Abort> {
            self.$inner.update(table, key, change)
        }
    };
    (@ $inner:tt insert) => {
        #[inline]
        fn insert(
            &mut self,
            table: ::hotrow_storage::TableId,
            row: ::hotrow_storage::RowRef<'_>,
        ) -> Result<$crate::Write, $crate::Abort> {
            self.$inner.insert(table, row)
        }
    };
    (@ $inner:tt delete) => {
        #[inline]
        fn delete(
            &mut self,
            table: ::hotrow_storage::TableId,
            key: &::hotrow_storage::Key,
        ) -> Result<$crate::Write, $crate::Abort> {
            self.$inner.delete(table, key)
        }
    };
    (@ $inner:tt scan) => {
        #[inline]
        fn scan(
            &mut self,
            scan: &$crate::Scan,
            visit: &mut dyn FnMut(::hotrow_storage::RowRef<'_>) -> ::std::ops::ControlFlow<()>,
        ) -> Result<(), $crate::Abort> {
            self.$inner.scan(scan, visit)
        }
    };
    (@ $inner:tt savepoint) => {
        #[inline]
        fn savepoint(&mut self) -> $crate::Savepoint {
            self.$inner.savepoint()
        }
    };
    (@ $inner:tt rollback_to) => {
        #[inline]
        fn rollback_to(&mut self, savepoint: $crate::Savepoint) {
            self.$inner.rollback_to(savepoint);
        }
    };
    (@ $inner:tt commit) => {
        #[inline]
        fn commit(&mut self) -> Result<(), $crate::Abort> {
            self.$inner.commit()
        }
    };
    (@ $inner:tt abort) => {
        #[inline]
        fn abort(&mut self) {
            self.$inner.abort();
        }
    };
    (@ $inner:tt takes_residual) => {
        #[inline]
        fn takes_residual(&self, lock: $crate::LockFor) -> bool {
            self.$inner.takes_residual(lock)
        }
    };
    (@ $inner:tt capabilities) => {
        #[inline]
        fn capabilities(&self) -> $crate::Capabilities {
            self.$inner.capabilities()
        }
    };
    (@ $inner:tt statistics) => {
        #[inline]
        fn statistics(&mut self) -> &mut $crate::Statistics {
            self.$inner.statistics()
        }
    };

    // Holding.
    (@ $inner:tt hold_reads) => {
        #[inline]
        fn hold_reads(&mut self, hold: bool) {
            self.$inner.hold_reads(hold);
        }
    };
    (@ $inner:tt hold_row) => {
        #[inline]
        fn hold_row(
            &mut self,
            table: ::hotrow_storage::TableId,
            key: &::hotrow_storage::Key,
        ) -> Result<bool, $crate::Abort> {
            self.$inner.hold_row(table, key)
        }
    };
    (@ $inner:tt own_table) => {
        #[inline]
        fn own_table(&mut self, table: ::hotrow_storage::TableId, ownership: $crate::Ownership) {
            self.$inner.own_table(table, ownership);
        }
    };
    (@ $inner:tt check_owned_table) => {
        #[inline]
        fn check_owned_table(&mut self, table: ::hotrow_storage::TableId) -> Result<(), $crate::Abort> {
            self.$inner.check_owned_table(table)
        }
    };

    // Yielding.
    (@ $inner:tt give_way) => {
        #[inline]
        fn give_way(&mut self, to: Option<$crate::Savepoint>) -> Result<bool, $crate::Abort> {
            self.$inner.give_way(to)
        }
    };
    (@ $inner:tt retire_writes) => {
        #[inline]
        fn retire_writes(&mut self) {
            self.$inner.retire_writes();
        }
    };
    (@ $inner:tt idle) => {
        #[inline]
        fn idle(&mut self) {
            self.$inner.idle();
        }
    };

    // Planned.
    (@ $inner:tt schema_of) => {
        #[inline]
        fn schema_of(
            &mut self,
            table: ::hotrow_storage::TableId,
        ) -> Option<::hotrow_sync::Arc<::hotrow_storage::TableSchema>> {
            self.$inner.schema_of(table)
        }
    };
    (@ $inner:tt add_missing) => {
        #[inline]
        fn add_missing(&mut self, accesses: &mut $crate::Accesses) {
            self.$inner.add_missing(accesses);
        }
    };
    (@ $inner:tt announce) => {
        #[inline]
        fn announce(&mut self, add: &mut dyn FnMut(&mut $crate::Accesses)) {
            self.$inner.announce(add);
        }
    };

    // Diagnostics.
    (@ $inner:tt deadlock) => {
        #[inline]
        fn deadlock(&self) -> Option<&$crate::Deadlock> {
            self.$inner.deadlock()
        }
    };
    (@ $inner:tt exclusion) => {
        #[inline]
        fn exclusion(&self) -> $crate::Exclusion {
            self.$inner.exclusion()
        }
    };
    (@ $inner:tt prospect) => {
        #[inline]
        fn prospect(&self) -> $crate::Prospect {
            self.$inner.prospect()
        }
    };

    // Engine.
    (@ $inner:tt info) => {
        #[inline]
        fn info(&self) -> &'static $crate::EngineInfo {
            self.$inner.info()
        }
    };
    (@ $inner:tt admits) => {
        #[inline]
        fn admits(&self, schema: &::hotrow_storage::TableSchema) -> Result<(), String> {
            self.$inner.admits(schema)
        }
    };
    (@ $inner:tt set_redo) => {
        #[inline]
        fn set_redo(&self, sink: ::hotrow_sync::Arc<dyn ::hotrow_storage::RedoSink>) {
            self.$inner.set_redo(sink);
        }
    };
    (@ $inner:tt attendants) => {
        #[inline]
        fn attendants(&self) -> Vec<Box<dyn $crate::Duties>> {
            self.$inner.attendants()
        }
    };
    (@ $inner:tt create_table) => {
        #[inline]
        fn create_table(&self, schema: ::hotrow_storage::TableSchema) -> ::hotrow_storage::TableId {
            self.$inner.create_table(schema)
        }
    };
    (@ $inner:tt restore_table) => {
        #[inline]
        fn restore_table(&self, table: ::hotrow_storage::TableId, schema: ::hotrow_storage::TableSchema) {
            self.$inner.restore_table(table, schema);
        }
    };
    (@ $inner:tt skip_tables) => {
        #[inline]
        fn skip_tables(&self, first: ::hotrow_storage::TableId) {
            self.$inner.skip_tables(first);
        }
    };
    (@ $inner:tt tables) => {
        #[inline]
        fn tables(&self) -> Vec<::hotrow_storage::TableId> {
            self.$inner.tables()
        }
    };
    (@ $inner:tt drop_table) => {
        #[inline]
        fn drop_table(&self, table: ::hotrow_storage::TableId) {
            self.$inner.drop_table(table);
        }
    };
    (@ $inner:tt schema) => {
        #[inline]
        fn schema(&self, table: ::hotrow_storage::TableId) -> ::hotrow_sync::Arc<::hotrow_storage::TableSchema> {
            self.$inner.schema(table)
        }
    };
    (@ $inner:tt layout) => {
        #[inline]
        fn layout(&self, table: ::hotrow_storage::TableId) -> ::hotrow_sync::Arc<::hotrow_storage::RowLayout> {
            self.$inner.layout(table)
        }
    };
    (@ $inner:tt load_rows) => {
        #[inline]
        fn load_rows(
            &self,
            table: ::hotrow_storage::TableId,
            rows: &[::hotrow_storage::RowRef<'_>],
        ) -> Result<(), (usize, ::hotrow_storage::Duplicate)> {
            self.$inner.load_rows(table, rows)
        }
    };
    (@ $inner:tt transaction) => {
        #[inline]
        fn transaction(&self, waiter: ::hotrow_sync::Waiter) -> Box<dyn $crate::Transaction> {
            self.$inner.transaction(waiter)
        }
    };

    // Inspection.
    (@ $inner:tt row_count) => {
        #[inline]
        fn row_count(&self, table: ::hotrow_storage::TableId) -> u64 {
            self.$inner.row_count(table)
        }
    };
    (@ $inner:tt memory) => {
        #[inline]
        fn memory(&self, table: ::hotrow_storage::TableId) -> ::hotrow_storage::TableMemory {
            self.$inner.memory(table)
        }
    };
    (@ $inner:tt spare_bytes) => {
        #[inline]
        fn spare_bytes(&self, table: ::hotrow_storage::TableId) -> usize {
            self.$inner.spare_bytes(table)
        }
    };
    (@ $inner:tt versions) => {
        #[inline]
        fn versions(&self) -> Option<$crate::VersionStatistics> {
            self.$inner.versions()
        }
    };
    (@ $inner:tt locks) => {
        #[inline]
        fn locks(&self) -> Option<$crate::LockStatistics> {
            self.$inner.locks()
        }
    };
    (@ $inner:tt admission) => {
        #[inline]
        fn admission(&self) -> Option<$crate::AdmissionStatistics> {
            self.$inner.admission()
        }
    };
    (@ $inner:tt early_release) => {
        #[inline]
        fn early_release(&self) -> Option<$crate::EarlyReleaseStatistics> {
            self.$inner.early_release()
        }
    };
    (@ $inner:tt lock_waits) => {
        #[inline]
        fn lock_waits(&self) -> Vec<$crate::LockWait> {
            self.$inner.lock_waits()
        }
    };
    (@ $inner:tt audit) => {
        #[inline]
        fn audit(&self) -> Result<(), String> {
            self.$inner.audit()
        }
    };
}
