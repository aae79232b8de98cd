//! Runs the statements of bodies: blocks and their handlers, branches, loops, RAISE.
//!
//! A [`Machine`] does what depends on the form of the body: it evaluates expressions and runs statements of SQL. There
//! is one for planned procedures and one for DO.

use super::Fail;
use crate::client::Notice;
use crate::expr::{Env, Strictness, cast};
use crate::parse::body::condition::Condition;
use crate::parse::body::{
    Block, Declaration, ErrorPart, Fact, Form, Handler, Leave, Loop, Raise, Rounds, Step, StepKind,
};
use crate::plan::{Slots, Target};
use crate::types::encode_text;
use crate::{OutputColumn, SqlError, SqlState, depth, state};
use bytes::BytesMut;
use hotrow_storage::{Type, Value};

/// The requirement on the type of a value in a body.
pub(crate) use crate::bind::body::Wanted;

/// The part of the interpreter that depends on the form of the body: planned once (procedures and functions) or as it
/// was parsed (DO).
pub(crate) trait Machine {
    /// The form of the body.
    type Form: Form;
    /// The state before a block, which `enter` returns and `leave` restores.
    type Scope;
    /// A savepoint that no client can name.
    type Mark;

    /// Returns an error if the client has cancelled the statement.
    fn check(&self) -> Result<(), SqlError>;
    /// Begins a block or a loop. The variables that are declared in it hide those of the same name around it.
    fn enter(&mut self) -> Self::Scope;
    /// Ends a block or a loop, and its variables.
    fn leave(&mut self, scope: Self::Scope);
    /// Declares a variable of the present block and computes its first value, or NULL without one. Returns its slots in
    /// the frame.
    fn declare(&mut self, variable: &Variable<Self>, value: Option<&Computed<Self>>) -> Result<Slots, Fail>;
    /// Evaluates an expression. Returns the value with its type.
    fn evaluate(&mut self, value: &Computed<Self>, wanted: Wanted<'_>) -> Result<(Value<'static>, Type), Fail>;
    /// Evaluates an expression and assigns the value to a variable, converted to the variable's type.
    fn assign(&mut self, target: &Assigned<Self>, value: &Computed<Self>) -> Result<(), Fail>;
    /// Finds the variable to which a value of type `from` is to be assigned.
    fn target(&mut self, target: &Assigned<Self>, from: Type) -> Result<Target, Fail>;
    /// Runs a statement, and assigns the columns of its first row to the variables after INTO. Returns the number of
    /// rows.
    fn run(&mut self, statement: &Executed<Self>) -> Result<u64, Fail>;
    /// Runs the query of a loop and returns all of its rows.
    fn rows(&mut self, query: &Executed<Self>) -> Result<Rows, Fail>;
    /// Assigns the columns of a query's row to the variables after INTO, or NULL if there is no row. `rows` describes
    /// the row's columns, if they were not known when the body was planned.
    fn take(&mut self, query: &Executed<Self>, rows: &[OutputColumn], row: Option<RowValues>) -> Result<(), Fail>;
    /// Returns the frame, which holds the values of the variables.
    fn frame(&mut self) -> Frame<'_>;
    /// Sets a savepoint in the transaction.
    fn mark(&mut self) -> Result<Self::Mark, Fail>;
    /// Releases a savepoint. If `undoes` is set, first undoes what the transaction has done since then.
    fn release(&mut self, mark: Self::Mark, undoes: bool);
    /// Sends the client a notice.
    fn notice(&mut self, notice: Notice) -> Result<(), Fail>;
    /// Adds to an error the line of the body where it arose, and the kind of the statement there.
    fn locate(&self, fail: Fail, line: usize, what: &str) -> Fail;
}

/// The rows that a body adds to its result by RETURN NEXT and RETURN QUERY.
pub(crate) trait Returning<F: Form> {
    /// Adds a row to the result.
    fn add(&mut self, row: &[Value<'static>]) -> Result<(), Fail>;
    /// Runs a query, and adds its rows to the result. Returns the number of rows.
    fn add_rows(&mut self, query: &F::Statement) -> Result<u64, Fail>;
}

type Computed<M> = <<M as Machine>::Form as Form>::Value;
type Executed<M> = <<M as Machine>::Form as Form>::Statement;
type Assigned<M> = <<M as Machine>::Form as Form>::Target;
type Variable<M> = <<M as Machine>::Form as Form>::Variable;

/// The values of the variables of a running body.
pub(crate) struct Frame<'f> {
    /// The values, by slot.
    pub(crate) values: &'f mut Vec<Value<'static>>,
    /// The slot of the variable `found`.
    pub(crate) found: usize,
    /// The environment in which values are cast, and the constraints of domains checked.
    pub(crate) env: Env<'f>,
}

/// The values of a row's columns.
pub(crate) type RowValues = Vec<Value<'static>>;

/// The rows of a loop's query.
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<RowValues>,
    /// The columns of the rows. Empty if they were known when the body was planned.
    pub(crate) columns: Vec<OutputColumn>,
}

/// The point where a body continues after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow<'b> {
    /// The next statement.
    Next,
    /// The statement after the loop or block with this label, or after the innermost loop.
    Exit(Option<&'b str>),
    /// The next round of the loop with this label, or of the innermost loop.
    Continue(Option<&'b str>),
    /// The end of the body.
    Return,
}

/// Runs a body. Returns the values after RETURN, or `None` if the body ended without any values.
pub(crate) fn run_body<M: Machine + Returning<M::Form>>(
    machine: &mut M,
    block: &Block<M::Form>,
) -> Result<Option<RowValues>, Fail> {
    let mut runner = Runner { machine, handled: Vec::new(), row_count: 0, returned: None };
    runner.block(block)?;
    Ok(runner.returned)
}

/// Assigns the columns of a row to variables. Without a row, the variables become NULL.
pub(crate) fn fill(frame: &mut Frame<'_>, into: &[Target], row: Option<Vec<Value<'static>>>) -> Result<(), Fail> {
    let mut columns = row.unwrap_or_default().into_iter();
    for target in into {
        store(frame, target, columns.next().unwrap_or(Value::Null))?;
    }
    Ok(())
}

/// Assigns a value to a variable, converted from the type `target.from` to the variable's type.
///
/// # Errors
/// 22004 if the variable is NOT NULL and the value is NULL, or the errors of the conversion.
pub(crate) fn store(frame: &mut Frame<'_>, target: &Target, value: Value<'static>) -> Result<(), Fail> {
    let value = cast(value, target.from, target.to, Strictness::Assignment, frame.env.styles)?.into_owned();
    if let Some(domain) = &target.domain {
        domain.check(&value, &frame.env)?;
    }
    check_not_null(&value, target.not_null.as_deref())?;
    frame.values[target.slot] = value;
    Ok(())
}

/// Fails with 22004 if the value is NULL and the variable refuses NULL. `not_null` is the name of such a variable.
pub(crate) fn check_not_null(value: &Value<'_>, not_null: Option<&str>) -> Result<(), SqlError> {
    match not_null.filter(|_| matches!(value, Value::Null)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("null value cannot be assigned to variable \"{name}\" declared NOT NULL");
            Err(SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message))
        }
    }
}

/// Returns the error P0003, for a query that returned more than one row where one is allowed.
pub(crate) fn too_many_rows() -> SqlError {
    SqlError::new(state::TOO_MANY_ROWS, "query returned more than one row")
        .hint("Make sure the query returns a single row, or use LIMIT 1.")
}

/// Checks that a statement with INTO STRICT returned exactly one row.
///
/// # Errors
/// P0002 if there was no row, P0003 if there were several.
pub(crate) fn check_strict(rows: u64) -> Result<(), SqlError> {
    match rows {
        0 => Err(SqlError::new(state::NO_DATA_FOUND, "query returned no rows")),
        1 => Ok(()),
        _ => Err(too_many_rows()),
    }
}

/// The state of a running body.
struct Runner<'r, M> {
    machine: &'r mut M,
    /// The errors whose handlers are running, that of the innermost handler last.
    handled: Vec<SqlError>,
    /// The number of rows of the last statement, for `GET DIAGNOSTICS … = ROW_COUNT`.
    row_count: u64,
    /// The values after RETURN, if there were any.
    returned: Option<RowValues>,
}

impl<M: Machine + Returning<M::Form>> Runner<'_, M> {
    fn block<'b>(&mut self, block: &'b Block<M::Form>) -> Result<Flow<'b>, Fail> {
        depth::check()?;
        let scope = self.machine.enter();
        let flow = self.declarations(&block.declarations).and_then(|()| self.guarded(block));
        self.machine.leave(scope);
        Ok(match flow? {
            Flow::Exit(Some(label)) if block.label.as_deref() == Some(label) => Flow::Next,
            flow => flow,
        })
    }

    fn declarations(&mut self, declarations: &[Declaration<M::Form>]) -> Result<(), Fail> {
        for Declaration { line, variable, value } in declarations {
            if let Err(fail) = self.machine.declare(variable, value.as_ref()) {
                return Err(self.machine.locate(fail, *line, "statement block local variable initialization"));
            }
        }
        Ok(())
    }

    /// Runs the statements of a block. If one fails with an error for which the block has a handler, undoes the
    /// statements and runs the handler.
    fn guarded<'b>(&mut self, block: &'b Block<M::Form>) -> Result<Flow<'b>, Fail> {
        if block.handlers.is_empty() {
            return self.steps(&block.steps);
        }
        let mark = self.machine.mark()?;
        match self.steps(&block.steps) {
            Ok(flow) => {
                self.machine.release(mark, false);
                Ok(flow)
            }
            Err(Fail::Sql(error)) => {
                let takes = |handler: &&Handler<_>| handler.conditions.iter().any(|known| known.matches(error.state));
                match block.handlers.iter().find(takes) {
                    Some(handler) => {
                        self.machine.release(mark, true);
                        self.handle(handler, error)
                    }
                    None => {
                        self.machine.release(mark, false);
                        Err(Fail::Sql(error))
                    }
                }
            }
            // The engine has given the whole transaction up.
            Err(abort @ Fail::Abort(_)) => {
                self.machine.release(mark, false);
                Err(abort)
            }
        }
    }

    fn handle<'b>(&mut self, handler: &'b Handler<M::Form>, error: SqlError) -> Result<Flow<'b>, Fail> {
        let scope = self.machine.enter();
        let facts = [(&handler.sqlstate, error.state.as_str().to_owned()), (&handler.sqlerrm, error.message.clone())];
        self.handled.push(error);
        let flow = self.texts(facts).and_then(|()| self.steps(&handler.steps));
        self.handled.pop();
        self.machine.leave(scope);
        flow
    }

    /// Declares two variables whose values are these texts.
    fn texts(&mut self, variables: [(&Variable<M>, String); 2]) -> Result<(), Fail> {
        for (variable, text) in variables {
            let slots = self.machine.declare(variable, None)?;
            self.machine.frame().values[slots.first] = Value::text(&text).into_owned();
        }
        Ok(())
    }

    fn steps<'b>(&mut self, steps: &'b [Step<M::Form>]) -> Result<Flow<'b>, Fail> {
        depth::check()?;
        for step in steps {
            self.machine.check()?;
            let flow = match &step.kind {
                StepKind::Block(block) => self.block(block)?,
                StepKind::If(arms, otherwise) => {
                    let chosen = self.first_true(arms.iter().map(|(condition, _)| condition));
                    let chosen = chosen.map_err(|fail| self.machine.locate(fail, step.line, "IF"))?;
                    self.steps(chosen.map_or(otherwise, |at| &arms[at].1))?
                }
                StepKind::Loop(looped) => {
                    let scope = self.machine.enter();
                    let flow = self.looped(looped, step.line);
                    self.machine.leave(scope);
                    flow?
                }
                // An error that is raised again already contains its place.
                kind @ StepKind::Raise(Raise { again: true, .. }) if !self.handled.is_empty() => self.step(kind)?,
                kind => self.step(kind).map_err(|fail| self.machine.locate(fail, step.line, kind.name()))?,
            };
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// Runs a statement that contains no other statements.
    fn step<'b>(&mut self, kind: &'b StepKind<M::Form>) -> Result<Flow<'b>, Fail> {
        match kind {
            StepKind::Run(statement) => self.row_count = self.machine.run(statement)?,
            StepKind::Assign(target, value) => self.machine.assign(target, value)?,
            StepKind::Leave(leave) => return self.leave(leave),
            StepKind::Raise(raise) => self.raise(raise)?,
            StepKind::Assert(condition, message) => {
                if !self.is_true(condition, "ASSERT")? {
                    let message = message.as_ref().map(|message| self.text(message)).transpose()?.flatten();
                    let message = message.unwrap_or_else(|| "assertion failed".to_owned());
                    return Err(SqlError::new(state::ASSERT_FAILURE, message).into());
                }
            }
            StepKind::Diagnose(facts) => {
                for (target, fact) in facts {
                    self.diagnose(target, *fact)?;
                }
            }
            StepKind::Return(values) => {
                if !values.is_empty() {
                    self.returned = Some(self.values(values)?);
                }
                return Ok(Flow::Return);
            }
            StepKind::Next(values) => {
                let row = self.values(values)?;
                self.machine.add(&row)?;
            }
            StepKind::Query(query) => {
                self.row_count = self.machine.add_rows(query)?;
                self.found(self.row_count > 0);
            }
            StepKind::Null | StepKind::Block(_) | StepKind::If(..) | StepKind::Loop(_) => {}
        }
        Ok(Flow::Next)
    }

    fn values(&mut self, values: &[Computed<M>]) -> Result<RowValues, Fail> {
        values.iter().map(|value| Ok(self.machine.evaluate(value, Wanted::Any)?.0)).collect()
    }

    /// Returns the position of the first condition that is true.
    fn first_true<'b>(&mut self, conditions: impl Iterator<Item = &'b Computed<M>>) -> Result<Option<usize>, Fail>
    where
        Computed<M>: 'b,
    {
        for (at, condition) in conditions.enumerate() {
            if self.is_true(condition, "IF")? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    fn is_true(&mut self, condition: &Computed<M>, place: &'static str) -> Result<bool, Fail> {
        Ok(self.machine.evaluate(condition, Wanted::Condition(place))?.0 == Value::Bool(true))
    }

    fn leave<'b>(&mut self, leave: &'b Leave<M::Form>) -> Result<Flow<'b>, Fail> {
        if let Some(condition) = &leave.condition
            && !self.is_true(condition, "WHEN")?
        {
            return Ok(Flow::Next);
        }
        let label = leave.label.as_deref();
        Ok(if leave.goes_on { Flow::Continue(label) } else { Flow::Exit(label) })
    }

    fn looped<'b>(&mut self, looped: &'b Loop<M::Form>, line: usize) -> Result<Flow<'b>, Fail> {
        match &looped.rounds {
            Rounds::Endless => loop {
                if let Some(flow) = self.round(looped)? {
                    return Ok(flow);
                }
            },
            Rounds::While(condition) => {
                while self.is_true(condition, "WHILE").map_err(|fail| self.machine.locate(fail, line, "WHILE"))? {
                    if let Some(flow) = self.round(looped)? {
                        return Ok(flow);
                    }
                }
                Ok(Flow::Next)
            }
            Rounds::Range { variable, from, to, by, reverse } => {
                let range = self.range(from, to, by.as_ref());
                let (from, to, by) = range.map_err(|fail| self.machine.locate(fail, line, looped.rounds.name()))?;
                let slot = self.machine.declare(variable, None)?.first;
                self.numbers(looped, slot, (from, to, by, *reverse))
            }
            Rounds::Rows(query) => {
                let rows =
                    self.machine.rows(query).map_err(|fail| self.machine.locate(fail, line, looped.rounds.name()))?;
                let any = !rows.rows.is_empty();
                if !any {
                    self.machine.take(query, &rows.columns, None)?;
                }
                let flow = self.rows(looped, query, rows, line)?;
                self.found(any);
                Ok(flow)
            }
        }
    }

    /// Runs the statements of a loop once. Returns `None` if the loop goes on, and otherwise the point where the body
    /// continues.
    fn round<'b>(&mut self, looped: &'b Loop<M::Form>) -> Result<Option<Flow<'b>>, Fail> {
        let is_it = |label: Option<&str>| label.is_none() || label == looped.label.as_deref();
        self.machine.check()?;
        Ok(match self.steps(&looped.steps)? {
            Flow::Next => None,
            Flow::Continue(label) if is_it(label) => None,
            Flow::Exit(label) if is_it(label) => Some(Flow::Next),
            flow => Some(flow),
        })
    }

    /// Evaluates the bounds of a FOR loop over integers. Returns the first number, the last number and the step.
    ///
    /// # Errors
    /// 22004 if one of them is NULL, 22023 if the step is not greater than zero.
    fn range(
        &mut self,
        from: &Computed<M>,
        to: &Computed<M>,
        by: Option<&Computed<M>>,
    ) -> Result<(i64, i64, i64), Fail> {
        let mut number = |value: &Computed<M>, what: &str| {
            let (value, _) = self.machine.evaluate(value, Wanted::Type(Type::Int4))?;
            value.as_int().ok_or_else(|| {
                let message = format!("{what} of FOR loop cannot be null");
                Fail::Sql(SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message))
            })
        };
        let (from, to) = (number(from, "lower bound")?, number(to, "upper bound")?);
        let by = by.map_or(Ok(1), |by| number(by, "BY value"))?;
        if by <= 0 {
            let message = "BY value of FOR loop must be greater than zero";
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message).into());
        }
        Ok((from, to, by))
    }

    /// Runs a FOR loop over the integers of a range, with the integer in `slot`, and sets `found`.
    fn numbers<'b>(
        &mut self,
        looped: &'b Loop<M::Form>,
        slot: usize,
        (from, to, by, reverse): (i64, i64, i64, bool),
    ) -> Result<Flow<'b>, Fail> {
        let (mut number, mut flow) = (from, None);
        while flow.is_none() && if reverse { number >= to } else { number <= to } {
            self.machine.frame().values[slot] = Value::Int4(number as i32);
            flow = self.round(looped)?;
            number += if reverse { -by } else { by };
        }
        self.found(number != from);
        Ok(flow.unwrap_or(Flow::Next))
    }

    /// Runs a FOR loop over the rows of a query.
    fn rows<'b>(
        &mut self,
        looped: &'b Loop<M::Form>,
        query: &Executed<M>,
        rows: Rows,
        line: usize,
    ) -> Result<Flow<'b>, Fail> {
        for row in rows.rows {
            self.machine
                .take(query, &rows.columns, Some(row))
                .map_err(|fail| self.machine.locate(fail, line, "FOR over SELECT rows"))?;
            if let Some(flow) = self.round(looped)? {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn found(&mut self, found: bool) {
        let frame = self.machine.frame();
        frame.values[frame.found] = Value::Bool(found);
    }

    /// Evaluates an expression and formats its value as text. Returns `None` for NULL.
    fn text(&mut self, value: &Computed<M>) -> Result<Option<String>, Fail> {
        let (value, ty) = self.machine.evaluate(value, Wanted::Any)?;
        if matches!(value, Value::Null) {
            return Ok(None);
        }
        let mut text = BytesMut::new();
        encode_text(&value, ty, self.machine.frame().env.styles, &mut text);
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }

    fn raise(&mut self, raise: &Raise<M::Form>) -> Result<(), Fail> {
        if raise.again {
            return Err(Fail::Sql(self.handled.last().cloned().ok_or_else(|| {
                let message = "RAISE without parameters cannot be used outside an exception handler";
                SqlError::new(state::STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER, message)
            })?));
        }
        let code = |condition: Condition| match condition {
            Condition::Sqlstate(code) => Some(code),
            Condition::Others => None,
        };
        let mut known = raise.condition.as_ref().and_then(|(condition, name)| Some((code(*condition)?, name.clone())));
        let mut message = match &raise.message {
            None => None,
            Some((parts, values)) => Some(self.message(parts, values)?),
        };
        let mut error = SqlError::new(state::RAISE_EXCEPTION, "");
        for (option, value) in &raise.options {
            let text = self
                .text(value)?
                .ok_or_else(|| SqlError::new(state::NULL_VALUE_NOT_ALLOWED, "RAISE statement option cannot be null"))?;
            match option {
                ErrorPart::Message if message.is_some() => {
                    return Err(SqlError::new(state::SYNTAX_ERROR, "RAISE option already specified: MESSAGE").into());
                }
                ErrorPart::Message => message = Some(text),
                ErrorPart::Detail => error = error.detail(text),
                ErrorPart::Hint => error = error.hint(text),
                ErrorPart::Code => {
                    let named = || Condition::named(&text).ok()?.into_iter().find_map(code);
                    let code = SqlState::of(&text).map_or_else(named, Some);
                    let unknown = || {
                        let message = format!("unrecognized exception condition \"{text}\"");
                        SqlError::new(state::UNDEFINED_OBJECT, message)
                    };
                    known = Some((code.ok_or_else(unknown)?, text));
                }
                ErrorPart::Column => error.about().column = Some(text),
                ErrorPart::Constraint => error.about().constraint = Some(text),
                ErrorPart::Table => error.about().table = text,
                ErrorPart::Schema => error.about().schema = text,
                // RAISE has no such options.
                ErrorPart::Context | ErrorPart::DataType => {}
            }
        }
        let notice = raise.notice;
        let (code, name) = match known {
            Some((code, name)) => (code, Some(name)),
            None => (
                match notice {
                    None => state::RAISE_EXCEPTION,
                    Some("WARNING") => state::WARNING,
                    Some(_) => state::SUCCESSFUL_COMPLETION,
                },
                None,
            ),
        };
        error.state = code;
        error.message = message.or(name).unwrap_or_else(|| code.as_str().to_owned());
        match notice {
            None => Err(error.into()),
            Some(severity) => self.machine.notice(Notice { severity, error }),
        }
    }

    /// Returns the message of RAISE: its parts with the values between them.
    fn message(&mut self, parts: &[String], values: &[Computed<M>]) -> Result<String, Fail> {
        let mut message = parts.first().cloned().unwrap_or_default();
        for (value, part) in values.iter().zip(parts.iter().skip(1)) {
            message.push_str(self.text(value)?.as_deref().unwrap_or("<NULL>"));
            message.push_str(part);
        }
        Ok(message)
    }

    /// Assigns an item of GET DIAGNOSTICS to a variable.
    fn diagnose(&mut self, target: &Assigned<M>, fact: Fact) -> Result<(), Fail> {
        let (value, ty) = match fact {
            Fact::RowCount => (Value::Int8(self.row_count as i64), Type::Int8),
            Fact::Error(part) => {
                let error = self.handled.last().ok_or_else(|| {
                    let message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
                    SqlError::new(state::STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER, message)
                })?;
                (Value::text(&part_of(error, part)).into_owned(), Type::Text)
            }
        };
        let target = self.machine.target(target, ty)?;
        store(&mut self.machine.frame(), &target, value)
    }
}

fn part_of(error: &SqlError, part: ErrorPart) -> String {
    let subject = error.subject.as_deref();
    match part {
        ErrorPart::Code => Some(error.state.as_str().to_owned()),
        ErrorPart::Message => Some(error.message.clone()),
        ErrorPart::Detail => error.detail.clone(),
        ErrorPart::Hint => error.hint.clone(),
        ErrorPart::Context => error.context.as_deref().map(str::to_owned),
        ErrorPart::Column => subject.and_then(|subject| subject.column.clone()),
        ErrorPart::Constraint => subject.and_then(|subject| subject.constraint.clone()),
        ErrorPart::Table => subject.map(|subject| subject.table.clone()),
        ErrorPart::Schema => subject.map(|subject| subject.schema.clone()),
        ErrorPart::DataType => subject.and_then(|subject| subject.datatype.clone()),
    }
    .unwrap_or_default()
}
