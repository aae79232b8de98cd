//! Scans of a table's rows: by key, by range, or in full.

use super::{Fail, Sink};
use crate::catalog::Table;
use crate::expr::{Env, Expr, Input, unseen};
use crate::plan::{Access, List, Path, Range};
use crate::{SqlError, state};
use hotrow_storage::{IndexRef, Key, KeyBuilder, KeySpec, Type, Value};
use hotrow_txn::{Abort, Direction, LockFor, Residual, Scan, Transaction};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::{Bound, ControlFlow};

/// Pushes the rows of an access into `sink`, except rows that another part of the same statement has inserted.
pub(crate) fn run(access: &Access, txn: &mut dyn Transaction, env: &Env<'_>, sink: Sink<'_>) -> Result<(), Fail> {
    let table = &access.table;
    table.check_populated()?;
    match unseen(env).filter(|unseen| unseen.has_inserted_any(table.id)) {
        None => run_path(access, txn, env, sink),
        Some(unseen) => run_path(access, txn, env, &mut |input| match input {
            Input::Row(row) if unseen.has_inserted(table.id, &table.key_of(*row)) => Ok(ControlFlow::Continue(())),
            _ => sink(input),
        }),
    }
}

fn run_path(access: &Access, txn: &mut dyn Transaction, env: &Env<'_>, sink: Sink<'_>) -> Result<(), Fail> {
    match &access.path {
        Path::Key(values) => {
            let Some(key) = key(&access.table.key, values, env)? else { return Ok(()) };
            let _ = one(access, key, txn, env, sink)?;
        }
        Path::Full => {
            let _ = walk(access, Scan::all(access.table.id, IndexRef::Primary), txn, env, sink)?;
        }
        Path::Range(range) => {
            let Some(scan) = range_scan(&access.table, range, env)? else { return Ok(()) };
            let _ = walk(access, scan, txn, env, sink)?;
        }
        Path::Ranges(ranges) => {
            let first = ranges.first().map(|range| range.index);
            if ranges.iter().all(|range| Some(range.index) == first) {
                return walk_ranges(access, ranges, txn, env, sink);
            }
            // A row may be in the ranges of several indexes.
            let mut seen = HashSet::new();
            return walk_ranges(access, ranges, txn, env, &mut |input| {
                env.memory.check()?;
                match input {
                    Input::Row(row) if !seen.insert(access.table.key_of(*row)) => Ok(ControlFlow::Continue(())),
                    _ => sink(input),
                }
            });
        }
    }
    Ok(())
}

/// Pushes the rows of several ranges into `sink`.
fn walk_ranges(
    access: &Access,
    ranges: &[Range],
    txn: &mut dyn Transaction,
    env: &Env<'_>,
    sink: Sink<'_>,
) -> Result<(), Fail> {
    for way in ways(&access.table, ranges, env)? {
        let flow = match way {
            Way::Key(key) => one(access, key, txn, env, sink)?,
            Way::Range(scan) => walk(access, scan, txn, env, sink)?,
        };
        if flow.is_break() {
            break;
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
    if access.lock.waits() || txn.capabilities().needs_accesses {
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

/// The greatest number of ranges that the lists of one range make together. If a list would make more, it is left to
/// the filter.
const MAX_PRODUCT: usize = 10_000;

/// An access to rows: one row by its key, or a range.
pub(super) enum Way {
    Key(Key),
    Range(Scan),
}

/// Returns accesses that cover these ranges without overlaps, in the order in which the rows are wanted.
pub(super) fn ways(table: &Table, ranges: &[Range], env: &Env<'_>) -> Result<Vec<Way>, SqlError> {
    let mut scans = Vec::with_capacity(ranges.len());
    for range in ranges {
        env.memory.check()?;
        match range.lists.is_empty() {
            true => scans.extend(range_scan(table, range, env)?),
            false => spread(table, range, env, &mut scans)?,
        }
    }
    scans.sort_by(|one, other| one.index.cmp(&other.index).then_with(|| compare_lower(&one.lower, &other.lower)));
    let mut apart: Vec<Scan> = Vec::with_capacity(scans.len());
    for scan in scans {
        match apart.last_mut() {
            Some(last) if last.index == scan.index && touch(&last.upper, &scan.lower) => {
                if compare_upper(&scan.upper, &last.upper).is_gt() {
                    last.upper = scan.upper;
                }
            }
            _ => apart.push(scan),
        }
    }
    if ranges.first().is_some_and(|range| range.direction == Direction::Backward) {
        apart.reverse();
    }
    let way = |scan: Scan| match (scan.index, &scan.lower, &scan.upper) {
        (IndexRef::Primary, Bound::Included(lower), Bound::Included(upper)) if lower == upper => {
            Way::Key(lower.clone())
        }
        _ => Way::Range(scan),
    };
    Ok(apart.into_iter().map(way).collect())
}

/// Adds a scan of a range for each combination of the values in its lists.
fn spread(table: &Table, range: &Range, env: &Env<'_>, scans: &mut Vec<Scan>) -> Result<(), SqlError> {
    let mut single = Range { lists: Vec::new(), ..range.clone() };
    let (mut columns, mut product) = (Vec::with_capacity(range.lists.len()), 1_usize);
    for list in &range.lists {
        let values = values_of(list, env)?;
        product = product.saturating_mul(values.len());
        if !columns.is_empty() && product > MAX_PRODUCT {
            single.equal.truncate(list.place);
            (single.lower, single.upper) = (Vec::new(), Vec::new());
            break;
        }
        columns.push((list.place, values));
    }
    if columns.iter().any(|(_, values)| values.is_empty()) {
        return Ok(());
    }
    let mut at = vec![0; columns.len()];
    loop {
        env.memory.check_push(scans)?;
        for ((place, values), &at) in columns.iter().zip(&at) {
            single.equal[*place] = Expr::Const(values[at].clone());
        }
        scans.extend(range_scan(table, &single, env)?);
        let Some(next) = (0..at.len()).rev().find(|&column| at[column] + 1 < columns[column].1.len()) else {
            return Ok(());
        };
        at[next] += 1;
        at[next + 1..].fill(0);
    }
}

/// Returns the values of a list that are not NULL.
fn values_of(list: &List, env: &Env<'_>) -> Result<Vec<Value<'static>>, SqlError> {
    let mut values = Vec::with_capacity(list.exprs.len());
    for expr in &list.exprs {
        match expr.eval(env, &Input::NONE)? {
            Value::Array(array) if list.is_array => {
                for value in array.iter() {
                    env.memory.check_push(&values)?;
                    values.push(value.into_owned());
                }
            }
            value if !list.is_array => values.push(value.into_owned()),
            // A NULL where an array should be: no value is equal to it.
            _ => (),
        }
    }
    values.retain(|value| !value.is_null());
    Ok(values)
}

/// Compares two lower bounds: the lesser one admits more keys.
fn compare_lower(one: &Bound<Key>, other: &Bound<Key>) -> Ordering {
    match (one, other) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => Ordering::Less,
        (_, Bound::Unbounded) => Ordering::Greater,
        (Bound::Included(one), Bound::Excluded(other)) => one.cmp(other).then(Ordering::Less),
        (Bound::Excluded(one), Bound::Included(other)) => one.cmp(other).then(Ordering::Greater),
        (Bound::Included(one), Bound::Included(other)) | (Bound::Excluded(one), Bound::Excluded(other)) => {
            one.cmp(other)
        }
    }
}

/// Compares two upper bounds: the greater one admits more keys.
fn compare_upper(one: &Bound<Key>, other: &Bound<Key>) -> Ordering {
    match (one, other) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => Ordering::Greater,
        (_, Bound::Unbounded) => Ordering::Less,
        (Bound::Included(one), Bound::Excluded(other)) => one.cmp(other).then(Ordering::Greater),
        (Bound::Excluded(one), Bound::Included(other)) => one.cmp(other).then(Ordering::Less),
        (Bound::Included(one), Bound::Included(other)) | (Bound::Excluded(one), Bound::Excluded(other)) => {
            one.cmp(other)
        }
    }
}

/// Whether no key lies between the upper bound of a range and the lower bound of the next range, which begins no
/// earlier.
fn touch(upper: &Bound<Key>, lower: &Bound<Key>) -> bool {
    match (upper, lower) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Excluded(upper), Bound::Excluded(lower)) => lower < upper,
        (Bound::Included(upper) | Bound::Excluded(upper), Bound::Included(lower) | Bound::Excluded(lower)) => {
            lower <= upper
        }
    }
}

/// Turns an abort into the error of NOWAIT if the access does not wait and another transaction has locked the row.
#[cold]
fn refused(abort: Abort, access: &Access) -> Fail {
    if abort != Abort::Timeout || access.lock != LockFor::UpdateNoWait {
        return abort.into();
    }
    let message = format!("could not obtain lock on row in relation \"{}\"", access.table.plain_name());
    SqlError::new(state::LOCK_NOT_AVAILABLE, message).into()
}

/// Checks that there is memory for what is kept of a row that is read. If a statement locks rows to change them, its
/// writes make the check, and its deletes need none.
#[inline]
fn check(lock: LockFor, env: &Env<'_>) -> Result<(), SqlError> {
    if lock == LockFor::Read { env.check_read() } else { Ok(()) }
}

/// Returns a filter in a form that the engine can keep until the transaction has ended.
fn residual(filter: &Expr, env: &Env<'_>) -> Residual {
    let (filter, params, user, waiter) =
        (filter.settled(env), env.params.to_vec(), env.user.to_owned(), env.waiter.clone());
    let Env { now, session_id, styles, memory, keeps_reads, .. } = *env;
    Residual::new(move |row| {
        let (params, user, waiter) = (&params, &user, &waiter);
        let env =
            Env { params, now, user, session_id, waiter, context: None, styles, memory, keeps_reads, frames: None };
        // A row on which the filter fails passes: its visitor finds the error again. The engine may hold a latch here.
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

/// Returns the key with these values. Returns `None` if no row can have it, because a value is NULL or an integer
/// beyond its column's range.
#[inline]
pub(crate) fn key(spec: &KeySpec, values: &[Expr], env: &Env<'_>) -> Result<Option<Key>, SqlError> {
    prefix(spec, values, &[], None, env)
}

/// Returns the key whose leading columns have these values, and NULL at the positions in `nulls`. If `last` is given,
/// that value, which may be NULL, follows them. Returns `None` if no row can have such a key.
fn prefix(
    spec: &KeySpec,
    values: &[Expr],
    nulls: &[usize],
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
        let (value, may_be_null) = match (values.get(at), last) {
            (Some(_), _) if nulls.contains(&at) => (Value::Null, true),
            (Some(expr), _) => (expr.eval(env, &Input::NONE)?, false),
            (None, Some(last)) if at == values.len() => (last.borrowed(), true),
            _ => break,
        };
        if (value.is_null() && !(may_be_null && part.nullable)) || !fits(&value, part.ty) {
            return Ok(None);
        }
        builder.push(part.ty, part.nullable, &value);
    }
    Ok(Some(builder.finish()))
}

/// Whether an integer is within its column's range. All other values are of the type of their column, and fit.
fn fits(value: &Value<'_>, ty: Type) -> bool {
    match (value.as_int(), ty) {
        (Some(int), Type::Int2) => i16::try_from(int).is_ok(),
        (Some(int), Type::Int4) => i32::try_from(int).is_ok(),
        _ => true,
    }
}

/// Returns the scan of a range without lists, or `None` if the range is empty whatever the table holds.
pub(super) fn range_scan(table: &Table, range: &Range, env: &Env<'_>) -> Result<Option<Scan>, SqlError> {
    let spec = table.index_key(range.index);
    let scan = Scan { direction: range.direction, ..Scan::all(table.id, range.index) };
    let is_key = range.index == IndexRef::Primary && range.equal.len() == spec.parts().len();
    if is_key || !table.is_ordered(range.index) {
        let Some(key) = key(spec, &range.equal, env)? else { return Ok(None) };
        return Ok(Some(Scan { lower: Bound::Included(key.clone()), upper: Bound::Included(key), ..scan }));
    }
    let (mut lower, mut upper) = (Bound::Unbounded, Bound::Unbounded);
    if !range.equal.is_empty() {
        let Some(prefix) = prefix(spec, &range.equal, &range.nulls, None, env)? else { return Ok(None) };
        (lower, upper) = (Bound::Included(prefix.clone()), end_of(&prefix));
    }
    for bound in &range.lower {
        let Some(limit) = limit(spec, range, bound, true, env)? else { return Ok(None) };
        let bound = match limit {
            None => continue,
            Some((key @ Key::Int(_), false)) => Bound::Excluded(key),
            Some((key, true)) => Bound::Included(key),
            // Past every entry that begins with the key, whatever its suffix.
            Some((key, false)) => match key.prefix_end() {
                Some(end) => Bound::Included(end),
                None => return Ok(None),
            },
        };
        if compare_lower(&bound, &lower).is_gt() {
            lower = bound;
        }
    }
    for bound in &range.upper {
        let Some(limit) = limit(spec, range, bound, false, env)? else { return Ok(None) };
        let bound = match limit {
            None => continue,
            Some((key, false)) => Bound::Excluded(key),
            Some((key, true)) => end_of(&key),
        };
        if compare_upper(&bound, &upper).is_lt() {
            upper = bound;
        }
    }
    let is_nullable = spec.parts().get(range.equal.len()).is_some_and(|part| part.nullable);
    if is_nullable && range.upper.is_empty() && !range.lower.is_empty() {
        // NULLs come after all values.
        let null = prefix(spec, &range.equal, &range.nulls, Some(&Value::Null), env)?;
        upper = null.map_or(upper, Bound::Excluded);
    }
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

/// Returns a bound's key, and whether the key is included. The outer `None` says that no row satisfies the bound, the
/// inner one that all rows do.
#[allow(clippy::type_complexity, reason = "two absences with different meanings, told apart by the only caller")]
fn limit(
    spec: &KeySpec,
    range: &Range,
    bound: &(Expr, bool),
    is_lower: bool,
    env: &Env<'_>,
) -> Result<Option<Option<(Key, bool)>>, SqlError> {
    let (expr, included) = bound;
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
    let key = prefix(spec, &range.equal, &range.nulls, Some(&value), env)?;
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

/// Returns a scan of all of a table's rows, from which the table is rebuilt.
pub(crate) fn everything(table: &Table) -> Scan {
    Scan { direction: Direction::Forward, ..Scan::all(table.id, IndexRef::Primary) }
}
