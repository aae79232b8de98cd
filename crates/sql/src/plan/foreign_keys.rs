//! The work for foreign keys that comes with a statement that changes rows.
//!
//! A plan that changes rows has a [`Graph`]: its table and the tables that referential actions may reach from it, each
//! with the planned look-ups and changes of its keys. The parameters of a look-up are the values of the key's columns,
//! in their order. The parameters of a change are the values to which the rows refer; if the change follows an update,
//! the new values come after them.

use super::{Access, Delete, Update};
use crate::catalog::Table;
use crate::catalog::foreign_key::ForeignKey;
use hotrow_sync::Arc;

/// The tables that a statement may change through foreign keys. The first of them is the statement's own table.
#[derive(Debug, Default)]
pub struct Graph {
    /// The tables, in the order in which the planner reached them.
    pub nodes: Vec<Keys>,
}

/// A table whose rows change, with the foreign keys on both its sides.
#[derive(Debug)]
pub struct Keys {
    /// The table.
    pub table: Arc<Table>,
    /// The foreign keys of this table, in the order in which they were made. The list is empty if no change can make a
    /// row refer to another row.
    pub references: Vec<Reference>,
    /// The foreign keys that refer to this table, in the order in which they were made. The list is empty if no change
    /// can take away values to which rows refer.
    pub referrers: Vec<Referred>,
}

/// A foreign key to be checked when rows of its table are inserted or updated.
#[derive(Debug)]
pub struct Reference {
    /// The key.
    pub key: ForeignKey,
    /// The look-up of the referenced row.
    pub lookup: Access,
}

/// A foreign key to be checked when rows of the referenced table are updated or deleted.
#[derive(Debug)]
pub struct Referred {
    /// The key.
    pub key: ForeignKey,
    /// The table that has the key.
    pub child: Arc<Table>,
    /// The positions of the referenced columns in their table.
    pub columns: Vec<usize>,
    /// The look-up of a row of the referenced table by its values in these columns.
    pub lookup: Access,
    /// The look-up of the rows that refer to such values.
    pub children: Access,
    /// The action on the referring rows after a delete. `None` if the action is NO ACTION or RESTRICT: then no row may
    /// refer to the deleted one.
    pub on_delete: Option<Change>,
    /// The action on the referring rows after an update. `None` if the action is NO ACTION or RESTRICT: then no row may
    /// refer to the old values.
    pub on_update: Option<Change>,
}

/// A referential action that changes the referring rows.
#[derive(Debug)]
pub struct Change {
    /// The position in the graph of the table whose rows are changed.
    pub node: usize,
    /// The plan of the change.
    pub plan: ChangePlan,
}

/// The plan of a referential action.
#[derive(Debug)]
pub enum ChangePlan {
    /// The rows are deleted.
    Delete(Delete),
    /// The rows get other values.
    Update(Update),
}

impl Graph {
    /// Whether a referential action may change rows of the statement's own table.
    pub fn changes_first(&self) -> bool {
        let referrers = self.nodes.iter().flat_map(|keys| &keys.referrers);
        let mut changes = referrers.flat_map(|referred| referred.on_delete.iter().chain(&referred.on_update));
        changes.any(|change| change.node == 0)
    }
}
