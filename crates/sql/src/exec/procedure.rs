//! CALL: runs the statements of a procedure one after the other, over a frame of values.

use super::{Exec, Fail, owned, width};
use crate::expr::{Env, Expr, Input, Strictness, cast};
use crate::plan::{Call, Plan, Step, StepKind, Target, read_only_violation};
use crate::types::Styles;
use crate::{SqlError, depth, state};
use hotrow_storage::Value;
use std::ops::ControlFlow;

/// The state of a procedure that runs.
struct Frame<'c> {
    call: &'c Call,
    /// The values of the arguments, of `found` and of the variables, in this order.
    values: Vec<Value<'static>>,
    /// Whether the transaction must not write.
    read_only: bool,
}

impl Exec<'_> {
    /// Runs a procedure. Returns the values of its output arguments, in order.
    pub(crate) fn call(&mut self, call: &Call, read_only: bool) -> Result<Vec<Value<'static>>, Fail> {
        depth::check()?;
        let mut values = Vec::with_capacity(call.body.slots);
        for argument in &call.arguments {
            values.push(argument.eval(&self.env, &Input::NONE)?.into_owned());
        }
        values.push(Value::Bool(false));
        values.resize(call.body.slots, Value::Null);
        let mut frame = Frame { call, values, read_only };
        let _ = self.steps(&call.body.steps, &mut frame)?;
        Ok(call.outputs().map(|(at, _)| frame.values[at].borrowed().into_owned()).collect())
    }

    /// Runs statements until one of them is RETURN.
    fn steps(&mut self, steps: &[Step], frame: &mut Frame<'_>) -> Result<ControlFlow<()>, Fail> {
        depth::check()?;
        for step in steps {
            let flow = match &step.kind {
                StepKind::If(arms, otherwise) => {
                    let chosen = self.arm(arms, frame).map_err(|fail| located(fail, frame, step))?;
                    self.steps(chosen.unwrap_or(otherwise), frame)?
                }
                StepKind::Return => ControlFlow::Break(()),
                _ => {
                    self.step(step, frame).map_err(|fail| located(fail, frame, step))?;
                    ControlFlow::Continue(())
                }
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the statements of the first arm whose condition is true.
    fn arm<'a>(&mut self, arms: &'a [(Expr, Vec<Step>)], frame: &Frame<'_>) -> Result<Option<&'a [Step]>, Fail> {
        for (condition, steps) in arms {
            if self.within(frame).with_subqueries(|env| condition.is_true(env, &Input::NONE))? {
                return Ok(Some(steps));
            }
        }
        Ok(None)
    }

    fn step(&mut self, step: &Step, frame: &mut Frame<'_>) -> Result<(), Fail> {
        self.env.check_cancelled()?;
        match &step.kind {
            StepKind::Run(plan, into) => self.run_in(plan, into, frame),
            StepKind::Call(call, into) => {
                let row = self.within(frame).call(call, frame.read_only)?;
                assign(into, Some(row), frame, self.env.styles)
            }
            StepKind::Assign(slot, expr) => {
                let mut exec = self.within(frame);
                let value = exec.with_subqueries(|env| Ok(expr.eval(env, &Input::NONE)?.into_owned()))?;
                frame.values[*slot] = value;
                Ok(())
            }
            StepKind::If(..) | StepKind::Return => Ok(()),
        }
    }

    /// Returns an executor whose parameters are the frame's values.
    fn within<'f>(&'f mut self, frame: &'f Frame<'_>) -> Exec<'f> {
        self.with_env(Env { params: &frame.values, ..self.env })
    }

    fn run_in(&mut self, plan: &Plan, into: &[Target], frame: &mut Frame<'_>) -> Result<(), Fail> {
        if frame.read_only
            && let Some(error) = read_only_violation(plan)
        {
            return Err(error.into());
        }
        let mut first = None;
        let queries = matches!(plan, Plan::Query(_));
        let count = self.within(frame).rows(plan, frame.read_only, &mut |row| {
            if first.is_none() && !into.is_empty() {
                first = Some(owned(row, width(row)));
            }
            // A query's other rows are of no use to INTO.
            Ok(if queries && !into.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        if !queries && !into.is_empty() && count > 1 {
            return Err(SqlError::new(state::TOO_MANY_ROWS, "query returned more than one row").into());
        }
        frame.values[found_slot(frame.call)] = Value::Bool(count > 0);
        assign(into, first, frame, self.env.styles)
    }
}

/// Returns the index of `found` among the values of a frame.
fn found_slot(call: &Call) -> usize {
    call.procedure.arguments.len()
}

/// Assigns the columns of a row to variables. Without a row, the variables become NULL.
fn assign(
    into: &[Target],
    row: Option<Vec<Value<'static>>>,
    frame: &mut Frame<'_>,
    styles: Styles,
) -> Result<(), Fail> {
    let mut columns = row.unwrap_or_default().into_iter();
    for target in into {
        let value = columns.next().unwrap_or(Value::Null);
        frame.values[target.slot] = cast(value, target.from, target.to, Strictness::Assignment, styles)?.into_owned();
    }
    Ok(())
}

/// Adds the procedure's name and the line of the step to an error. A position in the text is left out: it would be one
/// in the text of the procedure, which the client has not sent.
fn located(fail: Fail, frame: &Frame<'_>, step: &Step) -> Fail {
    match fail {
        Fail::Sql(error) => Fail::Sql(error.within(&frame.call.procedure.name, step.line)),
        abort @ Fail::Abort(_) => abort,
    }
}
