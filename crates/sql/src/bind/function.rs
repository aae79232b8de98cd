//! Functions of users: their definitions, and the calls of them in expressions.

use super::binder::{Binder, span_of};
use super::overload::{Chosen, UserChoice, with_types};
use super::query::From;
use super::row_types::{relation_of, result_columns};
use super::scope::{Relation, Scope};
use super::typed::Typed;
use crate::catalog::procedure::{Argument, FunctionTraits, Procedure, Returns};
use crate::catalog::{Declared, View};
use crate::error::unsupported;
use crate::expr::{Expr, Invocation, lost};
use crate::opaque::Opaque;
use crate::parse::names::{fold, name_parts, relation_name};
use crate::parse::procedure::{FunctionSyntax, ReturnsSyntax};
use crate::plan::table_function::{RowSource, RowsOf, UserRows};
use crate::plan::{Callee, Node};
use crate::types::type_name;
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use sqlparser::ast::{self, FunctionArg};
use sqlparser::tokenizer::Span;

/// Returns the properties of a new function, whose arguments are bound already.
///
/// # Errors
/// 42P13 if the result is missing or differs from the output arguments, or if a trigger's function has arguments. 0A000
/// for kinds of results that are not supported.
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
    let mut domain = if let [output] = &outputs[..] { output.domain } else { None };
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
        Some(ReturnsSyntax::Value(ty)) => Some(match relation_of(ty, view)? {
            Some(name) => Returns::RowOf(name.as_str().into()),
            None => {
                let declared = super::procedure::argument_type(ty, view)?;
                domain = declared.domain;
                Returns::Value(declared.ty)
            }
        }),
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
    let (is_set, volatility, strict) = (written.is_set, written.volatility, written.strict);
    Ok(FunctionTraits { returns, is_set, volatility, strict, domain })
}

impl Binder<'_> {
    /// Binds a call of a function whose name users' procedures and functions have. `users` are those that the name may
    /// mean; the built-in functions of the name compete with them.
    ///
    /// Some built-in functions have no lists of types and do not take part in the choice. So if no candidate fits a
    /// name without a schema, the result is `Ok` of the error 42883: the caller tries these functions, and reports the
    /// error if the name means none of them.
    pub(super) fn user_function(
        &mut self,
        users: Vec<Arc<Procedure>>,
        parts: &[String],
        list: &[FunctionArg],
        scope: &Scope,
        span: Span,
    ) -> Result<Result<Typed, SqlError>, SqlError> {
        let located = |binder: &Self, error: SqlError| binder.locate(error, span);
        let given = self.given(list, |binder, expr| binder.expr(expr, scope))?;
        let chosen = match self.chosen("function", users, parts, &given) {
            Ok(Chosen::User(chosen)) => chosen,
            Ok(Chosen::BuiltIn(overload, wanted)) => {
                let arguments = given.into_iter().map(|(_, typed)| typed).collect();
                return self.built_in(&overload, &wanted, arguments).map(Ok).map_err(|error| located(self, error));
            }
            // Some built-in functions have no lists of types.
            Err(error) if parts.len() == 1 && error.state == state::UNDEFINED_FUNCTION => {
                return Ok(Err(located(self, error)));
            }
            Err(error) => return Err(located(self, error)),
        };
        let procedure = chosen.procedure.clone();
        let Some(function) = &procedure.function else { return Err(located(self, is_procedure(parts, &given))) };
        self.called.push((span.start, procedure.clone()));
        let ty = match function.returns {
            Returns::Value(ty) => ty,
            // An empty text stands for the value of `void`.
            Returns::Nothing => Type::Text,
            Returns::Trigger => return Err(located(self, only_as_trigger())),
            Returns::Outputs | Returns::RowOf(_) => {
                let hint = "Call the function in FROM.";
                return Err(located(self, unsupported("a row as a value").hint(hint)));
            }
        };
        let may_call = |place: &str| ["CALL argument", "DEFAULT expression"].contains(&place);
        if let Some(place) = self.without_subqueries.filter(|place| !may_call(place)) {
            return Err(located(self, unsupported(&format!("a user's function in {place}"))));
        }
        let (callee, arguments) = self.called_function(&chosen, given)?;
        if function.is_set {
            let rows = UserRows { name: procedure.plain_name().into(), callee: Opaque::new(callee), width: 1 };
            let source = RowSource::User(rows);
            let rows = RowsOf { function: source, arguments, numbered: false };
            let mut columns = self.set_columns(rows, vec![ty], span)?;
            let column = columns.pop().ok_or_else(|| lost("a column"))?;
            return Ok(Ok(column.of_domain(function.domain)));
        }
        let invocation = Invocation {
            name: procedure.plain_name().into(),
            key: procedure.key.as_str().into(),
            callee: Opaque::new(callee),
            arguments,
            is_strict: function.strict,
        };
        Ok(Ok(Typed::new(Expr::Invoke(Box::new(invocation)), ty).of_domain(function.domain)))
    }

    /// Returns the users' procedures and functions that a name may mean. In a view or a default, these are the ones
    /// that its definition has fixed. Otherwise the name becomes one of those on which the plan depends.
    pub(super) fn users_named(&mut self, parts: &[String]) -> Result<Vec<Arc<Procedure>>, SqlError> {
        if !self.view.has_procedures() {
            return Ok(Vec::new());
        }
        let written = relation_name(parts)?;
        if let Some(keys) = self.around.fixed_functions(&written) {
            return Ok(keys.iter().filter_map(|key| self.view.procedure(key)).collect());
        }
        // Even if users have none of the name now, they may have one under another search path.
        let users = self.view.routines(&written);
        self.depends.used.add_routine_name(&written, &users);
        Ok(users)
    }

    /// Finds the body of a function that is called. Returns with it the values of the input arguments, in order.
    fn called_function(
        &mut self,
        chosen: &UserChoice,
        given: Vec<(Option<String>, Typed)>,
    ) -> Result<(Callee, Vec<Expr>), SqlError> {
        let procedure = &chosen.procedure;
        let (callee, values) = self.called(chosen, given)?;
        let given = procedure.arguments.iter().zip(values).filter(|(argument, _)| procedure.is_given(argument));
        self.depends.used.acts = true;
        Ok((callee, given.map(|(_, value)| value.map_or(Expr::NULL, |(_, value)| value)).collect()))
    }

    /// Binds a call in FROM of a user's function, or of a built-in function that returns one value. Its arguments may
    /// refer to the items in `visible`. The rows of a user's function are its result: rows, one row, or one value.
    pub(super) fn function_rows(
        &mut self,
        name: &ast::ObjectName,
        arguments: &[FunctionArg],
        (numbered, alias): (bool, Option<&ast::TableAlias>),
        visible: Scope,
    ) -> Result<From, SqlError> {
        let (parts, span) = (name_parts(name)?, span_of(name));
        let users = self.users_named(&parts)?;
        if users.is_empty() {
            return self.scalar_function(name, arguments, numbered, alias, visible);
        }
        let given = |binder: &mut Self| binder.given(arguments, |binder, expr| binder.expr(expr, &Scope::default()));
        let bound = self.without_aggregates("functions in FROM", |binder| binder.looking_at(visible.clone(), given));
        let (given, shown) = bound?;
        let chosen = match self.chosen("function", users, &parts, &given) {
            Ok(Chosen::User(chosen)) => chosen,
            Ok(Chosen::BuiltIn(..)) => return self.scalar_function(name, arguments, numbered, alias, visible),
            Err(error) => return Err(self.locate(error, span)),
        };
        let procedure = chosen.procedure.clone();
        match procedure.function.as_ref().map(|function| &function.returns) {
            None => return Err(self.locate(is_procedure(&parts, &given), span)),
            Some(Returns::Trigger) => return Err(self.locate(only_as_trigger(), span)),
            Some(_) => {}
        }
        self.called.push((span.start, procedure.clone()));
        let (callee, arguments) = self.called_function(&chosen, given)?;
        let mut results = result_columns(&procedure, self.view, &mut self.depends.used)?;
        if results.is_empty() {
            results.push((procedure.plain_name().to_owned(), Type::Text.into()));
        }
        let is_plain =
            procedure.function.as_ref().is_some_and(|function| matches!(function.returns, Returns::Value(_)))
                && procedure.outputs().next().is_none();
        if let ([(name, _)], Some(alias), true) = (&mut results[..], alias, is_plain) {
            // The alias of the rows is also the name of their one column.
            *name = fold(&alias.name);
        }
        let function = RowSource::User(UserRows {
            name: procedure.plain_name().into(),
            callee: Opaque::new(callee),
            width: results.len(),
        });
        let column = |(name, of): (String, Declared)| OutputColumn::new(name, of.ty).of_domain(of.domain);
        let mut columns: Vec<_> = results.into_iter().map(column).collect();
        if numbered {
            columns.push(OutputColumn::new("ordinality", Type::Int8));
        }
        let node = Node::Function(Box::new(RowsOf { function, arguments, numbered }));
        let mut item = self.rows_item(node, shown, columns, Some(procedure.plain_name().to_owned()), alias)?;
        item.scope.relations_mut().iter_mut().for_each(Relation::mean_value);
        Ok(item)
    }
}

/// Makes the error 42809 for a procedure that is called as a function.
fn is_procedure(parts: &[String], given: &[(Option<String>, Typed)]) -> SqlError {
    let types: Vec<_> = given.iter().map(|(_, typed)| typed.ty).collect();
    let message = format!("{} is a procedure", with_types(&parts.join("."), &types));
    SqlError::new(state::WRONG_OBJECT_TYPE, message).hint("To call a procedure, use CALL.")
}

fn only_as_trigger() -> SqlError {
    SqlError::new(state::FEATURE_NOT_SUPPORTED, "trigger functions can only be called as triggers")
}
