//! Accesses: the scan of one table in a plan, with the locks that it takes.

use crate::catalog::Table;
use crate::expr::Expr;
use hotrow_storage::IndexRef;
use hotrow_sync::Arc;
use hotrow_txn::{Direction, LockFor};

/// A scan of a table: the table, the path to the rows, the filter, and the locks.
#[derive(Debug)]
pub struct Access {
    /// The table.
    pub table: Arc<Table>,
    /// The access path: the way in which the scan finds its rows.
    pub path: Path,
    /// The condition that each row on the path must satisfy, if there is one. If the path may find more rows than its
    /// conditions allow, the filter repeats those conditions.
    pub filter: Option<Expr>,
    /// Whether the rows are read or changed, which determines the locks on them.
    pub lock: LockFor,
}

impl Path {
    /// Returns the expressions that determine which rows the path finds.
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Path::Key(values) => values.iter().collect(),
            Path::Range(range) => range.exprs().collect(),
            Path::Ranges(ranges) => ranges.iter().flat_map(Range::exprs).collect(),
            Path::Full => Vec::new(),
        }
    }
}

/// An access path: the way in which a scan finds its rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Path {
    /// One row, by its primary key.
    Key(Vec<Expr>),
    /// One range of an index. [`Range::lists`] is empty.
    Range(Range),
    /// Several ranges, for OR, for lists of values and for lists of rows. The path finds each row once, even if it is
    /// in several ranges. All ranges have the same direction. If they are ranges of one index, the rows are returned in
    /// its order.
    Ranges(Vec<Range>),
    /// All rows of the table.
    Full,
}

/// A range of an index: the leading columns have given values, and the next column has bounds. If it has lists, it
/// stands for one range for each combination of the lists' values.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The index.
    pub index: IndexRef,
    /// The values of the leading columns. For a column in `lists` or `nulls`, the value is NULL and has no meaning.
    pub equal: Vec<Expr>,
    /// The leading columns for which a list of values is given.
    pub lists: Vec<List>,
    /// The positions of the leading columns that must be NULL.
    pub nulls: Vec<usize>,
    /// The lower bounds of the column after the leading ones. The flag says whether the bound itself is included.
    pub lower: Vec<(Expr, bool)>,
    /// The upper bounds of the column after the leading ones. The flag says whether the bound itself is included.
    pub upper: Vec<(Expr, bool)>,
    /// The direction in which the index is scanned.
    pub direction: Direction,
}

impl Range {
    /// Whether the range has a value, a list or a bound. If not, it is the whole index.
    pub fn is_bounded(&self) -> bool {
        !self.equal.is_empty() || !self.lower.is_empty() || !self.upper.is_empty()
    }

    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let bounds = self.lower.iter().chain(&self.upper).map(|(value, _)| value);
        self.equal.iter().chain(bounds).chain(self.lists.iter().flat_map(|list| &list.exprs))
    }
}

/// The list of values for a leading column: `column IN (…)`, `column = ANY (array)`.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The position of the column among the leading columns.
    pub place: usize,
    /// The values; or a single expression whose value is an array of them, if `is_array`.
    pub exprs: Vec<Expr>,
    /// Whether `exprs` is a single expression of an array type.
    pub is_array: bool,
}
