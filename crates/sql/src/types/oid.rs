//! The OIDs, modifiers and sizes of types, as clients see them.

use super::enumeration;
use hotrow_storage::{Digits, Element, Precision, Registry, Type};

/// The bits in an interval's modifier for its fields, if the interval may have all fields.
const ALL_FIELDS: i32 = 0x7fff;

/// The OID of the type `unknown`, which a literal or parameter has until its type is inferred.
pub const UNKNOWN: u32 = 705;

/// Returns the OID of a type: PostgreSQL's, or that of an enumerated type.
pub fn oid(ty: Type) -> u32 {
    match ty {
        Type::Bool => 16,
        Type::Bytea => 17,
        Type::Int8 => 20,
        Type::Int2 => 21,
        Type::Int4 => 23,
        Type::Text => 25,
        Type::Name => 19,
        Type::Oid => 26,
        Type::Reg(Registry::Class) => 2205,
        Type::Reg(Registry::Type) => 2206,
        Type::Reg(Registry::Namespace) => 4089,
        Type::Enum(id) => enumeration::oids(id)[0],
        Type::Json => 114,
        Type::Jsonb => 3802,
        Type::Float4 => 700,
        Type::Float8 => 701,
        Type::Char(_) => 1042,
        Type::Varchar(_) => 1043,
        Type::Date => 1082,
        Type::Timestamp(_) => 1114,
        Type::TimestampTz(_) => 1184,
        Type::Numeric(_) => 1700,
        Type::Time(_) => 1083,
        Type::Interval(_) => 1186,
        Type::Uuid => 2950,
        Type::Array(element) => match element {
            Element::Bool => 1000,
            Element::Bytea => 1001,
            Element::Int2 => 1005,
            Element::Int4 => 1007,
            Element::Text => 1009,
            Element::Name => 1003,
            Element::Oid => 1028,
            Element::Enum(id) => enumeration::oids(id)[1],
            Element::Json => 199,
            Element::Jsonb => 3807,
            Element::Char(_) => 1014,
            Element::Varchar(_) => 1015,
            Element::Int8 => 1016,
            Element::Float4 => 1021,
            Element::Float8 => 1022,
            Element::Timestamp(_) => 1115,
            Element::Date => 1182,
            Element::TimestampTz(_) => 1185,
            Element::Numeric(_) => 1231,
            Element::Time(_) => 1183,
            Element::Interval(_) => 1187,
            Element::Uuid => 2951,
            Element::Int2Vector => 22,
            Element::OidVector => 30,
        },
    }
}

/// Returns the type with this OID and modifier (`typmod`, -1 for none), or `None` if Hotrow has no such type.
/// Enumerated types are not found, since their OIDs belong to a database.
pub fn from_oid(oid: u32, typmod: i32) -> Option<Type> {
    let length = u32::try_from(typmod.saturating_sub(4)).ok().filter(|&length| length > 0);
    // The modifier of an interval has its fields in the upper half, and 65,535 for no digits in the lower half.
    let digits = u8::try_from(typmod & 0xffff).ok().and_then(Digits::new);
    Some(match oid {
        16 => Type::Bool,
        17 => Type::Bytea,
        20 => Type::Int8,
        21 => Type::Int2,
        23 => Type::Int4,
        19 => Type::Name,
        25 => Type::Text,
        26 => Type::Oid,
        114 => Type::Json,
        3802 => Type::Jsonb,
        700 => Type::Float4,
        701 => Type::Float8,
        // Without a modifier, as in a parameter's type, the length is not limited.
        1042 => length.map_or(Type::Varchar(None), Type::Char),
        1043 => Type::Varchar(length),
        1082 => Type::Date,
        1114 => Type::Timestamp(digits),
        1184 => Type::TimestampTz(digits),
        1700 => Type::Numeric(length.map(|bits| {
            // The scale has eleven bits and a sign.
            let scale = ((bits & SCALE_BITS) as i16 ^ SCALE_SIGN) - SCALE_SIGN;
            Precision { precision: (bits >> 16) as u16, scale }
        })),
        1083 => Type::Time(digits),
        1186 => Type::Interval(digits),
        2950 => Type::Uuid,
        array => return from_oid(element_oid(array)?, typmod).and_then(Element::of).map(Type::Array),
    })
}

/// The bits of the scale in the modifier of a `numeric`.
const SCALE_BITS: u32 = 0x7FF;
/// The bit of a negative scale.
const SCALE_SIGN: i16 = 0x400;

/// Returns the number of an array type's element type.
fn element_oid(array: u32) -> Option<u32> {
    Some(match array {
        1000 => 16,
        1001 => 17,
        1003 => 19,
        1005 => 21,
        1007 => 23,
        1009 => 25,
        1028 => 26,
        199 => 114,
        3807 => 3802,
        1014 => 1042,
        1015 => 1043,
        1016 => 20,
        1021 => 700,
        1022 => 701,
        1115 => 1114,
        1182 => 1082,
        1185 => 1184,
        1231 => 1700,
        1183 => 1083,
        1187 => 1186,
        2951 => 2950,
        _ => return None,
    })
}

/// Returns PostgreSQL's modifier of a type (`atttypmod`), which encodes a length, or a precision and a scale. Returns
/// -1 for a type without a modifier.
pub fn typmod(ty: Type) -> i32 {
    match ty {
        Type::Char(length) | Type::Varchar(Some(length)) => length as i32 + 4,
        Type::Numeric(Some(Precision { precision, scale })) => {
            (i32::from(precision) << 16 | i32::from(scale) & SCALE_BITS as i32) + 4
        }
        Type::Timestamp(Some(digits)) | Type::TimestampTz(Some(digits)) | Type::Time(Some(digits)) => {
            i32::from(digits.count())
        }
        Type::Interval(Some(digits)) => ALL_FIELDS << 16 | i32::from(digits.count()),
        Type::Array(element) => typmod(element.ty()),
        _ => -1,
    }
}

/// Returns the size of a type's values in the binary format, in bytes, or -1 if it varies.
pub fn type_len(ty: Type) -> i16 {
    match ty {
        Type::Bool => 1,
        Type::Int2 => 2,
        Type::Int4 | Type::Oid | Type::Reg(_) | Type::Enum(_) | Type::Float4 | Type::Date => 4,
        Type::Name => 64,
        Type::Int8 | Type::Float8 | Type::Timestamp(_) | Type::TimestampTz(_) | Type::Time(_) => 8,
        Type::Uuid | Type::Interval(_) => 16,
        Type::Numeric(_) | Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Bytea | Type::Array(_) => -1,
        Type::Json | Type::Jsonb => -1,
    }
}
