//! The expressions of a table's definition: DEFAULT and CHECK.

use super::{Binder, Scope, Typed};
use crate::catalog::{Table, Used, View};
use crate::depth::with_room;
use crate::expr::{Expr, Function, SequenceFunction as S, Strictness, can_cast, sequences_in};
use crate::{SqlError, sequence, state};
use hotrow_storage::{Type, Value};
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
    let mut bound = as_written(&typed, ty).map_or_else(|| binder.assign(typed, column, ty), Ok).map_err(|error| {
        match error.state {
            state::DATATYPE_MISMATCH => {
                let message = error.message.replacen("expression is", "default expression is", 1);
                SqlError { message, ..error }
            }
            _ => error,
        }
    })?;
    fix_sequences(&mut bound, view)?;
    Ok(bound)
}

/// A literal of another type, which is cast when the default is wanted: until then it is shown as it was written.
fn as_written(typed: &Typed, to: Type) -> Option<Expr> {
    let from = typed.ty.filter(|from| *from != to && can_cast(*from, to, Strictness::Assignment))?;
    let literal = matches!(typed.expr, Expr::Const(_)).then(|| Box::new(typed.expr.clone()))?;
    Some(Expr::Cast(literal, from, to, Strictness::Assignment))
}

/// A definition means its sequences whatever they will be called: names become numbers.
fn fix_sequences(expr: &mut Expr, view: View<'_>) -> Result<(), SqlError> {
    if let Expr::Call(Function::Sequence(S::NextValue | S::CurrentValue | S::SetValue), arguments) = expr
        && let Some(argument @ Expr::Const(Value::Text(_))) = arguments.first_mut()
        && let Expr::Const(Value::Text(name)) = argument
    {
        let id = sequence::named(view, name)?.id;
        *argument = Expr::Const(Value::Int8(i64::from(id)));
    }
    expr.parts_mut().into_iter().try_for_each(|part| fix_sequences(part, view))
}

/// The next number of a sequence, as a column's DEFAULT.
pub fn next_value(sequence: u32, ty: Type) -> Expr {
    let next = Expr::Call(Function::Sequence(S::NextValue), vec![Expr::Const(Value::Int8(i64::from(sequence)))]);
    if ty == Type::Int8 { next } else { Expr::Cast(Box::new(next), Type::Int8, ty, Strictness::Assignment) }
}

/// Notes the sequences that a column's default takes numbers from.
pub fn used_by_default(used: &mut Used, table: &Table, column: usize, view: View<'_>) {
    let Some(Some(default)) = table.rules.defaults.get(column) else { return };
    for id in sequences_in(default) {
        if let Some(sequence) = view.sequence_by_id(id) {
            used.add_sequence(&sequence, view);
        }
    }
}

/// An expression of one type as a value of a column of another; none if there is no cast that an assignment makes.
pub fn bind_assignment(expr: Expr, from: Type, to: Type) -> Option<Expr> {
    if from == to {
        return Some(expr);
    }
    can_cast(from, to, Strictness::Assignment).then(|| Expr::Cast(Box::new(expr), from, to, Strictness::Assignment))
}

/// What ALTER COLUMN … TYPE … USING says, over the table's old columns.
pub fn bind_conversion(
    expr: &ast::Expr,
    table: &Table,
    column: &str,
    ty: Type,
    view: View<'_>,
) -> Result<Expr, SqlError> {
    with_room(|| {
        let mut binder = Binder::new("", 0, view, Vec::new());
        let typed = binder.plain(expr, &Scope::table(table, None), "transform expressions")?;
        binder.assign(typed, column, ty)
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
