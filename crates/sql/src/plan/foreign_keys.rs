//! What a statement that changes rows does about foreign keys.
//!
//! A plan that changes rows has a [`Graph`]: its table and those that it may come to by referential actions, each with
//! the look-ups and changes that its keys ask for, planned. A look-up's parameters are the values of the key's columns,
//! in their order; those of a change are the values that rows refer to, and then, of an update, the new ones.

use super::{Access, Delete, Update};
use crate::catalog::Table;
use crate::catalog::foreign_key::ForeignKey;
use hotrow_sync::Arc;

/// The tables that a statement may change through foreign keys. The first is its own.
#[derive(Debug, Default)]
pub struct Graph {
    /// In the order in which they were come to.
    pub nodes: Vec<Keys>,
}

/// A table that rows change of, and the foreign keys on both its sides.
#[derive(Debug)]
pub struct Keys {
    /// The table.
    pub table: Arc<Table>,
    /// Its own keys, in the order in which they were made; none if no row comes to refer to others.
    pub references: Vec<Reference>,
    /// Those that lead to it, in the same order; none if nobody loses what it refers to.
    pub referrers: Vec<Referred>,
}

/// A key of a table whose rows are inserted or updated.
#[derive(Debug)]
pub struct Reference {
    /// The key.
    pub key: ForeignKey,
    /// The row that values refer to.
    pub lookup: Access,
}

/// A key that leads to a table whose rows are updated or deleted.
#[derive(Debug)]
pub struct Referred {
    /// The key.
    pub key: ForeignKey,
    /// The table that has it.
    pub child: Arc<Table>,
    /// The referenced columns, by position.
    pub columns: Vec<usize>,
    /// The row that has certain values in these columns.
    pub lookup: Access,
    /// The rows that refer to such values.
    pub children: Access,
    /// What is done to these after a delete; none if there must be none.
    pub on_delete: Option<Change>,
    /// The same after an update.
    pub on_update: Option<Change>,
}

/// A referential action.
#[derive(Debug)]
pub struct Change {
    /// The table whose rows are changed, in the graph.
    pub node: usize,
    /// How.
    pub plan: ChangePlan,
}

/// A change to the rows that refer to a row.
#[derive(Debug)]
pub enum ChangePlan {
    /// They go.
    Delete(Delete),
    /// They get other values.
    Update(Update),
}

impl Graph {
    /// Whether an action changes rows of the first table.
    pub fn changes_first(&self) -> bool {
        let referrers = self.nodes.iter().flat_map(|keys| &keys.referrers);
        let mut changes = referrers.flat_map(|referred| referred.on_delete.iter().chain(&referred.on_update));
        changes.any(|change| change.node == 0)
    }
}
