//! Functions of users: their definitions, and the calls of them in expressions.

use super::binder::Binder;
use super::procedure::with_types;
use super::scope::Scope;
use super::typed::Typed;
use crate::catalog::View;
use crate::catalog::procedure::{Argument, FunctionTraits, Returns};
use crate::error::unsupported;
use crate::expr::{Expr, Invocation};
use crate::opaque::Opaque;
use crate::parse::procedure::{ArgumentMode, FunctionSyntax, ReturnsSyntax};
use crate::types::type_name;
use crate::{SqlError, state};
use hotrow_storage::Type;
use sqlparser::ast::FunctionArg;
use sqlparser::tokenizer::Span;

/// Returns the properties of a new function with these arguments.
pub fn define_function(
    written: &FunctionSyntax,
    arguments: &[Argument],
    view: View<'_>,
) -> Result<FunctionTraits, SqlError> {
    let wrong = |message: String| Err(SqlError::new(state::INVALID_FUNCTION_DEFINITION, message));
    let mut outputs = arguments.iter().filter(|argument| argument.mode != ArgumentMode::In);
    let output = outputs.next();
    if outputs.next().is_some() {
        return Err(unsupported("a function that returns a row"));
    }
    let returns = match (&written.returns, output) {
        (None, None) => return wrong("function result type must be specified".to_owned()),
        (None, Some(output)) => Returns::Value(output.ty),
        (Some(ReturnsSyntax::Nothing), None) => Returns::Nothing,
        (Some(ReturnsSyntax::Trigger), None) if arguments.is_empty() => Returns::Trigger,
        (Some(ReturnsSyntax::Trigger), None) => {
            let error = wrong("trigger functions cannot have declared arguments".to_owned());
            let hint = "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.";
            return error.map_err(|error: SqlError| error.hint(hint));
        }
        (Some(ReturnsSyntax::Value(ty)), output) => {
            let ty = super::procedure::argument_type(ty, view)?;
            match output {
                Some(output) if output.ty != ty => {
                    let wanted = type_name(Some(output.ty));
                    return wrong(format!("function result type must be {wanted} because of OUT parameters"));
                }
                _ => Returns::Value(ty),
            }
        }
        (Some(ReturnsSyntax::Nothing | ReturnsSyntax::Trigger), Some(output)) => {
            let wanted = type_name(Some(output.ty));
            return wrong(format!("function result type must be {wanted} because of OUT parameters"));
        }
    };
    Ok(FunctionTraits { returns, volatility: written.volatility, strict: written.strict })
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
        let ([name] | [_, name]) = parts else { return Ok(None) };
        if parts.len() == 2 && parts[0] != "public" {
            return Ok(None);
        }
        let Some(procedure) = self.view.procedure(name) else { return Ok(None) };
        let located = |binder: &Self, error: SqlError| binder.locate(error, span);
        let wrong_kind = |message: String| SqlError::new(state::WRONG_OBJECT_TYPE, message);
        let given = self.given(list, |binder, expr| binder.expr(expr, scope))?;
        let types: Vec<_> = given.iter().map(|(_, typed)| typed.ty).collect();
        let Some(function) = procedure.function else {
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
        };
        if let Some(place) = self.without_subqueries.filter(|place| *place != "CALL argument") {
            return Err(located(self, unsupported(&format!("a user's function in {place}"))));
        }
        let (callee, values) = self.called(&procedure, given, span)?;
        let given = procedure.arguments.iter().zip(values).filter(|(argument, _)| procedure.is_given(argument));
        let arguments = given.map(|(_, value)| value.map_or(Expr::NULL, |(_, value)| value)).collect();
        self.depends.used.acts = true;
        let invocation = Invocation {
            name: procedure.name.as_str().into(),
            callee: Opaque::new(callee),
            arguments,
            is_strict: function.strict,
        };
        Ok(Some(Typed::new(Expr::Invoke(Box::new(invocation)), ty)))
    }
}
