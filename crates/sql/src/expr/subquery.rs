//! Queries and calls of users' functions within expressions.
//!
//! An expression contains the test that is applied to a subquery's rows. The plan that finds the rows belongs to the
//! layers above: the binder makes it, and the executor runs it.

use super::{Comparison, Expr};
use crate::opaque::Opaque;
use hotrow_storage::Element;
use hotrow_sync::Arc;

/// A query within an expression.
#[derive(Clone, Debug)]
pub struct Subquery {
    /// The plan that finds the subquery's rows. Their types are those in which they are compared.
    pub plan: Opaque,
    /// The test that is applied to the rows.
    pub test: SubqueryTest,
    /// The number of the frame around the subquery, by which its plan refers to the outer row.
    pub frame: usize,
    /// The values of the outer row that the frame holds. If there are none, the result is the same for all rows.
    pub arguments: Vec<Expr>,
    /// The values with which the rows are compared.
    pub operands: Vec<Expr>,
}

impl PartialEq for Subquery {
    fn eq(&self, other: &Self) -> bool {
        self.plan.is_same(&other.plan) && self.arguments == other.arguments && self.operands == other.operands
    }
}

/// The test that a subquery's rows are subjected to, and from which its value results.
#[derive(Clone, Debug, PartialEq)]
pub enum SubqueryTest {
    /// The value of the only row; NULL if there is none.
    Value,
    /// Whether there is a row.
    Exists,
    /// Whether there is a row whose first columns equal the operands and for which the condition, if there is one, is
    /// true. The flag of a column says whether trailing blanks are ignored. Only the condition may refer to the frame.
    Matches(Vec<bool>, Option<Expr>),
    /// The values of all rows as an array.
    Array(Element),
    /// Whether the comparison is true for any row (ANY, IN), or for all rows if the flag is set (ALL). The flag of a
    /// column in the list says whether trailing blanks are ignored.
    Compare(Comparison, bool, Vec<bool>),
}

/// A call of a user's function. The function with its body belongs to the layers above: the binder makes it, and the
/// executor runs it.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The name of the function, which no other function has.
    pub name: Arc<str>,
    /// The function with its body.
    pub callee: Opaque,
    /// The values of the arguments that go in, of the arguments' types.
    pub arguments: Vec<Expr>,
    /// Whether the result is NULL if an argument is.
    pub is_strict: bool,
}

impl PartialEq for Invocation {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.arguments == other.arguments
    }
}
