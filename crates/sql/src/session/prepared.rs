//! The prepared statements, portals and cursors that a session keeps by name.

use super::Session;
use super::cursor::Cursors;
use super::named::Named;
use super::portal::Portal;
use crate::client::{Notice, OutputColumn};
use crate::parse::utility::Utility;
use crate::plan::{Plan, Statement};
use crate::{SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;

/// The prepared statements, portals and cursors of a session, by name.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) statements: Named<Arc<Statement>>,
    pub(super) portals: Named<Portal>,
    pub(super) cursors: Cursors,
}

impl Kept {
    /// Forgets all statements, portals and cursors.
    pub(super) fn clear(&mut self) {
        self.portals.clear();
        self.cursors.clear();
        self.statements.clear();
    }
}

impl Session {
    /// Returns the type with this OID, built in or made by a user, or `None` if there is none. A domain counts as its
    /// base type.
    pub fn type_of_oid(&self, oid: u32) -> Option<Type> {
        self.view().type_of_oid(oid, -1).map(|declared| declared.ty)
    }

    /// Prepares a statement. The empty name is that of the unnamed statement. `types` are the types that the client
    /// gives for the first parameters; `None` leaves a type to the planner.
    pub fn parse(&mut self, name: &str, sql: &str, types: &[Option<Type>]) -> Result<Arc<Statement>, SqlError> {
        self.parse_noticed(name, sql, types, &mut |_| ())
    }

    /// Prepares a statement as [`parse`](Self::parse) does, and passes notices about it to `tell`.
    ///
    /// # Errors
    /// The errors of [`parse`](Self::parse).
    pub fn parse_noticed(
        &mut self,
        name: &str,
        sql: &str,
        types: &[Option<Type>],
        tell: &mut dyn FnMut(Notice),
    ) -> Result<Arc<Statement>, SqlError> {
        let prepared = self.prepare(name, sql, types, tell);
        if prepared.is_err() {
            self.fail();
        }
        prepared
    }

    pub(super) fn prepare(
        &mut self,
        name: &str,
        sql: &str,
        types: &[Option<Type>],
        tell: &mut dyn FnMut(Notice),
    ) -> Result<Arc<Statement>, SqlError> {
        if name.is_empty() {
            // The old statement is forgotten even if there is no new one, so that the client cannot run it by mistake.
            self.kept.statements.remove(name);
        } else if self.kept.statements.get(name).is_some() {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_PREPARED_STATEMENT, message));
        }
        if self.kept.statements.len() >= self.database.config.max_statements {
            return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "too many prepared statements"));
        }
        self.database.memory_limit().check()?;
        self.context.follow_path();
        let statement = self.plan_text(sql, types, tell)?;
        self.kept.statements.insert(name, statement.clone());
        Ok(statement)
    }

    /// Gives a FETCH statement the columns of its cursor.
    pub(super) fn describe_fetch(&self, statement: &mut Statement) {
        if let Plan::Utility(utility) = &statement.plan
            && let Utility::Fetch(fetch) = &**utility
            && !fetch.silent
        {
            statement.columns = self.kept.cursors.columns(&fetch.name).map(<[_]>::to_vec);
        }
    }

    /// Returns the prepared statement of this name.
    pub fn statement(&self, name: &str) -> Result<Arc<Statement>, SqlError> {
        self.kept.statements.get(name).cloned().ok_or_else(|| {
            let message = if name.is_empty() {
                "unnamed prepared statement does not exist".to_owned()
            } else {
                format!("prepared statement \"{name}\" does not exist")
            };
            SqlError::new(state::INVALID_SQL_STATEMENT_NAME, message)
        })
    }

    /// Forgets a prepared statement. Nothing happens if there is none of this name.
    pub fn close_statement(&mut self, name: &str) {
        self.kept.statements.remove(name);
    }

    /// Returns the columns of a portal or cursor, or `None` if it has no result.
    pub fn portal_columns(&self, portal: &str) -> Result<Option<&[OutputColumn]>, SqlError> {
        if let Some(columns) = self.kept.cursors.columns(portal) {
            return Ok(Some(columns));
        }
        self.portal(portal)?.statement().map_or(Ok(None), |statement| Ok(statement.columns()))
    }
}
