//! The table of a trial.

use hotrow_storage::{
    Column, IndexId, IndexKind, IndexRef, IndexSchema, Key, KeySpec, Row, RowLayout, TableId, TableSchema, Type, Value,
};
use hotrow_sync::Arc;
use hotrow_txn::Engine;

/// The positions of the columns.
const ID: usize = 0;
pub const STAMP: usize = 1;
pub const GROUP: usize = 2;
pub const CODE: usize = 3;

/// The secondary index on the column `group`.
pub const BY_GROUP: IndexRef = IndexRef::Secondary(IndexId(0));

/// The unique secondary index on the column `code`, which may be NULL.
pub const BY_CODE: IndexRef = IndexRef::Secondary(IndexId(1));

/// The number of different values of the column `group`.
pub const GROUPS: i32 = 6;

/// The table of a trial. At first it has a row for every other key.
#[derive(Debug)]
pub struct TrialTable {
    pub id: TableId,
    /// The upper bound of the primary keys: all keys are from zero to below it.
    pub keys: i64,
    layout: Arc<RowLayout>,
    group_key: KeySpec,
}

impl TrialTable {
    /// Creates the table and its rows.
    pub fn load(engine: &dyn Engine, keys: i64) -> Result<Self, String> {
        let columns = vec![
            Column::new("id", Type::Int8),
            Column::new("stamp", Type::Int8),
            Column::new("group", Type::Int4),
            Column::nullable("code", Type::Int4),
        ];
        let index = |name: &str, column, unique| IndexSchema {
            name: name.into(),
            columns: vec![column],
            kind: IndexKind::Ordered,
            unique,
        };
        let group_key = KeySpec::bytes(&columns, &[GROUP]);
        let indexes = vec![index("by_group", GROUP, false), index("by_code", CODE, true)];
        let schema = TableSchema { indexes, partitioned: true, ..TableSchema::new("trial", columns, &[ID]) };
        engine.admits(&schema)?;
        let id = engine.create_table(schema);
        let table = Self { id, keys, layout: engine.layout(id), group_key };
        for key in (0..keys).step_by(2) {
            let row = table.row(key, key as i32 % GROUPS, None);
            engine.load(id, row.as_ref()).map_err(|_| format!("row {key} could not be loaded: it is there already"))?;
        }
        Ok(table)
    }

    /// Returns a row with these values.
    pub fn row(&self, key: i64, group: i32, code: Option<i32>) -> Row {
        let code = code.map_or(Value::Null, Value::Int4);
        Row::from_values(&self.layout, &[Value::Int8(key), Value::Int8(0), Value::Int4(group), code])
    }

    /// Returns the key of a group in the index [`BY_GROUP`].
    pub fn group_key(&self, group: i32) -> Key {
        self.group_key.key([Value::Int4(group)])
    }
}
