//! The rows of a server's tables after a run: summed up there, or read back.

use super::failure::explain;
use super::tables::columns;
use super::target::Target;
use futures_util::StreamExt;
use hotrow_protocols::Instance;
use hotrow_protocols::none::NoIsolation;
use hotrow_sql::SqlError;
use hotrow_sql::copy::{CopyFormat, CopyOptions, CopyReader};
use hotrow_sql::types::{Styles, decode_text_borrowed};
use hotrow_storage::{Row, RowLayout, TableId, TableSchema, Value};
use hotrow_sync::Arc;
use hotrow_txn::Engine;
use hotrow_workloads::{Violation, Workload};
use tokio::runtime::Runtime;

/// A reader of a server's tables, which no client changes meanwhile. A table that cannot be read is a violation.
pub(crate) struct TableReader<'a> {
    pub(super) target: &'a Target,
    pub(super) runtime: &'a Runtime,
}

impl TableReader<'_> {
    /// Runs queries of one row each, and returns the count and the sum in each row.
    pub(super) fn sums<const N: usize>(&self, queries: [&str; N]) -> Result<[[i64; 2]; N], Violation> {
        let mut sums = [[0; 2]; N];
        for (sum, sql) in sums.iter_mut().zip(queries) {
            *sum = self.sum(sql).map_err(|error| {
                Violation::Corruption(format!("the tables could not be summed up: {}", explain(&error)))
            })?;
        }
        Ok(sums)
    }

    fn sum(&self, sql: &str) -> Result<[i64; 2], tokio_postgres::Error> {
        let row = self.runtime.block_on(self.target.admin.query_one(sql, &[]))?;
        // The sum of no rows is NULL.
        Ok([row.try_get::<_, i64>(0)?, row.try_get::<_, Option<i64>>(1)?.unwrap_or(0)])
    }

    /// Checks a table whose rows each count their updates in a column: it must have `loaded` rows, whose counts add up
    /// to the `committed` updates.
    pub(super) fn counters(&self, table: &str, column: &str, loaded: u64, committed: u64) -> Result<(), Violation> {
        let [[rows, sum]] = self.sums([&format!("SELECT count(*), sum({column})::bigint FROM {table}")])?;
        if rows != loaded as i64 {
            return Err(Violation::Corruption(format!("the table has {rows} rows, not the {loaded} loaded")));
        }
        if sum != committed as i64 {
            let what = format!("the counters add up to {sum}, but {committed} increments were committed");
            return Err(Violation::Anomaly(what));
        }
        Ok(())
    }

    /// Reads all rows of a workload's tables from the server into a new database of this process.
    pub(super) fn read_back<W: Workload>(&self, workload: &W) -> Result<Arc<Instance<NoIsolation>>, Violation> {
        let instance = Instance::<NoIsolation>::new(<NoIsolation as hotrow_txn::Protocol>::Config::default());
        for schema in workload.schemas() {
            let table = instance.create_table(schema.clone());
            self.read_table(&*instance, table, &schema).map_err(|error| {
                Violation::Corruption(format!("the rows of {} could not be read: {error}", schema.name))
            })?;
        }
        Ok(instance)
    }

    fn read_table(&self, engine: &dyn Engine, table: TableId, schema: &TableSchema) -> Result<(), String> {
        let names = columns(schema);
        let sql = format!("COPY {} ({}) TO STDOUT", schema.name, names.join(", "));
        let options = CopyOptions::new(CopyFormat::Text);
        let owned = names.iter().map(|&name| name.to_owned()).collect();
        let mut reader = CopyReader::new(options, &schema.name, owned);
        let mut loader =
            RowLoader { engine, table, schema, layout: Arc::new(RowLayout::new(&schema.columns)), rows: 0 };
        self.runtime.block_on(async {
            let stream = self.target.admin.copy_out(&sql).await.map_err(|error| explain(&error))?;
            let mut stream = std::pin::pin!(stream);
            while let Some(piece) = stream.next().await {
                reader.feed(&piece.map_err(|error| explain(&error))?);
                loader.load_arrived(&mut reader)?;
            }
            reader.finish();
            loader.load_arrived(&mut reader)
        })
    }
}

/// Loads the rows of a table that come from a server.
struct RowLoader<'a> {
    engine: &'a dyn Engine,
    table: TableId,
    schema: &'a TableSchema,
    layout: Arc<RowLayout>,
    rows: i64,
}

impl RowLoader<'_> {
    /// Loads all rows that have come in full.
    fn load_arrived(&mut self, reader: &mut CopyReader) -> Result<(), String> {
        let message = |error: SqlError| error.to_string();
        while let Some(row) = reader.next_row().map_err(message)? {
            self.rows += 1;
            let mut values = Vec::with_capacity(self.schema.columns.len());
            for (number, column) in self.schema.columns.iter().enumerate() {
                values.push(if column.name.is_empty() {
                    // The hidden key of a table without a primary key: any number that no other row has.
                    Value::Int8(self.rows)
                } else {
                    match row.text(number).map_err(message)? {
                        None => Value::Null,
                        Some(text) => decode_text_borrowed(column.ty, text, Styles::default()).map_err(message)?,
                    }
                });
            }
            let row = Row::from_values(&self.layout, &values);
            self.engine.load(self.table, row.as_ref()).map_err(|_| format!("row {} is there twice", self.rows))?;
        }
        Ok(())
    }
}
