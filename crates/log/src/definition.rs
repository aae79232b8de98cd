//! Definitions of tables, as bytes.

use crate::bytes::{Input, push_string, push_varint};
use hotrow_storage::{Column, Digits, Element, IndexKind, IndexSchema, Precision, TableSchema, Type};

/// The version of the format of definitions.
const VERSION: u8 = 1;

/// The bit of an ordered table in the flags of a table.
const ORDERED: u8 = 1;
/// The bit of a partitioned table in the flags of a table.
const PARTITIONED: u8 = 2;
/// The bit of a constant table in the flags of a table.
const CONSTANT: u8 = 4;
/// The bit of an ordered index in the flags of an index.
const IS_ORDERED: u8 = 1;
/// The bit of a unique index in the flags of an index.
const UNIQUE: u8 = 2;

/// Appends the definition of a table, but not whether it is unlogged: the log has no record of an unlogged table.
pub(crate) fn push_schema(bytes: &mut Vec<u8>, schema: &TableSchema) {
    let TableSchema { name, columns, key, ordered, partitioned, constant, unlogged: _, indexes } = schema;
    bytes.push(VERSION);
    bytes.push(flags(&[(*ordered, ORDERED), (*partitioned, PARTITIONED), (*constant, CONSTANT)]));
    push_string(bytes, name.as_bytes());
    push_varint(bytes, columns.len() as u64);
    for Column { name, ty, nullable } in columns {
        push_string(bytes, name.as_bytes());
        bytes.push(u8::from(*nullable));
        push_type(bytes, *ty);
    }
    push_positions(bytes, key);
    push_varint(bytes, indexes.len() as u64);
    for IndexSchema { name, columns, kind, unique } in indexes {
        push_string(bytes, name.as_bytes());
        bytes.push(flags(&[(*kind == IndexKind::Ordered, IS_ORDERED), (*unique, UNIQUE)]));
        push_positions(bytes, columns);
    }
}

fn flags(bits: &[(bool, u8)]) -> u8 {
    bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum()
}

fn push_positions(bytes: &mut Vec<u8>, positions: &[usize]) {
    push_varint(bytes, positions.len() as u64);
    positions.iter().for_each(|&position| push_varint(bytes, position as u64));
}

/// The numbers of types. A number is never used for another type.
mod tag {
    pub(super) const BOOL: u8 = 1;
    pub(super) const INT2: u8 = 2;
    pub(super) const INT4: u8 = 3;
    pub(super) const INT8: u8 = 4;
    pub(super) const FLOAT4: u8 = 5;
    pub(super) const FLOAT8: u8 = 6;
    pub(super) const NUMERIC: u8 = 7;
    pub(super) const NUMERIC_OF: u8 = 8;
    pub(super) const CHAR: u8 = 9;
    pub(super) const VARCHAR: u8 = 10;
    pub(super) const VARCHAR_OF: u8 = 11;
    pub(super) const TEXT: u8 = 12;
    pub(super) const JSON: u8 = 13;
    pub(super) const JSONB: u8 = 14;
    pub(super) const BYTEA: u8 = 15;
    pub(super) const DATE: u8 = 16;
    pub(super) const TIMESTAMP: u8 = 17;
    pub(super) const TIMESTAMP_TZ: u8 = 18;
    pub(super) const TIME: u8 = 19;
    pub(super) const INTERVAL: u8 = 20;
    pub(super) const UUID: u8 = 21;
    /// The tag of an array. The type of the elements follows.
    pub(super) const ARRAY: u8 = 22;
    pub(super) const INT2_VECTOR: u8 = 23;
    pub(super) const OID_VECTOR: u8 = 24;
    /// The tag of a type of times with a limit on the digits after the seconds. The limit follows, and then the type's
    /// tag.
    pub(super) const DIGITS_OF: u8 = 25;
    pub(super) const NAME: u8 = 26;
    pub(super) const OID: u8 = 27;
}

fn push_type(bytes: &mut Vec<u8>, ty: Type) {
    let tag = match ty {
        Type::Bool => tag::BOOL,
        Type::Int2 => tag::INT2,
        Type::Int4 => tag::INT4,
        Type::Int8 => tag::INT8,
        Type::Float4 => tag::FLOAT4,
        Type::Float8 => tag::FLOAT8,
        Type::Numeric(None) => tag::NUMERIC,
        Type::Numeric(Some(Precision { precision, scale })) => {
            bytes.push(tag::NUMERIC_OF);
            bytes.extend_from_slice(&precision.to_le_bytes());
            return bytes.extend_from_slice(&scale.to_le_bytes());
        }
        Type::Char(length) => {
            bytes.push(tag::CHAR);
            return push_varint(bytes, u64::from(length));
        }
        Type::Varchar(None) => tag::VARCHAR,
        Type::Varchar(Some(length)) => {
            bytes.push(tag::VARCHAR_OF);
            return push_varint(bytes, u64::from(length));
        }
        Type::Text => tag::TEXT,
        Type::Name => tag::NAME,
        // The rows have the numbers of the labels. What the labels are is a matter of the definitions in SQL.
        Type::Enum(_) => tag::INT4,
        // No column of a table has a type of `Reg`.
        Type::Oid | Type::Reg(_) => tag::OID,
        Type::Json => tag::JSON,
        Type::Jsonb => tag::JSONB,
        Type::Bytea => tag::BYTEA,
        Type::Date => tag::DATE,
        Type::Timestamp(None) => tag::TIMESTAMP,
        Type::TimestampTz(None) => tag::TIMESTAMP_TZ,
        Type::Time(None) => tag::TIME,
        Type::Interval(None) => tag::INTERVAL,
        Type::Timestamp(Some(digits)) => return push_digits(bytes, digits, tag::TIMESTAMP),
        Type::TimestampTz(Some(digits)) => return push_digits(bytes, digits, tag::TIMESTAMP_TZ),
        Type::Time(Some(digits)) => return push_digits(bytes, digits, tag::TIME),
        Type::Interval(Some(digits)) => return push_digits(bytes, digits, tag::INTERVAL),
        Type::Uuid => tag::UUID,
        Type::Array(Element::Int2Vector) => tag::INT2_VECTOR,
        Type::Array(Element::OidVector) => tag::OID_VECTOR,
        Type::Array(element) => {
            bytes.push(tag::ARRAY);
            return push_type(bytes, element.ty());
        }
    };
    bytes.push(tag);
}

fn push_digits(bytes: &mut Vec<u8>, digits: Digits, tag: u8) {
    bytes.extend_from_slice(&[tag::DIGITS_OF, digits.count(), tag]);
}

/// Reads the definition of a table. Returns `None` if the bytes are no definition, or one that no table can have.
pub(crate) fn read_schema(input: &mut Input<'_>) -> Option<TableSchema> {
    if input.byte()? != VERSION {
        return None;
    }
    let flags = input.byte().filter(|flags| flags & !(ORDERED | PARTITIONED | CONSTANT) == 0)?;
    let name = input.text()?.to_owned();
    let mut columns = Vec::new();
    for _ in 0..input.size()? {
        let name = input.text()?.to_owned();
        let nullable = read_bool(input)?;
        columns.push(Column { name, ty: read_type(input)?, nullable });
    }
    let key = read_positions(input, columns.len())?;
    let mut indexes = Vec::new();
    for _ in 0..input.size()? {
        let name = input.text()?.to_owned();
        let flags = input.byte().filter(|flags| flags & !(IS_ORDERED | UNIQUE) == 0)?;
        let kind = if flags & IS_ORDERED != 0 { IndexKind::Ordered } else { IndexKind::Hash };
        let columns = read_positions(input, columns.len())?;
        indexes.push(IndexSchema { name, columns, kind, unique: flags & UNIQUE != 0 });
    }
    let has = |flag: u8| flags & flag != 0;
    let (ordered, partitioned, constant) = (has(ORDERED), has(PARTITIONED), has(CONSTANT));
    let schema = TableSchema { name, columns, key, ordered, partitioned, constant, unlogged: false, indexes };
    can_be(&schema).then_some(schema)
}

/// Whether a table can have this definition.
fn can_be(schema: &TableSchema) -> bool {
    let is_integer = |&column: &usize| schema.columns[column].ty.is_integer();
    schema.key.iter().all(|&column| !schema.columns[column].nullable)
        && schema.key.first().is_some_and(|first| !schema.partitioned || is_integer(first))
        && schema.indexes.len() < usize::from(u16::MAX) - 2
}

fn read_bool(input: &mut Input<'_>) -> Option<bool> {
    input.byte().filter(|byte| *byte <= 1).map(|byte| byte == 1)
}

/// Reads positions of columns. Returns `None` if one of them is not below `columns`.
fn read_positions(input: &mut Input<'_>, columns: usize) -> Option<Vec<usize>> {
    let mut positions = Vec::new();
    for _ in 0..input.size()? {
        positions.push(input.size().filter(|position| *position < columns)?);
    }
    Some(positions)
}

fn read_type(input: &mut Input<'_>) -> Option<Type> {
    Some(match input.byte()? {
        tag::ARRAY => Type::Array(Element::of(read_scalar(input.byte()?, input)?)?),
        tag::INT2_VECTOR => Type::Array(Element::Int2Vector),
        tag::OID_VECTOR => Type::Array(Element::OidVector),
        tag => read_scalar(tag, input)?,
    })
}

/// Reads the rest of a type that is no array. Its tag was read before.
fn read_scalar(tag: u8, input: &mut Input<'_>) -> Option<Type> {
    Some(match tag {
        tag::BOOL => Type::Bool,
        tag::INT2 => Type::Int2,
        tag::INT4 => Type::Int4,
        tag::INT8 => Type::Int8,
        tag::FLOAT4 => Type::Float4,
        tag::FLOAT8 => Type::Float8,
        tag::NUMERIC => Type::Numeric(None),
        tag::NUMERIC_OF => {
            let (precision, scale) = ([input.byte()?, input.byte()?], [input.byte()?, input.byte()?]);
            let (precision, scale) = (u16::from_le_bytes(precision), i16::from_le_bytes(scale));
            Type::Numeric(Some(Precision { precision, scale }))
        }
        tag::CHAR => Type::Char(input.varint32()?),
        tag::VARCHAR => Type::Varchar(None),
        tag::VARCHAR_OF => Type::Varchar(Some(input.varint32()?)),
        tag::TEXT => Type::Text,
        tag::NAME => Type::Name,
        tag::OID => Type::Oid,
        tag::JSON => Type::Json,
        tag::JSONB => Type::Jsonb,
        tag::BYTEA => Type::Bytea,
        tag::DATE => Type::Date,
        tag::TIMESTAMP => Type::Timestamp(None),
        tag::TIMESTAMP_TZ => Type::TimestampTz(None),
        tag::TIME => Type::Time(None),
        tag::INTERVAL => Type::Interval(None),
        tag::DIGITS_OF => {
            let digits = Some(Digits::new(input.byte()?)?);
            match input.byte()? {
                tag::TIMESTAMP => Type::Timestamp(digits),
                tag::TIMESTAMP_TZ => Type::TimestampTz(digits),
                tag::TIME => Type::Time(digits),
                tag::INTERVAL => Type::Interval(digits),
                _ => return None,
            }
        }
        tag::UUID => Type::Uuid,
        _ => return None,
    })
}
