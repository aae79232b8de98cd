//! The consequences of a statement that changes rows: the checks and actions for foreign keys, and triggers.
//!
//! A plan that changes rows has a [`Graph`]: its table, the tables that referential actions may change, the planned
//! look-ups and changes for their keys, and their triggers. The parameters of a look-up are the values of the key's
//! columns, in their order. The parameters of a change are the old values of the referenced columns. After an update,
//! the new values of these columns follow.

use super::procedure::{BodyLink, RunningBody};
use super::triggers::NEW;
use super::{Access, Delete, Update};
use crate::catalog::Table;
use crate::catalog::foreign_key::ForeignKey;
use crate::catalog::procedure::Procedure;
use crate::catalog::trigger::Trigger;
use crate::expr::{BoundDomain, Expr};
use crate::parse::trigger::{TriggerEvent, TriggerTime};
use hotrow_sync::Arc;

/// The tables that a statement may change through foreign keys. The first is the statement's own table.
#[derive(Debug, Default)]
pub struct Graph {
    /// The tables, in the order in which the planner reached them.
    pub nodes: Vec<Keys>,
}

/// A table whose rows a statement may change, with its foreign keys and those that refer to it.
#[derive(Debug)]
pub struct Keys {
    /// The table.
    pub table: Arc<Table>,
    /// The foreign keys of this table, in the order in which they were declared. The list is empty if the statement
    /// cannot change the values of their columns.
    pub references: Vec<Reference>,
    /// The foreign keys that refer to this table, in the order in which they were declared. The list is empty if the
    /// statement cannot remove values to which rows refer.
    pub referrers: Vec<Referred>,
    /// The triggers of this table; `None` if none is enabled.
    pub triggers: Option<Arc<Triggers>>,
}

/// A foreign key to be checked when rows of its table are inserted or updated.
#[derive(Debug)]
pub struct Reference {
    /// The key.
    pub key: ForeignKey,
    /// The look-up of the referenced row by the values of the key's columns.
    pub lookup: Access,
}

/// A foreign key to be checked when rows of the referenced table are updated or deleted.
#[derive(Debug)]
pub struct Referred {
    /// The key.
    pub key: ForeignKey,
    /// The table that declares the key.
    pub child: Arc<Table>,
    /// The positions of the referenced columns in their table.
    pub columns: Vec<usize>,
    /// The look-up of a row of the referenced table by its values in these columns.
    pub lookup: Access,
    /// The look-up of the referencing rows by these values.
    pub children: Access,
    /// The action on the referencing rows after a delete. `None` if the action is NO ACTION or RESTRICT: then no row
    /// may refer to the deleted row.
    pub on_delete: Option<Change>,
    /// The action on the referencing rows after an update. `None` if the action is NO ACTION or RESTRICT: then no row
    /// may refer to the old values.
    pub on_update: Option<Change>,
}

/// A referential action that changes the referencing rows.
#[derive(Debug)]
pub struct Change {
    /// The position of the changed table in [`Graph::nodes`].
    pub node: usize,
    /// The plan of the change.
    pub plan: ChangePlan,
}

/// The plan of a referential action.
#[derive(Debug)]
pub enum ChangePlan {
    /// Deletes the referencing rows.
    Delete(Delete),
    /// Updates the referencing rows.
    Update(Update),
}

impl Graph {
    /// Whether one of the tables has an enabled trigger.
    pub fn has_triggers(&self) -> bool {
        self.nodes.iter().any(|keys| keys.triggers.is_some())
    }

    /// Whether a referential action may change rows of the statement's own table.
    pub fn changes_first(&self) -> bool {
        let referrers = self.nodes.iter().flat_map(|keys| &keys.referrers);
        let mut changes = referrers.flat_map(|referred| referred.on_delete.iter().chain(&referred.on_update));
        changes.any(|change| change.node == 0)
    }
}

/// The enabled triggers of a table, with their bound functions.
#[derive(Debug)]
pub struct Triggers {
    /// The table.
    pub table: Arc<Table>,
    /// The enabled triggers, in the order in which they fire.
    pub list: Vec<Firing>,
    /// The domains of the columns, with the positions of these.
    pub domains: Vec<(usize, Arc<BoundDomain>)>,
}

/// An enabled trigger with its bound function.
#[derive(Debug)]
pub struct Firing {
    /// The trigger.
    pub trigger: Arc<Trigger>,
    /// The function.
    pub procedure: Arc<Procedure>,
    /// The function's body, bound for the table.
    pub link: BodyLink,
    /// The condition of WHEN, as an expression over the frame of the function; `None` if there is none.
    pub when: Option<Expr>,
}

impl Triggers {
    /// Returns the slot of the first field of OLD in the frame of a trigger's function.
    pub fn old(&self) -> usize {
        NEW + self.table.visible()
    }

    /// Returns the slot of the first of the [variables](super::triggers::VARIABLES) in the frame of a trigger's
    /// function.
    pub fn variables(&self) -> usize {
        self.old() + self.table.visible()
    }

    /// Returns the positions in `list` of the triggers that fire before or after a change, for each row or once for the
    /// statement. `sets` tells whether an UPDATE assigns to the column at a position.
    pub fn due<'t>(
        &'t self,
        time: TriggerTime,
        event: TriggerEvent,
        for_rows: bool,
        sets: &'t dyn Fn(usize) -> bool,
    ) -> impl Iterator<Item = usize> + 't {
        let is_due = move |firing: &Firing| {
            let columns = &firing.trigger.definition.events.columns;
            let mut named = columns.iter().filter_map(|name| self.table.schema.column(name));
            let concerns = event != TriggerEvent::Update || columns.is_empty() || named.any(sets);
            firing.trigger.fires(time, event, for_rows) && concerns
        };
        self.list.iter().enumerate().filter(move |(_, firing)| is_due(firing)).map(|(at, _)| at)
    }

    /// Whether INSTEAD OF triggers get the new rows, which are those of a view.
    pub fn replace_inserts(&self) -> bool {
        self.list.iter().any(|firing| firing.trigger.fires(TriggerTime::InsteadOf, TriggerEvent::Insert, true))
    }

    /// Whether a trigger may change the new values of a row that is about to be updated.
    pub fn change_updates(&self) -> bool {
        self.list.iter().any(|firing| firing.trigger.fires(TriggerTime::Before, TriggerEvent::Update, true))
    }
}

impl Firing {
    /// Returns the function's body to run it, or `None` if the body is one that enclosed the statement and no longer
    /// exists.
    pub fn running(&self) -> Option<RunningBody<'_>> {
        self.link.running()
    }
}
