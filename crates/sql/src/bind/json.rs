//! JSON: operators, subscripts and functions, and errors for uses that JSON does not allow.

use super::binder::Binder;
use super::errors::no_function;
use super::scope::Scope;
use super::typed::Typed;
use crate::error::unsupported;
use crate::expr::{ArrayFunction, Expr, Function, Strictness};
use crate::types::type_name;
use crate::{SqlError, state};
use hotrow_storage::{Element, Type};
use sqlparser::ast::{self, AccessExpr, BinaryOperator as B, Subscript};

/// Whether a type has no equality and no order: `json`, and arrays of it.
fn is_json(ty: Type) -> bool {
    matches!(ty, Type::Json | Type::Array(Element::Json))
}

/// Returns an error if the values of a type have no equality.
pub(super) fn check_equality(ty: Type) -> Result<(), SqlError> {
    match is_json(ty) {
        true => {
            let message = "could not identify an equality operator for type json";
            Err(SqlError::new(state::UNDEFINED_FUNCTION, message))
        }
        false => Ok(()),
    }
}

/// Returns an error if the values of a type have no order.
pub(super) fn check_order(ty: Type) -> Result<(), SqlError> {
    match is_json(ty) {
        true => {
            let message = "could not identify an ordering operator for type json";
            let error = SqlError::new(state::UNDEFINED_FUNCTION, message);
            Err(error.hint("Use an explicit ordering operator or modify the query."))
        }
        false => Ok(()),
    }
}

/// Returns the symbol of an operator that exists for JSON only, or `None` for any other operator.
pub(super) fn json_operator(op: &B) -> Option<&'static str> {
    Some(match op {
        B::Arrow => "->",
        B::LongArrow => "->>",
        B::HashArrow => "#>",
        B::HashLongArrow => "#>>",
        B::HashMinus => "#-",
        B::Question => "?",
        B::QuestionPipe => "?|",
        B::QuestionAnd => "?&",
        _ => return None,
    })
}

impl Binder<'_> {
    /// Binds `@>` or `<@` of two arrays or of two JSON values.
    pub(super) fn containment(
        &mut self,
        symbol: &str,
        function: ArrayFunction,
        left: Typed,
        right: Typed,
    ) -> Result<Typed, SqlError> {
        match [left.ty, right.ty].contains(&Some(Type::Jsonb)) {
            true => self.operator(symbol, vec![left, right]),
            false => self.array_test(symbol, function, left, right),
        }
    }

    /// Binds `value[key][number]` of a JSON value.
    pub(super) fn json_subscripts(
        &mut self,
        value: Typed,
        chain: &[AccessExpr],
        scope: &Scope,
    ) -> Result<Typed, SqlError> {
        let mut value = value;
        for access in chain {
            let AccessExpr::Subscript(Subscript::Index { index }) = access else {
                let message = "jsonb subscript does not support slices";
                return Err(SqlError::new(state::DATATYPE_MISMATCH, message));
            };
            let index = self.expr(index, scope)?;
            if index.ty.is_some_and(|ty| !matches!(ty, Type::Int2 | Type::Int4) && !ty.is_text()) {
                let message = format!("subscript type {} is not supported", type_name(index.ty));
                let error = SqlError::new(state::DATATYPE_MISMATCH, message);
                return Err(error.hint("jsonb subscript must be coercible to either integer or text."));
            }
            value = self.resolve("jsonb subscript", vec![value, index])?;
        }
        Ok(value)
    }

    /// Binds those functions of JSON whose arguments need a check or a form of their own. Returns `None` if the
    /// function is not one of them.
    pub(super) fn json_function(&mut self, name: &str, arguments: &[Typed]) -> Result<Option<Typed>, SqlError> {
        let types = || arguments.iter().map(|argument| argument.ty).collect::<Vec<_>>();
        match (name, arguments) {
            ("json_extract_path" | "jsonb_extract_path" | "json_extract_path_text" | "jsonb_extract_path_text", _) => {
                let Some((whole, steps)) = arguments.split_first() else { return Err(no_function(name, &[])) };
                let wanted = if name.starts_with("jsonb") { Type::Jsonb } else { Type::Json };
                let fits = whole.ty.is_none_or(|ty| ty == wanted);
                if !fits || steps.is_empty() || steps.iter().any(|step| step.ty.is_some_and(|ty| !ty.is_text())) {
                    return Err(no_function(name, &types()));
                }
                let whole = Typed::new(self.coerce(whole.clone(), wanted, Strictness::Implicit)?, wanted);
                let steps = steps.iter().map(|step| self.coerce(step.clone(), Type::Text, Strictness::Implicit));
                let make = Function::Array(ArrayFunction::Make(Element::Text));
                let path = Expr::Call(make, steps.collect::<Result<_, _>>()?);
                let path = Typed::new(path, Type::Array(Element::Text));
                let operator = if name.ends_with("_text") { "#>>" } else { "#>" };
                self.resolve(operator, vec![whole, path]).map(Some)
            }
            ("to_json" | "to_jsonb", [Typed { ty: None, .. }]) => {
                let message = "could not determine polymorphic type because input has type unknown";
                Err(SqlError::new(state::DATATYPE_MISMATCH, message))
            }
            ("array_to_json", [argument]) if !matches!(argument.ty, Some(Type::Array(_))) => {
                Err(no_function(name, &types()))
            }
            ("array_to_json", [_, _]) => Err(unsupported("array_to_json with line feeds")),
            _ => Ok(None),
        }
    }
}

/// Returns the error for JSON functions that are not supported: those that take a row as a value, and those of the
/// language jsonpath.
pub(super) fn refuse_json_function(name: &str, list: &[ast::FunctionArg]) -> Result<(), SqlError> {
    if name == "row_to_json" {
        let error = unsupported("row_to_json: a row as a value");
        return Err(error.hint("json_build_object('column', column, ...) makes the same of a row's columns."));
    }
    if name.starts_with("jsonb_path_") && !list.is_empty() {
        let error = unsupported(&format!("{name}: jsonpath"));
        return Err(error.hint("The operators ->, #>, @> and ? find parts of a jsonb."));
    }
    Ok(())
}
