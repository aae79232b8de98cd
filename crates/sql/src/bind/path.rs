//! How a table's rows are found: by primary key, by a range of an index, or all of them.
//!
//! A condition `column = value`, `<`, `<=`, `>`, `>=` or BETWEEN serves an index if the value does not depend on the row and
//! its type orders like the column's (the binder casts the column otherwise, and a cast column serves no index). So do
//! `column IN (…)` and `column = ANY (array)`, for one column: its values are gone through one by one. Every row
//! found is checked against the whole condition again, except what the primary key says already: a record never changes its
//! key, while an entry of another index may be older than the row.

use super::cost;
use super::select::Order;
use crate::catalog::Table;
use crate::expr::{ArrayFunction, Comparison, Expr, Function};
use crate::plan::{Access, Candidates, Each, Path, Range};
use hotrow_storage::{IndexRef, Type, Value};
use hotrow_sync::Arc;
use hotrow_txn::{Direction, LockFor};

/// An order that an index could give: column, descending, NULLs first.
pub(super) type Wanted = (usize, bool, bool);

/// A condition that an index can serve.
struct Bound<'e> {
    column: usize,
    test: Test<'e>,
    /// Which of the conditions it is.
    conjunct: usize,
}

impl<'e> Bound<'e> {
    /// The comparison with one value.
    fn compared(&self) -> Option<(Comparison, &'e Expr)> {
        match self.test {
            Test::Compare(comparison, value) => Some((comparison, value)),
            Test::In(..) => None,
        }
    }
}

/// What it says of the column.
#[derive(Clone, Copy)]
enum Test<'e> {
    Compare(Comparison, &'e Expr),
    /// Equal to one of these, or to an element of the only one, if the flag says so.
    In(&'e [Expr], bool),
}

/// What is said of an index's leading columns, as long as it is one value, or a list of them for one column.
#[derive(Default)]
struct Leading<'b, 'e> {
    bounds: Vec<&'b Bound<'e>>,
    /// Which of them is the list.
    each: Option<usize>,
}

impl<'b, 'e> Leading<'b, 'e> {
    fn of(columns: &[usize], bounds: &'b [Bound<'e>]) -> Self {
        let mut leading = Self::default();
        for (at, &column) in columns.iter().enumerate() {
            let find = |wanted: fn(&Test<'_>) -> bool| {
                bounds.iter().find(|bound| bound.column == column && wanted(&bound.test))
            };
            let equal = find(|test| matches!(test, Test::Compare(Comparison::Equal, _)));
            let listed = || find(|test| matches!(test, Test::In(..))).filter(|_| leading.each.is_none());
            let Some(bound) = equal.or_else(listed) else { break };
            if matches!(bound.test, Test::In(..)) {
                leading.each = Some(at);
            }
            leading.bounds.push(bound);
        }
        leading
    }

    fn len(&self) -> usize {
        self.bounds.len()
    }

    fn served(&self) -> impl Iterator<Item = usize> {
        self.bounds.iter().map(|bound| bound.conjunct)
    }

    /// The values; NULL in the place of a list.
    fn values(&self) -> Vec<Expr> {
        let value = |bound: &&Bound<'_>| match bound.test {
            Test::Compare(_, value) => value.clone(),
            Test::In(..) => Expr::NULL,
        };
        self.bounds.iter().map(value).collect()
    }

    /// The direction in which an index's entries come in the wanted order, if in one.
    fn order(&self, table: &Table, columns: &[usize], order: &[Wanted]) -> Option<Direction> {
        let fixed: Vec<_> = match self.each {
            Some(each) => [&columns[..each], &columns[each + 1..self.len()]].concat(),
            None => columns[..self.len()].to_vec(),
        };
        let walked = columns.iter().copied().filter(|column| !fixed.contains(column));
        order_of(table, walked, &fixed, order)
    }

    /// The way, for each value of the list if there is one.
    fn way(&self, way: Path, direction: Direction) -> Path {
        let Some(place) = self.each else { return way };
        let Test::In(exprs, is_array) = self.bounds[place].test else { return way };
        let candidates = Candidates { exprs: exprs.to_vec(), is_array };
        Path::Each(Box::new(Each { candidates, way, place, direction }))
    }
}

/// What an index can do.
struct Candidate {
    /// Higher is better.
    score: usize,
    path: Path,
    /// Whether it gives the order that is wanted.
    in_order: bool,
    /// The conjuncts of which nothing need be checked any more.
    served: Vec<usize>,
}

/// The order as columns of the table, if it is made of such. What is the same for all rows is no part of it.
pub(super) fn plain_columns(orders: &[Order]) -> Vec<Wanted> {
    let plain = |order: &Order| match order.expr {
        Expr::Column(column) => Some((column, order.descending, order.nulls_first)),
        _ => None,
    };
    let deciding = orders.iter().filter(|order| !order.expr.is_row_independent());
    deciding.map(plain).collect::<Option<_>>().unwrap_or_default()
}

/// The best way to the rows that satisfy `filter`, and whether it gives them in the order that is wanted. Rows that are to be sorted are
/// all locked before, and those that nobody gets are then missing to others who pass over locked ones: for them the order comes first.
pub(super) fn choose(table: Arc<Table>, filter: Option<Expr>, lock: LockFor, order: &[Wanted]) -> (Access, bool) {
    let conjuncts = conjuncts(filter);
    let bounds: Vec<_> =
        conjuncts.iter().enumerate().flat_map(|(at, conjunct)| bound_of(&table, at, conjunct)).collect();
    let key = Leading::of(&table.schema.key, &bounds);
    if key.len() == table.schema.key.len() {
        let direction = key.order(&table, &table.schema.key, order);
        let in_order = key.each.is_none() || (table.is_ordered(IndexRef::Primary) && direction.is_some());
        let path = key.way(Path::Key(key.values()), direction.unwrap_or_default());
        let served: Vec<_> = key.served().collect();
        let filter = conjunction(without(conjuncts, &served));
        return (Access { table, path, filter, lock }, in_order);
    }
    let order_first = lock == LockFor::UpdateFree && !order.is_empty();
    let mut best: Option<Candidate> = None;
    for index in table.indexes() {
        let Some(candidate) = range_of(&table, index, &bounds, order) else { continue };
        let worth = |candidate: &Candidate| (order_first && candidate.in_order, candidate.score);
        if best.as_ref().is_none_or(|known| worth(&candidate) > worth(known)) {
            best = Some(candidate);
        }
    }
    let (path, in_order, served) = match best {
        Some(Candidate { path, in_order, served, .. }) => (path, in_order, served),
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
    let blanks = |column: usize| matches!(table.schema.columns[column].ty, Type::Char(_));
    let condition = |(&column, (comparison, value)): (&usize, (Comparison, &Expr))| {
        Expr::Compare(comparison, Box::new((Expr::Column(column), value.clone())), blanks(column))
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
        Path::Each(each) => {
            let mut conditions = conditions_of(table, &each.way);
            if let Some(condition) = conditions.get_mut(each.place)
                && let Expr::Compare(_, pair, blanks) = condition
            {
                let (column, exprs) = (pair.0.clone(), each.candidates.exprs.clone());
                *condition = if each.candidates.is_array {
                    let any = Function::Array(ArrayFunction::Any(Comparison::Equal, false, *blanks));
                    Expr::Call(any, std::iter::once(column).chain(exprs).collect())
                } else {
                    Expr::In(Box::new(column), exprs, *blanks)
                };
            }
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

/// Their conjunction, what is computed at once first; none if there is nothing to check.
pub(super) fn conjunction(mut list: Vec<Expr>) -> Option<Expr> {
    list.retain(|expr| !super::select::is_true(expr));
    // What is the same for all rows and no constant yet may be an error.
    let decided = list.iter().all(|expr| matches!(expr, Expr::Const(_)) || !expr.is_row_independent());
    if decided && list.iter().any(|expr| matches!(expr, Expr::Const(Value::Null | Value::Bool(false)))) {
        return Some(Expr::bool(false));
    }
    list.sort_by_cached_key(cost::effort);
    match list.len() {
        0 => None,
        1 => list.pop(),
        _ => Some(Expr::And(list)),
    }
}

/// The condition in one conjunct that an index can serve.
fn bound_of<'e>(table: &Table, conjunct: usize, expr: &'e Expr) -> Option<Bound<'e>> {
    let (column, test, blanks) = match expr {
        Expr::Compare(comparison, pair, blanks) => match &**pair {
            (Expr::Column(column), value) => (*column, Test::Compare(*comparison, value), *blanks),
            (value, Expr::Column(column)) => (*column, Test::Compare(comparison.flipped(), value), *blanks),
            _ => return None,
        },
        Expr::In(value, list, blanks) => match **value {
            Expr::Column(column) => (column, Test::In(list, false), *blanks),
            _ => return None,
        },
        Expr::Call(Function::Array(ArrayFunction::Any(Comparison::Equal, false, blanks)), operands) => {
            match &operands[..] {
                [Expr::Column(column), array] => (*column, Test::In(std::slice::from_ref(array), true), *blanks),
                _ => return None,
            }
        }
        _ => return None,
    };
    // Only the keys of a `char` column have no trailing blanks.
    if blanks && !matches!(table.schema.columns[column].ty, Type::Char(_)) {
        return None;
    }
    let serves = match test {
        Test::Compare(comparison, value) => comparison != Comparison::NotEqual && value.is_row_independent(),
        Test::In(list, _) => list.iter().all(Expr::is_row_independent),
    };
    serves.then_some(Bound { column, test, conjunct })
}

/// What an index can do for the conditions and the order; none if nothing.
fn range_of(table: &Table, index: IndexRef, bounds: &[Bound<'_>], order: &[Wanted]) -> Option<Candidate> {
    let columns = table.index_columns(index);
    let leading = Leading::of(columns, bounds);
    let equal = leading.len();
    let unique = match index {
        IndexRef::Primary => true,
        IndexRef::Secondary(id) => table.schema.indexes[usize::from(id.0)].unique,
    };
    // A list is the worse, the more values it has, of which nothing is known.
    let listed = if leading.each.is_some() { 5 } else { 0 };
    if !table.is_ordered(index) {
        // A hash index knows whole keys only, and the primary one is reached by its key.
        let whole = equal == columns.len() && index != IndexRef::Primary;
        let range = Range { index, equal: leading.values(), lower: None, upper: None, direction: Direction::Forward };
        let score = 80 + usize::from(unique) * 10 - listed;
        let path = leading.way(Path::Range(range), Direction::Forward);
        return whole.then_some(Candidate { score, path, in_order: false, served: Vec::new() });
    }
    let bound = |wanted: [Comparison; 2]| {
        let &next = columns.get(equal)?;
        let bounds = bounds.iter().filter(|bound| bound.column == next);
        bounds.filter_map(|bound| Some((bound.conjunct, bound.compared()?))).find(|(_, (is, _))| wanted.contains(is))
    };
    let lower = bound([Comparison::Greater, Comparison::GreaterOrEqual]);
    let upper = bound([Comparison::Less, Comparison::LessOrEqual]);
    let direction = leading.order(table, columns, order);
    let mut score = equal * 20 + usize::from(lower.is_some()) * 8 + usize::from(upper.is_some()) * 8;
    score += usize::from(equal == columns.len() && unique) * 30;
    score += usize::from(direction.is_some() && !order.is_empty()) * 4;
    score -= listed;
    if score == 0 {
        return None;
    }
    // Among equals the primary key is best: its entries are the records.
    score = score * 2 + usize::from(index == IndexRef::Primary);
    let served = match index {
        IndexRef::Primary => leading.served().chain([lower, upper].into_iter().flatten().map(|(at, _)| at)).collect(),
        IndexRef::Secondary(_) => Vec::new(),
    };
    let included = |(_, (comparison, value)): (usize, (Comparison, &Expr))| {
        (value.clone(), matches!(comparison, Comparison::LessOrEqual | Comparison::GreaterOrEqual))
    };
    let (lower, upper) = (lower.map(included), upper.map(included));
    let way = direction.unwrap_or_default();
    let range = Range { index, equal: leading.values(), lower, upper, direction: way };
    let path = leading.way(Path::Range(range), way);
    Some(Candidate { score, path, in_order: direction.is_some(), served })
}

/// The direction in which walking `columns` gives the wanted order, if one does. `fixed` columns have one value only.
fn order_of(
    table: &Table,
    columns: impl Iterator<Item = usize>,
    fixed: &[usize],
    order: &[Wanted],
) -> Option<Direction> {
    let mut wanted = order.iter().filter(|(column, ..)| !fixed.contains(column));
    let mut direction = None;
    for column in columns {
        let Some((wanted_column, descending, nulls_first)) = wanted.next() else { break };
        if *wanted_column != column {
            return None;
        }
        // The index has NULLs last, so walking back it has them first.
        if table.schema.columns[column].nullable && nulls_first != descending {
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
