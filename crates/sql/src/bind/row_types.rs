//! The columns of rows: those of a table or view whose name stands for a type, and those of a function's result.

use crate::catalog::procedure::{Argument, Procedure, Returns};
use crate::catalog::{Declared, Used, View};
use crate::parse::names::object_name;
use crate::schema::undefined_table;
use crate::{OutputColumn, SqlError};
use hotrow_storage::Column;
use sqlparser::ast;

/// Returns the full name of the table or view whose name is used as a type, that of its rows. Returns `None` if no
/// table or view has the name.
pub(super) fn relation_of(ty: &ast::DataType, view: View<'_>) -> Result<Option<String>, SqlError> {
    let ast::DataType::Custom(name, modifiers) = ty else { return Ok(None) };
    if !modifiers.is_empty() {
        return Ok(None);
    }
    let name = view.find(&object_name(name)?);
    Ok((view.table(&name).is_some() || view.view(&name).is_some()).then_some(name))
}

/// Returns the columns of a function's result. If the result is a row of a table or view, this relation is added to
/// `used`. Returns no columns for `void`, for a trigger's function and for a procedure.
pub(super) fn result_columns(
    procedure: &Procedure,
    view: View<'_>,
    used: &mut Used,
) -> Result<Vec<(String, Declared)>, SqlError> {
    let named = |(at, output): (usize, &Argument)| {
        let name = output.name.clone().unwrap_or_else(|| format!("column{}", at + 1));
        (name, view.declared(output.ty, output.domain))
    };
    let domain = procedure.function.as_ref().and_then(|function| function.domain);
    Ok(match procedure.function.as_ref().map(|function| &function.returns) {
        None | Some(Returns::Nothing | Returns::Trigger) => Vec::new(),
        Some(Returns::Value(ty)) => {
            let name = procedure.outputs().find_map(|(_, output)| output.name.clone());
            vec![(name.unwrap_or_else(|| procedure.plain_name().to_owned()), view.declared(*ty, domain))]
        }
        Some(Returns::Outputs) => procedure.outputs().map(|(_, output)| output).enumerate().map(named).collect(),
        Some(Returns::RowOf(name)) => columns_of(view, name, used)?,
    })
}

/// Returns the visible columns of a table or view, and adds the relation to `used`.
///
/// # Errors
/// 42P01 if there is none of this full name.
pub(super) fn columns_of(view: View<'_>, name: &str, used: &mut Used) -> Result<Vec<(String, Declared)>, SqlError> {
    if let Some(table) = view.table(name) {
        used.add_table(&table);
        let of = |(at, column): (usize, &Column)| {
            (column.name.clone(), Declared { ty: column.ty, domain: table.domain(at) })
        };
        return Ok(table.schema.columns.iter().take(table.visible()).enumerate().map(of).collect());
    }
    let Some(stored) = view.view(name) else { return Err(undefined_table(name)) };
    used.add_view(&stored);
    let of = |column: &OutputColumn| (column.name.clone(), Declared { ty: column.ty, domain: column.domain });
    Ok(stored.columns.iter().map(of).collect())
}
