//! Foresees the accesses of a CALL: follows the procedure over a frame in which some values are known and some are not.
//!
//! The arguments are known, and so is each value that is computed from them; a value that comes from a row is not. If
//! the control flow depends on an unknown value, all branches are followed, so that the set may hold more than the call
//! will touch. A statement that looks for its rows by an unknown value ends the walk: then only a rehearsal finds the
//! accesses.

use super::Foresight;
use crate::SqlError;
use crate::expr::{Env, Expr, Input};
use crate::parse::body::{Block, Declaration};
use crate::plan::{Call, Executed, Plan, Planned, PlannedStatement, PlannedValue, Step, StepKind};
use hotrow_storage::Value;
use std::ops::ControlFlow::{self, Break, Continue};

/// The reasons why the walk does not follow the rest of a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The procedure returns.
    Returns,
    /// The procedure fails.
    Fails,
    /// The next statement's accesses cannot be known.
    Unforeseen,
}

/// The values of a procedure that has not run yet: arguments, `found`, variables.
#[derive(Clone)]
struct Frame {
    values: Vec<Value<'static>>,
    unknown: Vec<bool>,
    /// The index of `found` in `values`.
    found: usize,
}

impl Frame {
    fn set(&mut self, slot: usize, value: Option<Value<'static>>) {
        self.unknown[slot] = value.is_none();
        self.values[slot] = value.unwrap_or(Value::Null);
    }

    /// Merges the frames of two branches: keeps the values on which both agree, and makes all others unknown.
    fn merge(&mut self, other: &Frame) {
        for slot in 0..self.values.len() {
            if other.unknown[slot] || self.values[slot] != other.values[slot] {
                self.set(slot, None);
            }
        }
    }
}

impl Foresight<'_> {
    /// Adds the accesses of a CALL to the set. Returns `false` if the walk ended at a statement whose accesses cannot
    /// be known.
    pub(super) fn call(&mut self, call: &Call) -> bool {
        self.follow_call(call) != Break(End::Unforeseen)
    }

    fn follow_call(&mut self, call: &Call) -> ControlFlow<End> {
        // How often a body calls itself depends on its values.
        let Some(body) = call.callee.own() else { return Break(End::Unforeseen) };
        let found = call.arguments.len();
        let mut frame = Frame { values: Vec::with_capacity(body.slots), unknown: Vec::new(), found };
        for argument in &call.arguments {
            let value = fails(self.value(argument))?;
            frame.unknown.push(value.is_none());
            frame.values.push(value.unwrap_or(Value::Null));
        }
        frame.values.push(Value::Bool(false));
        frame.values.resize(body.slots, Value::Null);
        frame.unknown.resize(body.slots, false);
        match self.block(&body.block, &mut frame) {
            Continue(()) | Break(End::Returns) => Continue(()),
            end => end,
        }
    }

    /// Evaluates an expression that looks at no row. Returns `None` if its value is not known.
    fn value(&self, expr: &Expr) -> Result<Option<Value<'static>>, SqlError> {
        if !self.knows(expr) {
            return Ok(None);
        }
        expr.eval(&self.env, &Input::NONE).map(|value| Some(value.into_owned()))
    }

    /// Returns a foresight whose parameters are the frame's values.
    fn within<'f>(&'f mut self, frame: &'f Frame) -> Foresight<'f> {
        let env = Env { params: &frame.values, ..self.env };
        Foresight { env, unknown: &frame.unknown, accesses: &mut *self.accesses, ..*self }
    }

    /// Handles a step whose accesses are unknown, such as those of a subquery. Ends the walk, unless the caller wants
    /// only rows: these need not be complete, so the walk goes on.
    fn miss(&self) -> ControlFlow<End> {
        if self.wants_only_rows() { Continue(()) } else { Break(End::Unforeseen) }
    }

    fn steps(&mut self, steps: &[Step], frame: &mut Frame) -> ControlFlow<End> {
        steps.iter().try_for_each(|step| self.step(step, frame))
    }

    fn step(&mut self, step: &Step, frame: &mut Frame) -> ControlFlow<End> {
        match &step.kind {
            StepKind::Run(PlannedStatement { what: Executed::Plan(Plan::Call(call)), into, .. }) => {
                self.within(frame).follow_call(call)?;
                into.iter().for_each(|target| frame.set(target.slot, None));
                Continue(())
            }
            StepKind::Run(PlannedStatement { what: Executed::Plan(plan), into, .. }) => {
                // A query that fills variables is over with its first row.
                let limited = matches!(plan, Plan::Query(_)) && !into.is_empty();
                if !fails(self.within(frame).plan(plan, limited))? {
                    self.miss()?;
                }
                frame.set(frame.found, None);
                into.iter().for_each(|target| frame.set(target.slot, None));
                Continue(())
            }
            StepKind::Assign(target, value) => self.assign(target.slot, &value.expr, frame),
            StepKind::If(arms, otherwise) => {
                if arms.iter().any(|(condition, _)| condition.expr.has_subquery()) {
                    self.miss()?;
                }
                self.branch(arms, otherwise, frame)
            }
            StepKind::Block(block) => self.block(block, frame),
            StepKind::Null => Continue(()),
            StepKind::Return(_) => Break(End::Returns),
            // The statement of EXECUTE is not known. How often a loop runs, and whether a condition of these holds,
            // often depends on rows.
            StepKind::Run(_)
            | StepKind::Loop(_)
            | StepKind::Leave(_)
            | StepKind::Raise(_)
            | StepKind::Assert(..)
            | StepKind::Diagnose(_)
            | StepKind::Next(_)
            | StepKind::Query(_) => Break(End::Unforeseen),
        }
    }

    /// Follows the declarations and statements of a block. A block with exception handlers ends the walk, because it is
    /// not known where the block goes on after an error.
    fn block(&mut self, block: &Block<Planned>, frame: &mut Frame) -> ControlFlow<End> {
        if !block.handlers.is_empty() {
            return Break(End::Unforeseen);
        }
        for Declaration { variable, value, .. } in &block.declarations {
            for slot in variable.places() {
                frame.set(slot, Some(Value::Null));
            }
            if let Some(value) = value {
                self.assign(variable.first, &value.expr, frame)?;
            }
        }
        self.steps(&block.steps, frame)
    }

    fn assign(&mut self, slot: usize, expr: &Expr, frame: &mut Frame) -> ControlFlow<End> {
        if expr.has_subquery() {
            self.miss()?;
        }
        let value = fails(self.within(frame).value(expr))?;
        frame.set(slot, value);
        Continue(())
    }

    /// Follows the arms of an IF that may be taken, as far as the values of their conditions are known.
    fn branch(
        &mut self,
        arms: &[(PlannedValue, Vec<Step>)],
        otherwise: &[Step],
        frame: &mut Frame,
    ) -> ControlFlow<End> {
        let mut ways = Vec::new();
        let mut last = Continue(otherwise);
        for (condition, steps) in arms {
            match self.within(frame).value(&condition.expr) {
                Ok(Some(Value::Bool(true))) => {
                    last = Continue(steps);
                    break;
                }
                Ok(Some(_)) => {}
                Ok(None) => ways.push(&steps[..]),
                Err(_) => {
                    last = Break(End::Fails);
                    break;
                }
            }
        }
        let mut end = End::Fails;
        match last {
            Continue(steps) if ways.is_empty() => return self.steps(steps, frame),
            Continue(steps) => ways.push(steps),
            Break(fails) => end = fails,
        }
        let mut merged: Option<Frame> = None;
        for steps in ways {
            let mut taken = frame.clone();
            match (self.steps(steps, &mut taken), &mut merged) {
                (Break(End::Unforeseen), _) => return Break(End::Unforeseen),
                (Break(End::Returns), _) => end = End::Returns,
                (Break(End::Fails), _) => {}
                (Continue(()), Some(merged)) => merged.merge(&taken),
                (Continue(()), None) => merged = Some(taken),
            }
        }
        match merged {
            Some(merged) => {
                *frame = merged;
                Continue(())
            }
            None => Break(end),
        }
    }
}

/// Turns an error into the end of the walk: the procedure will end with this error.
fn fails<T>(result: Result<T, SqlError>) -> ControlFlow<End, T> {
    match result {
        Ok(value) => Continue(value),
        Err(_) => Break(End::Fails),
    }
}
