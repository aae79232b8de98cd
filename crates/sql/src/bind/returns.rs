//! The results of bodies: RETURN, RETURN NEXT and RETURN QUERY in PL/pgSQL, the last statement of a function in SQL.

use super::binder::Binder;
use super::body::{Compiler, Wanted, binder, bound_domain};
use super::rows::parts_of_row;
use super::scope::Scope;
use super::typed::Typed;
use crate::catalog::Declared;
use crate::catalog::procedure::{Procedure, Returns};
use crate::error::unsupported;
use crate::expr::{Comparison, Expr, Strictness, can_cast};
use crate::parse::body::{Block, Expression, StatementSyntax, StepKind as SyntaxKind, Written};
use crate::parse::names::fold;
use crate::parse::procedure::Language;
use crate::parse::trigger::TriggerEvent;
use crate::plan::{Executed, Plan, Planned, PlannedStatement, PlannedValue, Step, StepKind, Target};
use crate::types::{type_name, without_modifier};
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::{Type, Value};
use sqlparser::ast;

/// The detail of the error for an SQL function whose last statement returns no rows.
const NO_RESULT: &str = "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.";

/// Checks the RETURN statements of a body without binding them, so that CREATE reports mistakes even if the body is
/// bound later.
pub fn check_returns(procedure: &Procedure) -> Result<(), SqlError> {
    let mut checked = Ok(());
    procedure.syntax.block.each_block(&mut |block| {
        block.each_step(&mut |step| {
            let check = match &step.kind {
                SyntaxKind::Return(value) => check_return(procedure, !value.is_empty()),
                SyntaxKind::Next(value) => check_next(procedure, !value.is_empty()),
                SyntaxKind::Query(_) => check_set(procedure, "QUERY"),
                _ => Ok(()),
            };
            if checked.is_ok() {
                checked = check;
            }
        });
    });
    checked
}

fn refused(message: String) -> SqlError {
    SqlError::new(state::DATATYPE_MISMATCH, message)
}

fn no_value() -> SqlError {
    SqlError::new(state::SYNTAX_ERROR, "missing expression at or near \";\"")
}

/// Checks that a RETURN has a value if there is something to return, and none otherwise.
fn check_return(procedure: &Procedure, has_value: bool) -> Result<(), SqlError> {
    let has_output = procedure.outputs().next().is_some();
    let refused = |what: &str| Err(refused(format!("RETURN cannot have a parameter in {what}")));
    match &procedure.function {
        None if has_value => refused("a procedure"),
        Some(function) if has_value && function.returns == Returns::Nothing => refused("function returning void"),
        Some(function) if has_value && function.is_set && procedure.language == Language::PlPgSql => {
            refused("function returning set").map_err(|error| error.hint("Use RETURN NEXT or RETURN QUERY."))
        }
        Some(_) if has_value && has_output && procedure.language == Language::PlPgSql => {
            refused("function with OUT parameters")
        }
        Some(function) if !has_value && !has_output && !function.is_set && function.returns != Returns::Nothing => {
            Err(no_value())
        }
        _ => Ok(()),
    }
}

/// Checks that a RETURN NEXT stands in a function whose result is rows, and that it has a value, or none if the
/// function has output arguments, which are then the row.
fn check_next(procedure: &Procedure, has_value: bool) -> Result<(), SqlError> {
    check_set(procedure, "NEXT")?;
    match (has_value, procedure.outputs().next().is_some()) {
        (true, true) => Err(refused("RETURN NEXT cannot have a parameter in function with OUT parameters".to_owned())),
        (false, false) => Err(no_value()),
        _ => Ok(()),
    }
}

fn check_set(procedure: &Procedure, word: &str) -> Result<(), SqlError> {
    match procedure.function.as_ref().is_some_and(|function| function.is_set) {
        true => Ok(()),
        false => Err(refused(format!("cannot use RETURN {word} in a non-SETOF function"))),
    }
}

/// Returns the error 42P13 for an SQL function whose last statement does not give the declared result.
fn mismatch(procedure: &Procedure, detail: &str) -> SqlError {
    let declared = match procedure.function.as_ref().map(|function| &function.returns) {
        Some(Returns::Value(ty)) => type_name(Some(*ty)),
        Some(Returns::RowOf(name)) => crate::schema::plain(name).to_owned(),
        _ => "record".to_owned(),
    };
    let message = format!("return type mismatch in function declared to return {declared}");
    SqlError::new(state::INVALID_FUNCTION_DEFINITION, message).detail(detail)
}

/// Returns the error 42804 for a query whose columns are not those of the result.
fn unlike(detail: String) -> SqlError {
    refused("structure of query does not match function result type".to_owned()).detail(detail)
}

/// Checks that a query has the columns of the result: as many, and of the same types. Lengths and precisions may
/// differ.
///
/// # Errors
/// 42804 if it has other columns.
pub(crate) fn check_structure(columns: &[OutputColumn], wanted: impl Iterator<Item = Type>) -> Result<(), SqlError> {
    let wanted: Vec<_> = wanted.collect();
    if columns.len() != wanted.len() {
        return Err(unlike(wrong_count(columns.len(), wanted.len())));
    }
    for (at, (column, to)) in columns.iter().zip(wanted).enumerate() {
        if without_modifier(column.ty) != without_modifier(to) {
            let (from, to) = (type_name(Some(column.ty)), type_name(Some(to)));
            let detail = format!("Returned type {from} does not match expected type {to} in column {}.", at + 1);
            return Err(unlike(detail));
        }
    }
    Ok(())
}

/// Returns the detail of the error for a row with another number of fields than the result has columns.
fn wrong_count(given: usize, wanted: usize) -> String {
    format!("Number of returned columns ({given}) does not match expected column count ({wanted}).")
}

impl Compiler<'_> {
    /// Binds the outermost block. In a function in SQL, the last statement is made to give the result.
    pub(super) fn whole(&mut self, written: &Block<Written>) -> Result<Block<Planned>, SqlError> {
        let mut block = self.block(written)?;
        if self.procedure.language != Language::Sql {
            return Ok(block);
        }
        block.steps.iter_mut().zip(1..).for_each(|(step, number)| step.line = number);
        if self.results.is_empty() {
            return Ok(block);
        }
        let is_set = self.procedure.function.as_ref().is_some_and(|function| function.is_set);
        let has_outputs = self.procedure.outputs().next().is_some();
        match block.steps.pop() {
            Some(Step { line, kind: StepKind::Run(statement) })
                if !has_outputs || (statement.into.is_empty() && !self.columns.is_empty()) =>
            {
                let result = self.result(statement, is_set).map_err(|error| self.explain(error, line, ""))?;
                block.steps.extend(result.into_iter().map(|kind| Step { line, kind }));
            }
            Some(Step { line, kind: StepKind::Return(values) }) if is_set => {
                block.steps.push(Step { line, kind: StepKind::Next(values) });
            }
            Some(step @ Step { kind: StepKind::Return(_), .. }) => block.steps.push(step),
            Some(step) if has_outputs && !is_set => block.steps.push(step),
            None if has_outputs && !is_set => {}
            _ => return Err(self.explain(mismatch(self.procedure, NO_RESULT), 1, "")),
        }
        Ok(block)
    }

    /// Makes the last statement of an SQL function give the result. If the result is not rows, the statement assigns
    /// its first row to new slots of the frame, which a RETURN then returns.
    fn result(&mut self, statement: PlannedStatement, is_set: bool) -> Result<Vec<StepKind>, SqlError> {
        if matches!(statement.what, Executed::Plan(Plan::Call(_))) || self.columns.is_empty() {
            return Err(mismatch(self.procedure, NO_RESULT));
        }
        let into = self.targets_of_result()?;
        let values = |target: &Target| PlannedValue { expr: Expr::Param(target.slot), ty: target.to };
        let values = into.iter().map(values).collect();
        let statement = PlannedStatement { into, ..statement };
        Ok(if is_set {
            vec![StepKind::Query(statement)]
        } else {
            vec![StepKind::Run(statement), StepKind::Return(values)]
        })
    }

    /// Returns the assignments of the last statement's columns to new slots, which have the types of the result.
    fn targets_of_result(&mut self) -> Result<Vec<Target>, SqlError> {
        let (columns, wanted) = (self.columns.len(), self.results.len());
        if columns != wanted {
            let detail = match wanted {
                1 => "Final statement must return exactly one column.".to_owned(),
                _ if columns < wanted => "Final statement returns too few columns.".to_owned(),
                _ => "Final statement returns too many columns.".to_owned(),
            };
            return Err(mismatch(self.procedure, &detail));
        }
        let pairs: Vec<_> = self.columns.clone().into_iter().zip(self.results.clone()).collect();
        let mut into = Vec::with_capacity(wanted);
        for (at, (column, (_, result))) in pairs.into_iter().enumerate() {
            let (from, to) = (column.ty, result.ty);
            if !can_cast(from, to, Strictness::Assignment) {
                let from = type_name(Some(from));
                let detail = match wanted {
                    1 => format!("Actual return type is {from}."),
                    _ => {
                        let to = type_name(Some(to));
                        format!("Final statement returns {from} instead of {to} at column {}.", at + 1)
                    }
                };
                return Err(mismatch(self.procedure, &detail));
            }
            into.push(self.target_of_result(&column, result)?);
        }
        Ok(into)
    }

    /// Returns the assignment of a column to a new slot for a column of the result.
    fn target_of_result(&mut self, column: &OutputColumn, to: Declared) -> Result<Target, SqlError> {
        let domain = bound_domain(to.domain, self.view, &mut self.body.used)?;
        let domain = domain.filter(|domain| column.domain != Some(domain.id));
        Ok(Target { slot: self.variables.unnamed(to.ty), from: column.ty, to: to.ty, not_null: None, domain })
    }

    /// Binds RETURN QUERY, whose query must have the columns of the result.
    pub(super) fn returned_query(&mut self, query: &StatementSyntax) -> Result<PlannedStatement, SqlError> {
        check_set(self.procedure, "QUERY")?;
        let statement = self.statement(query)?;
        // The columns of EXECUTE are checked when it has run.
        if let Executed::Plan(_) = statement.what {
            check_structure(&self.columns, self.results.iter().map(|(_, result)| result.ty))?;
        }
        let mut into = Vec::with_capacity(self.results.len());
        for (at, (name, to)) in self.results.clone().into_iter().enumerate() {
            let column = self.columns.get(at).cloned();
            let column = column.unwrap_or_else(|| OutputColumn::new(name, to.ty));
            into.push(self.target_of_result(&column, to)?);
        }
        Ok(PlannedStatement { into, ..statement })
    }

    /// Binds RETURN NEXT. Returns a value for each column of the result; without an expression, these are the output
    /// arguments.
    pub(super) fn next_row(&mut self, value: Option<&Expression>) -> Result<Vec<PlannedValue>, SqlError> {
        check_next(self.procedure, value.is_some())?;
        match value {
            Some(value) => self.row_of(value, "RETURN NEXT"),
            None => Ok(self.procedure.outputs().map(|(slot, output)| of_slot(slot, output.ty)).collect()),
        }
    }

    /// Binds RETURN. Returns a value for each column of the result. Returns none if the result is void, or consists of
    /// the output arguments or of rows that are collected before. In a trigger's function, the only value is that of
    /// [`returned_row`](Self::returned_row).
    pub(super) fn returned(&mut self, value: Option<&Expression>) -> Result<Vec<PlannedValue>, SqlError> {
        self.body.used.calls.is_open |= self.loops > 0;
        check_return(self.procedure, value.is_some())?;
        let Some((value, function)) = value.zip(self.procedure.function.as_ref()) else { return Ok(Vec::new()) };
        match function.returns {
            Returns::Trigger => Ok(vec![self.returned_row(value)?]),
            Returns::Nothing => Ok(Vec::new()),
            Returns::Value(_) | Returns::Outputs | Returns::RowOf(_) => self.row_of(value, "RETURN"),
        }
    }

    /// Binds an expression as a row of the result, with a value for each column. `statement` is the name of the
    /// statement, for messages.
    fn row_of(&mut self, value: &Expression, statement: &str) -> Result<Vec<PlannedValue>, SqlError> {
        if let (Some(Returns::Value(_)), &[(_, to)]) =
            (self.procedure.function.as_ref().map(|function| &function.returns), &self.results[..])
        {
            let domain = bound_domain(to.domain, self.view, &mut self.body.used)?;
            return Ok(vec![self.value(value, Wanted::Variable(statement, to.ty, domain.as_ref()))?]);
        }
        if is_null(&value.expr) {
            let nulls = self.results.iter().map(|(_, to)| PlannedValue { expr: Expr::NULL, ty: to.ty });
            return Ok(nulls.collect());
        }
        let mut binder = binder(&value.text, self.view, &self.variables, Some(self.enclosing));
        let given = fields(&mut binder, &value.expr, &self.results)?;
        Self::used(&mut self.body, binder);
        given.ok_or_else(|| unsupported(&format!("this row in {statement}")))
    }

    /// Binds the value of RETURN in a trigger's function. The bound value is the slot of the first field of the row
    /// variable, or NULL for no row.
    fn returned_row(&mut self, value: &Expression) -> Result<PlannedValue, SqlError> {
        let binder = binder(&value.text, self.view, &self.variables, None);
        let expr = self.place_of_row(&value.expr, &binder)?;
        Ok(PlannedValue { expr, ty: Type::Int4 })
    }

    fn place_of_row(&self, value: &ast::Expr, binder: &Binder<'_>) -> Result<Expr, SqlError> {
        if is_null(value) {
            return Ok(Expr::NULL);
        }
        if let Some(rows) = coalesced(value) {
            let (last, others) = rows.split_last().ok_or_else(|| unsupported("this RETURN in a trigger"))?;
            let mut arms = Vec::with_capacity(others.len());
            for row in others {
                arms.push((self.has_row(row), self.place_of_row(row, binder)?));
            }
            return Ok(Expr::Case(arms, Box::new(self.place_of_row(last, binder)?)));
        }
        let fields = binder.row_variable(value)?;
        let fields = fields.ok_or_else(|| unsupported("RETURN of what is no row variable in a trigger"))?;
        let own = self.variables.fields("new")?.unwrap_or_default();
        let types = |fields: &[(String, Typed)]| fields.iter().map(|(_, field)| field.ty).collect::<Vec<_>>();
        match fields.first() {
            Some((_, Typed { expr: Expr::Param(first), .. })) if types(&fields) == types(&own) => {
                Ok(Expr::Const(Value::Int4(*first as i32)))
            }
            _ => {
                let message = "returned row structure does not match the structure of the triggering table";
                Err(SqlError::new(state::DATATYPE_MISMATCH, message))
            }
        }
    }

    /// Returns the condition under which a row variable of a trigger has a row. NEW has none at a DELETE, and OLD none
    /// at an INSERT.
    fn has_row(&self, row: &ast::Expr) -> Expr {
        let ast::Expr::Identifier(name) = row else { return Expr::bool(true) };
        let without = match fold(name).as_str() {
            "new" => TriggerEvent::Delete,
            "old" => TriggerEvent::Insert,
            _ => return Expr::bool(true),
        };
        let Ok(Some(Typed { expr: event, .. })) = self.variables.find(None, "tg_op") else { return Expr::bool(true) };
        let without = Expr::Const(Value::text(without.name()).into_owned());
        Expr::Compare(Comparison::NotEqual, Box::new((event, without)), false)
    }
}

/// Binds a row that is written as `ROW(…)`, `(…)` or the name of a variable with a row, and casts its fields to the
/// types of the result. Returns `None` for any other expression.
///
/// # Errors
/// 42804 if the row has another number of fields.
fn fields(
    binder: &mut Binder<'_>,
    row: &ast::Expr,
    wanted: &[(String, Declared)],
) -> Result<Option<Vec<PlannedValue>>, SqlError> {
    let given = match row {
        row if let Some(parts) = parts_of_row(row) => bound(binder, parts.iter())?,
        // A cast to the type of the result says nothing new.
        ast::Expr::Cast { expr, .. } | ast::Expr::Nested(expr) => return fields(binder, expr, wanted),
        row => match binder.row_variable(row)? {
            Some(fields) => fields.into_iter().map(|(_, field)| field).collect(),
            None => return Ok(None),
        },
    };
    if given.len() != wanted.len() {
        let error = refused("wrong record type supplied in RETURN NEXT".to_owned());
        return Err(error.detail(wrong_count(given.len(), wanted.len())));
    }
    let coerced = given.into_iter().zip(wanted).map(|(field, (_, to))| {
        Ok(PlannedValue { expr: binder.coerce_to(field, *to, Strictness::Assignment)?, ty: to.ty })
    });
    coerced.collect::<Result<_, SqlError>>().map(Some)
}

fn bound<'e>(binder: &mut Binder<'_>, list: impl Iterator<Item = &'e ast::Expr>) -> Result<Vec<Typed>, SqlError> {
    list.map(|expr| binder.plain(expr, &Scope::default(), "a row")).collect()
}

fn of_slot(slot: usize, ty: Type) -> PlannedValue {
    PlannedValue { expr: Expr::Param(slot), ty }
}

fn is_null(value: &ast::Expr) -> bool {
    matches!(value, ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::Null, .. }))
}

fn plain(argument: &ast::FunctionArg) -> Option<&ast::Expr> {
    match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

/// Returns the arguments of a call of `coalesce`, or `None` for any other expression.
fn coalesced(expr: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    let ast::Expr::Function(function) = expr else { return None };
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let is_it = function.name.to_string().eq_ignore_ascii_case("coalesce");
    list.args.iter().map(plain).collect::<Option<_>>().filter(|_| is_it)
}
