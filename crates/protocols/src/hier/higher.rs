//! The locks of one transaction on the database, on tables and on pages.

use super::lock::Lock;
use super::mode::Mode;
use super::request::RequestPtr;
use crate::shared::hashed::HashMap;
use crate::shared::lock_table::Name;
use hotrow_storage::{TableId, mix};
use hotrow_txn::{LockPart, LockTarget};

/// A node of the hierarchy above the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The table, or [`NO_TABLE`] for the database.
    table: TableId,
    /// The number of the page in the table, or [`WHOLE`].
    page: u64,
}

/// The number of the table that stands for the database. No table has it.
const NO_TABLE: TableId = TableId(u32::MAX);

/// The number of the page that stands for the whole table. It is greater than the address of any record.
const WHOLE: u64 = u64::MAX;

impl Place {
    /// The database: the root.
    pub(super) const DATABASE: Self = Self { table: NO_TABLE, page: WHOLE };

    /// Returns the node of a table, with its gaps, its absent keys and its unique keys.
    #[inline]
    pub(super) fn table(table: TableId) -> Self {
        Self { table, page: WHOLE }
    }

    /// Returns the node of a page: the rows of a table whose records lie in one stretch of memory. The number of the
    /// page is the address of the stretch divided by its length.
    #[inline]
    pub(super) fn page(table: TableId, page: u64) -> Self {
        Self { table, page }
    }

    /// Whether the node is a page.
    #[inline]
    pub(super) fn is_page(self) -> bool {
        self.page != WHOLE
    }

    /// Whether the node is one of these tables.
    #[inline]
    pub(super) fn is_one_of(self, tables: &[TableId]) -> bool {
        !self.is_page() && tables.contains(&self.table)
    }

    /// Whether the node is the database.
    #[inline]
    pub(super) fn is_database(self) -> bool {
        self.table == NO_TABLE
    }

    /// Returns the lock of the node.
    #[inline]
    pub(super) fn lock(self) -> Lock {
        Lock { name: Name(mix(u64::from(self.table.0) << 40 ^ self.page)), is_higher: true }
    }

    /// Returns the node in which this one is, or `None` for the database.
    #[inline]
    pub(super) fn parent(self) -> Option<Place> {
        match () {
            () if self.is_page() => Some(Place::table(self.table)),
            () if self.is_database() => None,
            () => Some(Place::DATABASE),
        }
    }

    /// Returns a description of the node for people.
    pub(super) fn target(self) -> LockTarget {
        if self.is_database() {
            return LockTarget::Database;
        }
        let part = if self.is_page() { LockPart::Page(self.page) } else { LockPart::Whole };
        LockTarget::Table { table: self.table, part, key: None }
    }
}

/// A lock on a node above the rows: one that a transaction holds, or that an agent has inherited.
#[derive(Debug)]
pub(super) struct HigherLock {
    pub(super) place: Place,
    /// The mode in which the transaction holds the lock.
    pub(super) mode: Mode,
    pub(super) request: RequestPtr,
    /// The position of the lock on the node above among the transaction's locks.
    pub(super) parent: usize,
    /// Whether the lock was hot when the lock manager granted it last.
    pub(super) is_hot: bool,
    /// Whether the next transaction may inherit the lock, as the transaction, which is about to end, has found out.
    pub(super) is_heritable: bool,
    /// Whether the transaction inherited the lock.
    pub(super) is_inherited: bool,
    /// The number of successive transactions that have inherited the lock and not used it.
    pub(super) unused: u8,
    /// The number of locks that the transaction holds below the node.
    pub(super) below: usize,
    /// The number of such locks at which the transaction tries to lock the node as a whole.
    pub(super) limit: usize,
}

/// The locks of one transaction on nodes above the rows, in the order in which it was granted them.
#[derive(Default)]
pub(super) struct HigherLocks {
    /// The nodes of the locks.
    places: Vec<Place>,
    locks: Vec<HigherLock>,
    /// The positions of the locks by the names of the nodes, once there are [`MANY`] locks.
    positions: HashMap<u64, usize>,
}

/// The number of locks up to which they are searched one after the other.
const MANY: usize = 24;

impl HigherLocks {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.locks.len()
    }

    /// Iterates over the nodes of the locks.
    #[inline]
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        self.places.iter().copied()
    }

    /// Returns the position of the lock on a node, if the transaction holds it.
    #[inline]
    pub(super) fn find(&self, place: Place) -> Option<usize> {
        if self.places.len() > MANY {
            return self.find_among_many(place);
        }
        self.places.iter().position(|&known| known == place)
    }

    #[cold]
    fn find_among_many(&self, place: Place) -> Option<usize> {
        let position = self.positions.get(&place.lock().name.0).copied();
        position.filter(|&position| self.places[position] == place)
    }

    #[inline]
    pub(super) fn get(&self, position: usize) -> &HigherLock {
        &self.locks[position]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, position: usize) -> &mut HigherLock {
        &mut self.locks[position]
    }

    /// Returns the position of the lock with this name, if the transaction holds it.
    pub(super) fn named(&self, name: u64) -> Option<usize> {
        self.locks.iter().position(|lock| lock.request.name() == name)
    }

    /// Adds a lock, and returns its position.
    #[inline]
    pub(super) fn push(&mut self, lock: HigherLock) -> usize {
        let position = self.locks.len();
        self.places.push(lock.place);
        self.locks.push(lock);
        if position >= MANY {
            self.note_positions(if position == MANY { 0 } else { position });
        }
        position
    }

    #[cold]
    fn note_positions(&mut self, from: usize) {
        let noted = self.places.iter().enumerate().skip(from);
        self.positions.extend(noted.map(|(position, place)| (place.lock().name.0, position)));
    }

    /// Notes of each lock whether `is_heritable` holds for it and for the locks on all nodes above it.
    pub(super) fn note_heritable(&mut self, is_heritable: impl Fn(&HigherLock) -> bool) {
        for position in 0..self.locks.len() {
            let lock = &self.locks[position];
            // A transaction locks the nodes above a node first.
            let above = lock.place.parent().map(|_| &self.locks[lock.parent]);
            let own = is_heritable(lock) && above.is_none_or(|above| above.is_heritable);
            let is_hot = lock.is_hot && above.is_none_or(|above| above.is_hot);
            let lock = &mut self.locks[position];
            (lock.is_heritable, lock.is_hot) = (own, is_hot);
        }
    }

    /// Removes the youngest lock.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<HigherLock> {
        if self.places.len() > MANY {
            self.positions.clear();
        }
        self.places.pop();
        self.locks.pop()
    }

    /// Removes and returns the locks on all pages of the table at `position`.
    pub(super) fn remove_pages(&mut self, position: usize) -> Vec<HigherLock> {
        let of_table = self.places[position];
        let removed = self.locks.extract_if(.., |lock| lock.place.parent() == Some(of_table) && lock.place.is_page());
        let removed = removed.collect();
        self.places = self.locks.iter().map(|lock| lock.place).collect();
        self.positions.clear();
        if self.places.len() > MANY {
            self.note_positions(0);
        }
        for lock in &mut self.locks {
            let above = lock.place.parent().and_then(|above| self.places.iter().position(|&place| place == above));
            lock.parent = above.unwrap_or(0);
        }
        removed
    }
}
