//! Generated columns in CREATE TABLE and ALTER TABLE.

use super::Fail;
use super::constraint::Dependents;
use super::ddl::{Ddl, Draft};
use crate::bind::{bind_stored_computed, define_generated};
use crate::catalog::{Computed, RowExpression, Table, Written, column_of};
use crate::error::unsupported;
use crate::parse::names::fold;
use crate::{SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use sqlparser::ast::{self, ColumnOption};

impl Ddl<'_> {
    /// Adds the generation expressions of these columns to the draft, which contains the columns already.
    pub(super) fn add_generated(&mut self, draft: &mut Draft, columns: &[ast::ColumnDef]) -> Result<(), Fail> {
        let mut expressions = Vec::new();
        for column in columns {
            let at = draft.schema.column(&fold(&column.name));
            expressions.extend(at.zip(expressions_of(column).next()));
        }
        if expressions.is_empty() {
            return Ok(());
        }
        let known = draft.rules.computed.iter().map(|computed| computed.column);
        let generated: Vec<_> = known.chain(expressions.iter().map(|(at, _)| *at)).collect();
        for (at, expr) in expressions {
            if draft.rules.domain(at).is_some() {
                return Err(unsupported("a generated column of a domain").into());
            }
            self.keep_mentioned(expr)?;
            for column in &draft.schema.columns {
                self.keep_type(column.ty)?;
            }
            draft.rules.computed.push(define_generated(expr, at, &draft.schema, &generated, self.view())?);
        }
        Ok(())
    }

    /// Runs ALTER COLUMN … DROP EXPRESSION: turns a generated column into a plain one that keeps its values.
    pub(super) fn drop_expression(&mut self, table: &Arc<Table>, name: &str, if_exists: bool) -> Result<(), Fail> {
        let at = column_of(table, name)?;
        if !table.is_generated(at) {
            let message =
                format!("column \"{name}\" of relation \"{}\" is not a stored generated column", table.name());
            if if_exists {
                self.notice(state::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
                return Ok(());
            }
            return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message).into());
        }
        let mut rules = table.rules.clone();
        rules.computed.retain(|computed| computed.column != at);
        self.publish(table.with(table.schema.clone(), rules));
        Ok(())
    }

    /// Binds the expression of a generated column again, for the new type of the column.
    pub(super) fn retype_generated(&self, draft: &mut Draft, at: usize, ty: Type) -> Result<(), Fail> {
        for Computed { value, .. } in draft.rules.computed.iter_mut().filter(|computed| computed.column == at) {
            let RowExpression { expression, .. } = value;
            *expression = Written::new(expression.syntax.clone(), expression.styles);
            bind_stored_computed(value, ty, self.view())?;
        }
        Ok(())
    }
}

/// Returns the generation expressions of a column's definition. There is at most one in a definition that is valid.
fn expressions_of(column: &ast::ColumnDef) -> impl Iterator<Item = &ast::Expr> {
    column.options.iter().filter_map(|option| match &option.option {
        ColumnOption::Generated { generation_expr: Some(expr), .. } => Some(expr),
        _ => None,
    })
}

/// Checks that a generated column has one generation expression, and is neither an identity column nor a column with a
/// default.
///
/// # Errors
/// 42601 otherwise.
pub(super) fn check_clauses(
    column: &ast::ColumnDef,
    name: &str,
    table: &str,
    has_default: bool,
    is_identity: bool,
) -> Result<(), SqlError> {
    let abbreviated = column.options.iter().any(|option| {
        matches!(option.option, ColumnOption::Generated { generation_expr: Some(_), generated_keyword: false, .. })
    });
    let message = match expressions_of(column).count() {
        0 => return Ok(()),
        _ if abbreviated => return Err(SqlError::new(state::SYNTAX_ERROR, "syntax error at or near \"AS\"")),
        _ if is_identity => "both identity and generation expression specified",
        _ if has_default => "both default and generation expression specified",
        1 => return Ok(()),
        _ => "multiple generation clauses specified",
    };
    Err(SqlError::new(state::SYNTAX_ERROR, format!("{message} for column \"{name}\" of table \"{table}\"")))
}

/// Checks that no generated column of a table is computed from the column at this position, whose type is to change.
///
/// # Errors
/// 0A000 if one is.
pub(super) fn check_unused(table: &Table, at: usize) -> Result<(), SqlError> {
    let columns = &table.schema.columns;
    let Some(user) = users_of(table, at).next() else { return Ok(()) };
    let message = "cannot alter type of a column used by a generated column";
    let detail = format!("Column \"{}\" is used by generated column \"{}\".", columns[at].name, columns[user].name);
    Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).detail(detail))
}

/// Returns the generated columns of a table that are computed from the column at this position.
fn users_of(table: &Table, at: usize) -> impl Iterator<Item = usize> {
    let visible = table.visible();
    let computed = table.rules.computed.iter().filter(move |computed| computed.column < visible);
    computed.filter(move |computed| computed.value.looks_at(at)).map(|computed| computed.column)
}

/// Adds the generated columns that are computed from the column at `at` to the dependents of that column.
pub(super) fn add_dependents(table: &Table, at: usize, subject: &str, dependents: &mut Dependents) {
    users_of(table, at).for_each(|user| dependents.push_column(table, user, subject));
}

/// Returns the error 42601, for a statement that would change the default of a generated column.
pub(super) fn is_generated(table: &Table, name: &str) -> SqlError {
    let message = format!("column \"{name}\" of relation \"{}\" is a generated column", table.name());
    SqlError::new(state::SYNTAX_ERROR, message)
}
