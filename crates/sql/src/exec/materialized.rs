//! Materialized views: tables whose rows are those of a query, as it was when they were filled last.

use super::ddl::{Ddl, Draft};
use super::table::complete_key;
use super::view::how_to_drop;
use super::{Exec, Fail, lock_outcome};
use crate::bind::{Binder, define_view, not_a_table, stored_type};
use crate::catalog::procedure::{lock_of, name_in};
use crate::catalog::view::{Materialized, StoredView};
use crate::catalog::{Rules, Table, View, is_temporary};
use crate::expr::Env;
use crate::parse::materialized::CreateMaterialized;
use crate::plan::{Insert, Node};
use crate::schema::{RelationName, duplicate_table, plain, undefined_table};
use crate::table_lock::Mode;
use crate::types::Styles;
use crate::{SqlError, state};
use hotrow_storage::{Column, TableSchema};
use hotrow_sync::Arc;
use hotrow_sync::atomic::AtomicI64;
use std::ops::ControlFlow;

impl Ddl<'_> {
    /// Runs CREATE MATERIALIZED VIEW. Returns the number of the view's rows. Returns `None` if the view was not filled
    /// (WITH NO DATA), or if a relation has the name and the statement says IF NOT EXISTS.
    pub(crate) fn create_materialized(&mut self, create: &CreateMaterialized) -> Result<Option<u64>, Fail> {
        self.check_memory()?;
        let name = self.placed(&create.name, false)?;
        let lock = self.lock(&name, Mode::Exclusive)?;
        if self.view().has_relation(&name) {
            if !create.if_not_exists {
                return Err(duplicate_table(&name).into());
            }
            let message = format!("relation \"{}\" already exists, skipping", create.name.name);
            self.notice(state::DUPLICATE_TABLE, message);
            return Ok(None);
        }
        let define = |view: View<'_>| {
            define_view(&name, &create.columns, &create.query, None, view).map_err(|error| match error.state {
                // Too many column names: the message for a view names CREATE VIEW.
                state::SYNTAX_ERROR if error.message.starts_with("CREATE VIEW") => {
                    SqlError::new(error.state, "too many column names were specified")
                }
                _ => error,
            })
        };
        let draft = define(self.view())?;
        if draft.relations.iter().any(|relation| is_temporary(relation)) {
            let message = "materialized views must not use temporary tables or views";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).into());
        }
        self.lock_shown(&draft)?;
        let query = define(self.view())?;
        let columns =
            query.columns.iter().map(|column| Column::nullable(&column.name, stored_type(column.ty))).collect();
        let rules = Rules {
            defaults: vec![None; query.columns.len()],
            domains: query.columns.iter().map(|column| column.domain).collect(),
            materialized: Some(Arc::new(Materialized { query, is_populated: create.has_data })),
            ..Rules::default()
        };
        let schema = TableSchema { key: Vec::new(), ..TableSchema::new(&name, columns, &[]) };
        let mut draft = Draft { schema, rules, partition_key: None };
        complete_key(&mut draft)?;
        let table = self.define(draft, Arc::new(AtomicI64::new(1)), lock)?;
        self.publish(table.clone());
        if !create.has_data {
            return Ok(None);
        }
        let (node, styles) = self.bound_query(&table)?;
        self.fill(&table, &node, styles).map(Some)
    }

    /// Runs REFRESH MATERIALIZED VIEW: replaces the view's rows by the present result of its query, or removes them if
    /// `has_data` is false.
    pub(crate) fn refresh(&mut self, name: &RelationName, has_data: bool, concurrently: bool) -> Result<(), Fail> {
        let name = self.view().find(name);
        let table = self.owned_materialized(&name)?;
        if concurrently {
            check_concurrent(&table, has_data)?;
        }
        self.check_settled(&table, "REFRESH MATERIALIZED VIEW")?;
        // Bound before the view is emptied, because the query may read the view itself.
        let query = if has_data { Some(self.bound_query(&table)?) } else { None };
        self.empty(&table)?;
        let table = self.owned_table(&name)?;
        let mut rules = table.rules.clone();
        if let Some(materialized) = rules.materialized.as_mut().map(Arc::make_mut) {
            materialized.is_populated = has_data;
        }
        let table = table.with(table.schema.clone(), rules);
        self.publish(table.clone());
        if let Some((node, styles)) = query {
            self.fill(&table, &node, styles)?;
        }
        Ok(())
    }

    /// Runs DROP MATERIALIZED VIEW.
    pub(super) fn drop_materialized(&mut self, names: &[String], if_exists: bool, cascade: bool) -> Result<(), Fail> {
        for name in names {
            if if_exists && !self.view().has_relation(name) {
                let message = format!("materialized view \"{name}\" does not exist, skipping");
                self.notice(state::SUCCESSFUL_COMPLETION, message);
                continue;
            }
            if !self.view().has_relation(name) {
                let message = format!("materialized view \"{}\" does not exist", plain(name));
                return Err(SqlError::new(state::UNDEFINED_TABLE, message).into());
            }
            let table = self.owned_materialized(name).map_err(|fail| match (fail, self.view().table(name)) {
                (Fail::Sql(error), Some(table)) if error.state == state::WRONG_OBJECT_TYPE => {
                    error.hint(how_to_drop(&table)).into()
                }
                (fail, _) => fail,
            })?;
            self.check_settled(&table, "DROP MATERIALIZED VIEW")?;
            self.drop_table(&table, names, cascade)?;
        }
        Ok(())
    }

    /// Locks the materialized view of this name in exclusive mode, and returns it.
    ///
    /// # Errors
    /// 42P01 if there is no relation of the name, 42809 if it is another kind of relation.
    pub(super) fn owned_materialized(&mut self, name: &str) -> Result<Arc<Table>, Fail> {
        if !self.view().has_relation(name) {
            return Err(undefined_table(name).into());
        }
        if self.view().table(name).is_some() {
            let table = self.owned_table(name)?;
            if table.rules.materialized.is_some() {
                return Ok(table);
            }
        }
        let message = format!("\"{}\" is not a materialized view", plain(name));
        Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).into())
    }

    /// Checks that a name means a table, and no view of any kind or other relation.
    pub(super) fn check_plain_table(&self, name: &str) -> Result<(), SqlError> {
        match self.view().table(name) {
            None => Err(not_a_table(name, self.view())),
            Some(table) if table.rules.materialized.is_some() => {
                let message = format!("\"{}\" is not a table", table.plain_name());
                Err(SqlError::new(state::WRONG_OBJECT_TYPE, message))
            }
            Some(_) => Ok(()),
        }
    }

    /// Locks the relations, functions and types that the query of a view mentions, so that no other transaction changes
    /// them before the view is defined.
    pub(super) fn lock_shown(&mut self, query: &StoredView) -> Result<(), Fail> {
        for relation in &query.relations {
            self.lock(relation, Mode::Shared)?;
        }
        for key in query.names.functions.iter().flat_map(|(_, keys)| keys) {
            self.lock(&lock_of(name_in(key)), Mode::Shared)?;
        }
        self.keep_types_of_view(query)
    }

    /// Binds the query of a materialized view and locks the relations that it reads. Returns the bound query, and the
    /// styles in which its literals were read.
    fn bound_query(&mut self, table: &Table) -> Result<(Node, Styles), Fail> {
        let query = table.stored_query().ok_or_else(|| undefined_table(table.name()))?;
        loop {
            let (node, used) = Binder::bound_view(&query, self.view())?;
            for lock in used.locks() {
                let entry = (self.context.shared(), &self.context.entry);
                lock_outcome(self.locks.acquire(lock, Mode::Shared, entry, self.limit)?)?;
            }
            // The definitions may have changed while we waited.
            if used.is_current(self.view()) {
                return Ok((node, query.styles));
            }
        }
    }

    /// Runs a materialized view's query and inserts its rows into the view, which is empty. Returns the number of rows.
    fn fill(&mut self, table: &Arc<Table>, node: &Node, styles: Styles) -> Result<u64, Fail> {
        let insert = Insert::plain(table.clone(), table.visible());
        let mut scratch = Vec::new();
        let env = Env { context: Some(&*self.context), styles, ..self.env };
        let (txn, engine, locks, deferred) = (&mut *self.txn, self.engine, &mut *self.locks, &mut *self.deferred);
        let mut exec = Exec { txn, env, engine, locks, deferred, scratch: &mut scratch };
        let rows = exec.fill(&insert, node, &mut |_| Ok(ControlFlow::Continue(())));
        // Notices are the statement's, whether it fails or not.
        let notices = self.context.notices.take();
        self.notices.extend(notices);
        rows
    }
}

/// Checks that a materialized view fulfils PostgreSQL's conditions for REFRESH … CONCURRENTLY. Here the word has no
/// other effect: readers wait all the same.
fn check_concurrent(table: &Table, has_data: bool) -> Result<(), SqlError> {
    let name = table.plain_name();
    if !has_data {
        let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
        return Err(SqlError::new(state::SYNTAX_ERROR, message));
    }
    if table.check_populated().is_err() {
        let message = "CONCURRENTLY cannot be used when the materialized view is not populated";
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    let mut indexes = table.schema.indexes.iter();
    if !indexes.any(|index| index.unique && index.columns.iter().all(|&column| column < table.visible())) {
        let message = format!("cannot refresh materialized view \"{name}\" concurrently");
        return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .hint("Create a unique index with no WHERE clause on one or more columns of the materialized view."));
    }
    Ok(())
}
