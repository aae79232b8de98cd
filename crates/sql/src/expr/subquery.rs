//! Queries within expressions.
//!
//! An expression says what is asked of a subquery's rows. How the rows are found is a plan, which the layers above
//! know: the binder makes it, and whatever runs the subquery reads it.

use super::{Comparison, Expr};
use crate::opaque::Opaque;
use hotrow_storage::Element;

/// A query within an expression.
#[derive(Clone, Debug)]
pub struct Subquery {
    /// The plan of its rows, which are of the types in which they are compared.
    pub plan: Opaque,
    /// What is asked of the rows.
    pub test: SubqueryTest,
    /// The number of the frame around it.
    pub frame: usize,
    /// What the frame shows. If it shows nothing, the answer is the same for all rows.
    pub arguments: Vec<Expr>,
    /// The values that its rows are compared with.
    pub operands: Vec<Expr>,
}

impl PartialEq for Subquery {
    fn eq(&self, other: &Self) -> bool {
        self.plan.is_same(&other.plan) && self.arguments == other.arguments && self.operands == other.operands
    }
}

/// What is asked of a subquery's rows.
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
