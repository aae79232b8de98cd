//! Procedures: binds their arguments and CALL, and keeps their bound bodies.

use super::binder::{Binder, span_of};
use super::body::{Outputs, compile};
use super::ddl::define_default;
use super::scope::Scope;
use super::typed::Typed;
use crate::catalog::View;
use crate::catalog::procedure::{Argument, Procedure};
use crate::error::unsupported;
use crate::expr::{Expr, Strictness, can_cast};
use crate::opaque::Opaque;
use crate::parse::body::BodySyntax;
use crate::parse::names::{fold, object_name, procedure_name};
use crate::parse::procedure::{ArgumentMode, ArgumentSyntax};
use crate::plan::{Body, Call, Plan};
use crate::types::{type_name, without_modifier};
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::Arc;
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments};
use std::collections::BTreeSet;

/// The maximum depth of nested calls.
const MAX_CALL_DEPTH: usize = 32;

/// Binds the arguments of a new procedure, with their defaults.
pub fn define_arguments(list: &[ArgumentSyntax], view: View<'_>) -> Result<Vec<Argument>, SqlError> {
    let wrong = |message: String| Err(SqlError::new(state::INVALID_FUNCTION_DEFINITION, message));
    if list.len() > 100 {
        let message = "procedures cannot have more than 100 arguments";
        return Err(SqlError::new(state::TOO_MANY_ARGUMENTS, message));
    }
    let mut arguments: Vec<Argument> = Vec::with_capacity(list.len());
    for argument in list {
        let ty = argument_type(&argument.ty, view)?;
        if let Some(name) = &argument.name
            && arguments.iter().any(|known| known.name.as_ref() == Some(name))
        {
            return wrong(format!("parameter name \"{name}\" used more than once"));
        }
        let default = match &argument.default {
            Some(_) if argument.mode == ArgumentMode::Out => {
                return wrong("only input parameters can have default values".to_owned());
            }
            Some(expr) => Some(define_default(expr, argument.name.as_deref().unwrap_or("argument"), ty, view)?),
            None if argument.mode != ArgumentMode::Out && arguments.iter().any(|known| known.default.is_some()) => {
                return wrong("input parameters after one with a default value must also have defaults".to_owned());
            }
            None => None,
        };
        arguments.push(Argument { name: argument.name.clone(), mode: argument.mode, ty, default });
    }
    Ok(arguments)
}

/// Returns the types of an argument list.
pub fn argument_types(types: &[ast::DataType], view: View<'_>) -> Result<Vec<Type>, SqlError> {
    types.iter().map(|ty| argument_type(ty, view)).collect()
}

/// Returns the type of an argument, without its length, precision and scale. Only `char` keeps its length.
fn argument_type(ty: &ast::DataType, view: View<'_>) -> Result<Type, SqlError> {
    Ok(match view.data_type(ty)? {
        ty @ Type::Char(_) => ty,
        Type::Varchar(_) => Type::Varchar(None),
        ty => without_modifier(ty),
    })
}

/// Returns the names of all procedures that a body of procedure `name` calls, directly or through others.
///
/// # Errors
///
/// 0A000 if one of them calls the procedure itself.
pub fn check_recursion(name: &str, body: &BodySyntax, view: View<'_>) -> Result<BTreeSet<String>, SqlError> {
    let (mut seen, mut open) = (BTreeSet::new(), body.calls.clone());
    while let Some(called) = open.pop() {
        if called == name {
            let error = unsupported(&format!("a procedure that calls itself (\"{name}\")"));
            let through: Vec<_> = seen.iter().map(|name| format!("\"{name}\"")).collect();
            return Err(match through.len() {
                0 => error,
                _ => error.detail(format!("It calls, one through the other: {}.", through.join(", "))),
            });
        }
        if seen.insert(called.clone())
            && let Some(procedure) = view.procedure(&called)
        {
            open.extend(procedure.syntax.calls.iter().cloned());
        }
    }
    Ok(seen)
}

/// Returns the bound body of a procedure for the present catalog. `depth` is the number of calls around this one.
///
/// The body is kept with the procedure, and bound again only if a definition that it uses has been replaced. If the
/// transaction has uncommitted changes of the catalog, a body that is bound is not kept.
fn body(procedure: &Procedure, view: View<'_>, depth: usize) -> Result<Arc<Body>, SqlError> {
    let known = procedure.bound().and_then(|bound| bound.shared::<Body>());
    if let Some(body) = known.filter(|body| body.used.is_current(view)) {
        return Ok(body);
    }
    check_depth(depth + 1)?;
    let body = Arc::new(compile(procedure, view, false, depth)?);
    if view.changes.is_empty() {
        procedure.keep(body.clone().into());
    }
    Ok(body)
}

/// Binds the body of a procedure that has just been defined, and keeps it.
pub(crate) fn compile_new(procedure: &Procedure, view: View<'_>) -> Result<(), SqlError> {
    procedure.keep(Opaque::new(compile(procedure, view, true, 0)?));
    Ok(())
}

fn check_depth(depth: usize) -> Result<(), SqlError> {
    if depth <= MAX_CALL_DEPTH {
        return Ok(());
    }
    Err(SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .hint(format!("Procedures may call each other {MAX_CALL_DEPTH} deep.")))
}

impl Binder<'_> {
    /// Binds a CALL that is a statement of its own, and returns the columns of its result.
    pub(super) fn call_statement(
        &mut self,
        function: &ast::Function,
    ) -> Result<(Plan, Option<Vec<OutputColumn>>), SqlError> {
        let (plan, columns, _) = self.call_with_slots(function)?;
        Ok((plan, columns))
    }

    /// Binds a CALL, as [`call_statement`](Self::call_statement) does. Returns with it the slots of the variables that
    /// are given for the arguments that come out.
    pub(super) fn call_with_slots(
        &mut self,
        function: &ast::Function,
    ) -> Result<(Plan, Option<Vec<OutputColumn>>, Outputs), SqlError> {
        let (call, slots) = self.procedure_call(function)?;
        let mut columns = Vec::new();
        for (at, argument) in call.outputs() {
            let name = argument.name.clone().unwrap_or_else(|| format!("column{}", at + 1));
            columns.push(OutputColumn::new(name, argument.ty));
        }
        Ok((Plan::Call(call), (!columns.is_empty()).then_some(columns), slots))
    }

    /// Binds a call. Returns with it, for each OUT and INOUT argument, the slot of the variable that is given for it,
    /// or `None` if the call gives something else or nothing.
    fn procedure_call(&mut self, function: &ast::Function) -> Result<(Call, Vec<Option<usize>>), SqlError> {
        let list = match &function.args {
            FunctionArguments::List(list) if list.clauses.is_empty() && list.duplicate_treatment.is_none() => {
                &list.args[..]
            }
            FunctionArguments::List(_) | FunctionArguments::Subquery(_) => {
                return Err(unsupported("this kind of argument"));
            }
            FunctionArguments::None => {
                return Err(SqlError::new(state::SYNTAX_ERROR, "syntax error: CALL needs parentheses"));
            }
        };
        let span = span_of(&function.name);
        let name = procedure_name(object_name(&function.name)?)?;
        let mut given = Vec::with_capacity(list.len());
        for argument in list {
            let (label, expr) = match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => (None, expr),
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(expr), .. } => (Some(fold(name)), expr),
                FunctionArg::ExprNamed {
                    name: ast::Expr::Identifier(name), arg: FunctionArgExpr::Expr(expr), ..
                } => (Some(fold(name)), expr),
                _ => return Err(unsupported("this kind of argument")),
            };
            given.push((label, self.plain(expr, &Scope::default(), "CALL arguments")?));
        }
        let procedure = self.view.procedure(&name);
        let types: Vec<_> = given.iter().map(|(_, typed)| typed.ty).collect();
        let wrong = |procedure: Option<&Procedure>| no_procedure(&name, &types, procedure);
        let Some(procedure) = procedure else { return Err(self.locate(wrong(None), span)) };
        let Some(places) = places(&procedure, given) else { return Err(self.locate(wrong(Some(&procedure)), span)) };
        let (mut arguments, mut slots) = (Vec::with_capacity(places.len()), Vec::new());
        for (argument, given) in procedure.arguments.iter().zip(places) {
            if argument.mode != ArgumentMode::In {
                let slot = match given.as_ref().map(|typed| &typed.expr) {
                    Some(Expr::Param(slot)) if self.parameters.variables.is_some() => Some(*slot),
                    _ => None,
                };
                slots.push(slot);
            }
            arguments.push(match (argument.mode, given, &argument.default) {
                (ArgumentMode::Out, given, _) => {
                    // A parameter of the client gets its type from its place, even if its value is not used.
                    if let Some(Typed { ty: None, expr: expr @ Expr::Param(_), at }) = given {
                        self.coerce(Typed { ty: None, expr, at }, argument.ty, Strictness::Implicit)?;
                    }
                    Expr::NULL
                }
                (_, Some(typed), _) => {
                    if typed.ty.is_some_and(|from| !can_cast(from, argument.ty, Strictness::Implicit)) {
                        return Err(self.locate(wrong(Some(&procedure)), span));
                    }
                    self.coerce(typed, argument.ty, Strictness::Implicit)?
                }
                (_, None, Some(default)) => default.value(),
                (_, None, None) => return Err(self.locate(wrong(Some(&procedure)), span)),
            });
        }
        let body = body(&procedure, self.view, self.parameters.call_depth)?;
        check_depth(self.parameters.call_depth + body.depth)?;
        self.use_body(&procedure, &body);
        Ok((Call { procedure, body, arguments }, slots))
    }

    /// Adds a procedure, and the definitions that its body uses.
    fn use_body(&mut self, procedure: &Arc<Procedure>, body: &Body) {
        self.depends.used.add_procedure(procedure);
        self.depends.used.add_all(&body.used);
    }
}

/// Assigns the given values to a procedure's arguments, by position and then by name.
///
/// Returns `None` if the values do not fit: if a name is no argument's, if an argument is given twice, if a value
/// without a name follows a named one, if there are too many values, or if an argument has neither a value nor a
/// default.
fn places(procedure: &Procedure, given: Vec<(Option<String>, Typed)>) -> Option<Vec<Option<Typed>>> {
    let mut places: Vec<Option<Typed>> = procedure.arguments.iter().map(|_| None).collect();
    let mut named = false;
    for (at, (label, typed)) in given.into_iter().enumerate() {
        let place = match label {
            Some(label) => {
                named = true;
                procedure.arguments.iter().position(|argument| argument.name.as_ref() == Some(&label))?
            }
            None if named => return None,
            None => at,
        };
        let place = places.get_mut(place)?;
        if place.replace(typed).is_some() {
            return None;
        }
    }
    // A call gives values for OUT arguments, too.
    let complete =
        procedure.arguments.iter().zip(&places).all(|(argument, place)| {
            place.is_some() || (argument.mode != ArgumentMode::Out && argument.default.is_some())
        });
    complete.then_some(places)
}

/// Makes the error 42883 for a call that fits no procedure. The detail shows the procedure of this name, if there is
/// one.
fn no_procedure(name: &str, types: &[Option<Type>], known: Option<&Procedure>) -> SqlError {
    let types: Vec<_> = types.iter().map(|ty| type_name(*ty)).collect();
    let message = format!("procedure {name}({}) does not exist", types.join(", "));
    let error = SqlError::new(state::UNDEFINED_FUNCTION, message)
        .hint("No procedure matches the given name and argument types. You might need to add explicit type casts.");
    match known {
        Some(procedure) => error.detail(format!("There is {}.", described(procedure))),
        None => error,
    }
}

/// Formats a procedure for messages: `pay(customer integer, amount numeric, OUT balance numeric)`.
fn described(procedure: &Procedure) -> String {
    let show = |argument: &Argument| {
        let mode = match argument.mode {
            ArgumentMode::In => None,
            ArgumentMode::Out => Some("OUT"),
            ArgumentMode::InOut => Some("INOUT"),
        };
        let ty = type_name(Some(argument.ty));
        [mode, argument.name.as_deref(), Some(&ty)].into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    let arguments: Vec<_> = procedure.arguments.iter().map(show).collect();
    format!("{}({})", procedure.name, arguments.join(", "))
}
