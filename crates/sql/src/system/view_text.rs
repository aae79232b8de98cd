//! The queries of views, and the defaults that call functions, as SQL for a search path. The name of a relation
//! contains its schema if the search path does not find the relation otherwise. The name of a function also contains it
//! if there are other functions of the name.

use crate::SqlError;
use crate::catalog::procedure::name_in;
use crate::catalog::view::{Meanings, StoredView};
use crate::catalog::{View, Written};
use crate::depth::with_room;
use crate::expr::overloads;
use crate::parse::names::{fold, object_name, syntax_of};
use crate::parse::window::restored;
use crate::schema::{RelationName, plain, split};
use sqlparser::ast::{self, Expr, ObjectName, Query, TableFactor, VisitMut, VisitorMut};
use std::ops::ControlFlow;

/// Returns the query of a view as SQL, in which names are written for the search path of `view`.
pub(super) fn query_of_view(stored: &StoredView, view: View<'_>) -> String {
    let write = || {
        let mut query = (*stored.query).clone();
        write_names(&mut query, &stored.names, view);
        Ok(query.to_string())
    };
    restored(with_room(write).unwrap_or_else(|_: SqlError| stored.query.to_string()))
}

/// Returns the expression of a default that calls functions as SQL, in which names are written for the search path of
/// `view`.
pub(super) fn expression(written: &Written, view: View<'_>) -> String {
    let meanings = Meanings { functions: written.functions.clone(), ..Meanings::default() };
    let write = || {
        let mut expr = (*written.syntax).clone();
        write_names(&mut expr, &meanings, view);
        Ok(expr.to_string())
    };
    with_room(write).unwrap_or_else(|_: SqlError| written.syntax.to_string())
}

fn write_names(syntax: &mut impl VisitMut, meanings: &Meanings, view: View<'_>) {
    // The visitor never breaks.
    let _ = syntax.visit(&mut Names { meanings, view, hidden: Vec::new(), outer: Vec::new() });
}

/// A visitor that rewrites the names in a query or expression. The name of a WITH query hides a relation of that name
/// from the later queries of the WITH and from the query after it.
struct Names<'v> {
    meanings: &'v Meanings,
    view: View<'v>,
    /// The names of the WITH queries that are in scope at this point.
    hidden: Vec<String>,
    /// For each enclosing query, its WITH and the number of names that are in scope around it.
    outer: Vec<(Option<ast::With>, usize)>,
}

impl Names<'_> {
    fn write_relation(&self, name: &mut ObjectName) {
        let Ok(written) = object_name(name) else { return };
        let is_hidden = |name: &str| self.hidden.iter().any(|known| known == name);
        if written.schema.is_none() && is_hidden(&written.name) {
            return;
        }
        let known = self.meanings.relations.iter().find(|(known, _)| *known == written);
        if let Some((_, full)) = known {
            *name = name_of(full, self.view.is_visible(full) && !is_hidden(plain(full)));
        }
    }

    /// Rewrites the name of a function. The schema is left out only if the search path finds no other function of the
    /// name, because another one might be chosen for the call.
    fn write_function(&self, name: &mut ObjectName) {
        let Ok(written) = object_name(name) else { return };
        let Some((_, keys)) = self.meanings.functions.iter().find(|(known, _)| *known == written) else { return };
        let Some(first) = keys.first() else { return };
        let plain_name = plain(name_in(first));
        let found = self.view.routines(&RelationName::alone(plain_name));
        let is_alone = matches!((&found[..], &keys[..]), ([only], [key]) if only.key == *key);
        *name = name_of(name_in(first), is_alone && overloads(plain_name).is_empty());
    }
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let around = self.hidden.len();
        let mut with = query.with.take();
        if let Some(with) = &mut with {
            let name = |cte: &ast::Cte| fold(&cte.alias.name);
            if with.recursive {
                self.hidden.extend(with.cte_tables.iter().map(name));
            }
            for cte in &mut with.cte_tables {
                VisitMut::visit(&mut cte.query, self)?;
                if !with.recursive {
                    self.hidden.push(name(cte));
                }
            }
        }
        self.outer.push((with, around));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some((with, around)) = self.outer.pop() {
            query.with = with;
            self.hidden.truncate(around);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, args: None, .. } => self.write_relation(name),
            TableFactor::Table { name, .. } | TableFactor::Function { name, .. } => self.write_function(name),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) => self.write_function(&mut function.name),
            // The type is that of a relation's rows.
            Expr::Cast { data_type: ast::DataType::Custom(name, _), .. } => self.write_relation(name),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Returns the syntax of a name, without its schema if `is_visible` is set.
fn name_of(full: &str, is_visible: bool) -> ObjectName {
    let (schema, name) = split(full);
    syntax_of((!is_visible).then_some(schema).into_iter().chain([name]))
}
