//! CALL: runs the body of a procedure over a frame of values.

use super::body::{
    Frame, Machine, RowValues, Rows, Wanted, check_not_null, check_strict, fill, run_body, too_many_rows,
};
use super::{Exec, Fail, owned, width};
use crate::client::Notice;
use crate::context::SessionContext;
use crate::expr::{Env, Input};
use crate::plan::deferred::DeferredMark;
use crate::plan::{Call, Plan, Planned, PlannedStatement, PlannedValue, Slots, Target, read_only_violation};
use crate::{OutputColumn, SqlError, depth};
use hotrow_storage::{Type, Value};
use hotrow_txn::Savepoint;
use std::ops::ControlFlow;

/// A procedure that runs.
struct Running<'r, 'x> {
    exec: &'r mut Exec<'x>,
    call: &'r Call,
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
        let mut running = Running { exec: self, call, values, read_only };
        run_body(&mut running, &call.body.block)?;
        Ok(call.outputs().map(|(at, _)| running.values[at].borrowed().into_owned()).collect())
    }
}

impl<'x> Running<'_, 'x> {
    /// Returns an executor whose parameters are the frame's values.
    fn within(&mut self) -> Exec<'_> {
        let env = Env { params: &self.values, ..self.exec.env };
        self.exec.with_env(env)
    }

    /// Runs a plan. Returns the number of rows, and the first row if it is `wanted`.
    fn run_plan(&mut self, statement: &PlannedStatement) -> Result<(u64, Option<Vec<Value<'static>>>), Fail> {
        let PlannedStatement { plan, into, strict } = statement;
        let mut first = None;
        let queries = matches!(plan, Plan::Query(_));
        let (read_only, mut rows) = (self.read_only, 0);
        let count = self.within().rows(plan, read_only, &mut |row| {
            rows += 1;
            if first.is_none() && !into.is_empty() {
                first = Some(owned(row, width(row)));
            }
            // The other rows of a query are of no use to INTO, but a second one is an error for STRICT.
            let is_over = queries && !into.is_empty() && (!strict || rows > 1);
            Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        if *strict {
            check_strict(count)?;
        }
        if !queries && !into.is_empty() && count > 1 {
            return Err(too_many_rows().into());
        }
        Ok((count, first))
    }

    fn check_read_only(&self, plan: &Plan) -> Result<(), SqlError> {
        let violation = if self.read_only { read_only_violation(plan) } else { None };
        violation.map_or(Ok(()), Err)
    }
}

impl Machine for Running<'_, '_> {
    type Form = Planned;
    type Scope = ();
    type Mark = (Savepoint, DeferredMark);

    fn check(&self) -> Result<(), SqlError> {
        self.exec.env.check_cancelled()
    }

    fn enter(&mut self) {}

    fn leave(&mut self, (): ()) {}

    fn declare(&mut self, variable: &Slots, value: Option<&PlannedValue>) -> Result<Slots, Fail> {
        let first = match value {
            Some(value) => self.evaluate(value, Wanted::Any)?.0,
            None => Value::Null,
        };
        if value.is_some() {
            check_not_null(&first, variable.not_null.as_deref())?;
        }
        self.values[variable.first..variable.first + variable.width].fill(Value::Null);
        if variable.width > 0 {
            self.values[variable.first] = first;
        }
        Ok(variable.clone())
    }

    fn evaluate(&mut self, value: &PlannedValue, _: Wanted<'_>) -> Result<(Value<'static>, Type), Fail> {
        let result = self.within().with_subqueries(|env| Ok(value.expr.eval(env, &Input::NONE)?.into_owned()))?;
        Ok((result, value.ty))
    }

    fn assign(&mut self, target: &Target, value: &PlannedValue) -> Result<(), Fail> {
        let (value, _) = self.evaluate(value, Wanted::Any)?;
        check_not_null(&value, target.not_null.as_deref())?;
        self.values[target.slot] = value;
        Ok(())
    }

    fn target(&mut self, target: &Target, _: Type) -> Result<Target, Fail> {
        Ok(target.clone())
    }

    fn run(&mut self, statement: &PlannedStatement) -> Result<u64, Fail> {
        let into = &statement.into;
        if let Plan::Call(call) = &statement.plan {
            let read_only = self.read_only;
            let row = self.within().call(call, read_only)?;
            fill(&mut self.frame(), into, Some(row))?;
            return Ok(0);
        }
        self.check_read_only(&statement.plan)?;
        let (count, first) = self.run_plan(statement)?;
        let mut frame = self.frame();
        frame.values[frame.found] = Value::Bool(count > 0);
        fill(&mut frame, into, first)?;
        Ok(count)
    }

    fn rows(&mut self, query: &PlannedStatement) -> Result<Rows, Fail> {
        self.check_read_only(&query.plan)?;
        let (mut rows, read_only, memory) = (Vec::new(), self.read_only, self.exec.env.memory);
        self.within().rows(&query.plan, read_only, &mut |row| {
            memory.check_push(&rows)?;
            rows.push(owned(row, width(row)));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Rows { rows, columns: Vec::new() })
    }

    fn take(&mut self, query: &PlannedStatement, _: &[OutputColumn], row: Option<RowValues>) -> Result<(), Fail> {
        fill(&mut self.frame(), &query.into, row)
    }

    fn frame(&mut self) -> Frame<'_> {
        let found = self.call.procedure.arguments.len();
        Frame { values: &mut self.values, found, styles: self.exec.env.styles }
    }

    fn mark(&mut self) -> Result<Self::Mark, Fail> {
        Ok((self.exec.txn.savepoint(), self.exec.deferred.mark()))
    }

    fn release(&mut self, (savepoint, deferred): Self::Mark, undoes: bool) {
        if undoes {
            self.exec.txn.rollback_to(savepoint);
            self.exec.deferred.rollback_to(&deferred);
        }
    }

    fn notice(&mut self, notice: Notice) -> Result<(), Fail> {
        let context = self.exec.env.context.filter(|context| !SessionContext::is_rehearsing(context));
        if let Some(context) = context.filter(|context| context.settings.borrow().tells(notice.severity)) {
            // The notices are kept until the statement has run.
            self.exec.env.memory.check()?;
            context.notices.borrow_mut().push(notice);
        }
        Ok(())
    }

    /// Adds the procedure's name and the line to an error. A position in the text is left out: it would be one in the
    /// text of the procedure, which the client has not sent.
    fn locate(&self, fail: Fail, line: usize, _: &str) -> Fail {
        match fail {
            Fail::Sql(error) => Fail::Sql(error.within(&self.call.procedure.name, line)),
            abort @ Fail::Abort(_) => abort,
        }
    }
}
