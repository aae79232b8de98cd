//! Operator classes: the orders or hash functions with which an index can be built over values of a type. A type has at
//! most one for each index method. Their OIDs are PostgreSQL's.

use super::objects::{OWNER, PG_CATALOG};
use super::relation::{Rows, oid, text};
use crate::context::SessionContext;
use crate::types::oid as type_oid;
use hotrow_storage::{Type, Value};

/// The OIDs of the index methods `btree` and `hash`.
pub(super) const BTREE: u32 = 403;
pub(super) const HASH: u32 = 405;

/// The number of a type, the name of its classes, and two pairs of numbers, for an ordered index and for a hash index:
/// the class's and its family's.
type Class = (u32, &'static str, (u32, u32), (u32, u32));

const CLASSES: [Class; 22] = [
    (16, "bool_ops", (10_003, 424), (10_048, 2222)),
    (17, "bytea_ops", (10_006, 428), (10_049, 2223)),
    (20, "int8_ops", (3124, 1976), (10_021, 1977)),
    (21, "int2_ops", (1979, 1976), (10_019, 1977)),
    (23, "int4_ops", (1978, 1976), (10_020, 1977)),
    (25, "text_ops", (3126, 1994), (10_037, 1995)),
    (700, "float4_ops", (10_012, 1970), (10_013, 1971)),
    (701, "float8_ops", (3123, 1970), (10_014, 1971)),
    (1042, "bpchar_ops", (10_004, 426), (10_005, 427)),
    (1082, "date_ops", (3122, 434), (10_011, 435)),
    (1083, "time_ops", (10_038, 1996), (10_039, 1997)),
    (1114, "timestamp_ops", (3128, 434), (10_046, 2040)),
    (1184, "timestamptz_ops", (3127, 434), (10_040, 1999)),
    (1186, "interval_ops", (10_022, 1982), (10_023, 1983)),
    (1266, "timetz_ops", (10_041, 2000), (10_042, 2001)),
    (1700, "numeric_ops", (3125, 1988), (10_030, 1998)),
    (2277, "array_ops", (10_000, 397), (10_001, 627)),
    (2950, "uuid_ops", (10_065, 2968), (10_066, 2969)),
    (3802, "jsonb_ops", (10_088, 4033), (10_089, 4034)),
    (26, "oid_ops", (1981, 1989), (10_031, 1990)),
    (19, "name_ops", (10_028, 1994), (10_029, 1995)),
    (18, "char_ops", (10_007, 429), (10_008, 431)),
];

/// Returns the OID of the operator class that an index with this method uses for columns of a type, or zero if there is
/// none.
pub(super) fn of(method: u32, ty: Type) -> u32 {
    let class = CLASSES.iter().find(|(known, ..)| *known == accepted(ty));
    class.map_or(0, |(_, _, ordered, hashed)| if method == BTREE { ordered.0 } else { hashed.0 })
}

/// Other classes that a definition of an index may name. They change nothing about the index.
const MORE: [(u32, &str); 4] =
    [(25, "varchar_ops"), (25, "text_pattern_ops"), (25, "varchar_pattern_ops"), (1042, "bpchar_pattern_ops")];

/// Whether the operator class of this name can be used for columns of a type. Returns `None` if there is no class of
/// this name.
pub(crate) fn has(name: &str, ty: Type) -> Option<bool> {
    let known = CLASSES.iter().map(|&(number, name, ..)| (number, name)).chain(MORE);
    let mut named = known.filter(|(_, known)| *known == name).map(|(number, _)| number).peekable();
    named.peek()?;
    Some(named.any(|number| number == accepted(ty)))
}

/// Returns the number of the type whose classes a column's type uses.
fn accepted(ty: Type) -> u32 {
    match ty {
        Type::Varchar(_) => 25,
        Type::Array(_) => 2277,
        ty => type_oid(ty),
    }
}

/// Builds the rows of `pg_opclass`.
pub(super) fn rows(_: &SessionContext, rows: &mut Rows<'_>) {
    for (ty, name, ordered, hashed) in CLASSES {
        for (method, (number, family)) in [(BTREE, ordered), (HASH, hashed)] {
            rows.push(vec![
                ("oid", oid(number)),
                ("opcmethod", oid(method)),
                ("opcname", text(name)),
                ("opcnamespace", oid(PG_CATALOG)),
                ("opcowner", oid(OWNER)),
                ("opcfamily", oid(family)),
                ("opcintype", oid(ty)),
                ("opcdefault", Value::Bool(true)),
            ]);
        }
    }
}
