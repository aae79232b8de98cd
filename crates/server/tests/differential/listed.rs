//! The differences that docs/sql.md explains.

use super::Answer;
use crate::common::client::Failure;

/// Hotrow's errors where a date would be after the year 9999.
const LIMITS: [&str; 2] = ["date out of range", "timestamp out of range"];

/// The type numbers of `char(n)` and of its arrays, and that of `interval`.
const CHARS: [u32; 2] = [1042, 1014];
const INTERVAL: u32 = 1186;

/// How the messages of operators and functions of JSON begin that cannot be applied to a value.
const OF_JSON: [&str; 9] = [
    "cannot call ",
    "cannot cast jsonb ",
    "cannot deconstruct ",
    "cannot delete ",
    "cannot extract elements ",
    "cannot get array length ",
    "cannot replace existing key",
    "cannot set path ",
    "path element at position ",
];

fn is_of_json(message: &str) -> bool {
    OF_JSON.iter().any(|start| message.starts_with(start))
}

/// Of a column that is neither grouped by nor in an aggregate.
const UNGROUPED: &str = "42803";

/// The violations of constraints, and that of a row that MERGE would change twice.
const OF_MERGE: [&str; 4] = ["21000", "23503", "23505", "23514"];

/// Whether two answers to a statement differ as documented.
pub fn is_listed(sql: &str, ours: &Answer, theirs: &Answer) -> bool {
    let is_ungrouped = |answer: &Answer| answer.failure.as_ref().is_some_and(|failure| failure.code == UNGROUPED);
    // What is NULL whatever its columns are looks at none; the first ungrouped column may then be another one.
    if sql.contains("NULL") && is_ungrouped(theirs) && (ours.failure.is_none() || is_ungrouped(ours)) {
        return true;
    }
    let is_of_merge = |failure: &Failure| OF_MERGE.contains(&failure.code.as_str());
    match (&ours.failure, &theirs.failure) {
        // The order of the rows decides which error is found first.
        (Some(one), Some(other)) if sql.contains("MERGE") && is_of_merge(one) && is_of_merge(other) => true,
        // Of two errors, either may be reported.
        (Some(one), Some(other)) if is_of_json(&one.message) && is_of_json(&other.message) => true,
        (Some(failure), _) => LIMITS.contains(&failure.message.as_str()),
        // A constant that does not fit is an error when it is stored: not if there is no row.
        (None, Some(failure)) => ours.tags == ["UPDATE 0"] && failure.code.starts_with("22"),
        (None, None) => differs_in_modifiers_only(ours, theirs),
    }
}

/// A `char(n)` keeps its length through functions and CASE; an interval has no fields.
fn differs_in_modifiers_only(ours: &Answer, theirs: &Answer) -> bool {
    let mut columns = theirs.columns.clone();
    for (column, ours) in columns.iter_mut().zip(&ours.columns) {
        if column.oid == INTERVAL || (CHARS.contains(&column.oid) && column.modifier == -1) {
            column.modifier = ours.modifier;
        }
    }
    let theirs = Answer { columns, ..theirs.clone() };
    *ours == theirs
}
