//! DO: runs a body whose statements may be of any kind. Each statement is planned when the body comes to it, for the
//! catalog of that moment, and its plan is kept for the next round of a loop.

use super::Session;
use super::output::{Output, Tag};
use super::transaction::is_transaction_control;
use crate::bind::body::{Outputs, body_statement, call_targets, contents, value_statement};
use crate::bind::variables::{BlockStart, Contents, Variables};
use crate::catalog::Used;
use crate::client::{Client, CopyEncoding, Notice, OutputColumn};
use crate::database::plan;
use crate::error::unsupported;
use crate::exec::Fail;
use crate::exec::body::{
    Frame, Machine, Returning, RowValues, Rows, Wanted, check_not_null, check_strict, fill, run_body, store,
    too_many_rows,
};
use crate::exec::dynamic::{check_parameters, computed_text, only_statement, within_statement};
use crate::expr::{Input, lost};
use crate::memory::MemoryLimit;
use crate::parse::body::{
    BodySyntax, Executed, Expression, Fragment, StatementSyntax, TargetSyntax, VariableSyntax, VariableType, Written,
};
use crate::parse::utility::Utility;
use crate::plan::{Node, Plan, Slots, Statement, Target};
use crate::table_lock::Mode;
use crate::{SqlError, state};
use hotrow_storage::{Type, Value};
use hotrow_sync::Arc;
use std::collections::HashMap;

/// The name of the body of DO in the contexts of errors, as in PostgreSQL.
const NAME: &str = "inline_code_block";

/// A running body of DO.
struct Anonymous<'s, 'o, 'c> {
    session: &'s mut Session,
    output: &'o mut Output<'c>,
    variables: Variables,
    /// The values of the variables, by slot.
    values: Vec<Value<'static>>,
    /// The plans of the body's statements and expressions, by their addresses in the body.
    plans: HashMap<*const Fragment, Kept>,
}

/// The plan of a statement or expression, kept for the next round of a loop.
struct Kept {
    planned: Planned,
    /// The slots of the variables for which the statement was planned.
    stamp: Vec<usize>,
}

/// A statement with its plan. For CALL, also the slots of the variables that are given for the output arguments.
type Planned = (Arc<Statement>, Option<Outputs>);

/// The result of a statement of the body.
struct Outcome {
    tag: Tag,
    /// The first rows of the result, as many as the caller wanted.
    rows: Vec<RowValues>,
    columns: Vec<OutputColumn>,
    outputs: Option<Outputs>,
}

impl Session {
    /// Runs DO: interprets the body, in the session's transaction.
    pub(super) fn run_anonymous(&mut self, body: &BodySyntax, output: &mut Output<'_>) -> Result<Tag, Fail> {
        self.begin_engine()?;
        let variables = Variables::new(NAME, [], true);
        let values = vec![Value::Bool(false)];
        self.transaction.in_body = true;
        let mut running = Anonymous { session: self, output, variables, values, plans: HashMap::new() };
        let done = run_body(&mut running, &body.block);
        self.transaction.in_body = false;
        done.map(|_| Tag::Word("DO"))
    }
}

impl Anonymous<'_, '_, '_> {
    /// Returns a plan for a statement or expression of the body, whose tables are locked. Uses the plan that was kept,
    /// if it was made for the present catalog, the present variables and a value of the type `wanted`. Otherwise `make`
    /// makes a plan, which is kept.
    fn planned(
        &mut self,
        part: &Fragment,
        wanted: Option<Type>,
        make: impl FnMut(&Session, &Variables) -> Result<(Statement, Option<Outputs>), SqlError>,
    ) -> Result<Planned, Fail> {
        let address: *const Fragment = part;
        let stamp = self.variables.stamp();
        let known = self
            .plans
            .remove(&address)
            .filter(|kept| kept.stamp == stamp && wanted.is_none_or(|ty| value_type(&kept.planned.0) == ty));
        let planned = self.settled(known.map(|kept| kept.planned), make)?;
        self.plans.insert(address, Kept { planned: planned.clone(), stamp });
        Ok(planned)
    }

    /// Locks the tables of the plan `known`, or of a plan that `make` makes. If the plan has become out of date
    /// meanwhile, tries again with a new plan.
    fn settled(
        &mut self,
        known: Option<Planned>,
        mut make: impl FnMut(&Session, &Variables) -> Result<(Statement, Option<Outputs>), SqlError>,
    ) -> Result<Planned, Fail> {
        self.session.context.follow_path();
        let mut next = known;
        loop {
            let planned = match next.take() {
                Some(known) => known,
                None => {
                    let (statement, outputs) = make(self.session, &self.variables)?;
                    (Arc::new(statement), outputs)
                }
            };
            for lock in planned.0.used.locks() {
                self.session.lock_table(lock, Mode::Shared)?;
            }
            if self.session.is_fresh(&planned.0) {
                return Ok(planned);
            }
        }
    }

    /// Executes a statement. Its parameters are `parameters`, or else the values of the variables. Keeps at most
    /// `wanted` of its rows.
    fn execute(
        &mut self,
        (statement, outputs): &Planned,
        parameters: Option<&[Value<'static>]>,
        wanted: usize,
    ) -> Result<Outcome, Fail> {
        self.session.check_in_body(&statement.plan)?;
        self.session.check_writes(statement)?;
        let memory = self.session.database.memory_limit();
        let mut captured = Captured { client: &mut *self.output.client, rows: Vec::new(), wanted, memory };
        let parameters = parameters.unwrap_or(&self.values);
        let tag = self.session.execute_any(statement, parameters, &mut Output::extended(&mut captured))?;
        let columns = statement.columns().unwrap_or_default().to_vec();
        Ok(Outcome { tag, rows: captured.rows, columns, outputs: outputs.clone() })
    }

    /// Plans and executes a statement of the body. Keeps at most `wanted` of its rows.
    fn run_statement(&mut self, written: &StatementSyntax, wanted: usize) -> Result<Outcome, Fail> {
        match &written.what {
            Executed::Sql { statement, text, .. } => {
                let planned = self.planned(text, None, |session, variables| {
                    body_statement(session.view(), variables, statement, text)
                });
                let run = planned.and_then(|planned| self.execute(&planned, None, wanted));
                run.map_err(|fail| within_statement(fail, &text.text))
            }
            Executed::Other(text) => {
                let planned = self.planned(text, None, |session, _| Ok((session.plan_in_body(&text.text, &[])?, None)));
                let run = planned.and_then(|planned| self.execute(&planned, Some(&[]), wanted));
                run.map_err(|fail| within_statement(fail, &text.text))
            }
            Executed::Dynamic { text, using } => {
                let (computed, ty) = self.evaluate(text, Wanted::Any)?;
                let computed = computed_text(computed, ty)?;
                let run = self.run_text(&computed, using, wanted);
                run.map_err(|fail| within_statement(fail, &computed))
            }
        }
    }

    /// Runs the statement in a computed text, for EXECUTE. Keeps at most `wanted` of its rows.
    fn run_text(&mut self, text: &str, using: &[Expression], wanted: usize) -> Result<Outcome, Fail> {
        let (mut parameters, mut types) = (Vec::with_capacity(using.len()), Vec::with_capacity(using.len()));
        for value in using {
            let (value, ty) = self.evaluate(value, Wanted::Any)?;
            parameters.push(value);
            types.push(Some(ty));
        }
        let planned = self.settled(None, |session, _| Ok((session.plan_in_body(text, &types)?, None)))?;
        self.execute(&planned, Some(&parameters), wanted)
    }

    /// Assigns the columns of a row to the variables after INTO, or NULL if there is no row.
    fn assign_row(
        &mut self,
        into: &[TargetSyntax],
        columns: &[OutputColumn],
        row: Option<RowValues>,
    ) -> Result<(), Fail> {
        if into.is_empty() {
            return Ok(());
        }
        let targets = self.variables.targets(into, columns)?;
        // A record may have got fields.
        self.grow();
        fill(&mut self.frame(), &targets, row)
    }

    /// Extends the list of values to all slots of the variables.
    fn grow(&mut self) {
        let slots = self.variables.types().len();
        if self.values.len() < slots {
            self.values.resize(slots, Value::Null);
        }
    }
}

impl Session {
    /// Plans the one statement in a text. Names in it do not refer to variables of the body. `types` are the types of
    /// the parameters.
    fn plan_in_body(&self, text: &str, types: &[Option<Type>]) -> Result<Statement, SqlError> {
        let (parsed, tokens, range) = only_statement(text)?;
        let statement = plan(parsed, &text.into(), &tokens, range, self.view(), types.to_vec())?;
        check_parameters(&statement, types)?;
        Ok(statement)
    }

    /// Checks that DO may run a statement, if the session is running a DO. Such a statement must neither begin or end a
    /// transaction nor have effects that a rollback does not undo.
    ///
    /// # Errors
    /// 2D000 for transaction control, 25001 for a statement with lasting effects, 0A000 for DO.
    pub(super) fn check_in_body(&self, plan: &Plan) -> Result<(), SqlError> {
        if !self.transaction.in_body {
            return Ok(());
        }
        if is_transaction_control(plan) {
            return Err(SqlError::new(state::INVALID_TRANSACTION_TERMINATION, "invalid transaction termination")
                .hint("DO runs in one transaction. Use a block with EXCEPTION to undo a part of it."));
        }
        let Plan::Utility(utility) = plan else { return Ok(()) };
        let what = match **utility {
            Utility::Do(_) => return Err(unsupported("DO within DO")),
            Utility::Prepare { .. } => "PREPARE",
            Utility::Deallocate(_) => "DEALLOCATE",
            Utility::DiscardAll | Utility::DiscardPlans | Utility::DiscardSequences | Utility::DiscardTemporary => {
                "DISCARD"
            }
            Utility::Maintenance { tag, .. } if tag != "ANALYZE" => tag,
            Utility::Database(ref statement) => statement.tag(),
            Utility::Checkpoint => "CHECKPOINT",
            Utility::Backup(_) => "BACKUP",
            _ => return Ok(()),
        };
        let message = format!("{what} cannot be executed from a function");
        Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message))
    }
}

impl Returning<Written> for Anonymous<'_, '_, '_> {
    fn add(&mut self, _: &[Value<'static>]) -> Result<(), Fail> {
        Err(lost("a result of DO").into())
    }

    fn add_rows(&mut self, _: &StatementSyntax) -> Result<u64, Fail> {
        Err(lost("a result of DO").into())
    }
}

impl Machine for Anonymous<'_, '_, '_> {
    type Form = Written;
    type Scope = BlockStart;
    /// The position of the savepoint in the session's list of savepoints.
    type Mark = usize;

    fn check(&self) -> Result<(), SqlError> {
        if self.session.waiter.is_cancelled() { Err(hotrow_txn::Abort::Cancelled.into()) } else { Ok(()) }
    }

    fn enter(&mut self) -> BlockStart {
        self.variables.enter()
    }

    fn leave(&mut self, scope: BlockStart) {
        self.variables.leave(scope);
    }

    fn declare(&mut self, variable: &VariableSyntax, value: Option<&Expression>) -> Result<Slots, Fail> {
        if let (VariableType::OfFirstValue, Some(value)) = (&variable.ty, value) {
            let (value, ty) = self.evaluate(value, Wanted::Any)?;
            let slots = self.variables.declare(variable, Contents::Value(ty, None))?;
            self.grow();
            self.values[slots.first] = value;
            return Ok(slots);
        }
        // Each statement is planned for the catalog of its moment.
        let contents = contents(self.session.view(), variable, &mut Used::default())?;
        let first = match value {
            Some(value) => {
                let (ty, domain) = contents.value_type()?;
                self.evaluate(value, Wanted::Variable(&variable.name, ty, domain))?.0
            }
            None => {
                if let Contents::Value(_, Some(domain)) = &contents {
                    domain.check(&Value::Null, &self.frame().env)?;
                }
                Value::Null
            }
        };
        let slots = self.variables.declare(variable, contents)?;
        if value.is_some() {
            check_not_null(&first, slots.not_null.as_deref())?;
        }
        self.grow();
        self.values[slots.first..slots.first + slots.width].fill(Value::Null);
        if slots.width > 0 {
            self.values[slots.first] = first;
        }
        Ok(slots)
    }

    fn evaluate(&mut self, value: &Expression, wanted: Wanted<'_>) -> Result<(Value<'static>, Type), Fail> {
        let ty = match wanted {
            Wanted::Type(ty) | Wanted::Variable(_, ty, _) => Some(ty),
            Wanted::Any | Wanted::Condition(_) => None,
        };
        let (statement, _) = self.planned(&value.text, ty, |session, variables| {
            Ok((value_statement(session.view(), variables, value, wanted)?, None))
        })?;
        let ty = value_type(&statement);
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
        let (ty, domain) = self.variables.type_of(target)?;
        let (name, domain) = (target.field.as_ref().unwrap_or(&target.name), domain.cloned());
        let place = self.variables.target(target, ty)?;
        let (value, _) = self.evaluate(value, Wanted::Variable(name, ty, domain.as_ref()))?;
        store(&mut self.frame(), &place, value)
    }

    fn target(&mut self, target: &TargetSyntax, from: Type) -> Result<Target, Fail> {
        Ok(self.variables.target(target, from)?)
    }

    fn run(&mut self, statement: &StatementSyntax) -> Result<u64, Fail> {
        let Outcome { tag, rows: kept, columns, outputs } = self.run_statement(statement, 1)?;
        let first = kept.into_iter().next();
        if let Some(slots) = outputs {
            let targets = call_targets(&self.variables, &slots, &columns, &statement.into)?;
            fill(&mut self.frame(), &targets, first)?;
            return Ok(0);
        }
        let Tag::Rows(word, rows) = tag else { return Ok(0) };
        let is_dynamic = matches!(statement.what, Executed::Dynamic { .. });
        let needs_into = matches!(statement.what, Executed::Sql { performs: false, .. });
        let queries = word == "SELECT";
        if statement.into.is_empty() && needs_into && (queries || first.is_some()) {
            let error = SqlError::new(state::SYNTAX_ERROR, "query has no destination for result data");
            let hint = "If you want to discard the results of a SELECT, use PERFORM instead.";
            return Err(if queries { error.hint(hint) } else { error }.into());
        }
        // A handler of the error sees whether there were rows.
        if !is_dynamic {
            let frame = self.frame();
            frame.values[frame.found] = Value::Bool(rows > 0);
        }
        if statement.strict {
            check_strict(rows)?;
        } else if !queries && !statement.into.is_empty() && rows > 1 {
            return Err(too_many_rows().into());
        }
        self.assign_row(&statement.into, &columns, first)?;
        Ok(rows)
    }

    fn rows(&mut self, query: &StatementSyntax) -> Result<Rows, Fail> {
        let Outcome { rows, columns, .. } = self.run_statement(query, usize::MAX)?;
        Ok(Rows { rows, columns })
    }

    fn take(&mut self, query: &StatementSyntax, columns: &[OutputColumn], row: Option<RowValues>) -> Result<(), Fail> {
        self.assign_row(&query.into, columns, row)
    }

    fn frame(&mut self) -> Frame<'_> {
        let found = self.variables.found();
        Frame { values: &mut self.values, found, env: self.session.exec(&[]).env }
    }

    fn mark(&mut self) -> Result<usize, Fail> {
        Ok(self.session.set_mark())
    }

    fn release(&mut self, mark: usize, undoes: bool) {
        if undoes {
            for (name, value) in self.session.rollback_to_mark(mark) {
                self.output.client.parameter(name, &value);
            }
        }
        self.session.release_mark(mark);
    }

    fn notice(&mut self, notice: Notice) -> Result<(), Fail> {
        if self.session.context.settings.borrow().tells(notice.severity) {
            // The notice may be kept until the statement has run.
            self.session.database.memory_limit().check()?;
            self.output.client.notice(notice);
        }
        Ok(())
    }

    fn locate(&self, fail: Fail, line: usize, what: &str) -> Fail {
        match fail {
            Fail::Sql(error) => Fail::Sql(error.within(format!("PL/pgSQL function {NAME} line {line} at {what}"))),
            abort @ Fail::Abort(_) => abort,
        }
    }
}

/// Returns the type of the only column of a statement that was made of an expression.
fn value_type(statement: &Statement) -> Type {
    statement.columns().and_then(|columns| columns.first()).map_or(Type::Text, |column| column.ty)
}

/// The receiver of the results of a statement in a body. Keeps the first rows, and passes notices on to the client.
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
