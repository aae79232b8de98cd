//! Changes of views that INSTEAD OF triggers make.

use super::foreign_keys::Triggers;
use super::node::Node;
use crate::expr::{Expr, ViewCheck};
use crate::parse::trigger::TriggerEvent;
use hotrow_sync::Arc;

/// The plan of an INSERT, UPDATE or DELETE of a view whose INSTEAD OF triggers make the change.
#[derive(Debug)]
pub struct Instead {
    /// The triggers of the view. Their table is the view's [shape](crate::catalog::view::StoredView::shape).
    pub triggers: Arc<Triggers>,
    /// The kind of the change.
    pub event: TriggerEvent,
    /// The query for the rows that change. A row of it consists of the columns of the view, and then of the values to
    /// which `assignments` and `returning` refer as columns after the view's own. For an INSERT, the columns are those
    /// of the new row, and for other changes those of the present one.
    pub source: Node,
    /// The columns that an UPDATE sets, by position, with their new values.
    pub assignments: Vec<(usize, Expr)>,
    /// The conditions that a new row must satisfy when the triggers have run, because of the check options of views.
    pub checks: Vec<ViewCheck>,
    /// RETURNING: the result's columns, as expressions over the row that the triggers return, or over the deleted one.
    pub returning: Option<Vec<Expr>>,
}
