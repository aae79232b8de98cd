//! Binds the statements of bodies. The statements of a procedure or function are all bound before the body runs. Those
//! of DO are bound one by one, each when the running body comes to it.
//!
//! A name in a body means a column of the statement's table if there is one, else a variable. `procedure.name` always
//! means the variable.

use super::binder::Binder;
use super::domain::checked;
use super::enclosing::Enclosing;
use super::row_types::{self, relation_of, result_columns};
use super::scope::Scope;
use super::variables::{Contents, Shapes, Variables, check_assignable, strictness};
use crate::catalog::procedure::{Argument, Procedure};
use crate::catalog::search_path::path_of_body;
use crate::catalog::{Declared, Table, Used, View};
use crate::depth::{self, Syntax, with_room};
use crate::error::unsupported;
use crate::expr::{BoundDomain, Expr, Strictness};
use crate::parse::body::{
    Block, Declaration, Executed, Expression, Fact, Fragment, Handler, Leave, Loop, Raise, Rounds, StatementSyntax,
    Step as StepSyntax, StepKind as SyntaxKind, TargetSyntax, VariableSyntax, VariableType, Written,
};
use crate::parse::lex::tokenize;
use crate::parse::names::relation_name;
use crate::parse::procedure::Language;
use crate::parse::utility::Utility;
use crate::parse::{self, Parsed};
use crate::plan::{
    self, Body, ComputedStatement, Node, Plan, Planned, PlannedStatement, PlannedValue, Slots, Statement, Step,
    StepKind, Target, only_reads_itself, triggers,
};
use crate::types::DomainId;
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use sqlparser::ast;

/// The type that a value of a body must have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'w> {
    /// Any type.
    Any,
    /// A Boolean: the value is the condition of the statement that is named here.
    Condition(&'static str),
    /// A type to which the value can be assigned.
    Type(Type),
    /// The type of the variable that the value is assigned to, and its domain if it has one.
    Variable(&'w str, Type, Option<&'w Arc<BoundDomain>>),
}

/// Returns the contents of a variable that a body declares. The caller computes the first value before it
/// [declares](Variables::declare) the variable, because a name in that value means a variable around the block.
///
/// If the type comes from a table or view, this relation is added to `used`.
///
/// # Errors
/// 42703 if `%TYPE` names a column that does not exist, 0A000 if the declaration has no type.
pub(crate) fn contents(view: View<'_>, variable: &VariableSyntax, used: &mut Used) -> Result<Contents, SqlError> {
    match &variable.ty {
        VariableType::Named(ty) => match relation_of(ty, view)? {
            Some(name) => Ok(row(row_types::columns_of(view, &name, used)?)),
            None => value(view.declared_type(ty)?, view, used),
        },
        VariableType::OfColumn(path) => {
            let [relation @ .., column] = &path[..] else { return Err(unsupported("%TYPE of this name")) };
            let columns = columns_of(view, relation, used)?;
            let found = columns.into_iter().find(|(name, _)| name == column);
            let (_, declared) = found.ok_or_else(|| {
                let message = format!("column \"{column}\" does not exist");
                SqlError::new(state::UNDEFINED_COLUMN, message)
            })?;
            value(declared, view, used)
        }
        VariableType::RowOf(path) => Ok(row(columns_of(view, path, used)?)),
        VariableType::Record => Ok(Contents::Record),
        VariableType::OfFirstValue => Err(unsupported("a variable without a type")),
        VariableType::Alias(name) => Ok(Contents::Alias(name.clone())),
    }
}

/// Returns the contents of a variable with a value of this type. The definitions of its domain are added to `used`.
fn value(Declared { ty, domain }: Declared, view: View<'_>, used: &mut Used) -> Result<Contents, SqlError> {
    Ok(Contents::Value(ty, bound_domain(domain, view, used)?))
}

/// Returns the constraints of a domain, if there is one, and adds the definitions from which they come to `used`.
pub(super) fn bound_domain(
    domain: Option<DomainId>,
    view: View<'_>,
    used: &mut Used,
) -> Result<Option<Arc<BoundDomain>>, SqlError> {
    let Some((domain, definitions)) = domain.map(|id| BoundDomain::of(id, view)).transpose()? else { return Ok(None) };
    definitions.iter().for_each(|made| used.add_domain(made));
    Ok(Some(domain))
}

/// Returns the contents of a variable with a row of these columns. Its fields may have any value of the columns' types:
/// the constraints of domains are checked where the row is stored.
fn row(columns: Vec<(String, Declared)>) -> Contents {
    Contents::Row(columns.into_iter().map(|(name, declared)| (name, declared.ty)).collect())
}

/// Returns the columns of the table or view that `%TYPE` or `%ROWTYPE` names, and adds the relation to `used`.
///
/// # Errors
/// 42P01 if there is no such relation, 0A000 if the path is empty: `%TYPE` of a variable is not supported.
fn columns_of(view: View<'_>, path: &[String], used: &mut Used) -> Result<Vec<(String, Declared)>, SqlError> {
    if path.is_empty() {
        return Err(unsupported("%TYPE of a variable"));
    }
    row_types::columns_of(view, &view.find(&relation_name(path)?), used)
}

/// Makes a binder for a statement or an expression of a body. `enclosing` is the body, with the bodies around it;
/// `None` for the body of DO. Errors give positions only if the client has sent the text.
pub(super) fn binder<'b>(
    text: &'b Fragment,
    view: View<'b>,
    variables: &'b Variables,
    enclosing: Option<&'b Enclosing<'b>>,
) -> Binder<'b> {
    let types = variables.types().iter().copied().map(Some).collect();
    let shown = if text.offset.is_some() { text.text.as_str() } else { "" };
    Binder::new(shown, text.offset.unwrap_or(0), view, types).within(variables, enclosing)
}

/// Plans an expression of DO as a query that returns one row with one column, the value.
pub(crate) fn value_statement(
    view: View<'_>,
    variables: &Variables,
    value: &Expression,
    wanted: Wanted<'_>,
) -> Result<Statement, SqlError> {
    with_room(|| {
        binder(&value.text, view, variables, None).sealed(value.text.text.as_str().into(), 0..0, |binder| {
            let PlannedValue { expr, ty } = binder.body_value(value, wanted)?;
            let plan = Plan::Query(Node::Project(Box::new(Node::One), vec![expr]));
            Ok((plan, Some(vec![OutputColumn::new("value", ty)])))
        })
    })
}

/// Plans a statement of DO. For CALL, returns the slots of the variables that receive the output arguments.
pub(crate) fn body_statement(
    view: View<'_>,
    variables: &Variables,
    statement: &Syntax<ast::Statement>,
    text: &Fragment,
) -> Result<(Statement, Option<Outputs>), SqlError> {
    with_room(|| {
        let mut tokens = Vec::new();
        tokenize(&text.text, &mut tokens)?;
        let mut outputs = None;
        let made =
            binder(text, view, variables, None).sealed(text.text.as_str().into(), 0..tokens.len(), |binder| {
                let (planned, slots) = binder.body_plan(statement)?;
                outputs = slots;
                Ok(planned)
            })?;
        Ok((made, outputs))
    })
}

/// A plan, and the columns of its result if it has one.
type PlanWithColumns = (Plan, Option<Vec<OutputColumn>>);

/// For each output argument of a CALL, the slot of the variable that the call gives for it; `None` if the call gives
/// anything else.
pub(crate) type Outputs = Vec<Option<usize>>;

/// Returns the assignments of a call's output arguments to the variables in `slots`.
///
/// # Errors
/// 42601 if the call has INTO, or if it gives something other than a variable for an output argument.
pub(crate) fn call_targets(
    variables: &Variables,
    slots: &[Option<usize>],
    columns: &[OutputColumn],
    into: &[TargetSyntax],
) -> Result<Vec<Target>, SqlError> {
    if !into.is_empty() {
        return Err(SqlError::new(state::SYNTAX_ERROR, "CALL has no INTO")
            .hint("Give variables for the arguments that come out."));
    }
    slots
        .iter()
        .zip(columns)
        .map(|(slot, column)| match slot {
            Some(slot) => variables.target_at(*slot, column.ty),
            None => {
                let message = format!(
                    "procedure parameter \"{}\" is an output parameter but corresponding argument is not writable",
                    column.name
                );
                Err(SqlError::new(state::SYNTAX_ERROR, message).hint("Give a variable."))
            }
        })
        .collect()
}

impl Binder<'_> {
    /// Binds an expression of a body, and casts it to the wanted type.
    ///
    /// # Errors
    /// 42804 if the value cannot be assigned to its variable, or a condition is no Boolean. 42846 if the value has no
    /// cast to any other wanted type.
    fn body_value(&mut self, value: &Expression, wanted: Wanted<'_>) -> Result<PlannedValue, SqlError> {
        let place = match wanted {
            Wanted::Condition(place) => place,
            Wanted::Any | Wanted::Type(_) | Wanted::Variable(..) => "an assignment",
        };
        let typed = self.plain(&value.expr, &Scope::default(), place)?;
        let (expr, ty) = match wanted {
            Wanted::Any => {
                let ty = typed.ty.unwrap_or(Type::Text);
                (self.coerce(typed, ty, Strictness::Assignment)?, ty)
            }
            Wanted::Condition(place) => (self.condition(typed, place)?, Type::Bool),
            Wanted::Type(ty) => (self.coerce(typed, ty, Strictness::Assignment)?, ty),
            Wanted::Variable(name, ty, domain) => {
                let mut used = Strictness::Assignment;
                if let Some(from) = typed.ty {
                    check_assignable(name, from, ty)?;
                    used = strictness(from, ty);
                }
                let from = typed.domain;
                (checked(self.coerce(typed, ty, used)?, from, domain), ty)
            }
        };
        Ok(PlannedValue { expr, ty })
    }

    /// Plans an SQL statement of a body. For CALL, also returns the slots of the variables that receive the output
    /// arguments.
    fn body_plan(
        &mut self,
        statement: &Syntax<ast::Statement>,
    ) -> Result<(PlanWithColumns, Option<Outputs>), SqlError> {
        if let ast::Statement::Call(function) = &**statement {
            let (plan, columns, slots) = self.call_with_slots(function)?;
            return Ok(((plan, columns), Some(slots)));
        }
        Ok((self.plan(statement.clone())?, None))
    }
}

/// Binds the body of a procedure or function. `located` says that the client has just sent the body's text, so that
/// errors give positions in it.
pub(super) fn compile(
    procedure: &Arc<Procedure>,
    view: View<'_>,
    located: bool,
    enclosing: &Enclosing<'_>,
) -> Result<Body, SqlError> {
    let path = path_of_body(procedure, view);
    let view = View { styles: procedure.styles, path: path.as_ref(), ..view };
    let of = |argument: &Argument| view.declared(argument.ty, argument.domain).ty;
    let arguments = procedure.arguments.iter().map(|argument| (argument.name.as_deref(), of(argument)));
    let variables = Variables::new(procedure.plain_name(), arguments, false);
    let mut compiler = Compiler::new(procedure, variables, view, located, enclosing);
    compiler.restrict(0, procedure.arguments.iter().map(|argument| argument.domain))?;
    compiler.body()
}

/// Binds the body of a trigger's function for a table.
pub(super) fn compile_trigger(
    procedure: &Arc<Procedure>,
    table: &Table,
    owner: &Used,
    view: View<'_>,
    enclosing: &Enclosing<'_>,
) -> Result<Body, SqlError> {
    let path = path_of_body(procedure, view);
    let view = View { styles: procedure.styles, path: path.as_ref(), ..view };
    let variables = trigger_variables(procedure.plain_name(), table);
    let mut compiler = Compiler::new(procedure, variables, view, false, enclosing);
    compiler.body.used.add_all(owner);
    compiler.body.used.add_procedure(procedure);
    // The fields of NEW come first.
    compiler.restrict(compiler.variables.first_of("new"), (0..table.visible()).map(|at| table.domain(at)))?;
    compiler.body()
}

/// Returns the variables that a trigger's function has before its own declarations: `found`, NEW, OLD, and those of
/// [`triggers::VARIABLES`]. Their slots are the ones that [`triggers`] gives them.
pub(super) fn trigger_variables(function: &str, table: &Table) -> Variables {
    let mut variables = Variables::new(function, [], false);
    let fields = || {
        let columns = table.schema.columns[..table.visible()].iter();
        columns.map(|column| (column.name.clone(), column.ty)).collect()
    };
    variables.add_row("new", fields());
    variables.add_row("old", fields());
    triggers::VARIABLES.iter().for_each(|(name, ty)| variables.add(name, *ty));
    // The last one is `tg_argv`.
    variables.count_from_zero();
    variables
}

/// Binds the condition of a trigger over the variables of its function. Returns it with the definitions that it uses.
pub(super) fn trigger_condition(
    view: View<'_>,
    variables: &Variables,
    when: &Expression,
) -> Result<(Expr, Used), SqlError> {
    let mut binder = binder(&when.text, view, variables, None);
    let condition = with_room(|| binder.body_value(when, Wanted::Condition("WHEN")))?;
    Ok((condition.expr, binder.used()))
}

/// The state of binding a body.
pub(super) struct Compiler<'c> {
    pub(super) procedure: &'c Procedure,
    pub(super) variables: Variables,
    pub(super) view: View<'c>,
    located: bool,
    pub(super) enclosing: &'c Enclosing<'c>,
    /// The body as far as it is bound, with the definitions that it uses.
    pub(super) body: Body,
    /// The number of loops around the statement that is bound.
    pub(super) loops: usize,
    /// The result columns of the statement that was bound last. Empty if it has no result.
    pub(super) columns: Vec<OutputColumn>,
    /// The columns of the function's result, with their names and types. Empty if the body returns neither values nor
    /// rows.
    pub(super) results: Vec<(String, Declared)>,
    /// The labels that EXIT and CONTINUE have named in the blocks and loops that are being bound, each with the
    /// contents that the variables have at that statement.
    exits: Vec<(String, Shapes)>,
}

impl<'c> Compiler<'c> {
    fn new(
        procedure: &'c Procedure,
        variables: Variables,
        view: View<'c>,
        located: bool,
        enclosing: &'c Enclosing<'c>,
    ) -> Self {
        let body = Body { depth: 1, ..Body::default() };
        let (columns, results) = (Vec::new(), Vec::new());
        let exits = Vec::new();
        Self { procedure, variables, view, located, enclosing, body, loops: 0, columns, results, exits }
    }

    /// Makes the values of the slots from `first` on those of these domains.
    fn restrict(&mut self, first: usize, domains: impl IntoIterator<Item = Option<DomainId>>) -> Result<(), SqlError> {
        for (slot, domain) in (first..).zip(domains) {
            if let Some(domain) = bound_domain(domain, self.view, &mut self.body.used)? {
                self.variables.restrict(slot, domain);
            }
        }
        Ok(())
    }

    /// Binds the body.
    fn body(mut self) -> Result<Body, SqlError> {
        self.results = result_columns(self.procedure, self.view, &mut self.body.used)?;
        let block = with_room(|| self.whole(&self.procedure.syntax.block))?;
        Ok(Body { slots: self.variables.types().len(), block, ..self.body })
    }
}

impl Compiler<'_> {
    /// Adds the place in the body to the context of an error: the line, and the kind of the statement. The error keeps
    /// its position only if the client has just sent the body's text.
    pub(super) fn explain(&self, error: SqlError, line: usize, what: &str) -> SqlError {
        let position = error.position.filter(|_| self.located);
        let here = match self.procedure.language {
            Language::Sql => format!("SQL function \"{}\"", self.procedure.plain_name()),
            Language::PlPgSql => self.procedure.place(line, what),
        };
        SqlError { position, ..error.within(here) }
    }

    /// Adds to a body what one of its statements needs: the definitions that the statement's binder has looked up, and
    /// the depth and the reach of the bodies that the statement calls.
    pub(super) fn used(body: &mut Body, binder: Binder<'_>) {
        body.depth = body.depth.max(1 + binder.parameters.inner_depth);
        body.outward = body.outward.max(binder.parameters.outward);
        body.used.add_all(&binder.used());
    }

    pub(super) fn block(&mut self, written: &Block<Written>) -> Result<Block<Planned>, SqlError> {
        depth::check()?;
        let (start, exits) = (self.variables.enter(), self.exits.len());
        let mut declarations: Vec<Declaration<Planned>> = Vec::with_capacity(written.declarations.len());
        for Declaration { line, variable, value } in &written.declarations {
            let declared = self.declaration(variable, value.as_ref());
            let (variable, value) = declared
                .map_err(|error| self.explain(error, *line, "statement block local variable initialization"))?;
            declarations.push(Declaration { line: *line, variable, value });
        }
        let reshaped = self.variables.times_reshaped();
        let steps = self.steps(&written.steps)?;
        let (end, mut ends) = (self.variables.shapes(), Vec::with_capacity(written.handlers.len()));
        let mut handlers = Vec::with_capacity(written.handlers.len());
        for handler in &written.handlers {
            // An error may come between any two of the statements.
            self.variables.restore(&end);
            self.variables.blur(reshaped);
            let start = self.variables.enter();
            let (sqlstate, _) = self.declaration(&handler.sqlstate, None)?;
            let (sqlerrm, _) = self.declaration(&handler.sqlerrm, None)?;
            let steps = self.steps(&handler.steps)?;
            self.variables.leave(start);
            ends.push(self.variables.shapes());
            handlers.push(Handler { conditions: handler.conditions.clone(), sqlstate, sqlerrm, steps });
        }
        self.variables.restore(&end);
        ends.extend(self.exits_from(written.label.as_deref(), exits));
        ends.iter().for_each(|end| self.variables.merge(end));
        self.variables.leave(start);
        // By now the statements have shown which fields the records have.
        for (declaration, written) in declarations.iter_mut().zip(&written.declarations) {
            if written.variable.ty == VariableType::Record {
                declaration.variable.records = self.variables.record_slots(&written.variable);
            }
        }
        Ok(Block { label: written.label.clone(), declarations, steps, handlers })
    }

    fn declaration(
        &mut self,
        variable: &VariableSyntax,
        value: Option<&Expression>,
    ) -> Result<(Slots, Option<PlannedValue>), SqlError> {
        if let (VariableType::OfFirstValue, Some(value)) = (&variable.ty, value) {
            let value = self.value(value, Wanted::Any)?;
            return Ok((self.variables.declare(variable, Contents::Value(value.ty, None))?, Some(value)));
        }
        let contents = contents(self.view, variable, &mut self.body.used)?;
        let value = match value {
            Some(value) => {
                let (ty, domain) = contents.value_type()?;
                Some(self.value(value, Wanted::Variable(&variable.name, ty, domain))?)
            }
            // The domain may refuse NULL.
            None => match &contents {
                Contents::Value(ty, Some(domain)) if !domain.takes_all() => {
                    Some(PlannedValue { expr: checked(Expr::NULL, None, Some(domain)), ty: *ty })
                }
                _ => None,
            },
        };
        Ok((self.variables.declare(variable, contents)?, value))
    }

    fn steps(&mut self, list: &[StepSyntax<Written>]) -> Result<Vec<Step>, SqlError> {
        list.iter().map(|StepSyntax { line, kind }| Ok(Step { line: *line, kind: self.step(kind, *line)? })).collect()
    }

    fn step(&mut self, kind: &SyntaxKind<Written>, line: usize) -> Result<StepKind, SqlError> {
        let bound = match kind {
            // The statements within give their own lines.
            SyntaxKind::Block(block) => return self.block(block).map(StepKind::Block),
            SyntaxKind::If(arms, otherwise) => return self.branches(arms, otherwise, line),
            SyntaxKind::Loop(looped) => return self.looped(looped, line).map(StepKind::Loop),
            SyntaxKind::Run(statement) => self.statement(statement).map(StepKind::Run),
            SyntaxKind::Assign(target, value) => self.assignment(target, value),
            SyntaxKind::Leave(leave) => self.leave(leave).map(StepKind::Leave),
            SyntaxKind::Raise(raise) => self.raise(raise).map(StepKind::Raise),
            SyntaxKind::Assert(condition, message) => self.assertion(condition, message.as_ref()),
            SyntaxKind::Diagnose(facts) => self.facts(facts).map(StepKind::Diagnose),
            SyntaxKind::Return(value) => self.returned(value.first()).map(StepKind::Return),
            SyntaxKind::Next(value) => self.next_row(value.first()).map(StepKind::Next),
            SyntaxKind::Query(query) => self.returned_query(query).map(StepKind::Query),
            SyntaxKind::Null => Ok(StepKind::Null),
        };
        bound.map_err(|error| self.explain(error, line, kind.name()))
    }

    fn branches(
        &mut self,
        arms: &[(Expression, Vec<StepSyntax<Written>>)],
        otherwise: &[StepSyntax<Written>],
        line: usize,
    ) -> Result<StepKind, SqlError> {
        let (mut bound, mut ends) = (Vec::with_capacity(arms.len()), Vec::with_capacity(arms.len()));
        let start = self.variables.shapes();
        for (condition, steps) in arms {
            let condition = self.value(condition, Wanted::Condition("IF"));
            bound.push((condition.map_err(|error| self.explain(error, line, "IF"))?, self.steps(steps)?));
            ends.push(self.variables.shapes());
            self.variables.restore(&start);
        }
        let otherwise = self.steps(otherwise)?;
        ends.iter().for_each(|end| self.variables.merge(end));
        Ok(StepKind::If(bound, otherwise))
    }

    fn assignment(&mut self, target: &TargetSyntax, value: &Expression) -> Result<StepKind, SqlError> {
        let (ty, domain) = self.variables.type_of(target)?;
        let (name, domain) = (target.field.as_ref().unwrap_or(&target.name), domain.cloned());
        let place = self.variables.target(target, ty)?;
        Ok(StepKind::Assign(place, self.value(value, Wanted::Variable(name, ty, domain.as_ref()))?))
    }

    fn leave(&mut self, written: &Leave<Written>) -> Result<Leave<Planned>, SqlError> {
        let Leave { goes_on, label, condition } = written;
        self.body.used.calls.is_open |= !goes_on;
        let condition = self.optional(condition.as_ref(), Wanted::Condition("WHEN"))?;
        if let Some(label) = label {
            self.exits.push((label.clone(), self.variables.shapes()));
        }
        Ok(Leave { goes_on: *goes_on, label: label.clone(), condition })
    }

    /// Takes the statements that name `label` out of the list of labelled EXIT and CONTINUE, from position `since` on.
    /// Returns the contents that the variables have at each of them. `label` and `since` are those of a block or loop
    /// that ends here, so that a later one may have the label again.
    fn exits_from(&mut self, label: Option<&str>, since: usize) -> Vec<Shapes> {
        let Some(label) = label else { return Vec::new() };
        let (own, others): (Vec<_>, Vec<_>) = self.exits.drain(since..).partition(|(named, _)| named == label);
        self.exits.extend(others);
        own.into_iter().map(|(_, shapes)| shapes).collect()
    }

    fn assertion(&mut self, condition: &Expression, message: Option<&Expression>) -> Result<StepKind, SqlError> {
        let condition = self.value(condition, Wanted::Condition("ASSERT"))?;
        Ok(StepKind::Assert(condition, self.optional(message, Wanted::Any)?))
    }

    fn facts(&self, facts: &[(TargetSyntax, Fact)]) -> Result<Vec<(Target, Fact)>, SqlError> {
        facts.iter().map(|(target, fact)| Ok((self.variables.target(target, fact_type(*fact))?, *fact))).collect()
    }

    fn looped(&mut self, written: &Loop<Written>, line: usize) -> Result<Loop<Planned>, SqlError> {
        let (start, exits) = (self.variables.enter(), self.exits.len());
        let mut rounds = self.bound_rounds(written, line)?;
        let (reshaped, head) = (self.variables.times_reshaped(), self.variables.shapes());
        let mut steps = self.round(&written.steps)?;
        if self.variables.times_reshaped() > reshaped {
            // A later round begins with what an earlier one has left, but for the row of the round.
            self.variables.restore(&head);
            self.variables.blur(reshaped);
            if let Rounds::Rows(StatementSyntax { into, .. }) = &written.rounds {
                self.variables.restore_record(into, &head);
            }
            if let Rounds::While(_) = &written.rounds {
                rounds = self.bound_rounds(written, line)?;
            }
            steps = self.round(&written.steps)?;
            self.variables.blur(reshaped);
        } else {
            self.variables.merge(&head);
        }
        // The records that the loop changes are unclear after it, wherever it was left.
        self.exits_from(written.label.as_deref(), exits);
        self.variables.leave(start);
        Ok(Loop { label: written.label.clone(), rounds, steps })
    }

    /// Binds the head of a loop: the condition, range or query that determines its rounds. Errors get the loop's line.
    fn bound_rounds(&mut self, written: &Loop<Written>, line: usize) -> Result<Rounds<Planned>, SqlError> {
        self.rounds(&written.rounds).map_err(|error| self.explain(error, line, written.rounds.name()))
    }

    /// Binds the statements of a loop.
    fn round(&mut self, steps: &[StepSyntax<Written>]) -> Result<Vec<Step>, SqlError> {
        self.loops += 1;
        let steps = self.steps(steps);
        self.loops -= 1;
        steps
    }

    fn rounds(&mut self, written: &Rounds<Written>) -> Result<Rounds<Planned>, SqlError> {
        Ok(match written {
            Rounds::Endless => {
                self.body.used.calls.is_open = true;
                Rounds::Endless
            }
            Rounds::While(condition) => {
                self.body.used.calls.is_open = true;
                Rounds::While(self.value(condition, Wanted::Condition("WHILE"))?)
            }
            Rounds::Range { variable, from, to, by, reverse } => {
                let from = self.value(from, Wanted::Type(Type::Int4))?;
                let to = self.value(to, Wanted::Type(Type::Int4))?;
                let by = self.optional(by.as_ref(), Wanted::Type(Type::Int4))?;
                let (variable, _) = self.declaration(variable, None)?;
                Rounds::Range { variable, from, to, by, reverse: *reverse }
            }
            Rounds::Rows(query) => Rounds::Rows(self.statement(query)?),
        })
    }

    fn raise(&mut self, written: &Raise<Written>) -> Result<Raise<Planned>, SqlError> {
        let message = match &written.message {
            None => None,
            Some((parts, values)) => {
                let values = values.iter().map(|value| self.value(value, Wanted::Any));
                Some((parts.clone(), values.collect::<Result<_, _>>()?))
            }
        };
        let options = written.options.iter().map(|(option, value)| Ok((*option, self.value(value, Wanted::Any)?)));
        let options = options.collect::<Result<_, SqlError>>()?;
        let (notice, condition, again) = (written.notice, written.condition.clone(), written.again);
        Ok(Raise { notice, condition, message, options, again })
    }

    fn optional(&mut self, value: Option<&Expression>, wanted: Wanted<'_>) -> Result<Option<PlannedValue>, SqlError> {
        value.map(|value| self.value(value, wanted)).transpose()
    }

    pub(super) fn value(&mut self, value: &Expression, wanted: Wanted<'_>) -> Result<PlannedValue, SqlError> {
        let mut binder = binder(&value.text, self.view, &self.variables, Some(self.enclosing));
        let bound = binder.body_value(value, wanted)?;
        Self::used(&mut self.body, binder);
        Ok(bound)
    }

    pub(super) fn statement(&mut self, written: &StatementSyntax) -> Result<PlannedStatement, SqlError> {
        let (statement, text) = match &written.what {
            Executed::Sql { statement, text, .. } => (statement, text),
            Executed::Other(text) => return self.other(&text.text),
            Executed::Dynamic { text, using } => return self.computed(text, using, written),
        };
        let mut binder = binder(text, self.view, &self.variables, Some(self.enclosing));
        let ((plan, columns), outputs) = binder.body_plan(statement)?;
        let columns = columns.unwrap_or_default();
        Self::used(&mut self.body, binder);
        self.body.used.calls.writes |= !only_reads_itself(&plan);
        let into = match outputs {
            Some(slots) => call_targets(&self.variables, &slots, &columns, &written.into)?,
            None if written.into.is_empty() => Vec::new(),
            None => self.variables.targets(&written.into, &columns)?,
        };
        self.columns = columns;
        Ok(PlannedStatement { what: plan::Executed::Plan(plan), into, strict: written.strict })
    }

    /// Binds EXECUTE. The statement is unknown until the body runs, so the body counts as one that may change rows and
    /// has side effects.
    fn computed(
        &mut self,
        text: &Expression,
        using: &[Expression],
        written: &StatementSyntax,
    ) -> Result<PlannedStatement, SqlError> {
        let text = self.value(text, Wanted::Any)?;
        let using = using.iter().map(|value| self.value(value, Wanted::Any)).collect::<Result<_, _>>()?;
        let calls = &mut self.body.used.calls;
        (calls.writes, calls.is_open) = (true, true);
        self.body.used.acts = true;
        self.columns.clear();
        let into = self.variables.targets_of_any(&written.into)?;
        let what = plan::Executed::Computed(Box::new(ComputedStatement { text, using }));
        Ok(PlannedStatement { what, into, strict: written.strict })
    }

    /// Plans NOTIFY, LISTEN or UNLISTEN. Any other utility statement is refused with 0A000.
    fn other(&mut self, text: &str) -> Result<PlannedStatement, SqlError> {
        let mut tokens = Vec::new();
        tokenize(text, &mut tokens)?;
        let utility = match parse::parse(text, &tokens)? {
            Parsed::Utility(utility @ (Utility::Notify { .. } | Utility::Channels(_))) => utility,
            _ => return Err(unsupported("this statement in a procedure")),
        };
        self.columns.clear();
        let what = plan::Executed::Plan(Plan::Utility(Box::new(utility)));
        Ok(PlannedStatement { what, into: Vec::new(), strict: false })
    }
}

/// Returns the type of an item of GET DIAGNOSTICS.
fn fact_type(fact: Fact) -> Type {
    match fact {
        Fact::RowCount => Type::Int8,
        Fact::Error(_) => Type::Text,
    }
}
