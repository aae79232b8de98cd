//! Binds and plans statements of all kinds.

use super::binder::Binder;
use super::{changes, create_as};
use crate::depth::Syntax;
use crate::error::unsupported;
use crate::plan::{Plan, Statement};
use crate::{OutputColumn, SqlError};
use hotrow_sync::atomic::AtomicU64;
use hotrow_sync::{Arc, Mutex};
use sqlparser::ast;
use std::ops::Range;

impl Binder<'_> {
    /// Binds and plans a statement. `sql` and the range of the statement's `tokens` are stored with the plan, so that
    /// it can be made again.
    pub(crate) fn statement(
        self,
        sql: Arc<str>,
        tokens: Range<usize>,
        statement: Syntax<ast::Statement>,
    ) -> Result<Statement, SqlError> {
        self.sealed(sql, tokens, |binder| binder.plan(statement))
    }

    /// Makes a statement of the plan and the result columns that `bind` returns, with the types of its parameters and
    /// all that it depends on.
    ///
    /// # Errors
    /// Those of `bind`, and 42P18 if the type of a parameter is still open.
    pub(super) fn sealed(
        mut self,
        sql: Arc<str>,
        tokens: Range<usize>,
        bind: impl FnOnce(&mut Self) -> Result<(Plan, Option<Vec<OutputColumn>>), SqlError>,
    ) -> Result<Statement, SqlError> {
        // The version is read before the definitions are: a change in between makes the plan stale, not wrong.
        let version = AtomicU64::new(self.view.catalog.version());
        let declared = self.parameters.types.clone();
        let (plan, columns) = bind(&mut self)?;
        let params = self.parameters.settled()?;
        let domains = std::mem::take(&mut self.parameters.domains);
        let (used, expected) = self.depends.into_parts();
        let private = used.is_changed(self.view);
        let path = self.view.path.cloned();
        Ok(Statement {
            sql,
            tokens,
            declared,
            params,
            domains,
            columns,
            plan,
            used,
            expected,
            version,
            path,
            private,
            successor: Mutex::default(),
        })
    }

    pub(super) fn plan(
        &mut self,
        statement: Syntax<ast::Statement>,
    ) -> Result<(Plan, Option<Vec<OutputColumn>>), SqlError> {
        use ast::Statement as S;
        Ok(match &*statement {
            S::CreateTable(create) if let Some(query) = &create.query => {
                let create = ast::CreateTable { query: None, ..create.clone() };
                (Plan::CreateAs(Box::new(self.create_as("CREATE TABLE AS", create, query)?)), None)
            }
            S::Query(query) if let Some((create, query)) = create_as::of_select_into(query)? => {
                (Plan::CreateAs(Box::new(self.create_as("SELECT INTO", create, &query)?)), None)
            }
            S::Query(query) if let Some(change) = changes::change(query) => {
                self.around.is_top = true;
                self.change_with(query, change)?
            }
            S::Query(query) => {
                self.around.is_top = true;
                let (node, columns) = self.query(query)?;
                (Plan::Query(node), Some(columns))
            }
            S::Insert(insert) => self.insert(insert)?,
            S::Update(update) => self.update(update)?,
            S::Delete(delete) => self.delete(delete)?,
            S::Merge(merge) => self.merge_into(merge)?,
            S::Call(function) => self.call_statement(function)?,
            S::CreateTable(_)
            | S::CreateIndex(_)
            | S::CreateView(_)
            | S::AlterTable(_)
            | S::AlterIndex { .. }
            | S::Drop { .. } => (Plan::Ddl(statement.clone()), None),
            other => return Err(unsupported(&first_words(&other.to_string()))),
        })
    }
}

fn first_words(sql: &str) -> String {
    sql.split_whitespace().take(2).collect::<Vec<_>>().join(" ").to_uppercase()
}
