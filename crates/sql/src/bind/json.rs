//! JSON: operators, subscripts and functions, and errors for uses that JSON does not allow.

use super::binder::Binder;
use super::errors::no_function;
use super::rows::parts_of_row;
use super::scope::Scope;
use super::typed::Typed;
use crate::error::unsupported;
use crate::expr::{ArrayFunction, Expr, Function, Strictness, Variadic};
use crate::parse::names::fold;
use crate::types::type_name;
use crate::{SqlError, state};
use hotrow_storage::{Element, Type, Value};
use sqlparser::ast::{self, AccessExpr, BinaryOperator as B, Expr as A, Subscript};

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

    /// Binds an argument of a function of JSON. Unlike other functions, these take rows: the name of a FROM item, all
    /// of its columns, or a row of expressions.
    pub(super) fn json_argument(&mut self, argument: &A, scope: &Scope) -> Result<Typed, SqlError> {
        match argument {
            A::Identifier(name) => match self.expr(argument, scope) {
                Err(error) if error.state == state::UNDEFINED_COLUMN => self.row_of_relation(name, scope)?.ok_or(error),
                bound => bound,
            },
            _ => match parts_of_row(argument) {
                Some(parts) => self.row_of_values(&parts, scope),
                None => self.expr(argument, scope),
            },
        }
    }

    /// Binds the row of a FROM item, or of a variable with a row, as JSON. The name may also mean an item of a query
    /// around this one. Returns `None` if it means nothing of these.
    pub(super) fn row_of_relation(&mut self, name: &ast::Ident, scope: &Scope) -> Result<Option<Typed>, SqlError> {
        let wanted = fold(name);
        let scopes = std::iter::once(scope).chain(self.around.levels.iter().rev().map(|level| &level.scope));
        let found = scopes.flat_map(Scope::relations).find(|known| known.is_called(&wanted));
        let Some(relation) = found else {
            let fields = self.fields_of_variable(&wanted, scope)?;
            // NEW at a DELETE and OLD at an INSERT have no row: all their fields are NULL.
            return fields.map(|fields| self.json_row(fields, true)).transpose();
        };
        let columns: Vec<_> = relation.columns.iter().map(|column| column.name.clone()).collect();
        let mut fields = Vec::with_capacity(columns.len());
        for column in columns {
            let place = ast::Ident { span: name.span, ..ast::Ident::with_quote('"', column.clone()) };
            fields.push((column, self.column(Some(&wanted), &place, scope)?));
        }
        self.json_row(fields, true).map(Some)
    }

    /// Binds `relation.*` as an argument: the row of the FROM item.
    pub(super) fn whole_row(&mut self, relation: &ast::ObjectName, scope: &Scope) -> Result<Typed, SqlError> {
        let [ast::ObjectNamePart::Identifier(name)] = &relation.0[..] else {
            return Err(unsupported("a row of a relation that is named with its schema"));
        };
        match self.row_of_relation(name, scope)? {
            Some(row) => Ok(row),
            None => Err(self.locate(self.missing_relation(&fold(name), scope), name.span)),
        }
    }

    /// Binds `ROW(a, b)` as JSON. The fields have the names `f1`, `f2` and so on.
    fn row_of_values(&mut self, list: &[A], scope: &Scope) -> Result<Typed, SqlError> {
        let mut fields = Vec::with_capacity(list.len());
        for (value, at) in list.iter().zip(1..) {
            fields.push((format!("f{at}"), self.json_argument(value, scope)?));
        }
        self.json_row(fields, false)
    }

    /// Makes a JSON object of the fields of a row. If `of_relation` is set and all fields are NULL, the value is NULL,
    /// not an object: an outer join has found no row of the item, or the variable has no row.
    fn json_row(&mut self, fields: Vec<(String, Typed)>, of_relation: bool) -> Result<Typed, SqlError> {
        let mut list = Vec::with_capacity(fields.len() * 2);
        for (name, value) in fields {
            let value = self.with_name(value)?;
            list.push(Expr::Const(Value::Text(name.into())));
            list.push(self.resolved(value)?.0);
        }
        Ok(Typed::new(Expr::Call(Function::Variadic(Variadic::JsonRow { of_relation }), list), Type::Json))
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
            (
                "row_to_json",
                [row @ Typed { expr: Expr::Call(Function::Variadic(Variadic::JsonRow { .. }), _), .. }],
            ) => Ok(Some(row.clone())),
            ("row_to_json", [_, _]) => Err(unsupported("row_to_json with line feeds")),
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

/// Whether the function of this name takes whole rows as arguments, and converts them to JSON.
pub(super) fn takes_rows(name: &str) -> bool {
    let builds = ["build_array", "build_object", "agg", "object_agg"];
    let of_json = |kind: &str| name.strip_prefix(kind).is_some_and(|rest| builds.contains(&rest));
    ["row_to_json", "to_json", "to_jsonb"].contains(&name) || of_json("json_") || of_json("jsonb_")
}

/// Whether a type is `jsonpath`. Its values have the type `text` here.
pub(super) fn is_jsonpath(ty: &ast::DataType) -> bool {
    matches!(ty, ast::DataType::Custom(name, modifiers) if modifiers.is_empty()
    && crate::parse::names::name_parts(name).is_ok_and(|parts| {
        matches!(&parts[..], [name] if name == "jsonpath")
            || matches!(&parts[..], [schema, name] if schema == "pg_catalog" && name == "jsonpath")
    }))
}
