//! Groups and aggregates.

use super::sort::group_key;
use super::{Exec, Fail, Sink};
use crate::expr::{Env, Expr, Input, compare, divide};
use crate::plan::{AggregateCall, AggregateFunction, Node};
use crate::{SqlError, state};
use hotrow_storage::{Decimal, Key, Type, Value};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

struct Group {
    values: Vec<Value<'static>>,
    states: Vec<State>,
}

/// What an aggregate has seen.
struct State {
    /// Rows counted.
    count: i64,
    /// The sum so far, or the extreme, or the Boolean; NULL at first.
    value: Value<'static>,
    /// A sum of integers, which may exceed bigint on the way.
    integer: i128,
    /// Values seen, for DISTINCT.
    seen: Option<HashSet<Key>>,
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
                env.memory.check()?;
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
        for group in groups {
            let mut row = group.values;
            for (state, call) in group.states.into_iter().zip(calls) {
                row.push(state.result(call)?);
            }
            if sink(&Input::Values(&row))?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Group {
    fn new(values: Vec<Value<'static>>, calls: &[AggregateCall]) -> Self {
        let state = |call: &AggregateCall| State {
            count: 0,
            value: Value::Null,
            integer: 0,
            seen: call.distinct.then(HashSet::new),
        };
        Self { values, states: calls.iter().map(state).collect() }
    }
}

impl State {
    fn add(&mut self, call: &AggregateCall, env: &Env<'_>, row: &Input<'_>) -> Result<(), SqlError> {
        if let Some(filter) = &call.filter
            && !filter.is_true(env, row)?
        {
            return Ok(());
        }
        let Some(argument) = &call.argument else {
            self.count += 1;
            return Ok(());
        };
        let value = argument.eval(env, row)?;
        if value.is_null() {
            return Ok(());
        }
        if let Some(seen) = &mut self.seen
            && !seen.insert(group_key([value.borrowed()]))
        {
            return Ok(());
        }
        self.count += 1;
        match call.function {
            AggregateFunction::CountRows | AggregateFunction::Count => {}
            AggregateFunction::Sum | AggregateFunction::Average => self.sum(&value)?,
            AggregateFunction::Min | AggregateFunction::Max => {
                let wanted = if call.function == AggregateFunction::Min { compare_less } else { compare_greater };
                let blanks = matches!(call.result, Type::Char(_));
                if self.value.is_null() || wanted(&value, &self.value, blanks) {
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

    fn sum(&mut self, value: &Value<'_>) -> Result<(), SqlError> {
        if let Some(int) = value.as_int() {
            self.integer += i128::from(int);
            return Ok(());
        }
        self.value = match (&self.value, value) {
            (Value::Null, value) => value.borrowed().into_owned(),
            (sum, value) => crate::expr::Arithmetic::Add.apply(sum, value)?,
        };
        Ok(())
    }

    fn result(self, call: &AggregateCall) -> Result<Value<'static>, SqlError> {
        match call.function {
            AggregateFunction::CountRows | AggregateFunction::Count => return Ok(Value::Int8(self.count)),
            _ if self.count == 0 => return Ok(Value::Null),
            AggregateFunction::Sum => {}
            AggregateFunction::Average => {
                return Ok(match self.value {
                    Value::Numeric(sum) => Value::Numeric(divide(sum, Decimal::from(self.count))?),
                    Value::Float8(sum) => Value::Float8(sum / self.count as f64),
                    other => other,
                });
            }
            _ => return Ok(self.value),
        }
        if !self.value.is_null() {
            return Ok(self.value);
        }
        let overflow = |ty: &str| SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("{ty} out of range"));
        match call.result {
            Type::Int8 => i64::try_from(self.integer).map(Value::Int8).map_err(|_| overflow("bigint")),
            _ => {
                let sum = Decimal::try_from_i128_with_scale(self.integer, 0).map_err(|_| overflow("numeric"))?;
                Ok(Value::Numeric(sum))
            }
        }
    }
}

fn compare_less(left: &Value<'_>, right: &Value<'_>, blanks: bool) -> bool {
    compare(left, right, blanks).is_lt()
}

fn compare_greater(left: &Value<'_>, right: &Value<'_>, blanks: bool) -> bool {
    compare(left, right, blanks).is_gt()
}
