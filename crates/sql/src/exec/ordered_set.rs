//! Ordered-set and hypothetical-set aggregates: functions of sorted values, with WITHIN GROUP.

use super::sort::compare_keys;
use crate::expr::{Arithmetic, Env, Input};
use crate::plan::{AggregateCall, OrderedSet};
use crate::types::SessionZone;
use crate::{SqlError, state};
use hotrow_storage::{Array, Type, Value};
use std::cmp::Ordering;

/// The sort keys of each row of a group.
type Rows = Vec<Vec<Value<'static>>>;

/// Returns the result of an ordered-set or hypothetical-set aggregate. `rows` are the sort keys of the group's rows.
/// `row` holds the values of the grouping expressions, which the direct arguments may use.
pub(super) fn ordered_set(
    function: OrderedSet,
    mut rows: Rows,
    call: &AggregateCall,
    env: &Env<'_>,
    row: &Input<'_>,
) -> Result<Value<'static>, SqlError> {
    let direct = call.direct.iter().map(|expr| expr.eval(env, row).map(Value::into_owned));
    let direct = direct.collect::<Result<Vec<_>, _>>()?;
    if function.is_hypothetical() {
        return rank(function, rows, &direct, call, env);
    }
    // A stable sort takes half as much again while it merges.
    env.memory.check_value(rows.len() / 2 * size_of::<Vec<Value<'_>>>())?;
    rows.sort_by(|left, right| {
        env.waiter.yield_now();
        compare_all(left, right, call)
    });
    match (function, direct.first()) {
        (OrderedSet::Mode, _) => Ok(mode(rows, call)),
        (_, None | Some(Value::Null)) => Ok(Value::Null),
        (_, Some(Value::Array(fractions))) => {
            let Type::Array(element) = call.result else { return Ok(Value::Null) };
            if rows.is_empty() {
                return Ok(Value::Null);
            }
            for fraction in fractions.iter() {
                check_fraction(&fraction)?;
            }
            let results = fractions.iter().map(|fraction| percentile(function, &rows, &fraction));
            Ok(Value::Array(Array::new(element, results.collect::<Result<Vec<_>, _>>()?)))
        }
        (_, Some(fraction)) => {
            check_fraction(fraction)?;
            percentile(function, &rows, fraction)
        }
    }
}

fn compare_all(left: &[Value<'_>], right: &[Value<'_>], call: &AggregateCall) -> Ordering {
    let keys = left.iter().zip(right).zip(&call.order);
    let mut orders =
        keys.map(|((left, right), by)| compare_keys(left, right, by.descending, by.nulls_first, by.blanks));
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn check_fraction(fraction: &Value<'_>) -> Result<(), SqlError> {
    match fraction {
        Value::Float8(fraction) if !(0.0..=1.0).contains(fraction) => {
            let shown = crate::types::six_digits(*fraction);
            let message = format!("percentile value {shown} is not between 0 and 1");
            Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message))
        }
        _ => Ok(()),
    }
}

/// Returns the value at a fraction of the sorted rows, for `percentile_cont` and `percentile_disc`. Returns NULL if the
/// fraction is NULL or if there are no rows.
fn percentile(function: OrderedSet, rows: &Rows, fraction: &Value<'_>) -> Result<Value<'static>, SqlError> {
    let (Some(last), Value::Float8(fraction)) = (rows.len().checked_sub(1), fraction) else { return Ok(Value::Null) };
    let value = |row: f64| rows[(row.max(0.0) as usize).min(last)].first().cloned().unwrap_or(Value::Null);
    if function == OrderedSet::PercentileDiscrete {
        return Ok(value((fraction * rows.len() as f64).ceil() - 1.0));
    }
    let place = fraction * last as f64;
    let (first, second) = (place.floor(), place.ceil());
    let (low, high) = (value(first), value(second));
    if first == second {
        return Ok(low);
    }
    between(&low, &high, place - first)
}

/// Interpolates between two numbers or intervals. `part` is 0 for the first and 1 for the second.
fn between(low: &Value<'_>, high: &Value<'_>, part: f64) -> Result<Value<'static>, SqlError> {
    if let (Value::Float8(low), Value::Float8(high)) = (low, high) {
        return Ok(Value::Float8(low + part * (high - low)));
    }
    let zone = SessionZone::Utc;
    let difference = Arithmetic::Subtract.apply(high, low, zone)?;
    let way = Arithmetic::Multiply.apply(&difference, &Value::Float8(part), zone)?;
    Ok(Arithmetic::Add.apply(&way, low, zone)?.into_owned())
}

/// Returns the most frequent value of the sorted rows. If several are equally frequent, the first in the order counts.
fn mode(rows: Rows, call: &AggregateCall) -> Value<'static> {
    let runs = rows.chunk_by(|left, right| compare_all(left, right, call).is_eq());
    let longest = runs.reduce(|best, run| if run.len() > best.len() { run } else { best });
    longest.and_then(|run| run.first()?.first().cloned()).unwrap_or(Value::Null)
}

/// Returns the rank, or the related value, that a row with the values of the direct arguments would have among the
/// rows.
fn rank(
    function: OrderedSet,
    mut rows: Rows,
    direct: &[Value<'_>],
    call: &AggregateCall,
    env: &Env<'_>,
) -> Result<Value<'static>, SqlError> {
    let count = rows.len() as f64;
    let mut peers = 0_usize;
    rows.retain(|row| {
        let order = compare_all(row, direct, call);
        peers += usize::from(order.is_eq());
        order.is_lt()
    });
    let before = rows.len();
    let number = |rows: usize| Value::Int8(i64::try_from(rows).unwrap_or(i64::MAX));
    Ok(match function {
        OrderedSet::PercentRank if count == 0.0 => Value::Float8(0.0),
        OrderedSet::PercentRank => Value::Float8(before as f64 / count),
        OrderedSet::CumulativeDistribution => Value::Float8((before + peers + 1) as f64 / (count + 1.0)),
        OrderedSet::DenseRank => {
            env.memory.check_value(before / 2 * size_of::<Vec<Value<'_>>>())?;
            rows.sort_by(|left, right| {
                env.waiter.yield_now();
                compare_all(left, right, call)
            });
            rows.dedup_by(|left, right| compare_all(left, right, call).is_eq());
            number(rows.len() + 1)
        }
        _ => number(before + 1),
    })
}
