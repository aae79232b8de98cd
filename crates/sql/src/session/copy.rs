//! The COPY statement: it checks the table and its columns, locks what it needs, and then runs `exec::copy`.

use super::Session;
use super::output::{Output, Tag};
use crate::bind::Binder;
use crate::catalog::view::StoredView;
use crate::catalog::{Table, Used, column_of};
use crate::database::parse_one;
use crate::depth::with_room;
use crate::error::unsupported;
use crate::exec::Fail;
use crate::expr::{BoundDomain, Expr};
use crate::parse::trigger::TriggerEvent;
use crate::parse::utility::Copy;
use crate::plan::{Access, Graph, Insert, Node, OnConflict, Path, Plan, Source};
use crate::schema::{plain, undefined_table};
use crate::table_lock::Mode;
use crate::{OutputColumn, SqlError, state};
use hotrow_sync::Arc;
use hotrow_txn::{Holding, LockFor, Ownership};

/// The default of each column that has one and is not in the data, and the domain of each column that is in the data.
type DefaultsAndDomains = (Vec<Option<Expr>>, Vec<Option<Arc<BoundDomain>>>);

impl Session {
    pub(super) fn copy(&mut self, copy: &Copy, output: &mut Output<'_>) -> Result<Tag, Fail> {
        if let Some(query) = &copy.query {
            return self.copy_query(copy, query, output);
        }
        output.sent = true;
        let name = self.view().find(&copy.table);
        if let Some(view) = self.view().view(&name) {
            return self.copy_to_view(copy, &view, output);
        }
        let undefined = || undefined_table(&name).at(copy.position);
        let table = self.view().table(&name).ok_or_else(undefined)?;
        self.lock_table(&table.lock, Mode::Shared)?;
        // Its definition may have changed while we waited.
        let table = self.view().table(&name).ok_or_else(undefined)?;
        let targets = targets_of(copy, &table)?;
        if copy.from {
            table.check_changeable()?;
            if self.transaction.locks.is_exclusive(&table.lock) {
                self.engine.txn.own_table(table.id, Ownership::Locked);
            }
            // Every column that is listed comes from the data: the row list only says so.
            let source = Source::Query(Node::One);
            let consequences = self.lock_consequences(&table)?;
            let on_conflict = OnConflict::Fail;
            let (defaults, domains) = self.locked_defaults(&table, &targets)?;
            let rules = with_room(|| Ok::<_, SqlError>(table.rules_of_new_row()))?;
            let insert = Insert { table, source, targets, defaults, rules, on_conflict, returning: None, consequences };
            return self.copy_rows(copy, &insert, &domains, output);
        }
        if table.rules.materialized.is_some() {
            let message = format!("cannot copy from materialized view \"{}\"", table.plain_name());
            let error = SqlError::new(state::WRONG_OBJECT_TYPE, message);
            return Err(error.hint("Try the COPY (SELECT ...) TO variant.").into());
        }
        let described = |&target: &usize| {
            let column = &table.schema.columns[target];
            OutputColumn::new(column.name.clone(), column.ty)
        };
        let columns: Vec<_> = targets.iter().map(described).collect();
        let access = Access { table: table.clone(), path: Path::Full, filter: None, lock: LockFor::Read };
        let exprs = targets.into_iter().map(Expr::Column).collect();
        let node = Node::Project(Box::new(Node::Table(access)), exprs);
        let mut exec = self.exec(&[]);
        let rows = exec.copy_to(&node, &columns, &copy.options, output.client)?;
        Ok(Tag::Rows("COPY", rows))
    }

    /// Runs COPY FROM with the plan of its INSERT and the domains of the columns that the data has.
    fn copy_rows(
        &mut self,
        copy: &Copy,
        insert: &Insert,
        domains: &[Option<Arc<BoundDomain>>],
        output: &mut Output<'_>,
    ) -> Result<Tag, Fail> {
        let waits = self.waits_for_writers();
        let mut exec = self.exec(&[]);
        let rows = exec.copy_from((insert, domains), &copy.options, waits, output.client)?;
        Ok(Tag::Rows("COPY", rows))
    }

    /// Runs COPY FROM into a view, whose INSTEAD OF triggers get the rows.
    ///
    /// # Errors
    /// 42809 if the view has no such trigger, or for COPY TO.
    fn copy_to_view(&mut self, copy: &Copy, view: &Arc<StoredView>, output: &mut Output<'_>) -> Result<Tag, Fail> {
        let plain = plain(&view.name);
        let wrong = |message: String| SqlError::new(state::WRONG_OBJECT_TYPE, message);
        if !copy.from {
            let error = wrong(format!("cannot copy from view \"{plain}\""));
            return Err(error.hint("Try the COPY (SELECT ...) TO variant.").into());
        }
        let (view, consequences) = loop {
            let Some(view) = self.view().view(&view.name) else { return Err(undefined_table(&view.name).into()) };
            if !view.is_triggered(TriggerEvent::Insert) {
                let error = wrong(format!("cannot copy to view \"{plain}\""));
                return Err(error.hint("To enable copying to a view, provide an INSTEAD OF INSERT trigger.").into());
            }
            let mut binder = Binder::new("", 0, self.view(), Vec::new());
            let graph = with_room(|| binder.consequences_of_view(&view))?;
            if self.lock_all(&binder.used())? {
                break (view, graph);
            }
        };
        let table = view.shape(self.view().catalog.lock(&view.name));
        let targets = targets_of(copy, &table)?;
        let (defaults, domains) = self.locked_defaults(&table, &targets)?;
        let insert = Insert { targets, defaults, consequences: Some(consequences), ..Insert::plain(table, 0) };
        self.copy_rows(copy, &insert, &domains, output)
    }

    /// Plans the checks of foreign keys for the rows that COPY adds to a table, and the table's triggers. Locks the
    /// tables that these need. Returns `None` if the table has neither foreign keys nor triggers.
    fn lock_consequences(&mut self, table: &Arc<Table>) -> Result<Option<Arc<Graph>>, Fail> {
        if table.rules.foreign_keys.is_empty() && table.rules.triggers.is_empty() {
            return Ok(None);
        }
        loop {
            let mut binder = Binder::new("", 0, self.view(), Vec::new());
            let graph = with_room(|| binder.consequences(table, !table.rules.foreign_keys.is_empty(), false))?;
            if self.lock_all(&binder.used())? {
                return Ok(graph);
            }
        }
    }

    /// Returns the defaults of the columns that the data does not have, and locks the sequences and the tables of the
    /// functions that they use. Returns with them the domains of the columns that the data has, or no domains if there
    /// are none.
    fn locked_defaults(&mut self, table: &Table, targets: &[usize]) -> Result<DefaultsAndDomains, Fail> {
        loop {
            let mut binder = Binder::new("", 0, self.view(), Vec::new());
            let defaults = with_room(|| binder.defaults(table, |column| !targets.contains(&column)))?;
            let mut domain = |at: &usize| table.domain(*at).map(|id| binder.domain(id)).transpose();
            let domains = match targets.iter().any(|at| table.domain(*at).is_some()) {
                true => targets.iter().map(&mut domain).collect::<Result<_, _>>()?,
                false => Vec::new(),
            };
            if self.lock_all(&binder.used())? {
                return Ok((defaults, domains));
            }
        }
    }

    /// Locks a plan's tables and sequences. Returns whether the plan's names still mean the objects that the plan was
    /// made from.
    fn lock_all(&mut self, used: &Used) -> Result<bool, Fail> {
        for lock in used.locks() {
            self.lock_table(lock, Mode::Shared)?;
        }
        Ok(used.is_current(self.view()))
    }

    fn copy_query(&mut self, copy: &Copy, query: &str, output: &mut Output<'_>) -> Result<Tag, Fail> {
        let syntax = parse_one(query)?;
        let statement = loop {
            let binder = Binder::new(query, 0, self.view(), Vec::new());
            let statement = with_room(|| binder.statement(query.into(), 0..0, syntax.clone()))?;
            if self.lock_all(&statement.used)? {
                break statement;
            }
        };
        if !statement.params.is_empty() {
            return Err(SqlError::new(state::UNDEFINED_PARAMETER, "there is no parameter $1").into());
        }
        let columns = match (&statement.plan, statement.columns()) {
            (Plan::Query(_), Some(columns)) => columns,
            (Plan::Insert(_) | Plan::Update(_) | Plan::Delete(_) | Plan::Instead(_), Some(columns)) => columns,
            (Plan::Insert(_) | Plan::Update(_) | Plan::Delete(_) | Plan::Instead(_), None) => {
                let message = "COPY query must have a RETURNING clause";
                return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).into());
            }
            _ => return Err(unsupported("COPY of a statement that is no query").into()),
        };
        self.check_writes(&statement)?;
        let waits = self.waits_for_writers();
        let mut exec = self.exec(&[]);
        let rows = match &statement.plan {
            Plan::Query(node) if statement.only_reads() => {
                output.sent = true;
                exec.copy_to(node, columns, &copy.options, output.client)?
            }
            plan => {
                let rows = exec.changed(plan, waits)?;
                output.sent = true;
                exec.copy_kept(&rows, columns, &copy.options, output.client)?
            }
        };
        Ok(Tag::Rows("COPY", rows))
    }
}

/// Returns the positions of the columns that COPY names, or of all columns if it names none.
///
/// # Errors
/// 42703 if there is no such column, 42701 if a column is named twice, 42P10 if a column is generated.
fn targets_of(copy: &Copy, table: &Table) -> Result<Vec<usize>, SqlError> {
    let mut targets = Vec::with_capacity(copy.columns.len());
    for column in &copy.columns {
        let target = column_of(table, column)?;
        if table.is_generated(target) {
            let message = format!("column \"{column}\" is a generated column");
            let error = SqlError::new(state::INVALID_COLUMN_REFERENCE, message);
            return Err(error.detail("Generated columns cannot be used in COPY."));
        }
        if targets.contains(&target) {
            let message = format!("column \"{column}\" specified more than once");
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        targets.push(target);
    }
    if targets.is_empty() {
        targets = (0..table.visible()).filter(|&column| !table.is_generated(column)).collect();
    }
    Ok(targets)
}
