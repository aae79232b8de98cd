//! Groups and aggregates.

use super::ordered_set::ordered_set;
use super::sort::{compare_keys, group_key};
use super::spread::Spread;
use super::{Exec, Fail, Sink};
use crate::expr::{Arithmetic, Env, Expr, Input, compare, finish_json, value_bytes, write_json, write_json_key};
use crate::memory::check_size;
use crate::plan::{AggregateCall, AggregateFunction, Node, OrderedSet};
use crate::types::{SessionZone, numeric_error};
use crate::{SqlError, state};
use bytes::BytesMut;
use hotrow_storage::{ArrayBuilder, Key, Numeric, Type, Value};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// A group of rows: the values of the grouping expressions, and the states of the aggregates.
pub(super) struct Group {
    pub(super) values: Vec<Value<'static>>,
    pub(super) states: Vec<State>,
}

/// The state of an aggregate over the values so far.
#[derive(Clone)]
pub(super) struct State {
    /// The number of rows counted.
    count: i64,
    /// The sum, the extreme, the Boolean or the joined text of the values so far. NULL before the first value.
    value: Value<'static>,
    /// The sum of the integers so far, which may exceed `bigint` before the last value has been added.
    integer: i128,
    /// The distinct values so far, for DISTINCT.
    seen: Option<HashSet<Key>>,
    /// The values that are joined or collected at the end, if the aggregate has an ORDER BY.
    pieces: Vec<Piece>,
    /// The sort keys of each row, for an ordered-set or hypothetical-set aggregate.
    sorted: Vec<Vec<Value<'static>>>,
    /// The array of the values that have been collected so far.
    array: Option<ArrayBuilder>,
    /// The elements or members of the JSON so far, without the brackets around them.
    json: BytesMut,
    spread: Spread,
}

/// A value that an aggregate with an ORDER BY keeps until it joins or collects its values.
#[derive(Clone)]
struct Piece {
    /// The keys by which the value is sorted.
    keys: Vec<Value<'static>>,
    /// The separator that precedes a text, unless the text is the first.
    separator: String,
    value: Value<'static>,
}

impl Exec<'_> {
    pub(super) fn aggregate(
        &mut self,
        input: &Node,
        exprs: &[Expr],
        calls: &[AggregateCall],
        sink: Sink<'_>,
    ) -> Result<(), Fail> {
        let mut groups: Vec<Group> = Vec::new();
        let mut positions: HashMap<Key, usize> = HashMap::new();
        if exprs.is_empty() {
            groups.push(Group::new(Vec::new(), calls));
        }
        self.each(input, |env, row| {
            let at = if exprs.is_empty() {
                0
            } else {
                env.memory.check_push(&positions)?;
                env.memory.check_push(&groups)?;
                let values = exprs.iter().map(|expr| expr.eval(env, row)).collect::<Result<Vec<_>, _>>()?;
                let key = group_key(values.iter().map(Value::borrowed));
                *positions.entry(key).or_insert_with(|| {
                    groups.push(Group::new(values.into_iter().map(Value::into_owned).collect(), calls));
                    groups.len() - 1
                })
            };
            for (state, call) in groups[at].states.iter_mut().zip(calls) {
                state.add(call, env, row)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let env = self.env;
        for group in groups {
            let mut row = group.values;
            for (state, call) in group.states.into_iter().zip(calls) {
                let result = state.result(call, &env, &Input::Values(&row))?;
                row.push(result);
            }
            if sink(&Input::Values(&row))?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Group {
    pub(super) fn new(values: Vec<Value<'static>>, calls: &[AggregateCall]) -> Self {
        Self { values, states: calls.iter().map(State::new).collect() }
    }
}

impl State {
    /// Returns the state of an aggregate that has seen no row yet.
    pub(super) fn new(call: &AggregateCall) -> Self {
        Self {
            count: 0,
            value: Value::Null,
            integer: 0,
            seen: call.distinct.then(HashSet::new),
            pieces: Vec::new(),
            sorted: Vec::new(),
            array: match call.function {
                AggregateFunction::Array(element) => Some(ArrayBuilder::new(element)),
                _ => None,
            },
            json: BytesMut::new(),
            spread: Spread::default(),
        }
    }

    /// Adds a row, if it satisfies the FILTER of the call.
    pub(super) fn add(&mut self, call: &AggregateCall, env: &Env<'_>, row: &Input<'_>) -> Result<(), SqlError> {
        if let Some(filter) = &call.filter
            && !filter.is_true(env, row)?
        {
            return Ok(());
        }
        if let AggregateFunction::OrderedSet(function) = call.function {
            return self.keep(function, call, env, row);
        }
        let Some(argument) = &call.argument else {
            self.count += 1;
            return Ok(());
        };
        let value = argument.eval(env, row)?;
        if value.is_null() && (!call.function.collects() || call.function == AggregateFunction::Join) {
            return Ok(());
        }
        if let Some(seen) = &mut self.seen {
            env.memory.check_push(seen)?;
            if !seen.insert(group_key([value.borrowed()])) {
                return Ok(());
            }
        }
        self.count += 1;
        match call.function {
            AggregateFunction::CountRows | AggregateFunction::Count | AggregateFunction::Grouping => {}
            AggregateFunction::OrderedSet(_) => {}
            AggregateFunction::Sum | AggregateFunction::Average => self.sum(&value)?,
            AggregateFunction::Spread { .. } => self.spread.add(&value)?,
            AggregateFunction::Join
            | AggregateFunction::Array(_)
            | AggregateFunction::Json { .. }
            | AggregateFunction::JsonObject { .. } => return self.collect(call, &value, env, row),
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
                let before = std::mem::replace(&mut self.value, Value::Null);
                self.value = if before.is_null() {
                    value.into_owned()
                } else {
                    let operator = match call.function {
                        AggregateFunction::BitAnd => Arithmetic::BitAnd,
                        AggregateFunction::BitOr => Arithmetic::BitOr,
                        _ => Arithmetic::BitXor,
                    };
                    operator.apply(&before, &value, SessionZone::Utc)?.into_owned()
                };
            }
            AggregateFunction::Min | AggregateFunction::Max => {
                let wanted = if call.function == AggregateFunction::Min { Ordering::Less } else { Ordering::Greater };
                let blanks = matches!(call.result, Type::Char(_));
                let is_wanted = |order: Ordering| {
                    // Of equal values that are written differently, the last one counts; of `char`, the first one.
                    order == wanted || order.is_eq() && !blanks
                };
                if self.value.is_null() || is_wanted(compare(&value, &self.value, blanks)) {
                    self.value = value.into_owned();
                }
            }
            AggregateFunction::And | AggregateFunction::Or => {
                let (Value::Bool(value), or) = (value, call.function == AggregateFunction::Or) else { return Ok(()) };
                let before = self.value == Value::Bool(true);
                let first = self.value.is_null();
                self.value = Value::Bool(match (first, or) {
                    (true, _) => value,
                    (false, true) => before || value,
                    (false, false) => before && value,
                });
            }
        }
        Ok(())
    }

    /// Adds a value to an aggregate that joins or collects its values.
    fn collect(
        &mut self,
        call: &AggregateCall,
        value: &Value<'_>,
        env: &Env<'_>,
        row: &Input<'_>,
    ) -> Result<(), SqlError> {
        env.memory.check_push(&self.pieces)?;
        let separator = match &call.separator {
            Some(separator) => separator.eval(env, row)?,
            None => Value::Null,
        };
        let separator = match (call.function, &separator) {
            (AggregateFunction::JsonObject { .. }, key) => {
                let mut shown = BytesMut::new();
                write_json_key(key, &mut shown, env)?;
                Cow::Owned(String::from_utf8_lossy(&shown).into_owned())
            }
            (_, Value::Text(separator)) => Cow::Borrowed(&**separator),
            _ => Cow::Borrowed(""),
        };
        if !call.order.is_empty() {
            let keys = call.order.iter().map(|order| order.expr.eval(env, row).map(Value::into_owned));
            let keys = keys.collect::<Result<_, _>>()?;
            let value = value.borrowed().into_owned();
            self.pieces.push(Piece { keys, separator: separator.into_owned(), value });
            return Ok(());
        }
        self.append(call.function, &separator, value, env)
    }

    fn append(
        &mut self,
        function: AggregateFunction,
        separator: &str,
        value: &Value<'_>,
        env: &Env<'_>,
    ) -> Result<(), SqlError> {
        if let AggregateFunction::Json { .. } | AggregateFunction::JsonObject { .. } = function {
            let is_row = matches!(function, AggregateFunction::Json { rows: true, .. }) && !value.is_null();
            return self.append_json(separator, value, is_row, env);
        }
        if let Some(array) = &mut self.array {
            check_size(array.size().saturating_add(value_bytes(value)), env.memory)?;
            array.push(value);
            return Ok(());
        }
        let Value::Text(text) = value else { return Ok(()) };
        let mut joined = match std::mem::replace(&mut self.value, Value::Null) {
            Value::Text(joined) => {
                let mut joined = joined.into_owned();
                joined.push_str(separator);
                joined
            }
            _ => String::new(),
        };
        check_size(joined.len().saturating_add(text.len()), env.memory)?;
        joined.push_str(text);
        self.value = Value::Text(joined.into());
        Ok(())
    }

    /// Appends an element or a member to the JSON text. `result` puts the brackets around it.
    fn append_json(&mut self, key: &str, value: &Value<'_>, is_row: bool, env: &Env<'_>) -> Result<(), SqlError> {
        if !self.json.is_empty() {
            self.json.extend_from_slice(b", ");
            // Arrays and rows stand on lines of their own, as PostgreSQL writes them.
            if key.is_empty() && (is_row || matches!(value, Value::Array(_))) {
                self.json.extend_from_slice(b"\n ");
            }
        }
        if !key.is_empty() {
            check_size(self.json.len().saturating_add(key.len()), env.memory)?;
            self.json.extend_from_slice(key.as_bytes());
            self.json.extend_from_slice(b" : ");
        }
        write_json(value, &mut self.json, env)
    }

    /// Sorts the values that have been kept for an ORDER BY, and joins or collects them in that order.
    fn append_sorted(&mut self, call: &AggregateCall, env: &Env<'_>) -> Result<(), SqlError> {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.sort_by(|left, right| {
            let keys = left.keys.iter().zip(&right.keys).zip(&call.order);
            let orders =
                keys.map(|((left, right), by)| compare_keys(left, right, by.descending, by.nulls_first, by.blanks));
            orders.fold(Ordering::Equal, Ordering::then)
        });
        pieces.iter().try_for_each(|piece| self.append(call.function, &piece.separator, &piece.value, env))
    }

    fn sum(&mut self, value: &Value<'_>) -> Result<(), SqlError> {
        if let Some(int) = value.as_int() {
            self.integer += i128::from(int);
            return Ok(());
        }
        self.value = match (&self.value, value) {
            (Value::Null, value) => value.borrowed().into_owned(),
            (sum, value) => crate::expr::Arithmetic::Add.apply(sum, value, SessionZone::Utc)?,
        };
        Ok(())
    }

    /// Keeps the sort keys of a row for an ordered-set or hypothetical-set aggregate. An ordered-set aggregate ignores
    /// a row with a NULL among its keys.
    fn keep(
        &mut self,
        function: OrderedSet,
        call: &AggregateCall,
        env: &Env<'_>,
        row: &Input<'_>,
    ) -> Result<(), SqlError> {
        let keys = call.order.iter().map(|order| order.expr.eval(env, row).map(Value::into_owned));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        if function.is_hypothetical() || !keys.iter().any(Value::is_null) {
            env.memory.check_push(&self.sorted)?;
            self.sorted.push(keys);
        }
        Ok(())
    }

    /// Returns the aggregate's result over all values so far. `row` holds the values of the grouping expressions.
    pub(super) fn result(
        mut self,
        call: &AggregateCall,
        env: &Env<'_>,
        row: &Input<'_>,
    ) -> Result<Value<'static>, SqlError> {
        match call.function {
            function if function.collects() => self.append_sorted(call, env)?,
            AggregateFunction::OrderedSet(function) => return ordered_set(function, self.sorted, call, env, row),
            // Without grouping sets, all arguments belong to the group.
            AggregateFunction::Grouping => return Ok(Value::Int4(0)),
            AggregateFunction::Spread { population, root } => return self.spread.result(population, root),
            _ => {}
        }
        match call.function {
            AggregateFunction::CountRows | AggregateFunction::Count => return Ok(Value::Int8(self.count)),
            _ if self.count == 0 => return Ok(Value::Null),
            AggregateFunction::Array(_) => {
                return Ok(self.array.map_or(Value::Null, |array| Value::Array(array.finish())));
            }
            AggregateFunction::Json { binary, .. } => {
                return finish_json([b"[", &self.json[..], b"]"].concat().as_slice().into(), binary, env.memory);
            }
            AggregateFunction::JsonObject { binary } => {
                return finish_json([b"{ ", &self.json[..], b" }"].concat().as_slice().into(), binary, env.memory);
            }
            AggregateFunction::Sum => {}
            AggregateFunction::Average => {
                return Ok(match self.value {
                    Value::Numeric(sum) => {
                        Value::Numeric(sum.divide(&Numeric::from(self.count)).map_err(numeric_error)?)
                    }
                    Value::Float8(sum) => Value::Float8(sum / self.count as f64),
                    Value::Interval(sum) => {
                        Value::Interval(crate::expr::interval_arithmetic::divide(sum, self.count as f64)?)
                    }
                    other => other,
                });
            }
            _ => return Ok(self.value),
        }
        if !self.value.is_null() {
            return Ok(self.value);
        }
        let overflow = || SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range");
        match call.result {
            Type::Int8 => i64::try_from(self.integer).map(Value::Int8).map_err(|_| overflow()),
            _ => Ok(Value::Numeric(self.integer.into())),
        }
    }
}
