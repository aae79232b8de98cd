//! The log of sequences: records of the number at which each sequence stands. They belong to no transaction.

use crate::{SqlError, state};
use hotrow_storage::{
    Change, Column, End, KeySpec, Position, RedoSink, Refusal, Row, RowLayout, RowRef, TableId, TableSchema, Type,
    Value,
};
use hotrow_sync::{Arc, Waiter};
use std::time::Duration;

/// The number at which a sequence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The number that was taken last, or the number that is taken next if `is_taken` is false.
    pub last: i64,
    /// Whether `last` has been taken.
    pub is_taken: bool,
}

/// The name of the table of the places. The [full name](crate::schema) of a relation has no NUL, or
/// ends with one, so no relation of a user has this name.
pub const NAME: &str = "\0places";

/// Returns the definition of the table of the places.
pub fn schema() -> TableSchema {
    let part = Column::new("part", Type::Int8);
    let columns = vec![
        part,
        Column::new("place", Type::Int8),
        Column::new("last", Type::Int8),
        Column::new("is_taken", Type::Bool),
    ];
    TableSchema { partitioned: true, ..TableSchema::new(NAME, columns, &[0, 1]) }
}

/// Reads a row of the table of the places. Returns the number of the place, and the number at which its sequence
/// stands.
pub fn read(row: RowRef<'_>) -> (u32, At) {
    let is_taken = matches!(row.value(3), Value::Bool(true));
    (row.int8(1) as u32, At { last: row.int8(2), is_taken })
}

/// The part of the redo log that records the numbers at which the sequences stand.
///
/// Each record changes the row of a place in a table that no transaction of this process accesses. So a sequence
/// advances at once, even if the transaction that takes a number is rolled back later. All records of a place are
/// appended under its latch, so their order in the log is the order in which the place has changed.
pub struct PlaceLog {
    sink: Arc<dyn RedoSink>,
    table: TableId,
    layout: Arc<RowLayout>,
    key: KeySpec,
}

impl PlaceLog {
    /// Makes the log of the sequences. `table` is the table of the places, which has [this definition](schema).
    pub fn new(sink: Arc<dyn RedoSink>, table: TableId) -> Self {
        let schema = schema();
        let key = KeySpec::new(&schema.columns, &schema.key);
        Self { sink, table, layout: Arc::new(RowLayout::new(&schema.columns)), key }
    }

    /// Returns the engine's number of the table of the places.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// Returns the sink of the records.
    pub fn sink(&self) -> &Arc<dyn RedoSink> {
        &self.sink
    }

    /// Checks that the log accepts records now.
    ///
    /// # Errors
    ///
    /// 53100 if the disk is full, 58030 if the log has failed.
    pub fn check(&self) -> Result<(), SqlError> {
        self.sink.admits().map_err(refused)
    }

    /// Appends the record of a place. Returns the position of the record.
    pub(super) fn put(&self, place: u32, at: At) -> Position {
        let mut row = Row::new(&self.layout);
        row.change(|row| {
            row.set_int8(0, 0);
            row.set_int8(1, i64::from(place));
            row.set_int8(2, at.last);
            row.set(3, &Value::Bool(at.is_taken));
        });
        self.append(&mut std::iter::once(Change::Put { table: self.table, row: row.as_ref() }))
    }

    /// Appends a record that deletes places. Appends none if `places` is empty.
    pub fn remove(&self, places: &[u32]) {
        let key = |place: u32| self.key.key([Value::Int8(0), Value::Int8(i64::from(place))]);
        let mut changes = places.iter().map(|place| Change::Delete { table: self.table, key: key(*place) });
        if !places.is_empty() {
            self.append(&mut changes);
        }
    }

    fn append(&self, changes: &mut dyn Iterator<Item = Change<'_>>) -> Position {
        // The caller may be in the middle of an access of the engine, and must not be suspended in favour of another
        // transaction of its thread: if the log is short of room, the thread itself waits.
        self.sink.append(End::Next, changes, &Waiter::thread(Duration::ZERO))
    }
}

/// Returns the error of a statement that is refused because the log cannot be written: 53100 if the disk is full, 58030
/// if the log has failed.
pub fn refused(refusal: Refusal) -> SqlError {
    match refusal {
        Refusal::Full => SqlError::new(state::DISK_FULL, "could not write to the log: no space left on device")
            .hint("Make room on the disk of the data directory; statements that only read still run."),
        Refusal::Failed => SqlError::new(state::IO_ERROR, "could not write to the log: the disk has failed before")
            .hint("Statements that only read still run. Restart the server to recover from the disk."),
    }
}

impl std::fmt::Debug for PlaceLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlaceLog").field("table", &self.table).finish_non_exhaustive()
    }
}
