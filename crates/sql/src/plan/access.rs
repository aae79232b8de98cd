//! The ways to a table's rows.

use crate::catalog::Table;
use crate::expr::Expr;
use hotrow_storage::IndexRef;
use hotrow_sync::Arc;
use hotrow_txn::{Direction, LockFor};

/// A scan of a table: the table, the path to the rows, and the filter.
#[derive(Debug)]
pub struct Access {
    /// The table.
    pub table: Arc<Table>,
    /// The path to the rows.
    pub path: Path,
    /// The condition that a row on the path must fulfil, if there is one. It repeats the path's own conditions where
    /// the path is inexact.
    pub filter: Option<Expr>,
    /// Whether the rows are read or changed, which decides on their locks.
    pub lock: LockFor,
}

impl Path {
    /// The values by which rows are looked for.
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Path::Key(values) => values.iter().collect(),
            Path::Range(range) => range.exprs().collect(),
            Path::Ranges(ranges) => ranges.iter().flat_map(Range::exprs).collect(),
            Path::Full => Vec::new(),
        }
    }
}

/// The way to a table's rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Path {
    /// The row with this primary key.
    Key(Vec<Expr>),
    /// One range of an index: a range without lists.
    Range(Range),
    /// Several ranges, for OR, lists and lists of rows of values. Each row comes once. All ranges have one direction,
    /// and if they are of one index, the rows come in its order.
    Ranges(Vec<Range>),
    /// All rows of the table.
    Full,
}

/// A range of an index: leading columns equal, the next one bounded. With lists it is as many ranges as there are
/// combinations of their values.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The index.
    pub index: IndexRef,
    /// The leading columns' values; NULL where a list has them, and where the column is to be NULL.
    pub equal: Vec<Expr>,
    /// The lists that have the values of leading columns.
    pub lists: Vec<List>,
    /// The leading columns that are to be NULL.
    pub nulls: Vec<usize>,
    /// The next column's lower bounds, and whether each is included.
    pub lower: Vec<(Expr, bool)>,
    /// The next column's upper bounds, and whether each is included.
    pub upper: Vec<(Expr, bool)>,
    /// The order of the walk.
    pub direction: Direction,
}

impl Range {
    /// Whether the range is less than the whole index.
    pub fn is_bounded(&self) -> bool {
        !self.equal.is_empty() || !self.lower.is_empty() || !self.upper.is_empty()
    }

    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let bounds = self.lower.iter().chain(&self.upper).map(|(value, _)| value);
        self.equal.iter().chain(bounds).chain(self.lists.iter().flat_map(|list| &list.exprs))
    }
}

/// The values of a leading column: `column IN (…)`, `column = ANY (array)`.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The position of the column among the leading columns.
    pub place: usize,
    /// The values, or the array that holds them.
    pub exprs: Vec<Expr>,
    /// Whether `exprs` is one array.
    pub is_array: bool,
}
