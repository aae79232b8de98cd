//! What foreign keys ask of a statement that changes rows: look-ups and referential actions, planned.

use super::{Binder, Typed, bind_assignment, path};
use crate::SqlError;
use crate::catalog::Table;
use crate::expr::{Comparison, Expr};
use crate::foreign_key::{
    Change, ChangePlan, ForeignKey, Graph, Keys, Reference, ReferentialAction as Action, Referred, referrers,
};
use crate::plan::{Access, Delete, Update};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use hotrow_txn::LockFor;

impl Binder<'_> {
    /// What a statement that changes rows of a table has to do with foreign keys; none if there are none.
    pub(crate) fn foreign_keys(&mut self, table: &Arc<Table>) -> Result<Option<Arc<Graph>>, SqlError> {
        if table.rules.foreign_keys.is_empty() && table.rules.referrers.is_empty() {
            return Ok(None);
        }
        // Each table once, whatever circles there are.
        let (mut tables, mut nodes) = (vec![table.clone()], Vec::new());
        while nodes.len() < tables.len() {
            let table = tables[nodes.len()].clone();
            nodes.push(self.keys_of(table, &mut tables)?);
        }
        Ok(Some(Arc::new(Graph { nodes })))
    }

    fn keys_of(&mut self, table: Arc<Table>, tables: &mut Vec<Arc<Table>>) -> Result<Keys, SqlError> {
        let mut keys = Keys { table: table.clone(), references: Vec::new(), referrers: Vec::new() };
        for key in &table.rules.foreign_keys {
            let Some(parent) = self.view.table(&key.table) else { continue };
            self.used.add_table(&parent);
            let columns = parent.referenced_columns(key);
            let types = types_of(&table, &key.columns);
            let lookup = self.look_up(&parent, &columns, &types, LockFor::Read)?;
            keys.references.push(Reference { key: key.clone(), lookup });
        }
        for (child, key) in referrers(self.view, &table) {
            self.used.add_table(&child);
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

    /// The rows whose columns have the values of the first parameters, which are of these types.
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
        Ok(path::choose(table.clone(), path::conjunction(conditions), lock, &[]).0)
    }

    /// What an action does to the rows that refer to values of these types.
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
                bind_assignment(new, types[at], child.schema.columns[column].ty).unwrap_or(Expr::NULL)
            }
            Action::SetDefault => child.rules.defaults.get(column).cloned().flatten().unwrap_or(Expr::NULL),
            _ => Expr::NULL,
        };
        if matches!(action, Action::NoAction | Action::Restrict) {
            return Ok(None);
        }
        let access = self.look_up(child, &key.columns, types, LockFor::Update)?;
        let plan = if is_delete && action == Action::Cascade {
            ChangePlan::Delete(Delete { access, source: None, returning: None, foreign_keys: None })
        } else {
            let assignments = key.columns.iter().enumerate().map(|(at, &column)| (column, value(at, column))).collect();
            let moves = key.columns.iter().any(|column| child.schema.key.contains(column));
            let (source, returning) = (None, None);
            ChangePlan::Update(Update { access, assignments, moves, source, returning, foreign_keys: None })
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
