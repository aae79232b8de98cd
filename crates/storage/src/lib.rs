//! Values, rows, records, tables, indexes and reclamation: everything below transactions.
//!
//! Storage names no protocol. A protocol keeps its words in each record's header ([`RecordHeader`]) and decides who may
//! touch a record when; storage finds records and keeps their memory alive.

mod huge;
mod key;
mod row;
mod schema;
mod value;

pub use huge::{HUGE_PAGE_BYTES, HugeBlock};
pub use key::{InlineKey, Key, KeyBuilder, KeyPart, KeySpec, mix};
pub use row::{INLINE_LIMIT, Row, RowLayout, RowMut, RowRef};
pub use rust_decimal::Decimal;
pub use schema::{Column, IndexId, IndexKind, IndexRef, IndexSchema, TableId, TableSchema};
pub use value::{Precision, Type, Value};
