//! How a table's rows are found: by primary key, by a range of an index, or all of them.
//!
//! A condition `column = value`, `<`, `<=`, `>`, `>=` or BETWEEN serves an index if the value does not depend on the row and
//! its type orders like the column's (the binder casts the column otherwise, and a cast column serves no index). Every row
//! found is checked against the whole condition again, except what the primary key says already: a record never changes its
//! key, while an entry of another index may be older than the row.

use super::select::Order;
use crate::catalog::Table;
use crate::expr::{Comparison, Expr};
use crate::plan::{Access, Path, Range};
use hotrow_storage::{IndexRef, Type};
use hotrow_sync::Arc;
use hotrow_txn::{Direction, LockFor};

/// An order that an index could give: column, descending, NULLs first.
pub(super) type Wanted = (usize, bool, bool);

/// A condition that an index can serve.
struct Bound<'e> {
    column: usize,
    comparison: Comparison,
    value: &'e Expr,
    /// Which of the conditions it is.
    conjunct: usize,
}

/// What an index can do.
struct Candidate {
    /// Higher is better.
    score: usize,
    range: Range,
    /// Whether it gives the order that is wanted.
    in_order: bool,
    /// The conjuncts of which nothing need be checked any more.
    served: Vec<usize>,
}

/// The order as columns of the table, if it is made of such.
pub(super) fn plain_columns(orders: &[Order]) -> Vec<Wanted> {
    let plain = |order: &Order| match order.expr {
        Expr::Column(column) => Some((column, order.descending, order.nulls_first)),
        _ => None,
    };
    orders.iter().map(plain).collect::<Option<_>>().unwrap_or_default()
}

/// The best way to the rows that satisfy `filter`, and whether it gives them in the order that is wanted.
pub(super) fn choose(table: Arc<Table>, filter: Option<Expr>, lock: LockFor, order: &[Wanted]) -> (Access, bool) {
    let conjuncts = conjuncts(filter);
    let bounds: Vec<_> =
        conjuncts.iter().enumerate().flat_map(|(at, conjunct)| bound_of(&table, at, conjunct)).collect();
    if let Some((values, served)) = whole_key(&table, &bounds) {
        let filter = conjunction(without(conjuncts, &served));
        return (Access { table, path: Path::Key(values), filter, lock }, true);
    }
    let mut best: Option<Candidate> = None;
    for index in table.indexes() {
        let Some(candidate) = range_of(&table, index, &bounds, order) else { continue };
        if best.as_ref().is_none_or(|known| candidate.score > known.score) {
            best = Some(candidate);
        }
    }
    let (path, in_order, served) = match best {
        Some(Candidate { range, in_order, served, .. }) => (Path::Range(range), in_order, served),
        None => (Path::Full, false, Vec::new()),
    };
    let filter = conjunction(without(conjuncts, &served));
    (Access { table, path, filter, lock }, in_order)
}

/// The conjuncts that are not served.
fn without(conjuncts: Vec<Expr>, served: &[usize]) -> Vec<Expr> {
    conjuncts.into_iter().enumerate().filter(|(at, _)| !served.contains(at)).map(|(_, expr)| expr).collect()
}

/// What the path says of the rows that it finds.
pub(super) fn conditions_of(table: &Table, path: &Path) -> Vec<Expr> {
    let condition = |(&column, (comparison, value)): (&usize, (Comparison, &Expr))| {
        let blanks = matches!(table.schema.columns[column].ty, Type::Char(_));
        Expr::Compare(comparison, Box::new((Expr::Column(column), value.clone())), blanks)
    };
    let equal = |value| (Comparison::Equal, value);
    match path {
        Path::Key(values) => table.schema.key.iter().zip(values.iter().map(equal)).map(condition).collect(),
        Path::Range(range) => {
            let columns = table.index_columns(range.index);
            let mut conditions: Vec<_> = columns.iter().zip(range.equal.iter().map(equal)).map(condition).collect();
            let lower = range.lower.iter().map(|(value, included)| {
                (if *included { Comparison::GreaterOrEqual } else { Comparison::Greater }, value)
            });
            let upper = range
                .upper
                .iter()
                .map(|(value, included)| (if *included { Comparison::LessOrEqual } else { Comparison::Less }, value));
            let bounded = columns.iter().skip(range.equal.len()).take(1).cycle();
            conditions.extend(bounded.zip(lower.chain(upper)).map(condition));
            conditions
        }
        Path::Full => Vec::new(),
    }
}

/// What must all be true.
pub(super) fn conjuncts(condition: Option<Expr>) -> Vec<Expr> {
    match condition {
        Some(Expr::And(list)) => flatten(list),
        Some(other) => vec![other],
        None => Vec::new(),
    }
}

fn flatten(list: Vec<Expr>) -> Vec<Expr> {
    let mut flat = Vec::with_capacity(list.len());
    for expr in list {
        match expr {
            Expr::And(inner) => flat.extend(flatten(inner)),
            other => flat.push(other),
        }
    }
    flat
}

/// Their conjunction; none if there is nothing to check.
pub(super) fn conjunction(mut list: Vec<Expr>) -> Option<Expr> {
    list.retain(|expr| !super::select::is_true(expr));
    match list.len() {
        0 => None,
        1 => list.pop(),
        _ => Some(Expr::And(list)),
    }
}

/// The condition in one conjunct that an index can serve.
fn bound_of<'e>(table: &Table, conjunct: usize, expr: &'e Expr) -> Option<Bound<'e>> {
    let Expr::Compare(comparison, pair, blanks) = expr else { return None };
    let (column, comparison, value) = match &**pair {
        (Expr::Column(column), value) => (*column, *comparison, value),
        (value, Expr::Column(column)) => (*column, comparison.flipped(), value),
        _ => return None,
    };
    // Only the keys of a `char` column have no trailing blanks.
    if *blanks && !matches!(table.schema.columns[column].ty, Type::Char(_)) {
        return None;
    }
    if comparison == Comparison::NotEqual || !value.is_row_independent() {
        return None;
    }
    Some(Bound { column, comparison, value, conjunct })
}

/// The values of the whole primary key, and which conjuncts they serve completely.
fn whole_key(table: &Table, bounds: &[Bound<'_>]) -> Option<(Vec<Expr>, Vec<usize>)> {
    let (mut values, mut served) = (Vec::new(), Vec::new());
    for &column in &table.schema.key {
        let bound = bounds.iter().find(|bound| bound.column == column && bound.comparison == Comparison::Equal)?;
        values.push(bound.value.clone());
        served.push(bound.conjunct);
    }
    Some((values, served))
}

/// What an index can do for the conditions and the order; none if nothing.
fn range_of(table: &Table, index: IndexRef, bounds: &[Bound<'_>], order: &[Wanted]) -> Option<Candidate> {
    let columns = table.index_columns(index);
    let find = |column: usize, wanted: &[Comparison]| {
        bounds.iter().find(|bound| bound.column == column && wanted.contains(&bound.comparison))
    };
    let equal: Vec<_> = columns.iter().map_while(|&column| find(column, &[Comparison::Equal])).collect();
    let values = || equal.iter().map(|bound| bound.value.clone()).collect::<Vec<_>>();
    let unique = match index {
        IndexRef::Primary => true,
        IndexRef::Secondary(id) => table.schema.indexes[usize::from(id.0)].unique,
    };
    if !table.is_ordered(index) {
        // A hash index knows whole keys only, and the primary one is reached by its key.
        let whole = equal.len() == columns.len() && index != IndexRef::Primary;
        let range = Range { index, equal: values(), lower: None, upper: None, direction: Direction::Forward };
        let score = 80 + usize::from(unique) * 10;
        return whole.then_some(Candidate { score, range, in_order: false, served: Vec::new() });
    }
    let next = columns.get(equal.len());
    let bound = |wanted: &[Comparison]| find(*next?, wanted);
    let lower = bound(&[Comparison::Greater, Comparison::GreaterOrEqual]);
    let upper = bound(&[Comparison::Less, Comparison::LessOrEqual]);
    let direction = order_of(table, &columns[equal.len()..], &columns[..equal.len()], order);
    let mut score = equal.len() * 20 + usize::from(lower.is_some()) * 8 + usize::from(upper.is_some()) * 8;
    score += usize::from(equal.len() == columns.len() && unique) * 30;
    score += usize::from(direction.is_some() && !order.is_empty()) * 4;
    if score == 0 {
        return None;
    }
    // Among equals the primary key is best: its entries are the records.
    score = score * 2 + usize::from(index == IndexRef::Primary);
    let served = match index {
        IndexRef::Primary => equal.iter().copied().chain(lower).chain(upper).map(|bound| bound.conjunct).collect(),
        IndexRef::Secondary(_) => Vec::new(),
    };
    let included = |bound: &Bound<'_>| {
        let included = matches!(bound.comparison, Comparison::LessOrEqual | Comparison::GreaterOrEqual);
        (bound.value.clone(), included)
    };
    let (lower, upper) = (lower.map(included), upper.map(included));
    let range = Range { index, equal: values(), lower, upper, direction: direction.unwrap_or_default() };
    Some(Candidate { score, range, in_order: direction.is_some(), served })
}

/// The direction in which walking `columns` gives the wanted order, if one does. `fixed` columns have one value only.
fn order_of(table: &Table, columns: &[usize], fixed: &[usize], order: &[Wanted]) -> Option<Direction> {
    let mut wanted = order.iter().filter(|(column, ..)| !fixed.contains(column));
    let mut direction = None;
    for column in columns {
        let Some((wanted_column, descending, nulls_first)) = wanted.next() else { break };
        if wanted_column != column {
            return None;
        }
        // The index has NULLs last, so walking back it has them first.
        if table.schema.columns[*column].nullable && nulls_first != descending {
            return None;
        }
        let here = if *descending { Direction::Backward } else { Direction::Forward };
        if direction.is_some_and(|known| known != here) {
            return None;
        }
        direction = Some(here);
    }
    if wanted.next().is_some() {
        return None;
    }
    Some(direction.unwrap_or_default())
}
