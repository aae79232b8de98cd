//! A table's rows.

use super::{Fail, Sink};
use crate::SqlError;
use crate::catalog::Table;
use crate::expr::{Env, Expr, Input};
use crate::plan::{Access, Path, Range};
use hotrow_storage::{IndexRef, Key, KeyBuilder, KeySpec, Type, Value};
use hotrow_txn::{Direction, LockFor, Residual, Scan, Transaction};
use std::ops::{Bound, ControlFlow};

/// Pushes the rows of an access into `sink`.
pub(crate) fn run(access: &Access, txn: &mut dyn Transaction, env: &Env<'_>, sink: Sink<'_>) -> Result<(), Fail> {
    let Some(scan) = (match &access.path {
        Path::Key(values) => {
            let Some(key) = key(&access.table.key, values, None, env)? else { return Ok(()) };
            return point(access, &key, txn, env, sink);
        }
        Path::Full => Some(Scan::all(access.table.id, IndexRef::Primary)),
        Path::Range(range) => range_scan(&access.table, range, env)?,
    }) else {
        return Ok(());
    };
    let filter = access.filter.as_ref().filter(|_| txn.takes_residual(access.lock));
    let scan = Scan { lock: access.lock, residual: filter.map(|filter| residual(filter, env)), ..scan };
    let mut failed = None;
    txn.scan(&scan, &mut |row| {
        let input = Input::Row(row);
        let checked = env.check_cancelled().and_then(|()| check(access.lock, env));
        let visited = checked.and_then(|()| match &access.filter {
            Some(filter) if !filter.is_true(env, &input)? => Ok(ControlFlow::Continue(())),
            _ => sink(&input),
        });
        visited.unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        })
    })?;
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// An error if there is no memory for what is kept of a row. Who locks rows to change them is asked where he writes, and not at all
/// where he deletes.
#[inline]
fn check(lock: LockFor, env: &Env<'_>) -> Result<(), SqlError> {
    if lock == LockFor::Read { env.check_read() } else { Ok(()) }
}

/// A filter as the engine can keep it until the transaction has ended.
fn residual(filter: &Expr, env: &Env<'_>) -> Residual {
    let (filter, params, user, waiter) =
        (filter.settled(env), env.params.to_vec(), env.user.to_owned(), env.waiter.clone());
    let Env { now, session_id, memory, keeps_reads, .. } = *env;
    Residual::new(move |row| {
        let (params, user, waiter) = (&params, &user, &waiter);
        let env = Env { params, now, user, session_id, waiter, names: None, memory, keeps_reads, frames: None };
        // Who visits the row finds the error again.
        env.check_cancelled().is_err() || filter.is_true(&env, &Input::Row(row)).unwrap_or(true)
    })
}

fn point(access: &Access, key: &Key, txn: &mut dyn Transaction, env: &Env<'_>, sink: Sink<'_>) -> Result<(), Fail> {
    let table = access.table.id;
    let row = match access.lock {
        LockFor::Read => txn.read(table, key)?,
        LockFor::Update => txn.read_for_update(table, key)?,
    };
    check(access.lock, env)?;
    if let Some(row) = row {
        let input = Input::Row(row);
        let wanted = match &access.filter {
            Some(filter) => filter.is_true(env, &input)?,
            None => true,
        };
        if wanted {
            let _ = sink(&input)?;
        }
    }
    Ok(())
}

/// The key whose leading columns have these values, and one more if given. `None` if no row can have it: a value is NULL, or
/// an integer beyond its column's range.
pub(crate) fn key(
    spec: &KeySpec,
    values: &[Expr],
    last: Option<&Value<'_>>,
    env: &Env<'_>,
) -> Result<Option<Key>, SqlError> {
    if spec.is_int() {
        let int = match last {
            Some(value) => value.as_int(),
            None => values[0].eval(env, &Input::NONE)?.as_int(),
        };
        return Ok(int.map(Key::Int));
    }
    let mut builder = KeyBuilder::default();
    for (at, part) in spec.parts().iter().enumerate() {
        let value = match (values.get(at), last) {
            (Some(expr), _) => expr.eval(env, &Input::NONE)?,
            (None, Some(last)) if at == values.len() => last.borrowed(),
            _ => break,
        };
        if value.is_null() || !fits(&value, part.ty) {
            return Ok(None);
        }
        builder.push(part.ty, part.nullable, &value);
    }
    Ok(Some(builder.finish()))
}

/// Whether an integer is within its column's range; all other values are of their column's type.
fn fits(value: &Value<'_>, ty: Type) -> bool {
    match (value.as_int(), ty) {
        (Some(int), Type::Int2) => i16::try_from(int).is_ok(),
        (Some(int), Type::Int4) => i32::try_from(int).is_ok(),
        _ => true,
    }
}

/// The scan of a range; `None` if it is empty whatever the table holds.
pub(super) fn range_scan(table: &Table, range: &Range, env: &Env<'_>) -> Result<Option<Scan>, SqlError> {
    let spec = table.index_key(range.index);
    let scan = Scan { direction: range.direction, ..Scan::all(table.id, range.index) };
    if !table.is_ordered(range.index) {
        let Some(key) = key(spec, &range.equal, None, env)? else { return Ok(None) };
        return Ok(Some(Scan { lower: Bound::Included(key.clone()), upper: Bound::Included(key), ..scan }));
    }
    let prefix = match range.equal.len() {
        0 => None,
        _ => match key(spec, &range.equal, None, env)? {
            Some(key) => Some(key),
            None => return Ok(None),
        },
    };
    let Some(lower) = limit(spec, range, range.lower.as_ref(), true, env)? else { return Ok(None) };
    let Some(upper) = limit(spec, range, range.upper.as_ref(), false, env)? else { return Ok(None) };
    let lower = match (lower, &prefix) {
        (Some((key @ Key::Int(_), included)), _) => {
            if included {
                Bound::Included(key)
            } else {
                Bound::Excluded(key)
            }
        }
        (Some((key, true)), _) => Bound::Included(key),
        // Past every entry that begins with the key, whatever its suffix.
        (Some((key, false)), _) => key.prefix_end().map_or(Bound::Unbounded, Bound::Included),
        (None, Some(prefix)) => Bound::Included(prefix.clone()),
        (None, None) => Bound::Unbounded,
    };
    let upper = match (upper, &prefix) {
        (Some((key @ Key::Int(_), included)), _) => {
            if included {
                Bound::Included(key)
            } else {
                Bound::Excluded(key)
            }
        }
        (Some((key, false)), _) => Bound::Excluded(key),
        (Some((key, true)), _) => end_of(&key),
        (None, Some(prefix)) => end_of(prefix),
        (None, None) => Bound::Unbounded,
    };
    if is_empty(&lower, &upper) {
        return Ok(None);
    }
    Ok(Some(Scan { lower, upper, ..scan }))
}

fn end_of(prefix: &Key) -> Bound<Key> {
    match prefix {
        Key::Int(_) => Bound::Included(prefix.clone()),
        _ => prefix.prefix_end().map_or(Bound::Unbounded, Bound::Excluded),
    }
}

/// A bound's key, and whether it is included. The outer `None`: no row satisfies it. The inner one: there is no bound, or one
/// that all rows satisfy.
#[allow(clippy::type_complexity, reason = "two absences with different meanings, told apart by the only caller")]
fn limit(
    spec: &KeySpec,
    range: &Range,
    bound: Option<&(Expr, bool)>,
    is_lower: bool,
    env: &Env<'_>,
) -> Result<Option<Option<(Key, bool)>>, SqlError> {
    let Some((expr, included)) = bound else { return Ok(Some(None)) };
    let value = expr.eval(env, &Input::NONE)?;
    if value.is_null() {
        return Ok(None);
    }
    let part = spec.parts().get(range.equal.len()).filter(|_| !spec.is_int());
    if part.is_some_and(|part| !fits(&value, part.ty)) {
        // All values of the column are on one side of it.
        let is_beyond = value.as_int().is_some_and(i64::is_positive);
        return Ok(if is_beyond == is_lower { None } else { Some(None) });
    }
    let key = key(spec, &range.equal, Some(&value), env)?;
    Ok(key.map(|key| Some((key, *included))))
}

fn is_empty(lower: &Bound<Key>, upper: &Bound<Key>) -> bool {
    match (lower, upper) {
        (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
            lower >= upper
        }
        _ => false,
    }
}

/// A scan of all of a table's rows, for those who rebuild it.
pub(crate) fn everything(table: &Table) -> Scan {
    Scan { direction: Direction::Forward, ..Scan::all(table.id, IndexRef::Primary) }
}
