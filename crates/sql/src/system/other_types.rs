//! Types that only columns of catalogs have, and properties of types for `pg_type`.

use super::objects::{KnownType, known};

/// The types that only columns of catalogs have, with PostgreSQL's OIDs.
pub(super) const OTHERS: [KnownType; 12] = [
    known(18, "char", "\"char\"", 1, "Z", 1002),
    known(19, "name", "name", 64, "S", 1003),
    known(22, "int2vector", "int2vector", -1, "A", 1006),
    known(24, "regproc", "regproc", 4, "N", 1008),
    known(26, "oid", "oid", 4, "N", 1028),
    known(27, "tid", "tid", 6, "U", 1010),
    known(28, "xid", "xid", 4, "U", 1011),
    known(29, "cid", "cid", 4, "U", 1012),
    known(30, "oidvector", "oidvector", -1, "A", 1013),
    known(2205, "regclass", "regclass", 4, "N", 2210),
    known(2206, "regtype", "regtype", 4, "N", 2211),
    known(4089, "regnamespace", "regnamespace", 4, "N", 4090),
];

/// Returns the OID of the element type of a type that has elements but is no ordinary array, and zero for any other
/// type.
pub(super) fn element(name: &str) -> u32 {
    match name {
        "int2vector" => 21,
        "oidvector" => 26,
        "name" => 18,
        _ => 0,
    }
}

/// Returns the OID of a type's collation, or zero if it has none.
pub(super) fn collation(known: &KnownType) -> u32 {
    match known.name {
        "name" => 950,
        _ if known.category == "S" => 100,
        _ => 0,
    }
}

/// Returns the names of the functions that parse and format a type: two for the text format, two for the binary format.
pub(super) fn functions(name: &str) -> [String; 4] {
    let apart = ["date", "time", "timetz", "timestamp", "timestamptz", "interval", "numeric", "uuid", "json", "jsonb"];
    let between = if apart.contains(&name) { "_" } else { "" };
    ["in", "out", "recv", "send"].map(|end| format!("{name}{between}{end}"))
}

/// Returns the letter of a type's alignment in `pg_type`: one, two, four or eight bytes.
pub(super) fn alignment(known: &KnownType) -> &'static str {
    match (known.name, known.bytes) {
        ("name" | "uuid", _) | (_, 1) => "c",
        ("interval", _) | (_, 8) => "d",
        ("tid", _) | (_, 2) => "s",
        _ => "i",
    }
}

/// Returns the letter in `pg_type` for the storage of long values of a type.
pub(super) fn storage(known: &KnownType) -> &'static str {
    match known.name {
        "numeric" => "m",
        "int2vector" | "oidvector" => "p",
        _ if known.bytes > 0 => "p",
        _ => "x",
    }
}
