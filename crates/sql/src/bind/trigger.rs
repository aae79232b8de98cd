//! Triggers: their functions, bound for the tables whose rows change.

use super::binder::Binder;
use super::body::{compile_trigger, trigger_condition, trigger_variables};
use super::scope::Scope;
use super::typed::Typed;
use crate::catalog::procedure::{Procedure, Returns};
use crate::catalog::trigger::Trigger;
use crate::catalog::{Table, View, column_of};
use crate::expr::{Expr, RowRules};
use crate::parse::names::fold;
use crate::parse::trigger::CreateTrigger;
use crate::plan::triggers::NEW;
use crate::plan::{Firing, Triggers};
use crate::schema::undefined_schema;
use crate::{SqlError, state};
use hotrow_sync::Arc;
use sqlparser::ast;

/// Checks a new trigger of a table: its columns, its condition and its function. Returns the function.
pub fn check_trigger(create: &CreateTrigger, table: &Arc<Table>, view: View<'_>) -> Result<Arc<Procedure>, SqlError> {
    let wrong = |message: String| Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message));
    for column in &create.events.columns {
        column_of(table, column)?;
    }
    if let Some(schema) = create.function.schema.as_deref().filter(|schema| !view.knows_schema(schema)) {
        return Err(undefined_schema(schema));
    }
    let Some(procedure) = view.routines(&create.function).into_iter().find(|known| known.inputs().next().is_none())
    else {
        let message = format!("function {}() does not exist", create.function);
        return Err(SqlError::new(state::UNDEFINED_FUNCTION, message));
    };
    if procedure.function.as_ref().is_none_or(|function| function.returns != Returns::Trigger) {
        return wrong(format!("function {} must return type trigger", create.function));
    }
    let Some(when) = &create.when else { return Ok(procedure) };
    let variables = trigger_variables(procedure.plain_name(), table);
    let (condition, _) = trigger_condition(view, &variables, when)?;
    let (old, end) = (NEW + table.visible(), NEW + 2 * table.visible());
    let names = |first: usize, end: usize| {
        condition.any(&mut |part| matches!(part, Expr::Param(slot) if (first..end).contains(slot)))
    };
    let what = if !create.for_rows && names(NEW, end) {
        "statement trigger's WHEN condition cannot reference column values"
    } else if create.events.insert && names(old, end) {
        "INSERT trigger's WHEN condition cannot reference OLD values"
    } else if create.events.delete && names(NEW, old) {
        "DELETE trigger's WHEN condition cannot reference NEW values"
    } else {
        return Ok(procedure);
    };
    wrong(what.to_owned())
}

impl Binder<'_> {
    /// Returns the triggers of a table with their functions, or `None` if none is enabled.
    pub(super) fn triggers(&mut self, table: &Arc<Table>) -> Result<Option<Arc<Triggers>>, SqlError> {
        let mut list = Vec::new();
        for trigger in table.rules.triggers.iter().filter(|trigger| trigger.is_enabled) {
            list.push(self.firing(table, trigger)?);
        }
        if list.is_empty() {
            return Ok(None);
        }
        self.depends.used.acts = true;
        Ok(Some(Arc::new(Triggers { table: table.clone(), list })))
    }

    fn firing(&mut self, table: &Arc<Table>, trigger: &Arc<Trigger>) -> Result<Firing, SqlError> {
        let definition = &trigger.definition;
        let Some(procedure) = self.view.procedure(&trigger.function_key()) else {
            let message = format!("function {}() does not exist", definition.function);
            return Err(SqlError::new(state::UNDEFINED_FUNCTION, message));
        };
        self.depends.used.add_procedure(&procedure);
        let when = match &definition.when {
            Some(when) => {
                let variables = trigger_variables(procedure.plain_name(), table);
                let (when, used) = trigger_condition(self.view, &variables, when)?;
                self.depends.used.add_all(&used);
                Some(when)
            }
            None => None,
        };
        let view = self.view;
        let link =
            self.body_of(&**trigger, &procedure, |enclosing| compile_trigger(&procedure, table, view, enclosing))?;
        Ok(Firing { trigger: trigger.clone(), procedure, link, when })
    }

    /// Returns the work on each row of a table in which these columns change. A trigger may change the others.
    pub(super) fn rules_of_update(&self, table: &Table, assignments: &[(usize, Expr)]) -> RowRules {
        match changes_updates(table) {
            true => table.rules_of_new_row(),
            false => table.rules_of_changed_row(assignments),
        }
    }

    /// Returns the fields of the variable that `name.*` means, unless a FROM item has the name.
    pub(super) fn fields_of_variable(
        &self,
        name: &str,
        scope: &Scope,
    ) -> Result<Option<Vec<(String, Typed)>>, SqlError> {
        match self.parameters.variables {
            Some(variables) if !scope.has(name) => variables.fields(name),
            _ => Ok(None),
        }
    }

    /// Returns the fields of the row that a name means if it is that of a variable with a row, or `row.*` of one.
    pub(super) fn row_variable(&self, expr: &ast::Expr) -> Result<Option<Vec<(String, Typed)>>, SqlError> {
        let Some(variables) = self.parameters.variables else { return Ok(None) };
        match expr {
            ast::Expr::Nested(inner) => self.row_variable(inner),
            ast::Expr::Identifier(name) => variables.fields(&fold(name)),
            ast::Expr::QualifiedWildcard(name, _) => match &name.0[..] {
                [ast::ObjectNamePart::Identifier(name)] => variables.fields(&fold(name)),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

/// Whether a trigger may change rows of a table that are about to be updated.
pub(super) fn changes_updates(table: &Table) -> bool {
    use crate::parse::trigger::{TriggerEvent, TriggerTime};
    table.rules.triggers.iter().any(|trigger| trigger.fires(TriggerTime::Before, TriggerEvent::Update, true))
}
