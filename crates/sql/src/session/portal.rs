//! Portals: bound statements, executed at once or in pieces.

use super::Session;
use super::output::Output;
use super::run::Bound;
use super::transaction::{Phase, runs_when_failed};
use crate::client::{Client, CopyEncoding, Notice, OutputColumn};
use crate::plan::{Plan, Statement};
use crate::{MemoryLimit, SqlError, state};
use hotrow_storage::Value;
use hotrow_sync::Arc;
use std::collections::VecDeque;

/// How an execution of a portal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executed {
    /// All rows and the command tag were sent.
    Complete,
    /// The result has more rows.
    Suspended,
}

/// A statement with its parameters.
#[derive(Debug, Default)]
pub(super) struct Portal {
    /// The statement; `None` after the portal is closed, since the unnamed portal's memory is kept.
    statement: Option<Arc<Statement>>,
    params: Vec<Value<'static>>,
    /// The rest of the result, if the portal is executed in pieces.
    rest: Option<Rest>,
}

impl Portal {
    pub(super) fn statement(&self) -> Option<&Arc<Statement>> {
        self.statement.as_ref()
    }
}

/// A result that is kept to be sent in pieces.
#[derive(Debug, Default)]
pub(super) struct Rest {
    rows: VecDeque<Vec<Value<'static>>>,
    tag: String,
    memory: MemoryLimit,
}

impl Session {
    /// Makes a portal of a statement. `params` fills in the values of its parameters, whose types the statement has.
    pub fn bind(
        &mut self,
        portal: &str,
        statement: &Arc<Statement>,
        params: &mut dyn FnMut(&mut Vec<Value<'static>>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let bound = self.bind_portal(portal, statement, params);
        if bound.is_err() {
            self.fail();
        }
        bound
    }

    fn bind_portal(
        &mut self,
        name: &str,
        statement: &Arc<Statement>,
        params: &mut dyn FnMut(&mut Vec<Value<'static>>) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        if self.transaction.phase == Phase::Failed && !runs_when_failed(&statement.plan) {
            return Err(self.failed_block());
        }
        self.database.memory_limit().check()?;
        self.start_implicit();
        if self.kept.portals.get(name).is_none() {
            if self.kept.portals.len() >= self.database.config.max_portals {
                return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "too many portals"));
            }
            self.kept.portals.insert(name, Portal::default());
        }
        let Some(portal) = self.kept.portals.get_mut(name) else { return Err(no_portal(name)) };
        if portal.statement.is_some() && !name.is_empty() {
            return Err(SqlError::new(state::DUPLICATE_CURSOR, format!("cursor \"{name}\" already exists")));
        }
        portal.statement = None;
        portal.rest = None;
        portal.params.clear();
        params(&mut portal.params)?;
        let (given, wanted) = (portal.params.len(), statement.params.len());
        if given != wanted {
            let message =
                format!("bind message supplies {given} parameters, but the prepared statement requires {wanted}");
            return Err(SqlError::new(state::PROTOCOL_VIOLATION, message));
        }
        portal.statement = Some(statement.clone());
        Ok(())
    }

    pub(super) fn portal(&self, name: &str) -> Result<&Portal, SqlError> {
        self.kept.portals.get(name).filter(|portal| portal.statement.is_some()).ok_or_else(|| no_portal(name))
    }

    /// Closes a portal or a cursor. Nothing happens if there is none of this name.
    pub fn close_portal(&mut self, portal: &str) {
        self.kept.cursors.close(portal);
        if portal.is_empty() {
            if let Some(unnamed) = self.kept.portals.get_mut("") {
                unnamed.close();
            }
        } else {
            self.kept.portals.remove(portal);
        }
    }

    /// Closes all portals, since portals end with their transaction.
    pub(super) fn close_portals(&mut self) {
        self.kept.portals.clear_named();
        self.close_portal("");
    }

    /// Runs a portal, or continues it. Sends up to `max_rows` rows, or all rows if `max_rows` is zero.
    pub fn execute(&mut self, portal: &str, max_rows: usize, client: &mut dyn Client) -> Result<Executed, SqlError> {
        client.styles(self.context.styles());
        let executed = self.execute_portal(portal, max_rows, client);
        self.one_shot.whole = false;
        if executed.is_err() {
            self.fail();
        }
        executed
    }

    fn execute_portal(&mut self, name: &str, max_rows: usize, client: &mut dyn Client) -> Result<Executed, SqlError> {
        let Some(portal) = self.kept.portals.get_mut(name) else { return Err(no_portal(name)) };
        if let Some(rest) = &mut portal.rest {
            return rest.send(max_rows, client);
        }
        // The statement is taken out of the portal while it runs, since the session runs it. It is put back unless its
        // transaction has ended.
        let Some(statement) = portal.statement.take() else { return Err(no_portal(name)) };
        let params = std::mem::take(&mut portal.params);
        self.entry.run(&statement.sql);
        let in_pieces = max_rows > 0 && statement.columns.is_some() && !matches!(statement.plan, Plan::Utility(_));
        let result = if self.pipelines(&statement, &params) {
            self.tell_next(&statement, client).map(|()| (Executed::Complete, None))
        } else if in_pieces {
            let mut rest = Rest::new(self.database.memory_limit());
            self.run(Bound::prepared(&statement, &params), true, &mut Output::extended(&mut rest)).and_then(|()| {
                let executed = rest.send(max_rows, client)?;
                Ok((executed, Some(rest)))
            })
        } else {
            let output = &mut Output::extended(client);
            self.run(Bound::prepared(&statement, &params), true, output).map(|()| (Executed::Complete, None))
        };
        let open = matches!(self.transaction.phase, Phase::Implicit | Phase::Block);
        if let Some(portal) = self.kept.portals.get_mut(name) {
            portal.params = params;
            if open {
                portal.statement = Some(statement);
                portal.rest = match &result {
                    Ok((_, Some(_))) => None,
                    // A portal that is executed again has no more rows to send.
                    _ => Some(Rest::default()),
                };
            }
        }
        let (executed, rest) = result?;
        if let (Some(portal), Some(rest), true) = (self.kept.portals.get_mut(name), rest, open) {
            portal.rest = Some(rest);
        }
        Ok(executed)
    }
}

impl Portal {
    fn close(&mut self) {
        self.statement = None;
        self.rest = None;
    }
}

impl Rest {
    /// Makes an empty result.
    pub(super) fn new(memory: MemoryLimit) -> Self {
        Self { memory, ..Self::default() }
    }

    /// Returns all rows.
    pub(super) fn into_rows(self) -> VecDeque<Vec<Value<'static>>> {
        self.rows
    }

    fn send(&mut self, max_rows: usize, client: &mut dyn Client) -> Result<Executed, SqlError> {
        let mut sent = 0;
        while let Some(row) = self.rows.pop_front() {
            client.row(&row)?;
            sent += 1;
            if sent == max_rows {
                return Ok(Executed::Suspended);
            }
        }
        // If a portal ran in pieces, the tag counts the rows of the last piece.
        let tag = match self.tag.rsplit_once(' ') {
            Some(("SELECT", _)) => format!("SELECT {sent}"),
            _ if self.tag.is_empty() => format!("SELECT {sent}"),
            _ => self.tag.clone(),
        };
        client.complete(&tag)?;
        Ok(Executed::Complete)
    }
}

impl Client for Rest {
    fn columns(&mut self, _columns: &[OutputColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> Result<(), SqlError> {
        self.memory.check_push(&self.rows)?;
        self.rows.push_back(values.iter().map(|value| value.borrowed().into_owned()).collect());
        Ok(())
    }

    fn complete(&mut self, tag: &str) -> Result<(), SqlError> {
        tag.clone_into(&mut self.tag);
        Ok(())
    }

    fn empty(&mut self) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, _notice: Notice) {}

    fn parameter(&mut self, _name: &str, _value: &str) {}

    fn copy_in(&mut self, _encoding: CopyEncoding, _columns: usize) -> Result<(), SqlError> {
        Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "COPY cannot be executed in pieces"))
    }
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new(state::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
}
