//! The context of DDL (the session's own catalog, the locks on names, definitions in the making), and the dispatch of
//! its statements.

use super::{Fail, lock_outcome};
use crate::catalog::{Catalog, DefaultValue, Rules, Table, View, visible_columns};
use crate::client::Notice;
use crate::context::SessionContext;
use crate::depth::with_room;
use crate::error::unsupported;
use crate::expr::Env;
use crate::locks::HeldLocks;
use crate::plan::deferred::Deferred;
use crate::schema::{self, duplicate_table, undefined_table};
use crate::table_lock::{Mode, TableLock};
use crate::{SqlError, state};
use hotrow_storage::{Column, TableSchema};
use hotrow_sync::Arc;
use hotrow_txn::{Engine, Ownership, Transaction};
use sqlparser::ast::{self, Statement};
use std::fmt::Display;
use std::time::Duration;

/// The parts of a session that DDL works with: everything but its protocol state.
pub(crate) struct Ddl<'a> {
    pub(crate) engine: &'a dyn Engine,
    pub(crate) catalog: &'a Catalog,
    pub(crate) context: &'a mut SessionContext,
    /// The checks that the transaction has yet to make.
    pub(crate) deferred: &'a mut Deferred,
    pub(crate) locks: &'a mut HeldLocks,
    /// The longest wait for the lock on a name: `lock_timeout`, if it is set.
    pub(crate) limit: Option<Duration>,
    pub(crate) txn: &'a mut dyn Transaction,
    pub(crate) env: Env<'a>,
    pub(crate) notices: &'a mut Vec<Notice>,
}

/// The definition of a table in the making.
pub(super) struct Draft {
    pub(super) schema: TableSchema,
    pub(super) rules: Rules,
    /// The column by which engines that keep partitions apart divide it.
    pub(super) partition_key: Option<usize>,
}

impl Draft {
    /// Returns the number of columns before the hidden ones.
    pub(super) fn visible(&self) -> usize {
        visible_columns(&self.schema)
    }

    /// Adds a visible column after the other visible ones, and returns its position.
    pub(super) fn add_column(&mut self, column: Column, default: Option<DefaultValue>) -> usize {
        let at = self.visible();
        self.renumber(&|position| *position += usize::from(*position >= at));
        self.schema.columns.insert(at, column);
        self.rules.defaults.push(default);
        at
    }

    /// Removes a column, with its default and its expression. Nothing else may refer to it any more.
    pub(super) fn remove_column(&mut self, at: usize) {
        self.rules.identities.retain(|(identity, _)| *identity != at);
        self.rules.computed.retain(|computed| computed.column != at);
        if at < self.visible() {
            self.rules.defaults.remove(at);
            if at < self.rules.domains.len() {
                self.rules.domains.remove(at);
            }
        }
        self.schema.columns.remove(at);
        self.renumber(&|position| *position -= usize::from(*position > at));
    }

    /// Applies `change` to each position of a column in the definition.
    fn renumber(&mut self, change: &dyn Fn(&mut usize)) {
        let Draft { schema, rules, partition_key } = self;
        schema.key.iter_mut().for_each(change);
        schema.indexes.iter_mut().flat_map(|index| &mut index.columns).for_each(change);
        rules.indexes.iter_mut().flat_map(|index| &mut index.include).for_each(change);
        rules.identities.iter_mut().for_each(|(identity, _)| change(identity));
        rules.foreign_keys.iter_mut().flat_map(|key| &mut key.columns).for_each(change);
        rules.row_expressions_mut().flat_map(|value| &mut value.columns).for_each(change);
        rules.computed.iter_mut().for_each(|computed| change(&mut computed.column));
        partition_key.iter_mut().for_each(change);
    }

    /// Returns the full name of an index or constraint of the table, which is in the table's schema.
    pub(super) fn name_beside(&self, name: &str) -> String {
        schema::full(schema::split(&self.schema.name).0, name)
    }
}

impl Ddl<'_> {
    /// Runs a DDL statement. Returns its command tag.
    pub(crate) fn run(&mut self, statement: &Statement) -> Result<&'static str, Fail> {
        match statement {
            Statement::CreateTable(create) => self.create_table(create),
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::CreateView(create) => self.create_view(create),
            Statement::Drop { object_type: ast::ObjectType::View, if_exists, names, cascade, .. } => {
                self.drop_views(names, *if_exists, *cascade)
            }
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::AlterIndex { name, operation } => self.alter_index(name, operation),
            Statement::Drop { object_type: ast::ObjectType::Table, if_exists, names, cascade, .. } => {
                let names = self.doomed(names, *if_exists)?;
                self.check_droppable(&names)?;
                self.drop_tables(&names, *if_exists, *cascade)?;
                Ok("DROP TABLE")
            }
            Statement::Drop { object_type: ast::ObjectType::MaterializedView, if_exists, names, cascade, .. } => {
                let names = self.doomed(names, *if_exists)?;
                self.drop_materialized(&names, *if_exists, *cascade)?;
                Ok("DROP MATERIALIZED VIEW")
            }
            Statement::Drop { object_type: ast::ObjectType::Sequence, if_exists, names, cascade, .. } => {
                for name in &self.doomed(names, *if_exists)? {
                    self.drop_sequence(name, *if_exists, *cascade)?;
                }
                Ok("DROP SEQUENCE")
            }
            Statement::Drop { object_type: ast::ObjectType::Index, if_exists, names, cascade, .. } => {
                for name in &self.doomed(names, *if_exists)? {
                    self.drop_index(name, *if_exists, *cascade)?;
                }
                Ok("DROP INDEX")
            }
            Statement::Drop { object_type, .. } => Err(unsupported(&format!("DROP {object_type}")).into()),
            _ => Err(unsupported("this statement").into()),
        }
    }

    pub(super) fn view(&self) -> View<'_> {
        self.context.view()
    }

    /// Takes the lock on a name, and waits for it no longer than `limit`.
    pub(super) fn lock(&mut self, name: &str, mode: Mode) -> Result<Arc<TableLock>, Fail> {
        let lock = self.catalog.lock(name);
        let wake = self.locks.acquire(&lock, mode, (self.context.shared(), &self.context.entry), self.limit)?;
        lock_outcome(wake)?;
        Ok(lock)
    }

    /// Locks a name that was free a moment ago for a new relation. Fails if another transaction has taken the name
    /// meanwhile.
    pub(super) fn claim(&mut self, name: &str) -> Result<(), Fail> {
        self.lock(name, Mode::Exclusive)?;
        if self.view().has_relation(name) { Err(duplicate_table(name).into()) } else { Ok(()) }
    }

    /// Returns the table with this name, locked exclusively.
    pub(super) fn owned_table(&mut self, name: &str) -> Result<Arc<Table>, Fail> {
        self.check_table(name)?;
        self.lock(name, Mode::Exclusive)?;
        // It may have changed, or gone, while we waited.
        let table = self.view().table(name).ok_or_else(|| undefined_table(name))?;
        self.txn.own_table(table.id, Ownership::Locked);
        Ok(table)
    }

    pub(super) fn notice(&mut self, state: crate::SqlState, message: String) {
        self.notice_with(SqlError::new(state, message));
    }

    pub(super) fn warning(&mut self, error: SqlError) {
        self.notices.push(Notice { severity: "WARNING", error });
    }

    pub(super) fn notice_with(&mut self, error: SqlError) {
        self.notices.push(Notice { severity: "NOTICE", error });
    }

    /// Fails if there is no memory for another table.
    pub(crate) fn check_memory(&self) -> Result<(), SqlError> {
        self.env.memory.check_write(|| false)
    }

    /// Returns a table's definition, without its hidden key, as a draft to change.
    pub(super) fn draft(&self, table: &Table) -> Draft {
        let partition_key = table.partition_key();
        let mut draft = Draft { schema: (*table.schema).clone(), rules: table.rules.clone(), partition_key };
        if table.is_key_hidden() {
            draft.schema.columns.pop();
            draft.schema.key.clear();
        }
        draft
    }
}

/// Returns the error 42710 for the name of a constraint that the table already has.
pub(super) fn duplicate_constraint(name: &str, table: &str) -> SqlError {
    let message = format!("constraint \"{name}\" for relation \"{table}\" already exists");
    SqlError::new(state::DUPLICATE_OBJECT, message)
}

/// Formats syntax as the SQL text that a client would write.
pub(super) fn shown(syntax: &impl Display) -> Result<String, SqlError> {
    with_room(|| Ok(syntax.to_string()))
}
