//! The partitions of the data, for engines that keep them apart: how many there may be, and which tables can be cut.

use hotrow_storage::TableSchema;

/// The greatest number of partitions of a database.
pub(crate) const PARTITIONS_MAX: usize = 1 << 12;

/// Checks that the partition of each row of a table is known from its key. Rows of a constant table need no partition:
/// transactions read them without visiting one.
///
/// # Errors
/// Fails with a text for users if it is not known. `engine` is the name of the engine that needs to know.
pub(crate) fn check_schema(engine: &str, schema: &TableSchema) -> Result<(), String> {
    let first = schema.key.first().and_then(|&column| schema.columns.get(column));
    let is_integer = first.is_some_and(|column| !column.nullable && column.ty.is_integer());
    let is_known = if schema.partitioned { is_integer } else { schema.constant };
    if is_known {
        return Ok(());
    }
    Err(format!(
        "{engine} keeps partitions apart and needs to know the partition of each row: declare a partition key, PARTITION BY \
         HASH (the first column of the primary key, an integer that is NOT NULL)"
    ))
}
