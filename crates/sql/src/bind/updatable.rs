//! Which views can be written to: those whose rows are rows of one table or view, and whose columns are its columns.

use super::aggregate::aggregate_named;
use crate::catalog::view::StoredView;
use crate::catalog::{View, is_system_column};
use crate::depth::with_room;
use crate::parse::names::{fold, name_parts, object_name};
use crate::parse::trigger::TriggerEvent;
use crate::plan::table_function::TableFunction;
use crate::{SqlError, schema, state};
use sqlparser::ast::{self, Distinct, Expr, GroupByExpr, SelectItem, SetExpr, TableFactor, Visit, Visitor};
use std::ops::ControlFlow;

/// The kinds of changes that a relation takes, as PostgreSQL numbers them in a set of bits.
const EVENTS: [(TriggerEvent, i32); 3] =
    [(TriggerEvent::Update, 1 << 2), (TriggerEvent::Insert, 1 << 3), (TriggerEvent::Delete, 1 << 4)];

/// The set of all kinds of changes.
const ALL: i32 = (1 << 2) | (1 << 3) | (1 << 4);

/// The detail of an error for a view none of whose columns can be written to.
pub(super) const NO_COLUMNS: &str = "Views that have no updatable columns are not automatically updatable.";

const COMPUTED: &str = "View columns that are not columns of their base relation are not updatable.";
const SYSTEM: &str = "View columns that refer to system columns are not updatable.";
const NOT_SINGLE: &str = "Views that do not select from a single table or view are not automatically updatable.";

/// The query of a view that can be written to: it shows rows of one relation.
pub(super) struct Updatable<'q> {
    pub(super) select: &'q ast::Select,
    /// The name of the relation, as the query writes it.
    pub(super) relation: &'q ast::ObjectName,
    /// The full name of the relation, which is a table or view.
    pub(super) below: String,
    pub(super) alias: Option<&'q ast::TableAlias>,
}

impl<'q> Updatable<'q> {
    /// Returns the query of a view in this form. The error is the detail of the message that the view cannot be
    /// written to.
    pub(super) fn of(stored: &'q StoredView, view: View<'_>) -> Result<Self, &'static str> {
        let (mut query, mut has_with, mut has_limit) = (&*stored.query, false, false);
        let select = loop {
            has_with |= query.with.is_some();
            has_limit |= query.limit_clause.is_some() || query.fetch.is_some();
            match &*query.body {
                SetExpr::Select(select) => break select,
                SetExpr::Query(inner) => query = inner,
                SetExpr::SetOperation { .. } => {
                    return Err("Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.");
                }
                _ => return Err(NOT_SINGLE),
            }
        };
        let is_grouped = match &select.group_by {
            GroupByExpr::Expressions(exprs, modifiers) => !exprs.is_empty() || !modifiers.is_empty(),
            GroupByExpr::All(_) => true,
        };
        let mut calls = Calls { view, depth: 0, aggregates: false, windows: false, sets: false };
        // The visitor never breaks.
        let _ = select.projection.visit(&mut calls);
        let obstacles = [
            (
                matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))),
                "Views containing DISTINCT are not automatically updatable.",
            ),
            (is_grouped, "Views containing GROUP BY are not automatically updatable."),
            (select.having.is_some(), "Views containing HAVING are not automatically updatable."),
            (has_with, "Views containing WITH are not automatically updatable."),
            (has_limit, "Views containing LIMIT or OFFSET are not automatically updatable."),
            (calls.aggregates, "Views that return aggregate functions are not automatically updatable."),
            (calls.windows, "Views that return window functions are not automatically updatable."),
            (calls.sets, "Views that return set-returning functions are not automatically updatable."),
        ];
        if let Some((_, detail)) = obstacles.iter().find(|(is_there, _)| *is_there) {
            return Err(detail);
        }
        let [item] = &select.from[..] else { return Err(NOT_SINGLE) };
        let TableFactor::Table { name, alias, args: None, sample: None, .. } = &item.relation else {
            return Err(NOT_SINGLE);
        };
        let written = object_name(name).map_err(|_| NOT_SINGLE)?;
        let fixed = stored.names.relations.iter().find(|(known, _)| *known == written);
        let below = fixed.map_or_else(|| view.find(&written), |(_, full)| full.clone());
        let is_table = view.table(&below).is_some_and(|table| table.rules.materialized.is_none());
        if !item.joins.is_empty() || !(is_table || view.view(&below).is_some()) {
            return Err(NOT_SINGLE);
        }
        Ok(Self { select, relation: name, below, alias: alias.as_ref() })
    }

    /// Returns the position, among columns of these names, of the relation's column that is the view's column at
    /// `column`. The error is the detail of the message that the view's column cannot be written to.
    pub(super) fn base_column(
        &self,
        column: usize,
        mut names: impl Iterator<Item = String>,
    ) -> Result<usize, &'static str> {
        let item = self.select.projection.get(column);
        let Some(wanted) = item.and_then(plain_column) else { return Err(COMPUTED) };
        match names.position(|name| name == wanted) {
            Some(at) => Ok(at),
            None if is_system_column(&wanted) => Err(SYSTEM),
            None => Err(COMPUTED),
        }
    }

    /// Returns the names that the query's FROM item gives to the columns of the relation.
    fn names(&self, view: View<'_>) -> Vec<String> {
        let mut names: Vec<String> = match (view.table(&self.below), view.view(&self.below)) {
            (Some(table), _) => {
                table.schema.columns[..table.visible()].iter().map(|column| column.name.clone()).collect()
            }
            (None, Some(stored)) => stored.columns.iter().map(|column| column.name.clone()).collect(),
            (None, None) => Vec::new(),
        };
        let renamed = self.alias.iter().flat_map(|alias| &alias.columns);
        names.iter_mut().zip(renamed).for_each(|(name, new)| *name = fold(&new.name));
        names
    }
}

/// Returns the name of the column that an item of a select list is, or `None` if it is another expression.
fn plain_column(item: &SelectItem) -> Option<String> {
    let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { return None };
    let mut expr = expr;
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    match expr {
        Expr::Identifier(name) => Some(fold(name)),
        Expr::CompoundIdentifier(names) => names.last().map(fold),
        _ => None,
    }
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
            let is_set = |known: &crate::catalog::procedure::Procedure| {
                known.function.as_ref().is_some_and(|function| function.is_set)
            };
            let is_aggregate = parts.last().is_some_and(|name| aggregate_named(name).is_some());
            self.windows |= call.over.is_some();
            self.aggregates |= call.over.is_none() && (is_aggregate || !call.within_group.is_empty());
            self.sets |= TableFunction::named(&parts).is_some()
                || self.view.routines(&name).iter().any(|known| is_set(known));
        }
        ControlFlow::Continue(())
    }
}

/// Makes the error 55000 for a view that cannot be written to, for the reason that `detail` gives.
pub(super) fn cannot_change(event: TriggerEvent, view: &StoredView, detail: &str) -> SqlError {
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

/// Checks that a view may have a check option.
///
/// # Errors
/// 0A000 if the view is not automatically updatable.
pub(crate) fn check_updatable(stored: &StoredView, view: View<'_>) -> Result<(), SqlError> {
    let found = with_room(|| {
        let updatable = match Updatable::of(stored, view) {
            Ok(updatable) => updatable,
            Err(detail) => return Ok::<_, SqlError>(Some(detail)),
        };
        let names = updatable.names(view);
        let is_plain = |at: usize| updatable.base_column(at, names.iter().cloned()).is_ok();
        Ok((!(0..stored.columns.len()).any(is_plain)).then_some(NO_COLUMNS))
    })?;
    match found {
        None => Ok(()),
        Some(hint) => {
            let message = "WITH CHECK OPTION is supported only on automatically updatable views";
            Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).hint(hint))
        }
    }
}

/// Returns the kinds of changes that a relation takes, as the function `pg_relation_is_updatable` numbers them. With
/// `columns`, only changes count that concern one of these columns. With `with_triggers`, those count, too, that
/// INSTEAD OF triggers make.
pub(crate) fn changes_of(name: &str, with_triggers: bool, columns: Option<&[usize]>, view: View<'_>) -> i32 {
    if let Some(table) = view.table(name) {
        return if table.rules.materialized.is_some() { 0 } else { ALL };
    }
    let Some(stored) = view.view(name) else { return 0 };
    let changes = with_room(|| {
        let mut changes = 0;
        for (event, bit) in EVENTS {
            if with_triggers && stored.is_triggered(event) {
                changes |= bit;
            }
        }
        let Ok(updatable) = Updatable::of(&stored, view) else { return Ok(changes) };
        let names = updatable.names(view);
        let is_wanted = |at: &usize| columns.is_none_or(|columns| columns.contains(at));
        let wanted = (0..stored.columns.len()).filter(is_wanted);
        let below: Vec<_> =
            wanted.filter_map(|at| updatable.base_column(at, names.iter().cloned()).ok()).collect();
        let own = if below.is_empty() { 1 << 4 } else { ALL };
        Ok::<_, SqlError>(changes | (own & changes_of(&updatable.below, with_triggers, Some(&below), view)))
    });
    changes.unwrap_or(0)
}

/// Whether a relation takes a kind of change without INSTEAD OF triggers.
pub(crate) fn takes(name: &str, event: TriggerEvent, view: View<'_>) -> bool {
    let changes = changes_of(name, false, None, view);
    EVENTS.iter().any(|(known, bit)| *known == event && changes & bit != 0)
}

/// Whether statements may update a column, without INSTEAD OF triggers or with them.
pub(crate) fn is_column_updatable(name: &str, column: usize, with_triggers: bool, view: View<'_>) -> bool {
    let wanted = (1 << 2) | (1 << 4);
    changes_of(name, with_triggers, Some(&[column]), view) & wanted == wanted
}
