//! The expressions of a table's definition: DEFAULT and CHECK.

use super::{Binder, Scope};
use crate::catalog::{Table, View};
use crate::depth::with_room;
use crate::expr::Expr;
use crate::{SqlError, state};
use hotrow_storage::Type;
use sqlparser::ast;

/// A DEFAULT, as a value of its column. It looks at no column.
pub fn bind_default(expr: &ast::Expr, column: &str, ty: Type, view: View<'_>) -> Result<Expr, SqlError> {
    with_room(|| default_in_place(expr, column, ty, view))
}

fn default_in_place(expr: &ast::Expr, column: &str, ty: Type, view: View<'_>) -> Result<Expr, SqlError> {
    let mut binder = Binder::new("", 0, view, Vec::new());
    let typed = binder.plain(expr, &Scope::default(), "DEFAULT expressions").map_err(|error| match error.state {
        state::UNDEFINED_COLUMN => {
            SqlError::new(state::FEATURE_NOT_SUPPORTED, "cannot use column reference in DEFAULT expression")
        }
        _ => error,
    })?;
    binder.assign(typed, column, ty).map_err(|error| match error.state {
        state::DATATYPE_MISMATCH => {
            let message = error.message.replacen("expression is", "default expression is", 1);
            SqlError { message, ..error }
        }
        _ => error,
    })
}

/// A CHECK constraint over a table's columns.
pub fn bind_check(expr: &ast::Expr, table: &Table, view: View<'_>) -> Result<Expr, SqlError> {
    with_room(|| {
        let mut binder = Binder::new("", 0, view, Vec::new());
        let typed = binder.plain(expr, &Scope::table(table, None), "check constraints")?;
        binder.condition(typed, "CHECK")
    })
}
