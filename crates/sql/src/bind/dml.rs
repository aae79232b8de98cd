//! INSERT, UPDATE, DELETE.

use super::binder::{Binder, span_of};
use super::condition::conjuncts;
use super::group::{Columns, Item, Source as FromItem};
use super::path;
use super::query::{Bound, From, Locking, Output, PlanWithColumns, computed};
use super::scope::Scope;
use super::target::Target;
use super::typed::Typed;
use crate::catalog::Table;
use crate::error::unsupported;
use crate::expr::{Expr, RowRules, Strictness};
use crate::parse::names::{fold, name_parts};
use crate::parse::trigger::TriggerEvent;
use crate::plan::{Access, Delete, Insert, Node, OnConflict, Path, Plan, Source, Update};
use crate::{OutputColumn, SqlError, parse, state};
use hotrow_storage::IndexRef;
use hotrow_sync::Arc;
use hotrow_txn::LockFor;
use sqlparser::ast::{self, AssignmentTarget, Expr as A, SetExpr};

/// Refuses a statement that has one of these clauses (a flag says whether it has). The parser accepts them for other
/// dialects, but they do not exist in PostgreSQL and must not be ignored.
fn refuse_foreign(clauses: &[(bool, &str)]) -> Result<(), SqlError> {
    match clauses.iter().find(|(is_there, _)| *is_there) {
        Some((_, word)) => Err(SqlError::new(state::SYNTAX_ERROR, format!("syntax error at or near \"{word}\""))),
        None => Ok(()),
    }
}

/// The value that SET assigns to a column.
enum NewValue<'a> {
    /// An expression, or DEFAULT.
    Expression(&'a A),
    /// A column of a query that is assigned to a list of columns.
    Bound(Typed),
}

impl Binder<'_> {
    pub(super) fn insert(&mut self, insert: &ast::Insert) -> Result<PlanWithColumns, SqlError> {
        refuse_foreign(&[
            (insert.or.is_some(), "OR"),
            (insert.ignore, "IGNORE"),
            (insert.has_table_keyword, "TABLE"),
            (insert.replace_into, "REPLACE"),
            (!insert.into, "INSERT"),
            (insert.priority.is_some(), "INSERT"),
            (!insert.assignments.is_empty(), "SET"),
            (insert.partitioned.is_some() || !insert.after_columns.is_empty(), "PARTITION"),
            (insert.insert_alias.is_some(), "AS"),
            (insert.settings.is_some(), "SETTINGS"),
            (insert.format_clause.is_some(), "FORMAT"),
            (insert.output.is_some(), "OUTPUT"),
        ])?;
        self.changes_rows = true;
        let ast::TableObject::TableName(name) = &insert.table else {
            return Err(unsupported("INSERT into what is no table"));
        };
        let mut target = self.target_named(name, TriggerEvent::Insert)?;
        target.inserts(insert.table_alias.as_ref().map(|alias| fold(&alias.alias)));
        let targets = self.targets(&target, &insert.columns)?;
        let overriding = parse::overrides_identities(insert);
        // Without a list of columns, the values of a short row or of a query go to the first columns.
        let (source, targets) = match &insert.source {
            None => (self.source_of(&target, &[], vec![Vec::new()])?, Vec::new()),
            Some(query) => match &*query.body {
                SetExpr::Values(values) if query.order_by.is_none() && query.limit_clause.is_none() => {
                    let rows = self.rows(&target, &targets, values)?;
                    let width = rows.first().map_or(0, Vec::len);
                    let targets = self.filled(insert, &target, &targets, width)?;
                    let is_given = |at: usize| rows.iter().any(|row| row.get(at).is_some_and(Option::is_some));
                    check_given(&target.table, &targets, is_given, overriding)?;
                    (self.source_of(&target, &targets, rows)?, targets)
                }
                _ => {
                    let (node, width) = self.insert_query(&target, &targets, query)?;
                    let targets = self.filled(insert, &target, &targets, width)?;
                    check_given(&target.table, &targets, |_| true, overriding)?;
                    (Source::Query(node), targets)
                }
            },
        };
        target.check_defaults()?;
        let scope = target.scope();
        let (returning, columns) = self.returning(insert.returning.as_deref(), &scope)?;
        if target.triggered.is_some() {
            return Ok((self.insert_instead(target, insert, source, &targets, returning)?, columns));
        }
        let on_conflict = match &insert.on {
            None => OnConflict::Fail,
            Some(ast::OnInsert::OnConflict(conflict)) => self.on_conflict(&target, conflict, returning.as_deref())?,
            Some(_) => return Err(unsupported("ON DUPLICATE KEY")),
        };
        let table = target.table.clone();
        let changes = match &on_conflict {
            OnConflict::Update(_, update) => &update.assignments[..],
            OnConflict::Fail | OnConflict::Skip(_) => &[],
        };
        let consequences = self.consequences_of_values(&table, true, changes)?;
        let is_left_out = |column: usize| match (&source, targets.iter().position(|target| *target == column)) {
            (_, None) => true,
            (Source::Query(_), Some(_)) => false,
            (Source::Rows(rows), Some(at)) => rows.iter().any(|row| row.get(at).is_none_or(Option::is_none)),
        };
        let defaults = self.defaults_in(&target, is_left_out)?;
        let rules = RowRules { views: target.checks, ..table.rules_of_new_row() };
        let insert = Insert { table, source, targets, defaults, rules, on_conflict, returning, consequences };
        Ok((Plan::Insert(Box::new(insert)), columns))
    }

    fn on_conflict(
        &mut self,
        target: &Target,
        conflict: &ast::OnConflict,
        returning: Option<&[Expr]>,
    ) -> Result<OnConflict, SqlError> {
        let table = &target.table;
        let index = self.conflict_target(target, conflict)?;
        let ast::OnConflictAction::DoUpdate(change) = &conflict.action else { return Ok(OnConflict::Skip(index)) };
        let Some(index) = index else {
            let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
            return Err(SqlError::new(state::SYNTAX_ERROR, message).hint("For example, ON CONFLICT (column_name)."));
        };
        let scope = target.scope_with_excluded();
        let mut assignments = self.assignments(&change.assignments, target, &scope)?;
        // The present row has the key by which it was found.
        let excluded = table.schema.columns.len();
        assignments.retain(|(column, value)| {
            let is_found_by = index == IndexRef::Primary && table.schema.key.contains(column);
            !is_found_by || *value != Expr::Column(excluded + column)
        });
        let rules = self.rules_of_target(target, &assignments);
        if rules.changed(&assignments).any(|column| table.schema.key.contains(&column)) {
            return Err(unsupported("ON CONFLICT DO UPDATE of a column of the primary key"));
        }
        let filter = self.selection(change.selection.as_ref(), &scope)?;
        if assignments.iter().map(|(_, value)| value).chain(&filter).any(Expr::has_subquery) {
            return Err(unsupported("a subquery or a user's function in ON CONFLICT DO UPDATE"));
        }
        let access = Access { table: table.clone(), path: Path::Key(Vec::new()), filter, lock: LockFor::Update };
        let returning = returning.map(<[_]>::to_vec);
        let (source, rechecks, consequences) = (None, false, None);
        let update = Update { access, assignments, rules, moves: false, source, rechecks, returning, consequences };
        Ok(OnConflict::Update(index, Box::new(update)))
    }

    /// Returns the positions, among the target's columns, of those that an INSERT names.
    pub(super) fn targets(&self, target: &Target, columns: &[ast::ObjectName]) -> Result<Vec<usize>, SqlError> {
        if columns.is_empty() {
            return Ok((0..target.width()).collect());
        }
        let mut targets = Vec::with_capacity(columns.len());
        for column in columns {
            let name = name_parts(column)?.pop().unwrap_or_default();
            let at = target.position(&name).map_err(|error| self.locate(error, span_of(column)))?;
            if targets.contains(&at) {
                let error =
                    SqlError::new(state::DUPLICATE_COLUMN, format!("column \"{name}\" specified more than once"));
                return Err(self.locate(error, span_of(column)));
            }
            targets.push(at);
        }
        Ok(targets)
    }

    /// Returns the columns of the target's table that an INSERT of `width` values fills. `targets` are the positions of
    /// the columns that it names.
    ///
    /// # Errors
    /// 42601 if it names more columns than there are values.
    fn filled(
        &self,
        insert: &ast::Insert,
        target: &Target,
        targets: &[usize],
        width: usize,
    ) -> Result<Vec<usize>, SqlError> {
        if width < targets.len() && !insert.columns.is_empty() {
            let error = SqlError::new(state::SYNTAX_ERROR, "INSERT has more target columns than expressions");
            return Err(insert.columns.get(width).map_or(error.clone(), |extra| self.locate(error, span_of(extra))));
        }
        target.places(&targets[..width.min(targets.len())])
    }

    fn rows(
        &mut self,
        target: &Target,
        targets: &[usize],
        values: &ast::Values,
    ) -> Result<Vec<Vec<Option<Expr>>>, SqlError> {
        let width = values.rows.first().map_or(0, |row| row.content.len());
        let mut rows = Vec::with_capacity(values.rows.len());
        for row in &values.rows {
            if row.content.len() != width {
                return Err(SqlError::new(state::SYNTAX_ERROR, "VALUES lists must all be the same length"));
            }
            let is_row = |expr: &A| matches!(expr, A::QualifiedWildcard(..));
            if !row.content.iter().any(is_row) {
                check_width(width, targets.len())?;
            }
            let mut exprs = Vec::with_capacity(width);
            for expr in &row.content {
                if is_row(expr)
                    && let Some(fields) = self.row_variable(expr)?
                {
                    for (_, field) in fields {
                        let at = *targets.get(exprs.len()).ok_or_else(too_many_values)?;
                        exprs.push(Some(self.assign_to(field, target, at)?));
                    }
                    continue;
                }
                let at = *targets.get(exprs.len()).ok_or_else(too_many_values)?;
                exprs.push(self.value_or_default(expr, target, at, &Scope::default())?);
            }
            rows.push(exprs);
        }
        Ok(rows)
    }

    /// Makes the source of an INSERT from rows of values for these columns of the target's table. The source is a query
    /// if the values have subqueries, or if an earlier query of WITH changes rows.
    fn source_of(
        &mut self,
        target: &Target,
        targets: &[usize],
        rows: Vec<Vec<Option<Expr>>>,
    ) -> Result<Source, SqlError> {
        if !rows.iter().flatten().flatten().any(Expr::has_subquery) && !self.follows_change() {
            return Ok(Source::Rows(rows));
        }
        let mut value =
            |(value, &column): (Option<Expr>, &usize)| value.map_or_else(|| self.default_in(target, column), Ok);
        let mut row = |row: Vec<Option<Expr>>| row.into_iter().zip(targets).map(&mut value).collect();
        Ok(Source::Query(computed(rows.into_iter().map(&mut row).collect::<Result<_, _>>()?)))
    }

    /// Binds a value for the column at a position of the target. Returns `None` if it is DEFAULT.
    pub(super) fn value_or_default(
        &mut self,
        expr: &A,
        target: &Target,
        at: usize,
        scope: &Scope,
    ) -> Result<Option<Expr>, SqlError> {
        if is_default(expr) {
            return Ok(None);
        }
        let typed = self.plain(expr, scope, "VALUES")?;
        let assigned = self.assign_to(typed, target, at);
        assigned.map(Some).map_err(|error| match expr {
            A::Value(value) if error.position.is_none() => self.locate(error, value.span),
            _ => error,
        })
    }

    /// Binds the query of an INSERT. Returns it with the number of its columns.
    fn insert_query(
        &mut self,
        target: &Target,
        targets: &[usize],
        query: &ast::Query,
    ) -> Result<(Node, usize), SqlError> {
        let mut bound = self.inner_query(query)?;
        for (at, &column) in targets.iter().enumerate().take(bound.columns.len()) {
            if std::mem::take(&mut bound.loose[at]) {
                // A literal, NULL or parameter gets the type of the column for which it is inserted.
                let (_, declared) = target.column(column);
                self.retype(&mut bound.node, at, declared.ty, Strictness::Assignment)?;
                bound.columns[at].ty = declared.ty;
            }
        }
        self.settle(&mut bound)?;
        let Bound { node, columns, .. } = bound;
        check_width(columns.len(), targets.len())?;
        let mut exprs = Vec::with_capacity(columns.len());
        for (at, (column, &wanted)) in columns.iter().zip(targets).enumerate() {
            let typed = Typed::new(Expr::Column(at), column.ty).of_domain(column.domain);
            exprs.push(self.assign_to(typed, target, wanted)?);
        }
        Ok((Node::Project(Box::new(node), exprs), columns.len()))
    }

    pub(super) fn update(&mut self, update: &ast::Update) -> Result<PlanWithColumns, SqlError> {
        refuse_foreign(&[
            (update.or.is_some(), "OR"),
            (!update.order_by.is_empty(), "ORDER"),
            (update.limit.is_some(), "LIMIT"),
            (update.output.is_some(), "OUTPUT"),
        ])?;
        self.changes_rows = true;
        let from = match &update.from {
            None => &[][..],
            Some(ast::UpdateTableFromKind::AfterSet(from)) => from,
            Some(ast::UpdateTableFromKind::BeforeSet(_)) => return Err(unsupported("FROM before SET")),
        };
        let (mut target, mut from) = self.changed(&update.table, from, TriggerEvent::Update)?;
        let mut assignments = self.assignments(&update.assignments, &target, &from.scope)?;
        let filter = self.selection(update.selection.as_ref(), &from.scope)?;
        let filter = target.restrict(filter);
        let rechecks = self.depends.used.calls.writes && target.triggered.is_none();
        let (mut returning, columns) = self.returning(update.returning.as_deref(), &from.scope)?;
        let table = target.table.clone();
        if target.triggered.is_some() {
            from.group.conditions.extend(conjuncts(filter));
            let beside = look_at_source(&table, &mut assignments);
            let source = self.changing_query(&table, from, beside, false, returning.as_deref_mut())?;
            return Ok((self.instead(target, *source, assignments, returning)?, columns));
        }
        let rules = self.rules_of_target(&target, &assignments);
        let moves = rules.changed(&assignments).any(|column| table.schema.key.contains(&column));
        let consequences = self.consequences_of_values(&table, false, &assignments)?;
        let values = assignments.iter().map(|(_, value)| value);
        let is_plain = !values.chain(&filter).any(Expr::has_subquery) && !self.follows_change();
        if from.group.sources.len() == 1 && is_plain {
            let (access, _) = path::choose(table, filter, LockFor::Update, &[]);
            let source = None;
            let update = Update { access, assignments, rules, moves, source, rechecks, returning, consequences };
            return Ok((Plan::Update(Box::new(update)), columns));
        }
        from.group.conditions.extend(conjuncts(filter));
        let beside = look_at_source(&table, &mut assignments);
        let source = Some(self.changing_query(&table, from, beside, rechecks, returning.as_deref_mut())?);
        let access = by_key(table);
        let update = Update { access, assignments, rules, moves, source, rechecks, returning, consequences };
        Ok((Plan::Update(Box::new(update)), columns))
    }

    /// Returns the target that a statement changes, and the FROM clause that joins it with the other items.
    pub(super) fn changed(
        &mut self,
        target: &ast::TableWithJoins,
        others: &[ast::TableWithJoins],
        event: TriggerEvent,
    ) -> Result<(Target, From), SqlError> {
        let target = self.target(target, event)?;
        let own = 0..target.table.schema.columns.len();
        self.select.columns = own.end;
        let mut from = From { scope: target.scope(), ..From::default() };
        let item = match &target.triggered {
            Some(view) => Item::Rows(Box::new(self.rows_of_view(view, Locking::None)?), None),
            None => {
                self.scans(&target.table);
                Item::Table(target.table.clone(), LockFor::Update)
            }
        };
        from.group.sources.push(FromItem { item, columns: own });
        let others = self.from(others)?;
        from.scope.append(others.scope)?;
        from.group.append(others.group);
        Ok((target, from))
    }

    /// Plans the query that finds the rows to change. Each of its rows has the key of the row to change, the values of
    /// `beside`, the columns of other FROM items to which RETURNING refers, and, if `rechecks` is set, all columns of
    /// the row to change.
    fn changing_query(
        &mut self,
        table: &Table,
        from: From,
        beside: Vec<Expr>,
        rechecks: bool,
        returning: Option<&mut [Expr]>,
    ) -> Result<Box<Node>, SqlError> {
        let own = table.schema.columns.len();
        let mut exprs: Vec<_> = table.schema.key.iter().map(|&column| Expr::Column(column)).collect();
        let keys = exprs.len();
        exprs.extend(beside);
        for expr in returning.into_iter().flatten() {
            look_beside(expr, own, keys, &mut exprs);
        }
        if rechecks {
            exprs.extend((0..own).map(Expr::Column));
        }
        let needed = Columns::of(&exprs);
        let mut planned = self.plan_group(from.group, &needed, &[])?;
        if exprs.iter().any(Expr::has_subquery) {
            planned = planned.kept(&needed);
        }
        for expr in &mut exprs {
            planned.place(expr)?;
        }
        Ok(Box::new(Node::Project(Box::new(planned.node), exprs)))
    }

    /// Binds the assignments of SET. Returns the positions of the columns in the target's table, with their new values.
    pub(super) fn assignments(
        &mut self,
        list: &[ast::Assignment],
        target: &Target,
        scope: &Scope,
    ) -> Result<Vec<(usize, Expr)>, SqlError> {
        let table = &target.table;
        let mut assignments: Vec<(usize, Expr)> = Vec::with_capacity(list.len());
        let mut generated = Vec::new();
        for (written, value) in self.single_assignments(list, scope)? {
            // PostgreSQL takes the `t` of `t.a` for the column.
            let parts = name_parts(written)?;
            let name = parts.first().map_or("", String::as_str);
            let at = target.position(name).map_err(|error| self.locate(error, span_of(written)))?;
            let column = target.place(at)?;
            if parts.len() > 1 {
                return Err(unsupported("assignment to a part of a column"));
            }
            if generated.contains(&column) || assignments.iter().any(|(known, _)| *known == column) {
                let name = &table.schema.columns[column].name;
                let message = format!("multiple assignments to same column \"{name}\"");
                return Err(SqlError::new(state::SYNTAX_ERROR, message));
            }
            let value = match value {
                NewValue::Expression(value) if is_default(value) && table.is_generated(column) => {
                    generated.push(column);
                    continue;
                }
                NewValue::Expression(value) if is_default(value) => self.default_at(target, at)?,
                _ if table.rules.identities.contains(&(column, true)) || table.is_generated(column) => {
                    let message = format!("column \"{name}\" can only be updated to DEFAULT");
                    return Err(generated_always(table, column, message));
                }
                NewValue::Expression(value) => {
                    let typed = self.plain(value, scope, "UPDATE")?;
                    self.assign_to(typed, target, at).map_err(|error| match value {
                        A::Value(value) if error.position.is_none() => self.locate(error, value.span),
                        _ => error,
                    })?
                }
                NewValue::Bound(typed) => self.assign_to(typed, target, at)?,
            };
            assignments.push((column, value));
        }
        Ok(assignments)
    }

    /// Returns the assignments of SET, each of one value to one column. `(a, b) = (1, 2)` becomes two assignments. A
    /// query that is assigned to a list of columns is bound, and becomes an assignment of each of its columns.
    ///
    /// # Errors
    /// 42601 if the numbers of columns and values differ.
    fn single_assignments<'a>(
        &mut self,
        list: &'a [ast::Assignment],
        scope: &Scope,
    ) -> Result<Vec<(&'a ast::ObjectName, NewValue<'a>)>, SqlError> {
        let mut single = Vec::with_capacity(list.len());
        for assignment in list {
            let targets = match &assignment.target {
                AssignmentTarget::ColumnName(target) => {
                    single.push((target, NewValue::Expression(&assignment.value)));
                    continue;
                }
                AssignmentTarget::Tuple(targets) => targets,
            };
            let mut value = &assignment.value;
            while let A::Nested(inner) = value {
                value = inner;
            }
            let values: Vec<_> = match value {
                A::Tuple(values) => values.iter().map(NewValue::Expression).collect(),
                A::Subquery(query) => self.columns_of_row(query, scope)?.into_iter().map(NewValue::Bound).collect(),
                _ => return Err(unsupported("assignment of a row to a list of columns")),
            };
            if targets.len() != values.len() {
                let message = "number of columns does not match number of values";
                return Err(SqlError::new(state::SYNTAX_ERROR, message));
            }
            single.extend(targets.iter().zip(values));
        }
        Ok(single)
    }

    pub(super) fn delete(&mut self, delete: &ast::Delete) -> Result<PlanWithColumns, SqlError> {
        refuse_foreign(&[
            (!delete.tables.is_empty(), "FROM"),
            (!delete.order_by.is_empty(), "ORDER"),
            (delete.limit.is_some(), "LIMIT"),
            (delete.output.is_some(), "OUTPUT"),
        ])?;
        self.changes_rows = true;
        let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &delete.from;
        let [target] = &from[..] else { return Err(unsupported("DELETE from any number of tables but one")) };
        let using = delete.using.as_deref().unwrap_or_default();
        let (mut target, mut from) = self.changed(target, using, TriggerEvent::Delete)?;
        let filter = self.selection(delete.selection.as_ref(), &from.scope)?;
        let filter = target.restrict(filter);
        let rechecks = self.depends.used.calls.writes;
        let (mut returning, columns) = self.returning(delete.returning.as_deref(), &from.scope)?;
        let table = target.table.clone();
        if target.triggered.is_some() {
            from.group.conditions.extend(conjuncts(filter));
            let source = self.changing_query(&table, from, Vec::new(), false, returning.as_deref_mut())?;
            return Ok((self.instead(target, *source, Vec::new(), returning)?, columns));
        }
        let consequences = self.consequences(&table, false, !table.rules.referrers.is_empty())?;
        let is_plain = !filter.iter().any(Expr::has_subquery) && !self.follows_change();
        if from.group.sources.len() == 1 && is_plain {
            let (access, _) = path::choose(table, filter, LockFor::Update, &[]);
            let delete = Delete { access, source: None, rechecks, returning, consequences };
            return Ok((Plan::Delete(Box::new(delete)), columns));
        }
        from.group.conditions.extend(conjuncts(filter));
        let source = Some(self.changing_query(&table, from, Vec::new(), rechecks, returning.as_deref_mut())?);
        let delete = Delete { access: by_key(table), source, rechecks, returning, consequences };
        Ok((Plan::Delete(Box::new(delete)), columns))
    }

    #[allow(clippy::type_complexity, reason = "expressions and their columns, both there or neither")]
    fn returning(
        &mut self,
        items: Option<&[ast::SelectItem]>,
        scope: &Scope,
    ) -> Result<(Option<Vec<Expr>>, Option<Vec<OutputColumn>>), SqlError> {
        let Some(items) = items else { return Ok((None, None)) };
        let output = self.without_aggregates("RETURNING", |binder| binder.output(items, scope))?;
        let Output { mut exprs, columns, loose } = output;
        for at in (0..exprs.len()).filter(|&at| loose[at]) {
            let expr = std::mem::replace(&mut exprs[at], Expr::NULL);
            exprs[at] = self.resolved(Typed::unknown(expr))?.0;
        }
        if exprs.iter().any(Expr::has_subquery) {
            return Err(unsupported("a subquery or a user's function in RETURNING"));
        }
        Ok((Some(exprs), Some(columns)))
    }

    /// Binds an argument of EXECUTE, which must be a constant expression, and casts it to a type.
    pub(crate) fn argument(&mut self, expr: &A, ty: hotrow_storage::Type) -> Result<Expr, SqlError> {
        let typed = self.plain(expr, &Scope::default(), "EXECUTE parameters")?;
        self.coerce(typed, ty, Strictness::Assignment)
    }
}

/// Makes the assignments of an UPDATE refer to values in the rows of the query that finds the rows to change. Returns
/// the expressions of these values. In the rows they come after the key, and count after the table's own columns.
fn look_at_source(table: &Table, assignments: &mut [(usize, Expr)]) -> Vec<Expr> {
    let own = table.schema.columns.len();
    let looks = |(at, (_, value)): (usize, &mut (usize, Expr))| std::mem::replace(value, Expr::Column(own + at));
    assignments.iter_mut().enumerate().map(looks).collect()
}

/// Makes an access whose keys come from another query.
pub(super) fn by_key(table: Arc<Table>) -> Access {
    Access { table, path: Path::Key(Vec::new()), filter: None, lock: LockFor::Update }
}

/// Makes a RETURNING expression refer to the columns of other FROM items in the rows of the query that finds the rows
/// to change. There they come after the key, and `exprs` gets those that it lacks. The first `own` columns are the
/// table's, and stay.
fn look_beside(expr: &mut Expr, own: usize, keys: usize, exprs: &mut Vec<Expr>) {
    match expr {
        Expr::Column(column) if *column >= own => {
            let wanted = Expr::Column(*column);
            let known = exprs[keys..].iter().position(|known| *known == wanted).unwrap_or_else(|| {
                exprs.push(wanted);
                exprs.len() - 1 - keys
            });
            *column = own + known;
        }
        other => other.parts_mut().into_iter().for_each(|part| look_beside(part, own, keys, exprs)),
    }
}

fn is_default(expr: &A) -> bool {
    matches!(expr, A::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

/// Returns the error 428C9 if an INSERT gives a value to a generated column or, unless the statement is `overriding`,
/// to an identity column that is GENERATED ALWAYS. `is_given` tells which of the targets get values.
pub(super) fn check_given(
    table: &Table,
    targets: &[usize],
    is_given: impl Fn(usize) -> bool,
    overriding: bool,
) -> Result<(), SqlError> {
    for (_, &target) in targets.iter().enumerate().filter(|(at, _)| is_given(*at)) {
        let message =
            || format!("cannot insert a non-DEFAULT value into column \"{}\"", table.schema.columns[target].name);
        if table.is_generated(target) {
            return Err(generated_always(table, target, message()));
        }
        if !overriding && table.rules.identities.contains(&(target, true)) {
            let error = generated_always(table, target, message());
            return Err(error.hint("Use OVERRIDING SYSTEM VALUE to override."));
        }
    }
    Ok(())
}

/// Makes the error 428C9 for a value that is given to a generated column, or to an identity column that is GENERATED
/// ALWAYS.
fn generated_always(table: &Table, column: usize, message: String) -> SqlError {
    let name = &table.schema.columns[column].name;
    let detail = match table.is_generated(column) {
        true => format!("Column \"{name}\" is a generated column."),
        false => format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS."),
    };
    SqlError::new(state::GENERATED_ALWAYS, message).detail(detail)
}

pub(super) fn check_width(given: usize, wanted: usize) -> Result<(), SqlError> {
    if given > wanted { Err(too_many_values()) } else { Ok(()) }
}

fn too_many_values() -> SqlError {
    SqlError::new(state::SYNTAX_ERROR, "INSERT has more expressions than target columns")
}
