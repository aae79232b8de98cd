//! Views: named queries. A view's query is bound again for each statement that mentions the view.

use super::table::{numbered_default, numbered_trigger};
use super::trigger::Trigger;
use super::view_options;
pub use super::view_options::CheckOption;
use crate::OutputColumn;
use crate::catalog::{Comments, DefaultValue, Rules, Table};
use crate::depth::Syntax;
use crate::parse::trigger::{TriggerEvent, TriggerTime};
use crate::parse::view_options::ViewOption;
use crate::schema::RelationName;
use crate::table_lock::TableLock;
use crate::types::Styles;
use hotrow_storage::{Column, RowLayout, TableId, TableSchema};
use hotrow_sync::Arc;
use hotrow_sync::atomic::AtomicI64;
use sqlparser::ast;

/// The definition of a view.
#[derive(Clone, Debug)]
pub struct StoredView {
    /// The [full name](crate::schema) of the view.
    pub name: String,
    /// The columns of the view. The query has the same number of columns with the same types, but may have other names.
    pub columns: Vec<OutputColumn>,
    /// The styles in which the query's literals are read: those of the session that created the view.
    pub styles: Styles,
    /// The query, with each `*` of its select lists expanded, so that columns that are added to a table later do not
    /// become columns of the view.
    pub query: Syntax<ast::Query>,
    /// The full names of the tables and views that the query mentions, directly or through other views.
    pub relations: Vec<String>,
    /// The meanings of the names in the query.
    pub names: Meanings,
    /// The comments on the view, its columns and its triggers.
    pub comments: Comments,
    /// The options, in the order in which they were set. No two have the same name.
    pub options: Vec<ViewOption>,
    /// The DEFAULT of each column, which counts before that of the table's column; `None` if the column has none. The
    /// list may be shorter than that of the columns.
    pub defaults: Vec<Option<DefaultValue>>,
    /// The triggers, in the order of their names.
    pub triggers: Vec<Arc<Trigger>>,
    /// The detail of the message that the view cannot be written to, if a clause or a call in the query prevents it.
    /// The binder finds it when the view is defined and when the database is opened.
    pub obstacle: Option<&'static str>,
}

/// The meanings of the names in the query of a view: those that they had when the view was created.
#[derive(Clone, Debug, Default)]
pub struct Meanings {
    /// The names of relations as they are written, each with the full name of its relation.
    pub relations: Vec<(RelationName, String)>,
    /// The names of functions as they are written, each with the [keys](crate::catalog::procedure::key) of the
    /// functions that the query calls by this name.
    pub functions: Vec<(RelationName, Vec<String>)>,
}

/// The query of a materialized view, whose rows are those of a table.
#[derive(Clone, Debug)]
pub struct Materialized {
    /// The query, with the meanings of its names. The view's own name, column names and comments in it may be out of
    /// date: the table's are the valid ones ([`Table::stored_query`](crate::catalog::Table::stored_query)).
    pub query: StoredView,
    /// Whether the table has been filled with the rows of the query. If it has not, statements that read it fail with
    /// 55000.
    pub is_populated: bool,
}

impl StoredView {
    /// Whether the query calls the function of this key.
    pub fn calls(&self, key: &str) -> bool {
        self.names.functions.iter().any(|(_, keys)| keys.iter().any(|known| known == key))
    }

    /// Returns all names under which the system relations number the view and its parts.
    pub fn numbered(&self) -> Vec<String> {
        let triggers = self.triggers.iter().map(|trigger| numbered_trigger(&self.name, &trigger.name));
        let has_default = |at: &usize| self.default(*at).is_some();
        let defaults = (0..self.columns.len()).filter(has_default);
        let defaults = defaults.map(|at| numbered_default(&self.name, &self.columns[at].name));
        std::iter::once(self.name.clone()).chain(triggers).chain(defaults).collect()
    }

    /// Returns the DEFAULT of the column at a position, or `None` if it has none.
    pub fn default(&self, column: usize) -> Option<&DefaultValue> {
        self.defaults.get(column)?.as_ref()
    }

    /// Returns which rows the view's check option covers, or `None` if the view has no check option.
    pub fn check_option(&self) -> Option<CheckOption> {
        view_options::check_option(&self.options)
    }

    /// Whether INSTEAD OF triggers handle an event.
    pub fn is_triggered(&self, event: TriggerEvent) -> bool {
        self.triggers.iter().any(|trigger| trigger.fires(TriggerTime::InsteadOf, event, true))
    }

    /// Returns the rows of the view as a table that no engine has: it has the view's name, columns and triggers, and
    /// the key of a row is the whole row. Triggers are bound and fired for it. `lock` is the lock on the view's name.
    pub fn shape(&self, lock: Arc<TableLock>) -> Arc<Table> {
        let column = |column: &OutputColumn| Column { name: column.name.clone(), ty: column.ty, nullable: true };
        let columns: Vec<_> = self.columns.iter().map(column).collect();
        let layout = Arc::new(RowLayout::new(&columns));
        let key: Vec<_> = (0..columns.len()).collect();
        let schema = Arc::new(TableSchema::new(&self.name, columns, &key));
        let mut defaults = self.defaults.clone();
        defaults.resize(self.columns.len(), None);
        let domains = self.columns.iter().map(|column| column.domain).collect();
        let (triggers, comments) = (self.triggers.clone(), self.comments.clone());
        let rules = Rules { defaults, domains, triggers, comments, ..Rules::default() };
        Table::over(TableId(u32::MAX), schema, layout, rules, Arc::new(AtomicI64::new(1)), lock)
    }
}
