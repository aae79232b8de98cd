//! The properties of a table that a redo sink needs to keep its rows.

use hotrow_storage::{Key, KeySpec, Row, RowLayout, RowRef, TableId, TableSchema};
use hotrow_sync::Arc;

/// The final effect of a transaction on a row: the table, the primary key, and the row, or `None` if it was deleted.
pub(crate) type Left = (TableId, Key, Option<Row>);

/// The definition of a table, with the layout of its rows and the rule for its keys, which follow from it.
pub(crate) struct RedoTable {
    pub(crate) schema: TableSchema,
    pub(crate) layout: Arc<RowLayout>,
    key: KeySpec,
}

impl RedoTable {
    pub(crate) fn new(schema: &TableSchema) -> Arc<Self> {
        Arc::new(Self {
            schema: schema.clone(),
            layout: Arc::new(RowLayout::new(&schema.columns)),
            key: KeySpec::new(&schema.columns, &schema.key),
        })
    }

    pub(crate) fn key(&self, row: RowRef<'_>) -> Key {
        self.key.key(self.key.parts().iter().map(|part| row.value(part.column)))
    }

    pub(crate) fn copy(&self, row: RowRef<'_>) -> Row {
        let mut copy = Row::new(&self.layout);
        copy.copy_from(row);
        copy
    }
}
