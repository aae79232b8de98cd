//! Groups: the sources of a join, and the places of the query's columns in the rows of the join.

use super::scope::show;
use crate::SqlError;
use crate::catalog::Table;
use crate::expr::{Expr, lost};
use crate::plan::Node;
use hotrow_sync::Arc;
use hotrow_txn::LockFor;
use std::ops::Range;

/// The place of a column that the rows do not have.
const ABSENT: usize = usize::MAX;

/// The sources of an inner join, and the conditions that its rows must satisfy.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) sources: Vec<Source>,
    pub(super) conditions: Vec<Expr>,
}

/// A source of rows in a join.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) item: Item,
    /// The source's columns, by their numbers in the query.
    pub(super) columns: Range<usize>,
}

/// The kinds of sources.
#[derive(Debug)]
pub(super) enum Item {
    Table(Arc<Table>, LockFor),
    /// The rows of a query. If the query is LATERAL, the second part has the columns of other sources to which it
    /// refers.
    Rows(Box<Node>, Option<Shown>),
    Outer(Box<OuterJoin>),
}

/// A frame, with the columns that it shows.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) frame: usize,
    /// The columns that the frame shows, by their numbers in the query.
    pub(super) columns: Vec<usize>,
}

/// A left or full join.
#[derive(Debug)]
pub(super) struct OuterJoin {
    pub(super) full: bool,
    pub(super) left: Group,
    pub(super) right: Group,
    pub(super) on: Vec<Expr>,
}

impl Group {
    pub(super) fn append(&mut self, other: Group) {
        self.sources.extend(other.sources);
        self.conditions.extend(other.conditions);
    }

    pub(super) fn columns(&self) -> Range<usize> {
        let start = self.sources.iter().map(|source| source.columns.start).min();
        let end = self.sources.iter().map(|source| source.columns.end).max();
        start.unwrap_or(0)..end.unwrap_or(0)
    }

    /// Whether FOR UPDATE would lock rows of a side for which an outer join may put NULLs.
    pub(super) fn locks_nullable(&self) -> bool {
        self.sources.iter().any(|source| match &source.item {
            Item::Outer(join) => join.right.locks() || (join.full && join.left.locks()),
            Item::Table(..) | Item::Rows(..) => false,
        })
    }

    fn locks(&self) -> bool {
        self.sources.iter().any(|source| match &source.item {
            Item::Table(_, lock) => lock.is_update(),
            Item::Outer(join) => join.left.locks() || join.right.locks(),
            Item::Rows(..) => false,
        })
    }

    /// Moves conditions into left joins where this does not change the result. If a condition refuses the rows that a
    /// left join fills with NULLs, the join becomes an inner one: its sources and conditions join this group.
    pub(super) fn push_down(&mut self) {
        let mut at = 0;
        while at < self.conditions.len() {
            let condition = &self.conditions[at];
            let columns = Columns::of([condition]);
            let holder = self.sources.iter().position(|source| {
                matches!(source.item, Item::Outer(_)) && columns.any() && columns.within(&source.columns)
            });
            let Some(holder) = holder.filter(|_| !condition.has_subquery()) else {
                at += 1;
                continue;
            };
            let Item::Outer(join) = &mut self.sources[holder].item else { return };
            if !join.full && rejects_nulls(condition, &join.right.columns()) {
                let Item::Outer(join) = self.sources.remove(holder).item else { return };
                self.append(join.left);
                self.append(join.right);
                self.conditions.extend(join.on);
                at = 0;
            } else if !join.full && columns.within(&join.left.columns()) {
                let condition = self.conditions.remove(at);
                join.left.conditions.push(condition);
            } else {
                at += 1;
            }
        }
    }
}

/// Whether a condition cannot be true of a row that has NULL in all columns of a range.
fn rejects_nulls(condition: &Expr, range: &Range<usize>) -> bool {
    fn is_null(expr: &Expr, range: &Range<usize>) -> bool {
        match expr {
            Expr::Column(column) => range.contains(column),
            Expr::Cast(inner, ..) | Expr::Negate(inner) => is_null(inner, range),
            Expr::Arithmetic(_, pair) | Expr::Concat(pair) => is_null(&pair.0, range) || is_null(&pair.1, range),
            _ => false,
        }
    }
    match condition {
        Expr::Compare(_, pair, _) => is_null(&pair.0, range) || is_null(&pair.1, range),
        Expr::In(value, ..) => is_null(value, range),
        Expr::Like(like) => is_null(&like.text, range) || is_null(&like.pattern, range),
        Expr::Not(inner) => matches!(&**inner, Expr::IsNull(value) if is_null(value, range)),
        _ => false,
    }
}

/// A set of the query's columns.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns(Vec<bool>);

impl Columns {
    /// Returns the columns to which expressions refer.
    pub(super) fn of<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> Self {
        let mut columns = Self::default();
        exprs.into_iter().for_each(|expr| columns.mark(expr));
        columns
    }

    pub(super) fn mark(&mut self, expr: &Expr) {
        let _ = expr.any(&mut |part| {
            if let Expr::Column(column) = part {
                self.insert(*column);
            }
            false
        });
    }

    pub(super) fn insert(&mut self, column: usize) {
        if self.0.len() <= column {
            self.0.resize(column + 1, false);
        }
        self.0[column] = true;
    }

    pub(super) fn has(&self, column: usize) -> bool {
        self.0.get(column).is_some_and(|has| *has)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len()).filter(|&column| self.0[column])
    }

    pub(super) fn any(&self) -> bool {
        self.0.contains(&true)
    }

    pub(super) fn within(&self, range: &Range<usize>) -> bool {
        self.iter().all(|column| range.contains(&column))
    }

    pub(super) fn extend(&mut self, columns: impl Iterator<Item = usize>) {
        columns.for_each(|column| self.insert(column));
    }

    pub(super) fn subset_of(&self, other: &Columns) -> bool {
        self.iter().all(|column| other.has(column))
    }
}

/// The plan of rows, and the places of the query's columns in them.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) node: Node,
    /// The place of each of the query's columns in the rows, or `ABSENT`.
    pub(super) places: Vec<usize>,
    /// Whether the rows come in the wanted order.
    pub(super) in_order: bool,
}

impl Planned {
    /// Makes the plan of rows that have the columns of a range in order, and no others.
    pub(super) fn leaf(node: Node, columns: &Range<usize>) -> Self {
        let places = (0..columns.end).map(|at| at.checked_sub(columns.start).unwrap_or(ABSENT)).collect();
        Self { node, places, in_order: false }
    }

    pub(super) fn place_of(&self, column: usize) -> Option<usize> {
        self.places.get(column).copied().filter(|&place| place != ABSENT)
    }

    /// Returns those of the wanted columns that the rows have.
    pub(super) fn present(&self, wanted: &Columns) -> Vec<usize> {
        wanted.iter().filter(|&column| self.place_of(column).is_some()).collect()
    }

    pub(super) fn places_of(&self, columns: &[usize]) -> Vec<usize> {
        columns.iter().filter_map(|&column| self.place_of(column)).collect()
    }

    /// Rewrites an expression over the query's columns into one over these rows.
    pub(super) fn place(&self, expr: &mut Expr) -> Result<(), SqlError> {
        place(expr, &self.places)
    }

    /// Materialises the rows with only the wanted columns.
    pub(super) fn kept(self, wanted: &Columns) -> Self {
        let columns = self.present(wanted);
        let keep = self.places_of(&columns);
        let node = Node::Materialise(Box::new(self.node), keep);
        Self { node, places: places(&columns, &[]), in_order: self.in_order }
    }
}

pub(super) fn place(expr: &mut Expr, places: &[usize]) -> Result<(), SqlError> {
    match expr {
        Expr::Column(column) => {
            *column = places.get(*column).copied().filter(|&at| at != ABSENT).ok_or_else(|| lost("a column"))?;
            Ok(())
        }
        other => other.parts_mut().into_iter().try_for_each(|part| place(part, places)),
    }
}

/// Returns the places of the query's columns in rows that consist of the `first` columns and then the `second` ones.
pub(super) fn places(first: &[usize], second: &[usize]) -> Vec<usize> {
    let all = || first.iter().chain(second).copied();
    let mut places = vec![ABSENT; all().max().map_or(0, |greatest| greatest + 1)];
    for (place, column) in all().enumerate() {
        places[column] = place;
    }
    places
}

/// Rewrites a condition over the query's columns into one over a source's own row. Other columns become columns of the
/// frame, which are added to `shown`.
pub(super) fn localise(expr: &mut Expr, own: &Range<usize>, shown: &mut Shown) {
    match expr {
        Expr::Column(column) if own.contains(column) => *column -= own.start,
        Expr::Column(_) => show(expr, shown.frame, &mut shown.columns),
        other => other.parts_mut().into_iter().for_each(|part| localise(part, own, shown)),
    }
}
