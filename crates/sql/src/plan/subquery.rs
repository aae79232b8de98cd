//! The plans of subqueries in expressions.

use super::Node;
use crate::expr::Subquery;

impl Subquery {
    /// Returns the plan that finds the subquery's rows.
    ///
    /// # Panics
    /// If the subquery was not made by the binder.
    pub fn node(&self) -> &Node {
        self.plan.get().expect("the binder gives every subquery a node")
    }
}
