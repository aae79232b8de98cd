//! DO: runs a body whose statements may be of any kind. Each statement is planned when the body comes to it, for the
//! catalog of that moment, and its plan is kept for the next round of a loop.

use super::Session;
use super::output::{Output, Tag};
use super::transaction::is_transaction_control;
use crate::bind::body::{body_statement, contents, row_targets, target_type, value_statement, value_target};
use crate::bind::variables::{BlockStart, Variables};
use crate::client::{Client, CopyEncoding, Notice, OutputColumn};
use crate::database::plan;
use crate::error::unsupported;
use crate::exec::Fail;
use crate::exec::body::{
    Frame, Machine, Rows, Wanted, check_not_null, check_strict, fill, run_body, store, too_many_rows,
};
use crate::expr::Input;
use crate::memory::MemoryLimit;
use crate::parse::body::{
    BodySyntax, Executed, Expression, Fragment, StatementSyntax, TargetSyntax, VariableSyntax, Written,
};
use crate::parse::lex::tokenize;
use crate::parse::{self, Parsed};
use crate::plan::{Node, Plan, Slots, Statement, Target, read_only_violation};
use crate::table_lock::Mode;
use crate::{SqlError, state};
use hotrow_storage::{Type, Value};
use hotrow_sync::Arc;
use std::collections::HashMap;

/// The name of the body of DO in the contexts of errors, which is PostgreSQL's.
const NAME: &str = "inline_code_block";

/// The body of a DO that runs.
struct Anonymous<'s, 'o, 'c> {
    session: &'s mut Session,
    output: &'o mut Output<'c>,
    variables: Variables,
    /// The values of the variables, by slot.
    values: Vec<Value<'static>>,
    /// The plans of the body's statements and expressions, by their addresses in the body.
    plans: HashMap<*const Fragment, Kept>,
}

/// The plan of a statement, kept for the next time.
struct Kept {
    statement: Arc<Statement>,
    into: Vec<Target>,
    /// The state of the variables for which the statement was planned.
    stamp: (usize, u64),
}

/// The result of a statement of the body.
struct Outcome {
    tag: Tag,
    /// The first rows, as many as were wanted.
    rows: Vec<Vec<Value<'static>>>,
}

impl Session {
    /// Runs DO.
    pub(super) fn run_anonymous(&mut self, body: &BodySyntax, output: &mut Output<'_>) -> Result<Tag, Fail> {
        self.begin_engine()?;
        let variables = Variables::new(NAME, [], true);
        let values = vec![Value::Bool(false)];
        self.transaction.in_body = true;
        let mut running = Anonymous { session: self, output, variables, values, plans: HashMap::new() };
        let done = run_body(&mut running, &body.block);
        self.transaction.in_body = false;
        done.map(|()| Tag::Word("DO"))
    }
}

impl Anonymous<'_, '_, '_> {
    /// Returns the plan of a part of the body, which `make` makes if there is none for the present catalog. The tables
    /// of the plan are locked.
    fn planned(
        &mut self,
        part: &Fragment,
        make: impl FnMut(&Session, &mut Variables) -> Result<(Statement, Vec<Target>), SqlError>,
    ) -> Result<(Arc<Statement>, Vec<Target>), Fail> {
        let address: *const Fragment = part;
        let stamp = self.variables.stamp();
        let known = self.plans.remove(&address).filter(|kept| kept.stamp == stamp);
        let (statement, into) = self.settled(known.map(|kept| (kept.statement, kept.into)), make)?;
        let stamp = self.variables.stamp();
        self.plans.insert(address, Kept { statement: statement.clone(), into: into.clone(), stamp });
        Ok((statement, into))
    }

    /// Locks the tables of a plan, the `known` one or one that `make` makes, until one is true while they are locked.
    fn settled(
        &mut self,
        known: Option<(Arc<Statement>, Vec<Target>)>,
        mut make: impl FnMut(&Session, &mut Variables) -> Result<(Statement, Vec<Target>), SqlError>,
    ) -> Result<(Arc<Statement>, Vec<Target>), Fail> {
        self.session.follow_path();
        let mut next = known;
        loop {
            let (statement, into) = match next.take() {
                Some(known) => known,
                None => {
                    let (statement, into) = make(self.session, &mut self.variables)?;
                    (Arc::new(statement), into)
                }
            };
            // A record may have got fields.
            self.values.resize(self.variables.types().len(), Value::Null);
            for lock in statement.used.locks() {
                self.session.lock_table(lock, Mode::Shared)?;
            }
            if self.session.is_fresh(&statement) {
                return Ok((statement, into));
            }
        }
    }

    /// Executes a statement over the variables, or over `parameters`. At most `wanted` of its rows are kept.
    fn execute(
        &mut self,
        statement: &Statement,
        parameters: Option<&[Value<'static>]>,
        wanted: usize,
    ) -> Result<Outcome, Fail> {
        if self.session.context.transaction.read_only.get()
            && let Some(error) = read_only_violation(&statement.plan)
        {
            return Err(error.into());
        }
        if is_transaction_control(&statement.plan) {
            return Err(SqlError::new(state::INVALID_TRANSACTION_TERMINATION, "invalid transaction termination")
                .hint("DO runs in one transaction. Use a block with EXCEPTION to undo a part of it.")
                .into());
        }
        self.session.check_log(&statement.plan)?;
        let memory = self.session.database.memory_limit();
        let mut captured = Captured { client: &mut *self.output.client, rows: Vec::new(), wanted, memory };
        let parameters = parameters.unwrap_or(&self.values);
        let tag = self.session.execute_any(statement, parameters, &mut Output::extended(&mut captured))?;
        Ok(Outcome { tag, rows: captured.rows })
    }

    /// Plans and executes a statement. At most `wanted` of its rows are kept.
    fn run_statement(&mut self, written: &StatementSyntax, wanted: usize) -> Result<(Outcome, Vec<Target>), Fail> {
        match &written.what {
            Executed::Sql { statement, text, .. } => {
                let planned = self.planned(text, |session, variables| {
                    body_statement(session.view(), variables, statement, text, &written.into)
                });
                let run = planned.and_then(|(statement, into)| Ok((self.execute(&statement, None, wanted)?, into)));
                run.map_err(|fail| within_statement(fail, &text.text))
            }
            Executed::Other(text) => {
                let planned =
                    self.planned(text, |session, _| Ok((session.plan_in_body(&text.text, Vec::new())?, Vec::new())));
                let run = planned.and_then(|(statement, _)| Ok((self.execute(&statement, None, wanted)?, Vec::new())));
                run.map_err(|fail| within_statement(fail, &text.text))
            }
            Executed::Dynamic { text, using } => {
                let (computed, ty) = self.evaluate(text, Wanted::Any)?;
                let computed = match computed {
                    Value::Text(computed) if ty.is_text() => computed,
                    Value::Null => {
                        let message = "query string argument of EXECUTE is null";
                        return Err(SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message).into());
                    }
                    _ => {
                        return Err(
                            SqlError::new(state::DATATYPE_MISMATCH, "the argument of EXECUTE is no text").into()
                        );
                    }
                };
                let run = self.run_text(&computed, using, &written.into, wanted);
                run.map_err(|fail| within_statement(fail, &computed))
            }
        }
    }

    /// Runs the statement of a computed text.
    fn run_text(
        &mut self,
        text: &str,
        using: &[Expression],
        into: &[TargetSyntax],
        wanted: usize,
    ) -> Result<(Outcome, Vec<Target>), Fail> {
        let (mut parameters, mut types) = (Vec::with_capacity(using.len()), Vec::with_capacity(using.len()));
        for value in using {
            let (value, ty) = self.evaluate(value, Wanted::Any)?;
            parameters.push(value);
            types.push(Some(ty));
        }
        let (statement, _) =
            self.settled(None, |session, _| Ok((session.plan_in_body(text, types.clone())?, Vec::new())))?;
        if statement.params.len() > parameters.len() {
            let message = format!("there is no parameter ${}", parameters.len() + 1);
            return Err(SqlError::new(state::UNDEFINED_PARAMETER, message).into());
        }
        let outcome = self.execute(&statement, Some(&parameters), wanted)?;
        let columns = statement.columns().unwrap_or_default();
        let into = if into.is_empty() { Vec::new() } else { row_targets(&mut self.variables, into, columns)? };
        self.values.resize(self.variables.types().len(), Value::Null);
        Ok((outcome, into))
    }
}

impl Session {
    /// Plans the one statement of a text that is part of a body. Its names mean no variables.
    fn plan_in_body(&self, text: &str, types: Vec<Option<Type>>) -> Result<Statement, SqlError> {
        let mut tokens = Vec::new();
        tokenize(text, &mut tokens)?;
        let range = match &parse::split(text, &tokens)[..] {
            [range] => range.clone(),
            [] => 0..0,
            _ => return Err(unsupported("EXECUTE of several statements")),
        };
        let parsed = parse::parse(text, &tokens[range.clone()])?;
        if let Parsed::Utility(parse::utility::Utility::Do(_)) = &parsed {
            return Err(unsupported("DO within DO"));
        }
        plan(parsed, &text.into(), &tokens, range, self.view(), types)
    }
}

impl Machine for Anonymous<'_, '_, '_> {
    type Form = Written;
    type Scope = BlockStart;
    /// The number of the session's savepoints before the mark.
    type Mark = usize;

    fn check(&self) -> Result<(), SqlError> {
        if self.session.waiter.is_cancelled() { Err(hotrow_txn::Abort::Cancelled.into()) } else { Ok(()) }
    }

    fn enter(&mut self) -> BlockStart {
        self.variables.enter()
    }

    fn leave(&mut self, scope: BlockStart) {
        self.variables.leave(scope);
        self.values.resize(self.variables.types().len(), Value::Null);
    }

    fn declare(&mut self, variable: &VariableSyntax, value: Option<&Expression>) -> Result<Slots, Fail> {
        let contents = contents(self.session.view(), variable)?;
        let first = match value {
            Some(value) => self.evaluate(value, Wanted::Variable(&variable.name, contents.value_type()?))?.0,
            None => Value::Null,
        };
        let slots = self.variables.declare(variable, contents);
        if value.is_some() {
            check_not_null(&first, slots.not_null.as_deref())?;
        }
        self.values.truncate(slots.first);
        self.values.resize(self.variables.types().len(), Value::Null);
        if slots.width > 0 {
            self.values[slots.first] = first;
        }
        Ok(slots)
    }

    fn evaluate(&mut self, value: &Expression, wanted: Wanted<'_>) -> Result<(Value<'static>, Type), Fail> {
        let (statement, _) = self.planned(&value.text, |session, variables| {
            Ok((value_statement(session.view(), variables, value, wanted)?, Vec::new()))
        })?;
        let ty = statement.columns().and_then(|columns| columns.first()).map_or(Type::Text, |column| column.ty);
        let Plan::Query(Node::Project(_, exprs)) = &statement.plan else { return Ok((Value::Null, ty)) };
        self.session.context.may_wait.set(statement.used.tables.is_empty());
        let value = self.session.exec(&self.values).with_subqueries(|env| match exprs.first() {
            Some(expr) => Ok(expr.eval(env, &Input::NONE)?.into_owned()),
            None => Ok(Value::Null),
        });
        self.session.tell_effects_of(&value, self.output);
        Ok((value?, ty))
    }

    fn assign(&mut self, target: &TargetSyntax, value: &Expression) -> Result<(), Fail> {
        let ty = target_type(&self.variables, target)?;
        let name = target.field.as_ref().unwrap_or(&target.name);
        let place = value_target(&self.variables, target, ty)?;
        let (value, _) = self.evaluate(value, Wanted::Variable(name, ty))?;
        store(&mut self.frame(), &place, value)
    }

    fn target(&mut self, target: &TargetSyntax, from: Type) -> Result<Target, Fail> {
        Ok(value_target(&self.variables, target, from)?)
    }

    fn run(&mut self, statement: &StatementSyntax) -> Result<u64, Fail> {
        let (outcome, into) = self.run_statement(statement, 1)?;
        let is_dynamic = matches!(statement.what, Executed::Dynamic { .. });
        let needs_into = matches!(statement.what, Executed::Sql { performs: false, .. });
        let (word, rows) = match outcome.tag {
            Tag::Rows(word, rows) => (word, rows),
            // The arguments that come out of a call.
            Tag::Word(_) | Tag::Sent => {
                fill(&mut self.frame(), &into, outcome.rows.into_iter().next())?;
                return Ok(0);
            }
        };
        let queries = word == "SELECT";
        if statement.into.is_empty() && needs_into && (queries || !outcome.rows.is_empty()) {
            let error = SqlError::new(state::SYNTAX_ERROR, "query has no destination for result data");
            let hint = "If you want to discard the results of a SELECT, use PERFORM instead.";
            return Err(if queries { error.hint(hint) } else { error }.into());
        }
        if statement.strict {
            check_strict(rows)?;
        } else if !queries && !statement.into.is_empty() && rows > 1 {
            return Err(too_many_rows().into());
        }
        let mut frame = self.frame();
        if !is_dynamic {
            frame.values[frame.found] = Value::Bool(rows > 0);
        }
        fill(&mut frame, &into, outcome.rows.into_iter().next())?;
        Ok(rows)
    }

    fn rows(&mut self, query: &StatementSyntax) -> Result<Rows, Fail> {
        let (outcome, into) = self.run_statement(query, usize::MAX)?;
        Ok(Rows { rows: outcome.rows, into })
    }

    fn frame(&mut self) -> Frame<'_> {
        let found = self.variables.found();
        Frame { values: &mut self.values, found, styles: self.session.context.styles() }
    }

    fn mark(&mut self) -> Result<usize, Fail> {
        Ok(self.session.set_mark())
    }

    fn release(&mut self, mark: usize) {
        self.session.release_mark(mark);
    }

    fn roll_back(&mut self, mark: usize) -> Result<(), Fail> {
        for (name, value) in self.session.rollback_to_mark(mark) {
            self.output.client.parameter(name, &value);
        }
        self.session.release_mark(mark);
        Ok(())
    }

    fn notice(&mut self, notice: Notice) {
        if self.session.context.settings.borrow().tells(notice.severity) {
            self.output.client.notice(notice);
        }
    }

    fn locate(&self, fail: Fail, line: usize, what: &str) -> Fail {
        match fail {
            Fail::Sql(error) => Fail::Sql(error.within_anonymous(NAME, line, what)),
            abort @ Fail::Abort(_) => abort,
        }
    }
}

/// Adds the text of a statement of the body to its error.
fn within_statement(fail: Fail, text: &str) -> Fail {
    match fail {
        Fail::Sql(error) if error.state != state::INVALID_TRANSACTION_TERMINATION => {
            let here = format!("SQL statement \"{text}\"");
            let context = match &error.context {
                Some(inner) => format!("{inner}\n{here}"),
                None => here,
            };
            Fail::Sql(error.context(context))
        }
        fail => fail,
    }
}

/// The client of a statement of a body: it keeps the first rows, and passes notices on.
struct Captured<'c> {
    client: &'c mut dyn Client,
    rows: Vec<Vec<Value<'static>>>,
    wanted: usize,
    memory: MemoryLimit,
}

impl Client for Captured<'_> {
    fn columns(&mut self, _: &[OutputColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> Result<(), SqlError> {
        if self.rows.len() < self.wanted {
            self.memory.check_push(&self.rows)?;
            self.rows.push(values.iter().map(|value| value.borrowed().into_owned()).collect());
        }
        Ok(())
    }

    fn complete(&mut self, _: &str) -> Result<(), SqlError> {
        Ok(())
    }

    fn empty(&mut self) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, notice: Notice) {
        self.client.notice(notice);
    }

    fn parameter(&mut self, name: &str, value: &str) {
        self.client.parameter(name, value);
    }

    fn copy_in(&mut self, _: CopyEncoding, _: usize) -> Result<(), SqlError> {
        Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "cannot COPY to/from client in PL/pgSQL"))
    }

    fn copy_out(&mut self, _: CopyEncoding, _: usize) -> Result<(), SqlError> {
        Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "cannot COPY to/from client in PL/pgSQL"))
    }
}
