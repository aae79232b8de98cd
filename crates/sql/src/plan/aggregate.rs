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
        /// A `jsonb`.
        binary: bool,
    },
    /// `json_object_agg(key, x)`, `jsonb_object_agg(key, x)`; the key has the separator's place.
    JsonObject {
        /// A `jsonb`.
        binary: bool,
    },
    /// `variance(x)` and its like.
    Spread {
        /// Of the whole population, not of a sample.
        population: bool,
        /// The standard deviation: its square root.
        root: bool,
    },
}

impl AggregateFunction {
    /// Whether the function puts its values one after the other (some functions also the NULLs), so that the order of
    /// the rows matters.
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
    /// Greatest first.
    pub descending: bool,
    /// NULLs before all others.
    pub nulls_first: bool,
    /// A `char`: trailing blanks do not count.
    pub blanks: bool,
}

/// A call of an aggregate function.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall {
    /// The function.
    pub function: AggregateFunction,
    /// The argument, of the type in which the function computes; none for `count(*)`.
    pub argument: Option<Expr>,
    /// The separator between texts that are joined, or the key of a JSON object.
    pub separator: Option<Expr>,
    /// The order in which values are joined or collected; other functions' results do not depend on it.
    pub order: Vec<AggregateOrder>,
    /// DISTINCT: whether equal values count once.
    pub distinct: bool,
    /// FILTER: the condition that a row must fulfil to count.
    pub filter: Option<Expr>,
    /// The type of the result.
    pub result: Type,
}

impl AggregateCall {
    /// The expressions that are evaluated for each row, to change them.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let order = self.order.iter_mut().map(|order| &mut order.expr);
        self.argument.iter_mut().chain(&mut self.separator).chain(&mut self.filter).chain(order)
    }
}
