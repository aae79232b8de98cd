//! Triggers: their functions, bound for the tables whose rows change.

use super::binder::Binder;
use super::body::{compile_trigger, trigger_condition, trigger_variables};
use super::scope::Scope;
use super::target::Target;
use super::typed::Typed;
use crate::catalog::procedure::{Procedure, Returns};
use crate::catalog::trigger::Trigger;
use crate::catalog::view::StoredView;
use crate::catalog::{Table, Used, View, column_of};
use crate::expr::{Expr, RowRules};
use crate::parse::names::fold;
use crate::parse::trigger::CreateTrigger;
use crate::plan::triggers::NEW;
use crate::plan::{Firing, Triggers};
use crate::schema::undefined_schema;
use crate::{SqlError, state};
use hotrow_sync::Arc;
use sqlparser::ast;

/// Checks the columns, the condition and the function of a new trigger of a table. Returns the function.
///
/// # Errors
/// 42703, 3F000 or 42883 if a column, the function's schema or the function does not exist. 42P17 if the function does
/// not return `trigger`, or if the condition uses OLD or NEW where the trigger has none.
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
    /// Returns the enabled triggers of a table with their bound functions, or `None` if none is enabled.
    pub(super) fn triggers(&mut self, table: &Arc<Table>) -> Result<Option<Arc<Triggers>>, SqlError> {
        if !table.rules.triggers.iter().any(|trigger| trigger.is_enabled) {
            return Ok(None);
        }
        let of_table = Used { tables: vec![table.clone()], ..Used::default() };
        self.triggers_of(table, &of_table).map(Some)
    }

    /// Returns the triggers of a view with their bound functions. `shape` is the [shape](StoredView::shape) of the
    /// view.
    pub(super) fn triggers_of_view(
        &mut self,
        view: &Arc<StoredView>,
        shape: &Arc<Table>,
    ) -> Result<Arc<Triggers>, SqlError> {
        let of_view = Used { views: vec![view.clone()], ..Used::default() };
        self.triggers_of(shape, &of_view)
    }

    /// Returns the enabled triggers of a table or of the shape of a view. `owner` has that table or view.
    fn triggers_of(&mut self, table: &Arc<Table>, owner: &Used) -> Result<Arc<Triggers>, SqlError> {
        let mut list = Vec::new();
        for trigger in table.rules.triggers.iter().filter(|trigger| trigger.is_enabled) {
            list.push(self.firing(table, owner, trigger)?);
        }
        self.depends.used.acts = true;
        let domains = (0..table.visible()).filter_map(|at| Some((at, table.domain(at)?)));
        let domains = domains.map(|(at, id)| Ok((at, self.domain(id)?))).collect::<Result<_, SqlError>>()?;
        Ok(Arc::new(Triggers { table: table.clone(), list, domains }))
    }

    fn firing(&mut self, table: &Arc<Table>, owner: &Used, trigger: &Arc<Trigger>) -> Result<Firing, SqlError> {
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
        let link = self
            .body_of(&**trigger, &procedure, |enclosing| compile_trigger(&procedure, table, owner, view, enclosing))?;
        Ok(Firing { trigger: trigger.clone(), procedure, link, when })
    }

    /// Returns the columns to compute and the constraints to check for each row of a table to whose columns these
    /// values are assigned. If a trigger may change the row, all computed columns and all constraints count.
    pub(super) fn rules_of_update(&self, table: &Table, assignments: &[(usize, Expr)]) -> RowRules {
        match changes_updates(table) {
            true => table.rules_of_new_row(),
            false => table.rules_of_changed_row(assignments),
        }
    }

    /// Returns the rules for a row of a target to whose columns these values are assigned: those of its table, and
    /// those of the views through which the statement writes.
    pub(super) fn rules_of_target(&self, target: &Target, assignments: &[(usize, Expr)]) -> RowRules {
        RowRules { views: target.checks.clone(), ..self.rules_of_update(&target.table, assignments) }
    }

    /// Returns the fields of the row variable of this name. Returns `None` if a FROM item has the name, or no such
    /// variable exists.
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

    /// Returns the fields of a row variable if an expression is its name or `name.*`, or `None` for any other
    /// expression.
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

/// Whether an enabled trigger of the table may change the new values of a row that is about to be updated.
pub(super) fn changes_updates(table: &Table) -> bool {
    use crate::parse::trigger::{TriggerEvent, TriggerTime};
    table.rules.triggers.iter().any(|trigger| trigger.fires(TriggerTime::Before, TriggerEvent::Update, true))
}
