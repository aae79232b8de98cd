//! The differences that docs/sql.md explains.

use super::Answer;

/// What Hotrow says where a numeric would have more than 28 digits, or none, and where a date would be after the year 9999.
const LIMITS: [&str; 4] = [
    "value overflows numeric format",
    "infinity as a numeric is not supported",
    "date out of range",
    "timestamp out of range",
];

/// The type number of `char(n)`.
const CHAR: u32 = 1042;

/// Whether two answers differ as documented.
pub fn is_listed(ours: &Answer, theirs: &Answer) -> bool {
    match (&ours.failure, &theirs.failure) {
        (Some(failure), _) => LIMITS.contains(&failure.message.as_str()),
        // A constant that does not fit is an error when it is stored: not if there is no row.
        (None, Some(failure)) => ours.tags == ["UPDATE 0"] && failure.code.starts_with("22"),
        (None, None) => differs_in_length_only(ours, theirs),
    }
}

/// A `char(n)` keeps its length through functions and CASE.
fn differs_in_length_only(ours: &Answer, theirs: &Answer) -> bool {
    let mut columns = theirs.columns.clone();
    for (column, ours) in columns.iter_mut().zip(&ours.columns) {
        if column.oid == CHAR && column.modifier == -1 {
            column.modifier = ours.modifier;
        }
    }
    let theirs = Answer { columns, ..theirs.clone() };
    *ours == theirs
}
