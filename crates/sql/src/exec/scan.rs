//! A table's rows.

use super::{Fail, Sink};
use crate::catalog::Table;
use crate::expr::{Env, Expr, Input, lost};
use crate::plan::{Access, Each, Path, Range};
use crate::{SqlError, state};
use hotrow_storage::{IndexRef, Key, KeyBuilder, KeySpec, Type, Value};
use hotrow_txn::{Abort, Direction, LockFor, Residual, Scan, Transaction};
use std::ops::{Bound, ControlFlow};

/// Pushes the rows of an access into `sink`.
pub(crate) fn run(access: &Access, txn: &mut dyn Transaction, env: &Env<'_>, sink: Sink<'_>) -> Result<(), Fail> {
    match &access.path {
        Path::Key(values) => {
            let Some(key) = key(&access.table.key, values, None, env)? else { return Ok(()) };
            let _ = one(access, key, txn, env, sink)?;
        }
        Path::Full => {
            let _ = walk(access, Scan::all(access.table.id, IndexRef::Primary), txn, env, sink)?;
        }
        Path::Range(range) => {
            let Some(scan) = range_scan(&access.table, range, env)? else { return Ok(()) };
            let _ = walk(access, scan, txn, env, sink)?;
        }
        Path::Each(each) => {
            for way in ways(&access.table, each, env)? {
                let flow = match way {
                    Way::Key(key) => one(access, key, txn, env, sink)?,
                    Way::Range(scan) => walk(access, scan, txn, env, sink)?,
                };
                if flow.is_break() {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Pushes the row of a key into `sink`, if it is there and satisfies the access's filter.
#[inline]
fn one(
    access: &Access,
    key: Key,
    txn: &mut dyn Transaction,
    env: &Env<'_>,
    sink: Sink<'_>,
) -> Result<ControlFlow<()>, Fail> {
    if access.lock.waits() || txn.needs_accesses() {
        return point(access, &key, txn, env, sink);
    }
    let (lower, upper) = (Bound::Included(key.clone()), Bound::Included(key));
    walk(access, Scan { lower, upper, ..Scan::all(access.table.id, IndexRef::Primary) }, txn, env, sink)
}

/// Pushes the rows of a scan that satisfy the access's filter into `sink`.
fn walk(
    access: &Access,
    scan: Scan,
    txn: &mut dyn Transaction,
    env: &Env<'_>,
    sink: Sink<'_>,
) -> Result<ControlFlow<()>, Fail> {
    let filter = access.filter.as_ref().filter(|_| txn.takes_residual(access.lock));
    let scan = Scan { lock: access.lock, residual: filter.map(|filter| residual(filter, env)), ..scan };
    let mut ended = Ok(ControlFlow::Continue(()));
    txn.scan(&scan, &mut |row| {
        let input = Input::Row(row);
        let checked = env.check_cancelled().and_then(|()| check(access.lock, env));
        let visited = checked.and_then(|()| match &access.filter {
            Some(filter) if !filter.is_true(env, &input)? => Ok(ControlFlow::Continue(())),
            _ => sink(&input),
        });
        match visited {
            Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
            other => {
                ended = other;
                ControlFlow::Break(())
            }
        }
    })
    .map_err(|abort| refused(abort, access))?;
    Ok(ended?)
}

/// The way to the rows of one value of a list.
pub(super) enum Way {
    Key(Key),
    Range(Scan),
}

impl Way {
    /// Where it begins.
    fn start(&self) -> Option<&Key> {
        match self {
            Way::Key(key) => Some(key),
            Way::Range(scan) => match &scan.lower {
                Bound::Included(key) | Bound::Excluded(key) => Some(key),
                Bound::Unbounded => None,
            },
        }
    }
}

/// The ways to the rows of a list's values, each once, in the order that is wanted.
pub(super) fn ways(table: &Table, each: &Each, env: &Env<'_>) -> Result<Vec<Way>, SqlError> {
    let mut path = each.way.clone();
    let mut ways = Vec::new();
    let mut push = |value: Value<'_>| {
        env.memory.check_push(&ways)?;
        let values = match &mut path {
            Path::Key(values) => values,
            Path::Range(range) => &mut range.equal,
            Path::Each(_) | Path::Full => return Err(lost("a way for one value")),
        };
        values[each.place] = Expr::Const(value.into_owned());
        let way = match &path {
            Path::Key(values) => key(&table.key, values, None, env)?.map(Way::Key),
            Path::Range(range) => range_scan(table, range, env)?.map(Way::Range),
            Path::Each(_) | Path::Full => None,
        };
        ways.extend(way);
        Ok(())
    };
    for expr in &each.candidates.exprs {
        match expr.eval(env, &Input::NONE)? {
            Value::Array(array) if each.candidates.is_array => array.iter().try_for_each(&mut push)?,
            value if !each.candidates.is_array => push(value)?,
            // A NULL where an array should be: no value is equal to it.
            _ => (),
        }
    }
    ways.sort_by(|one, other| one.start().cmp(&other.start()));
    ways.dedup_by(|one, other| one.start() == other.start());
    if each.direction == Direction::Backward {
        ways.reverse();
    }
    Ok(ways)
}

/// A row that is not to be waited for is in somebody else's hands.
#[cold]
fn refused(abort: Abort, access: &Access) -> Fail {
    if abort != Abort::Timeout || access.lock != LockFor::UpdateNoWait {
        return abort.into();
    }
    let message = format!("could not obtain lock on row in relation \"{}\"", access.table.plain_name());
    SqlError::new(state::LOCK_NOT_AVAILABLE, message).into()
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
    let Env { now, session_id, styles, memory, keeps_reads, .. } = *env;
    Residual::new(move |row| {
        let (params, user, waiter) = (&params, &user, &waiter);
        let env = Env { params, now, user, session_id, waiter, names: None, styles, memory, keeps_reads, frames: None };
        // The visitor of the row finds the error again. The engine may hold a latch here.
        waiter.is_cancelled() || filter.is_true(&env, &Input::Row(row)).unwrap_or(true)
    })
}

#[inline]
fn point(
    access: &Access,
    key: &Key,
    txn: &mut dyn Transaction,
    env: &Env<'_>,
    sink: Sink<'_>,
) -> Result<ControlFlow<()>, Fail> {
    let table = access.table.id;
    let row = match access.lock {
        LockFor::Read => txn.read(table, key)?,
        _ => txn.read_for_update(table, key)?,
    };
    check(access.lock, env)?;
    if let Some(row) = row {
        let input = Input::Row(row);
        let wanted = match &access.filter {
            Some(filter) => filter.is_true(env, &input)?,
            None => true,
        };
        if wanted {
            return Ok(sink(&input)?);
        }
    }
    Ok(ControlFlow::Continue(()))
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
