//! Nested-loop joins and hash joins.

use super::sort::canonical;
use super::{Exec, Fail, Flow, Sink, recycle};
use crate::SqlError;
use crate::expr::{Content, Env, Expr, Frame, Input, Kept};
use crate::plan::{HashJoin, JoinKind, NestedLoop};
use crate::types::type_of;
use hotrow_storage::{Key, KeyBuilder, Type, Value};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// The number that ends a chain of rows.
const NONE: u32 = u32::MAX;

impl Exec<'_> {
    pub(super) fn nested_loop(&mut self, join: &NestedLoop, sink: Sink<'_>) -> Result<(), Fail> {
        let outer = self.collect(&join.outer, &join.keep)?;
        let mut shown: Vec<Value<'_>> = Vec::with_capacity(join.shown.len());
        let mut enough = false;
        for row in outer.rows() {
            self.env.check_cancelled()?;
            shown.clear();
            shown.extend(join.shown.iter().map(|&column| row[column].borrowed()));
            let frame = Frame { id: join.frame, content: Content::Row(&shown), next: self.env.frames };
            let mut matched = false;
            self.inside(&frame).run(&join.inner, &mut |inner| {
                matched = true;
                let flow = sink(&Input::After(row, inner))?;
                enough = flow.is_break();
                Ok(flow)
            })?;
            if !matched && join.kind == JoinKind::Left {
                enough = sink(&Input::After(row, &Input::Nulls))?.is_break();
            }
            if enough {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn hash_join(&mut self, join: &HashJoin, sink: Sink<'_>) -> Result<(), Fail> {
        let inner = self.collect(&join.inner, &join.inner_columns)?;
        let mut table = Table::new(join, inner, &self.env)?;
        let mut kept = Vec::new();
        let mut enough = false;
        self.each(&join.outer, |env, row| {
            let flow;
            kept = {
                let mut values = recycle(std::mem::take(&mut kept));
                values.extend(join.outer_columns.iter().map(|&column| row.value(column)));
                flow = table.matches(join, env, &values, sink)?;
                recycle(values)
            };
            enough = flow.is_break();
            Ok(flow)
        })?;
        if join.kind == JoinKind::Full && !enough {
            let nulls = vec![Value::Null; join.outer_columns.len()];
            for at in (0..table.rows.len()).filter(|&at| !table.matched[at]) {
                self.env.check_cancelled()?;
                if sink(&Input::After(&nulls, &Input::Values(table.rows.row(at))))?.is_break() {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The kept side of a join: rows with equal keys are chained.
struct Table {
    rows: Kept,
    /// The first row of each key's chain.
    first: HashMap<Key, u32>,
    /// The row after each row in its chain.
    next: Vec<u32>,
    /// For a full join: whether each row has been part of a row of the join.
    matched: Vec<bool>,
}

impl Table {
    fn new(join: &HashJoin, rows: Kept, env: &Env<'_>) -> Result<Self, SqlError> {
        let mut table = Self { rows, first: HashMap::new(), next: Vec::new(), matched: Vec::new() };
        if join.kind == JoinKind::Full {
            table.matched.resize(table.rows.len(), false);
        }
        if join.keys.is_empty() {
            return Ok(table);
        }
        env.memory.check_value(table.rows.len() * size_of_val(&NONE))?;
        table.next.resize(table.rows.len(), NONE);
        // Backwards, so that each chain contains its rows in their order.
        for at in (0..table.rows.len()).rev() {
            env.check_cancelled()?;
            env.memory.check_push(&table.first)?;
            let row = Input::Values(table.rows.row(at));
            let exprs = join.keys.iter().map(|key| (&key.inner, key.blanks));
            if let Some(key) = join_key(exprs, env, &row)? {
                let before = table.first.insert(key, at as u32);
                table.next[at] = before.unwrap_or(NONE);
            }
        }
        Ok(table)
    }

    /// Pushes the rows of the join that have this outer row into `sink`.
    fn matches(&mut self, join: &HashJoin, env: &Env<'_>, outer: &[Value<'_>], sink: Sink<'_>) -> Flow {
        let hashed = !join.keys.is_empty();
        let mut at = if hashed {
            let exprs = join.keys.iter().map(|key| (&key.outer, key.blanks));
            let key = join_key(exprs, env, &Input::Values(outer))?;
            key.and_then(|key| self.first.get(&key)).copied().unwrap_or(NONE)
        } else {
            0
        };
        let mut matched = false;
        while (at as usize) < self.rows.len() {
            env.check_cancelled()?;
            let inner = Input::Values(self.rows.row(at as usize));
            let row = Input::After(outer, &inner);
            let holds = match &join.condition {
                Some(condition) => condition.is_true(env, &row)?,
                None => true,
            };
            if holds && join.kind == JoinKind::Semi {
                return sink(&Input::Values(outer));
            }
            if holds && join.kind == JoinKind::Anti {
                return Ok(ControlFlow::Continue(()));
            }
            if holds {
                matched = true;
                if join.kind == JoinKind::Full {
                    self.matched[at as usize] = true;
                }
                if sink(&row)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            at = if hashed { self.next[at as usize] } else { at + 1 };
        }
        match join.kind {
            JoinKind::Left | JoinKind::Full if !matched => sink(&Input::After(outer, &Input::Nulls)),
            JoinKind::Anti => sink(&Input::Values(outer)),
            _ => Ok(ControlFlow::Continue(())),
        }
    }
}

/// Returns a key that is equal for values that compare as equal, or `None` if one of the values is NULL, which equals
/// nothing.
fn join_key<'e>(
    exprs: impl Iterator<Item = (&'e Expr, bool)>,
    env: &Env<'_>,
    row: &Input<'_>,
) -> Result<Option<Key>, SqlError> {
    let mut builder = KeyBuilder::default();
    for (expr, blanks) in exprs {
        let value = expr.eval(env, row)?;
        if value.is_null() {
            return Ok(None);
        }
        push_equal(&mut builder, &value, blanks);
    }
    Ok(Some(builder.finish()))
}

/// Appends a value to a key, in the same form for all values that compare as equal: integers of any width, and texts
/// that differ in their trailing blanks if `blanks` says that these do not count.
pub(super) fn push_equal(builder: &mut KeyBuilder, value: &Value<'_>, blanks: bool) {
    let ty = match value {
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) => Type::Int8,
        Value::Text(_) if blanks => Type::Char(1),
        other => type_of(other).unwrap_or(Type::Text),
    };
    builder.push(ty, false, &canonical(value.borrowed()));
}
