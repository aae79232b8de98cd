//! The ways to a table's rows.

use crate::catalog::Table;
use crate::expr::Expr;
use hotrow_storage::IndexRef;
use hotrow_sync::Arc;
use hotrow_txn::{Direction, LockFor};

/// How a table's rows are found.
#[derive(Debug)]
pub struct Access {
    /// The table.
    pub table: Arc<Table>,
    /// The way to them.
    pub path: Path,
    /// What must be true of them beside being there. Covers the path's own conditions where the path is inexact.
    pub filter: Option<Expr>,
    /// To read or to change.
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
    /// The one with this primary key.
    Key(Vec<Expr>),
    /// One range of an index: a range without lists.
    Range(Range),
    /// Several ranges, each row once: those of OR, of lists, of rows of values. They go one way, in the order of their
    /// index if it is one index.
    Ranges(Vec<Range>),
    /// All of them.
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
    /// Which of the leading columns it is.
    pub place: usize,
    /// The values, or the array of them.
    pub exprs: Vec<Expr>,
    /// It is an array.
    pub is_array: bool,
}
