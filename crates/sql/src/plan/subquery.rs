//! The plans of subqueries in expressions.

use super::Node;
use crate::expr::Subquery;

impl Subquery {
    /// Returns the plan of the subquery's rows.
    pub fn node(&self) -> &Node {
        self.plan.get().expect("the binder gives every subquery a node")
    }
}
