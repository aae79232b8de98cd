//! The clauses and calls for whose sake a view cannot be written to.

use super::aggregate::aggregate_named;
use crate::catalog::View;
use crate::catalog::procedure::Procedure;
use crate::parse::names::{name_parts, object_name};
use crate::plan::table_function::TableFunction;
use sqlparser::ast::{self, Distinct, Expr, GroupByExpr, SetExpr, Visit, Visitor};
use std::ops::ControlFlow;

/// Returns the detail of the message that a view with this query cannot be written to, or `None` if no clause of the
/// query and no call in its select list prevents it.
pub(crate) fn obstacle(query: &ast::Query, view: View<'_>) -> Option<&'static str> {
    let (mut query, mut has_with, mut has_limit) = (query, false, false);
    let select = loop {
        has_with |= query.with.is_some();
        has_limit |= query.limit_clause.is_some() || query.fetch.is_some();
        match &*query.body {
            SetExpr::Select(select) => break select,
            SetExpr::Query(inner) => query = inner,
            SetExpr::SetOperation { .. } => {
                return Some("Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.");
            }
            _ => return None,
        }
    };
    let is_grouped = match &select.group_by {
        GroupByExpr::Expressions(exprs, modifiers) => !exprs.is_empty() || !modifiers.is_empty(),
        GroupByExpr::All(_) => true,
    };
    let mut calls = Calls { view, depth: 0, aggregates: false, windows: false, sets: false };
    // The visitor never breaks.
    let _ = select.projection.visit(&mut calls);
    let is_distinct = matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_)));
    let obstacles = [
        (is_distinct, "Views containing DISTINCT are not automatically updatable."),
        (is_grouped, "Views containing GROUP BY are not automatically updatable."),
        (select.having.is_some(), "Views containing HAVING are not automatically updatable."),
        (has_with, "Views containing WITH are not automatically updatable."),
        (has_limit, "Views containing LIMIT or OFFSET are not automatically updatable."),
        (calls.aggregates, "Views that return aggregate functions are not automatically updatable."),
        (calls.windows, "Views that return window functions are not automatically updatable."),
        (calls.sets, "Views that return set-returning functions are not automatically updatable."),
    ];
    obstacles.iter().find(|(is_there, _)| *is_there).map(|(_, detail)| *detail)
}

/// Finds the calls in a select list for whose sake a view cannot be written to. Those in subqueries do not count.
struct Calls<'v> {
    view: View<'v>,
    depth: usize,
    aggregates: bool,
    windows: bool,
    sets: bool,
}

impl Visitor for Calls<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let (0, Expr::Function(call)) = (self.depth, expr)
            && let (Ok(parts), Ok(name)) = (name_parts(&call.name), object_name(&call.name))
        {
            let is_set = |known: &Procedure| known.function.as_ref().is_some_and(|function| function.is_set);
            let is_aggregate = parts.last().is_some_and(|name| aggregate_named(name).is_some());
            self.windows |= call.over.is_some();
            self.aggregates |= call.over.is_none() && (is_aggregate || !call.within_group.is_empty());
            self.sets |=
                TableFunction::named(&parts).is_some() || self.view.routines(&name).iter().any(|known| is_set(known));
        }
        ControlFlow::Continue(())
    }
}
