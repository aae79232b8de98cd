//! Reads several runs of a table as one: of the entries with the same key, the one of the latest run.

use crate::failure::Failure;
use crate::files::Files;
use crate::manifest::{Part, Run, Shape};
use crate::record::StoredRow;
use crate::table_file::{Entries, Entry, TableFile};
use hotrow_storage::{Key, RowRef, TableId};
use hotrow_sync::Arc;
use std::ops::Range;

/// Entries of one table in the order of their keys.
pub(crate) trait Sorted {
    /// Returns the next entry: a key with its row, or with `None` if there is no row with this key.
    fn next(&mut self) -> Result<Option<(&Key, Option<StoredRow<'_>>)>, Failure>;
}

/// A range of keys: from the first key on, up to the second one, which is not in it. `None` is no bound.
pub(crate) type Bounds = (Option<Key>, Option<Key>);

/// A reader of one run.
#[derive(Debug)]
struct Cursor<'f> {
    files: &'f Files<'f>,
    table: TableId,
    shape: Arc<Shape>,
    bounds: Bounds,
    /// The parts that are still to be read, the last first.
    parts: Vec<Part>,
    /// The part that is being read: its file, and the number of the next block.
    open: Option<(Arc<TableFile>, usize)>,
    block: Block,
    /// The key of the present entry, or `None` at the end.
    key: Option<Key>,
    /// The places of the two parts of the present entry's row in the block, or `None` if the row is absent.
    row: Option<(Range<usize>, Range<usize>)>,
}

/// The block that is being read.
#[derive(Debug, Default)]
struct Block {
    bytes: Vec<u8>,
    /// The place of the next entry.
    at: usize,
    /// The place of the block in its file.
    offset: u64,
}

impl<'f> Cursor<'f> {
    fn new(files: &'f Files<'f>, table: TableId, shape: &Arc<Shape>, run: &[Part], bounds: &Bounds) -> Self {
        let inside = |part: &&Part| {
            bounds.0.as_ref().is_none_or(|from| part.last >= *from)
                && bounds.1.as_ref().is_none_or(|to| part.first < *to)
        };
        let mut parts: Vec<_> = run.iter().filter(inside).cloned().collect();
        parts.reverse();
        let (shape, bounds) = (shape.clone(), bounds.clone());
        Self { files, table, shape, bounds, parts, open: None, block: Block::default(), key: None, row: None }
    }

    /// Reads the next block of the run. Returns false at the end.
    fn next_block(&mut self) -> Result<bool, Failure> {
        loop {
            if let Some((file, next)) = &mut self.open
                && let Some(block) = file.section(self.table)?.blocks.get(*next)
                && self.bounds.1.as_ref().is_none_or(|to| block.first < *to)
            {
                *next += 1;
                file.read_block(block, &mut self.block.bytes)?;
                (self.block.at, self.block.offset) = (Entries::start(), block.offset);
                return Ok(true);
            }
            let Some(part) = self.parts.pop() else {
                self.open = None;
                return Ok(false);
            };
            let file = self.files.open(part.file)?;
            let blocks = &file.section(self.table)?.blocks;
            let from = self.bounds.0.as_ref();
            let first = from.map_or(0, |from| blocks.partition_point(|block| block.first <= *from).saturating_sub(1));
            self.open = Some((file, first));
        }
    }

    /// Goes to the next entry within the bounds. The key is `None` at the end.
    fn advance(&mut self) -> Result<(), Failure> {
        loop {
            self.read_entry()?;
            let Some(key) = &self.key else { return Ok(()) };
            if self.bounds.1.as_ref().is_some_and(|to| key >= to) {
                self.key = None;
                return Ok(());
            }
            if self.bounds.0.as_ref().is_none_or(|from| key >= from) {
                return Ok(());
            }
        }
    }

    fn read_entry(&mut self) -> Result<(), Failure> {
        while self.block.at >= self.block.bytes.len() {
            if !self.next_block()? {
                self.key = None;
                return Ok(());
            }
        }
        let fixed_size = self.shape.layout.fixed_size();
        let mut entries = Entries::new(&self.block.bytes, self.block.at, fixed_size);
        let read = match entries.read() {
            Some(Entry::Absent(key)) => Some((key, None)),
            Some(Entry::Row(row)) => row.key(&self.shape.layout, &self.shape.key).map(|key| {
                let end = self.block.bytes.len() - entries.left();
                let middle = end - row.variable.len();
                (key, Some((middle - fixed_size..middle, middle..end)))
            }),
            None => None,
        };
        let Some((key, row)) = read else { return Err(self.damage("the bytes here are no entry of the table")) };
        if self.key.as_ref().is_some_and(|before| *before >= key) {
            return Err(self.damage("the keys do not ascend"));
        }
        self.block.at = self.block.bytes.len() - entries.left();
        (self.key, self.row) = (Some(key), row);
        Ok(())
    }

    fn damage(&self, what: &str) -> Failure {
        let name = self.open.as_ref().map_or("", |(file, _)| file.name());
        Failure::damage(name, self.block.offset + self.block.at as u64, what)
    }

    fn row(&self) -> Option<StoredRow<'_>> {
        let (fixed, variable) = self.row.clone()?;
        Some(StoredRow { fixed: &self.block.bytes[fixed], variable: &self.block.bytes[variable] })
    }
}

/// Runs of one table, read together. Memory: a block of each run.
#[derive(Debug)]
pub(crate) struct Merge<'f> {
    shape: Arc<Shape>,
    /// The readers, that of the oldest run first.
    cursors: Vec<Cursor<'f>>,
    /// The cursors that are at the present key, the oldest run first. The entry of the last one counts.
    present: Vec<usize>,
}

impl<'f> Merge<'f> {
    /// Makes a reader of these runs, of which the oldest is the first, for the keys within the bounds.
    pub(crate) fn new<'r>(
        files: &'f Files<'f>,
        table: TableId,
        shape: &Arc<Shape>,
        runs: impl Iterator<Item = &'r Run>,
        bounds: &Bounds,
    ) -> Result<Self, Failure> {
        let mut cursors: Vec<_> = runs.map(|run| Cursor::new(files, table, shape, run, bounds)).collect();
        cursors.iter_mut().try_for_each(Cursor::advance)?;
        Ok(Self { shape: shape.clone(), cursors, present: Vec::new() })
    }

    /// Goes to the next key. Returns false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, Failure> {
        for at in self.present.drain(..) {
            self.cursors[at].advance()?;
        }
        let mut least: Option<&Key> = None;
        for (at, cursor) in self.cursors.iter().enumerate() {
            let Some(key) = &cursor.key else { continue };
            match least.map_or(std::cmp::Ordering::Less, |least| key.cmp(least)) {
                std::cmp::Ordering::Less => {
                    self.present.clear();
                    self.present.push(at);
                    least = Some(key);
                }
                std::cmp::Ordering::Equal => self.present.push(at),
                std::cmp::Ordering::Greater => {}
            }
        }
        Ok(!self.present.is_empty())
    }

    fn winner(&self) -> Option<&Cursor<'f>> {
        self.present.last().map(|&at| &self.cursors[at])
    }

    /// Returns the present key, or `None` at the end.
    pub(crate) fn key(&self) -> Option<&Key> {
        self.winner()?.key.as_ref()
    }

    /// Returns the row of the present key, or `None` if the row was deleted.
    pub(crate) fn row(&self) -> Option<RowRef<'_>> {
        let row = self.winner()?.row()?;
        Some(RowRef::new(&self.shape.layout, row.fixed, row.variable))
    }

    /// Returns the file with the present entry, or `None` if there is no entry.
    pub(crate) fn file(&self) -> Option<&Arc<TableFile>> {
        self.winner().and_then(|cursor| cursor.open.as_ref()).map(|(file, _)| file)
    }
}

impl Sorted for Merge<'_> {
    fn next(&mut self) -> Result<Option<(&Key, Option<StoredRow<'_>>)>, Failure> {
        if !self.advance()? {
            return Ok(None);
        }
        Ok(self.winner().and_then(|cursor| Some((cursor.key.as_ref()?, cursor.row()))))
    }
}
