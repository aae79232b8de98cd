//! The records of the log, as bytes.
//!
//! A record's bytes stand alone, but for the definition of the table: the row of a [`Put`](StoredChange::Put) is the
//! two parts of the row in storage, whose layout follows from the table's columns.
//!
//! | kind | bytes after the byte of the kind |
//! | --- | --- |
//! | created, 1 | table, definition |
//! | loaded, 2 | table, row |
//! | dropped, 3 | table |
//! | transaction, 4 | the changes: for each, twice the table, plus one for a deletion, and then the row or the key |
//! | clock, 5 | eight bytes |
//!
//! A table is its number. A row is its two parts, as strings. An integer key is a zero and the signed integer; another
//! key is its length plus one and its bytes. All numbers but those of eight bytes are varints. Another form of a record
//! will get another kind, so a reader refuses records that it does not know.

use crate::bytes::{Input, push_signed, push_string, push_varint};
use crate::definition::{push_schema, read_schema};
use hotrow_storage::{Change, Key, KeySpec, RowLayout, RowRef, TableId, TableSchema};

const CREATED: u8 = 1;
const LOADED: u8 = 2;
const DROPPED: u8 = 3;
const TRANSACTION: u8 = 4;
const CLOCK: u8 = 5;

/// Appends the record that a table was made.
pub fn created(table: TableId, schema: &TableSchema, bytes: &mut Vec<u8>) {
    bytes.push(CREATED);
    push_varint(bytes, u64::from(table.0));
    push_schema(bytes, schema);
}

/// Appends the record that a row was put into a table that no transaction had used yet.
pub fn loaded(table: TableId, row: RowRef<'_>, bytes: &mut Vec<u8>) {
    bytes.push(LOADED);
    push_varint(bytes, u64::from(table.0));
    push_row(bytes, StoredRow { fixed: row.fixed(), variable: row.variable() });
}

/// Appends the record that a table was dropped.
pub fn dropped(table: TableId, bytes: &mut Vec<u8>) {
    bytes.push(DROPPED);
    push_varint(bytes, u64::from(table.0));
}

/// Appends the record that a transaction committed with these changes.
pub fn transaction(changes: &mut dyn Iterator<Item = Change<'_>>, bytes: &mut Vec<u8>) {
    bytes.push(TRANSACTION);
    for change in changes {
        match change {
            Change::Put { table, row } => {
                push_varint(bytes, u64::from(table.0) << 1);
                push_row(bytes, StoredRow { fixed: row.fixed(), variable: row.variable() });
            }
            Change::Delete { table, key } => {
                push_varint(bytes, u64::from(table.0) << 1 | 1);
                push_key(bytes, &key);
            }
        }
    }
}

/// Appends the record of the time of day, in microseconds since 2000-01-01 UTC.
pub fn clock(micros: i64, bytes: &mut Vec<u8>) {
    bytes.push(CLOCK);
    bytes.extend_from_slice(&micros.to_le_bytes());
}

/// Appends the two parts of a row.
pub(crate) fn push_row(bytes: &mut Vec<u8>, row: StoredRow<'_>) {
    push_string(bytes, row.fixed);
    push_string(bytes, row.variable);
}

/// Appends a key, in the form that the head of this module describes.
pub(crate) fn push_key(bytes: &mut Vec<u8>, key: &Key) {
    match key {
        Key::Int(int) => {
            bytes.push(0);
            push_signed(bytes, *int);
        }
        key => {
            let key = key.bytes().unwrap_or_default();
            push_varint(bytes, key.len() as u64 + 1);
            bytes.extend_from_slice(key);
        }
    }
}

/// Reads the two parts of a row.
pub(crate) fn read_row<'a>(input: &mut Input<'a>) -> Option<StoredRow<'a>> {
    Some(StoredRow { fixed: input.string()?, variable: input.string()? })
}

/// Reads a key.
pub(crate) fn read_key(input: &mut Input<'_>) -> Option<Key> {
    match input.size()? {
        0 => Some(Key::Int(input.signed()?)),
        length => Some(Key::from_bytes(input.take(length - 1)?)),
    }
}

fn read_table(input: &mut Input<'_>) -> Option<TableId> {
    Some(TableId(input.varint32()?))
}

/// A record of the log, as it was read.
#[derive(Debug)]
pub enum Record<'a> {
    /// A table was made.
    Created {
        /// The number of the table.
        table: TableId,
        /// The definition of the table.
        schema: TableSchema,
    },
    /// A row was put into a table that no transaction had used yet.
    Loaded {
        /// The number of the table.
        table: TableId,
        /// The row.
        row: StoredRow<'a>,
    },
    /// A table was dropped.
    Dropped {
        /// The number of the table.
        table: TableId,
    },
    /// A transaction committed with these changes.
    Transaction(Changes<'a>),
    /// The time of day at which the log was at this position, in microseconds since 2000-01-01 UTC.
    Clock(i64),
}

impl<'a> Record<'a> {
    /// Reads a record from its bytes. The changes of a transaction are read later, one by one.
    ///
    /// # Errors
    /// If the bytes are no record. The text says, for people, why not.
    pub fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let mut input = Input(bytes);
        let kind = input.byte().ok_or("an empty record")?;
        let record = match kind {
            CREATED => read_table(&mut input)
                .and_then(|table| Some(Record::Created { table, schema: read_schema(&mut input)? })),
            LOADED => {
                read_table(&mut input).and_then(|table| Some(Record::Loaded { table, row: read_row(&mut input)? }))
            }
            DROPPED => read_table(&mut input).map(|table| Record::Dropped { table }),
            TRANSACTION => return Ok(Record::Transaction(Changes { rest: input })),
            CLOCK => input.u64().map(|micros| Record::Clock(micros as i64)),
            kind => return Err(format!("a record of the unknown kind {kind}")),
        };
        record.filter(|_| input.is_empty()).ok_or_else(|| format!("a record of the kind {kind} with a wrong content"))
    }
}

/// A row as the log and the files of checkpoints have it: the bytes that the row has in storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredRow<'a> {
    /// The fixed part.
    pub fixed: &'a [u8],
    /// The variable part.
    pub variable: &'a [u8],
}

impl<'a> StoredRow<'a> {
    /// Returns the row in a table's layout, or `None` if the bytes are not those of such a row.
    pub fn with_layout(self, layout: &'a RowLayout) -> Option<RowRef<'a>> {
        RowRef::checked(layout, self.fixed, self.variable)
    }

    /// Returns the primary key of the row, or `None` if the bytes are not those of a row of this layout.
    pub fn key(self, layout: &RowLayout, spec: &KeySpec) -> Option<Key> {
        Some(spec.key_of(RowRef::checked(layout, self.fixed, self.variable)?))
    }
}

/// The final effect of a transaction on one row.
#[derive(Debug)]
pub enum StoredChange<'a> {
    /// After the transaction, the table has this row.
    Put {
        /// The number of the row's table.
        table: TableId,
        /// The row.
        row: StoredRow<'a>,
    },
    /// After the transaction, no row of the table has this primary key.
    Delete {
        /// The number of the row's table.
        table: TableId,
        /// The primary key.
        key: Key,
    },
}

/// The changes of a transaction, read one by one. After an error there are no more.
#[derive(Clone, Debug)]
pub struct Changes<'a> {
    rest: Input<'a>,
}

impl<'a> Iterator for Changes<'a> {
    type Item = Result<StoredChange<'a>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let change = self.change();
        if change.is_none() {
            self.rest = Input(&[]);
        }
        Some(change.ok_or_else(|| "a transaction with a change that is none".to_owned()))
    }
}

impl<'a> Changes<'a> {
    fn change(&mut self) -> Option<StoredChange<'a>> {
        let head = self.rest.varint()?;
        let table = TableId(u32::try_from(head >> 1).ok()?);
        Some(match head & 1 {
            0 => StoredChange::Put { table, row: read_row(&mut self.rest)? },
            _ => StoredChange::Delete { table, key: read_key(&mut self.rest)? },
        })
    }
}
