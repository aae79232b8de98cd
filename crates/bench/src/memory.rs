//! What a load needs of this machine's memory.

use crate::BenchError;
use crate::host::Host;
use hotrow_storage::{INLINE_LIMIT, RowLayout, TableSchema, Type};
use hotrow_workloads::Workload;

/// Bytes that a workload's rows need under one engine, about.
pub(crate) fn needed_bytes<W: Workload>(workload: &W) -> u64 {
    workload.rows().saturating_mul(row_bytes(workload))
}

/// Bytes of the workload's largest row, and what goes with it.
pub(crate) fn row_bytes<W: Workload>(workload: &W) -> u64 {
    /// A record's header and key, and its place in the indexes.
    const OVERHEAD_BYTES: u64 = 48;
    workload.schemas().iter().map(schema_bytes).max().unwrap_or(0) + OVERHEAD_BYTES
}

/// The fixed part of a row, and the strings that are as long as they may be beside it.
fn schema_bytes(schema: &TableSchema) -> u64 {
    let beside = schema.columns.iter().map(|column| match column.ty {
        Type::Char(n) if n > INLINE_LIMIT => u64::from(n),
        _ => 0,
    });
    RowLayout::new(&schema.columns).fixed_size() as u64 + beside.sum::<u64>()
}

/// Refuses what this machine's memory cannot hold, before the system ends the program for it. `what` says what it is.
pub(crate) fn refuse_if_too_large(needed_bytes: u64, what: impl Fn() -> String) -> Result<(), BenchError> {
    let memory_bytes = Host::detect().memory_bytes();
    if memory_bytes == 0 || needed_bytes <= memory_bytes {
        return Ok(());
    }
    let gibibytes = |bytes: u64| bytes.div_ceil(1 << 30);
    let (needed, memory) = (gibibytes(needed_bytes), gibibytes(memory_bytes));
    Err(BenchError::Usage(format!("{} need {needed} GiB, but this machine has {memory} GiB", what())))
}
