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
        self.plan.is_same(&other.plan)
            && self.test == other.test
            && self.arguments == other.arguments
            && self.operands == other.operands
    }
}

/// The test that a subquery's rows are subjected to, and from which its value results.
#[derive(Clone, Debug, PartialEq)]
pub enum SubqueryTest {
    /// The value of the only row; NULL if there is none.
    Value,
    /// The value in the column `at` of the only row, which has `width` columns; NULL if there is no row. The columns
    /// of the row are subqueries of their own, which share the plan, the frame and the arguments. All of them are
    /// evaluated one after the other for each outer row, in the order of the columns: the first one runs the plan, and
    /// the others take their values from the row that it has found.
    Column {
        /// The position of the column.
        at: usize,
        /// The number of columns.
        width: usize,
    },
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

/// A call of a user's function. The function's body is opaque here: the binder makes it, and the executor runs it.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The name of the function, without its schema. Functions of other schemas or with other types of arguments may
    /// have it, too.
    pub name: Arc<str>,
    /// The [key](crate::catalog::procedure::key) of the function, which no other function has.
    pub key: Arc<str>,
    /// The function with its body, which only the layers above can read.
    pub callee: Opaque,
    /// The values of the input arguments, cast to the types of the arguments.
    pub arguments: Vec<Expr>,
    /// Whether the function is strict: its result is NULL if an argument is NULL.
    pub is_strict: bool,
}

impl PartialEq for Invocation {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.arguments == other.arguments
    }
}
