//! Tables: their columns, keys, defaults and constraints.

use super::expected::ExpectedRows;
use super::expression::{Check, Computed, DefaultValue, RowExpression};
use super::foreign_key::{ForeignKey, Referrer};
use super::index::IndexProperties;
use super::trigger::Trigger;
use super::view::{Materialized, StoredView};
use crate::table_lock::TableLock;
use crate::types::{DomainId, Styles, encode_text, enumeration, type_of};
use crate::{SqlError, schema, state};
use bytes::BytesMut;
use hotrow_storage::{
    IndexId, IndexKind, IndexRef, Key, KeySpec, Row, RowLayout, RowRef, TableId, TableSchema, Type, Value,
};
use hotrow_sync::Arc;
use hotrow_sync::atomic::{AtomicI64, Ordering};
use hotrow_txn::Engine;
use std::collections::BTreeMap;

/// The name of the hidden key column of a table without a primary key. No identifier can be empty.
pub const HIDDEN: &str = "";

/// The first character of the names of the hidden columns of indexes. No identifier has it.
pub const HIDDEN_PREFIX: char = '\0';

/// The part of a table or view to which a comment belongs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The table or view as a whole.
    Whole,
    /// The column of this name.
    Column(String),
    /// The constraint of this name.
    Constraint(String),
    /// The index of this name.
    Index(String),
    /// The trigger of this name.
    Trigger(String),
}

/// The names of PostgreSQL's system columns, which no column of a table may have.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

/// Whether a name is that of a system column.
pub fn is_system_column(name: &str) -> bool {
    SYSTEM_COLUMNS.contains(&name)
}

/// Checks that a column of a table may have a name.
///
/// # Errors
/// 42701 if it is the name of a system column.
pub fn check_column_name(name: &str) -> Result<(), SqlError> {
    if !is_system_column(name) {
        return Ok(());
    }
    let message = format!("column name \"{name}\" conflicts with a system column name");
    Err(SqlError::new(state::DUPLICATE_COLUMN, message))
}

/// The comments on a relation and on its parts, by the part.
pub type Comments = BTreeMap<Part, String>;

/// Moves the comment of a part whose name changes from `old` to `new`. `part` makes the key from a name.
pub fn rename_comment(comments: &mut Comments, part: fn(String) -> Part, old: &str, new: &str) {
    if let Some(comment) = comments.remove(&part(old.to_owned())) {
        comments.insert(part(new.to_owned()), comment);
    }
}

/// The properties of a table that the engine does not know: defaults, constraints and comments.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The DEFAULT of each visible column; `None` if the column has none.
    pub defaults: Vec<Option<DefaultValue>>,
    /// The domain of each visible column; `None` if the column has none. The list is empty if no column has one.
    pub domains: Vec<Option<DomainId>>,
    /// The columns whose values are computed, in the order of their positions.
    pub computed: Vec<Computed>,
    /// CHECK constraints, in the order of their names as PostgreSQL checks them.
    pub checks: Vec<Check>,
    /// The name of the primary key constraint; `None` if the key is hidden.
    pub primary_key: Option<String>,
    /// The names of those indexes that UNIQUE constraints have made.
    pub unique_constraints: Vec<String>,
    /// The properties of indexes that the engine does not know. Indexes with [plain](IndexProperties::is_plain)
    /// properties are not listed.
    pub indexes: Vec<IndexProperties>,
    /// The positions of the identity columns. The flag says whether only the sequence may give the column a value
    /// (GENERATED ALWAYS).
    pub identities: Vec<(usize, bool)>,
    /// The table's FOREIGN KEY constraints, in the order in which they were made.
    pub foreign_keys: Vec<ForeignKey>,
    /// The foreign keys, of this and other tables, that refer to this table.
    pub referrers: Vec<Referrer>,
    /// The triggers, in the order of their names.
    pub triggers: Vec<Arc<Trigger>>,
    /// The comments on the table and its parts.
    pub comments: Comments,
    /// The table's fate at a commit, if it is temporary.
    pub on_commit: OnCommit,
    /// The query of the table's rows, if it is a materialized view.
    pub materialized: Option<Arc<Materialized>>,
}

impl Rules {
    /// Returns the domain of a column, or `None` if the column has none.
    pub fn domain(&self, column: usize) -> Option<DomainId> {
        self.domains.get(column).copied().flatten()
    }

    /// Sets the domain of a visible column.
    pub fn set_domain(&mut self, column: usize, domain: Option<DomainId>) {
        if self.domains.len() <= column {
            if domain.is_none() {
                return;
            }
            self.domains.resize(column + 1, None);
        }
        self.domains[column] = domain;
    }

    /// Returns the expression of a computed column, or `None` if statements give the column its values.
    pub fn computation(&self, column: usize) -> Option<&RowExpression> {
        self.computed.iter().find(|computed| computed.column == column).map(|computed| &computed.value)
    }

    /// Returns the expressions over the columns of a row: those of CHECK constraints and of computed columns.
    pub fn row_expressions(&self) -> impl Iterator<Item = &RowExpression> {
        let conditions = self.checks.iter().map(|check| &check.condition);
        conditions.chain(self.computed.iter().map(|computed| &computed.value))
    }

    /// Returns the expressions over the columns of a row, to change them.
    pub fn row_expressions_mut(&mut self) -> impl Iterator<Item = &mut RowExpression> {
        let conditions = self.checks.iter_mut().map(|check| &mut check.condition);
        conditions.chain(self.computed.iter_mut().map(|computed| &mut computed.value))
    }
}

/// The fate of a temporary table at a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCommit {
    /// The table stays as it is.
    #[default]
    PreserveRows,
    /// The rows are deleted.
    DeleteRows,
    /// The table is dropped.
    Drop,
}

/// The definition of a table, which never changes.
#[derive(Debug)]
pub struct Table {
    /// The engine's number of the table.
    pub id: TableId,
    /// The names of the table and its columns, the columns' types, and the indexes.
    pub schema: Arc<TableSchema>,
    /// The positions of the columns' values within a row.
    pub layout: Arc<RowLayout>,
    /// The specification by which keys of the primary index are made from rows.
    pub key: KeySpec,
    /// The specifications by which keys of the secondary indexes are made, one for each index of the schema.
    pub index_keys: Vec<KeySpec>,
    /// The defaults, constraints and comments.
    pub rules: Rules,
    /// The next value of the hidden key. Later definitions of the table that keep its rows share it.
    pub row_ids: Arc<AtomicI64>,
    /// The lock on the table's name.
    pub lock: Arc<TableLock>,
    /// The estimate of the table's number of rows.
    pub expected_rows: ExpectedRows,
    /// The number of columns before the hidden ones.
    visible: usize,
}

impl Table {
    /// Makes the definition of an engine's table, with the names that the engine knows.
    pub fn new(
        engine: &dyn Engine,
        id: TableId,
        rules: Rules,
        row_ids: Arc<AtomicI64>,
        lock: Arc<TableLock>,
    ) -> Arc<Self> {
        Self::over(id, engine.schema(id), engine.layout(id), rules, row_ids, lock)
    }

    /// Makes a definition whose names may differ from those of the engine's table.
    pub fn over(
        id: TableId,
        schema: Arc<TableSchema>,
        layout: Arc<RowLayout>,
        rules: Rules,
        row_ids: Arc<AtomicI64>,
        lock: Arc<TableLock>,
    ) -> Arc<Self> {
        let key = KeySpec::new(&schema.columns, &schema.key);
        let index_keys = schema.indexes.iter().map(|index| KeySpec::bytes(&schema.columns, &index.columns)).collect();
        let (expected_rows, visible) = (ExpectedRows::default(), visible_columns(&schema));
        Arc::new(Self { id, layout, key, index_keys, rules, row_ids, lock, schema, expected_rows, visible })
    }

    /// Makes another definition of the same engine's table, with other names, defaults or constraints.
    pub fn with(&self, schema: Arc<TableSchema>, rules: Rules) -> Arc<Self> {
        Self::over(self.id, schema, self.layout.clone(), rules, self.row_ids.clone(), self.lock.clone())
    }

    /// Returns the table's [full name](schema).
    pub fn name(&self) -> &str {
        &self.schema.name
    }

    /// Returns the table's name without its schema.
    pub fn plain_name(&self) -> &str {
        schema::plain(self.name())
    }

    /// Returns the name of the schema that the table is in.
    pub fn schema_name(&self) -> &str {
        schema::split(self.name()).0
    }

    /// Returns the full name of an index or constraint of this table. It is in the table's schema.
    pub fn name_beside(&self, name: &str) -> String {
        schema::full(self.schema_name(), name)
    }

    /// Returns the number of columns that `*` stands for. After them come the hidden columns of indexes, and then the
    /// hidden key.
    pub fn visible(&self) -> usize {
        self.visible
    }

    /// Returns the number of columns before the hidden key: those whose values a statement gives or computes.
    pub fn stored(&self) -> usize {
        self.schema.columns.len() - usize::from(self.is_key_hidden())
    }

    /// Returns the domain of a column, whose values have its base type.
    pub fn domain(&self, column: usize) -> Option<DomainId> {
        self.rules.domain(column)
    }

    /// Whether the values of a visible column are computed from other columns.
    pub fn is_generated(&self, column: usize) -> bool {
        column < self.visible && self.rules.computation(column).is_some()
    }

    /// Whether the primary key is a hidden row number, because the table has no PRIMARY KEY.
    pub fn is_key_hidden(&self) -> bool {
        self.schema.columns.last().is_some_and(|column| column.name == HIDDEN)
    }

    /// Returns the primary key that a row's values make.
    pub fn key_of(&self, row: RowRef<'_>) -> Key {
        self.key.key(self.key.parts().iter().map(|part| row.value(part.column)))
    }

    /// Checks that statements may change the table's rows. The rows of a materialized view are those of its query, and
    /// a table that was adopted may be [constant](TableSchema::constant).
    ///
    /// # Errors
    /// 42809 if the table is a materialized view or is constant.
    pub fn check_changeable(&self) -> Result<(), SqlError> {
        let kind = match (&self.rules.materialized, self.schema.constant) {
            (Some(_), _) => "materialized view",
            (None, true) => "constant table",
            (None, false) => return Ok(()),
        };
        Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("cannot change {kind} \"{}\"", self.plain_name())))
    }

    /// Returns the query of the table's rows, under the table's name and with the names of its columns, or `None` if
    /// the table is no materialized view.
    pub fn stored_query(&self) -> Option<Arc<StoredView>> {
        let mut query = self.rules.materialized.as_ref()?.query.clone();
        self.name().clone_into(&mut query.name);
        for (column, stored) in query.columns.iter_mut().zip(&self.schema.columns) {
            column.name.clone_from(&stored.name);
        }
        Some(Arc::new(query))
    }

    /// Returns the word for the kind of relation that the table is, for messages.
    pub fn kind(&self) -> &'static str {
        if self.rules.materialized.is_some() { "materialized view" } else { "table" }
    }

    /// Checks that the table's rows may be read.
    ///
    /// # Errors
    /// 55000 if it is a materialized view that has not been filled yet.
    pub fn check_populated(&self) -> Result<(), SqlError> {
        if self.rules.materialized.as_ref().is_none_or(|materialized| materialized.is_populated) {
            return Ok(());
        }
        let message = format!("materialized view \"{}\" has not been populated", self.plain_name());
        let error = SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        Err(error.hint("Use the REFRESH MATERIALIZED VIEW command."))
    }

    /// Sets the hidden key of a row to the next number. Leaves the row unchanged if the table has no hidden key.
    pub fn number_row(&self, row: &mut Row) {
        if self.is_key_hidden() {
            let number = self.row_ids.fetch_add(1, Ordering::AcqRel);
            row.change(|row| row.set_int8(self.schema.columns.len() - 1, number));
        }
    }

    /// Returns the name of an index, for messages.
    pub fn index_name(&self, index: IndexRef) -> &str {
        match index {
            IndexRef::Primary => self.rules.primary_key.as_deref().unwrap_or("row number"),
            IndexRef::Secondary(IndexId(at)) => &self.schema.indexes[usize::from(at)].name,
        }
    }

    /// Returns the positions of an index's columns, in key order.
    pub fn index_columns(&self, index: IndexRef) -> &[usize] {
        match index {
            IndexRef::Primary => &self.schema.key,
            IndexRef::Secondary(IndexId(at)) => &self.schema.indexes[usize::from(at)].columns,
        }
    }

    /// Returns the specification by which an index's keys are made from rows.
    pub fn index_key(&self, index: IndexRef) -> &KeySpec {
        match index {
            IndexRef::Primary => &self.key,
            IndexRef::Secondary(IndexId(at)) => &self.index_keys[usize::from(at)],
        }
    }

    /// Whether the keys of an index are ordered, so that it serves ranges.
    pub fn is_ordered(&self, index: IndexRef) -> bool {
        match index {
            IndexRef::Primary => self.schema.ordered,
            IndexRef::Secondary(IndexId(at)) => self.schema.indexes[usize::from(at)].kind == IndexKind::Ordered,
        }
    }

    /// Returns all indexes of the table, the primary one first.
    pub fn indexes(&self) -> impl Iterator<Item = IndexRef> {
        let secondary = (0..self.schema.indexes.len()).map(|at| IndexRef::Secondary(IndexId(at as u16)));
        std::iter::once(IndexRef::Primary).chain(secondary)
    }

    /// Returns the name under which the system relations number a constraint of the table.
    pub fn numbered_constraint(&self, constraint: &str) -> String {
        format!("{}\0constraint\0{constraint}", self.name())
    }

    /// Returns the name under which the system relations number the DEFAULT or the generation expression of a column.
    pub fn numbered_default(&self, column: usize) -> String {
        numbered_default(self.name(), &self.schema.columns[column].name)
    }

    /// Returns all names under which the system relations number the table and its parts.
    pub fn numbered(&self) -> Vec<String> {
        let rules = &self.rules;
        let of_indexes = self.schema.indexes.iter().map(|index| &index.name);
        let of_indexes: Vec<_> = rules.primary_key.iter().chain(of_indexes).collect();
        let keys = rules.primary_key.iter().chain(&rules.unique_constraints);
        let constraints = keys
            .chain(rules.checks.iter().map(|check| &check.name))
            .chain(rules.foreign_keys.iter().map(|key| &key.name));
        let mut all = vec![self.name().to_owned()];
        all.extend(of_indexes.into_iter().map(|name| self.name_beside(name)));
        all.extend(constraints.map(|name| self.numbered_constraint(name)));
        all.extend(rules.triggers.iter().map(|trigger| self.numbered_trigger(&trigger.name)));
        let has_default = |column: &usize| {
            rules.defaults.get(*column).is_some_and(Option::is_some) || rules.computation(*column).is_some()
        };
        all.extend((0..self.visible()).filter(has_default).map(|column| self.numbered_default(column)));
        all
    }

    /// Returns the trigger of this name, or `None` if there is none.
    pub fn trigger(&self, name: &str) -> Option<&Arc<Trigger>> {
        self.rules.triggers.iter().find(|trigger| trigger.name == name)
    }

    /// Returns the name under which the system relations number a trigger of the table.
    pub fn numbered_trigger(&self, trigger: &str) -> String {
        numbered_trigger(self.name(), trigger)
    }

    /// Whether some index or constraint of the table has this name.
    pub fn has_name(&self, name: &str) -> bool {
        self.rules.primary_key.as_deref() == Some(name)
            || self.rules.checks.iter().any(|check| check.name == name)
            || self.schema.indexes.iter().any(|index| index.name == name)
            || self.foreign_key(name).is_some()
    }

    /// Formats the visible values of a row for messages: `(1, abc, null)`.
    pub fn describe_row(&self, row: RowRef<'_>) -> String {
        let values: Vec<_> =
            (0..self.visible()).map(|column| describe_as(&row.value(column), self.schema.columns[column].ty)).collect();
        format!("({})", values.join(", "))
    }
}

/// Returns the name under which the system relations number the DEFAULT of a column of a table or view.
pub(super) fn numbered_default(relation: &str, column: &str) -> String {
    format!("{relation}\0default\0{column}")
}

/// Returns the name under which the system relations number a trigger of a table or view.
pub(super) fn numbered_trigger(relation: &str, trigger: &str) -> String {
    format!("{relation}\0trigger\0{trigger}")
}

/// Returns the number of columns of a schema before the hidden ones.
pub fn visible_columns(schema: &TableSchema) -> usize {
    let is_hidden = |name: &str| name == HIDDEN || name.starts_with(HIDDEN_PREFIX);
    let hidden = schema.columns.iter().rev().take_while(|column| is_hidden(&column.name)).count();
    schema.columns.len() - hidden
}

/// Returns the position of the table's visible column of this name.
///
/// # Errors
///
/// 42703 if there is no such column.
pub(crate) fn column_of(table: &Table, name: &str) -> Result<usize, SqlError> {
    let found = table.schema.columns[..table.visible()].iter().position(|column| column.name == name);
    found.ok_or_else(|| {
        let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name());
        SqlError::new(state::UNDEFINED_COLUMN, message)
    })
}

/// Formats a value of a type for messages, in the default styles. A value of an enumerated type is shown as its label,
/// and NULL as `null`.
pub fn describe_as(value: &Value<'_>, ty: Type) -> String {
    match enumeration(ty) {
        Some(_) if !value.is_null() => text_of(value, ty),
        _ => describe(value),
    }
}

/// Formats a value for messages, in the default styles. NULL is shown as `null`, and a value of an enumerated type as
/// the number that stands for it in storage. [`describe_as`] shows its label.
pub fn describe(value: &Value<'_>) -> String {
    type_of(value).map_or_else(|| "null".to_owned(), |ty| text_of(value, ty))
}

fn text_of(value: &Value<'_>, ty: Type) -> String {
    let mut out = BytesMut::new();
    encode_text(value, ty, Styles::default(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
