//! A part of the log in memory: the last change of each key, by table.

use crate::failure::Failure;
use crate::manifest::{Manifest, Shape, Table};
use crate::merge::Sorted;
use crate::record::{Record, StoredChange, StoredRow};
use crate::source::Frame;
use hotrow_storage::{Key, TableId};
use hotrow_sync::Arc;
use std::collections::BTreeMap;

/// The name of the log in descriptions of damage: a record that passes its sum and cannot be right.
const LOG: &str = "log";

/// Changes that were read from the log and are not in a file yet.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) tables: BTreeMap<TableId, TableBatch>,
    /// The bytes of rows.
    rows: Vec<u8>,
    /// The number of bytes that all changes take, including changes of rows that were changed again.
    bytes: usize,
}

/// The changes of one table.
#[derive(Debug)]
pub(super) struct TableBatch {
    pub(super) shape: Arc<Shape>,
    /// In the order of the log, or of the keys once they are [sorted](Batch::sort).
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
struct Change {
    key: Key,
    /// The place of the row's bytes, or `None` if there is no row.
    row: Option<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    fixed: u32,
    variable: u32,
}

impl Batch {
    /// Returns the number of bytes that the batch takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds what the record of a frame says. Tables that it makes or drops are made or dropped in `manifest`.
    pub(super) fn add(&mut self, manifest: &mut Manifest, frame: &Frame<'_>) -> Result<(), Failure> {
        let damage = |what: String| Failure::damage(LOG, frame.position, what);
        match Record::read(frame.record).map_err(damage)? {
            Record::Created { table, schema } => {
                let shape = Shape::new(schema);
                manifest.next_table = manifest.next_table.max(table.0 + 1);
                if manifest.tables.insert(table, Arc::new(Table::new(shape))).is_some() {
                    return Err(damage(format!("table {} is made a second time", table.0)));
                }
            }
            Record::Dropped { table } => {
                manifest.tables.remove(&table);
                self.tables.remove(&table);
            }
            Record::Loaded { table, row } => self.put(manifest, table, row).map_err(damage)?,
            Record::Clock(time) => manifest.clock = time,
            Record::Transaction(changes) => {
                for change in changes {
                    match change.map_err(damage)? {
                        StoredChange::Put { table, row } => self.put(manifest, table, row),
                        StoredChange::Delete { table, key } => self.push(manifest, table, key, None),
                    }
                    .map_err(damage)?;
                }
            }
        }
        Ok(())
    }

    fn put(&mut self, manifest: &Manifest, table: TableId, row: StoredRow<'_>) -> Result<(), String> {
        let shape = &self.table(manifest, table)?.shape;
        let key =
            row.key(&shape.layout, &shape.key).ok_or_else(|| format!("a row that is none of table {}", table.0))?;
        let place = Place { at: self.rows.len(), fixed: row.fixed.len() as u32, variable: row.variable.len() as u32 };
        self.rows.extend_from_slice(row.fixed);
        self.rows.extend_from_slice(row.variable);
        self.bytes += row.fixed.len() + row.variable.len();
        self.push(manifest, table, key, Some(place))
    }

    fn push(&mut self, manifest: &Manifest, table: TableId, key: Key, row: Option<Place>) -> Result<(), String> {
        self.bytes += size_of::<Change>() + key.heap_bytes();
        self.table(manifest, table)?.changes.push(Change { key, row });
        Ok(())
    }

    fn table(&mut self, manifest: &Manifest, table: TableId) -> Result<&mut TableBatch, String> {
        use std::collections::btree_map::Entry;
        match self.tables.entry(table) {
            Entry::Occupied(found) => Ok(found.into_mut()),
            Entry::Vacant(vacant) => {
                let known = manifest.tables.get(&table);
                let known = known.ok_or_else(|| format!("a change of table {}, which does not exist", table.0))?;
                Ok(vacant.insert(TableBatch { shape: known.shape.clone(), changes: Vec::new() }))
            }
        }
    }

    /// Sorts the changes of each table by key, and keeps the last one of each key. Takes twice the memory of the rows
    /// for a moment.
    pub(super) fn sort(&mut self) {
        let mut rows = Vec::new();
        self.bytes = 0;
        for table in self.tables.values_mut() {
            // The order of changes with the same key stays that of the log.
            table.changes.sort_by(|one, other| one.key.cmp(&other.key));
            let mut kept: Vec<Change> = Vec::with_capacity(table.changes.len());
            for change in table.changes.drain(..) {
                match kept.last_mut() {
                    Some(last) if last.key == change.key => *last = change,
                    _ => kept.push(change),
                }
            }
            for change in &mut kept {
                self.bytes += size_of::<Change>() + change.key.heap_bytes();
                if let Some(place) = &mut change.row {
                    let at = rows.len();
                    rows.extend_from_slice(&self.rows[place.range()]);
                    place.at = at;
                }
            }
            table.changes = kept;
        }
        self.bytes += rows.len();
        self.rows = rows;
    }

    /// Returns the entries of a table, once they are sorted.
    pub(super) fn sorted(&self, table: TableId) -> SortedBatch<'_> {
        let changes = self.tables.get(&table).map_or(&[][..], |table| &table.changes);
        SortedBatch { rows: &self.rows, changes: changes.iter() }
    }

    /// Returns about how many bytes the section of a table will have.
    pub(super) fn section_bytes(&self, table: TableId) -> u64 {
        let bytes = |change: &Change| {
            3 + change.row.map_or(change.key.heap_bytes() + size_of::<u64>(), |place| place.range().len())
        };
        self.tables.get(&table).map_or(0, |table| table.changes.iter().map(bytes).sum::<usize>()) as u64
    }
}

impl Place {
    fn range(self) -> std::ops::Range<usize> {
        self.at..self.at + self.fixed as usize + self.variable as usize
    }
}

/// The changes of a table in the order of their keys.
#[derive(Debug)]
pub(super) struct SortedBatch<'b> {
    rows: &'b [u8],
    changes: std::slice::Iter<'b, Change>,
}

impl Sorted for SortedBatch<'_> {
    fn next(&mut self) -> Result<Option<(&Key, Option<StoredRow<'_>>)>, Failure> {
        let Some(change) = self.changes.next() else { return Ok(None) };
        let row = change.row.map(|place| {
            let (fixed, variable) = self.rows[place.range()].split_at(place.fixed as usize);
            StoredRow { fixed, variable }
        });
        Ok(Some((&change.key, row)))
    }
}
