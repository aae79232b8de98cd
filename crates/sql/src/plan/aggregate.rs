//! Aggregate functions and their calls.

use crate::expr::Expr;
use hotrow_storage::{Element, Type};

/// An aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateFunction {
    /// `count(*)`
    CountRows,
    /// `count(x)`
    Count,
    /// `sum(x)`
    Sum,
    /// `avg(x)`
    Average,
    /// `min(x)`
    Min,
    /// `max(x)`
    Max,
    /// `bool_and(x)`
    And,
    /// `bool_or(x)`
    Or,
    /// `bit_and(x)`
    BitAnd,
    /// `bit_or(x)`
    BitOr,
    /// `bit_xor(x)`
    BitXor,
    /// `string_agg(x, separator)`
    Join,
    /// `array_agg(x)`
    Array(Element),
    /// `json_agg(x)`, `jsonb_agg(x)`
    Json {
        /// Whether the function is `jsonb_agg`, not `json_agg`.
        binary: bool,
        /// Whether the argument is a whole row, not a single value.
        rows: bool,
    },
    /// `json_object_agg(key, x)`, `jsonb_object_agg(key, x)`. The key is in [`AggregateCall::separator`].
    JsonObject {
        /// Whether the function is `jsonb_object_agg`, not `json_object_agg`.
        binary: bool,
    },
    /// `variance(x)`, `stddev(x)`, and their variants for samples and populations.
    Spread {
        /// Whether the rows are the whole population, not a sample of it.
        population: bool,
        /// Whether the result is the standard deviation, the square root of the variance.
        root: bool,
    },
    /// A function of the values that WITHIN GROUP sorts.
    OrderedSet(OrderedSet),
    /// `GROUPING(x, …)`: a number with a bit for each of the direct arguments, of which the last has the lowest bit.
    /// The arguments are columns of the group's row. A bit is set if its column is not in the group's grouping set.
    Grouping,
}

/// An ordered-set or hypothetical-set aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedSet {
    /// `percentile_cont(fraction)`
    PercentileContinuous,
    /// `percentile_disc(fraction)`
    PercentileDiscrete,
    /// `mode()`
    Mode,
    /// `rank(x, …)`
    Rank,
    /// `dense_rank(x, …)`
    DenseRank,
    /// `percent_rank(x, …)`
    PercentRank,
    /// `cume_dist(x, …)`
    CumulativeDistribution,
}

impl OrderedSet {
    /// Whether the function ranks a hypothetical row among the values.
    pub fn is_hypothetical(self) -> bool {
        !matches!(self, Self::PercentileContinuous | Self::PercentileDiscrete | Self::Mode)
    }
}

impl AggregateFunction {
    /// Whether the function collects its values in a text, an array or a JSON value, so that the order of the rows
    /// matters.
    pub fn collects(self) -> bool {
        use AggregateFunction as F;
        matches!(self, F::Join | F::Array(_) | F::Json { .. } | F::JsonObject { .. })
    }
}

/// One item of ORDER BY in an aggregate function's call.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateOrder {
    /// The expression to sort by.
    pub expr: Expr,
    /// Whether the greatest value comes first.
    pub descending: bool,
    /// Whether NULLs come before all other values.
    pub nulls_first: bool,
    /// Whether the expression is a `char`, of which trailing blanks do not count.
    pub blanks: bool,
}

/// A call of an aggregate function.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall {
    /// The function that is called.
    pub function: AggregateFunction,
    /// The argument, cast to the type in which the function computes. `None` for `count(*)`, for GROUPING, and for
    /// functions with WITHIN GROUP, whose values are those of `order`.
    pub argument: Option<Expr>,
    /// The separator between texts that are joined, or the key of a JSON object.
    pub separator: Option<Expr>,
    /// The order in which values are collected; the results of other functions do not depend on it.
    pub order: Vec<AggregateOrder>,
    /// The arguments that are evaluated once for each group: those before WITHIN GROUP, and those of GROUPING.
    pub direct: Vec<Expr>,
    /// DISTINCT: whether equal values count once.
    pub distinct: bool,
    /// FILTER: the condition that a row must fulfil to count.
    pub filter: Option<Expr>,
    /// The type of the result.
    pub result: Type,
}

impl AggregateCall {
    /// Makes a call without ORDER BY, DISTINCT, FILTER and direct arguments.
    pub fn new(function: AggregateFunction, argument: Option<Expr>, result: Type) -> Self {
        let (order, direct) = (Vec::new(), Vec::new());
        Self { function, argument, separator: None, order, direct, distinct: false, filter: None, result }
    }

    /// Returns the expressions that the call evaluates for each row, so that they can be rewritten.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let order = self.order.iter_mut().map(|order| &mut order.expr);
        self.argument.iter_mut().chain(&mut self.separator).chain(&mut self.filter).chain(order)
    }
}
