//! A table's partition key: PARTITION BY HASH, and the PARTITION OF that PostgreSQL wants beside it.
//!
//! Engines that keep partitions apart divide a table by the first column of its primary key, an integer. A table
//! without a primary key has a hidden one, before which its partition key is put.

use super::Fail;
use super::ddl::{Ddl, Draft};
use crate::catalog::Table;
use crate::error::unsupported;
use crate::parse::names::{fold, object_name};
use crate::schema::{duplicate_table, undefined_table};
use crate::{SqlError, state};
use hotrow_storage::TableSchema;
use hotrow_txn::Engine;
use sqlparser::ast::{self, ForValues, FunctionArg, FunctionArgExpr, FunctionArguments};

impl Table {
    /// Returns the column by which engines that keep partitions apart divide the table, or `None` if the table has no
    /// partition key.
    pub(crate) fn partition_key(&self) -> Option<usize> {
        self.schema.partitioned.then(|| self.schema.key[0])
    }
}

impl Ddl<'_> {
    /// Runs CREATE TABLE … PARTITION OF. The engine makes the partitions itself, so this only checks the clauses.
    pub(super) fn create_partition(
        &mut self,
        create: &ast::CreateTable,
        parent: &ast::ObjectName,
    ) -> Result<&'static str, Fail> {
        let (name, parent) = (self.placed(&object_name(&create.name)?, create.temporary)?, self.found(parent)?);
        if self.view().has_relation(&name) {
            if create.if_not_exists {
                self.notice(state::DUPLICATE_TABLE, format!("relation \"{name}\" already exists, skipping"));
                return Ok("CREATE TABLE");
            }
            return Err(duplicate_table(&name).into());
        }
        let table = self.view().table(&parent).ok_or_else(|| undefined_table(&parent))?;
        if table.partition_key().is_none() {
            let message = format!("\"{parent}\" is not partitioned");
            return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message).into());
        }
        if create.partition_by.is_some() {
            return Err(unsupported("a partition with partitions of its own").into());
        }
        if !create.columns.is_empty() || !create.constraints.is_empty() {
            return Err(unsupported("a partition with columns or constraints of its own").into());
        }
        check_bound(create.for_values.as_ref())?;
        let message =
            format!("\"{name}\" is no table of its own: engines that keep partitions divide \"{parent}\" themselves");
        self.notice(state::SUCCESSFUL_COMPLETION, message);
        Ok("CREATE TABLE")
    }
}

/// Returns the position of the column that PARTITION BY names.
pub(super) fn key_of(by: &ast::Expr, schema: &TableSchema) -> Result<usize, SqlError> {
    let ast::Expr::Function(function) = by else {
        return Err(unsupported(&format!("PARTITION BY {by}")).hint("There is PARTITION BY HASH (column)."));
    };
    let strategy = object_name(&function.name)?.name;
    match strategy.as_str() {
        "hash" => {}
        "range" | "list" => {
            let what = format!("PARTITION BY {}", strategy.to_uppercase());
            return Err(unsupported(&what).hint("There is PARTITION BY HASH (column)."));
        }
        _ => {
            let message = format!("unrecognized partitioning strategy \"{strategy}\"");
            return Err(
                SqlError::new(state::INVALID_PARAMETER_VALUE, message).hint("There is PARTITION BY HASH (column).")
            );
        }
    }
    let columns = match &function.args {
        FunctionArguments::List(list) => &list.args[..],
        FunctionArguments::None | FunctionArguments::Subquery(_) => &[],
    };
    let [column] = columns else {
        return Err(unsupported("a partition key of several columns")
            .hint("There is PARTITION BY HASH (column), for the first column of the primary key."));
    };
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Identifier(column))) = column else {
        return Err(unsupported("an expression in a partition key").hint("There is PARTITION BY HASH (column)."));
    };
    let column = fold(column);
    schema.column(&column).ok_or_else(|| {
        let message = format!("column \"{column}\" named in partition key does not exist");
        SqlError::new(state::UNDEFINED_COLUMN, message)
    })
}

/// Checks that a draft, whose primary key must be known, can have its partition key.
pub(super) fn check(draft: &Draft) -> Result<(), SqlError> {
    let Some(at) = draft.partition_key else { return Ok(()) };
    let (schema, column) = (&draft.schema, &draft.schema.columns[at]);
    let name = &column.name;
    if !column.ty.is_integer() {
        return Err(unsupported(&format!("a partition key of type {} (\"{name}\")", column.ty))
            .hint("The partition key is a column of type smallint, integer or bigint."));
    }
    if draft.rules.primary_key.is_none() && column.nullable {
        let what = format!("a partition key that may be null (\"{name}\")");
        return Err(unsupported(&what).hint(format!("Declare it: {name} {} NOT NULL.", column.ty)));
    }
    if !schema.key.contains(&at) {
        let message = "unique constraint on partitioned table must include all partitioning columns";
        let detail = format!(
            "PRIMARY KEY constraint on table \"{}\" lacks column \"{name}\" which is part of the partition key.",
            schema.name
        );
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).detail(detail));
    }
    if schema.key[0] != at {
        let others = schema.key.iter().filter(|&&other| other != at).map(|&other| &schema.columns[other].name);
        let order: Vec<_> = std::iter::once(name).chain(others).map(String::as_str).collect();
        let what = format!("a partition key that is not the first column of the primary key (\"{name}\")");
        return Err(unsupported(&what).hint(format!("Declare it so: PRIMARY KEY ({}).", order.join(", "))));
    }
    Ok(())
}

/// Fails if the engine cannot have a table with this schema.
pub(super) fn check_admitted(engine: &dyn Engine, schema: &TableSchema) -> Result<(), SqlError> {
    engine.admits(schema).map_err(|reason| {
        let message = format!("engine {} cannot have table \"{}\"", engine.info().name, schema.name);
        let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, message).detail(reason);
        if schema.partitioned {
            return error;
        }
        error.hint(
            "Say PARTITION BY HASH (column) after the columns: an integer that is NOT NULL, and the first column of the \
             primary key if there is one.",
        )
    })
}

/// Checks the bound of a partition by the rules that PostgreSQL has for hashed tables.
fn check_bound(values: Option<&ForValues>) -> Result<(), SqlError> {
    let wrong = |message: &str| Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    match values {
        Some(ForValues::With { modulus: 0, .. }) => {
            wrong("modulus for hash partition must be an integer value greater than zero")
        }
        Some(ForValues::With { modulus, remainder }) if remainder >= modulus => {
            wrong("remainder for hash partition must be less than modulus")
        }
        Some(ForValues::With { .. }) => Ok(()),
        Some(ForValues::In(_) | ForValues::From { .. }) => wrong("invalid bound specification for a hash partition"),
        Some(ForValues::Default) | None => wrong("a hash-partitioned table may not have a default partition"),
    }
}
