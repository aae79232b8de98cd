//! CALL, and calls of functions: runs the body of a procedure or function over a frame of values.

use super::body::{
    Frame, Machine, Returning, RowValues, Rows, Wanted, check_not_null, check_strict, fill, run_body, too_many_rows,
};
use super::dynamic::{Ready, assignments, computed_text, within_statement};
use super::subquery::NOBODY;
use super::{Exec, Fail, owned, width};
use crate::bind::check_structure;
use crate::catalog::procedure::{FunctionTraits, Procedure, Returns};
use crate::catalog::search_path::path_of_body;
use crate::client::Notice;
use crate::context::SessionContext;
use crate::error::unsupported;
use crate::expr::{self, Content, Env, Expr, Input, Kept, lost};
use crate::notifications::PendingMark;
use crate::parse::procedure::Volatility;
use crate::parse::utility::Utility;
use crate::plan::deferred::DeferredMark;
use crate::plan::{
    Body, Call, Callee, ComputedStatement, Executed, Plan, Planned, PlannedStatement, PlannedValue, Slots, Target,
    read_only_violation, writing,
};
use crate::settings::SavedSettings;
use crate::{OutputColumn, SqlError, depth, state};
use hotrow_storage::{Type, Value};
use hotrow_txn::Savepoint;
use std::ops::ControlFlow;

/// A running body of a procedure or function.
struct Running<'r, 'x> {
    exec: &'r mut Exec<'x>,
    procedure: &'r Procedure,
    /// The values of the arguments, of `found` and of the variables, in this order.
    values: Vec<Value<'static>>,
    /// The rows that RETURN NEXT and RETURN QUERY have added to the result.
    rows: Kept,
    /// Whether the transaction must not write.
    read_only: bool,
}

/// The outcome of a body that has run.
pub(super) struct Ended {
    /// The values after RETURN, or `None` if the body ended without any.
    pub(super) returned: Option<RowValues>,
    /// The values of the frame at the end: arguments, `found` and variables.
    pub(super) values: Vec<Value<'static>>,
    /// The rows that RETURN NEXT and RETURN QUERY have added to the result.
    rows: Kept,
}

impl Exec<'_> {
    /// Runs a procedure. Returns the values of its output arguments, in order.
    pub(crate) fn call(&mut self, call: &Call, read_only: bool) -> Result<Vec<Value<'static>>, Fail> {
        let body = call.callee.running().ok_or_else(|| lost("a body"))?;
        let mut values = Vec::with_capacity(body.slots);
        if call.arguments.iter().any(Expr::has_subquery) {
            self.with_subqueries(|env| arguments(&call.arguments, env, &mut values))?;
        } else {
            arguments(&call.arguments, &self.env, &mut values)?;
        }
        let Ended { mut values, .. } = self.run_body(&call.callee.procedure, &body, values, read_only)?;
        Ok(call.callee.outputs().map(|(at, _)| std::mem::replace(&mut values[at], Value::Null)).collect())
    }

    /// Calls a function that returns one value. `given` are the values of its input arguments.
    pub(crate) fn invoke(&mut self, callee: &Callee, given: Vec<Value<'static>>) -> Result<Value<'static>, Fail> {
        let ended = self.run_function(callee, given.into_iter())?;
        Ok(result(&callee.procedure, ended)?.pop().unwrap_or(Value::Null))
    }

    /// Calls a function that returns a row, or a set of rows, of `width` columns. `given` are the values of its input
    /// arguments. If the function is strict and an argument is NULL, returns a row of NULLs, or no rows, without a
    /// call.
    pub(crate) fn invoke_rows(
        &mut self,
        callee: &Callee,
        given: &[Value<'static>],
        width: usize,
    ) -> Result<Kept, Fail> {
        let Some(function) = &callee.procedure.function else { return Err(lost("a function").into()) };
        let values = if function.strict && given.iter().any(Value::is_null) {
            if function.is_set {
                return Ok(Kept::default());
            }
            vec![Value::Null; width]
        } else {
            let ended = self.run_function(callee, given.iter().cloned())?;
            if function.is_set {
                return Ok(ended.rows);
            }
            result(&callee.procedure, ended)?
        };
        let mut row = Kept::default();
        row.push_all(&Input::Values(&values), width);
        Ok(row)
    }

    fn run_function(
        &mut self,
        callee: &Callee,
        mut given: impl Iterator<Item = Value<'static>>,
    ) -> Result<Ended, Fail> {
        let procedure = &callee.procedure;
        let body = callee.running().ok_or_else(|| lost("a body"))?;
        let mut values = Vec::with_capacity(body.slots);
        for argument in &procedure.arguments {
            let value = if procedure.is_given(argument) { given.next() } else { None };
            values.push(value.unwrap_or(Value::Null));
        }
        self.run_body(procedure, &body, values, self.is_read_only())
    }

    /// Whether the transaction is READ ONLY, so that functions and triggers must not write. False where there is no
    /// session's context.
    fn is_read_only(&self) -> bool {
        self.env.context.is_some_and(|context| context.transaction.read_only.get())
    }

    /// Runs a body in a new frame. `values` are those of all arguments.
    fn run_body(
        &mut self,
        procedure: &Procedure,
        body: &Body,
        mut values: Vec<Value<'static>>,
        read_only: bool,
    ) -> Result<Ended, Fail> {
        depth::check()?;
        values.push(Value::Bool(false));
        values.resize(body.slots, Value::Null);
        self.run_in_frame(procedure, body, values, read_only)
    }

    /// Runs the body of a trigger's function in a frame that the caller has filled.
    pub(super) fn run_frame(
        &mut self,
        procedure: &Procedure,
        body: &Body,
        values: Vec<Value<'static>>,
    ) -> Result<Ended, Fail> {
        depth::check()?;
        self.run_in_frame(procedure, body, values, self.is_read_only())
    }

    fn run_in_frame(
        &mut self,
        procedure: &Procedure,
        body: &Body,
        values: Vec<Value<'static>>,
        read_only: bool,
    ) -> Result<Ended, Fail> {
        // The body cannot name the rows around its call. Without a search path of its own it has that of its caller.
        let own = procedure.path.as_ref().and(self.env.context).map(|context| path_of_body(procedure, context.view()));
        let path = own.as_ref().or_else(|| self.env.path_of_body());
        let around = path.map(|path| expr::Frame { id: NOBODY, content: Content::Path(path), next: None });
        let env = Env { frames: around.as_ref(), ..self.env };
        let mut exec = self.with_env(env);
        let mut running = Running { exec: &mut exec, procedure, values, rows: Kept::default(), read_only };
        let returned = run_body(&mut running, &body.block)?;
        let Running { values, rows, .. } = running;
        Ok(Ended { returned, values, rows })
    }
}

/// Returns the columns of a function's result, which is one value or one row: the values after RETURN, or else those of
/// the output arguments.
///
/// # Errors
/// 2F005 if the function has neither.
fn result(procedure: &Procedure, ended: Ended) -> Result<RowValues, SqlError> {
    let Ended { returned, mut values, .. } = ended;
    let outputs = procedure.outputs().map(|(at, _)| std::mem::replace(&mut values[at], Value::Null));
    match (returned, outputs.collect::<Vec<_>>(), procedure.function.as_ref().map(|function| &function.returns)) {
        (Some(returned), ..) => Ok(returned),
        (None, outputs, _) if !outputs.is_empty() => Ok(outputs),
        (None, _, Some(Returns::Nothing)) => Ok(vec![Value::text("").into_owned()]),
        (None, ..) => {
            let message = "control reached end of function without RETURN";
            let error = SqlError::new(state::FUNCTION_EXECUTED_NO_RETURN_STATEMENT, message);
            Err(error.context(format!("PL/pgSQL function {}", procedure.identity())))
        }
    }
}

/// Evaluates arguments, and appends their values to `values`.
fn arguments(exprs: &[Expr], env: &Env<'_>, values: &mut Vec<Value<'static>>) -> Result<(), SqlError> {
    for expr in exprs {
        values.push(expr.eval(env, &Input::NONE)?.into_owned());
    }
    Ok(())
}

impl<'x> Running<'_, 'x> {
    /// Returns an executor whose parameters are the frame's values.
    fn within(&mut self) -> Exec<'_> {
        let env = Env { params: &self.values, ..self.exec.env };
        self.exec.with_env(env)
    }

    /// Runs a plan, and sets `found`. Returns the number of rows, and the first row if the statement has INTO.
    fn run_plan(&mut self, plan: &Plan, statement: &PlannedStatement) -> Result<(u64, Option<RowValues>), Fail> {
        let PlannedStatement { into, strict, .. } = statement;
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
        // A handler of the error sees whether there were rows.
        let frame = self.frame();
        frame.values[frame.found] = Value::Bool(count > 0);
        if *strict {
            check_strict(count)?;
        }
        if !queries && !into.is_empty() && count > 1 {
            return Err(too_many_rows().into());
        }
        Ok((count, first))
    }

    /// Runs the statement of an EXECUTE. Returns the number of its rows, and at most the first `wanted` of them.
    fn run_computed(&mut self, computed: &ComputedStatement, wanted: usize) -> Result<(u64, Rows), Fail> {
        let (value, ty) = self.evaluate(&computed.text, Wanted::Any)?;
        let text = computed_text(value, ty)?;
        let (mut parameters, mut types) = (Vec::new(), Vec::new());
        for value in &computed.using {
            let (value, ty) = self.evaluate(value, Wanted::Any)?;
            parameters.push(value);
            types.push(Some(ty));
        }
        let ready = self.exec.ready(&text, parameters, &types).map_err(|fail| within_statement(fail, &text))?;
        let (statement, parameters) = match ready {
            Ready::Plan(statement, parameters) => (statement, parameters),
            Ready::Notification(utility) => {
                self.notify(&utility)?;
                return Ok((0, Rows::default()));
            }
        };
        self.check_writes(&statement.plan)?;
        if wanted > 0 && statement.columns().is_none() {
            let message = "INTO used with a command that cannot return data";
            return Err(SqlError::new(state::SYNTAX_ERROR, message).into());
        }
        let (mut rows, read_only, memory) = (Vec::new(), self.read_only, self.exec.env.memory);
        let env = Env { params: &parameters, ..self.exec.env };
        let count = self.exec.with_env(env).rows(&statement.plan, read_only, &mut |row| {
            if rows.len() < wanted {
                memory.check_push(&rows)?;
                rows.push(owned(row, width(row)));
            }
            Ok(ControlFlow::Continue(()))
        });
        let count = count.map_err(|fail| within_statement(fail, &text))?;
        Ok((count, Rows { rows, columns: statement.columns().unwrap_or_default().to_vec() }))
    }

    /// Runs NOTIFY, LISTEN or UNLISTEN, the only utility statements that a body of a procedure or function may contain.
    fn notify(&self, utility: &Utility) -> Result<(), SqlError> {
        let context = self.exec.env.context.ok_or_else(|| unsupported("a notification in this place"))?;
        match utility {
            Utility::Notify { channel, payload } => context.notify(channel, payload),
            Utility::Channels(action) => context.change_channels(action.clone()),
            _ => Err(lost("a plan")),
        }
    }

    /// Checks that a plan may run in this body: a read-only transaction must not write, nor must a function that is not
    /// VOLATILE.
    ///
    /// # Errors
    /// 25006 in a read-only transaction, 0A000 in a function that is not VOLATILE.
    fn check_writes(&self, plan: &Plan) -> Result<(), SqlError> {
        let is_steady = |function: &FunctionTraits| function.volatility != Volatility::Volatile;
        if self.procedure.function.as_ref().is_some_and(is_steady)
            && let Some(what) = writing(plan)
        {
            let message = format!("{what} is not allowed in a non-volatile function");
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        let violation = if self.read_only { read_only_violation(plan) } else { None };
        violation.map_or(Ok(()), Err)
    }
}

impl Machine for Running<'_, '_> {
    type Form = Planned;
    type Scope = ();
    type Mark = (Savepoint, DeferredMark, PendingMark, Option<SavedSettings>);

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
        variable.places().for_each(|place| self.values[place] = Value::Null);
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
        let plan = match &statement.what {
            Executed::Plan(plan) => plan,
            Executed::Computed(computed) => {
                // Without STRICT, the rows after the first are of no use to INTO.
                let wanted = if into.is_empty() { 0 } else { 1 + usize::from(statement.strict) };
                let (count, Rows { rows, columns }) = self.run_computed(computed, wanted)?;
                if statement.strict {
                    check_strict(count)?;
                }
                self.take(statement, &columns, rows.into_iter().next())?;
                return Ok(count);
            }
        };
        if let Plan::Utility(utility) = plan {
            self.notify(utility)?;
            return Ok(0);
        }
        if let Plan::Call(call) = plan {
            let read_only = self.read_only;
            let row = self.within().call(call, read_only)?;
            fill(&mut self.frame(), into, Some(row))?;
            return Ok(0);
        }
        self.check_writes(plan)?;
        let (count, first) = self.run_plan(plan, statement)?;
        fill(&mut self.frame(), into, first)?;
        Ok(count)
    }

    fn rows(&mut self, query: &PlannedStatement) -> Result<Rows, Fail> {
        let plan = match &query.what {
            Executed::Plan(plan) => plan,
            Executed::Computed(computed) => return Ok(self.run_computed(computed, usize::MAX)?.1),
        };
        self.check_writes(plan)?;
        let (mut rows, read_only, memory) = (Vec::new(), self.read_only, self.exec.env.memory);
        self.within().rows(plan, read_only, &mut |row| {
            memory.check_push(&rows)?;
            rows.push(owned(row, width(row)));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Rows { rows, columns: Vec::new() })
    }

    fn take(
        &mut self,
        query: &PlannedStatement,
        columns: &[OutputColumn],
        mut row: Option<RowValues>,
    ) -> Result<(), Fail> {
        let into = match &query.what {
            Executed::Plan(_) => return fill(&mut self.frame(), &query.into, row),
            Executed::Computed(_) => assignments(&query.into, columns, row.as_mut(), self.exec.env.styles),
        };
        // Variables without a column become NULL.
        query.into[into.len()..].iter().for_each(|target| self.values[target.slot] = Value::Null);
        fill(&mut self.frame(), &into, row)
    }

    fn frame(&mut self) -> Frame<'_> {
        let found = self.procedure.arguments.len();
        Frame { values: &mut self.values, found, env: self.exec.env }
    }

    fn mark(&mut self) -> Result<Self::Mark, Fail> {
        let settings = self.exec.env.context.map(|context| context.settings.borrow().save());
        Ok((self.exec.txn.savepoint(), self.exec.deferred.mark(), self.exec.env.mark_notifications(), settings))
    }

    fn release(&mut self, (savepoint, deferred, notifications, settings): Self::Mark, undoes: bool) {
        if undoes {
            self.exec.txn.rollback_to(savepoint);
            self.exec.deferred.rollback_to(&deferred);
            self.exec.env.undo_notifications(notifications);
            if let (Some(context), Some(settings)) = (self.exec.env.context, settings) {
                context.settings.borrow_mut().restore_quietly(&settings);
            }
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

    /// Adds the place in the body to an error, and removes its position in the text, which the client has not sent.
    fn locate(&self, fail: Fail, line: usize, what: &str) -> Fail {
        match fail {
            Fail::Sql(error) => Fail::Sql(error.within(self.procedure.place(line, what))),
            abort @ Fail::Abort(_) => abort,
        }
    }
}

impl Returning<Planned> for Running<'_, '_> {
    fn add(&mut self, row: &[Value<'static>]) -> Result<(), Fail> {
        self.exec.env.memory.check_push(&self.rows)?;
        self.rows.push_all(&Input::Values(row), row.len());
        Ok(())
    }

    fn add_rows(&mut self, query: &PlannedStatement) -> Result<u64, Fail> {
        let Rows { rows, columns } = self.rows(query)?;
        if let Executed::Computed(_) = query.what {
            check_structure(&columns, query.into.iter().map(|target| target.to))?;
        }
        let count = rows.len() as u64;
        for row in rows {
            fill(&mut self.frame(), &query.into, Some(row))?;
            let row: RowValues = query.into.iter().map(|target| self.values[target.slot].clone()).collect();
            self.add(&row)?;
        }
        Ok(count)
    }
}
