//! The views of the statements and waits of sessions: `pg_stat_activity`, `pg_locks`, `hotrow_blocking`.

use super::objects::OWNER;
use super::relation::{Maker, Rows, oid, text};
use crate::advisory::{Key, Numbers};
use crate::catalog::Table;
use crate::context::SessionContext;
use crate::locks::blocking::{Awaited, Blocked, blocked};
use crate::locks::deadlock::{self, table_of};
use crate::schema::shown;
use crate::session_entry::{SessionEntry, State};
use crate::table_lock::Mode;
use crate::types::now;
use hotrow_storage::{IndexRef, Value};
use hotrow_sync::Arc;
use hotrow_txn::{LockPart, LockTarget};

/// Returns the function that builds the rows of this relation, or `None` if this module does not build them.
pub(super) fn maker(name: &str) -> Option<Maker> {
    Some(match name {
        "pg_stat_activity" => activity,
        "pg_locks" => locks,
        "hotrow_blocking" => blocking,
        _ => return None,
    })
}

fn time(time: i64) -> Value<'static> {
    Value::TimestampTz(time)
}

/// Returns how long a wait has lasted, in microseconds.
fn waited(blocked: &Blocked) -> i64 {
    blocked.entry.waiter.now().since(blocked.since).as_micros() as i64
}

fn activity(context: &SessionContext, rows: &mut Rows<'_>) {
    let waits = blocked(context.shared());
    for entry in context.shared().activity.entries() {
        let (doing, client_info) = (entry.doing(), entry.client_info().clone());
        let wait = waits.iter().find(|wait| Arc::ptr_eq(&wait.entry, &entry));
        let (kind, event) = match (wait, doing.state) {
            (Some(wait), _) => (text("Lock"), text(event(&wait.awaited))),
            (None, State::Active) => (Value::Null, Value::Null),
            (None, _) => (text("Client"), text("ClientRead")),
        };
        let begun = doing.began != 0;
        rows.push(vec![
            ("datid", oid(entry.database_number)),
            ("datname", text(&*entry.database)),
            ("pid", Value::Int4(entry.pid())),
            ("leader_pid", Value::Null),
            ("usesysid", oid(OWNER)),
            ("usename", text(&entry.user)),
            ("application_name", text(&client_info.application)),
            ("client_addr", client_info.address.map_or(Value::Null, |address| text(address.ip().to_string()))),
            ("client_port", client_info.address.map_or(Value::Int4(-1), |address| Value::Int4(address.port().into()))),
            ("backend_start", time(entry.began)),
            ("xact_start", entry.transaction().map_or(Value::Null, time)),
            ("query_start", if begun { time(doing.began) } else { Value::Null }),
            ("state_change", time(doing.changed)),
            ("wait_event_type", kind),
            ("wait_event", event),
            ("state", text(doing.state.name())),
            ("backend_xid", Value::Null),
            ("backend_xmin", Value::Null),
            ("query_id", Value::Null),
            ("query", text(doing.text)),
            ("backend_type", text("client backend")),
        ]);
    }
}

/// Returns PostgreSQL's name for a wait.
fn event(awaited: &Awaited) -> &'static str {
    match awaited {
        Awaited::Table(_) => "relation",
        Awaited::Advisory(_) => "advisory",
        Awaited::Lock(LockTarget::Table { part, .. }) => kind_of(*part),
        Awaited::Lock(LockTarget::Database) => "object",
        Awaited::Unknown => "transactionid",
    }
}

/// Returns PostgreSQL's name for the kind of thing that a part of a table is.
fn kind_of(part: LockPart) -> &'static str {
    match part {
        LockPart::Whole => "relation",
        LockPart::Page(_) => "page",
        _ => "tuple",
    }
}

/// Returns PostgreSQL's name for a mode of a lock on a table.
fn table_mode(mode: &str) -> &'static str {
    if mode == Mode::Shared.name() { "AccessShareLock" } else { "AccessExclusiveLock" }
}

/// Returns PostgreSQL's name for a mode of an engine's lock, or of an advisory lock.
fn row_mode(mode: &str) -> &'static str {
    match mode {
        "shared" => "ShareLock",
        "insert" | "intention exclusive" => "RowExclusiveLock",
        "intention shared" => "RowShareLock",
        "shared with intention exclusive" => "ShareRowExclusiveLock",
        "update" => "ShareUpdateExclusiveLock",
        _ => "ExclusiveLock",
    }
}

/// Returns the row of a lock that a session holds or waits for.
fn locked(
    context: &SessionContext,
    tables: &[Arc<Table>],
    entry: &SessionEntry,
    (target, mode): (&Awaited, &'static str),
    since: Option<i64>,
) -> Vec<(&'static str, Value<'static>)> {
    let number = |table: Option<&Arc<Table>>| match table {
        Some(table) => oid(context.shared().catalog().number(table.name())),
        None => Value::Null,
    };
    let (kind, relation, mode) = match target {
        Awaited::Table(lock) => ("relation", number(table_of(tables, *lock)), table_mode(mode)),
        Awaited::Advisory(_) => ("advisory", Value::Null, row_mode(mode)),
        Awaited::Lock(LockTarget::Table { table, part, .. }) => {
            (kind_of(*part), number(tables.iter().find(|known| known.id == *table)), row_mode(mode))
        }
        Awaited::Lock(LockTarget::Database) => ("object", Value::Null, row_mode(mode)),
        Awaited::Unknown => ("transactionid", Value::Null, "ShareLock"),
    };
    let numbers = match target {
        Awaited::Advisory(Key { numbers: Numbers::One(number), .. }) => {
            let (high, low) = ((number >> 32) as i32, *number as i32);
            (Value::Int4(high), Value::Int4(low), Value::Int2(1))
        }
        Awaited::Advisory(Key { numbers: Numbers::Two(first, second), .. }) => {
            (Value::Int4(*first), Value::Int4(*second), Value::Int2(2))
        }
        _ => (Value::Null, Value::Null, Value::Null),
    };
    vec![
        ("locktype", text(kind)),
        ("database", oid(entry.database_number)),
        ("relation", relation),
        ("page", Value::Null),
        ("tuple", Value::Null),
        ("transactionid", Value::Null),
        ("classid", numbers.0),
        ("objid", numbers.1),
        ("objsubid", numbers.2),
        ("virtualtransaction", text(format!("{}/0", entry.pid()))),
        ("pid", Value::Int4(entry.pid())),
        ("mode", text(mode)),
        ("granted", Value::Bool(since.is_none())),
        ("waitstart", since.map_or(Value::Null, time)),
    ]
}

/// Makes the rows of `pg_locks`: all locks on tables and all advisory locks. Of the locks on rows, it shows those that
/// a session waits for, with their holders, as far as the engine knows them.
fn locks(context: &SessionContext, rows: &mut Rows<'_>) {
    let tables = context.view().tables();
    for entry in context.shared().activity.entries() {
        for (lock, mode) in entry.tables.held() {
            rows.push(locked(context, &tables, &entry, (&Awaited::Table(lock), mode.name()), None));
        }
        for (key, mode) in context.shared().advisory.held(&entry) {
            rows.push(locked(context, &tables, &entry, (&Awaited::Advisory(key), mode.name()), None));
        }
    }
    let mut shown: Vec<(i32, Awaited)> = Vec::new();
    for wait in blocked(context.shared()) {
        let (mode, since) = (wait.mode.unwrap_or("shared"), now() - waited(&wait));
        rows.push(locked(context, &tables, &wait.entry, (&wait.awaited, mode), Some(since)));
        let Awaited::Lock(_) = wait.awaited else { continue };
        for blocker in &wait.blockers {
            let known = (blocker.entry.pid(), wait.awaited.clone());
            if let Some(mode) = blocker.holds
                && !shown.contains(&known)
            {
                rows.push(locked(context, &tables, &blocker.entry, (&wait.awaited, mode), None));
                shown.push(known);
            }
        }
    }
}

/// Makes the rows of `hotrow_blocking`: a row for each pair of a waiting session and a session that blocks it.
fn blocking(context: &SessionContext, rows: &mut Rows<'_>) {
    let tables = context.view().tables();
    for wait in blocked(context.shared()) {
        let micros = waited(&wait);
        let what = what(&wait.awaited, &tables);
        let row = |blocker: Vec<Value<'static>>| {
            let waiting = vec![
                Value::Int4(wait.entry.pid()),
                text(wait.entry.doing().text),
                time(now() - micros),
                Value::Float8(micros as f64 / 1000.0),
            ];
            let mode = vec![wait.mode.map_or(Value::Null, text)];
            [waiting, what.clone(), mode, blocker].concat()
        };
        if wait.blockers.is_empty() {
            rows.rows.push(row([vec![Value::Null; 4], vec![Value::Bool(wait.is_certain)]].concat()));
        }
        for blocker in &wait.blockers {
            let doing = blocker.entry.doing();
            rows.rows.push(row(vec![
                Value::Int4(blocker.entry.pid()),
                text(doing.state.name()),
                text(doing.text),
                blocker.holds.map_or(Value::Null, text),
                Value::Bool(wait.is_certain),
            ]));
        }
    }
}

/// Returns the target of a wait in words, its table, and the key of its row.
fn what(awaited: &Awaited, tables: &[Arc<Table>]) -> Vec<Value<'static>> {
    let words = match awaited {
        Awaited::Unknown => Value::Null,
        known => text(deadlock::awaited(known, tables)),
    };
    let (table, key) = match awaited {
        Awaited::Table(lock) => (table_of(tables, *lock), None),
        Awaited::Lock(LockTarget::Table { table, part, key }) => {
            let table = tables.iter().find(|known| known.id == *table);
            let row = table.filter(|table| *part == LockPart::Row && !table.is_key_hidden());
            (table, row.and_then(|table| Some(text(deadlock::columns(table, IndexRef::Primary, key.as_ref()?)))))
        }
        Awaited::Lock(LockTarget::Database) | Awaited::Advisory(_) | Awaited::Unknown => (None, None),
    };
    vec![words, table.map_or(Value::Null, |table| text(shown(table.name()))), key.unwrap_or(Value::Null)]
}
