//! Plans the consequences of a statement that changes rows: the look-ups and referential actions that foreign keys
//! require, and triggers.

use super::binder::Binder;
use super::condition::conjunction;
use super::path;
use super::trigger::changes_updates;
use super::typed::Typed;
use crate::SqlError;
use crate::catalog::Table;
use crate::catalog::foreign_key::{ForeignKey, ReferentialAction as Action};
use crate::error::unsupported;
use crate::expr::{Comparison, Expr};
use crate::plan::{Access, Change, ChangePlan, Delete, Graph, Keys, Reference, Referred, Update};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use hotrow_txn::LockFor;

impl Binder<'_> {
    /// Plans the foreign keys' checks and actions, and the triggers, of a statement that assigns to columns of a
    /// table's rows and, if `inserts` is set, inserts rows. Returns `None` if no trigger of the table is enabled, the
    /// statement makes no rows refer to other rows, and it removes no values to which other rows refer. A row whose
    /// primary key changes counts as a new row.
    pub(super) fn consequences_of_values(
        &mut self,
        table: &Arc<Table>,
        inserts: bool,
        assignments: &[(usize, Expr)],
    ) -> Result<Option<Arc<Graph>>, SqlError> {
        let rules = &table.rules;
        if rules.foreign_keys.is_empty() && rules.referrers.is_empty() && rules.triggers.is_empty() {
            return Ok(None);
        }
        let computed = table.rules_of_changed_row(assignments);
        let sets_all = !assignments.is_empty() && changes_updates(table);
        let sets =
            |columns: &[usize]| sets_all || computed.changed(assignments).any(|column| columns.contains(&column));
        // To the deferred checks, a row whose primary key changes is another row.
        let refers = inserts || sets(&table.schema.key) || rules.foreign_keys.iter().any(|key| sets(&key.columns));
        let mut keys = self.view.referrers(table).into_iter().map(|(_, key)| key);
        let is_referred = keys.any(|key| sets(&table.referenced_columns(&key)));
        self.consequences(table, refers && !rules.foreign_keys.is_empty(), is_referred)
    }

    /// Plans the foreign keys' checks and actions, and the triggers, of a statement. `refer` says that it may make rows
    /// of the table refer to other rows, `lost` that it may remove rows or values to which other rows refer. Returns
    /// `None` if it does neither and no trigger of the table is enabled.
    pub(crate) fn consequences(
        &mut self,
        table: &Arc<Table>,
        refer: bool,
        lost: bool,
    ) -> Result<Option<Arc<Graph>>, SqlError> {
        let fires = table.rules.triggers.iter().any(|trigger| trigger.is_enabled);
        if !(refer || lost || fires) {
            return Ok(None);
        }
        // Each table is planned once, even if foreign keys lead in a circle.
        let (mut tables, mut nodes) = (vec![table.clone()], Vec::new());
        while nodes.len() < tables.len() {
            let table = tables[nodes.len()].clone();
            let sides = if nodes.is_empty() { (refer, lost) } else { (true, true) };
            nodes.push(self.keys_of(table, sides, &mut tables)?);
        }
        let graph = Graph { nodes };
        // An action may lead back to the first table.
        if graph.changes_first() && !(refer && lost) {
            return self.consequences(table, true, true);
        }
        Ok(Some(Arc::new(graph)))
    }

    /// Plans the foreign keys of a table: its own keys if `refer`, and the keys that refer to it if `lost`. Appends the
    /// tables that referential actions reach to `tables`.
    fn keys_of(
        &mut self,
        table: Arc<Table>,
        (refer, lost): (bool, bool),
        tables: &mut Vec<Arc<Table>>,
    ) -> Result<Keys, SqlError> {
        let triggers = self.triggers(&table)?;
        let mut keys = Keys { table: table.clone(), references: Vec::new(), referrers: Vec::new(), triggers };
        for key in table.rules.foreign_keys.iter().filter(|_| refer) {
            let Some(parent) = self.view.table(&key.table) else { continue };
            self.depends.used.add_table(&parent);
            let columns = parent.referenced_columns(key);
            let types = types_of(&table, &key.columns);
            let lookup = self.look_up(&parent, &columns, &types, LockFor::Read)?;
            keys.references.push(Reference { key: key.clone(), lookup });
        }
        for (child, key) in self.view.referrers(&table).into_iter().filter(|_| lost) {
            self.depends.used.add_table(&child);
            let columns = table.referenced_columns(&key);
            let types = types_of(&table, &columns);
            let lookup = self.look_up(&table, &columns, &types, LockFor::Read)?;
            let children = self.look_up(&child, &key.columns, &types, LockFor::Read)?;
            let on_delete = self.change(&child, &key, &types, key.on_delete, true, tables)?;
            let on_update = self.change(&child, &key, &types, key.on_update, false, tables)?;
            keys.referrers.push(Referred { key, child, columns, lookup, children, on_delete, on_update });
        }
        Ok(keys)
    }

    /// Plans a look-up of the rows whose columns have the values of the first parameters, which are of these types.
    pub(crate) fn look_up(
        &mut self,
        table: &Arc<Table>,
        columns: &[usize],
        types: &[Type],
        lock: LockFor,
    ) -> Result<Access, SqlError> {
        let mut conditions = Vec::with_capacity(columns.len());
        for (at, (&column, &ty)) in columns.iter().zip(types).enumerate() {
            let own = Typed::new(Expr::Column(column), table.schema.columns[column].ty);
            conditions.push(self.compare(Comparison::Equal, own, Typed::new(Expr::Param(at), ty))?.expr);
        }
        Ok(path::choose(table.clone(), conjunction(conditions), lock, &[]).0)
    }

    /// Plans a referential action on the rows that refer to values of these types. Returns `None` if the action is NO
    /// ACTION or RESTRICT, which change nothing.
    fn change(
        &mut self,
        child: &Arc<Table>,
        key: &ForeignKey,
        types: &[Type],
        action: Action,
        is_delete: bool,
        tables: &mut Vec<Arc<Table>>,
    ) -> Result<Option<Change>, SqlError> {
        let value = |at: usize, column: usize| match action {
            Action::Cascade => {
                let new = Expr::Param(types.len() + at);
                new.assigned(types[at], child.schema.columns[column].ty).unwrap_or(Expr::NULL)
            }
            _ => Expr::NULL,
        };
        if !action.changes_rows() {
            return Ok(None);
        }
        if action == Action::SetDefault {
            let default = |column: usize| child.rules.defaults.get(column).and_then(Option::as_ref);
            if key.columns.iter().any(|&column| default(column).is_some_and(|default| default.calling().is_some())) {
                return Err(unsupported("SET DEFAULT of a column whose default calls a user's function"));
            }
            key.columns.iter().filter_map(|&column| default(column)).for_each(|default| self.uses_default(default));
        }
        let access = self.look_up(child, &key.columns, types, LockFor::Update)?;
        let plan = if is_delete && action == Action::Cascade {
            ChangePlan::Delete(Delete { access, source: None, rechecks: false, returning: None, consequences: None })
        } else {
            let mut assignments = Vec::with_capacity(key.columns.len());
            for (at, &column) in key.columns.iter().enumerate() {
                let value = match action {
                    Action::SetDefault => self.default_of(child, column)?,
                    _ => self.constrained(value(at, column), None, child.domain(column))?,
                };
                assignments.push((column, value));
            }
            let rules = self.rules_of_update(child, &assignments);
            let moves = rules.changed(&assignments).any(|column| child.schema.key.contains(&column));
            let (source, rechecks, returning) = (None, false, None);
            ChangePlan::Update(Update {
                access,
                assignments,
                rules,
                moves,
                source,
                rechecks,
                returning,
                consequences: None,
            })
        };
        let node = tables.iter().position(|known| Arc::ptr_eq(known, child)).unwrap_or_else(|| {
            tables.push(child.clone());
            tables.len() - 1
        });
        Ok(Some(Change { node, plan }))
    }
}

fn types_of(table: &Table, columns: &[usize]) -> Vec<Type> {
    columns.iter().map(|&column| table.schema.columns[column].ty).collect()
}
