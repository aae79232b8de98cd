//! Temporary relations: where they go, and what becomes of them at a commit and at DISCARD TEMP.

use super::ddl::{Ddl, Draft};
use super::{Fail, scan};
use crate::catalog::temporary::ALIAS;
use crate::catalog::{OnCommit, Table, is_temporary};
use crate::schema::{RelationName, full, plain};
use crate::{SqlError, state};
use hotrow_storage::Key;
use hotrow_sync::Arc;
use hotrow_txn::Ownership;
use sqlparser::ast;
use std::ops::ControlFlow;

/// The maximum number of rows that a commit deletes one by one. A table with more rows is replaced by an empty one, and
/// the session's plans for the table become out of date.
const FEW_ROWS: usize = 1000;

impl Ddl<'_> {
    /// Returns the full name for a new relation. Unless it is temporary, locks its schema, so that no other transaction
    /// drops the schema before the relation is defined.
    ///
    /// # Errors
    /// 42P16 if the statement says TEMPORARY and the name contains another schema, 3F000 if there is no such schema.
    pub(super) fn placed(&mut self, name: &RelationName, temporary: bool) -> Result<String, Fail> {
        if self.view().is_for_temporary(name) {
            return Ok(full(self.context.temporary_schema(), &name.name));
        }
        if !temporary {
            return self.lasting_place(name);
        }
        if name.schema.is_some() {
            self.view().place(name)?;
            let message = "cannot create temporary relation in non-temporary schema";
            return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message).into());
        }
        Ok(full(self.context.temporary_schema(), &name.name))
    }

    /// Applies the ON COMMIT clauses of the temporary tables before a commit: deletes the rows of some tables, and
    /// drops others.
    pub(crate) fn run_on_commit(&mut self) -> Result<&'static str, Fail> {
        let tables = self.view().temporary_tables();
        for table in tables.iter().filter(|table| table.rules.on_commit == OnCommit::DeleteRows) {
            self.delete_rows(table)?;
        }
        let dropped = tables.iter().filter(|table| table.rules.on_commit == OnCommit::Drop);
        let dropped: Vec<_> = dropped.map(|table| table.name().to_owned()).collect();
        self.drop_tables(&dropped, false, true)?;
        Ok("COMMIT")
    }

    /// Deletes all rows of a temporary table, without firing triggers.
    ///
    /// # Errors
    /// 0A000 if a table that refers to it keeps its rows.
    fn delete_rows(&mut self, table: &Arc<Table>) -> Result<(), Fail> {
        let stays = |child: &&(Arc<Table>, _)| child.0.rules.on_commit == OnCommit::PreserveRows;
        if let Some((child, _)) = self.view().referrers(table).iter().find(stays) {
            let message = "unsupported ON COMMIT and foreign key combination";
            let detail = format!(
                "Table \"{}\" references \"{}\", but they do not have the same ON COMMIT setting.",
                child.plain_name(),
                table.plain_name()
            );
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).detail(detail).into());
        }
        self.txn.own_table(table.id, Ownership::Locked);
        let mut keys: Vec<Key> = Vec::new();
        self.txn.scan(&scan::everything(table), &mut |row| {
            keys.push(table.key_of(row));
            if keys.len() > FEW_ROWS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if keys.len() > FEW_ROWS {
            return self.empty(table);
        }
        for key in &keys {
            self.txn.delete(table.id, key)?;
        }
        Ok(())
    }

    /// Replaces a table by an empty one with the same definition.
    pub(super) fn empty(&mut self, table: &Table) -> Result<(), Fail> {
        self.txn.check_owned_table(table.id)?;
        let draft =
            Draft { schema: (*table.schema).clone(), rules: table.rules.clone(), partition_key: table.partition_key() };
        let empty = self.define(draft, table.row_ids.clone(), table.lock.clone())?;
        self.publish(empty);
        Ok(())
    }

    /// Drops all temporary relations of the session, without notices.
    pub(crate) fn discard_temporary(&mut self) -> Result<&'static str, Fail> {
        let notices = self.notices.len();
        let schema = self.context.temporary_schema().to_owned();
        self.drop_contents(&schema)?;
        self.notices.truncate(notices);
        Ok("DISCARD TEMP")
    }
}

/// Returns the action of the ON COMMIT clause of a new table, which is PRESERVE ROWS without a clause.
///
/// # Errors
/// 42P16 if there is a clause and the table is not temporary.
pub(super) fn on_commit(create: &ast::CreateTable, full_name: &str) -> Result<OnCommit, SqlError> {
    if create.on_commit.is_some() && !is_temporary(full_name) {
        let message = "ON COMMIT can only be used on temporary tables";
        return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    }
    Ok(match create.on_commit {
        Some(ast::OnCommit::DeleteRows) => OnCommit::DeleteRows,
        Some(ast::OnCommit::Drop) => OnCommit::Drop,
        Some(ast::OnCommit::PreserveRows) | None => OnCommit::PreserveRows,
    })
}

/// Checks that a table and the table that its foreign key refers to are both temporary or both permanent.
///
/// # Errors
/// 42P16 if only one of them is temporary.
pub(super) fn check_references(table: &str, referenced: &str) -> Result<(), SqlError> {
    let kind = match (is_temporary(table), is_temporary(referenced)) {
        (true, false) => "temporary",
        (false, true) => "permanent",
        _ => return Ok(()),
    };
    let message = format!("constraints on {kind} tables may reference only {kind} tables");
    Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message))
}

/// Checks that a relation may move into a schema.
///
/// # Errors
/// 0A000 if the relation or the schema is temporary.
pub(super) fn check_move(full_name: &str, schema: &str) -> Result<(), SqlError> {
    let to_temporary = schema == ALIAS || is_temporary(&full(schema, plain(full_name)));
    if to_temporary || is_temporary(full_name) {
        let message = "cannot move objects into or out of temporary schemas";
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(())
}

/// Returns the error 0A000, for a permanent object that would use a temporary relation.
pub(super) fn needs_temporary(what: &str) -> SqlError {
    crate::error::unsupported(&format!("{what} that uses a temporary relation"))
}
