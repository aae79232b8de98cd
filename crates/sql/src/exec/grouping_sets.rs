//! Groups of several grouping sets.

use super::aggregate::Group;
use super::sort::group_key;
use super::{Exec, Fail, Sink};
use crate::expr::{Expr, Input};
use crate::plan::{AggregateCall, AggregateFunction, GroupingSets};
use hotrow_storage::{Key, Value};
use std::collections::HashMap;
use std::ops::ControlFlow;

impl Exec<'_> {
    /// Groups the input's rows by each of the grouping sets, in one pass over the input.
    pub(super) fn grouping_sets(&mut self, plan: &GroupingSets, sink: Sink<'_>) -> Result<(), Fail> {
        let GroupingSets { input, exprs, sets, calls } = plan;
        let mut groups: Vec<Vec<Group>> = sets.iter().map(|_| Vec::new()).collect();
        for (groups, set) in groups.iter_mut().zip(sets) {
            if set.is_empty() {
                groups.push(Group::new(vec![Value::Null; exprs.len()], calls));
            }
        }
        let mut positions: Vec<HashMap<Key, usize>> = sets.iter().map(|_| HashMap::new()).collect();
        self.each(input, |env, row| {
            let values = exprs.iter().map(|expr| expr.eval(env, row)).collect::<Result<Vec<_>, _>>()?;
            for ((set, positions), groups) in sets.iter().zip(&mut positions).zip(&mut groups) {
                let at = if set.is_empty() {
                    0
                } else {
                    env.memory.check_push(positions)?;
                    env.memory.check_push(groups)?;
                    let key = group_key(set.iter().map(|&at| values[at].borrowed()));
                    *positions.entry(key).or_insert_with(|| {
                        let mut own = vec![Value::Null; exprs.len()];
                        set.iter().for_each(|&at| own[at] = values[at].borrowed().into_owned());
                        groups.push(Group::new(own, calls));
                        groups.len() - 1
                    })
                };
                for (state, call) in groups[at].states.iter_mut().zip(calls) {
                    state.add(call, env, row)?;
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let env = self.env;
        for (set, groups) in sets.iter().zip(groups) {
            for group in groups {
                env.check_cancelled()?;
                let mut row = group.values;
                for (state, call) in group.states.into_iter().zip(calls) {
                    let result = match call.function {
                        AggregateFunction::Grouping => grouping(call, set),
                        _ => state.result(call, &env, &Input::Values(&row))?,
                    };
                    row.push(result);
                }
                if sink(&Input::Values(&row))?.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Returns the result of GROUPING for the groups of a set: a bit for each argument, which is 1 if the set does not
/// group by that argument. The last argument has the lowest bit.
fn grouping(call: &AggregateCall, set: &[usize]) -> Value<'static> {
    let is_absent = |argument: &Expr| matches!(argument, Expr::Column(column) if !set.contains(column));
    Value::Int4(call.direct.iter().fold(0, |bits, argument| bits << 1 | i32::from(is_absent(argument))))
}
