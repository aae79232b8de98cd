//! Binds the expressions and the conditions of indexes.

use super::ddl::{binder_of, mentioned, with_own_numbers, written};
use super::scope::Scope;
use super::typed::Typed;
use crate::catalog::{Mentioned, RowExpression, Table, View, Written};
use crate::depth::with_room;
use crate::error::unsupported;
use crate::expr::{Expr, shown};
use crate::opaque::Opaque;
use crate::parse::parse_expr;
use crate::system::without_parentheses;
use crate::{SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use sqlparser::ast;

/// A hidden column that an index needs.
pub struct Indexed {
    /// The value of the column, as an expression over the row.
    pub value: RowExpression,
    /// The type of the column.
    pub ty: Type,
    /// The text of the expression, for messages.
    pub label: String,
}

/// Binds an expression of an index. If the index has a condition, the value is NULL in rows that do not satisfy it.
///
/// # Errors
/// Those of PostgreSQL: 42P17 if the expression is not immutable, 0A000 for subqueries, 42803 for aggregates. Also
/// 0A000 if the condition is a constant.
pub fn define_indexed(
    expr: &ast::Expr,
    condition: Option<&ast::Expr>,
    table: &Table,
    view: View<'_>,
) -> Result<Indexed, SqlError> {
    with_room(|| {
        let typed = checked(expr, table, view, "index expressions")?;
        let label = label(&typed.expr, table);
        let value = match condition {
            Some(condition) => format!("CASE WHEN ({condition}) THEN ({expr}) END"),
            None => expr.to_string(),
        };
        let (value, ty) = bound(&value, condition.is_some(), table, view)?;
        Ok(Indexed { value, ty, label })
    })
}

/// Binds the condition of an index as the value of a hidden column, which is TRUE in rows that satisfy the condition,
/// and NULL in all others.
///
/// # Errors
/// Those of [`define_indexed`], and 42804 if the condition is no Boolean.
pub fn define_predicate(condition: &ast::Expr, table: &Table, view: View<'_>) -> Result<Indexed, SqlError> {
    with_room(|| {
        let typed = checked(condition, table, view, "index predicates")?;
        let label = shown(&typed.expr, Some(table));
        let (value, ty) = bound(&format!("CASE WHEN ({condition}) THEN TRUE END"), true, table, view)?;
        Ok(Indexed { value, ty, label })
    })
}

/// Binds the value of a hidden column again, for a table whose column at position `at` gets the type `ty`. Returns the
/// value with its type, which may change, too.
///
/// # Errors
/// If the expression does not accept the type or is not immutable with it, or 0A000 if it then reads other columns.
pub fn retype_indexed(
    value: &RowExpression,
    at: usize,
    ty: Type,
    table: &Table,
    view: View<'_>,
) -> Result<(RowExpression, Type), SqlError> {
    with_room(|| {
        let Written { syntax, styles, .. } = &value.expression;
        let expression = Written::new(syntax.clone(), *styles);
        let bind = |mentioned: &Mentioned| {
            let mut binder = binder_of(&expression, view);
            let typed = binder.plain(&expression.syntax, &Scope::mentioned(mentioned), "index expressions")?;
            let (expr, ty) = binder.resolved(typed)?;
            Ok::<_, SqlError>((with_own_numbers(expr), ty))
        };
        let ((_, before), _) = bind(&value.mentioned)?;
        let mut mentioned = (*value.mentioned).clone();
        for (name, _) in before.iter().zip(&value.columns).filter(|(_, column)| **column == at) {
            mentioned.columns[*name].1 = ty;
        }
        let ((bound, after), own) = bind(&mentioned)?;
        if after != before {
            return Err(unsupported("another type of a column that an index's expression looks at"));
        }
        let type_of = |column: usize| match value.columns[column] {
            column if column == at => ty,
            column => table.schema.columns[column].ty,
        };
        if !bound.is_immutable(&type_of) {
            let message = "functions in index expression must be marked IMMUTABLE";
            return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message));
        }
        expression.keep(Opaque::new(bound));
        Ok((RowExpression { expression, mentioned: Arc::new(mentioned), columns: value.columns.clone() }, own))
    })
}

/// Returns the text of an index's expression, as messages and definitions show it. The text is in parentheses, unless
/// it is a call of a function.
pub fn label(expr: &Expr, table: &Table) -> String {
    let text = shown(expr, Some(table));
    let is_call = matches!(expr, Expr::Call(..) | Expr::Coalesce(_) | Expr::NullIf(..))
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.ends_with(')');
    if is_call || without_parentheses(&text) != text { text } else { format!("({text})") }
}

/// Binds an expression and checks that it may be part of an index. `place` is PostgreSQL's name of the part, such as
/// `index expressions`.
///
/// # Errors
/// 42P17 if the expression is not immutable.
fn checked(expr: &ast::Expr, table: &Table, view: View<'_>, place: &'static str) -> Result<Typed, SqlError> {
    let expression = written(expr, view)?;
    let mut binder = binder_of(&expression, view);
    let typed = binder.plain(&expression.syntax, &Scope::table(table, None), place)?;
    let (expr, ty) = if place == "index predicates" {
        (binder.condition(typed, "WHERE")?, Type::Bool)
    } else {
        binder.resolved(typed)?
    };
    if !expr.is_immutable(&|column| table.schema.columns[column].ty) {
        let what = place.trim_end_matches('s');
        let message = format!("functions in {what} must be marked IMMUTABLE");
        return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message));
    }
    Ok(Typed::new(expr, ty))
}

/// Binds the value of a hidden column, given as SQL. If `conditional` is set, the value is a CASE whose condition is
/// that of the index.
///
/// # Errors
/// 0A000 if the condition is a constant.
fn bound(value: &str, conditional: bool, table: &Table, view: View<'_>) -> Result<(RowExpression, Type), SqlError> {
    let syntax = parse_expr(value)?;
    let expression = written(&syntax, view)?;
    let mut binder = binder_of(&expression, view);
    let typed = binder.plain(&expression.syntax, &Scope::table(table, None), "index expressions")?;
    let (expr, ty) = binder.resolved(typed)?;
    if conditional && !matches!(&expr, Expr::Case(arms, _) if arms.len() == 1) {
        return Err(unsupported("a constant as the condition of an index"));
    }
    let (bound, columns) = with_own_numbers(expr);
    expression.keep(Opaque::new(bound));
    let mentioned = Arc::new(mentioned(&syntax, &table.schema));
    Ok((RowExpression { expression, mentioned, columns }, ty))
}
