//! A part of the log in memory: the changes of each table, of which a sort keeps the last one of each key.

use crate::failure::Failure;
use crate::manifest::{Manifest, Shape, Table};
use crate::merge::Sorted;
use crate::record::{Record, StoredChange, StoredRow};
use crate::source::Frame;
use hotrow_storage::{Key, TableId};
use hotrow_sync::Arc;
use std::collections::BTreeMap;

/// The name by which a description of damage refers to the log, if a record has the right sum and yet cannot be right.
const LOG: &str = "log";

/// The capacity in bytes of one piece of [`Rows`], unless one row needs more.
const PIECE_BYTES: usize = 1 << 20;

/// Changes that were read from the log and are not in a file yet.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) tables: BTreeMap<TableId, TableBatch>,
    rows: Rows,
    /// The number of bytes that all changes take. Changes of rows that were changed again count until the next
    /// [sort](Batch::sort).
    bytes: usize,
}

/// The changes of one table.
#[derive(Debug)]
pub(super) struct TableBatch {
    pub(super) shape: Arc<Shape>,
    /// The changes in the order of the log, or of their keys once they are [sorted](Batch::sort).
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
struct Change {
    key: Key,
    /// The place of the row's bytes, or `None` if the row was deleted.
    row: Option<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    piece: u32,
    at: u32,
    fixed: u32,
    variable: u32,
}

/// The bytes of rows, in pieces of memory. Bytes never move when further rows are added.
#[derive(Debug, Default)]
struct Rows {
    pieces: Vec<Vec<u8>>,
    /// Pieces without content, for the next rows.
    spare: Vec<Vec<u8>>,
}

impl Rows {
    fn push(&mut self, row: StoredRow<'_>) -> Place {
        let length = row.fixed.len() + row.variable.len();
        if self.pieces.last().is_none_or(|last| last.capacity() - last.len() < length) {
            let spare = self.spare.pop().filter(|spare| spare.capacity() >= length);
            self.pieces.push(spare.unwrap_or_else(|| Vec::with_capacity(length.max(PIECE_BYTES))));
        }
        let piece = self.pieces.len() - 1;
        let bytes = &mut self.pieces[piece];
        let at = bytes.len() as u32;
        bytes.extend_from_slice(row.fixed);
        bytes.extend_from_slice(row.variable);
        Place { piece: piece as u32, at, fixed: row.fixed.len() as u32, variable: row.variable.len() as u32 }
    }

    fn get(&self, place: Place) -> StoredRow<'_> {
        let row = &self.pieces[place.piece as usize][place.at as usize..][..place.bytes()];
        let (fixed, variable) = row.split_at(place.fixed as usize);
        StoredRow { fixed, variable }
    }

    /// Returns all pieces without their contents.
    fn into_spare(self) -> Vec<Vec<u8>> {
        let mut spare = self.spare;
        spare.extend(self.pieces.into_iter().map(|mut piece| {
            piece.clear();
            piece
        }));
        spare
    }
}

impl Batch {
    /// Makes an empty batch that uses the memory of an earlier one.
    pub(super) fn with_memory(spare: Vec<Vec<u8>>) -> Self {
        Self { rows: Rows { pieces: Vec::new(), spare }, ..Self::default() }
    }

    /// Returns the memory of the batch, for the next one.
    pub(super) fn into_memory(self) -> Vec<Vec<u8>> {
        self.rows.into_spare()
    }

    /// Returns the number of bytes that the changes take. Changes of rows that were changed again count until the next
    /// [sort](Self::sort).
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the changes of a frame's record. If the record makes or drops a table, or has a time of day, `manifest`
    /// follows. Fails if the record cannot be right, as when its table does not exist.
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
        let place = self.rows.push(row);
        self.bytes += place.bytes();
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

    /// Sorts the changes of each table by key, and keeps only the last change of each key. The rows of the other
    /// changes count no more, but stay in memory until [`compact`](Self::compact).
    pub(super) fn sort(&mut self) {
        self.bytes = 0;
        for table in self.tables.values_mut() {
            // The order of changes with the same key stays that of the log.
            table.changes.sort_by(|one, other| one.key.cmp(&other.key));
            table.changes.dedup_by(|next, kept| {
                let is_same = next.key == kept.key;
                if is_same {
                    std::mem::swap(next, kept);
                }
                is_same
            });
            let bytes =
                |change: &Change| size_of::<Change>() + change.key.heap_bytes() + change.row.map_or(0, Place::bytes);
            self.bytes += table.changes.iter().map(bytes).sum::<usize>();
        }
    }

    /// Frees the memory of rows whose changes a sort has dropped. During the call, all other rows are in memory twice.
    pub(super) fn compact(&mut self) {
        let all = std::mem::take(&mut self.rows);
        for change in self.tables.values_mut().flat_map(|table| &mut table.changes) {
            change.row = change.row.map(|place| self.rows.push(all.get(place)));
        }
        self.rows.spare = all.into_spare();
    }

    /// Returns the changes of a table in the order of their keys. The batch must be [sorted](Self::sort).
    pub(super) fn sorted(&self, table: TableId) -> SortedBatch<'_> {
        let changes = self.tables.get(&table).map_or(&[][..], |table| &table.changes);
        SortedBatch { rows: &self.rows, changes: changes.iter() }
    }

    /// Returns about how many bytes the section of a table will have in a file.
    pub(super) fn section_bytes(&self, table: TableId) -> u64 {
        let bytes = |change: &Change| 3 + change.row.map_or(change.key.heap_bytes() + size_of::<u64>(), Place::bytes);
        self.tables.get(&table).map_or(0, |table| table.changes.iter().map(bytes).sum::<usize>()) as u64
    }
}

impl Place {
    /// Returns the length of the row in bytes.
    fn bytes(self) -> usize {
        self.fixed as usize + self.variable as usize
    }
}

/// The changes of a table in the order of their keys.
#[derive(Debug)]
pub(super) struct SortedBatch<'b> {
    rows: &'b Rows,
    changes: std::slice::Iter<'b, Change>,
}

impl Sorted for SortedBatch<'_> {
    fn next(&mut self) -> Result<Option<(&Key, Option<StoredRow<'_>>)>, Failure> {
        let Some(change) = self.changes.next() else { return Ok(None) };
        Ok(Some((&change.key, change.row.map(|place| self.rows.get(place)))))
    }
}
