//! Finds the column that a name in an expression means.

use super::binder::Binder;
use super::scope::{Found, Scope};
use super::typed::Typed;
use crate::expr::Expr;
use crate::parse::names::fold;
use crate::{Origin, SqlError, state};
use sqlparser::ast;

impl Binder<'_> {
    /// Binds the name of a column, which may have the name of its relation before it.
    pub(super) fn column(
        &mut self,
        relation: Option<&str>,
        ident: &ast::Ident,
        scope: &Scope,
    ) -> Result<Typed, SqlError> {
        let name = fold(ident);
        let own =
            scope.find(relation, &name).map(|named| Typed::new(named.expr.clone(), named.ty).of_domain(named.domain));
        let found = match own {
            Found::Nothing if !relation.is_some_and(|wanted| scope.has(wanted)) => {
                self.around.find(relation, &name).map(|(typed, level)| {
                    self.looked.push(level);
                    typed
                })
            }
            own => own,
        };
        match found {
            Found::Column(typed) => Ok(typed),
            Found::Ambiguous => {
                let error = SqlError::new(state::AMBIGUOUS_COLUMN, format!("column reference \"{name}\" is ambiguous"));
                Err(self.locate(error, ident.span))
            }
            Found::Nothing => {
                let message = match relation {
                    Some(relation) => format!("column {relation}.{name} does not exist"),
                    None => format!("column \"{name}\" does not exist"),
                };
                Err(self.locate(SqlError::new(state::UNDEFINED_COLUMN, message), ident.span))
            }
        }
    }

    /// Returns the stored table's column that an expression is, or `None` if it is computed or comes from no stored
    /// table.
    pub(super) fn origin(&self, expr: &Expr, scope: &Scope) -> Option<Origin> {
        if !matches!(expr, Expr::Column(_)) {
            return None;
        }
        scope.relations().iter().find_map(|relation| {
            let at = relation.columns.iter().position(|named| named.expr == *expr)?;
            match &relation.stored {
                Some(table) => {
                    let column = u16::try_from(at + 1).ok()?;
                    Some(Origin { relation: self.view.catalog.number(table), column })
                }
                None => relation.columns[at].origin,
            }
        })
    }

    /// Whether a FROM item of this name is visible, in the query or in the queries around it.
    pub(super) fn knows_relation(&self, name: &str, scope: &Scope) -> bool {
        scope.has(name) || self.around.levels.iter().any(|level| level.scope.has(name))
    }

    /// Makes the error 42P01 for a name that no FROM item has.
    pub(super) fn missing_relation(&self, name: &str, scope: &Scope) -> SqlError {
        let scopes = std::iter::once(scope).chain(self.around.levels.iter().rev().map(|level| &level.scope));
        let hidden = scopes.flat_map(Scope::relations).find(|known| known.table.as_deref() == Some(name));
        if let Some(alias) = hidden.and_then(|known| known.name.as_ref()) {
            let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
            let hint = format!("Perhaps you meant to reference the table alias \"{alias}\".");
            return SqlError::new(state::UNDEFINED_TABLE, message).hint(hint);
        }
        if self.around.beside.iter().any(|scope| scope.has(name)) {
            let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
            let hint = format!(
                "There is an entry for table \"{name}\", but it cannot be referenced from this part of the query."
            );
            return SqlError::new(state::UNDEFINED_TABLE, message).hint(hint);
        }
        let message = format!("missing FROM-clause entry for table \"{name}\"");
        SqlError::new(state::UNDEFINED_TABLE, message)
    }
}
