//! ORDER BY and DISTINCT.

use super::{Exec, Fail, Sink, owned, width};
use crate::expr::{Input, compare};
use crate::json;
use crate::plan::{Node, SortKey};
use crate::types::type_of;
use hotrow_storage::{Array, Element, Key, KeyBuilder, Type, Value};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::ControlFlow;

impl Exec<'_> {
    /// Sorts the input's rows. If `leading` is not zero, only the first of the rows that are equal in that many leading
    /// keys is passed on.
    pub(super) fn sort(
        &mut self,
        input: &Node,
        keys: &[SortKey],
        visible: usize,
        leading: usize,
        sink: Sink<'_>,
    ) -> Result<(), Fail> {
        let mut rows: Vec<Vec<Value<'static>>> = Vec::new();
        let memory = self.env.memory;
        self.run(input, &mut |row| {
            memory.check_push(&rows)?;
            rows.push(owned(row, width(row)));
            Ok(ControlFlow::Continue(()))
        })?;
        // A stable sort takes half as much again while it merges.
        memory.check_value(rows.len() / 2 * size_of::<Vec<Value<'_>>>())?;
        let waiter = self.env.waiter;
        rows.sort_by(|left, right| {
            waiter.yield_now();
            compare_rows(left, right, keys)
        });
        let mut last: Option<&Vec<Value<'_>>> = None;
        for row in &rows {
            self.env.check_cancelled()?;
            if leading > 0 {
                if last.is_some_and(|last| compare_rows(last, row, &keys[..leading]).is_eq()) {
                    continue;
                }
                last = Some(row);
            }
            if sink(&Input::Values(&row[..visible]))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn distinct(&mut self, input: &Node, sink: Sink<'_>) -> Result<(), Fail> {
        let mut seen = HashSet::new();
        let memory = self.env.memory;
        self.run(input, &mut |row| {
            memory.check_push(&seen)?;
            let key = group_key((0..width(row)).map(|column| row.value(column)));
            if seen.insert(key) { sink(row) } else { Ok(ControlFlow::Continue(())) }
        })
    }
}

/// Compares two rows by the sort keys.
pub(super) fn compare_rows(left: &[Value<'_>], right: &[Value<'_>], keys: &[SortKey]) -> Ordering {
    for key in keys {
        let (left, right) = (&left[key.column], &right[key.column]);
        let order = compare_keys(left, right, key.descending, key.nulls_first, key.blanks);
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Compares two values in the order of one sort key.
pub(super) fn compare_keys(
    left: &Value<'_>,
    right: &Value<'_>,
    descending: bool,
    nulls_first: bool,
    blanks: bool,
) -> Ordering {
    match (left.is_null(), right.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) if nulls_first => Ordering::Less,
        (false, true) if nulls_first => Ordering::Greater,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => {
            let order = compare(left, right, blanks);
            if descending { order.reverse() } else { order }
        }
    }
}

/// Returns a key that is equal for rows whose values are the same. NULL is the same as NULL.
pub(super) fn group_key<'v>(values: impl IntoIterator<Item = Value<'v>>) -> Key {
    let mut builder = KeyBuilder::default();
    for value in values {
        let value = canonical(value);
        builder.push(type_of(&value).unwrap_or(Type::Text), true, &value);
    }
    builder.finish()
}

/// Returns the value that stands for all values that are equal to this one. Only types with several forms of one value
/// need it: a `jsonb` may write equal numbers in different ways.
pub(super) fn canonical(value: Value<'_>) -> Value<'_> {
    match &value {
        Value::Jsonb(text) => Value::Jsonb(json::canonical(text).into_owned().into()),
        Value::Array(array) if array.element() == Element::Jsonb => {
            let elements = array.iter().map(|element| canonical(element).into_owned());
            Value::Array(Array::new(Element::Jsonb, elements.collect::<Vec<_>>()))
        }
        _ => value,
    }
}
