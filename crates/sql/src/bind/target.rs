//! The relations to which statements write.
//!
//! A statement that writes to a view is bound as a statement that writes to the table below: the columns of the view
//! are names for expressions over the columns of the table, and the conditions of the view are conditions of the
//! statement. So everything behind the binder, such as the access sets of engines that plan, knows only the table. If
//! INSTEAD OF triggers make the change, the statement's target is the view itself (see
//! [`Instead`](crate::plan::Instead)).

use super::binder::Binder;
use super::condition::{conjunction, conjuncts};
use super::query::Locking;
use super::scope::{Relation, Scope, qualified};
use super::select_state::SelectState;
use super::typed::Typed;
use super::view::check_types;
use crate::catalog::updatable::{NO_COLUMNS, Updatable};
use crate::catalog::view::{CheckOption, StoredView};
use crate::catalog::{Declared, DefaultValue, Table, View};
use crate::expr::{Expr, ViewCheck};
use crate::parse::names::{fold, object_name};
use crate::parse::trigger::TriggerEvent;
use crate::{OutputColumn, SqlError, depth, schema, state};
use hotrow_sync::Arc;
use sqlparser::ast;

/// A relation to which a statement writes.
pub(super) struct Target {
    /// The table whose rows change. If triggers make the change, it is the [shape](StoredView::shape) of their view.
    pub(super) table: Arc<Table>,
    /// The view whose INSTEAD OF triggers make the change; `None` if the change is one of the table.
    pub(super) triggered: Option<Arc<StoredView>>,
    /// The kind of the statement.
    pub(super) event: TriggerEvent,
    /// The conditions of the views between the statement and the table.
    pub(super) conditions: Vec<Expr>,
    /// The conditions that new rows must satisfy, because of the check options of these views.
    pub(super) checks: Vec<ViewCheck>,
    /// The full name of the relation that the statement names.
    name: String,
    /// The view that the statement names; `None` if it names a table.
    view: Option<Arc<StoredView>>,
    /// The columns that the statement can name, as expressions over the table's columns.
    relation: Relation,
    /// The column of the table that each column of the relation is, or why it is none.
    places: Vec<Result<usize, ReadOnly>>,
    /// The columns of the table for which the views have defaults.
    defaults: Vec<(usize, DefaultValue)>,
    /// A column of a view that has a default, although it cannot be written to.
    blocked: Option<ReadOnly>,
}

/// A column of a view that cannot be written to.
#[derive(Clone)]
struct ReadOnly {
    column: String,
    /// The name of the view, without its schema.
    view: String,
    /// The number of views above that view.
    above: usize,
    detail: &'static str,
}

impl ReadOnly {
    /// Makes the error 0A000 for a statement that writes to the column.
    fn error(&self, event: TriggerEvent) -> SqlError {
        let verb = if event == TriggerEvent::Insert { "insert into" } else { "update" };
        let message = format!("cannot {verb} column \"{}\" of view \"{}\"", self.column, self.view);
        SqlError::new(state::FEATURE_NOT_SUPPORTED, message).detail(self.detail)
    }
}

impl Target {
    fn new(table: Arc<Table>, name: &str, relation: Relation, event: TriggerEvent) -> Self {
        let places = (0..relation.columns.len()).map(Ok).collect();
        let (conditions, checks, defaults) = (Vec::new(), Vec::new(), Vec::new());
        let (name, triggered, view, blocked) = (name.to_owned(), None, None, None);
        Self { table, triggered, conditions, checks, event, name, view, relation, places, defaults, blocked }
    }

    /// Makes the target that of an INSERT, which may give it an alias. The conditions of views find no rows for it.
    pub(super) fn inserts(&mut self, alias: Option<String>) {
        self.conditions.clear();
        alias.into_iter().for_each(|alias| self.call(alias));
    }

    /// Gives the relation the alias that the statement gives it.
    pub(super) fn call(&mut self, alias: String) {
        (self.relation.name, self.relation.full) = (Some(alias), None);
    }

    /// Returns the scope of the target's columns.
    pub(super) fn scope(&self) -> Scope {
        Scope::of_relation(self.relation.clone())
    }

    /// Returns the scope of INSERT … ON CONFLICT: the target's columns, and `excluded` with those of the row that is
    /// not inserted.
    pub(super) fn scope_with_excluded(&self) -> Scope {
        let mut excluded = self.relation.clone();
        (excluded.name, excluded.full) = (Some("excluded".to_owned()), None);
        let own = self.table.schema.columns.len();
        excluded.columns.iter_mut().for_each(|column| shift(&mut column.expr, own));
        excluded.hidden = excluded
            .hidden
            .iter()
            .cloned()
            .map(|mut column| {
                shift(&mut column.expr, own);
                column
            })
            .collect();
        let mut scope = self.scope();
        scope.relations_mut().push(excluded);
        scope
    }

    /// Returns the full name of the relation that the statement names.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the statement names a view.
    pub(super) fn is_view(&self) -> bool {
        self.view.is_some()
    }

    /// Returns the number of columns.
    pub(super) fn width(&self) -> usize {
        self.relation.columns.len()
    }

    /// Returns the position of the column of this name.
    ///
    /// # Errors
    /// 42703 if there is no such column.
    pub(super) fn position(&self, name: &str) -> Result<usize, SqlError> {
        self.relation.columns.iter().position(|column| column.name == name).ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{}\" does not exist", self.name);
            SqlError::new(state::UNDEFINED_COLUMN, message)
        })
    }

    /// Returns the name and the type of the column at a position.
    pub(super) fn column(&self, at: usize) -> (&str, Declared) {
        let column = &self.relation.columns[at];
        (&column.name, Declared { ty: column.ty, domain: column.domain })
    }

    /// Returns the column at a position, as an expression over the table's columns.
    pub(super) fn value(&self, at: usize) -> &Expr {
        &self.relation.columns[at].expr
    }

    /// Returns the position in the table of the column at a position of the target.
    ///
    /// # Errors
    /// 0A000 if the column is none of the table's.
    pub(super) fn place(&self, at: usize) -> Result<usize, SqlError> {
        self.places[at].clone().map_err(|column| column.error(self.event))
    }

    /// Returns the positions in the table of the columns to which an INSERT gives values.
    ///
    /// # Errors
    /// 0A000 if one of the columns is none of the table's: the first one of the uppermost view that has such a column.
    /// 42601 if two are the same.
    pub(super) fn places(&self, targets: &[usize]) -> Result<Vec<usize>, SqlError> {
        let read_only = targets.iter().filter_map(|&at| self.places[at].as_ref().err());
        if let Some(column) = read_only.min_by_key(|column| column.above) {
            return Err(column.error(self.event));
        }
        let mut places = Vec::with_capacity(targets.len());
        for &at in targets {
            let place = self.place(at)?;
            if places.contains(&place) {
                let message =
                    format!("multiple assignments to same column \"{}\"", self.table.schema.columns[place].name);
                return Err(SqlError::new(state::SYNTAX_ERROR, message));
            }
            places.push(place);
        }
        Ok(places)
    }

    /// Checks that an INSERT can store the defaults of views.
    ///
    /// # Errors
    /// 0A000 if a column with such a default is none of the table's.
    pub(super) fn check_defaults(&self) -> Result<(), SqlError> {
        self.blocked.as_ref().map_or(Ok(()), |column| Err(column.error(self.event)))
    }

    /// Adds the conditions of the views to the condition of a statement.
    pub(super) fn restrict(&mut self, filter: Option<Expr>) -> Option<Expr> {
        if self.conditions.is_empty() {
            return filter;
        }
        let mut all = std::mem::take(&mut self.conditions);
        all.extend(conjuncts(filter));
        conjunction(all)
    }
}

/// Makes the error 55000 for a view that cannot be written to, for the reason that `detail` gives.
fn cannot_change(event: TriggerEvent, view: &StoredView, detail: &str) -> SqlError {
    let (verb, gerund) = match event {
        TriggerEvent::Insert => ("insert into", "inserting into"),
        TriggerEvent::Update => ("update", "updating"),
        TriggerEvent::Delete => ("delete from", "deleting from"),
    };
    let message = format!("cannot {verb} view \"{}\"", schema::plain(&view.name));
    let event = event.name();
    let hint = format!(
        "To enable {gerund} the view, provide an INSTEAD OF {event} trigger or an unconditional ON {event} DO INSTEAD \
         rule."
    );
    SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message).detail(detail).hint(hint)
}

/// Moves the columns in an expression by `distance`.
fn shift(expr: &mut Expr, distance: usize) {
    match expr {
        Expr::Column(column) => *column += distance,
        other => other.parts_mut().into_iter().for_each(|part| shift(part, distance)),
    }
}

impl Binder<'_> {
    /// Returns the target that a statement names.
    ///
    /// # Errors
    /// 55000 if it is a view that cannot be written to, 42809 if its rows cannot be changed, 42P01 if there is no such
    /// relation.
    pub(super) fn target_named(&mut self, name: &ast::ObjectName, event: TriggerEvent) -> Result<Target, SqlError> {
        self.target_within(name, event, false)
    }

    /// Returns the target of a name. `cascaded` says that a view above it checks the conditions of all views below.
    fn target_within(
        &mut self,
        name: &ast::ObjectName,
        event: TriggerEvent,
        cascaded: bool,
    ) -> Result<Target, SqlError> {
        let full = self.found(&object_name(name)?)?;
        if let Some(view) = self.view.view(&full) {
            return self.target_of_view(&view, event, cascaded);
        }
        let table = self.table(name)?;
        table.check_changeable()?;
        Ok(Target::new(table.clone(), table.name(), Relation::table(&table, None, 0), event))
    }

    fn target_of_view(
        &mut self,
        view: &Arc<StoredView>,
        event: TriggerEvent,
        cascaded: bool,
    ) -> Result<Target, SqlError> {
        depth::check()?;
        self.depends.used.add_view(view);
        if view.is_triggered(event) {
            let shape = view.shape(self.view.catalog.lock(&view.name));
            let mut target = Target::new(shape, &view.name, self.relation_of(view), event);
            target.defaults = defaults_of(view, self.view).collect();
            (target.triggered, target.view) = (Some(view.clone()), Some(view.clone()));
            return Ok(target);
        }
        let updatable = Updatable::of(view, self.view).map_err(|detail| cannot_change(event, view, detail))?;
        let select = std::mem::replace(&mut self.select, SelectState::new("the select list of a view"));
        let target =
            self.within_view(view, Locking::None, |binder| binder.target_below(view, &updatable, event, cascaded));
        self.select = select;
        target
    }

    /// Makes the target of a view from that of the relation below it.
    fn target_below(
        &mut self,
        view: &Arc<StoredView>,
        updatable: &Updatable<'_>,
        event: TriggerEvent,
        cascaded: bool,
    ) -> Result<Target, SqlError> {
        let own = view.check_option();
        let all = cascaded || own == Some(CheckOption::Cascaded);
        let mut below = self.target_within(updatable.relation, event, all)?;
        if let Some(alias) = updatable.alias {
            below.call(fold(&alias.name));
            below.relation.rename(alias)?;
        }
        self.select.columns = below.table.schema.columns.len();
        let scope = below.scope();
        let condition = self.selection(updatable.select.selection.as_ref(), &scope)?;
        let output = self.output(&updatable.select.projection, &scope)?;
        check_types(view, &output.columns)?;
        let mut relation = self.relation_of(view);
        for (at, expr) in output.exprs.into_iter().enumerate() {
            let expr = if output.loose[at] { self.resolved(Typed::unknown(expr))?.0 } else { expr };
            relation.columns[at].expr = expr;
        }
        let plain = schema::plain(&view.name).to_owned();
        let names = || below.relation.columns.iter().map(|column| column.name.clone());
        let place = |at: usize| match updatable.base_column(at, names()) {
            Ok(column) => below.places[column].clone().map_err(|below| ReadOnly { above: below.above + 1, ..below }),
            Err(detail) => {
                let (column, view) = (view.columns[at].name.clone(), plain.clone());
                Err(ReadOnly { column, view, above: 0, detail })
            }
        };
        let is_plain = |at: usize| updatable.base_column(at, names()).is_ok();
        if event != TriggerEvent::Delete && !(0..view.columns.len()).any(is_plain) {
            return Err(cannot_change(event, view, NO_COLUMNS));
        }
        let places: Vec<_> = (0..view.columns.len()).map(place).collect();
        for (at, default) in defaults_of(view, self.view) {
            match &places[at] {
                Ok(place) => {
                    below.defaults.retain(|(known, _)| known != place);
                    below.defaults.push((*place, default));
                }
                Err(column) => below.blocked = Some(column.clone()),
            }
        }
        below.conditions.extend(conjuncts(condition.clone()));
        if own.is_some() || cascaded {
            below.checks.extend(condition.map(|condition| ViewCheck { view: plain, condition }));
        }
        Ok(Target { name: view.name.clone(), view: Some(view.clone()), relation, places, ..below })
    }

    /// Makes the FROM item of a view whose columns have the numbers from 0 on.
    fn relation_of(&self, view: &StoredView) -> Relation {
        let (schema, name) = schema::split(&view.name);
        let columns = OutputColumn::of_relation(self.view.catalog.number(&view.name), view.columns.iter().cloned());
        let relation = Relation::new(Some(name.to_owned()), columns, 0);
        Relation { table: Some(name.to_owned()), full: Some(qualified(schema, name)), ..relation }
    }

    /// Returns the value of a column of the target's table for which a statement supplies none: the default of a view,
    /// or else that of the table, or NULL.
    pub(super) fn default_in(&mut self, target: &Target, column: usize) -> Result<Expr, SqlError> {
        let Some((_, default)) = target.defaults.iter().find(|(known, _)| *known == column) else {
            return self.default_of(&target.table, column);
        };
        self.value_without(Some(default), target.table.domain(column))
    }

    /// Returns the value that an UPDATE assigns to the column at a position of the target by DEFAULT: that of the named
    /// relation, or NULL. The defaults of relations below a view do not count.
    pub(super) fn default_at(&mut self, target: &Target, at: usize) -> Result<Expr, SqlError> {
        match &target.view {
            None => self.default_of(&target.table, at),
            Some(view) => self.value_without(view.default(at), view.columns[at].domain),
        }
    }

    /// Returns the bound default of each column of the target's table for which `is_needed` is true. The entry of any
    /// other column, and of a column without a default, is `None`.
    pub(super) fn defaults_in(
        &mut self,
        target: &Target,
        is_needed: impl Fn(usize) -> bool,
    ) -> Result<Vec<Option<Expr>>, SqlError> {
        let is_of_view = |column: usize| target.defaults.iter().any(|(known, _)| *known == column);
        let mut defaults = self.defaults(&target.table, |column| is_needed(column) && !is_of_view(column))?;
        for (column, _) in target.defaults.iter().filter(|(column, _)| is_needed(*column)) {
            defaults[*column] = Some(self.default_in(target, *column)?);
        }
        Ok(defaults)
    }
}

/// Returns the defaults of a view's columns, with the positions of these. A column without a default of its own has
/// that of its domain.
fn defaults_of(view: &StoredView, all: View<'_>) -> impl Iterator<Item = (usize, DefaultValue)> {
    let of_domain = move |at: usize| all.domain_of(view.columns[at].domain?)?.default.clone();
    (0..view.columns.len()).filter_map(move |at| Some((at, view.default(at).cloned().or_else(|| of_domain(at))?)))
}
