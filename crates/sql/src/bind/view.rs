//! Views: makes their definitions, and binds them as FROM items.

use super::binder::Binder;
use super::called::write_schemas;
use super::obstacle::obstacle;
use super::query::{From, Locking, Stars};
use super::scope::{Named, Scope};
use super::surroundings::Surroundings;
use super::view_columns::with_column_names;
use crate::catalog::view::{Meanings, StoredView};
use crate::catalog::{Comments, Used, View};
use crate::client::are_alike;
use crate::depth::{self, Syntax, with_room};
use crate::parse::names::fold;
use crate::parse::parse_query;
use crate::parse::window::restored;
use crate::plan::Node;
use crate::schema::{self, undefined_table};
use crate::{OutputColumn, SqlError, state};
use hotrow_sync::Arc;
use hotrow_txn::LockFor;
use sqlparser::ast::{self, SelectItem, SetExpr, TableFactor};

/// Makes the definition of a view from its query. `names` are the names of the first columns; the other columns keep
/// the names that the query gives them. If the query is that of an existing view, `fixed` has the meanings that this
/// view has fixed for the names in it.
///
/// # Errors
/// 42601 if there are more names than columns, 42701 if two columns have the same name, 42P02 if the query has a
/// parameter, and the errors of binding the query.
pub(crate) fn define_view(
    name: &str,
    names: &[String],
    query: &ast::Query,
    fixed: Option<&Meanings>,
    view: View<'_>,
) -> Result<StoredView, SqlError> {
    with_room(|| {
        let mut binder = Binder::new("", 0, view, Vec::new());
        binder.source.stars = Some(Stars::new());
        binder.defines = true;
        binder.around = fixed.cloned().map_or_else(Surroundings::default, Surroundings::of_view);
        let (_, mut columns) = binder.query(query)?;
        if !binder.parameters.types.is_empty() {
            return Err(SqlError::new(state::UNDEFINED_PARAMETER, "there is no parameter $1"));
        }
        if names.len() > columns.len() {
            let message = "CREATE VIEW specifies more column names than columns";
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        for (column, name) in columns.iter_mut().zip(names) {
            column.name.clone_from(name);
        }
        for (at, column) in columns.iter().enumerate() {
            if columns[..at].iter().any(|before| before.name == column.name) {
                let message = format!("column \"{}\" specified more than once", column.name);
                return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
            }
        }
        let stars = binder.source.stars.take().unwrap_or_default();
        let mut query = query.clone();
        write_out(&mut query, &stars);
        let functions = write_schemas(&mut query, &binder.called, view);
        let used = binder.used();
        let mut relations: Vec<_> = used.tables.iter().map(|table| table.name().to_owned()).collect();
        relations.extend(used.views.iter().map(|view| view.name.clone()));
        let written: Vec<_> = columns.iter().map(|column| column.name.clone()).collect();
        let query = if names.is_empty() { Syntax::new(query) } else { with_column_names(&query, &written)? };
        let qualified = match used.enumerations.is_empty() && used.domains.is_empty() {
            true => None,
            false => view.with_qualified_types(&restored(query.to_string()))?,
        };
        let before = fixed.map(|fixed| fixed.relations.iter()).into_iter().flatten();
        let names = Meanings { relations: before.cloned().chain(used.names).collect(), functions };
        let query = qualified.map_or(Ok(query), |text| parse_query(&text))?;
        let obstacle = obstacle(&query, view);
        Ok(StoredView {
            name: name.to_owned(),
            columns,
            styles: view.styles,
            query,
            relations,
            names,
            comments: Comments::new(),
            options: Vec::new(),
            defaults: Vec::new(),
            triggers: Vec::new(),
            obstacle,
        })
    })
}

/// Whether the view could still be defined with the same columns.
pub(crate) fn holds(stored: &StoredView, view: View<'_>) -> bool {
    let names: Vec<_> = stored.columns.iter().map(|column| column.name.clone()).collect();
    let view = View { styles: stored.styles, ..view };
    let now = define_view(&stored.name, &names, &stored.query, Some(&stored.names), view);
    now.is_ok_and(|now| are_alike(&now.columns, &stored.columns))
}

/// Makes the error for a name that means no table: 42809 if it is a view, else 42P01.
pub(crate) fn not_a_table(name: &str, view: View<'_>) -> SqlError {
    match view.view(name) {
        Some(_) => SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a table")),
        None => undefined_table(name),
    }
}

/// Returns the columns for which `*` or `relation.*` stands, each with the name of its relation.
pub(super) fn star<'s>(
    scope: &'s Scope,
    relation: Option<&'s str>,
) -> impl Iterator<Item = (Option<&'s str>, &'s Named)> {
    let relations = scope.relations().iter().filter(move |known| relation.is_none_or(|wanted| known.is_called(wanted)));
    let columns = relations.flat_map(|known| known.columns.iter().map(|column| (known.name.as_deref(), column)));
    columns.filter(move |(_, column)| relation.is_some() || !column.merged)
}

impl<'v> Binder<'v> {
    /// Binds the query of a view as a statement of its own. Returns it with the definitions that it depends on.
    ///
    /// # Errors
    /// 55000 if the columns of the query do not have the view's types any more.
    pub(crate) fn bound_view(stored: &StoredView, view: View<'v>) -> Result<(Node, Used), SqlError> {
        with_room(|| {
            let view = View { styles: stored.styles, ..view };
            let mut binder = Binder::new("", 0, view, Vec::new());
            binder.around = Surroundings::of_view(stored.names.clone());
            let (node, columns) = binder.query(&stored.query)?;
            check_types(stored, &columns)?;
            Ok((node, binder.used().clone()))
        })
    }
}

/// Checks that the columns of a view's query still have the view's types and domains.
///
/// # Errors
/// 55000 if they do not.
pub(super) fn check_types(view: &StoredView, columns: &[OutputColumn]) -> Result<(), SqlError> {
    if columns.iter().map(OutputColumn::kind).eq(view.columns.iter().map(OutputColumn::kind)) {
        return Ok(());
    }
    let message = format!("view \"{}\" does not fit its tables any more", view.name);
    Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint("Create it again."))
}

impl Binder<'_> {
    /// Records the columns for which a `*` stands, if the caller of the binder needs them.
    pub(super) fn note_star(&mut self, options: &ast::WildcardAdditionalOptions, scope: &Scope, of: Option<&str>) {
        let Some(stars) = &mut self.source.stars else { return };
        let quoted = |name: &str| ast::Ident::with_quote('"', name);
        let item = |(relation, column): (Option<&str>, &Named)| {
            SelectItem::UnnamedExpr(match relation {
                Some(relation) => ast::Expr::CompoundIdentifier(vec![quoted(relation), quoted(&column.name)]),
                None => ast::Expr::Identifier(quoted(&column.name)),
            })
        };
        let place = options.wildcard_token.0.span.start;
        stars.insert((place.line, place.column), star(scope, of).map(item).collect());
    }

    /// Binds a view in FROM. Its query cannot refer to anything around it.
    pub(super) fn view_item(
        &mut self,
        view: &Arc<StoredView>,
        alias: Option<&ast::TableAlias>,
    ) -> Result<From, SqlError> {
        depth::check()?;
        self.depends.used.add_view(view);
        let name = alias.map_or_else(|| schema::plain(&view.name).to_owned(), |alias| fold(&alias.name));
        let locked = match self.locking.of(&name) {
            LockFor::Read => Locking::None,
            lock => Locking::All(lock),
        };
        let node = self.rows_of_view(view, locked)?;
        let columns = view.columns.iter().cloned();
        let columns = OutputColumn::of_relation(self.view.catalog.number(&view.name), columns);
        let (schema, name) = schema::split(&view.name);
        let mut from = self.rows_item(node, None, columns, Some(name.to_owned()), alias)?;
        if alias.is_none() {
            let relations = from.scope.relations_mut().iter_mut();
            relations.for_each(|relation| relation.full = Some(super::scope::qualified(schema, name)));
        }
        Ok(from)
    }

    /// Binds the query of a view. The tables in it are locked as `locking` says.
    pub(super) fn rows_of_view(&mut self, view: &Arc<StoredView>, locking: Locking) -> Result<Node, SqlError> {
        let bound = self.within_view(view, locking, |binder| {
            let mut bound = binder.inner_query(&view.query)?;
            binder.settle(&mut bound).map(|()| bound)
        })?;
        check_types(view, &bound.columns)?;
        Ok(bound.node)
    }

    /// Calls `bind` for the query of a view or a part of it, in which names have the meanings that the view has fixed.
    pub(super) fn within_view<R>(
        &mut self,
        view: &StoredView,
        locking: Locking,
        bind: impl FnOnce(&mut Self) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let around = std::mem::replace(&mut self.around, Surroundings::of_view(view.names.clone()));
        let styles = std::mem::replace(&mut self.view.styles, view.styles);
        let (source, variables) = (std::mem::take(&mut self.source), self.parameters.variables.take());
        let locking = std::mem::replace(&mut self.locking, locking);
        let called = std::mem::take(&mut self.called);
        let bound = bind(self);
        (self.around, self.view.styles, self.locking) = (around, styles, locking);
        (self.source, self.parameters.variables, self.called) = (source, variables, called);
        bound
    }
}

/// Replaces each `*` of a query by the columns for which it stands.
fn write_out(query: &mut ast::Query, stars: &Stars) {
    for cte in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
        write_out(&mut cte.query, stars);
    }
    write_out_body(&mut query.body, stars);
}

fn write_out_body(body: &mut SetExpr, stars: &Stars) {
    match body {
        SetExpr::Select(select) => {
            for item in std::mem::take(&mut select.projection) {
                match &item {
                    SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => {
                        let place = options.wildcard_token.0.span.start;
                        match stars.get(&(place.line, place.column)) {
                            Some(columns) => select.projection.extend(columns.iter().cloned()),
                            None => select.projection.push(item),
                        }
                    }
                    _ => select.projection.push(item),
                }
            }
            select.from.iter_mut().for_each(|item| write_out_item(item, stars));
        }
        SetExpr::SetOperation { left, right, .. } => {
            write_out_body(left, stars);
            write_out_body(right, stars);
        }
        SetExpr::Query(inner) => write_out(inner, stars),
        _ => {}
    }
}

fn write_out_item(item: &mut ast::TableWithJoins, stars: &Stars) {
    let joined = item.joins.iter_mut().map(|join| &mut join.relation);
    for factor in std::iter::once(&mut item.relation).chain(joined) {
        match factor {
            TableFactor::Derived { subquery, .. } => write_out(subquery, stars),
            TableFactor::NestedJoin { table_with_joins, .. } => write_out_item(table_with_joins, stars),
            _ => {}
        }
    }
}
