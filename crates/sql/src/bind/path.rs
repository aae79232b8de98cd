//! Chooses how a table's rows are found: by primary key, by ranges of indexes, or by reading all of them.
//!
//! The bounds that conditions imply for an index's columns are in `bounds`. An index serves them if each alternative
//! bounds its leading column: each alternative is then a range of the index, or as many ranges as a list has values. If
//! no index serves all alternatives, several indexes may serve the arms of an OR, one index an arm. Every row found is
//! checked against the whole condition again, except for the conditions that ranges of the primary key imply: a record
//! never changes its key, while an entry of another index may be older than the row.

use super::bounds::{Alternatives, Bound, Bounds, Test};
use super::condition::{conjunction, conjuncts, is_volatile};
use super::group::{Shown, localise};
use super::hidden::{derived, is_value};
use super::query::Order;
use crate::catalog::Table;
use crate::expr::{ArrayFunction, Comparison, Expr, Function};
use crate::plan::{Access, List, Path, Range};
use hotrow_storage::{IndexRef, Type};
use hotrow_sync::Arc;
use hotrow_txn::{Direction, LockFor};

/// One item of a wanted order, which an index may give: the expression, whether the order is descending, and whether
/// NULLs come first.
pub(super) type Wanted = (Expr, bool, bool);

/// The score that an index gains if it also gives the wanted order.
const ORDER_SCORE: usize = 4;

/// The score of a partial index whose condition is satisfied. It makes the index better than a scan of all rows, and
/// worse than an index with any bound.
const PREDICATE_SCORE: usize = 1;

/// An index that could serve an access, with its ranges and its score.
struct Candidate {
    /// The score of the index. The candidate with the highest score is chosen.
    score: usize,
    ranges: Vec<Range>,
    /// Whether the index gives the wanted order.
    in_order: bool,
    /// The conjuncts that the ranges imply in full, so that no row need be checked against them.
    served: Vec<usize>,
}

/// A range of an index for one alternative.
struct Served<'b, 'e> {
    range: Range,
    /// The bounds that the range implies in full.
    bounds: Vec<&'b Bound<'e>>,
    score: usize,
}

/// Returns the items of an ORDER BY list that an index may give, without those that have the same value for all rows.
/// Returns an empty list if no index can give the whole order.
pub(super) fn plain_columns(orders: &[Order]) -> Vec<Wanted> {
    let is_indexable = |expr: &Expr| {
        let refuses = &mut |part: &Expr| matches!(part, Expr::Aggregate(_) | Expr::Window(_) | Expr::Set(_));
        !expr.has_subquery() && !is_volatile(expr) && !expr.any(refuses)
    };
    let plain =
        |order: &Order| is_indexable(&order.expr).then(|| (order.expr.clone(), order.descending, order.nulls_first));
    let deciding = orders.iter().filter(|order| !order.expr.is_row_independent());
    deciding.map(plain).collect::<Option<_>>().unwrap_or_default()
}

/// Chooses the best path to the rows that satisfy `filter`, and returns whether the path gives them in the order that
/// is wanted.
///
/// Rows that must be sorted are all locked before the sort. Other transactions that skip locked rows then miss the rows
/// that this statement has locked but does not return. So if the statement skips locked rows, an index that gives the
/// order is preferred to any other.
pub(super) fn choose(table: Arc<Table>, filter: Option<Expr>, lock: LockFor, order: &[Wanted]) -> (Access, bool) {
    let mut conditions = conjuncts(filter);
    let given = conditions.len();
    conditions.extend(derived(&table, &conditions));
    let bounds = Bounds::of(&table, &conditions);
    let order_first = lock == LockFor::UpdateFree && !order.is_empty();
    let best = by_key(&table, &bounds, order).or_else(|| by_index(&table, &bounds, order, order_first));
    let (path, in_order, served) = match best {
        Some(Candidate { ranges, in_order, served, .. }) => (path_of(&table, ranges), in_order, served),
        None => (Path::Full, false, Vec::new()),
    };
    conditions.truncate(given);
    let conditions = conditions.into_iter().enumerate().filter(|(at, _)| !served.contains(at)).map(|(_, expr)| expr);
    let filter = conjunction(conditions.collect());
    (Access { table, path, filter, lock }, in_order)
}

/// Returns the candidate that finds all rows by whole primary keys, or `None` if the bounds do not give such keys.
fn by_key(table: &Table, bounds: &Bounds<'_>, order: &[Wanted]) -> Option<Candidate> {
    let columns = table.index_columns(IndexRef::Primary);
    let candidate = |alternatives: Alternatives<'_>| {
        let is_whole = |served: &Served<'_, '_>| served.range.equal.len() == columns.len();
        candidate_of(table, IndexRef::Primary, &alternatives, order, is_whole)
    };
    candidate(bounds.on(columns)).or_else(|| candidate(bounds.common(columns)))
}

/// Returns the best candidate of one index, or of several indexes if no single one serves. If `order_first`, an index
/// that gives the wanted order is preferred to any other.
fn by_index(table: &Table, bounds: &Bounds<'_>, order: &[Wanted], order_first: bool) -> Option<Candidate> {
    let worth = |candidate: &Candidate| (order_first && candidate.in_order, candidate.score);
    let mut best: Option<Candidate> = None;
    for index in table.indexes() {
        let Some(candidate) = by(table, index, bounds, order) else { continue };
        if best.as_ref().is_none_or(|known| worth(&candidate) > worth(known)) {
            best = Some(candidate);
        }
    }
    // An index that serves only because of its order would read all rows.
    match best {
        Some(best) if order_first || best.ranges.iter().all(Range::is_bounded) => Some(best),
        other => by_arms(table, bounds).or(other),
    }
}

/// Returns the candidate of one index, or `None` if the index neither serves the bounds nor gives the wanted order.
fn by(table: &Table, index: IndexRef, bounds: &Bounds<'_>, order: &[Wanted]) -> Option<Candidate> {
    let columns = table.index_columns(index);
    let bounded = |served: &Served<'_, '_>| served.score > 0;
    candidate_of(table, index, &bounds.on(columns), order, bounded)
        .or_else(|| candidate_of(table, index, &bounds.common(columns), order, bounded))
        .or_else(|| {
            let everything = Alternatives { list: vec![Vec::new()], whole: Vec::new() };
            let candidate = candidate_of(table, index, &everything, order, |_| table.is_ordered(index));
            candidate.filter(|candidate| candidate.in_order && !order.is_empty())
        })
}

/// Returns the candidate that finds the rows of each arm of an OR by the best index for the arm.
fn by_arms(table: &Table, bounds: &Bounds<'_>) -> Option<Candidate> {
    bounds.arms().find_map(|arms| {
        let mut ranges = Vec::with_capacity(arms.len());
        for arm in arms {
            let candidates = table.indexes().filter_map(|index| by(table, index, &arm, &[]));
            ranges.extend(candidates.max_by_key(|candidate| candidate.score)?.ranges);
        }
        Some(Candidate { score: 0, ranges, in_order: false, served: Vec::new() })
    })
}

/// Rates an index for the alternatives. Returns `None` if `suffices` refuses the range of any alternative, or if an
/// alternative has no range.
fn candidate_of(
    table: &Table,
    index: IndexRef,
    alternatives: &Alternatives<'_>,
    order: &[Wanted],
    suffices: impl Fn(&Served<'_, '_>) -> bool,
) -> Option<Candidate> {
    let (columns, is_ordered) = (table.index_columns(index), table.is_ordered(index));
    let mut served = Vec::with_capacity(alternatives.list.len());
    for bounds in &alternatives.list {
        let range = if is_ordered { range_of(table, index, bounds) } else { entry_of(table, index, bounds) };
        served.push(range.filter(&suffices)?);
    }
    let mut score = served.iter().map(|served| served.score).min()?;
    let conjuncts = match index {
        // With several lists, going through all combinations of their values may take too long.
        IndexRef::Primary if served.iter().all(|served| served.range.lists.len() <= 1) => {
            let unserved = |(bounds, served): (&Vec<Bound<'_>>, &Served<'_, '_>)| -> Vec<usize> {
                let is_unserved = |bound: &&Bound<'_>| !served.bounds.iter().any(|other| std::ptr::eq(*other, *bound));
                bounds.iter().filter(is_unserved).map(|bound| bound.conjunct).collect()
            };
            let unserved: Vec<_> = alternatives.list.iter().zip(&served).flat_map(unserved).collect();
            alternatives.whole.iter().copied().filter(|conjunct| !unserved.contains(conjunct)).collect()
        }
        IndexRef::Primary | IndexRef::Secondary(_) => Vec::new(),
    };
    let mut ranges: Vec<_> = served.into_iter().map(|served| served.range).collect();
    ranges.dedup();
    let fixed = fixed_columns(columns, &ranges);
    let walked = columns.iter().copied().filter(|column| !fixed.contains(column));
    let direction = match &ranges[..] {
        [range] if is_key(table, range) => Some(Direction::Forward),
        _ if is_ordered => order_of(table, index, walked, &fixed, order),
        _ => None,
    };
    if ranges.len() > 1 {
        score = score.saturating_sub(5);
    }
    if direction.is_some() && !order.is_empty() {
        score += ORDER_SCORE;
    }
    // At equal scores the primary key wins, since its entries are the records themselves.
    score = score * 2 + usize::from(index == IndexRef::Primary);
    ranges.iter_mut().for_each(|range| range.direction = direction.unwrap_or_default());
    Some(Candidate { score, ranges, in_order: direction.is_some(), served: conjuncts })
}

/// Whether a range stands for exactly one primary key.
fn is_key(table: &Table, range: &Range) -> bool {
    range.index == IndexRef::Primary && range.equal.len() == table.schema.key.len() && range.lists.is_empty()
}

/// Returns the columns of an index that have the same single value in all ranges.
fn fixed_columns(columns: &[usize], ranges: &[Range]) -> Vec<usize> {
    let Some((first, others)) = ranges.split_first() else { return Vec::new() };
    let is_fixed = |at: &usize| {
        let plain = |range: &Range| range.lists.iter().all(|list| list.place != *at) && !range.nulls.contains(at);
        let same = |other: &Range| plain(other) && other.equal.get(*at) == first.equal.get(*at);
        plain(first) && others.iter().all(same)
    };
    (0..first.equal.len()).filter(is_fixed).map(|at| columns[at]).collect()
}

/// Makes the path along ranges of one index.
fn path_of(table: &Table, mut ranges: Vec<Range>) -> Path {
    match &mut ranges[..] {
        [range] if is_key(table, range) => Path::Key(std::mem::take(&mut range.equal)),
        [range] if range.lists.is_empty() => {
            let empty = Range {
                equal: Vec::new(),
                lists: Vec::new(),
                nulls: Vec::new(),
                lower: Vec::new(),
                upper: Vec::new(),
                ..*range
            };
            Path::Range(std::mem::replace(range, empty))
        }
        _ => Path::Ranges(ranges),
    }
}

/// Returns the conditions that all rows on a path satisfy.
pub(super) fn conditions_of(table: &Table, path: &Path) -> Vec<Expr> {
    match path {
        Path::Key(values) => {
            let equal = |(&column, value): (&usize, &Expr)| compared(table, column, Comparison::Equal, value);
            table.schema.key.iter().zip(values).map(equal).collect()
        }
        Path::Range(range) => conditions_of_range(table, range),
        Path::Ranges(ranges) => {
            let mut alternatives: Vec<_> = ranges.iter().map(|range| conditions_of_range(table, range)).collect();
            if alternatives.len() == 1 {
                return alternatives.pop().unwrap_or_default();
            }
            let all = |mut conditions: Vec<Expr>| match conditions.len() {
                1 => conditions.pop().unwrap_or(Expr::NULL),
                _ => Expr::And(conditions),
            };
            vec![Expr::Or(alternatives.into_iter().map(all).collect())]
        }
        Path::Full => Vec::new(),
    }
}

fn conditions_of_range(table: &Table, range: &Range) -> Vec<Expr> {
    let columns = table.index_columns(range.index);
    let equal = |(at, value): (usize, &Expr)| {
        let column = Expr::Column(columns[at]);
        let Some(list) = range.lists.iter().find(|list| list.place == at) else {
            if range.nulls.contains(&at) {
                return Expr::IsNull(Box::new(column));
            }
            return compared(table, columns[at], Comparison::Equal, value);
        };
        let (exprs, blanks) = (list.exprs.clone(), has_blanks(table, columns[at]));
        if list.is_array {
            let any = Function::Array(ArrayFunction::Any(Comparison::Equal, false, blanks));
            return Expr::Call(any, std::iter::once(column).chain(exprs).collect());
        }
        Expr::In(Box::new(column), exprs, blanks)
    };
    // All rows of a partial index satisfy its condition.
    let skipped = usize::from(table.is_partial(range.index));
    let mut conditions: Vec<_> = range.equal.iter().enumerate().skip(skipped).map(equal).collect();
    let lower = range
        .lower
        .iter()
        .map(|(value, included)| (if *included { Comparison::GreaterOrEqual } else { Comparison::Greater }, value));
    let upper = range
        .upper
        .iter()
        .map(|(value, included)| (if *included { Comparison::LessOrEqual } else { Comparison::Less }, value));
    if let Some(&column) = columns.get(range.equal.len()) {
        conditions.extend(lower.chain(upper).map(|(comparison, value)| compared(table, column, comparison, value)));
    }
    conditions
}

fn compared(table: &Table, column: usize, comparison: Comparison, value: &Expr) -> Expr {
    let pair = (Expr::Column(column), value.clone());
    Expr::Compare(comparison, Box::new(pair), has_blanks(table, column))
}

fn has_blanks(table: &Table, column: usize) -> bool {
    matches!(table.schema.columns[column].ty, Type::Char(_))
}

/// Returns the range of an ordered index for the rows of one alternative.
fn range_of<'b, 'e>(table: &Table, index: IndexRef, bounds: &'b [Bound<'e>]) -> Option<Served<'b, 'e>> {
    let columns = table.index_columns(index);
    let mut served = leading(table, index, bounds, usize::MAX);
    let range = &mut served.range;
    if let Some(&next) = columns.get(range.equal.len()) {
        for bound in bounds.iter().filter(|bound| bound.column == next) {
            let Some((comparison, value)) = bound.compared() else { continue };
            let limits = match comparison {
                Comparison::Greater | Comparison::GreaterOrEqual => &mut range.lower,
                Comparison::Less | Comparison::LessOrEqual => &mut range.upper,
                Comparison::Equal | Comparison::NotEqual => continue,
            };
            limits.push((value.clone(), matches!(comparison, Comparison::GreaterOrEqual | Comparison::LessOrEqual)));
            served.bounds.push(bound);
        }
    }
    let range = &served.range;
    served.score += usize::from(!range.lower.is_empty()) * 8 + usize::from(!range.upper.is_empty()) * 8;
    served.score += usize::from(range.equal.len() == columns.len() && is_unique(table, index)) * 30;
    // The more values a list has, the worse it is, and their number is not known.
    served.score -= range.lists.len() * 5;
    Some(served)
}

/// Returns the entries of a hash index for one alternative, which must give the whole key. At most one column may have
/// a list. Returns `None` if the index does not serve.
fn entry_of<'b, 'e>(table: &Table, index: IndexRef, bounds: &'b [Bound<'e>]) -> Option<Served<'b, 'e>> {
    let columns = table.index_columns(index);
    let mut served = leading(table, index, bounds, 1);
    served.score = 80 + usize::from(is_unique(table, index)) * 10 - served.range.lists.len() * 5;
    (served.range.equal.len() == columns.len() && served.range.nulls.is_empty()).then_some(served)
}

/// Returns the range of an index that the bounds on its leading columns make. It ends at the first column for which the
/// bounds say neither a value nor a list, or that would need more than `lists` lists.
fn leading<'b, 'e>(table: &Table, index: IndexRef, bounds: &'b [Bound<'e>], lists: usize) -> Served<'b, 'e> {
    let columns = table.index_columns(index);
    let (equal, lower, upper, direction) = (Vec::new(), Vec::new(), Vec::new(), Direction::Forward);
    let range = Range { index, equal, lists: Vec::new(), nulls: Vec::new(), lower, upper, direction };
    let mut served = Served { range, bounds: Vec::new(), score: 0 };
    for (place, &column) in columns.iter().enumerate() {
        let find =
            |wanted: fn(&Test<'_>) -> bool| bounds.iter().find(|bound| bound.column == column && wanted(&bound.test));
        let equal = find(|test| matches!(test, Test::Compare(Comparison::Equal, _) | Test::Null));
        let listed = || find(|test| matches!(test, Test::In(..))).filter(|_| served.range.lists.len() < lists);
        let Some(bound) = equal.or_else(listed) else { break };
        served.range.equal.push(match &bound.test {
            Test::Compare(_, value) => value.clone().into_owned(),
            Test::In(..) | Test::Null => Expr::NULL,
        });
        match bound.test {
            Test::In(list, is_array) => served.range.lists.push(List { place, exprs: list.to_vec(), is_array }),
            Test::Null => served.range.nulls.push(place),
            Test::Compare(..) => {}
        }
        served.bounds.push(bound);
        served.score += if place == 0 && table.is_partial(index) { PREDICATE_SCORE } else { 20 };
    }
    served
}

fn is_unique(table: &Table, index: IndexRef) -> bool {
    match index {
        IndexRef::Primary => true,
        IndexRef::Secondary(id) => table.schema.indexes[usize::from(id.0)].unique,
    }
}

/// Returns the direction in which walking the index on `columns` gives the wanted order, or `None` if neither does.
/// Each of the `fixed` columns has one value only.
fn order_of(
    table: &Table,
    index: IndexRef,
    columns: impl Iterator<Item = usize>,
    fixed: &[usize],
    order: &[Wanted],
) -> Option<Direction> {
    let is_fixed = |expr: &Expr| fixed.iter().any(|&column| is_value(table, index, column, expr));
    let mut wanted = order.iter().filter(|(expr, ..)| !is_fixed(expr));
    let mut direction = None;
    for column in columns {
        let Some((expr, descending, nulls_first)) = wanted.next() else { break };
        if !is_value(table, index, column, expr) {
            return None;
        }
        // The index has NULLs last, so walking it backwards gives them first.
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

/// Chooses the access to a table for each row of another source. `shown` gets the columns of that row to which the
/// conditions refer.
pub(super) fn served(
    table: &Arc<Table>,
    lock: LockFor,
    conditions: &[Expr],
    own: &std::ops::Range<usize>,
    shown: &mut Shown,
) -> Access {
    let mut conditions = conditions.to_vec();
    conditions.iter_mut().for_each(|condition| localise(condition, own, shown));
    choose(table.clone(), conjunction(conditions), lock, &[]).0
}
