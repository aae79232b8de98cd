//! Standard implementations of methods for which an engine does nothing of its own.

/// Writes methods of an engine's object in the standard way: the method does nothing, or what calls of the other
/// methods amount to.
///
/// `standard!(retire_writes, idle);` in an `impl` of a part of [`Transaction`](crate::Transaction), of
/// [`Engine`](crate::Engine) or of [`Inspection`](crate::Inspection) writes these methods. The macro is for engines:
/// each method in the list stands for something that the engine lacks, and the source of this macro says what that
/// means. An object that wraps another one [forwards](crate::forward!) these methods instead, unless its own other
/// methods amount to something else.
///
/// ```
/// # use hotrow_txn::{Abort, Savepoint, Yielding, standard};
/// struct Small;
///
/// impl Yielding for Small {
///     standard!(retire_writes, idle);
///
///     fn give_way(&mut self, _to: Option<Savepoint>) -> Result<bool, Abort> {
///         Ok(false)
///     }
/// }
/// ```
#[macro_export]
macro_rules! standard {
    ($($method:ident),+ $(,)?) => { $($crate::standard! { @ $method })+ };

    // Transaction.
    // The engine looks at every row of a range.
    (@ takes_residual) => {
        #[inline]
        fn takes_residual(&self, _lock: $crate::LockFor) -> bool {
            false
        }
    };

    // Holding.
    // Reads stay as they are at every level.
    (@ hold_reads) => {
        #[inline]
        fn hold_reads(&mut self, _hold: bool) {}
    };
    // The row is read, and the read is held.
    (@ hold_row) => {
        #[inline]
        fn hold_row(
            &mut self,
            table: ::hotrow_storage::TableId,
            key: &::hotrow_storage::Key,
        ) -> Result<bool, $crate::Abort> {
            $crate::Holding::hold_reads(self, true);
            let found = $crate::Transaction::read(self, table, key).map(|row| row.is_some());
            $crate::Holding::hold_reads(self, false);
            found
        }
    };
    // The engine locks rows all the same, or none.
    (@ own_table) => {
        #[inline]
        fn own_table(&mut self, _table: ::hotrow_storage::TableId, _ownership: $crate::Ownership) {}
    };
    // Reads are of the present.
    (@ check_owned_table) => {
        #[inline]
        fn check_owned_table(&mut self, _table: ::hotrow_storage::TableId) -> Result<(), $crate::Abort> {
            Ok(())
        }
    };

    // Yielding.
    // No transaction is known that stood in the way.
    (@ give_way) => {
        #[inline]
        fn give_way(&mut self, to: Option<$crate::Savepoint>) -> Result<bool, $crate::Abort> {
            match to {
                Some(savepoint) => $crate::Transaction::rollback_to(self, savepoint),
                None => $crate::Transaction::abort(self),
            }
            Ok(false)
        }
    };
    // Other transactions get a row after the commit.
    (@ retire_writes) => {
        #[inline]
        fn retire_writes(&mut self) {}
    };
    // The object keeps nothing from others between two calls.
    (@ idle) => {
        #[inline]
        fn idle(&mut self) {}
    };

    // Planned.
    // The engine needs no access set.
    (@ schema_of) => {
        #[inline]
        fn schema_of(
            &mut self,
            _table: ::hotrow_storage::TableId,
        ) -> Option<::hotrow_sync::Arc<::hotrow_storage::TableSchema>> {
            None
        }
    };
    // The engine needs no access set.
    (@ add_missing) => {
        #[inline]
        fn add_missing(&mut self, _accesses: &mut $crate::Accesses) {}
    };
    // The engine locks each row when it is inserted.
    (@ announce) => {
        #[inline]
        fn announce(&mut self, _add: &mut dyn FnMut(&mut $crate::Accesses)) {}
    };

    // Diagnostics.
    // The engine knows no deadlocks.
    (@ deadlock) => {
        #[inline]
        fn deadlock(&self) -> Option<&$crate::Deadlock> {
            None
        }
    };
    // A transaction keeps from others what it has touched.
    (@ exclusion) => {
        #[inline]
        fn exclusion(&self) -> $crate::Exclusion {
            $crate::Exclusion::None
        }
    };
    // Transactions do not depend on others that have not committed.
    (@ prospect) => {
        #[inline]
        fn prospect(&self) -> $crate::Prospect {
            $crate::Prospect::Open
        }
    };

    // Engine.
    // The engine can have every table.
    (@ admits) => {
        #[inline]
        fn admits(&self, _schema: &::hotrow_storage::TableSchema) -> Result<(), String> {
            Ok(())
        }
    };

    // Inspection.
    // Tables share their spare memory, or nothing counts it.
    (@ spare_bytes) => {
        #[inline]
        fn spare_bytes(&self, _table: ::hotrow_storage::TableId) -> usize {
            0
        }
    };
    // There are no versions beside the rows.
    (@ versions) => {
        #[inline]
        fn versions(&self) -> Option<$crate::VersionStatistics> {
            None
        }
    };
    // The engine does not count locks.
    (@ locks) => {
        #[inline]
        fn locks(&self) -> Option<$crate::LockStatistics> {
            None
        }
    };
    // Transactions are not held back.
    (@ admission) => {
        #[inline]
        fn admission(&self) -> Option<$crate::AdmissionStatistics> {
            None
        }
    };
    // Other transactions get a row after the commit.
    (@ early_release) => {
        #[inline]
        fn early_release(&self) -> Option<$crate::EarlyReleaseStatistics> {
            None
        }
    };
    // The engine does not know which transaction waits for which.
    (@ lock_waits) => {
        #[inline]
        fn lock_waits(&self) -> Vec<$crate::LockWait> {
            Vec::new()
        }
    };
    // There is nothing to check.
    (@ audit) => {
        #[inline]
        fn audit(&self) -> Result<(), String> {
            Ok(())
        }
    };
}
