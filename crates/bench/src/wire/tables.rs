//! A workload's tables on a server: made, filled by COPY, and dropped.
//!
//! The rows are those that the workload loads into any database: it loads them into this process first, and they are
//! copied from there.

use super::failure::explain;
use super::target::Target;
use crate::run::{RunContext, RunFailure};
use bytes::BytesMut;
use futures_util::SinkExt;
use hotrow_protocols::none::NoIsolation;
use hotrow_protocols::{Instance, open};
use hotrow_sql::copy::{CopyFormat, CopyOptions, CopyWriter};
use hotrow_sql::types::Styles;
use hotrow_storage::{Column, IndexRef, TableId, TableSchema, Type, Value};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{Begin, Engine, Isolation, Scan};
use hotrow_workloads::Workload;
use std::ops::ControlFlow;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;

/// The size of the pieces in which rows are sent.
const PIECE_BYTES: usize = 1 << 16;

/// Whether the engine called `engine` can only have tables with a partition key.
pub(super) fn are_partitioned(engine: &str) -> bool {
    let probe = TableSchema::new("probe", vec![Column::new("id", Type::Int4)], &[0]);
    open(engine).is_ok_and(|engine| engine.admits(&probe).is_err())
}

/// Makes an empty table with its indexes on a server.
pub(super) fn create(
    schema: &TableSchema,
    target: &Target,
    partitioned: bool,
    runtime: &Runtime,
) -> Result<(), String> {
    for sql in statements_of(schema, partitioned) {
        runtime.block_on(target.admin.batch_execute(&sql)).map_err(|error| match error.code() {
            Some(code) if *code == SqlState::DUPLICATE_TABLE => {
                format!("the server has a table {} already: drop it, or give --replace-tables", schema.name)
            }
            _ => format!("{}; it was asked to {sql}", explain(&error)),
        })?;
    }
    Ok(())
}

/// Drops the tables of these names, as far as they exist.
pub(super) fn drop_all(names: &[String], target: &Target, runtime: &Runtime) -> Result<(), String> {
    for name in names {
        let dropped = runtime.block_on(target.admin.batch_execute(&format!("DROP TABLE IF EXISTS {name}")));
        dropped.map_err(|error| explain(&error))?;
    }
    Ok(())
}

/// Returns the names of a table's columns. The hidden column of a table without a primary key has none and is left out.
pub(super) fn columns(schema: &TableSchema) -> Vec<&str> {
    schema.columns.iter().map(|column| column.name.as_str()).filter(|name| !name.is_empty()).collect()
}

/// Returns the statements that make a table and its indexes.
fn statements_of(schema: &TableSchema, partitioned: bool) -> Vec<String> {
    let names = |positions: &[usize]| {
        let names: Vec<_> = positions.iter().map(|&at| schema.columns[at].name.as_str()).collect();
        names.join(", ")
    };
    let visible = schema.columns.iter().filter(|column| !column.name.is_empty());
    let mut parts: Vec<String> = visible
        .map(|column| format!("{} {}{}", column.name, column.ty, if column.nullable { "" } else { " NOT NULL" }))
        .collect();
    let is_hidden = schema.key.iter().any(|&at| schema.columns[at].name.is_empty());
    if !is_hidden {
        parts.push(format!("PRIMARY KEY ({})", names(&schema.key)));
    }
    let partition = match schema.key.first() {
        Some(&first) if partitioned => format!(" PARTITION BY HASH ({})", schema.columns[first].name),
        _ => String::new(),
    };
    let mut statements = vec![format!("CREATE TABLE {} ({}){partition}", schema.name, parts.join(", "))];
    statements.extend(schema.indexes.iter().map(|index| {
        let unique = if index.unique { "UNIQUE " } else { "" };
        format!("CREATE {unique}INDEX {} ON {} ({})", index.name, schema.name, names(&index.columns))
    }));
    statements
}

/// Loads the rows of `workload` into this process, where its tables have the numbers `tables`, and copies them from
/// here to the server.
pub(super) fn copy<W: Workload>(
    workload: &W,
    tables: W::Tables,
    target: &Target,
    runtime: &Runtime,
    context: RunContext<'_>,
) -> Result<(), RunFailure> {
    let instance = load_here(workload, tables, context)?;
    for (number, schema) in workload.schemas().iter().enumerate() {
        copy_table(&*instance, TableId(number as u32), schema, target, runtime, context)?;
    }
    Ok(())
}

/// Loads the rows into this process. All tables have ordered keys here, so that rows are copied in the order of their
/// keys, which costs any server least.
fn load_here<W: Workload>(
    workload: &W,
    tables: W::Tables,
    context: RunContext<'_>,
) -> Result<Arc<Instance<NoIsolation>>, RunFailure> {
    let config = <NoIsolation as hotrow_txn::Protocol>::Config::default();
    let instance = Instance::<NoIsolation>::new(config);
    for schema in workload.schemas() {
        instance.create_table(TableSchema { ordered: true, ..schema });
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let load = |progress: &hotrow_workloads::Progress<'_>| workload.load(&*instance, tables, threads, progress);
    context.progress.loading(workload.rows(), context.interrupt, load)?;
    Ok(instance)
}

/// Copies one table, from the first key to the last, and has the server analyse it, which some servers would otherwise
/// do much later.
fn copy_table(
    engine: &dyn Engine,
    table: TableId,
    schema: &TableSchema,
    target: &Target,
    runtime: &Runtime,
    context: RunContext<'_>,
) -> Result<(), RunFailure> {
    let failed = |error: tokio_postgres::Error| {
        RunFailure::Failed(format!("rows of {} could not be copied: {}", schema.name, explain(&error)))
    };
    let names = columns(schema);
    let sql = format!("COPY {} ({}) FROM STDIN", schema.name, names.join(", "));
    let sink = runtime.block_on(target.admin.copy_in::<_, bytes::Bytes>(&sql)).map_err(failed)?;
    let mut sink = std::pin::pin!(sink);
    let types = schema.columns[..names.len()].iter().map(|column| column.ty).collect();
    let mut writer = CopyWriter::new(CopyOptions::new(CopyFormat::Text), types, Styles::default());
    let (mut piece, mut values) = (BytesMut::with_capacity(2 * PIECE_BYTES), Vec::new());
    let mut outcome = Ok(());
    let mut txn = engine.transaction(Waiter::thread(Duration::ZERO));
    let begun = txn.begin(&Begin { read_only: true, ..Begin::at(Isolation::Serializable) });
    let scanned = begun.and_then(|()| {
        txn.scan(&Scan::all(table, IndexRef::Primary), &mut |row| {
            values.clear();
            values.extend((0..names.len()).map(|column| row.value(column)).map(Value::into_owned));
            piece.extend_from_slice(writer.row(&values));
            if piece.len() >= PIECE_BYTES {
                outcome = runtime.block_on(sink.send(piece.split().freeze())).map_err(failed);
            }
            match (&outcome, context.interrupt.is_raised()) {
                (Ok(()), false) => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        })?;
        txn.commit()
    });
    outcome?;
    scanned.map_err(|abort| RunFailure::Failed(format!("the rows of {} could not be read: {abort}", schema.name)))?;
    if context.interrupt.is_raised() {
        return Err(RunFailure::Interrupted);
    }
    runtime
        .block_on(async {
            sink.send(piece.freeze()).await?;
            sink.finish().await?;
            target.admin.batch_execute(&format!("VACUUM ANALYZE {}", schema.name)).await
        })
        .map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_made_as_their_schemas_say() {
        assert_eq!(
            statements_of(&hotrow_workloads::interactive::kv(), false),
            ["CREATE TABLE kv (key bigint NOT NULL, value bigint NOT NULL, PRIMARY KEY (key))"]
        );
        assert_eq!(
            statements_of(&hotrow_workloads::tpcb::history(), false),
            ["CREATE TABLE pgbench_history (tid integer, bid integer, aid integer, delta integer, \
              mtime timestamp without time zone, filler character(22))"]
        );
        let history = statements_of(&hotrow_workloads::tpcc::histories(), true);
        assert!(
            history[0].ends_with("h_data character varying(24) NOT NULL) PARTITION BY HASH (h_w_id)"),
            "{history:?}"
        );
        let forwarding = statements_of(&hotrow_workloads::tatp::call_forwarding(), true);
        assert!(forwarding[0].ends_with("PRIMARY KEY (s_id, sf_type, start_time)) PARTITION BY HASH (s_id)"));
        assert_eq!(forwarding[1], "CREATE INDEX idx_cf ON call_forwarding (s_id)");
    }
}
