//! The error texts for the victim of a deadlock: a line for each wait of the cycle, as in PostgreSQL.

use crate::advisory::{Key, Numbers};
use crate::catalog::{Table, View, describe_as};
use crate::locks::blocking::Awaited;
use hotrow_storage::{IndexRef, TableId};
use hotrow_sync::Arc;
use hotrow_txn::{Deadlock, LockPart, LockTarget, WaitsFor};

/// Formats a line for each wait of a deadlock in the engine: `Process 12 waits for exclusive lock on row (id)=(1) of
/// table "account"; blocked by process 13.`
pub(crate) fn detail(deadlock: &Deadlock, view: View<'_>) -> String {
    let tables = view.tables();
    let line = |wait: &WaitsFor| {
        let (WaitsFor { waiter, mode, blocker, .. }, target) = (wait, target(&wait.target, &tables));
        format!("Process {waiter} waits for {mode} lock on {target}; blocked by process {blocker}.")
    };
    deadlock.waits.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Describes the target of a session's wait, for an error or a view: `table "account"`.
pub(crate) fn awaited(awaited: &Awaited, tables: &[Arc<Table>]) -> String {
    match awaited {
        Awaited::Table(lock) => match table_of(tables, *lock) {
            Some(table) => format!("table \"{}\"", crate::schema::shown(table.name())),
            None => "a table".to_owned(),
        },
        Awaited::Lock(locked) => target(locked, tables),
        Awaited::Advisory(Key { numbers: Numbers::One(number), .. }) => format!("advisory lock {number}"),
        Awaited::Advisory(Key { numbers: Numbers::Two(first, second), .. }) => {
            format!("advisory lock ({first}, {second})")
        }
        Awaited::Unknown => "what another transaction keeps".to_owned(),
    }
}

/// Returns the table whose table lock has the address `lock`.
pub(crate) fn table_of(tables: &[Arc<Table>], lock: usize) -> Option<&Arc<Table>> {
    tables.iter().find(|table| Arc::as_ptr(&table.lock).addr() == lock)
}

/// Describes the target of a lock in the engine, for an error or a view: `row (id)=(1) of table "account"`.
pub(crate) fn target(target: &LockTarget, tables: &[Arc<Table>]) -> String {
    let LockTarget::Table { table: id, part, key } = target else { return "the database".to_owned() };
    match tables.iter().find(|table| table.id == *id) {
        Some(table) => part_of(table, *part, key.as_ref()),
        None => unknown(*id),
    }
}

/// Describes a table that the view does not have: another transaction has just created or dropped it.
fn unknown(TableId(id): TableId) -> String {
    format!("table number {id}")
}

fn part_of(table: &Table, part: LockPart, key: Option<&hotrow_storage::Key>) -> String {
    let name = crate::schema::shown(table.name());
    let at = |index: IndexRef| key.map_or_else(String::new, |key| columns(table, index, key));
    match part {
        LockPart::Whole => format!("table \"{name}\""),
        LockPart::Page(page) => format!("page {page} of table \"{name}\""),
        LockPart::Row if table.is_key_hidden() => format!("a row of table \"{name}\""),
        LockPart::Row => format!("row {} of table \"{name}\"", at(IndexRef::Primary)),
        LockPart::Gap(index) if table.is_ordered(index) => {
            format!("the gap below {} in index \"{}\" of table \"{name}\"", at(index), table.index_name(index))
        }
        LockPart::Gap(index) => {
            format!("all rows with {} in index \"{}\" of table \"{name}\"", at(index), table.index_name(index))
        }
        LockPart::End(index) => {
            format!("the gap above the last key in index \"{}\" of table \"{name}\"", table.index_name(index))
        }
        LockPart::Stripe => format!("rows that are not there of table \"{name}\""),
        LockPart::Unique(index) => {
            let index = IndexRef::Secondary(index);
            format!("{} in unique index \"{}\" of table \"{name}\"", at(index), table.index_name(index))
        }
    }
}

/// Formats a key of an index with its columns: `(a, b)=(1, 2)`.
pub(crate) fn columns(table: &Table, index: IndexRef, key: &hotrow_storage::Key) -> String {
    let positions = table.key_columns(index);
    let values = table.index_key(index).values(key).unwrap_or_default();
    let values = &values[values.len().min(usize::from(table.is_partial(index)))..];
    let names: Vec<_> = positions.iter().take(values.len()).map(|&at| table.column_label(at)).collect();
    let described = positions.iter().zip(values).map(|(&at, value)| describe_as(value, table.schema.columns[at].ty));
    let values: Vec<_> = described.collect();
    format!("({})=({})", names.join(", "), values.join(", "))
}
