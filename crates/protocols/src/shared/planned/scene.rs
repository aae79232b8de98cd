//! The database, as a transaction sees it while it is in an epoch.

use crate::shared::record;
use hotrow_storage::{Database, Guard, RecordHeader, RecordPtr, RecordRef, Table, TableId};

/// The database, and the guard of the epoch in which a transaction uses it.
pub struct Scene<'s, H: RecordHeader> {
    pub(crate) database: &'s Database<H>,
    pub(crate) guard: Guard<'s>,
}

impl<H: RecordHeader> Clone for Scene<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H: RecordHeader> Copy for Scene<'_, H> {}

impl<'s, H: RecordHeader> Scene<'s, H> {
    #[inline]
    pub(crate) fn table(self, id: TableId) -> Option<&'s Table<H>> {
        self.database.table(self.guard, id)
    }

    /// Returns a record of a plan. The record is not freed: its locks are counted, or it was found under this guard.
    #[inline]
    pub(crate) fn deref(self, table: &'s Table<H>, record: RecordPtr<H>) -> RecordRef<'s, H> {
        record::deref(record, self.guard, table)
    }
}
