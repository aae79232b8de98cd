//! The plans of subqueries in expressions.

use super::Node;
use crate::expr::Subquery;

impl Subquery {
    /// The plan of its rows.
    pub fn node(&self) -> &Node {
        self.plan.get().expect("the binder gives every subquery a node")
    }
}
