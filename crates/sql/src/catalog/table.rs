//! Tables: their columns, keys, defaults and constraints.

use super::expected::ExpectedRows;
use super::expression::{Check, DefaultValue};
use super::foreign_key::{ForeignKey, Referrer};
use crate::table_lock::TableLock;
use crate::{SqlError, schema, state};
use hotrow_storage::{IndexId, IndexKind, IndexRef, Key, KeySpec, Row, RowLayout, RowRef, TableId, TableSchema, Value};
use hotrow_sync::Arc;
use hotrow_sync::atomic::{AtomicI64, Ordering};
use hotrow_txn::Engine;
use std::collections::BTreeMap;

/// The name of the hidden key column of a table without a primary key. No identifier can be empty.
pub const HIDDEN: &str = "";

/// The part of a table or view that a comment describes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The table or view as a whole.
    Whole,
    /// A column.
    Column(String),
    /// A constraint.
    Constraint(String),
    /// An index.
    Index(String),
}

/// Comments on a relation and its parts.
pub type Comments = BTreeMap<Part, String>;

/// Moves a comment when the part that it describes is renamed.
pub fn rename_comment(comments: &mut Comments, part: fn(String) -> Part, old: &str, new: &str) {
    if let Some(comment) = comments.remove(&part(old.to_owned())) {
        comments.insert(part(new.to_owned()), comment);
    }
}

/// The properties of a table that its engine schema lacks: defaults, constraints and comments.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The DEFAULT of each column, if it has one.
    pub defaults: Vec<Option<DefaultValue>>,
    /// CHECK constraints, in the order of their names as PostgreSQL checks them.
    pub checks: Vec<Check>,
    /// The name of the primary key constraint; none if the key is hidden.
    pub primary_key: Option<String>,
    /// The names of the schema's indexes that UNIQUE constraints made.
    pub unique_constraints: Vec<String>,
    /// The identity columns, and of each whether only its sequence may give it a value (GENERATED ALWAYS).
    pub identities: Vec<(usize, bool)>,
    /// The table's FOREIGN KEY constraints, in the order in which they were made.
    pub foreign_keys: Vec<ForeignKey>,
    /// The foreign keys that refer to this table.
    pub referrers: Vec<Referrer>,
    /// The comments on the table and its parts.
    pub comments: Comments,
}

/// A table's definition.
#[derive(Debug)]
pub struct Table {
    /// The engine's number of the table.
    pub id: TableId,
    /// The names of the table and its columns, the columns' types, and the indexes.
    pub schema: Arc<TableSchema>,
    /// The places of the columns within a row.
    pub layout: Arc<RowLayout>,
    /// The specification of the primary key.
    pub key: KeySpec,
    /// The specifications of the secondary indexes' keys.
    pub index_keys: Vec<KeySpec>,
    /// The defaults, constraints and comments.
    pub rules: Rules,
    /// The next value of the hidden key. Later definitions of the table that keep its rows share it.
    pub row_ids: Arc<AtomicI64>,
    /// The lock on the table's name.
    pub lock: Arc<TableLock>,
    /// The estimate of the table's number of rows.
    pub expected_rows: ExpectedRows,
}

impl Table {
    /// The definition of an engine's table.
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
        let expected_rows = ExpectedRows::default();
        Arc::new(Self { id, layout, key, index_keys, rules, row_ids, lock, schema, expected_rows })
    }

    /// Makes another definition of the same engine's table, with other names, defaults or constraints.
    pub fn with(&self, schema: Arc<TableSchema>, rules: Rules) -> Arc<Self> {
        Self::over(self.id, schema, self.layout.clone(), rules, self.row_ids.clone(), self.lock.clone())
    }

    /// The table's [full name](schema).
    pub fn name(&self) -> &str {
        &self.schema.name
    }

    /// The table's name without its schema.
    pub fn plain_name(&self) -> &str {
        schema::plain(self.name())
    }

    /// The name of the table's schema.
    pub fn schema_name(&self) -> &str {
        schema::split(self.name()).0
    }

    /// The full name of an index or constraint of the table, which is in the table's schema.
    pub fn name_beside(&self, name: &str) -> String {
        schema::full(self.schema_name(), name)
    }

    /// The number of columns that `*` stands for.
    pub fn visible(&self) -> usize {
        self.schema.columns.len() - usize::from(self.is_key_hidden())
    }

    /// Whether the key is a row number that users do not see.
    pub fn is_key_hidden(&self) -> bool {
        self.schema.columns.last().is_some_and(|column| column.name == HIDDEN)
    }

    /// The primary key of a row.
    pub fn key_of(&self, row: RowRef<'_>) -> Key {
        self.key.key(self.key.parts().iter().map(|part| row.value(part.column)))
    }

    /// Gives a row its hidden key, if the table has one.
    pub fn number_row(&self, row: &mut Row) {
        if self.is_key_hidden() {
            let number = self.row_ids.fetch_add(1, Ordering::AcqRel);
            row.change(|row| row.set_int8(self.schema.columns.len() - 1, number));
        }
    }

    /// An index's name for messages.
    pub fn index_name(&self, index: IndexRef) -> &str {
        match index {
            IndexRef::Primary => self.rules.primary_key.as_deref().unwrap_or("row number"),
            IndexRef::Secondary(IndexId(at)) => &self.schema.indexes[usize::from(at)].name,
        }
    }

    /// An index's columns, in key order.
    pub fn index_columns(&self, index: IndexRef) -> &[usize] {
        match index {
            IndexRef::Primary => &self.schema.key,
            IndexRef::Secondary(IndexId(at)) => &self.schema.indexes[usize::from(at)].columns,
        }
    }

    /// How an index's keys are made.
    pub fn index_key(&self, index: IndexRef) -> &KeySpec {
        match index {
            IndexRef::Primary => &self.key,
            IndexRef::Secondary(IndexId(at)) => &self.index_keys[usize::from(at)],
        }
    }

    /// Whether an index serves ranges.
    pub fn is_ordered(&self, index: IndexRef) -> bool {
        match index {
            IndexRef::Primary => self.schema.ordered,
            IndexRef::Secondary(IndexId(at)) => self.schema.indexes[usize::from(at)].kind == IndexKind::Ordered,
        }
    }

    /// All indexes, the primary key first.
    pub fn indexes(&self) -> impl Iterator<Item = IndexRef> {
        let secondary = (0..self.schema.indexes.len()).map(|at| IndexRef::Secondary(IndexId(at as u16)));
        std::iter::once(IndexRef::Primary).chain(secondary)
    }

    /// Whether some index or constraint of the table has this name.
    pub fn has_name(&self, name: &str) -> bool {
        self.rules.primary_key.as_deref() == Some(name)
            || self.rules.checks.iter().any(|check| check.name == name)
            || self.schema.indexes.iter().any(|index| index.name == name)
            || self.foreign_key(name).is_some()
    }

    /// The values of a row, for messages: `(1, abc, null)`.
    pub fn describe_row(&self, row: RowRef<'_>) -> String {
        let values: Vec<_> = (0..self.visible()).map(|column| describe(&row.value(column))).collect();
        format!("({})", values.join(", "))
    }
}

/// The position of a table's column.
pub(crate) fn column_of(table: &Table, name: &str) -> Result<usize, SqlError> {
    let found = table.schema.columns[..table.visible()].iter().position(|column| column.name == name);
    found.ok_or_else(|| {
        let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name());
        SqlError::new(state::UNDEFINED_COLUMN, message)
    })
}

/// A value, for messages.
pub fn describe(value: &Value<'_>) -> String {
    let Some(ty) = crate::types::type_of(value) else { return "null".to_owned() };
    let mut out = bytes::BytesMut::new();
    crate::types::encode_text(value, ty, crate::types::Styles::default(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
