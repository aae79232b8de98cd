//! Binds queries.

use super::binder::Binder;
use super::condition::{conjuncts, is_volatile};
use super::direction::direction;
use super::domain::common_domain;
use super::expr::{place, signed_number};
use super::group::Columns;
use super::grouping::Above;
use super::grouping_sets::Groups;
use super::json::{check_equality, check_order};
use super::path;
use super::query::{Bound, From, Locking, Order, Output, computed, kept_for};
use super::scope::Scope;
use super::select_state::{Aggregates, SelectState};
use super::sets::{SetCall, expand, field_column, refuse_open_groups, refuse_rows, used_by};
use super::typed::Typed;
use super::view::star;
use crate::error::unsupported;
use crate::expr::Expr;
use crate::parse::names::{fold, name_parts};
use crate::plan::{AggregateCall, Node, SortKey};
use crate::{OutputColumn, SqlError, depth, state};
use hotrow_storage::{Type, Value};
use hotrow_txn::LockFor;
use sqlparser::ast::{self, Expr as A, SelectItem, SetExpr};

impl Binder<'_> {
    /// Binds a query: SELECT, VALUES, or a combination of queries. Columns whose types are still open become texts.
    pub(crate) fn query(&mut self, query: &ast::Query) -> Result<(Node, Vec<OutputColumn>), SqlError> {
        let mut bound = self.inner_query(query)?;
        self.settle(&mut bound)?;
        refuse_rows(&bound.columns)?;
        Ok((bound.node, bound.columns))
    }

    /// Binds a query whose place determines the types of columns that have none.
    pub(super) fn inner_query(&mut self, query: &ast::Query) -> Result<Bound, SqlError> {
        depth::check()?;
        let first = self.around.named.len();
        let is_top = std::mem::take(&mut self.around.is_top);
        if let Some(with) = &query.with {
            self.with(with, is_top)?;
        }
        let own = lock_of(&query.locks)?;
        let inherited = match (&own, &self.locking) {
            (Locking::None, Locking::All(lock)) => Locking::All(*lock),
            _ => own,
        };
        let outer = std::mem::replace(&mut self.locking, inherited);
        let bound = self.body(&query.body, query.order_by.as_ref());
        self.locking = outer;
        let mut bound = bound?;
        bound.node = self.limit(bound.node, query)?;
        bound.node = self.end_with(first, bound.node)?;
        Ok(bound)
    }

    pub(super) fn body(&mut self, body: &SetExpr, order_by: Option<&ast::OrderBy>) -> Result<Bound, SqlError> {
        let bound = match body {
            SetExpr::Select(select) => return self.select(select, order_by),
            SetExpr::Values(values) => self.values(values)?,
            SetExpr::Query(inner) => self.inner_query(inner)?,
            SetExpr::SetOperation { .. } => {
                if !matches!(self.locking, Locking::None) {
                    let message = "FOR UPDATE is not allowed with UNION/INTERSECT/EXCEPT";
                    return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
                }
                self.set_operation(body)?
            }
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                return Err(unsupported("a statement that changes rows within a query"));
            }
            SetExpr::Table(_) => return Err(unsupported("TABLE").hint("Say SELECT * FROM it.")),
        };
        match order_by {
            Some(order_by) => self.ordered(bound, order_by, matches!(body, SetExpr::SetOperation { .. })),
            None => Ok(bound),
        }
    }

    /// Adds ORDER BY to a query that is bound already. The clause may name the result's columns. If `plain`, the query
    /// combines several queries, and the clause may not contain expressions of its columns.
    fn ordered(&mut self, bound: Bound, order_by: &ast::OrderBy, plain: bool) -> Result<Bound, SqlError> {
        let Bound { node, columns, loose } = bound;
        let exprs: Vec<_> = (0..columns.len()).map(Expr::Column).collect();
        let scope = Scope::output(&columns);
        let output = Output { exprs, columns, loose };
        let orders = self.orders(order_by, &output, &scope)?;
        if plain && orders.iter().any(|order| !matches!(order.expr, Expr::Column(_))) {
            let message = "invalid UNION/INTERSECT/EXCEPT ORDER BY clause";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
                .detail("Only result column names can be used, not expressions or functions.")
                .hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause."));
        }
        let width = output.exprs.len();
        if orders.iter().all(|order| matches!(order.expr, Expr::Column(_))) {
            let key = |order: &Order| SortKey {
                column: if let Expr::Column(column) = order.expr { column } else { width },
                descending: order.descending,
                nulls_first: order.nulls_first,
                blanks: matches!(order.ty, Type::Char(_)),
            };
            let keys = orders.iter().map(key).collect();
            let node = Node::Sort(Box::new(node), keys, width, 0);
            return Ok(Bound { node, columns: output.columns, loose: output.loose });
        }
        let mut bound = Bound { node, columns: output.columns, loose: output.loose };
        self.settle(&mut bound)?;
        let node = project(bound.node, output.exprs, orders, false, 0)?;
        Ok(Bound { node, ..bound })
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

    fn values(&mut self, values: &ast::Values) -> Result<Bound, SqlError> {
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
        let (mut output, mut loose) = (Vec::new(), Vec::new());
        for (at, column) in columns.into_iter().enumerate() {
            loose.push(column.iter().all(|typed| typed.ty.is_none() && matches!(typed.expr, Expr::Const(_))));
            let domain = common_domain(&column);
            let (exprs, ty) = self.unify(column, "VALUES")?;
            output.push(OutputColumn::new(format!("column{}", at + 1), ty).of_domain(domain));
            for (row, expr) in rows.iter_mut().zip(exprs) {
                row.push(expr);
            }
        }
        Ok(Bound { node: computed(rows), columns: output, loose })
    }

    fn select(&mut self, select: &ast::Select, order_by: Option<&ast::OrderBy>) -> Result<Bound, SqlError> {
        refuse_exotic(select)?;
        let outer = std::mem::replace(&mut self.select, SelectState::new("FROM"));
        let bound = self.select_in_place(select, order_by);
        self.select = outer;
        bound
    }

    fn select_in_place(&mut self, select: &ast::Select, order_by: Option<&ast::OrderBy>) -> Result<Bound, SqlError> {
        let may_match = std::mem::take(&mut self.may_match);
        let From { mut group, scope } = self.from(&select.from)?;
        let around =
            self.around.levels.last().filter(|level| may_match && level.columns.is_empty()).map(|level| level.frame);
        let filter = self.selection(select.selection.as_ref(), &scope)?;
        group.conditions.extend(conjuncts(filter));
        self.select.aggregates = Aggregates::Found(Vec::new());
        let parts = self.select_parts(select, order_by, &scope);
        let found = std::mem::replace(&mut self.select.aggregates, Aggregates::Refused("FROM"));
        let mut calls = if let Aggregates::Found(calls) = found { calls } else { Vec::new() };
        let mut windows = std::mem::take(&mut self.select.windows);
        let (mut output, mut orders, mut having, mut groups, leading) = parts?;
        let mut sets = std::mem::take(&mut self.select.sets.calls);
        let distinct = matches!(select.distinct, Some(ast::Distinct::Distinct));
        let grouped = !calls.is_empty() || groups.given || having.is_some();
        let unique = distinct || leading > 0;
        if !windows.is_empty() && !sets.is_empty() {
            return Err(unsupported("a set-returning function beside a window function"));
        }
        let plain = !grouped && !unique && windows.is_empty();
        if !matches!(self.locking, Locking::None) && (!plain || !sets.is_empty()) {
            return Err(no_rows_to_lock(unique, grouped, calls.is_empty(), sets.is_empty()));
        }
        self.check_recursive_term(&calls)?;
        if let Some(frame) = around.filter(|_| plain && sets.is_empty()) {
            group = match self.matched(group, frame)? {
                Ok(bound) => return Ok(bound),
                Err(group) => group,
            };
        }
        let extreme = if groups.exprs.is_empty() && sets.is_empty() { group.first_by(&calls) } else { None };
        let is_extreme = extreme.is_some();
        let sorted_by: Vec<_> = if plain { path::plain_columns(&orders) } else { extreme.into_iter().collect() };
        // Functions that are grouped by run below the aggregation, the others above it.
        let mut lower = if grouped { used_by(&sets, &groups.exprs) } else { std::mem::take(&mut sets) };
        if grouped {
            let (output, orders, having) = (&mut output, &mut orders, &mut having);
            let rest = Above { output, orders, having, windows: &mut windows, sets: &sets, calls: &mut calls };
            sets = rest.regroup(&mut groups, &scope)?;
            refuse_open_groups(&lower, &sets)?;
        }
        // If rows are sorted, functions that return rows run after the sort, unless the order depends on their results.
        let is_set = |order: &Order| order.expr.any(&mut |part| matches!(part, Expr::Set(_)));
        let sorts = order_by.is_some() && !distinct;
        let late = sorts && !orders.iter().any(is_set);
        let mut layer = (!windows.is_empty()).then(|| windows.layer(&mut output, &mut orders));
        // The expressions that are evaluated over the joined rows.
        let mut below: Vec<&mut Expr> = if grouped {
            let parts = calls.iter_mut().flat_map(AggregateCall::parts_mut);
            groups.exprs.iter_mut().chain(parts).collect()
        } else if let Some(layer) = &mut layer {
            layer.columns.iter_mut().collect()
        } else {
            output.exprs.iter_mut().chain(orders.iter_mut().map(|order| &mut order.expr)).collect()
        };
        let arguments = || lower.iter().flat_map(|call| &call.rows.arguments);
        let needed = Columns::of(below.iter().map(|expr| &**expr).chain(arguments()));
        let mut planned = self.plan_group(group, &needed, &sorted_by)?;
        if below.iter().any(|expr| expr.has_subquery()) || lower.iter().any(|call| call.rows.has_subquery()) {
            planned = planned.kept(&needed);
        }
        let arguments = lower.iter_mut().flat_map(|call| &mut call.rows.arguments);
        for expr in below.iter_mut().map(|expr| &mut **expr).chain(arguments) {
            planned.place(expr)?;
        }
        // An aggregation without groups has one row, which is in any order. The rows that functions make of it are not.
        let in_order = planned.in_order && (lower.is_empty() && sets.is_empty() || !sorted_by.is_empty());
        let width = if let Node::Materialise(_, keep) = &planned.node { keep.len() } else { 0 };
        let late = late && !in_order;
        let mut after = if late && !grouped { std::mem::take(&mut lower) } else { Vec::new() };
        let mut node = expand(planned.node, width, &lower, &mut below);
        if grouped {
            if is_extreme && in_order {
                node = Node::Limit(Box::new(node), Some(Expr::Const(Value::Int8(1))), None);
            }
            let width = groups.exprs.len() + calls.len();
            node = groups.over(node, calls);
            if let Some(having) = having {
                node = Node::Filter(Box::new(kept_for(node, width, [&having])), having);
            }
            node = match &layer {
                Some(layer) => kept_for(node, width, &layer.columns),
                None => kept_for(node, width, above(&output, &orders)),
            };
            if late {
                after = std::mem::take(&mut sets);
            }
            let exprs = output.exprs.iter_mut().chain(orders.iter_mut().map(|order| &mut order.expr));
            node = expand(node, width, &sets, &mut exprs.collect::<Vec<_>>());
        }
        if let Some(layer) = layer {
            let width = layer.width();
            node = kept_for(layer.over(node), width, above(&output, &orders));
        }
        if in_order && !grouped {
            orders.clear();
        }
        arranged(node, output, orders, (sorts, distinct, leading), &after)
    }

    /// Refuses aggregate functions over the previous rows of a WITH RECURSIVE query.
    fn check_recursive_term(&self, calls: &[AggregateCall]) -> Result<(), SqlError> {
        if calls.is_empty() || !self.select.recurs {
            return Ok(());
        }
        let message = "aggregate functions are not allowed in a recursive query's recursive term";
        Err(SqlError::new(state::INVALID_RECURSION, message))
    }

    /// Binds the select list, ORDER BY, HAVING and GROUP BY over the input. The last part of the result is the number
    /// of leading ORDER BY items that belong to DISTINCT ON.
    #[allow(clippy::type_complexity, reason = "five parts of one clause list, taken apart at once by the only caller")]
    fn select_parts(
        &mut self,
        select: &ast::Select,
        order_by: Option<&ast::OrderBy>,
        scope: &Scope,
    ) -> Result<(Output, Vec<Order>, Option<Expr>, Groups, usize), SqlError> {
        self.window_clause(&select.named_window, scope)?;
        let output = self.output(&select.projection, scope)?;
        let groups = self.groups(&select.group_by, &output, scope)?;
        let having = match &select.having {
            Some(having) => {
                let refused = self.select.windows.refused.replace("HAVING");
                let typed = self.without_sets("HAVING", |binder| binder.expr(having, scope));
                self.select.windows.refused = refused;
                let typed = typed?;
                Some(self.condition(typed, "HAVING")?)
            }
            None => None,
        };
        let mut orders = match order_by {
            Some(order_by) => self.orders(order_by, &output, scope)?,
            None => Vec::new(),
        };
        let leading = match &select.distinct {
            Some(ast::Distinct::On(exprs)) => self.distinct_on(exprs, &output, scope, &mut orders)?,
            _ => 0,
        };
        Ok((output, orders, having, groups, leading))
    }

    /// Binds DISTINCT ON, and makes the rows be sorted by its expressions first: those that ORDER BY lacks are added to
    /// `orders`. Returns the number of leading `orders` that belong to DISTINCT ON.
    fn distinct_on(
        &mut self,
        exprs: &[A],
        output: &Output,
        scope: &Scope,
        orders: &mut Vec<Order>,
    ) -> Result<usize, SqlError> {
        let mut on: Vec<(Expr, Type)> = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let found = self.ordered_expr(expr, output, scope)?;
            check_equality(found.1)?;
            if !on.iter().any(|(known, _)| *known == found.0) {
                on.push(found);
            }
        }
        let leading = orders.iter().take_while(|order| on.iter().any(|(expr, _)| *expr == order.expr)).count();
        on.retain(|(expr, _)| !orders[..leading].iter().any(|order| order.expr == *expr));
        if !on.is_empty() && leading < orders.len() {
            let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
            return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message));
        }
        let leading = leading + on.len();
        orders.extend(on.into_iter().map(|(expr, ty)| Order { expr, ty, descending: false, nulls_first: false }));
        Ok(leading)
    }

    /// Binds a select list or RETURNING.
    pub(super) fn output(&mut self, items: &[SelectItem], scope: &Scope) -> Result<Output, SqlError> {
        check_width(items.len())?;
        let mut output = Output::default();
        for item in items {
            let (expr, name) = match item {
                SelectItem::UnnamedExpr(expr) => (expr, Self::default_name(expr)),
                SelectItem::ExprWithAlias { expr, alias } => (expr, Self::alias(alias)),
                SelectItem::Wildcard(options) => {
                    self.all_columns(scope, None, &mut output)?;
                    self.note_star(options, scope, None);
                    continue;
                }
                SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    let name = match &name_parts(name)?[..] {
                        [schema, name] if !scope.has(name) || scope.has(&self.qualified(schema, name)) => {
                            self.qualified(schema, name)
                        }
                        parts => parts.last().cloned().unwrap_or_default(),
                    };
                    if let Some(fields) = self.fields_of_variable(&name, scope)? {
                        for (field, typed) in fields {
                            let column = OutputColumn::new(field, typed.ty.unwrap_or(Type::Text));
                            output.columns.push(column.of_domain(typed.domain));
                            output.exprs.push(typed.expr);
                            output.loose.push(false);
                        }
                        continue;
                    }
                    self.all_columns(scope, Some(&name), &mut output)?;
                    self.note_star(options, scope, Some(&name));
                    continue;
                }
                other => return Err(unsupported(&format!("select item {other}"))),
            };
            if let Some(fields) = self.fields(expr, scope)? {
                for (field, typed) in fields {
                    let column = OutputColumn::new(field_column(&name, field), typed.ty.unwrap_or(Type::Text));
                    output.columns.push(column.of_domain(typed.domain));
                    output.exprs.push(typed.expr);
                    output.loose.push(false);
                }
                continue;
            }
            let typed = self.expr(expr, scope)?;
            let domain = typed.domain;
            let loose = typed.ty.is_none() && matches!(typed.expr, Expr::Const(_) | Expr::Param(_));
            // The place of the query decides the type of a literal, NULL or parameter.
            let (expr, ty) = if loose { (typed.expr, Type::Text) } else { self.resolved(typed)? };
            let origin = self.origin(&expr, scope);
            output.loose.push(loose);
            output.exprs.push(expr);
            output.columns.push(OutputColumn { name, ty, domain, origin });
        }
        check_width(output.columns.len())?;
        Ok(output)
    }

    /// Adds the columns for which `*` or `table.*` stands.
    fn all_columns(&self, scope: &Scope, relation: Option<&str>, output: &mut Output) -> Result<(), SqlError> {
        if scope.is_empty() && relation.is_none() {
            return Err(SqlError::new(state::SYNTAX_ERROR, "SELECT * with no tables specified is not valid"));
        }
        if let Some(name) = relation
            && !scope.has(name)
        {
            return Err(self.missing_relation(name, scope));
        }
        for (_, column) in star(scope, relation) {
            output.exprs.push(column.expr.clone());
            let origin = self.origin(&column.expr, scope);
            let (ty, domain) = (column.ty, column.domain);
            output.columns.push(OutputColumn { name: column.name.clone(), ty, domain, origin });
            output.loose.push(false);
        }
        Ok(())
    }

    fn orders(&mut self, order_by: &ast::OrderBy, output: &Output, scope: &Scope) -> Result<Vec<Order>, SqlError> {
        let ast::OrderByKind::Expressions(items) = &order_by.kind else { return Err(unsupported("ORDER BY ALL")) };
        let mut orders = Vec::with_capacity(items.len());
        for item in items {
            let (expr, ty) = self.ordered_expr(&item.expr, output, scope)?;
            check_order(ty)?;
            let (descending, nulls_first) = direction(&item.options)?;
            orders.push(Order { expr, ty, descending, nulls_first });
        }
        Ok(orders)
    }

    /// Binds an ORDER BY item: an output column's name, its position, or an expression over the input.
    fn ordered_expr(&mut self, expr: &A, output: &Output, scope: &Scope) -> Result<(Expr, Type), SqlError> {
        if let A::Identifier(ident) = expr {
            let name = fold(ident);
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

    /// Returns the position of the output column that an integer means in ORDER BY, GROUP BY or DISTINCT ON. Returns
    /// `None` if the expression is no literal number, text or boolean.
    ///
    /// # Errors
    ///
    /// 42601 for any other literal, 42P10 if the select list has no such position.
    pub(super) fn listed_position(
        &mut self,
        expr: &A,
        output: &Output,
        clause: &str,
    ) -> Result<Option<usize>, SqlError> {
        let refuse = |state, message: String| Err(self.locate_at(SqlError::new(state, message), place(expr)));
        let non_integer = || refuse(state::SYNTAX_ERROR, format!("non-integer constant in {clause}"));
        if let Some((digits, negative)) = signed_number(expr) {
            let sign = if negative && digits != "0" { "-" } else { "" };
            return match digits.parse::<i32>().map(usize::try_from) {
                Err(_) => non_integer(),
                Ok(Ok(position)) if !negative && (1..=output.exprs.len()).contains(&position) => Ok(Some(position - 1)),
                Ok(_) => {
                    let message = format!("{clause} position {sign}{digits} is not in select list");
                    refuse(state::INVALID_COLUMN_REFERENCE, message)
                }
            };
        }
        match expr {
            A::Value(value) if matches!(value.value, ast::Value::SingleQuotedString(_) | ast::Value::Boolean(_)) => {
                non_integer()
            }
            _ => Ok(None),
        }
    }
}

/// The maximum number of columns of a result, which is PostgreSQL's.
const MAX_COLUMNS: usize = 1664;

fn check_width(columns: usize) -> Result<(), SqlError> {
    if columns > MAX_COLUMNS {
        let message = format!("target lists can have at most {MAX_COLUMNS} entries");
        return Err(SqlError::new(state::TOO_MANY_COLUMNS, message));
    }
    Ok(())
}

/// Adds the select list, ORDER BY and DISTINCT to the rows of a node. If `sorts`, expressions that must be evaluated in
/// the order of the result are evaluated after the sort.
fn arranged(
    node: Node,
    output: Output,
    orders: Vec<Order>,
    (sorts, distinct, leading): (bool, bool, usize),
    after: &[SetCall],
) -> Result<Bound, SqlError> {
    let Output { exprs, columns, loose } = output;
    if distinct {
        columns.iter().try_for_each(|column| check_equality(column.ty))?;
    }
    let node = match sorts && !orders.is_empty() {
        true => project_sorted(node, exprs, orders, leading, after)?,
        false => project(node, exprs, orders, distinct, leading)?,
    };
    Ok(Bound { node, columns, loose })
}

/// Adds the select list, ORDER BY and DISTINCT to the rows of a node.
fn project(
    mut node: Node,
    mut exprs: Vec<Expr>,
    orders: Vec<Order>,
    distinct: bool,
    leading: usize,
) -> Result<Node, SqlError> {
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
        node = Node::Sort(Box::new(node), keys, visible, leading);
    }
    Ok(node)
}

/// Projects like [`project`], but evaluates volatile and set-returning expressions after the sort, as PostgreSQL does:
/// in the order of the sorted rows, and not for rows that a LIMIT leaves out.
fn project_sorted(
    node: Node,
    exprs: Vec<Expr>,
    orders: Vec<Order>,
    leading: usize,
    sets: &[SetCall],
) -> Result<Node, SqlError> {
    let waits = |expr: &Expr| expr.any(&mut |part| matches!(part, Expr::Set(_))) || is_volatile(expr);
    let is_late = |expr: &Expr| waits(expr) && !orders.iter().any(|order| order.expr == *expr);
    let late: Vec<_> = exprs.iter().map(is_late).collect();
    if !late.contains(&true) {
        return project(node, exprs, orders, false, leading);
    }
    let mut early = Vec::new();
    let mut shown: Vec<Expr> = Vec::with_capacity(exprs.len());
    for (mut expr, late) in exprs.into_iter().zip(late) {
        if late {
            sort_first(&mut expr, &mut early);
        } else {
            expr = Expr::Column(place_in(&mut early, expr));
        }
        shown.push(expr);
    }
    let mut sets = sets.to_vec();
    for argument in sets.iter_mut().flat_map(|call| &mut call.rows.arguments) {
        sort_first(argument, &mut early);
    }
    let visible = early.len();
    let key = |order: Order| SortKey {
        column: place_in(&mut early, order.expr),
        descending: order.descending,
        nulls_first: order.nulls_first,
        blanks: matches!(order.ty, Type::Char(_)),
    };
    let keys = orders.into_iter().map(key).collect();
    let sorted = Node::Sort(Box::new(Node::Project(Box::new(node), early)), keys, visible, leading);
    let node = match sets.is_empty() {
        true => kept_for(sorted, visible, &shown),
        false => expand(sorted, visible, &sets, &mut shown.iter_mut().collect::<Vec<_>>()),
    };
    Ok(Node::Project(Box::new(node), shown))
}

/// Returns the place of an expression in a list. Appends the expression if the list lacks it.
fn place_in(list: &mut Vec<Expr>, expr: Expr) -> usize {
    list.iter().position(|known| *known == expr).unwrap_or_else(|| {
        list.push(expr);
        list.len() - 1
    })
}

/// Rewrites an expression over rows into one over the sorted rows. The columns to which it refers are added to `early`,
/// the columns of the sorted rows.
fn sort_first(expr: &mut Expr, early: &mut Vec<Expr>) {
    match expr {
        Expr::Column(_) | Expr::Aggregate(_) | Expr::Window(_) => {
            *expr = Expr::Column(place_in(early, expr.clone()));
        }
        other => other.parts_mut().into_iter().for_each(|part| sort_first(part, early)),
    }
}

/// Returns the locks that FOR UPDATE and FOR SHARE ask for. FOR SHARE takes the lock of FOR UPDATE, which is stronger:
/// no engine has a weaker lock at every isolation level.
fn lock_of(locks: &[ast::LockClause]) -> Result<Locking, SqlError> {
    let mut all = LockFor::Read;
    let mut names = Vec::new();
    for lock in locks {
        let lock_for = match lock.nonblock {
            Some(ast::NonBlock::Nowait) => LockFor::UpdateNoWait,
            Some(ast::NonBlock::SkipLocked) => LockFor::UpdateFree,
            None => LockFor::Update,
        };
        match &lock.of {
            None => all = all.max(lock_for),
            Some(name) => names.push((name_parts(name)?.pop().unwrap_or_default(), lock_for)),
        }
    }
    Ok(match (all, names.is_empty()) {
        (LockFor::Read, true) => Locking::None,
        (LockFor::Read, false) => Locking::Of(names),
        // A lock on all tables takes the strongest option that is given for any of them.
        _ => Locking::All(names.iter().fold(all, |all, (_, lock)| all.max(*lock))),
    })
}

/// Makes the error for FOR UPDATE of a query whose rows are not rows of tables.
fn no_rows_to_lock(unique: bool, grouped: bool, without_calls: bool, without_sets: bool) -> SqlError {
    let what = match (unique, grouped, without_calls) {
        (true, ..) => "DISTINCT clause",
        (false, true, true) => "GROUP BY clause",
        (false, true, false) => "aggregate functions",
        (false, false, _) if without_sets => "window functions",
        (false, false, _) => "set-returning functions in the target list",
    };
    SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("FOR UPDATE is not allowed with {what}"))
}

/// Returns the expressions that are evaluated over the groups or over the window functions' rows: those of the select
/// list and of ORDER BY.
fn above<'o>(output: &'o Output, orders: &'o [Order]) -> impl Iterator<Item = &'o Expr> {
    output.exprs.iter().chain(orders.iter().map(|order| &order.expr))
}

fn refuse_exotic(select: &ast::Select) -> Result<(), SqlError> {
    let what = if select.into.is_some() {
        "SELECT INTO"
    } else if select.qualify.is_some() {
        "QUALIFY"
    } else if select.top.is_some() || !select.lateral_views.is_empty() || select.prewhere.is_some() {
        "this clause"
    } else {
        return Ok(());
    };
    Err(unsupported(what))
}
