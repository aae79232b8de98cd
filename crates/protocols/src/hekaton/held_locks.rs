//! The locks that a transaction holds until it has its end timestamp: of versions that it read, and of parts of
//! indexes.

use super::index_locks::Part;
use super::record;
use super::txn_id::TxnId;
use super::words::{End, Words};
use crate::shared::hashed::HashMap;
use hotrow_storage::{Guard, TableId, VersionPtr, VersionTable};

/// The number of read locks up to which a search looks through the list. For more, `places` records where each of them
/// is.
const LOOKED_THROUGH: usize = 16;

/// The read locks and the index locks of a transaction.
#[derive(Default)]
pub(super) struct HeldLocks {
    /// The versions on which the transaction has a read lock, each once.
    rows: Vec<(TableId, VersionPtr<Words>)>,
    /// The position of each version in `rows`, once there are many.
    places: HashMap<VersionPtr<Words>, usize>,
    parts: Vec<(TableId, usize, Part)>,
}

impl HeldLocks {
    /// Whether the transaction has a read lock on this version.
    #[inline]
    pub fn has(&self, version: VersionPtr<Words>) -> bool {
        self.place(version).is_some()
    }

    #[inline]
    fn place(&self, version: VersionPtr<Words>) -> Option<usize> {
        match self.places.is_empty() {
            true => self.rows.iter().position(|&(_, row)| row == version),
            false => self.places.get(&version).copied(),
        }
    }

    /// Notes that the transaction has a read lock on a version.
    #[inline]
    pub fn row(&mut self, table: TableId, version: VersionPtr<Words>) {
        debug_assert!(!self.has(version));
        self.rows.push((table, version));
        if !self.places.is_empty() {
            self.places.insert(version, self.rows.len() - 1);
        } else if self.rows.len() > LOOKED_THROUGH {
            self.places.extend(self.rows.iter().enumerate().map(|(at, &(_, row))| (row, at)));
        }
    }

    /// Notes that a read lock was given up.
    pub fn forget(&mut self, version: VersionPtr<Words>) {
        let Some(at) = self.place(version) else { return };
        self.rows.swap_remove(at);
        self.places.remove(&version);
        if let Some(&(_, moved)) = self.rows.get(at).filter(|_| !self.places.is_empty()) {
            self.places.insert(moved, at);
        }
    }

    /// Returns the versions on which the transaction has a read lock.
    pub fn rows(&self) -> &[(TableId, VersionPtr<Words>)] {
        &self.rows
    }

    /// Notes that the transaction has locked a part of an index. `position` is the index's position in the table.
    pub fn part(&mut self, table: TableId, position: usize, part: Part) {
        self.parts.push((table, position, part));
    }

    /// Replaces the part of the index lock that was noted last, and returns the former part. Panics if no index lock is
    /// noted.
    pub fn narrow(&mut self, part: Part) -> Part {
        std::mem::replace(&mut self.parts.last_mut().expect("it was noted").2, part)
    }

    /// Whether the transaction has neither a read lock nor a lock on a part of an index. Write locks are not kept
    /// here.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.parts.is_empty()
    }

    /// Removes and returns the versions on which the transaction has a read lock.
    pub fn take_rows(&mut self) -> impl Iterator<Item = (TableId, VersionPtr<Words>)> {
        self.places.clear();
        self.rows.drain(..)
    }

    /// Removes and returns the locks on parts of indexes: the table, the index's position in it, and the part.
    pub fn take_parts(&mut self) -> impl ExactSizeIterator<Item = (TableId, usize, Part)> {
        self.parts.drain(..)
    }

    /// Whether the transaction has a read lock on a version of this table whose write lock `writer` has. Then `writer`
    /// cannot end before the read lock is given up.
    pub fn keeps_waiting(&self, table: &VersionTable<Words>, guard: Guard<'_>, writer: TxnId) -> bool {
        let is_its_own = |version| match record::words(version, guard).end() {
            End::Locked(lock) => lock.writer == Some(writer),
            End::At(_) => false,
        };
        self.rows.iter().any(|&(id, version)| id == table.id() && is_its_own(version))
    }
}
