//! Values, rows, records, tables, indexes and reclamation: everything below transactions.
//!
//! Storage names no protocol. A protocol keeps its words in each record's header ([`RecordHeader`]), and decides which
//! transaction may access a record and when. Storage finds records and keeps their memory alive.

mod array;
mod database;
mod enumeration;
mod epoch;
mod hash_index;
mod huge;
mod interval;
mod key;
mod memory;
mod ordered_index;
mod primary_index;
mod record;
mod redo;
mod row;
mod schema;
mod secondary_index;
mod segment;
mod stored_table;
mod striped;
mod table;
mod value;
mod versions;

pub use array::{Array, ArrayBuilder, Element, Elements};
pub use database::{Database, Tables};
pub use enumeration::{EnumDefinition, EnumId, Enumeration};
pub use epoch::{Collector, Garbage, Guard, Participant};
pub use hash_index::HashIndex;
pub use hotrow_numeric::{Decimal, Numeric};
pub use huge::{HUGE_PAGE_BYTES, HugeBlock};
pub use interval::Interval;
pub use key::{InlineKey, Key, KeyBuilder, KeyPart, KeyShape, KeySpec, mix};
pub use memory::{IndexData, TableMemory};
pub use ordered_index::OrderedIndex;
pub use primary_index::partition_number;
pub use record::{RecordFormat, RecordHeader, RecordPtr, RecordRef, Variable};
pub use redo::{Change, End, LogFailed, Position, RedoSink, Refusal};
pub use row::{INLINE_LIMIT, Row, RowLayout, RowMut, RowRef};
pub use schema::{Column, IndexId, IndexKind, IndexRef, IndexSchema, TableId, TableSchema};
pub use secondary_index::{EntryPtr, EntryRef, SecondaryIndex};
pub use stored_table::{Duplicate, StoredTable};
pub use table::{IndexNumber, Table};
pub use value::{Digits, Precision, Registry, Type, Value};
pub use versions::{
    AnchorRef, Chain, Draft, Equal, VersionFormat, VersionHeader, VersionIndex, VersionMemory, VersionPtr, VersionRef,
    VersionTable,
};
