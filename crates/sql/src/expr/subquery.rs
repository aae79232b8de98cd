//! Queries within expressions.
//!
//! An expression says which test a subquery's rows must pass. How the rows are found is a plan, which belongs to the
//! layers above: the binder makes it, and the executor reads it.

use super::{Comparison, Expr};
use crate::opaque::Opaque;
use hotrow_storage::Element;

/// A query within an expression.
#[derive(Clone, Debug)]
pub struct Subquery {
    /// The plan of the subquery's rows. The rows have the types in which they are compared.
    pub plan: Opaque,
    /// The test of the rows.
    pub test: SubqueryTest,
    /// The number of the frame around the subquery.
    pub frame: usize,
    /// The values that the frame shows. If the frame shows none, the answer is the same for all rows.
    pub arguments: Vec<Expr>,
    /// The values with which the rows are compared.
    pub operands: Vec<Expr>,
}

impl PartialEq for Subquery {
    fn eq(&self, other: &Self) -> bool {
        self.plan.is_same(&other.plan) && self.arguments == other.arguments && self.operands == other.operands
    }
}

/// The test that the value of a subquery comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum SubqueryTest {
    /// The value of the only row.
    Value,
    /// Whether there is a row.
    Exists,
    /// Whether there is a row whose first columns equal the operands, where trailing blanks do not count in the columns
    /// that say so, and for which the condition is true, if there is one. Only the condition looks at what the frame
    /// shows.
    Matches(Vec<bool>, Option<Expr>),
    /// The values of all rows as an array.
    Array(Element),
    /// Whether the comparison holds for one row (ANY, IN), or for all rows if the flag says so. Trailing blanks do not
    /// count in the columns that say so.
    Compare(Comparison, bool, Vec<bool>),
}
