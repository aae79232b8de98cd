//! Estimates the cost of a join, in rows.
//!
//! The estimates rest on a table's last row count ([`expected`](crate::catalog::expected)) and on its keys. A whole key
//! is taken to find one row, and each column of a key to narrow the search by an equal factor. Of any other condition,
//! only the kind counts.

use super::group::{Columns, Item, Shown, Source};
use super::path::{self, served};
use crate::catalog::Table;
use crate::expr::{Comparison, Expr};
use crate::plan::{Access, JoinKind, List, Node, Path, Range};
use hotrow_storage::{IndexRef, Value};

/// The estimate for a source whose rows cannot be estimated.
const UNKNOWN_ROWS: f64 = 10_000.0;

/// The factor by which a join costs more if no condition connects its sides.
const APART: f64 = 10_000.0;

/// The estimated number of values of an array.
const ARRAY_VALUES: f64 = 10.0;

/// Estimates the cost of joining a source next, in rows for each row of the sources that are joined already. Returns
/// `None` if the source cannot be next: it is LATERAL and looks at columns that are not joined yet.
pub(super) fn cost(source: &Source, conditions: &[Expr], joined: &Columns) -> Option<f64> {
    let connected = conditions.iter().any(|condition| {
        let columns = Columns::of([condition]);
        columns.iter().any(|column| joined.has(column)) && columns.iter().any(|column| source.columns.contains(&column))
    });
    // Without a condition between them, each row of one side goes with each row of the other.
    let apart = if joined.any() && !connected { APART } else { 1.0 };
    match &source.item {
        Item::Table(table, lock) => {
            let mut shown = Shown { frame: usize::MAX, columns: Vec::new() };
            Some(access_rows(&served(table, *lock, conditions, &source.columns, &mut shown)) * apart)
        }
        Item::Rows(_, Some(shown)) => shown.columns.iter().all(|&column| joined.has(column)).then_some(UNKNOWN_ROWS),
        Item::Rows(node, None) => Some(rows(node) * apart),
        Item::Outer(_) => Some(UNKNOWN_ROWS * apart),
    }
}

/// Estimates the number of a node's rows.
fn rows(node: &Node) -> f64 {
    match node {
        Node::One => 1.0,
        Node::Values(rows) => rows.len() as f64,
        Node::Function(_) => 100.0,
        Node::Table(access) => access_rows(access),
        Node::Aggregate(_, groups, _) if groups.is_empty() => 1.0,
        Node::Limit(input, Some(Expr::Const(Value::Int8(count))), _) => rows(input).min(*count as f64),
        Node::Distinct(input) => rows(input) * 0.3,
        Node::NestedLoop(join) => rows(&join.outer) * rows(&join.inner),
        Node::HashJoin(join) if matches!(join.kind, JoinKind::Semi | JoinKind::Anti) => rows(&join.outer) * 0.5,
        Node::HashJoin(join) => rows(&join.outer).max(rows(&join.inner)),
        other => {
            let mut sum = 0.0;
            other.each_input(&mut |input| sum += rows(input));
            sum
        }
    }
}

/// Estimates the number of a table's rows that an access finds and its filter keeps.
fn access_rows(access: &Access) -> f64 {
    let found = path_rows(&access.table, &access.path);
    let served = path::conditions_of(&access.table, &access.path);
    let kept = |condition: &Expr| if served.contains(condition) { 1.0 } else { part_kept(condition) };
    let conditions: &[Expr] = match &access.filter {
        Some(Expr::And(list)) => list,
        Some(condition) => std::slice::from_ref(condition),
        None => &[],
    };
    (found * conditions.iter().map(kept).product::<f64>()).max(1.0)
}

/// Estimates the fraction of rows for which a condition is true.
fn part_kept(condition: &Expr) -> f64 {
    match condition {
        Expr::Compare(Comparison::Equal, ..) | Expr::IsNull(_) => 0.1,
        Expr::Compare(Comparison::NotEqual, ..) | Expr::Not(_) => 0.9,
        Expr::Compare(..) | Expr::In(..) | Expr::Like(_) => 0.3,
        _ => 0.5,
    }
}

fn path_rows(table: &Table, path: &Path) -> f64 {
    match path {
        Path::Key(_) => 1.0,
        Path::Range(range) => range_rows(table, range),
        Path::Ranges(ranges) => ranges.iter().map(|range| range_rows(table, range)).sum(),
        Path::Full => table.expected_rows.get() as f64,
    }
}

fn range_rows(table: &Table, range: &Range) -> f64 {
    let all = table.expected_rows.get() as f64;
    let values = |list: &List| match &list.exprs[..] {
        [Expr::Const(Value::Array(array))] if list.is_array => array.len() as f64,
        _ if list.is_array => ARRAY_VALUES,
        list => list.len() as f64,
    };
    let ways: f64 = range.lists.iter().map(values).product();
    let columns = table.index_columns(range.index).len();
    let unique = match range.index {
        IndexRef::Primary => true,
        IndexRef::Secondary(id) => table.schema.indexes[usize::from(id.0)].unique,
    };
    // An index that is not unique has several rows for a value.
    let parts = columns as f64 + if unique { 0.0 } else { 0.5 };
    let bounds = i32::from(!range.lower.is_empty()) + i32::from(!range.upper.is_empty());
    ways * all.powf(1.0 - range.equal.len() as f64 / parts) * 0.3_f64.powi(bounds)
}
