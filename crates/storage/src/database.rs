//! A database: its tables, by number, of the kind that its protocol uses.

use crate::epoch::{Collector, Garbage, Participant};
use crate::redo::{LogFailed, Position, RedoSink};
use crate::{Duplicate, Guard, RowRef, StoredTable, Table, TableId, TableSchema};
use hotrow_sync::atomic::{AtomicPtr, Ordering};
use hotrow_sync::{Arc, Mutex, OnceLock, Waiter};
use std::fmt;

/// The number of tables of the first chunk. Each further chunk has twice as many as the one before it.
const FIRST_CHUNK: usize = if cfg!(any(loom, shuttle)) { 4 } else { 1024 };
/// The number of chunks. They have room for about four billion tables in the life of a database, dropped ones included.
const CHUNKS: usize = if cfg!(any(loom, shuttle)) { 4 } else { 22 };

/// The tables of a database whose records have headers of type `H`, and whose rows change in place.
pub type Database<H> = Tables<Table<H>>;

type Chunk<T> = Box<[AtomicPtr<T>]>;

/// The tables of one database. All threads share this object.
///
/// Finding a table by its number takes two loads and no latch. A number is never reused, even after its table is
/// dropped.
pub struct Tables<T: StoredTable> {
    collector: Arc<Collector>,
    chunks: Box<[OnceLock<Chunk<T>>]>,
    next: Mutex<u32>,
    /// The number of parts of the primary index of a partitioned table.
    parts: usize,
    redo: OnceLock<Arc<dyn RedoSink>>,
}

impl<T: StoredTable> Tables<T> {
    /// Makes a database without tables.
    pub fn new() -> Arc<Self> {
        Self::with_parts(1)
    }

    /// Makes a database without tables. The primary index of each [partitioned](TableSchema::partitioned) table will
    /// have `parts` parts.
    pub fn with_parts(parts: usize) -> Arc<Self> {
        let chunks = (0..CHUNKS).map(|_| OnceLock::new()).collect();
        let (collector, next, redo) = (Collector::new(), Mutex::new(0), OnceLock::new());
        Arc::new(Self { collector, chunks, next, parts, redo })
    }

    /// Makes the database pass a redo record of every change from now on to `sink`: tables made and dropped, rows
    /// loaded, transactions committed. The sink gets no record of the tables that exist already, nor of those that are
    /// [unlogged](TableSchema::unlogged).
    ///
    /// # Panics
    /// If there is a sink already.
    pub fn set_redo(&self, sink: Arc<dyn RedoSink>) {
        assert!(self.redo.set(sink).is_ok(), "a database has one redo sink");
    }

    /// Returns the sink that receives the redo records of this database, or `None` if there is no sink.
    #[inline]
    pub fn redo(&self) -> Option<&dyn RedoSink> {
        self.redo.get().map(|sink| &**sink)
    }

    /// Returns the sink that receives the redo records of a table, or `None` if there is no sink or the table is
    /// [unlogged](TableSchema::unlogged).
    pub fn redo_of(&self, table: &T) -> Option<&dyn RedoSink> {
        self.redo().filter(|_| !table.schema().unlogged)
    }

    /// Waits until a commit is durable. `handed` is the position of the commit's redo record, or `None` if the database
    /// had no sink when the transaction committed; then the call returns at once.
    ///
    /// # Errors
    /// If the log has failed. The transaction stays committed in memory.
    #[inline]
    pub fn wait_durable(&self, handed: Option<Position>, waiter: &Waiter) -> Result<(), LogFailed> {
        match handed.zip(self.redo()) {
            Some((position, sink)) => sink.wait_durable(position, waiter),
            None => Ok(()),
        }
    }

    /// Returns the garbage collector of the database, which frees unlinked memory by epochs.
    pub fn collector(&self) -> &Arc<Collector> {
        &self.collector
    }

    /// Makes a new participant in the database's epochs. Each transaction object needs one to access tables.
    pub fn participant(&self) -> Participant {
        self.collector.participant()
    }

    /// Makes an empty table, and returns its number.
    ///
    /// # Panics
    /// If four billion tables were made before, in this process or in those whose tables were restored.
    pub fn create_table(&self, schema: TableSchema) -> TableId {
        let mut next = self.next.lock().expect("no panic under the latch");
        let id = TableId(*next);
        let slot = self.slot_or_grow(id);
        let table = Box::new(T::new(id, schema, &self.collector, self.parts));
        if let Some(sink) = self.redo_of(&table) {
            sink.created(id, table.schema());
        }
        slot.store(Box::into_raw(table), Ordering::Release);
        *next += 1;
        id
    }

    /// Makes an empty table that an earlier process had, under the number that it had there. The redo sink gets no
    /// record. Tables that are made later have greater numbers.
    ///
    /// # Panics
    /// If there is a table with this number, or the number is four billion or more.
    pub fn restore_table(&self, id: TableId, schema: TableSchema) {
        let mut next = self.next.lock().expect("no panic under the latch");
        let slot = self.slot_or_grow(id);
        assert!(slot.load(Ordering::Acquire).is_null(), "there is a table {} already", id.0);
        let table = Box::new(T::new(id, schema, &self.collector, self.parts));
        slot.store(Box::into_raw(table), Ordering::Release);
        *next = (*next).max(id.0 + 1);
    }

    /// Makes sure that tables that are made later have numbers of at least `first`: lower ones were given to tables
    /// that an earlier process dropped.
    pub fn skip_tables(&self, first: TableId) {
        let mut next = self.next.lock().expect("no panic under the latch");
        *next = (*next).max(first.0);
    }

    /// Drops a table that no transaction uses any more. Its memory is freed once no participant can still hold a
    /// pointer into it. If no table has this number, the call does nothing.
    pub fn drop_table(&self, table: TableId) {
        let Some(slot) = self.slot(table) else { return };
        let old = slot.swap(std::ptr::null_mut(), Ordering::AcqRel);
        if !old.is_null() {
            // SAFETY: the pointer came from `Box::into_raw` when the table was made, and the swap took it out once.
            let old = unsafe { Box::from_raw(old) };
            if let Some(sink) = self.redo_of(&old) {
                sink.dropped(table);
            }
            self.collector.defer(Garbage::boxed(old));
            self.collector.collect();
        }
    }

    /// Returns the table with this number, or `None` if there is no such table.
    #[inline]
    pub fn table<'g>(&'g self, _guard: Guard<'g>, table: TableId) -> Option<&'g T> {
        let table = self.slot(table)?.load(Ordering::Acquire);
        // SAFETY: the pointer is null, or leads to a table that is retired through the epochs once it is taken out of
        // its slot.
        unsafe { table.as_ref() }
    }

    /// Returns the numbers of all tables of the database, in ascending order.
    pub fn numbers(&self) -> Vec<TableId> {
        let made = *self.next.lock().expect("no panic under the latch");
        let is_there = |id: &TableId| self.slot(*id).is_some_and(|slot| !slot.load(Ordering::Acquire).is_null());
        (0..made).map(TableId).filter(is_there).collect()
    }

    /// Iterates over all tables of the database.
    pub fn tables<'g>(&'g self, guard: Guard<'g>) -> impl Iterator<Item = &'g T> {
        let made = *self.next.lock().expect("no panic under the latch");
        (0..made).filter_map(move |number| self.table(guard, TableId(number)))
    }

    /// Inserts rows into a table that no transaction uses yet; they are present and committed at once.
    ///
    /// # Errors
    /// If a unique index has the key of a row already: returns the position of that row in `rows`, and the index. The
    /// rows before it were inserted then, and no others.
    ///
    /// # Panics
    /// If there is no such table.
    pub fn load_rows(&self, guard: Guard<'_>, table: TableId, rows: &[RowRef<'_>]) -> Result<(), (usize, Duplicate)> {
        let stored = self.table(guard, table).expect("rows are loaded into a table that exists");
        let loaded = stored.load_rows(guard, rows);
        if let Some(sink) = self.redo_of(stored) {
            let count = loaded.map_or_else(|(count, _)| count, |()| rows.len());
            rows[..count].iter().for_each(|row| sink.loaded(table, *row));
        }
        loaded
    }

    /// Inserts one row, as [`load_rows`](Self::load_rows) does.
    ///
    /// # Errors
    /// If a unique index has the row's key already. Nothing was changed then.
    ///
    /// # Panics
    /// If there is no such table.
    pub fn load(&self, guard: Guard<'_>, table: TableId, row: RowRef<'_>) -> Result<(), Duplicate> {
        self.load_rows(guard, table, &[row]).map_err(|(_, duplicate)| duplicate)
    }

    #[inline]
    fn slot(&self, table: TableId) -> Option<&AtomicPtr<T>> {
        let (chunk, at) = place(table);
        self.chunks.get(chunk)?.get().map(|chunk| &chunk[at])
    }

    fn slot_or_grow(&self, table: TableId) -> &AtomicPtr<T> {
        let (chunk, at) = place(table);
        assert!(chunk < CHUNKS, "a database makes at most {} tables", (FIRST_CHUNK << CHUNKS) - FIRST_CHUNK);
        let empty = || (0..FIRST_CHUNK << chunk).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect();
        &self.chunks[chunk].get_or_init(empty)[at]
    }
}

/// Returns the chunk in which a table's slot is, and the slot's position there.
#[inline]
fn place(table: TableId) -> (usize, usize) {
    let number = table.0 as usize;
    let chunk = (number / FIRST_CHUNK + 1).ilog2() as usize;
    (chunk, number - ((FIRST_CHUNK << chunk) - FIRST_CHUNK))
}

impl<T: StoredTable> Drop for Tables<T> {
    fn drop(&mut self) {
        for chunk in self.chunks.iter().filter_map(OnceLock::get) {
            for slot in chunk {
                let table = slot.swap(std::ptr::null_mut(), Ordering::AcqRel);
                if !table.is_null() {
                    // SAFETY: as in `drop_table`; and the database is being dropped, so no thread looks at its tables.
                    drop(unsafe { Box::from_raw(table) });
                }
            }
        }
    }
}

impl<T: StoredTable> fmt::Debug for Tables<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").field("collector", &self.collector).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_a_place_of_its_own() {
        let mut next = (0, 0);
        for number in 0..100_000 {
            assert_eq!(place(TableId(number)), next, "{number}");
            next = if next.1 + 1 == FIRST_CHUNK << next.0 { (next.0 + 1, 0) } else { (next.0, next.1 + 1) };
        }
        let last = (FIRST_CHUNK << CHUNKS) - FIRST_CHUNK - 1;
        assert_eq!(place(TableId(last as u32)), (CHUNKS - 1, (FIRST_CHUNK << (CHUNKS - 1)) - 1));
    }
}
