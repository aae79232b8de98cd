//! Views that can be written to: those whose rows are rows of one table or view, and whose columns are its columns.

use super::view::StoredView;
use super::{View, is_system_column};
use crate::depth::with_room;
use crate::parse::names::{fold, object_name};
use crate::parse::trigger::TriggerEvent;
use crate::{SqlError, state};
use sqlparser::ast::{self, Expr, SelectItem, SetExpr, TableFactor};

/// The kinds of changes that a relation takes, as PostgreSQL numbers them in a set of bits.
const EVENTS: [(TriggerEvent, i32); 3] =
    [(TriggerEvent::Update, 1 << 2), (TriggerEvent::Insert, 1 << 3), (TriggerEvent::Delete, 1 << 4)];

/// The set of all kinds of changes.
const ALL: i32 = (1 << 2) | (1 << 3) | (1 << 4);

/// The detail of an error for a view none of whose columns can be written to.
pub const NO_COLUMNS: &str = "Views that have no updatable columns are not automatically updatable.";

const COMPUTED: &str = "View columns that are not columns of their base relation are not updatable.";
const SYSTEM: &str = "View columns that refer to system columns are not updatable.";
const NOT_SINGLE: &str = "Views that do not select from a single table or view are not automatically updatable.";

/// The query of a view that can be written to: it shows rows of one relation.
#[derive(Debug)]
pub struct Updatable<'q> {
    /// The query.
    pub select: &'q ast::Select,
    /// The name of the relation, as the query writes it.
    pub relation: &'q ast::ObjectName,
    /// The full name of the relation, which is a table or view.
    pub below: String,
    /// The alias of the relation.
    pub alias: Option<&'q ast::TableAlias>,
}

impl<'q> Updatable<'q> {
    /// Returns the query of a view in this form. The error is the detail of the message that the view cannot be
    /// written to.
    pub fn of(stored: &'q StoredView, view: View<'_>) -> Result<Self, &'static str> {
        if let Some(detail) = stored.obstacle {
            return Err(detail);
        }
        let mut query = &*stored.query;
        while let SetExpr::Query(inner) = &*query.body {
            query = inner;
        }
        let SetExpr::Select(select) = &*query.body else { return Err(NOT_SINGLE) };
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
    pub fn base_column(&self, column: usize, mut names: impl Iterator<Item = String>) -> Result<usize, &'static str> {
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

/// Checks that a view may have a check option.
///
/// # Errors
/// 0A000 if the view is not automatically updatable.
pub fn check_updatable(stored: &StoredView, view: View<'_>) -> Result<(), SqlError> {
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
pub fn changes_of(name: &str, with_triggers: bool, columns: Option<&[usize]>, view: View<'_>) -> i32 {
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
        let below: Vec<_> = wanted.filter_map(|at| updatable.base_column(at, names.iter().cloned()).ok()).collect();
        let own = if below.is_empty() { 1 << 4 } else { ALL };
        Ok::<_, SqlError>(changes | (own & changes_of(&updatable.below, with_triggers, Some(&below), view)))
    });
    changes.unwrap_or(0)
}

/// Whether a relation takes a kind of change without INSTEAD OF triggers.
pub fn takes(name: &str, event: TriggerEvent, view: View<'_>) -> bool {
    let changes = changes_of(name, false, None, view);
    EVENTS.iter().any(|(known, bit)| *known == event && changes & bit != 0)
}

/// Whether statements may update a column, without INSTEAD OF triggers or with them.
pub fn is_column_updatable(name: &str, column: usize, with_triggers: bool, view: View<'_>) -> bool {
    let wanted = (1 << 2) | (1 << 4);
    changes_of(name, with_triggers, Some(&[column]), view) & wanted == wanted
}
