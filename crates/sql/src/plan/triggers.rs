//! The triggers of a table whose rows a statement may change.
//!
//! The function of a trigger has a frame like any body. After `found` come the fields of NEW, those of OLD, and the
//! variables whose names begin with `TG_`.

use super::procedure::{BodyLink, RunningBody};
use crate::catalog::Table;
use crate::catalog::procedure::Procedure;
use crate::catalog::trigger::Trigger;
use crate::expr::Expr;
use crate::parse::trigger::{TriggerEvent, TriggerTime};
use hotrow_storage::{Element, Type};
use hotrow_sync::Arc;

/// The variables after the rows, in the order of their places.
pub const VARIABLES: [(&str, Type); 9] = [
    ("tg_name", Type::Name),
    ("tg_when", Type::Text),
    ("tg_level", Type::Text),
    ("tg_op", Type::Text),
    ("tg_relname", Type::Name),
    ("tg_table_name", Type::Name),
    ("tg_table_schema", Type::Name),
    ("tg_nargs", Type::Int4),
    ("tg_argv", Type::Array(Element::Text)),
];

/// The place of `found`, before the rows.
pub const FOUND: usize = 0;

/// The place of the first field of NEW.
pub const NEW: usize = FOUND + 1;

/// The triggers of a table, with their functions.
#[derive(Debug)]
pub struct Triggers {
    /// The table.
    pub table: Arc<Table>,
    /// The triggers that are enabled, in the order in which they fire.
    pub list: Vec<Firing>,
}

/// A trigger with its function.
#[derive(Debug)]
pub struct Firing {
    /// The trigger.
    pub trigger: Arc<Trigger>,
    /// The function.
    pub procedure: Arc<Procedure>,
    /// The function's body, bound for the table.
    pub link: BodyLink,
    /// The condition of WHEN, over the values of the function's frame.
    pub when: Option<Expr>,
}

impl Triggers {
    /// Returns the place of the first field of OLD.
    pub fn old(&self) -> usize {
        NEW + self.table.visible()
    }

    /// Returns the place of the first of the [`VARIABLES`].
    pub fn variables(&self) -> usize {
        self.old() + self.table.visible()
    }

    /// Returns the positions of the triggers that fire at a moment of a change. `sets` tells which columns an UPDATE
    /// sets.
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

    /// Whether a trigger may change rows that are about to be updated.
    pub fn change_updates(&self) -> bool {
        self.list.iter().any(|firing| firing.trigger.fires(TriggerTime::Before, TriggerEvent::Update, true))
    }
}

impl Firing {
    /// Returns the body to run it, or `None` if it was a body around the statement and is gone.
    pub fn running(&self) -> Option<RunningBody<'_>> {
        self.link.running()
    }
}
