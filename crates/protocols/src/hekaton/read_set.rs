//! The reads of a transaction that reads as of one time (ReadSet and ScanSet, §3), to be looked at again at its end.

use super::clock::Timestamp;
use super::database::Database;
use super::look::Look;
use super::record;
use super::scan::{self, Walk};
use super::words::Words;
use hotrow_storage::{Guard, Key, TableId, VersionPtr, VersionRef};
use std::ops::ControlFlow;

/// The greatest capacity, in entries, that a list of a transaction keeps for the next transaction.
pub(super) const KEPT: usize = 1024;

/// The rows, keys and ranges that a transaction has read at its read time and must find again at its end.
#[derive(Default)]
pub(super) struct ReadSet {
    rows: Vec<(TableId, VersionPtr<Words>)>,
    /// The keys under which there must be a row at the end, in whatever version.
    keys: Vec<(TableId, Key)>,
    walks: Vec<Walk>,
}

impl ReadSet {
    pub fn clear(&mut self) {
        self.rows.clear();
        self.rows.shrink_to(KEPT);
        self.keys.clear();
        self.keys.shrink_to(KEPT);
        self.walks.clear();
        self.walks.shrink_to(KEPT);
    }

    pub fn row(&mut self, table: TableId, version: VersionRef<'_, Words>) {
        self.rows.push((table, version.ptr()));
    }

    pub fn key(&mut self, table: TableId, key: Key) {
        self.keys.push((table, key));
    }

    pub fn walk(&mut self, walk: Walk) {
        self.walks.push(walk);
    }

    /// Whether validation must search indexes again, because the transaction relies on the absence of rows, or on the
    /// presence of a key.
    pub fn has_walks(&self) -> bool {
        !self.walks.is_empty() || !self.keys.is_empty()
    }

    /// Whether all reads at `read_time` would be the same at `end_time` (§3.2).
    pub fn are_valid(
        &self,
        look: &mut Look,
        database: &Database,
        guard: Guard<'_>,
        (read_time, end_time): (Timestamp, Timestamp),
    ) -> bool {
        let rows = self.rows.iter().all(|&(table, version)| {
            // No transaction changes the rows of a table that is gone.
            database
                .table(guard, table)
                .is_none_or(|table| look.is_still_seen(record::deref(version, guard, table), end_time))
        });
        let keys = rows
            && self.keys.iter().all(|(id, key)| {
                // The caller keeps a table that it refers to.
                database.table(guard, *id).is_none_or(|table| look.has_row(guard, table, key, end_time))
            });
        keys && self.walks.iter().all(|walk| {
            let Some(table) = database.table(guard, walk.table()) else { return true };
            let mut is_valid = true;
            let walked = scan::walk(table, guard, walk, &mut |version, _| {
                is_valid = look.is_no_phantom(version, read_time, end_time) || !walk.admits(version);
                if is_valid { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            walked.is_ok() && is_valid
        })
    }
}
