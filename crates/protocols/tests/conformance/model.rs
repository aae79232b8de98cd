//! A model of a table, and of the answer to each call.

use crate::tables::{Shape, Values};
use hotrow_storage::{IndexId, IndexRef, Key};
use hotrow_txn::{Direction, Scan, Write};
use std::collections::BTreeMap;
use std::ops::Bound;

type Rows = BTreeMap<Key, Values>;

/// A table and one session's transaction on it.
pub struct Model {
    shape: Shape,
    committed: Rows,
    rows: Rows,
    savepoints: Vec<Rows>,
}

impl Model {
    pub fn new(shape: Shape) -> Self {
        Self { shape, committed: Rows::new(), rows: Rows::new(), savepoints: Vec::new() }
    }

    /// All rows, in order of their keys.
    pub fn committed(&self) -> Vec<Values> {
        self.committed.values().cloned().collect()
    }

    pub fn begin(&mut self) {
        self.rows = self.committed.clone();
        self.savepoints.clear();
    }

    pub fn read(&self, key: &Key) -> Option<&Values> {
        self.rows.get(key)
    }

    pub fn insert(&mut self, values: &Values) -> Write {
        let key = self.shape.index_key(IndexRef::Primary, values);
        if self.rows.contains_key(&key) {
            return Write::Duplicate(IndexRef::Primary);
        }
        if let Some(index) = self.duplicate(&key, values) {
            return Write::Duplicate(index);
        }
        self.rows.insert(key, values.clone());
        Write::Done
    }

    pub fn update(&mut self, key: &Key, values: &Values) -> Write {
        if !self.rows.contains_key(key) {
            return Write::Absent;
        }
        if let Some(index) = self.duplicate(key, values) {
            return Write::Duplicate(index);
        }
        self.rows.insert(key.clone(), values.clone());
        Write::Done
    }

    pub fn delete(&mut self, key: &Key) -> Write {
        if self.rows.remove(key).is_some() { Write::Done } else { Write::Absent }
    }

    /// The first unique index in which another row than `key`'s has these values, none of them NULL.
    fn duplicate(&self, key: &Key, values: &Values) -> Option<IndexRef> {
        let schema = self.shape.schema();
        let unique = (0..schema.indexes.len()).filter(|&index| schema.indexes[index].unique);
        let taken = |&index: &usize| {
            let columns = &schema.indexes[index].columns;
            let same = |other: &Values| columns.iter().all(|&column| other[column] == values[column]);
            let is_null = columns.iter().any(|&column| values[column].is_null());
            !is_null && self.rows.iter().any(|(other, row)| other != key && same(row))
        };
        unique.into_iter().find(taken).map(|index| IndexRef::Secondary(IndexId(index as u16)))
    }

    /// The rows in a scan's range, in its order; in any, if the index has none.
    pub fn scan(&self, scan: &Scan) -> Vec<Values> {
        let mut rows: Vec<_> =
            self.rows.iter().map(|(key, row)| (self.shape.index_key(scan.index, row), key)).collect();
        rows.retain(|(key, _)| is_inside(scan, key));
        rows.sort();
        if scan.direction == Direction::Backward {
            rows.reverse();
        }
        rows.into_iter().map(|(_, key)| self.rows[key].clone()).collect()
    }

    pub fn savepoint(&mut self) {
        self.savepoints.push(self.rows.clone());
    }

    /// Back to savepoint `number`, which stays; later ones are gone.
    pub fn rollback_to(&mut self, number: usize) {
        self.rows = self.savepoints[number].clone();
        self.savepoints.truncate(number + 1);
    }

    pub fn commit(&mut self) {
        self.committed = std::mem::take(&mut self.rows);
    }

    pub fn abort(&mut self) {
        self.rows.clear();
    }
}

/// A bound that is a prefix stands for all keys that begin with it.
fn is_inside(scan: &Scan, key: &Key) -> bool {
    let above = match &scan.lower {
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower && !key.starts_with(lower),
        Bound::Unbounded => true,
    };
    let below = match &scan.upper {
        Bound::Included(upper) => key <= upper || key.starts_with(upper),
        Bound::Excluded(upper) => key < upper,
        Bound::Unbounded => true,
    };
    above && below
}
