//! Functions of users: their definitions, and the calls of them in expressions.

use super::binder::Binder;
use super::procedure::with_types;
use super::query::From;
use super::row_types::{relation_of, result_columns};
use super::scope::{Relation, Scope};
use super::typed::Typed;
use crate::catalog::View;
use crate::catalog::procedure::{Argument, FunctionTraits, Procedure, Returns};
use crate::error::unsupported;
use crate::expr::{Expr, Invocation};
use crate::opaque::Opaque;
use crate::parse::names::{fold, name_parts};
use crate::parse::procedure::{FunctionSyntax, ReturnsSyntax};
use crate::plan::table_function::{RowSource, RowsOf, UserRows};
use crate::plan::{Callee, Node};
use crate::types::type_name;
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use sqlparser::ast::{self, FunctionArg};
use sqlparser::tokenizer::Span;

/// Returns the properties of a new function with these arguments.
pub fn define_function(
    written: &FunctionSyntax,
    arguments: &[Argument],
    view: View<'_>,
) -> Result<FunctionTraits, SqlError> {
    let wrong = |message: String| SqlError::new(state::INVALID_FUNCTION_DEFINITION, message);
    let outputs: Vec<_> = arguments.iter().filter(|argument| argument.mode.comes_out()).collect();
    let wanted = match &outputs[..] {
        [] => None,
        [output] => Some(Returns::Value(output.ty)),
        _ => Some(Returns::Outputs),
    };
    let said = match &written.returns {
        None => None,
        Some(ReturnsSyntax::Nothing) => Some(Returns::Nothing),
        Some(ReturnsSyntax::Trigger) if outputs.is_empty() && !arguments.is_empty() => {
            let hint = "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.";
            return Err(wrong("trigger functions cannot have declared arguments".to_owned()).hint(hint));
        }
        Some(ReturnsSyntax::Trigger) if written.is_set => {
            let message = "trigger functions cannot return rows";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        Some(ReturnsSyntax::Trigger) => Some(Returns::Trigger),
        Some(ReturnsSyntax::Record) if outputs.is_empty() => {
            return Err(unsupported("a function that returns rows whose columns only its calls tell")
                .hint("Use RETURNS TABLE, or OUT arguments."));
        }
        Some(ReturnsSyntax::Record) => Some(Returns::Outputs),
        Some(ReturnsSyntax::Value(ty)) => Some(value_or_row(ty, view)?),
    };
    let returns = match (said, wanted) {
        (None, None) => return Err(wrong("function result type must be specified".to_owned())),
        (Some(said), Some(wanted)) if said != wanted => {
            let wanted = match wanted {
                Returns::Value(ty) => type_name(Some(ty)),
                _ => "record".to_owned(),
            };
            return Err(wrong(format!("function result type must be {wanted} because of OUT parameters")));
        }
        (Some(returns), _) | (None, Some(returns)) => returns,
    };
    Ok(FunctionTraits { returns, is_set: written.is_set, volatility: written.volatility, strict: written.strict })
}

/// Returns the result of this type: a value, or a row if it is the type of a relation's rows.
fn value_or_row(ty: &ast::DataType, view: View<'_>) -> Result<Returns, SqlError> {
    match relation_of(ty, view)? {
        Some(name) => Ok(Returns::RowOf(name.as_str().into())),
        None => super::procedure::argument_type(ty, view).map(Returns::Value),
    }
}

impl Binder<'_> {
    /// Binds a call of a user's function. Returns `None` if no user has a function of this name.
    pub(super) fn user_function(
        &mut self,
        parts: &[String],
        list: &[FunctionArg],
        scope: &Scope,
        span: Span,
    ) -> Result<Option<Typed>, SqlError> {
        let Some(procedure) = self.function_named(parts) else { return Ok(None) };
        let name = &procedure.name;
        let located = |binder: &Self, error: SqlError| binder.locate(error, span);
        let wrong_kind = |message: String| SqlError::new(state::WRONG_OBJECT_TYPE, message);
        let given = self.given(list, |binder, expr| binder.expr(expr, scope))?;
        let types: Vec<_> = given.iter().map(|(_, typed)| typed.ty).collect();
        let Some(function) = &procedure.function else {
            let error = wrong_kind(format!("{} is a procedure", with_types(name, &types)));
            return Err(located(self, error.hint("To call a procedure, use CALL.")));
        };
        let ty = match function.returns {
            Returns::Value(ty) => ty,
            // An empty text stands for the value of `void`.
            Returns::Nothing => Type::Text,
            Returns::Trigger => {
                let message = "trigger functions can only be called as triggers";
                return Err(located(self, SqlError::new(state::FEATURE_NOT_SUPPORTED, message)));
            }
            Returns::Outputs | Returns::RowOf(_) => {
                let hint = "Call the function in FROM.";
                return Err(located(self, unsupported("a row as a value").hint(hint)));
            }
        };
        if let Some(place) = self.without_subqueries.filter(|place| *place != "CALL argument") {
            return Err(located(self, unsupported(&format!("a user's function in {place}"))));
        }
        let (callee, arguments) = self.called_function(&procedure, given, span)?;
        if function.is_set {
            let rows = UserRows { name: procedure.name.as_str().into(), callee: Opaque::new(callee), width: 1 };
            let function = RowSource::User(rows);
            let mut columns = self.set_columns(RowsOf { function, arguments, numbered: false }, vec![ty], span)?;
            return Ok(columns.pop());
        }
        let invocation = Invocation {
            name: procedure.name.as_str().into(),
            callee: Opaque::new(callee),
            arguments,
            is_strict: function.strict,
        };
        Ok(Some(Typed::new(Expr::Invoke(Box::new(invocation)), ty)))
    }

    /// Returns the procedure or function of users that a name means, with or without its schema.
    fn function_named(&self, parts: &[String]) -> Option<Arc<Procedure>> {
        match parts {
            [name] => self.view.procedure(name),
            [schema, name] if schema == "public" => self.view.procedure(name),
            _ => None,
        }
    }

    /// Finds the body of a function that is called, and the values of the arguments that go in.
    fn called_function(
        &mut self,
        procedure: &Arc<Procedure>,
        given: Vec<(Option<String>, Typed)>,
        span: Span,
    ) -> Result<(Callee, Vec<Expr>), SqlError> {
        let (callee, values) = self.called(procedure, given, span)?;
        let given = procedure.arguments.iter().zip(values).filter(|(argument, _)| procedure.is_given(argument));
        self.depends.used.acts = true;
        Ok((callee, given.map(|(_, value)| value.map_or(Expr::NULL, |(_, value)| value)).collect()))
    }

    /// Returns the user's function of this name whose result stands in FROM as rows, if there is one: it returns rows,
    /// a row, or a value whose column has a name of its own.
    pub(super) fn row_function(&self, name: &ast::ObjectName) -> Option<Arc<Procedure>> {
        let procedure = self.function_named(&name_parts(name).ok()?)?;
        let has_name = || procedure.outputs().any(|(_, output)| output.name.is_some());
        (procedure.returns_rows() || (procedure.function.is_some() && has_name())).then_some(procedure)
    }

    /// Binds a call in FROM of a user's function. Its arguments may refer to the items in `visible`.
    pub(super) fn user_rows(
        &mut self,
        procedure: &Arc<Procedure>,
        arguments: &[FunctionArg],
        (numbered, alias): (bool, Option<&ast::TableAlias>),
        visible: Scope,
        span: Span,
    ) -> Result<From, SqlError> {
        let given = |binder: &mut Self| binder.given(arguments, |binder, expr| binder.expr(expr, &Scope::default()));
        let bound = self.without_aggregates("functions in FROM", |binder| binder.looking_at(visible, given));
        let (given, shown) = bound?;
        let (callee, arguments) = self.called_function(procedure, given, span)?;
        let mut results = result_columns(procedure, self.view, &mut self.depends.used)?;
        if results.is_empty() {
            results.push((procedure.name.clone(), Type::Text));
        }
        let is_plain =
            procedure.function.as_ref().is_some_and(|function| matches!(function.returns, Returns::Value(_)))
                && procedure.outputs().next().is_none();
        if let ([(name, _)], Some(alias), true) = (&mut results[..], alias, is_plain) {
            // The alias of the rows is also the name of their one column.
            *name = fold(&alias.name);
        }
        let function = RowSource::User(UserRows {
            name: procedure.name.as_str().into(),
            callee: Opaque::new(callee),
            width: results.len(),
        });
        let mut columns: Vec<_> = results.into_iter().map(|(name, ty)| OutputColumn::new(name, ty)).collect();
        if numbered {
            columns.push(OutputColumn::new("ordinality", Type::Int8));
        }
        let node = Node::Function(Box::new(RowsOf { function, arguments, numbered }));
        let mut item = self.rows_item(node, shown, columns, Some(procedure.name.clone()), alias)?;
        item.scope.relations_mut().iter_mut().for_each(Relation::mean_value);
        Ok(item)
    }
}
