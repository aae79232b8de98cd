//! What a statement will touch, as far as its values tell before it runs.

use super::dml::Inserter;
use super::scan;
use crate::SqlError;
use crate::expr::{Env, Expr, Input};
use crate::plan::{Access, Delete, Insert, Node, Path, Plan, Source, Update};
use hotrow_storage::{IndexRef, KeySpec, RowRef};
use hotrow_txn::{Accesses, Intent, LockFor, RangeAccess, Scan};

/// Adds what a plan will touch; `false` if there may be more, which only running it tells. A value that cannot be computed
/// hides nothing: the plan will fail at it.
pub(crate) fn fill(plan: &Plan, env: Env<'_>, accesses: &mut Accesses) -> bool {
    match plan {
        Plan::Query(node) => node_accesses(node, false, &env, accesses),
        Plan::Insert(insert) => insert_accesses(insert, env, accesses).unwrap_or(true),
        Plan::Update(update) => {
            !moves_entries(update) && path(&update.access, Intent::Write, false, &env, accesses).unwrap_or(true)
        }
        Plan::Delete(delete) => delete_accesses(delete, &env, accesses).unwrap_or(true),
        _ => false,
    }
}

/// Whether a plan is a query whose values tell all that it will touch: nothing can be found missing once rows are sent.
pub(crate) fn is_known_query(plan: &Plan) -> bool {
    fn is_known(node: &Node, limited: bool) -> bool {
        match node {
            Node::One | Node::Values(_) => true,
            Node::Table(access) => !limited || matches!(access.path, Path::Key(_)),
            Node::Filter(input, _) | Node::Project(input, _) | Node::Distinct(input) => is_known(input, limited),
            Node::Aggregate(input, ..) | Node::Sort(input, ..) => is_known(input, false),
            Node::Limit(input, ..) => is_known(input, true),
        }
    }
    matches!(plan, Plan::Query(node) if is_known(node, false))
}

/// `limited` says that the walk may break off, so that its range is shorter than its bounds say.
fn node_accesses(node: &Node, limited: bool, env: &Env<'_>, accesses: &mut Accesses) -> bool {
    match node {
        Node::One | Node::Values(_) => true,
        Node::Table(access) => {
            let intent = if access.lock == LockFor::Update { Intent::Write } else { Intent::Read };
            path(access, intent, limited, env, accesses).unwrap_or(true)
        }
        Node::Filter(input, _) | Node::Project(input, _) | Node::Distinct(input) => {
            node_accesses(input, limited, env, accesses)
        }
        Node::Aggregate(input, ..) | Node::Sort(input, ..) => node_accesses(input, false, env, accesses),
        Node::Limit(input, ..) => node_accesses(input, true, env, accesses),
    }
}

fn path(
    access: &Access,
    intent: Intent,
    limited: bool,
    env: &Env<'_>,
    accesses: &mut Accesses,
) -> Result<bool, SqlError> {
    let table = &access.table;
    let scan = match &access.path {
        Path::Key(values) => {
            if let Some(key) = scan::key(&table.key, values, None, env)? {
                accesses.push(table.id, key, intent);
            }
            return Ok(true);
        }
        _ if limited => return Ok(false),
        Path::Full => Some(Scan::all(table.id, IndexRef::Primary)),
        Path::Range(range) => scan::range_scan(table, range, env)?,
    };
    if let Some(Scan { table, index, lower, upper, .. }) = scan {
        accesses.push_range(RangeAccess { table, index, lower, upper, intent });
    }
    Ok(true)
}

/// Whether an UPDATE takes index entries from one place to another.
fn moves_entries(update: &Update) -> bool {
    let indexed =
        |column: &usize| update.access.table.schema.indexes.iter().any(|index| index.columns.contains(column));
    update.moves || update.assignments.iter().any(|(column, _)| indexed(column))
}

fn delete_accesses(delete: &Delete, env: &Env<'_>, accesses: &mut Accesses) -> Result<bool, SqlError> {
    let table = &delete.access.table;
    let Path::Key(values) = &delete.access.path else { return Ok(false) };
    // The entries of the other indexes are made of columns that nobody has read yet.
    if !table.schema.indexes.is_empty() {
        return Ok(false);
    }
    if let Some(key) = scan::key(&table.key, values, None, env)? {
        accesses.push_entry(table.id, IndexRef::Primary, key.clone(), key.clone());
        accesses.push(table.id, key, Intent::Write);
    }
    Ok(true)
}

fn insert_accesses(insert: &Insert, env: Env<'_>, accesses: &mut Accesses) -> Result<bool, SqlError> {
    let Source::Rows(rows) = &insert.source else { return Ok(false) };
    // Rows of a hidden key get a number when they are inserted: nobody else has it.
    if insert.table.is_key_hidden() {
        return Ok(true);
    }
    let mut writer = Inserter::new(insert, env);
    for exprs in rows {
        writer.start()?;
        for (expr, &target) in exprs.iter().zip(&insert.targets) {
            if let Some(expr) = expr {
                let value = Expr::eval(expr, &env, &Input::NONE)?;
                writer.row.change(|row| row.set(target, &value));
            }
        }
        let (table, row) = (&insert.table, writer.row.as_ref());
        if table.schema.key.iter().any(|&column| row.is_null(column)) {
            continue;
        }
        let key = table.key_of(row);
        for index in table.indexes() {
            let columns = if index == IndexRef::Primary { key.clone() } else { key_of(table.index_key(index), row) };
            accesses.push_entry(table.id, index, columns, key.clone());
        }
        accesses.push(table.id, key, Intent::Write);
    }
    Ok(true)
}

fn key_of(spec: &KeySpec, row: RowRef<'_>) -> hotrow_storage::Key {
    spec.key(spec.parts().iter().map(|part| row.value(part.column)))
}
