//! A database that is a map, for recovery.

use super::history::{Rows, Stored, TableModel};
use hotrow_log::recovery::Target;
use hotrow_storage::{Duplicate, IndexRef, KeySpec, RowRef, TableId, TableSchema};
use hotrow_sync::Mutex;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct MapTarget {
    pub tables: Mutex<BTreeMap<TableId, TableModel>>,
    pub next_table: Mutex<u32>,
}

impl Target for MapTarget {
    fn create_table(&self, table: TableId, schema: &TableSchema) -> Result<(), String> {
        if schema.name == "refused" {
            return Err("a table of this name is refused".to_owned());
        }
        let model = TableModel { schema: schema.clone(), rows: Rows::new() };
        let before = self.tables.lock().expect("no panic under the latch").insert(table, model);
        assert!(before.is_none(), "table {} is made twice", table.0);
        Ok(())
    }

    fn load(&self, table: TableId, rows: &[RowRef<'_>]) -> Result<(), (usize, Duplicate)> {
        let mut tables = self.tables.lock().expect("no panic under the latch");
        let model = tables.get_mut(&table).expect("the table was made");
        let spec = KeySpec::new(&model.schema.columns, &model.schema.key);
        let is_there = |row: &RowRef<'_>| model.rows.insert(spec.key_of(*row), Stored::of(*row)).is_some();
        rows.iter().position(is_there).map_or(Ok(()), |number| Err((number, Duplicate(IndexRef::Primary))))
    }

    fn skip_tables(&self, first: TableId) {
        *self.next_table.lock().expect("no panic under the latch") = first.0;
    }
}
