//! The memory that a workload's rows need, beside the memory that this machine has.

use super::host::Host;
use crate::error::BenchError;
use hotrow_storage::{INLINE_LIMIT, RowLayout, TableSchema, Type};
use hotrow_workloads::Workload;

/// Estimates the bytes that a workload's rows need under one engine.
pub(crate) fn needed_bytes<W: Workload>(workload: &W) -> u64 {
    let tables = workload.schemas().into_iter().zip(workload.rows_of_tables());
    tables.fold(0, |sum: u64, (schema, rows)| sum.saturating_add(rows.saturating_mul(row_bytes(&schema))))
}

/// Estimates the bytes of one row: its fixed part, its longest strings beside that part, and its record and index
/// entries.
fn row_bytes(schema: &TableSchema) -> u64 {
    /// A record's header and key, and its entries in the indexes.
    const OVERHEAD_BYTES: u64 = 48;
    let beside = schema.columns.iter().map(|column| match column.ty {
        Type::Char(n) if n > INLINE_LIMIT => u64::from(n),
        _ => 0,
    });
    RowLayout::new(&schema.columns).fixed_size() as u64 + beside.sum::<u64>() + OVERHEAD_BYTES
}

/// Refuses a load that this machine's memory cannot hold, since the system would end the program in the middle of it.
/// `what` names the load in the message. A machine whose memory is unknown refuses nothing.
pub(crate) fn refuse_if_too_large(needed_bytes: u64, what: impl Fn() -> String) -> Result<(), BenchError> {
    let memory_bytes = Host::detect().memory_bytes();
    if memory_bytes == 0 || needed_bytes <= memory_bytes {
        return Ok(());
    }
    let gibibytes = |bytes: u64| bytes.div_ceil(1 << 30);
    let (needed, memory) = (gibibytes(needed_bytes), gibibytes(memory_bytes));
    Err(BenchError::Usage(format!("{} need {needed} GiB, but this machine has {memory} GiB", what())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use hotrow_workloads::tpcc::{Options, Tpcc};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn each_table_counts_with_rows_of_its_own_size() {
        let line = Line::parse_from(["tpcc", "--warehouses", "3"]);
        let workload = Tpcc::new(line.options).expect("good options");
        let (schemas, rows) = (workload.schemas(), workload.rows_of_tables());
        let sizes: Vec<_> = schemas.iter().map(row_bytes).collect();
        let stock = schemas.iter().position(|schema| schema.name == "stock").expect("a table of TPC-C");
        assert_eq!(rows[stock], 300_000);
        assert!(sizes[stock] > 300, "a row of stock has ten strings of 24 characters: {sizes:?}");
        let needed = needed_bytes(&workload);
        assert!(needed > rows[stock] * sizes[stock], "{needed} bytes for all tables, with {sizes:?} for {rows:?}");
        let largest = sizes.iter().max().expect("nine tables");
        assert!(
            needed < workload.rows() * largest / 2,
            "most rows are smaller than the largest: {sizes:?} for {rows:?}"
        );
    }
}
