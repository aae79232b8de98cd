//! Queries.

use super::{Aggregates, Binder, Scope, Typed, path};
use crate::catalog::Table;
use crate::error::unsupported;
use crate::expr::{Expr, Strictness};
use crate::plan::{Node, SortKey};
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::{Type, Value};
use hotrow_sync::Arc;
use hotrow_txn::LockFor;
use sqlparser::ast::{self, Expr as A, SelectItem, SetExpr, TableFactor};

/// The select list, bound.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) exprs: Vec<Expr>,
    pub(super) columns: Vec<OutputColumn>,
}

/// One ORDER BY item, bound to a position in the output or to an expression of its own.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) expr: Expr,
    pub(super) ty: Type,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

impl Binder<'_> {
    /// A query: SELECT or VALUES.
    pub(crate) fn query(&mut self, query: &ast::Query) -> Result<(Node, Vec<OutputColumn>), SqlError> {
        if query.with.is_some() {
            return Err(unsupported("WITH"));
        }
        let lock = lock_of(&query.locks)?;
        let (node, columns) = match &*query.body {
            SetExpr::Select(select) => self.select(select, query.order_by.as_ref(), lock)?,
            SetExpr::Values(values) => self.values(values, query.order_by.as_ref())?,
            SetExpr::Query(inner) if query.order_by.is_none() => self.query(inner)?,
            SetExpr::SetOperation { op, .. } => return Err(unsupported(&op.to_string())),
            _ => return Err(unsupported("this kind of query")),
        };
        let node = self.limit(node, query)?;
        Ok((node, columns))
    }

    fn limit(&mut self, node: Node, query: &ast::Query) -> Result<Node, SqlError> {
        let (mut limit, mut offset) = (None, None);
        match &query.limit_clause {
            Some(ast::LimitClause::LimitOffset { limit: count, offset: skip, limit_by }) if limit_by.is_empty() => {
                limit = count.as_ref();
                offset = skip.as_ref().map(|offset| &offset.value);
            }
            Some(_) => return Err(unsupported("LIMIT with a comma")),
            None => {}
        }
        if let Some(fetch) = &query.fetch {
            if fetch.with_ties || fetch.percent {
                return Err(unsupported("FETCH with ties or percent"));
            }
            limit = fetch.quantity.as_ref();
        }
        let is_null = |expr: &&A| matches!(expr, A::Value(value) if value.value == ast::Value::Null);
        let limit = limit.filter(|expr| !is_null(expr)).map(|expr| self.count(expr, "LIMIT")).transpose()?;
        let offset = offset.map(|expr| self.count(expr, "OFFSET")).transpose()?;
        Ok(match (&limit, &offset) {
            (None, None) => node,
            _ => Node::Limit(Box::new(node), limit, offset),
        })
    }

    fn values(
        &mut self,
        values: &ast::Values,
        order_by: Option<&ast::OrderBy>,
    ) -> Result<(Node, Vec<OutputColumn>), SqlError> {
        if order_by.is_some() {
            return Err(unsupported("ORDER BY after VALUES"));
        }
        let width = values.rows.first().map_or(0, |row| row.content.len());
        check_width(width)?;
        let mut columns: Vec<Vec<Typed>> = (0..width).map(|_| Vec::new()).collect();
        for row in &values.rows {
            if row.content.len() != width {
                return Err(SqlError::new(state::SYNTAX_ERROR, "VALUES lists must all be the same length"));
            }
            for (column, expr) in columns.iter_mut().zip(&row.content) {
                column.push(self.plain(expr, &Scope::default(), "VALUES")?);
            }
        }
        let mut rows: Vec<Vec<Expr>> = values.rows.iter().map(|_| Vec::with_capacity(width)).collect();
        let mut output = Vec::new();
        for (at, column) in columns.into_iter().enumerate() {
            let (exprs, ty) = self.unify(column, "VALUES")?;
            output.push(OutputColumn { name: format!("column{}", at + 1), ty });
            for (row, expr) in rows.iter_mut().zip(exprs) {
                row.push(expr);
            }
        }
        Ok((Node::Values(rows), output))
    }

    fn select(
        &mut self,
        select: &ast::Select,
        order_by: Option<&ast::OrderBy>,
        lock: LockFor,
    ) -> Result<(Node, Vec<OutputColumn>), SqlError> {
        refuse_exotic(select)?;
        let (table, scope) = match self.from(&select.from)? {
            Some((table, scope)) => (Some(table), scope),
            None => (None, Scope::default()),
        };
        let filter = self.selection(select.selection.as_ref(), &scope)?;
        let outer = std::mem::replace(&mut self.aggregates, Aggregates::Found(Vec::new()));
        let parts = self.select_parts(select, order_by, &scope, table.as_deref());
        let found = std::mem::replace(&mut self.aggregates, outer);
        let calls = match found {
            Aggregates::Found(calls) => calls,
            Aggregates::Refused(_) => Vec::new(),
        };
        let (mut output, mut orders, having, groups) = parts?;
        let distinct = matches!(select.distinct, Some(ast::Distinct::Distinct));
        let grouped = !calls.is_empty() || !groups.is_empty() || having.is_some();
        if grouped && lock == LockFor::Update {
            let what = if calls.is_empty() { "GROUP BY clause" } else { "aggregate functions" };
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("FOR UPDATE is not allowed with {what}")));
        }
        let sorted_by: Vec<_> = if grouped || distinct { Vec::new() } else { path::plain_columns(&orders) };
        let (mut node, in_order) = match table {
            Some(table) => {
                let (access, in_order) = path::choose(table, filter, lock, &sorted_by);
                (Node::Table(access), in_order && !sorted_by.is_empty())
            }
            None => (filter.map_or(Node::One, |filter| Node::Filter(Box::new(Node::One), filter)), false),
        };
        if grouped {
            let mut having = having;
            self.regroup(&groups, &scope, &mut output, &mut orders, &mut having)?;
            node = Node::Aggregate(Box::new(node), groups, calls);
            if let Some(having) = having {
                node = Node::Filter(Box::new(node), having);
            }
        }
        if in_order {
            orders.clear();
        }
        Ok((project(node, output.exprs, orders, distinct)?, output.columns))
    }

    /// The select list, the order, HAVING and the groups, all bound over the input.
    #[allow(clippy::type_complexity, reason = "four parts of one clause list, taken apart at once by the only caller")]
    fn select_parts(
        &mut self,
        select: &ast::Select,
        order_by: Option<&ast::OrderBy>,
        scope: &Scope,
        table: Option<&Table>,
    ) -> Result<(Output, Vec<Order>, Option<Expr>, Vec<Expr>), SqlError> {
        let output = self.output(&select.projection, scope, table)?;
        let groups = self.groups(&select.group_by, &output, scope)?;
        let having = match &select.having {
            Some(having) => {
                let typed = self.expr(having, scope)?;
                Some(self.condition(typed, "HAVING")?)
            }
            None => None,
        };
        let orders = match order_by {
            Some(order_by) => self.orders(order_by, &output, scope)?,
            None => Vec::new(),
        };
        Ok((output, orders, having, groups))
    }

    /// FROM: no table or one.
    pub(super) fn from(&mut self, from: &[ast::TableWithJoins]) -> Result<Option<(Arc<Table>, Scope)>, SqlError> {
        let [only] = from else {
            return if from.is_empty() { Ok(None) } else { Err(unsupported_join(from)) };
        };
        self.relation(only).map(Some)
    }

    /// A table with its alias.
    pub(super) fn relation(&mut self, relation: &ast::TableWithJoins) -> Result<(Arc<Table>, Scope), SqlError> {
        if !relation.joins.is_empty() {
            return Err(unsupported_join(std::slice::from_ref(relation)));
        }
        match &relation.relation {
            TableFactor::Table { name, alias, args: None, sample: None, .. } => {
                let table = self.table(name)?;
                let alias = match alias {
                    Some(alias) if !alias.columns.is_empty() => return Err(unsupported("column aliases in FROM")),
                    Some(alias) => Some(super::fold(&alias.name)),
                    None => None,
                };
                let scope = Scope::table(&table, alias.as_deref());
                Ok((table, scope))
            }
            TableFactor::Derived { .. } => Err(unsupported("a subquery in FROM")),
            item => Err(unsupported(&format!("the FROM item {item}"))),
        }
    }

    /// A select list or RETURNING.
    pub(super) fn output(
        &mut self,
        items: &[SelectItem],
        scope: &Scope,
        table: Option<&Table>,
    ) -> Result<Output, SqlError> {
        check_width(items.len())?;
        let mut output = Output::default();
        let filled = std::mem::take(&mut self.filled);
        for item in items {
            let (expr, name) = match item {
                SelectItem::UnnamedExpr(expr) => (expr, Self::default_name(expr)),
                SelectItem::ExprWithAlias { expr, alias } => (expr, Self::alias(alias)),
                SelectItem::Wildcard(_) => {
                    all_columns(scope, None, table, &mut output)?;
                    continue;
                }
                SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    let name = super::name_parts(name)?.pop().unwrap_or_default();
                    all_columns(scope, Some(&name), table, &mut output)?;
                    continue;
                }
                other => return Err(unsupported(&format!("select item {other}"))),
            };
            let typed = self.expr(expr, scope)?;
            let (expr, ty) = match filled.get(output.columns.len()) {
                // A literal, NULL or parameter without a type of its own becomes what it is to be inserted as.
                Some(&ty) if typed.ty.is_none() => (self.coerce(typed, ty, Strictness::Assignment)?, ty),
                _ => self.resolved(typed)?,
            };
            output.exprs.push(expr);
            output.columns.push(OutputColumn { name, ty });
        }
        check_width(output.columns.len())?;
        Ok(output)
    }

    fn orders(&mut self, order_by: &ast::OrderBy, output: &Output, scope: &Scope) -> Result<Vec<Order>, SqlError> {
        let ast::OrderByKind::Expressions(items) = &order_by.kind else { return Err(unsupported("ORDER BY ALL")) };
        let mut orders = Vec::with_capacity(items.len());
        for item in items {
            let (expr, ty) = self.ordered_expr(&item.expr, output, scope)?;
            let descending = match &item.options.sort {
                None | Some(ast::OrderBySort::Asc) => false,
                Some(ast::OrderBySort::Desc) => true,
                Some(ast::OrderBySort::Using(_)) => return Err(unsupported("ORDER BY ... USING")),
            };
            let nulls_first = item.options.nulls_first.unwrap_or(descending);
            orders.push(Order { expr, ty, descending, nulls_first });
        }
        Ok(orders)
    }

    /// What an ORDER BY item means: an output column's name, its position, or an expression over the input.
    fn ordered_expr(&mut self, expr: &A, output: &Output, scope: &Scope) -> Result<(Expr, Type), SqlError> {
        if let A::Identifier(ident) = expr {
            let name = super::fold(ident);
            let mut named = output.columns.iter().zip(&output.exprs).filter(|(column, _)| column.name == name);
            if let Some((column, expr)) = named.next() {
                if named.any(|(_, other)| other != expr) {
                    let error = SqlError::new(state::AMBIGUOUS_COLUMN, format!("ORDER BY \"{name}\" is ambiguous"));
                    return Err(self.locate(error, ident.span));
                }
                return Ok((expr.clone(), column.ty));
            }
        }
        if let Some(at) = self.listed_position(expr, output, "ORDER BY")? {
            return Ok((output.exprs[at].clone(), output.columns[at].ty));
        }
        let typed = self.expr(expr, scope)?;
        self.resolved(typed)
    }

    /// The output column that a bare integer means in ORDER BY and GROUP BY.
    pub(super) fn listed_position(
        &mut self,
        expr: &A,
        output: &Output,
        clause: &str,
    ) -> Result<Option<usize>, SqlError> {
        let A::Value(value) = expr else { return Ok(None) };
        match &value.value {
            ast::Value::Number(text, _) => match text.parse::<usize>() {
                Ok(position) if (1..=output.exprs.len()).contains(&position) => Ok(Some(position - 1)),
                _ => {
                    let message = format!("{clause} position {text} is not in select list");
                    Err(self.locate(SqlError::new(state::INVALID_COLUMN_REFERENCE, message), value.span))
                }
            },
            ast::Value::SingleQuotedString(_) => {
                let error = SqlError::new(state::SYNTAX_ERROR, format!("non-integer constant in {clause}"));
                Err(self.locate(error, value.span))
            }
            _ => Ok(None),
        }
    }
}

/// As many columns as PostgreSQL lets a result have.
const MAX_COLUMNS: usize = 1664;

fn check_width(columns: usize) -> Result<(), SqlError> {
    if columns > MAX_COLUMNS {
        let message = format!("target lists can have at most {MAX_COLUMNS} entries");
        return Err(SqlError::new(state::TOO_MANY_COLUMNS, message));
    }
    Ok(())
}

/// `*` and `table.*`
fn all_columns(
    scope: &Scope,
    relation: Option<&str>,
    table: Option<&Table>,
    output: &mut Output,
) -> Result<(), SqlError> {
    if table.is_none() {
        return Err(SqlError::new(state::SYNTAX_ERROR, "SELECT * with no tables specified is not valid"));
    }
    let relations = scope.relations.iter().filter(|known| relation.is_none_or(|wanted| known.name == wanted));
    let mut any = false;
    for relation in relations {
        any = true;
        for (at, (name, ty)) in relation.columns.iter().enumerate() {
            output.exprs.push(Expr::Column(relation.offset + at));
            output.columns.push(OutputColumn { name: name.clone(), ty: *ty });
        }
    }
    if !any {
        let name = relation.unwrap_or_default();
        let message = format!("missing FROM-clause entry for table \"{name}\"");
        return Err(SqlError::new(state::UNDEFINED_TABLE, message));
    }
    Ok(())
}

/// Output, order and DISTINCT on top of the rows.
fn project(mut node: Node, mut exprs: Vec<Expr>, orders: Vec<Order>, distinct: bool) -> Result<Node, SqlError> {
    let visible = exprs.len();
    let mut keys = Vec::with_capacity(orders.len());
    for order in orders {
        let column = match exprs.iter().position(|known| *known == order.expr) {
            Some(column) => column,
            None if distinct => {
                let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message));
            }
            None => {
                exprs.push(order.expr);
                exprs.len() - 1
            }
        };
        let blanks = matches!(order.ty, Type::Char(_));
        keys.push(SortKey { column, descending: order.descending, nulls_first: order.nulls_first, blanks });
    }
    node = Node::Project(Box::new(node), exprs);
    if distinct {
        node = Node::Distinct(Box::new(node));
    }
    if !keys.is_empty() {
        node = Node::Sort(Box::new(node), keys, visible);
    }
    Ok(node)
}

/// FOR UPDATE and FOR SHARE. A share lock is an update lock: stronger, and no engine has less to offer at every level.
fn lock_of(locks: &[ast::LockClause]) -> Result<LockFor, SqlError> {
    for lock in locks {
        match lock.nonblock {
            Some(ast::NonBlock::Nowait) => return Err(unsupported("NOWAIT").hint("Set lock_timeout instead.")),
            Some(ast::NonBlock::SkipLocked) => return Err(unsupported("SKIP LOCKED")),
            None => {}
        }
    }
    Ok(if locks.is_empty() { LockFor::Read } else { LockFor::Update })
}

fn refuse_exotic(select: &ast::Select) -> Result<(), SqlError> {
    let what = if matches!(select.distinct, Some(ast::Distinct::On(_))) {
        "DISTINCT ON"
    } else if select.into.is_some() {
        "SELECT INTO"
    } else if select.qualify.is_some() || !select.named_window.is_empty() {
        "a window function"
    } else if select.top.is_some() || !select.lateral_views.is_empty() || select.prewhere.is_some() {
        "this clause"
    } else {
        return Ok(());
    };
    Err(unsupported(what))
}

/// The constant TRUE needs no check.
pub(super) fn is_true(expr: &Expr) -> bool {
    *expr == Expr::Const(Value::Bool(true))
}

/// What psql's backslash commands and drivers ask of the catalogs are joins that no user has typed: told apart.
fn unsupported_join(from: &[ast::TableWithJoins]) -> SqlError {
    let of_catalogs = |relation: &ast::TableWithJoins| match &relation.relation {
        ast::TableFactor::Table { name, .. } => super::name_parts(name).is_ok_and(|parts| super::is_catalog(&parts)),
        _ => false,
    };
    unsupported(if from.iter().any(of_catalogs) { "a query of the system catalogs" } else { "a join" })
}
