//! The locks of one transaction on the database, on tables and on pages.

use super::manager::Lock;
use super::mode::Mode;
use super::request::Request;
use crate::shared::gaps::name_of;
use crate::shared::lock_table::Name;
use hotrow_storage::{TableId, mix};
use hotrow_sync::Arc;
use hotrow_txn::{LockPart, LockTarget};
use std::collections::HashMap;

/// A node of the hierarchy above the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The database: the root.
    Database,
    /// A table, with its gaps, its absent keys and its unique keys.
    Table(TableId),
    /// A page of a table: the rows whose records lie in one stretch of memory. Its number is the address of the stretch
    /// divided by its length.
    Page(TableId, u64),
}

impl Place {
    /// Returns the lock of the node.
    #[inline]
    pub(super) fn lock(self) -> Lock {
        let name = match self {
            // Any constant but zero.
            Place::Database => Name(mix(0x6865_7261_7263_6879)),
            Place::Table(table) => name_of(table, LockPart::Whole, 0),
            Place::Page(table, page) => name_of(table, LockPart::Page(page), mix(page)),
        };
        Lock { name, is_higher: true }
    }

    /// Returns the node in which this one is, or `None` for the database.
    #[inline]
    pub(super) fn parent(self) -> Option<Place> {
        match self {
            Place::Database => None,
            Place::Table(_) => Some(Place::Database),
            Place::Page(table, _) => Some(Place::Table(table)),
        }
    }

    /// Returns a description of the node for people.
    pub(super) fn target(self) -> LockTarget {
        match self {
            Place::Database => LockTarget::Database,
            Place::Table(table) => LockTarget::Table { table, part: LockPart::Whole, key: None },
            Place::Page(table, page) => LockTarget::Table { table, part: LockPart::Page(page), key: None },
        }
    }
}

/// A lock on a node above the rows: one that a transaction holds, or that an agent has inherited.
#[derive(Debug)]
pub(super) struct HigherLock {
    pub(super) place: Place,
    /// The mode in which the transaction holds the lock.
    pub(super) mode: Mode,
    pub(super) request: Arc<Request>,
    /// Whether the lock was hot when the lock manager granted it last.
    pub(super) is_hot: bool,
    /// Whether the transaction inherited the lock.
    pub(super) is_inherited: bool,
    /// The number of locks that the transaction holds below the node.
    pub(super) below: usize,
    /// The number of such locks at which the transaction tries to lock the node as a whole.
    pub(super) limit: usize,
}

/// The locks of one transaction on nodes above the rows, in the order in which it was granted them.
#[derive(Default)]
pub(super) struct HigherLocks {
    locks: Vec<HigherLock>,
    /// The positions of the locks by their names, once there are [`MANY`] locks.
    positions: HashMap<u64, usize>,
}

/// The number of locks up to which they are searched one after the other.
const MANY: usize = 16;

impl HigherLocks {
    pub(super) fn len(&self) -> usize {
        self.locks.len()
    }

    /// Returns the position of the lock on a node, if the transaction holds it.
    #[inline]
    pub(super) fn find(&self, place: Place) -> Option<usize> {
        if self.positions.is_empty() {
            return self.locks.iter().position(|lock| lock.place == place);
        }
        self.positions.get(&place.lock().name.0).copied().filter(|&position| self.locks[position].place == place)
    }

    #[inline]
    pub(super) fn get(&self, position: usize) -> &HigherLock {
        &self.locks[position]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, position: usize) -> &mut HigherLock {
        &mut self.locks[position]
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &HigherLock> {
        self.locks.iter()
    }

    /// Adds a lock, and returns its position.
    #[inline]
    pub(super) fn push(&mut self, lock: HigherLock) -> usize {
        let position = self.locks.len();
        self.locks.push(lock);
        if position >= MANY {
            self.note_positions(position);
        }
        position
    }

    #[cold]
    fn note_positions(&mut self, from: usize) {
        let from = if self.positions.is_empty() { 0 } else { from };
        let name = |position: usize| self.locks[position].place.lock().name.0;
        let noted: Vec<_> = (from..self.locks.len()).map(|position| (name(position), position)).collect();
        self.positions.extend(noted);
    }

    /// Removes the youngest lock.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<HigherLock> {
        if !self.positions.is_empty() {
            self.positions.clear();
        }
        self.locks.pop()
    }

    /// Removes and returns the locks on all pages of a table.
    pub(super) fn remove_pages(&mut self, of_table: TableId) -> Vec<HigherLock> {
        self.positions.clear();
        let is_page = |lock: &mut HigherLock| matches!(lock.place, Place::Page(table, _) if table == of_table);
        let removed = self.locks.extract_if(.., is_page).collect();
        if self.locks.len() > MANY {
            self.note_positions(0);
        }
        removed
    }
}
