//! Accesses: how a plan finds and locks rows of one table.

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
    /// The path by which the rows are found.
    pub path: Path,
    /// The condition that each row on the path must satisfy, if there is one. It repeats the path's own conditions if
    /// the path is inexact.
    pub filter: Option<Expr>,
    /// Whether the rows are read or changed, which decides how they are locked.
    pub lock: LockFor,
}

impl Path {
    /// Returns the expressions whose values say which rows the path finds.
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Path::Key(values) => values.iter().collect(),
            Path::Range(range) => range.exprs().collect(),
            Path::Ranges(ranges) => ranges.iter().flat_map(Range::exprs).collect(),
            Path::Full => Vec::new(),
        }
    }
}

/// A path to rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Path {
    /// One row, by its primary key.
    Key(Vec<Expr>),
    /// One range of an index. The range has no lists.
    Range(Range),
    /// Several ranges, for OR, for lists of values and for lists of rows. The path finds each row once, even if it is
    /// in several ranges. All ranges have the same direction, and if they are of one index, the rows come in its order.
    Ranges(Vec<Range>),
    /// All rows of the table.
    Full,
}

/// A range of an index: the leading columns have given values, and the next column has bounds. With lists, it stands
/// for as many ranges as there are combinations of the lists' values.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The index.
    pub index: IndexRef,
    /// The values of the leading columns. NULL is a placeholder for a column in `lists`, and for one in `nulls`.
    pub equal: Vec<Expr>,
    /// The leading columns that may have any value of a list.
    pub lists: Vec<List>,
    /// The positions of the leading columns that must be NULL, among the leading columns.
    pub nulls: Vec<usize>,
    /// The lower bounds of the column after the leading ones. The flag says whether the bound itself is included.
    pub lower: Vec<(Expr, bool)>,
    /// The upper bounds of the column after the leading ones. The flag says whether the bound itself is included.
    pub upper: Vec<(Expr, bool)>,
    /// The direction in which the index is walked.
    pub direction: Direction,
}

impl Range {
    /// Whether the range has a value, a list or a bound. Otherwise it is the whole index.
    pub fn is_bounded(&self) -> bool {
        !self.equal.is_empty() || !self.lower.is_empty() || !self.upper.is_empty()
    }

    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let bounds = self.lower.iter().chain(&self.upper).map(|(value, _)| value);
        self.equal.iter().chain(bounds).chain(self.lists.iter().flat_map(|list| &list.exprs))
    }
}

/// The values of which a leading column must have one: `column IN (…)`, `column = ANY (array)`.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The position of the column among the leading columns.
    pub place: usize,
    /// The values; or a single expression whose value is an array of them, if `is_array`.
    pub exprs: Vec<Expr>,
    /// Whether `exprs` is a single expression of an array type.
    pub is_array: bool,
}
