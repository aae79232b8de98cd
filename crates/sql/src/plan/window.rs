//! Window functions in plans: values that are computed from a row and the rows around it.

use crate::expr::Expr;
use crate::parse::window::Exclusion;
use crate::plan::{AggregateCall, Node, SortKey};

/// Window functions. A row has the input's columns, then the functions' results.
#[derive(Debug)]
pub struct Window {
    /// The rows, whose columns are computed.
    pub input: Node,
    /// The functions, grouped by sort order. The operator returns the rows in the last order.
    pub sorts: Vec<WindowSort>,
}

/// Window functions over rows that are sorted in one way.
#[derive(Debug)]
pub struct WindowSort {
    /// The sort order: the keys of the partition, then those of ORDER BY.
    pub keys: Vec<SortKey>,
    /// The number of leading keys that define a partition.
    pub partition: usize,
    /// The functions.
    pub calls: Vec<WindowCall>,
}

/// A call of a window function, over the columns of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// The function.
    pub function: WindowFunction,
    /// The rows that it looks at.
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
    /// `lag(value [, offset [, default]])`, and `lead`
    Shift {
        /// Whether the function looks at later rows (`lead`).
        ahead: bool,
        /// The value of the row that the function looks at.
        value: Expr,
        /// The distance of that row from the current one.
        offset: Expr,
        /// The value if there is no such row, over the current row.
        otherwise: Expr,
    },
    /// `first_value(value)`
    First(Expr),
    /// `last_value(value)`
    Last(Expr),
    /// `nth_value(value, n)`
    Nth(Expr, Expr),
    /// An aggregate function.
    Aggregate(AggregateCall),
}

/// The rows around the current one, within its partition.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    /// The unit in which offsets count.
    pub units: FrameUnits,
    /// The beginning of the frame.
    pub start: FrameBound,
    /// The end of the frame.
    pub end: FrameBound,
    /// The rows that are left out of the frame.
    pub exclusion: Exclusion,
}

/// The units of offsets, and with them the meaning of the current row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnits {
    /// Rows.
    Rows,
    /// Groups of rows that are equal in the order; the current row is its group.
    Groups,
    /// Differences from the current row's value, by which the rows are ordered; the current row is its group.
    Range,
}

/// A bound of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// The bound of the partition.
    Unbounded,
    /// The current row.
    CurrentRow,
    /// An offset before the current row. The expression refers to no column.
    Preceding(Expr),
    /// An offset after the current row. The expression refers to no column.
    Following(Expr),
}

impl WindowFrame {
    /// The frame from the partition's first row to the last client_info of the current row.
    pub const DEFAULT: Self = Self {
        units: FrameUnits::Range,
        start: FrameBound::Unbounded,
        end: FrameBound::CurrentRow,
        exclusion: Exclusion::Nothing,
    };

    /// The offsets, which look at no column.
    pub fn offsets(&self) -> impl Iterator<Item = &Expr> {
        [&self.start, &self.end].into_iter().filter_map(|bound| match bound {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
            FrameBound::Unbounded | FrameBound::CurrentRow => None,
        })
    }
}

impl WindowCall {
    /// The expressions that are evaluated over rows.
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

    /// The expressions that are evaluated over rows, to change them.
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
