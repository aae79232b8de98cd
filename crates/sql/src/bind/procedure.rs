//! Procedures: binds their arguments and CALL, and keeps the bound bodies of procedures and functions.

use super::binder::{Binder, span_of};
use super::body::{Outputs, compile};
use super::ddl::define_default;
use super::enclosing::{Enclosing, Made};
use super::overload::{Chosen, UserChoice, with_types};
use super::scope::Scope;
use super::typed::Typed;
use crate::catalog::procedure::{Argument, Procedure};
use crate::catalog::search_path::path_of_body;
use crate::catalog::trigger::Trigger;
use crate::catalog::{Declared, DefaultValue, NamedType, View};
use crate::error::unsupported;
use crate::expr::{Expr, Strictness};
use crate::opaque::Opaque;
use crate::parse::enumeration::type_names;
use crate::parse::names::{fold, name_parts};
use crate::parse::procedure::{ArgumentMode, ArgumentSyntax};
use crate::plan::{Body, BodyLink, Call, Callee, Plan};
use crate::types::without_modifier;
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::Type;
use hotrow_sync::{Arc, Weak};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments};

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
        let Declared { ty, domain } = argument_type(&argument.ty, view)?;
        if let Some(name) = &argument.name
            && arguments.iter().any(|known| known.name.as_ref() == Some(name))
        {
            return wrong(format!("parameter name \"{name}\" used more than once"));
        }
        let default = match &argument.default {
            Some(_) if !argument.mode.goes_in() => {
                return wrong("only input parameters can have default values".to_owned());
            }
            Some(expr) => {
                let of = view.declared(ty, domain).ty;
                let default = define_default(expr, argument.name.as_deref().unwrap_or("argument"), of, view)?;
                let types = type_names(&expr.to_string())?;
                if types.iter().any(|name| matches!(view.named_type(&name.parts), Some(NamedType::Domain(_)))) {
                    return Err(unsupported("a cast to a domain in the default of an argument"));
                }
                if default.calling().is_some() {
                    return Err(unsupported("a user's function in the default of an argument"));
                }
                Some(default)
            }
            None if argument.mode.goes_in() && arguments.iter().any(|known| known.default.is_some()) => {
                return wrong("input parameters after one with a default value must also have defaults".to_owned());
            }
            None => None,
        };
        arguments.push(Argument { name: argument.name.clone(), mode: argument.mode, ty, domain, default });
    }
    Ok(arguments)
}

/// Returns the types of an argument list.
pub fn argument_types(types: &[ast::DataType], view: View<'_>) -> Result<Vec<Type>, SqlError> {
    types.iter().map(|ty| Ok(argument_type(ty, view)?.ty)).collect()
}

/// Returns the type of an argument, without its length, precision and scale. Only `char` keeps its length.
pub(super) fn argument_type(ty: &ast::DataType, view: View<'_>) -> Result<Declared, SqlError> {
    let Declared { ty, domain } = view.declared_type(ty)?;
    let ty = match ty {
        Type::Char(_) => ty,
        Type::Varchar(_) => Type::Varchar(None),
        ty => without_modifier(ty),
    };
    Ok(Declared { ty, domain })
}

/// A definition in the catalog that keeps its bound body, so that statements share it: a procedure, a function, or a
/// trigger with its function.
pub(super) trait KeepsBody {
    /// Returns the body as it was last bound, or `None` before that. The caller must check that it is still valid.
    fn bound(&self) -> Option<Opaque>;
    /// Stores the bound body for later statements.
    fn keep(&self, bound: Opaque);
}

impl KeepsBody for Procedure {
    fn bound(&self) -> Option<Opaque> {
        Procedure::bound(self)
    }

    fn keep(&self, bound: Opaque) {
        Procedure::keep(self, bound);
    }
}

impl KeepsBody for Trigger {
    fn bound(&self) -> Option<Opaque> {
        Trigger::bound(self)
    }

    fn keep(&self, bound: Opaque) {
        Trigger::keep(self, bound);
    }
}

/// Binds a body with `compile`, within the bodies of `around`. A statement of the body may refer to the body itself.
/// Returns with the body the outermost enclosing body to which it refers, as its distance from the outermost one of
/// all; `None` if it refers to none.
///
/// # Errors
/// 54001 if the bodies are nested more than [`MAX_CALL_DEPTH`] deep, and the errors of `compile`.
fn make_body(
    owner: *const (),
    around: Option<&Enclosing<'_>>,
    compile: impl FnOnce(&Enclosing<'_>) -> Result<Body, SqlError>,
) -> Result<(Arc<Body>, Option<usize>), SqlError> {
    let depth = Enclosing::depth(around);
    check_depth(depth + 1)?;
    let first = Made::default();
    let made = around.map_or(&first, |around| around.made);
    let since = made.count();
    let mut failed = None;
    let body = Arc::new_cyclic(|body| match compile(&Enclosing { owner, body, around, made }) {
        Ok(body) if body.outward == 0 => Body { group: made.take_group(since), ..body },
        Ok(body) => body,
        Err(error) => {
            failed = Some(error);
            Body::default()
        }
    });
    if let Some(error) = failed {
        made.forget(since);
        return Err(error);
    }
    let reaches = (body.outward > 0).then(|| depth.saturating_sub(body.outward));
    made.add(since, owner, &body, reaches);
    Ok((body, reaches))
}

/// Binds the body of a procedure or function that has just been defined, and keeps it.
pub(crate) fn compile_new(procedure: &Arc<Procedure>, view: View<'_>) -> Result<(), SqlError> {
    let owner = Arc::as_ptr(procedure).cast();
    let (body, _) = make_body(owner, None, |enclosing| compile(procedure, view, true, enclosing))?;
    procedure.keep(body.into());
    Ok(())
}

fn check_depth(depth: usize) -> Result<(), SqlError> {
    if depth <= MAX_CALL_DEPTH {
        return Ok(());
    }
    Err(SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .hint(format!("Bodies of procedures and functions may call others {MAX_CALL_DEPTH} deep.")))
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
    /// receive the output arguments.
    pub(super) fn call_with_slots(
        &mut self,
        function: &ast::Function,
    ) -> Result<(Plan, Option<Vec<OutputColumn>>, Outputs), SqlError> {
        let (call, slots) = self.procedure_call(function)?;
        let mut columns = Vec::new();
        for (at, argument) in call.callee.outputs() {
            let name = argument.name.clone().unwrap_or_else(|| format!("column{}", at + 1));
            columns.push(OutputColumn::new(name, argument.ty).of_domain(argument.domain));
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
        let parts = name_parts(&function.name)?;
        let given = self.given(list, |binder, expr| binder.plain(expr, &Scope::default(), "CALL arguments"))?;
        let users = self.users_named(&parts)?;
        let chosen = match self.chosen("procedure", users, &parts, &given) {
            Ok(Chosen::User(chosen)) if chosen.procedure.function.is_none() => chosen,
            Ok(_) => {
                let types: Vec<_> = given.iter().map(|(_, typed)| typed.ty).collect();
                let message = format!("{} is not a procedure", with_types(&parts.join("."), &types));
                let error = SqlError::new(state::WRONG_OBJECT_TYPE, message);
                return Err(self.locate(error.hint("To call a function, use SELECT."), span));
            }
            Err(error) => return Err(self.locate(error, span)),
        };
        let (callee, values) = self.called(&chosen, given)?;
        let is_variable = |typed: &Typed| match typed.expr {
            Expr::Param(slot) if self.parameters.variables.is_some() => Some(slot),
            _ => None,
        };
        let outputs = callee.outputs();
        let slots = outputs.map(|(at, _)| values[at].as_ref().and_then(|(given, _)| is_variable(given))).collect();
        let arguments = values.into_iter().map(|value| value.map_or(Expr::NULL, |(_, value)| value)).collect();
        Ok((Call { callee, arguments }, slots))
    }

    /// Binds the arguments of a call, each with its name if the call writes one.
    ///
    /// # Errors
    /// Besides those of the arguments, 42601 if one without a name follows one with a name.
    pub(super) fn given(
        &mut self,
        list: &[FunctionArg],
        mut bind: impl FnMut(&mut Self, &ast::Expr) -> Result<Typed, SqlError>,
    ) -> Result<Vec<(Option<String>, Typed)>, SqlError> {
        self.check_names(list)?;
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
            given.push((label, bind(self, expr)?));
        }
        Ok(given)
    }

    /// Finds the body of a procedure or function that is called, and the values of its arguments. The entry of an
    /// argument has the expression that the call gives, and that expression as a value of the argument's type. Without
    /// an expression, both are the default. The value of an output argument is NULL; its entry is `None` if the call
    /// gives nothing for it.
    #[allow(clippy::type_complexity, reason = "a value before and after its coercion")]
    pub(super) fn called(
        &mut self,
        chosen: &UserChoice,
        given: Vec<(Option<String>, Typed)>,
    ) -> Result<(Callee, Vec<Option<(Typed, Expr)>>), SqlError> {
        let procedure = &chosen.procedure;
        let mut values: Vec<Option<Typed>> = procedure.arguments.iter().map(|_| None).collect();
        for (&place, (_, typed)) in chosen.places.iter().zip(given) {
            values[place] = Some(typed);
        }
        let mut arguments = Vec::with_capacity(values.len());
        for (argument, given) in procedure.arguments.iter().zip(values) {
            arguments.push(match (argument.mode, given, &argument.default) {
                (ArgumentMode::Out | ArgumentMode::Table, given, _) => {
                    // A parameter of the client gets its type from its place, even if its value is not used.
                    if let Some(typed @ Typed { ty: None, expr: Expr::Param(_), .. }) = given.clone() {
                        self.coerce(typed, argument.ty, Strictness::Implicit)?;
                    }
                    given.map(|typed| (typed, Expr::NULL))
                }
                (_, Some(typed), _) => {
                    let to = self.view.declared(argument.ty, argument.domain);
                    let value = self.coerce_to(typed.clone(), to, Strictness::Implicit)?;
                    Some((typed, value))
                }
                (_, None, default) => {
                    let value = default.as_ref().map_or(Expr::NULL, DefaultValue::value);
                    let value = self.constrained(value, None, argument.domain)?;
                    Some((Typed::new(value.clone(), argument.ty), value))
                }
            });
        }
        if self.defines {
            self.depends.used.add_procedure(procedure);
            let link = BodyLink::Around(Weak::new());
            return Ok((Callee { procedure: procedure.clone(), link }, arguments));
        }
        let view = self.view;
        let link = self.body_of(&**procedure, procedure, |enclosing| compile(procedure, view, false, enclosing))?;
        self.depends.used.add_procedure(procedure);
        Ok((Callee { procedure: procedure.clone(), link }, arguments))
    }

    /// Returns the bound body of a definition for the present catalog, and adds the definitions that it uses to those
    /// of the plan. `owner` is the definition, which is `procedure` itself or a trigger that runs it. If the body
    /// encloses the statement, the result is a link that does not own it.
    ///
    /// The owner keeps the body. It is bound again, with `compile`, only after a definition that it uses has been
    /// replaced. The owner does not keep a body that refers to one around it, nor one that is bound while the
    /// transaction has uncommitted changes of the catalog.
    pub(super) fn body_of<O: KeepsBody>(
        &mut self,
        owner: &O,
        procedure: &Procedure,
        compile: impl FnOnce(&Enclosing<'_>) -> Result<Body, SqlError>,
    ) -> Result<BodyLink, SqlError> {
        let (address, around) = (std::ptr::from_ref(owner).cast(), self.parameters.enclosing);
        if let Some((between, body)) = Enclosing::find(around, address) {
            self.parameters.outward = self.parameters.outward.max(between);
            self.depends.used.calls.is_open = true;
            return Ok(BodyLink::Around(body));
        }
        let path = path_of_body(procedure, self.view);
        let view = View { path: path.as_ref(), ..self.view };
        let known = owner.bound().and_then(|bound| bound.shared::<Body>()).filter(|body| body.used.is_current(view));
        let known = known.map(|body| (body, None)).or_else(|| around?.made.find(address, view));
        let (body, reaches) = match known {
            Some(found) => found,
            None => {
                let (body, reaches) = make_body(address, around, compile)?;
                if self.view.changes.is_empty() && reaches.is_none() {
                    owner.keep(body.clone().into());
                }
                (body, reaches)
            }
        };
        match procedure.path {
            Some(_) => self.depends.used.add_elsewhere(&body.used, path),
            None => self.depends.used.add_all(&body.used),
        }
        let depth = Enclosing::depth(around);
        Ok(match reaches {
            // The outermost body of the group owns it. How deep calls in a circle nest depends on when they end.
            Some(reaches) => {
                self.parameters.outward = self.parameters.outward.max(depth.saturating_sub(1 + reaches));
                BodyLink::Around(Arc::downgrade(&body))
            }
            None => {
                check_depth(depth + body.depth)?;
                self.parameters.inner_depth = self.parameters.inner_depth.max(body.depth);
                BodyLink::Own(body)
            }
        })
    }
}
