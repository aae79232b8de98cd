//! FROM: tables, subqueries and joins become sources that are to be joined, with their conditions.
//!
//! A name in FROM is a query of WITH, a system relation, a view, a sequence or a table; [`Binder::named_item`] decides
//! which.

use super::binder::Binder;
use super::condition::conjuncts;
use super::domain::common_domain;
use super::group::{Group, Item, OuterJoin, Shown, Source};
use super::query::{Bound, From, Locking};
use super::scope::{Found, Level, Named, Relation, Scope};
use super::table_function::Written;
use super::target::Target;
use super::typed::Typed;
use crate::error::unsupported;
use crate::expr::{Comparison, Expr};
use crate::parse::names::{fold, name_parts, object_name};
use crate::parse::trigger::TriggerEvent;
use crate::plan::Node;
use crate::plan::table_function::TableFunction;
use crate::{OutputColumn, SqlError, depth, state, system};
use sqlparser::ast::{self, JoinConstraint, JoinOperator, TableFactor, TableFunctionArgs};

/// The kinds of joins that SQL has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Inner,
    Left,
    Right,
    Full,
}

impl Binder<'_> {
    /// Binds a FROM clause. Its columns are numbered from the binder's count on.
    pub(super) fn from(&mut self, items: &[ast::TableWithJoins]) -> Result<From, SqlError> {
        let mut from = From::default();
        for item in items {
            let next = self.joined(item, &from.scope)?;
            from.scope.append(next.scope)?;
            from.group.append(next.group);
        }
        if let Locking::Of(names) = &self.locking
            && let Some((name, _)) = names.iter().find(|(name, _)| !from.scope.has(name))
        {
            let message = format!("relation \"{name}\" in FOR UPDATE clause not found in FROM clause");
            return Err(SqlError::new(state::UNDEFINED_TABLE, message));
        }
        Ok(from)
    }

    /// Returns the target that UPDATE, DELETE or MERGE changes, under the alias that it may have.
    pub(super) fn target(&mut self, relation: &ast::TableWithJoins, event: TriggerEvent) -> Result<Target, SqlError> {
        match &relation.relation {
            TableFactor::Table { name, alias, args: None, sample: None, .. } if relation.joins.is_empty() => {
                let mut target = self.target_named(name, event)?;
                match alias {
                    Some(alias) if !alias.columns.is_empty() => return Err(unsupported("column aliases here")),
                    Some(alias) => target.call(fold(&alias.name)),
                    None => {}
                }
                Ok(target)
            }
            other => Err(unsupported(&format!("a change of {other}"))),
        }
    }

    /// Binds a FROM item with its joins. `before` has the items to its left, to which LATERAL items may refer.
    fn joined(&mut self, item: &ast::TableWithJoins, before: &Scope) -> Result<From, SqlError> {
        depth::check()?;
        let references = self.self_references();
        let mut left = self.factor(&item.relation, before, &Scope::default())?;
        for join in &item.joins {
            let (way, constraint) = way_of(&join.join_operator)?;
            if matches!(way, Way::Right | Way::Full) {
                self.refuse_self_reference(references, "an outer join")?;
            }
            let of_left = self.self_references();
            let right = match way {
                Way::Inner | Way::Left => self.factor(&join.relation, before, &left.scope)?,
                Way::Right | Way::Full => self.factor(&join.relation, before, &Scope::default())?,
            };
            if matches!(way, Way::Left | Way::Full) {
                self.refuse_self_reference(of_left, "an outer join")?;
            }
            left = self.join(left, way, right, constraint)?;
        }
        Ok(left)
    }

    fn factor(&mut self, factor: &TableFactor, before: &Scope, left: &Scope) -> Result<From, SqlError> {
        match factor {
            TableFactor::Table { name, alias, args: None, sample: None, with_ordinality: false, .. } => {
                self.named_item(name, alias.as_ref())
            }
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_offset: false,
                with_offset_alias: None,
                with_ordinality,
            } => {
                let written = Written {
                    function: TableFunction::Unnest,
                    arguments: array_exprs.iter().collect(),
                    numbered: *with_ordinality,
                    alias: alias.as_ref(),
                };
                self.function_item(&written, before, left)
            }
            TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. }
                if let Some(written) = Written::named(name, &args.args, *with_ordinality, alias.as_ref()) =>
            {
                self.function_item(&written, before, left)
            }
            TableFactor::Function { name, args, with_ordinality, alias, .. }
                if let Some(written) = Written::named(name, args, *with_ordinality, alias.as_ref()) =>
            {
                self.function_item(&written, before, left)
            }
            TableFactor::Table { name, alias, args: Some(TableFunctionArgs { args, .. }), with_ordinality, .. }
            | TableFactor::Function { name, args, with_ordinality, alias, .. } => {
                let mut visible = before.clone();
                visible.append(left.clone())?;
                let shape = (*with_ordinality, alias.as_ref());
                match self.json_records(name, args, shape, &visible)? {
                    Some(item) => Ok(item),
                    None => self.function_rows(name, args, shape, visible),
                }
            }
            TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                let mut visible = before.clone();
                visible.append(left.clone())?;
                self.derived(*lateral, subquery, alias.as_ref(), visible)
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let mut visible = before.clone();
                visible.append(left.clone())?;
                let mut inner = self.joined(table_with_joins, &visible)?;
                if let Some(alias) = alias {
                    let columns = inner.scope.relations().iter().flat_map(|relation| &relation.columns);
                    let columns = columns.filter(|column| !column.merged).cloned().collect();
                    let mut relation = Relation { name: Some(fold(&alias.name)), columns, ..Relation::default() };
                    relation.rename(alias)?;
                    *inner.scope.relations_mut() = vec![relation];
                }
                Ok(inner)
            }
            item => Err(unsupported(&format!("the FROM item {item}"))),
        }
    }

    /// Binds a name in FROM: a query of WITH, a system relation, a view, a sequence or a table.
    fn named_item(&mut self, name: &ast::ObjectName, alias: Option<&ast::TableAlias>) -> Result<From, SqlError> {
        if let Some(item) = self.with_item(name, alias)? {
            return Ok(item);
        }
        let written = object_name(name)?;
        self.view.check_database(&written)?;
        if let Some(relation) = system::relation(&written.parts())
            && !self.view.hides_system(&written)
        {
            let columns = relation.all_columns().map(|(name, ty)| OutputColumn::new(name, ty));
            let columns = OutputColumn::of_relation(system::number_of_system_relation(relation), columns);
            let name = Some(relation.name.to_owned());
            let mut item = self.rows_item(Node::System(relation), None, columns, name, alias)?;
            item.scope.relations_mut().iter_mut().for_each(Relation::hide_last);
            return Ok(item);
        }
        let full_name = self.found(&written)?;
        if let Some(view) = self.view.view(&full_name) {
            return self.view_item(&view, alias);
        }
        if let Some(sequence) = self.view.sequence(&full_name) {
            return self.sequence_item(&sequence, alias);
        }
        let table = self.table(name)?;
        let shown = alias.map(|alias| fold(&alias.name));
        let lock = self.locking.of(shown.as_deref().unwrap_or(table.plain_name()));
        if lock != hotrow_txn::LockFor::Read && table.rules.materialized.is_some() {
            let message = format!("cannot lock rows in materialized view \"{}\"", table.plain_name());
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
        }
        let mut relation = Relation::table(&table, shown.as_deref(), self.select.columns);
        if let Some(alias) = alias {
            relation.rename(alias)?;
        }
        self.scans(&table);
        self.item(table.schema.columns.len(), Item::Table(table, lock), relation)
    }

    /// Makes a FROM item of a query's rows.
    pub(super) fn rows_item(
        &mut self,
        node: Node,
        shown: Option<Shown>,
        columns: Vec<OutputColumn>,
        name: Option<String>,
        alias: Option<&ast::TableAlias>,
    ) -> Result<From, SqlError> {
        let width = columns.len();
        let mut relation = Relation::new(name, columns, self.select.columns);
        if let Some(alias) = alias {
            relation.name = Some(fold(&alias.name));
            relation.rename(alias)?;
        }
        self.item(width, Item::Rows(Box::new(node), shown), relation)
    }

    /// Makes a FROM item whose columns get the next numbers of the query.
    fn item(&mut self, width: usize, item: Item, relation: Relation) -> Result<From, SqlError> {
        self.counts.item()?;
        let columns = self.select.add_columns(width);
        let mut scope = Scope::default();
        scope.relations_mut().push(relation);
        Ok(From { group: Group { sources: vec![Source { item, columns }], conditions: Vec::new() }, scope })
    }

    /// Binds a subquery in FROM. If it is LATERAL, it may refer to the items in `visible`.
    fn derived(
        &mut self,
        lateral: bool,
        query: &ast::Query,
        alias: Option<&ast::TableAlias>,
        visible: Scope,
    ) -> Result<From, SqlError> {
        let Some(alias) = alias else {
            let what = if matches!(*query.body, ast::SetExpr::Values(_)) { "VALUES" } else { "subquery" };
            let error = SqlError::new(state::SYNTAX_ERROR, format!("{what} in FROM must have an alias"));
            return Err(error.hint(format!(
                "For example, FROM ({} ...) [AS] foo.",
                if what == "VALUES" { what } else { "SELECT" }
            )));
        };
        if !lateral {
            self.around.beside.push(visible);
            let bound = self.inner_query(query);
            self.around.beside.pop();
            let mut bound = bound?;
            self.settle(&mut bound)?;
            return self.rows_item(bound.node, None, bound.columns, None, Some(alias));
        }
        let (mut bound, level) = self.query_within(query, visible)?;
        self.settle(&mut bound)?;
        let shown = Shown { frame: level.frame, columns: level.columns };
        let shown = (!shown.columns.is_empty()).then_some(shown);
        self.rows_item(bound.node, shown, bound.columns, None, Some(alias))
    }

    fn function_item(&mut self, written: &Written<'_>, before: &Scope, left: &Scope) -> Result<From, SqlError> {
        let mut visible = before.clone();
        visible.append(left.clone())?;
        self.table_function(written, visible)
    }

    /// Calls `bind` for a part of the statement that may refer to the columns of the FROM items in `visible`. Returns
    /// also the columns to which it does refer, or `None` if there are none.
    pub(super) fn looking_at<R>(
        &mut self,
        visible: Scope,
        bind: impl FnOnce(&mut Self) -> Result<R, SqlError>,
    ) -> Result<(R, Option<Shown>), SqlError> {
        let frame = self.counts.new_frame();
        self.around.levels.push(Level { scope: visible, frame, columns: Vec::new() });
        let bound = bind(self);
        let shown = self.around.levels.pop().map(|level| Shown { frame: level.frame, columns: level.columns });
        Ok((bound?, shown.filter(|shown| !shown.columns.is_empty())))
    }

    /// Binds a query that may refer to the columns of `scope` around it. The level that is returned has the columns to
    /// which it does refer.
    pub(super) fn query_within(&mut self, query: &ast::Query, scope: Scope) -> Result<(Bound, Level), SqlError> {
        let frame = self.counts.new_frame();
        self.around.levels.push(Level { scope, frame, columns: Vec::new() });
        let bound = self.inner_query(query);
        let level =
            self.around.levels.pop().unwrap_or_else(|| Level { scope: Scope::default(), frame, columns: Vec::new() });
        Ok((bound?, level))
    }

    fn join(&mut self, mut left: From, way: Way, right: From, constraint: &JoinConstraint) -> Result<From, SqlError> {
        let conditions = match constraint {
            JoinConstraint::None => Vec::new(),
            JoinConstraint::On(condition) => {
                let mut both = left.scope.clone();
                both.append(right.scope.clone())?;
                let typed = self.plain(condition, &both, "JOIN conditions")?;
                let condition = self.condition(typed, "JOIN/ON")?;
                left.scope = both;
                conjuncts(Some(condition))
            }
            JoinConstraint::Using(names) => {
                let mut columns = Vec::with_capacity(names.len());
                for name in names {
                    columns.push(name_parts(name)?.pop().unwrap_or_default());
                }
                self.merge(&mut left.scope, &right.scope, way, &columns)?
            }
            JoinConstraint::Natural => {
                let columns = common_names(&left.scope, &right.scope);
                self.merge(&mut left.scope, &right.scope, way, &columns)?
            }
        };
        if matches!(constraint, JoinConstraint::None) {
            left.scope.append(right.scope)?;
        }
        let mut group = left.group;
        match way {
            Way::Inner => {
                group.append(right.group);
                group.conditions.extend(conditions);
            }
            Way::Left => group = outer_join(group, right.group, conditions, false),
            Way::Right => group = outer_join(right.group, group, conditions, false),
            Way::Full => group = outer_join(group, right.group, conditions, true),
        }
        if way != Way::Inner && group.locks_nullable() {
            let message = "FOR UPDATE cannot be applied to the nullable side of an outer join";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(From { group, scope: left.scope })
    }

    /// Binds USING: returns the conditions of the join, and adds the columns of the right side to `left`.
    fn merge(&mut self, left: &mut Scope, right: &Scope, way: Way, names: &[String]) -> Result<Vec<Expr>, SqlError> {
        let (mut right, mut conditions, mut merged) = (right.clone(), Vec::new(), Vec::new());
        for name in names {
            if merged.iter().any(|known: &Named| known.name == *name) {
                let message = format!("column name \"{name}\" appears more than once in USING clause");
                return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
            }
            let (one, other) = (only_column(left, name, "left")?, only_column(&right, name, "right")?);
            let typed = |named: Named| Typed::new(named.expr, named.ty).of_domain(named.domain);
            let (one, other) = (typed(one), typed(other));
            let domain = common_domain(&[one.clone(), other.clone()]);
            conditions.push(self.compare(Comparison::Equal, one.clone(), other.clone())?.expr);
            let (mut both, ty) = self.unify(vec![one, other], "JOIN/USING")?;
            let expr = match way {
                Way::Inner | Way::Left => both.swap_remove(0),
                Way::Right => both.swap_remove(1),
                Way::Full => Expr::Coalesce(both),
            };
            merged.push(Named { name: name.clone(), ty, domain, expr, merged: false, origin: None });
        }
        for relation in left.relations_mut().iter_mut().chain(right.relations_mut()) {
            for column in &mut relation.columns {
                column.merged |= names.contains(&column.name);
            }
        }
        left.append(right)?;
        left.relations_mut().insert(0, Relation { columns: merged, ..Relation::default() });
        Ok(conditions)
    }
}

fn way_of(operator: &JoinOperator) -> Result<(Way, &JoinConstraint), SqlError> {
    let way = match operator {
        JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (Way::Inner, constraint),
        JoinOperator::CrossJoin(constraint) => (Way::Inner, constraint),
        JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (Way::Left, constraint),
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (Way::Right, constraint),
        JoinOperator::FullOuter(constraint) => (Way::Full, constraint),
        _ => return Err(unsupported("this kind of join")),
    };
    if matches!(way.1, JoinConstraint::None) && !matches!(operator, JoinOperator::CrossJoin(_)) {
        return Err(SqlError::new(state::SYNTAX_ERROR, "syntax error: JOIN needs ON or USING")
            .hint("Say CROSS JOIN for all combinations of rows."));
    }
    Ok(way)
}

/// Makes the group of an outer join. It keeps the rows of `left` that have no match, and those of `right`, too, if
/// `full` is set. `on` has the conditions of the match.
pub(super) fn outer_join(left: Group, right: Group, on: Vec<Expr>, full: bool) -> Group {
    let columns = left.columns().start.min(right.columns().start)..left.columns().end.max(right.columns().end);
    let item = Item::Outer(Box::new(OuterJoin { full, left, right, on }));
    Group { sources: vec![Source { item, columns }], conditions: Vec::new() }
}

/// Returns the column of this name on one side of a join, as USING needs it. An error if there is none or more than
/// one; `side` names the side for the message.
fn only_column(scope: &Scope, name: &str, side: &str) -> Result<Named, SqlError> {
    match scope.find(None, name) {
        Found::Column(named) => Ok(named.clone()),
        Found::Ambiguous => {
            let message = format!("common column name \"{name}\" appears more than once in {side} table");
            Err(SqlError::new(state::AMBIGUOUS_COLUMN, message))
        }
        Found::Nothing => {
            let message = format!("column \"{name}\" specified in USING clause does not exist in {side} table");
            Err(SqlError::new(state::UNDEFINED_COLUMN, message))
        }
    }
}

/// Returns the names of the columns that both sides of a natural join have, in the order of the left side.
fn common_names(left: &Scope, right: &Scope) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let columns = left.relations().iter().flat_map(|relation| &relation.columns).filter(|column| !column.merged);
    for column in columns {
        if !names.contains(&column.name) && !matches!(right.find(None, &column.name), Found::Nothing) {
            names.push(column.name.clone());
        }
    }
    names
}
