//! Fixes the meanings of the names in a definition: of the users' functions that it calls, and of the types in its
//! lists of columns.
//!
//! The names get their schemas in the definition's syntax. So they keep their meanings if the search path changes
//! later, or if other functions of the same names are made.

use super::binder::span_of;
use crate::catalog::View;
use crate::catalog::procedure::Procedure;
use crate::parse::names::{name_parts, syntax_of};
use crate::schema::{RelationName, split};
use hotrow_sync::Arc;
use sqlparser::ast::{self, Expr, ObjectName, TableFactor, VisitMut, VisitorMut};
use sqlparser::tokenizer::Location;
use std::ops::ControlFlow;

/// Writes the schemas of called functions into the syntax of a definition. `calls` has the position of each call in the
/// text, and the function that is called. Returns the qualified name of each called function, with the
/// [keys](crate::catalog::procedure::key) of the functions that are called by this name.
pub(super) fn write_schemas(
    syntax: &mut impl VisitMut,
    calls: &[(Location, Arc<Procedure>)],
    view: View<'_>,
) -> Vec<(RelationName, Vec<String>)> {
    // The visitor never breaks.
    let _ = syntax.visit(&mut Writer { calls, view });
    let mut functions: Vec<(RelationName, Vec<String>)> = Vec::new();
    for (_, procedure) in calls {
        let name = RelationName::within(procedure.schema_name(), procedure.plain_name());
        match functions.iter_mut().find(|(known, _)| *known == name) {
            Some((_, keys)) if keys.contains(&procedure.key) => {}
            Some((_, keys)) => keys.push(procedure.key.clone()),
            None => functions.push((name, vec![procedure.key.clone()])),
        }
    }
    functions
}

struct Writer<'c> {
    calls: &'c [(Location, Arc<Procedure>)],
    view: View<'c>,
}

impl Writer<'_> {
    fn write(&self, name: &mut ObjectName) {
        let at = span_of(name).start;
        if let Some((_, procedure)) = self.calls.iter().find(|(place, _)| *place == at) {
            *name = syntax_of([procedure.schema_name(), procedure.plain_name()]);
        }
    }

    /// Writes the schema into the name of a column's type, if a user has made the type or the type of its elements.
    fn write_type(&self, ty: &mut ast::DataType) {
        if let ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(element, _)) = ty {
            self.write_type(element);
        } else if let ast::DataType::Custom(name, _) = ty
            && let Some(made) = name_parts(name).ok().and_then(|parts| self.view.named_type(&parts))
        {
            let (schema, plain) = split(made.name());
            *name = syntax_of([schema, plain]);
        }
    }
}

impl VisitorMut for Writer<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } = factor {
            self.write(name);
        }
        if let TableFactor::Table { alias: Some(alias), .. } | TableFactor::Function { alias: Some(alias), .. } = factor
        {
            alias.columns.iter_mut().filter_map(|column| column.data_type.as_mut()).for_each(|ty| self.write_type(ty));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr {
            self.write(&mut function.name);
        }
        ControlFlow::Continue(())
    }
}
