//! Writes the names of a view's columns into its query. A dump has the query, but no other list of the names.

use super::binder::Binder;
use crate::depth::{Syntax, with_room};
use crate::parse::names::{fold, syntax_of};
use crate::parse::parse_query;
use crate::parse::window::restored;
use sqlparser::ast::{self, Expr, GroupByExpr, OrderByKind, SelectItem, SetExpr};

/// Returns a query with the same rows whose columns have these names. There must be as many names as columns, and no
/// `*` in the select list.
///
/// # Errors
/// 54001 if the query is nested too deeply.
pub(crate) fn with_column_names(query: &ast::Query, names: &[String]) -> Result<Syntax<ast::Query>, crate::SqlError> {
    with_room(|| {
        let mut named = query.clone();
        match give_names(&mut named, names) {
            true => Ok(Syntax::new(named)),
            false => within_another(query, names),
        }
    })
}

/// Gives the items of a query's select list these names. Returns false if the query has no select list, or if GROUP BY,
/// ORDER BY or DISTINCT ON may mean an item by a name that changes. Then the caller must not use the query.
fn give_names(query: &mut ast::Query, names: &[String]) -> bool {
    let SetExpr::Select(select) = &mut *query.body else { return false };
    if select.projection.len() != names.len() {
        return false;
    }
    // The names that items lose, and those that they get: both may stand in ORDER BY and the like.
    let mut replaced = Vec::new();
    for (item, name) in select.projection.iter_mut().zip(names) {
        let (expr, known) = match item {
            SelectItem::UnnamedExpr(expr) => (expr.clone(), Binder::default_name(expr)),
            SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), fold(alias)),
            _ => return false,
        };
        if known == *name {
            continue;
        }
        // The name of a column means that column also where it is no item's name.
        if !matches!(item, SelectItem::UnnamedExpr(Expr::Identifier(_))) {
            replaced.push(known);
        }
        replaced.push(name.clone());
        *item = SelectItem::ExprWithAlias { expr, alias: ident(name) };
    }
    let is_replaced = |expr: &Expr| matches!(expr, Expr::Identifier(name) if replaced.contains(&fold(name)));
    let grouped = match &select.group_by {
        GroupByExpr::Expressions(exprs, _) => exprs.iter().any(is_replaced),
        GroupByExpr::All(_) => true,
    };
    let distinct = matches!(&select.distinct, Some(ast::Distinct::On(exprs)) if exprs.iter().any(is_replaced));
    let ordered = query.order_by.as_ref().is_some_and(|order| match &order.kind {
        OrderByKind::Expressions(exprs) => exprs.iter().any(|order| is_replaced(&order.expr)),
        OrderByKind::All(_) => true,
    });
    !(grouped || distinct || ordered)
}

/// Returns a query that selects all columns of another one, under these names.
fn within_another(query: &ast::Query, names: &[String]) -> Result<Syntax<ast::Query>, crate::SqlError> {
    let names: Vec<_> = names.iter().map(|name| ident(name).to_string()).collect();
    let names = names.join(", ");
    parse_query(&restored(format!("SELECT {names} FROM ({query}) AS named ({names})")))
}

fn ident(name: &str) -> ast::Ident {
    match syntax_of([name]).0.pop() {
        Some(ast::ObjectNamePart::Identifier(ident)) => ident,
        _ => ast::Ident::with_quote('"', name),
    }
}
