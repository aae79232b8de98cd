//! Triggers: functions that run when rows of a table change.

use super::procedure::key;
use crate::opaque::Opaque;
use crate::parse::trigger::{CreateTrigger, TriggerEvent, TriggerTime};
use crate::schema::{PUBLIC, RelationName, full};
use hotrow_sync::{Arc, RwLock};

/// A trigger of a table.
#[derive(Debug)]
pub struct Trigger {
    /// The name, which no other trigger of the table has. Triggers fire in the order of their names.
    pub name: String,
    /// The properties, as CREATE TRIGGER writes them. The trigger and its table may have got other names since.
    pub definition: Arc<CreateTrigger>,
    /// Whether the trigger fires.
    pub is_enabled: bool,
    /// The bound body of the function for the trigger's table, which is valid for the definitions of the time when it
    /// was bound; `None` before that.
    bound: RwLock<Option<Opaque>>,
}

impl Trigger {
    /// Makes a trigger whose function has not been bound for it yet.
    pub fn new(name: String, definition: Arc<CreateTrigger>, is_enabled: bool) -> Self {
        Self { name, definition, is_enabled, bound: RwLock::default() }
    }

    /// Whether the trigger fires at this moment of a change, for each row if `for_rows` is set, or else once for the
    /// statement. The caller must check the columns of UPDATE OF.
    pub fn fires(&self, time: TriggerTime, event: TriggerEvent, for_rows: bool) -> bool {
        let CreateTrigger { time: own, events, for_rows: rows, .. } = &*self.definition;
        self.is_enabled && *own == time && *rows == for_rows && events.has(event)
    }

    /// Returns the [key] of the function that the trigger runs.
    pub fn function_key(&self) -> String {
        key(&self.function_name(), [])
    }

    /// Whether the trigger runs the function of this full name.
    pub fn runs(&self, function: &str) -> bool {
        self.function_name() == function
    }

    fn function_name(&self) -> String {
        let RelationName { schema, name, .. } = &self.definition.function;
        full(schema.as_deref().unwrap_or(PUBLIC), name)
    }

    /// Returns the bound body, or `None` if there is none. The caller must check that the definitions that it uses are
    /// current.
    pub(crate) fn bound(&self) -> Option<Opaque> {
        self.bound.read().unwrap_or_else(|poison| poison.into_inner()).clone()
    }

    /// Stores the bound body for later statements.
    pub(crate) fn keep(&self, bound: Opaque) {
        *self.bound.write().unwrap_or_else(|poison| poison.into_inner()) = Some(bound);
    }
}
