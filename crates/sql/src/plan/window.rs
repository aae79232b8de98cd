//! Window functions in plans: values that are computed from a row and the rows around it.

use crate::expr::Expr;
use crate::parse::window::Exclusion;
use crate::plan::{AggregateCall, Node, SortKey};

/// The operator of window functions. Its rows have the input's columns, then the functions' results.
#[derive(Debug)]
pub struct Window {
    /// The input. It has a column for each expression that the functions use.
    pub input: Node,
    /// The functions, grouped by the sort order that they need. The operator returns the rows in the last of these
    /// orders.
    pub sorts: Vec<WindowSort>,
}

/// The window functions that need the rows in the same order.
#[derive(Debug)]
pub struct WindowSort {
    /// The sort order: the keys of the partition, then those of ORDER BY.
    pub keys: Vec<SortKey>,
    /// The number of leading keys that define a partition.
    pub partition: usize,
    /// The calls of the functions.
    pub calls: Vec<WindowCall>,
}

/// A call of a window function, over the columns of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// The function that is called.
    pub function: WindowFunction,
    /// The frame: the rows around the current one over which the function is computed.
    pub frame: WindowFrame,
}

/// The window functions.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowFunction {
    /// `row_number()`
    RowNumber,
    /// `rank()`
    Rank,
    /// `dense_rank()`
    DenseRank,
    /// `percent_rank()`
    PercentRank,
    /// `cume_dist()`
    CumulativeDistribution,
    /// `ntile(buckets)`
    Tile(Expr),
    /// `lag(value [, offset [, default]])` and `lead` with the same arguments.
    Shift {
        /// Whether the function reads later rows (`lead`), not earlier ones (`lag`).
        ahead: bool,
        /// The value that is returned, as an expression over the row at the offset.
        value: Expr,
        /// The distance of that row from the current row.
        offset: Expr,
        /// The result if there is no such row, as an expression over the current row.
        otherwise: Expr,
    },
    /// `first_value(value)`
    First(Expr),
    /// `last_value(value)`
    Last(Expr),
    /// `nth_value(value, n)`
    Nth(Expr, Expr),
    /// An aggregate function, computed over the rows of the frame.
    Aggregate(AggregateCall),
}

/// The rows around the current one, within its partition, over which a window function is computed.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    /// The unit of the offsets.
    pub units: FrameUnits,
    /// The beginning of the frame.
    pub start: FrameBound,
    /// The end of the frame.
    pub end: FrameBound,
    /// The rows that are excluded from the frame.
    pub exclusion: Exclusion,
}

/// The units of the offsets of a frame. They also determine the meaning of the current row as a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnits {
    /// Offsets count rows. The current row as a bound is that row alone.
    Rows,
    /// Offsets count groups of rows that are equal in the order. The current row as a bound is its whole group.
    Groups,
    /// Offsets are differences from the current row's value in the ORDER BY column. The current row as a bound is all
    /// rows that are equal to it in the order.
    Range,
}

/// A bound of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// The first or the last row of the partition.
    Unbounded,
    /// The current row.
    CurrentRow,
    /// An offset before the current row. The expression refers to no column.
    Preceding(Expr),
    /// An offset after the current row. The expression refers to no column.
    Following(Expr),
}

impl WindowFrame {
    /// The default frame of SQL: from the partition's first row to the last peer of the current row.
    pub const DEFAULT: Self = Self {
        units: FrameUnits::Range,
        start: FrameBound::Unbounded,
        end: FrameBound::CurrentRow,
        exclusion: Exclusion::Nothing,
    };

    /// Returns the offsets of the bounds. They are constant within a statement, since they refer to no column.
    pub fn offsets(&self) -> impl Iterator<Item = &Expr> {
        [&self.start, &self.end].into_iter().filter_map(|bound| match bound {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
            FrameBound::Unbounded | FrameBound::CurrentRow => None,
        })
    }
}

impl WindowCall {
    /// Returns the expressions that are evaluated over rows.
    pub fn parts(&self) -> Vec<&Expr> {
        match &self.function {
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumulativeDistribution => Vec::new(),
            WindowFunction::Tile(value) | WindowFunction::First(value) | WindowFunction::Last(value) => vec![value],
            WindowFunction::Shift { value, offset, otherwise, .. } => vec![value, offset, otherwise],
            WindowFunction::Nth(value, n) => vec![value, n],
            WindowFunction::Aggregate(call) => {
                call.argument.iter().chain(&call.separator).chain(&call.filter).collect()
            }
        }
    }

    /// Returns the expressions that are evaluated over rows, to change them.
    pub fn parts_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.function {
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumulativeDistribution => Vec::new(),
            WindowFunction::Tile(value) | WindowFunction::First(value) | WindowFunction::Last(value) => vec![value],
            WindowFunction::Shift { value, offset, otherwise, .. } => vec![value, offset, otherwise],
            WindowFunction::Nth(value, n) => vec![value, n],
            WindowFunction::Aggregate(call) => call.parts_mut().collect(),
        }
    }
}
