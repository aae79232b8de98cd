//! Arrays: constructors, subscripts, operators and functions.

use super::binder::Binder;
use super::errors::{no_function, no_operator};
use super::scope::Scope;
use super::sets::field_column;
use super::typed::Typed;
use super::types::common;
use crate::error::unsupported;
use crate::expr::{Arithmetic, ArrayFunction, Comparison, Expr, Function, Strictness, SubqueryTest};
use crate::parse::names::fold;
use crate::types::{type_name, without_modifier};
use crate::{SqlError, state};
use hotrow_storage::{Array, Element, Type, Value};
use sqlparser::ast::{self, AccessExpr, Expr as A, Subscript};
use std::mem::discriminant;

/// Returns the element type of an array type, or `None` if the type is undetermined or no array.
fn element(ty: Option<Type>) -> Option<Element> {
    match ty {
        Some(Type::Array(element)) => Some(element),
        _ => None,
    }
}

/// Returns the ordinary element type for a vector's, and any other element type unchanged.
fn plain_element(element: Element) -> Element {
    if element.is_vector() { Element::of(element.ty()).unwrap_or(element) } else { element }
}

/// Returns the array type whose elements are of this type.
pub(super) fn array_of(ty: Type) -> Result<Element, SqlError> {
    Element::of(ty).ok_or_else(|| match ty {
        Type::Reg(_) => unsupported(&format!("an array of {ty}")).hint("Cast it to text or to oid."),
        _ => unsupported("an array of more than one dimension"),
    })
}

fn undetermined() -> SqlError {
    let message = "could not determine polymorphic type because input has type unknown";
    SqlError::new(state::DATATYPE_MISMATCH, message)
}

fn call(function: ArrayFunction, arguments: Vec<Expr>, result: Type) -> Typed {
    let is_null = function.is_strict() && arguments.contains(&Expr::NULL);
    Typed::new(if is_null { Expr::NULL } else { Expr::Call(Function::Array(function), arguments) }, result)
}

impl Binder<'_> {
    /// Binds `ARRAY[…]`. Casts the elements to `to` if it is given, else to the type that they have in common.
    pub(super) fn array(&mut self, array: &ast::Array, to: Option<Element>, scope: &Scope) -> Result<Typed, SqlError> {
        let mut list = Vec::with_capacity(array.elem.len());
        for element in &array.elem {
            let typed = self.expr(element, scope)?;
            if matches!(typed.ty, Some(Type::Array(_))) {
                return Err(unsupported("an array of more than one dimension"));
            }
            list.push(typed);
        }
        let (list, element) = match to {
            Some(element) => {
                let coerced = list.into_iter().map(|typed| self.coerce(typed, element.ty(), Strictness::Explicit));
                (coerced.collect::<Result<Vec<_>, _>>()?, element)
            }
            None if list.is_empty() => {
                let error = SqlError::new(state::INDETERMINATE_DATATYPE, "cannot determine type of empty array");
                return Err(error.hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
            }
            None => {
                let (list, ty) = self.unify(list, "ARRAY")?;
                (list, array_of(ty)?)
            }
        };
        let constants =
            list.iter().map(|expr| if let Expr::Const(value) = expr { Some(value.borrowed()) } else { None });
        let expr = match constants.collect::<Option<Vec<_>>>() {
            Some(values) => Expr::Const(Value::Array(Array::new(element, values))),
            None => Expr::Call(Function::Array(ArrayFunction::Make(element)), list),
        };
        Ok(Typed::new(expr, Type::Array(element)))
    }

    /// Binds `ARRAY(SELECT …)`.
    pub(super) fn array_of_query(&mut self, query: &ast::Query, scope: &Scope) -> Result<Typed, SqlError> {
        let mut element = None;
        let array = self.whole_column(query, scope, |ty| {
            element = Some(array_of(ty)?);
            array_of(ty).map(SubqueryTest::Array)
        })?;
        Ok(Typed { ty: element.map(Type::Array), domain: None, ..array })
    }

    /// Binds `array[index]` and `array[from:to]`.
    pub(super) fn subscripted(&mut self, root: &A, chain: &[AccessExpr], scope: &Scope) -> Result<Typed, SqlError> {
        let subscript = |access: &AccessExpr| matches!(access, AccessExpr::Subscript(_));
        let (names, subscripts) = chain.split_at(chain.iter().position(subscript).unwrap_or(chain.len()));
        if let [AccessExpr::Dot(A::Identifier(field))] = chain
            && let Some(found) = self.field(root, field, scope)?
        {
            return Ok(found);
        }
        let mut parts = match root {
            A::Identifier(ident) => vec![ident.clone()],
            A::CompoundIdentifier(parts) => parts.clone(),
            _ => Vec::new(),
        };
        for name in names {
            match name {
                AccessExpr::Dot(A::Identifier(ident)) if !parts.is_empty() => parts.push(ident.clone()),
                _ => return Err(unsupported("a field of a value")),
            }
        }
        let array = match names {
            [] => self.expr(root, scope)?,
            _ => self.expr(&A::CompoundIdentifier(parts), scope)?,
        };
        if array.ty == Some(Type::Jsonb) {
            return self.json_subscripts(array, subscripts, scope);
        }
        if let (Some(Type::Name), [AccessExpr::Subscript(Subscript::Index { index })]) = (array.ty, subscripts) {
            let index = self.expr(index, scope)?;
            return self.character(array, index);
        }
        let Some(element) = element(array.ty) else {
            let message = format!(
                "cannot subscript type {} because it does not support subscripting",
                type_name(Some(array.ty.unwrap_or(Type::Text)))
            );
            return Err(SqlError::new(state::DATATYPE_MISMATCH, message));
        };
        let [AccessExpr::Subscript(subscript)] = subscripts else {
            return Err(unsupported("an array of more than one dimension"));
        };
        match subscript {
            Subscript::Index { index } => {
                let mut index = self.subscript(index, scope)?;
                let variables = self.parameters.variables;
                if matches!(array.expr, Expr::Param(slot) if variables.is_some_and(|known| known.is_from_zero(slot))) {
                    let one = Expr::Const(Value::Int4(1));
                    index = Expr::Arithmetic(Arithmetic::Add, Box::new((index, one)));
                }
                Ok(call(ArrayFunction::Subscript, vec![array.expr, index], element.ty()))
            }
            Subscript::Slice { lower_bound, upper_bound, stride: None } => {
                let mut bound = |bound: &Option<A>| match bound {
                    Some(bound) => self.subscript(bound, scope),
                    None => Ok(Expr::Const(Value::Int4(1))),
                };
                let bounds = vec![bound(lower_bound)?, bound(upper_bound)?];
                if element.is_vector() {
                    return Err(unsupported("a slice of a vector"));
                }
                let slice = ArrayFunction::Slice(element, lower_bound.is_some(), upper_bound.is_some());
                let arguments = std::iter::once(array.expr).chain(bounds).collect();
                Ok(call(slice, arguments, Type::Array(element)))
            }
            Subscript::Slice { .. } => Err(unsupported("a slice with a stride")),
        }
    }

    /// Binds `name[index]`, which is one character of a value of type `name`, counted from zero.
    fn character(&mut self, name: Typed, index: Typed) -> Result<Typed, SqlError> {
        let number = |number| Typed::new(Expr::Const(Value::Int4(number)), Type::Int4);
        let from = self.arithmetic(Arithmetic::Add, index, number(1))?;
        self.resolve("substring", vec![name, from, number(1)])
    }

    /// Binds `(row).field`. Returns `None` if `root` is not a row in parentheses.
    fn field(&mut self, root: &A, field: &ast::Ident, scope: &Scope) -> Result<Option<Typed>, SqlError> {
        let A::Nested(inner) = root else { return Ok(None) };
        let name = fold(field);
        if let Some(fields) = self.fields(inner, scope)? {
            let found = fields.into_iter().find(|(known, _)| *known == name);
            return match found {
                Some((_, typed)) => Ok(Some(typed)),
                None => {
                    let message = format!("could not identify column \"{name}\" in record data type");
                    Err(self.locate(SqlError::new(state::UNDEFINED_COLUMN, message), field.span))
                }
            };
        }
        let (relation, column) = match &**inner {
            A::Identifier(column) => (None, column),
            A::CompoundIdentifier(parts) => match parts.as_slice() {
                [relation, column] => (Some(fold(relation)), column),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let held = ast::Ident::with_quote('"', field_column(&fold(column), &name));
        match self.column(relation.as_deref(), &held, scope) {
            Err(error) if error.state == state::UNDEFINED_COLUMN => Ok(None),
            other => other.map(Some),
        }
    }

    fn subscript(&mut self, index: &A, scope: &Scope) -> Result<Expr, SqlError> {
        let typed = self.expr(index, scope)?;
        if typed.ty.is_some_and(|ty| !crate::types::is_number(ty)) {
            return Err(SqlError::new(state::DATATYPE_MISMATCH, "array subscript must have type integer"));
        }
        self.coerce(typed, Type::Int4, Strictness::Assignment)
    }

    /// Binds `left <op> ANY (array)`, or ALL if `all`.
    pub(super) fn any_or_all_elements(
        &mut self,
        left: &A,
        comparison: Comparison,
        right: &A,
        all: bool,
        scope: &Scope,
    ) -> Result<Typed, SqlError> {
        let (left, right) = (self.expr(left, scope)?, self.expr(right, scope)?);
        let right = match right.ty {
            None => {
                let element = array_of(without_modifier(left.ty.unwrap_or(Type::Text)))?;
                Typed::new(self.coerce(right, Type::Array(element), Strictness::Implicit)?, Type::Array(element))
            }
            Some(_) => right,
        };
        let Some(element) = element(right.ty) else {
            let error = SqlError::new(state::WRONG_OBJECT_TYPE, "op ANY/ALL (array) requires array on right side");
            return Err(self.locate_at(error, right.at));
        };
        // The comparison is bound for one element, as column 0: the element may have to be cast for it.
        let each = Typed::new(Expr::Column(0), element.ty());
        let (value, each, blanks) = self.comparable(comparison.symbol(), left, each)?;
        let array = match each {
            Expr::Cast(_, _, to, _) => self.coerce(right, Type::Array(array_of(to)?), Strictness::Implicit)?,
            _ => right.expr,
        };
        let any = Function::Array(ArrayFunction::Any(comparison, all, blanks));
        Ok(Typed::bool(Expr::Call(any, vec![value, array])))
    }

    /// Binds `text LIKE ANY (patterns)`, or `LIKE ALL` if `all` is set. The flags say whether the test is negated, and
    /// whether it ignores case.
    pub(super) fn like_each(
        &mut self,
        text: &A,
        patterns: &A,
        all: bool,
        (negated, ignore_case): (bool, bool),
        scope: &Scope,
    ) -> Result<Typed, SqlError> {
        let mut patterns = patterns;
        while let A::Nested(inner) = patterns {
            patterns = inner;
        }
        let text = self.expr(text, scope)?;
        let patterns = match patterns {
            A::Subquery(query) => self.array_of_query(query, scope)?,
            patterns => self.expr(patterns, scope)?,
        };
        if patterns.ty.is_some() && element(patterns.ty).is_none() {
            let error = SqlError::new(state::WRONG_OBJECT_TYPE, "op ANY/ALL (array) requires array on right side");
            return Err(self.locate_at(error, patterns.at));
        }
        let is_text = |ty: Option<Type>| ty.is_none_or(Type::is_text);
        if !is_text(text.ty) || !is_text(element(patterns.ty).map(Element::ty)) {
            let symbol = if ignore_case { "~~*" } else { "~~" };
            return Err(no_operator(symbol, text.ty, element(patterns.ty).map(Element::ty)));
        }
        let text = self.liked_text(text)?;
        let patterns = self.coerce(patterns, Type::Array(Element::Text), Strictness::Implicit)?;
        Ok(call(ArrayFunction::Like { ignore_case, negated, all }, vec![text, patterns], Type::Bool))
    }

    /// Binds `@>`, `<@` or `&&` of two arrays.
    pub(super) fn array_test(
        &mut self,
        symbol: &str,
        function: ArrayFunction,
        left: Typed,
        right: Typed,
    ) -> Result<Typed, SqlError> {
        let wrong = no_operator(symbol, left.ty, right.ty);
        let ty = match (left.ty, right.ty) {
            (Some(Type::Array(one)), Some(Type::Array(other))) if discriminant(&one) == discriminant(&other) => {
                Type::Array(one)
            }
            (Some(ty @ Type::Array(_)), None) | (None, Some(ty @ Type::Array(_))) => ty,
            _ => return Err(wrong),
        };
        let ty = without_modifier(ty);
        let left = self.coerce(left, ty, Strictness::Implicit)?;
        let right = self.coerce(right, ty, Strictness::Implicit)?;
        Ok(call(function, vec![left, right], Type::Bool))
    }

    /// Binds `||` if at least one of its sides is an array.
    pub(super) fn concat_arrays(&mut self, left: Typed, right: Typed) -> Result<Typed, SqlError> {
        let wrong = no_operator("||", left.ty, right.ty);
        let name = match (left.ty, right.ty) {
            (Some(Type::Array(_)) | None, Some(Type::Array(_)) | None) => "array_cat",
            (Some(Type::Array(_)), _) => "array_append",
            _ => "array_prepend",
        };
        let made = self.array_function(name, vec![left, right]);
        made.map_err(|error| if error.state == state::UNDEFINED_FUNCTION { wrong } else { error })
    }

    /// Binds a call of an array function. Any other function is left to `resolve`.
    pub(super) fn array_function(&mut self, name: &str, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        use ArrayFunction as F;
        let types: Vec<_> = arguments.iter().map(|argument| argument.ty).collect();
        // All functions but these take a vector as an array that begins at 1.
        let takes_vectors = matches!(name, "array_length" | "array_upper" | "array_lower" | "array_to_string");
        let elements = element(types.first().copied().flatten());
        let elements = if takes_vectors { elements } else { elements.map(plain_element) };
        // Returns the function for arrays of this element type, the types of the arguments after the array, and the
        // result's type.
        let shape = |array: Element| -> Option<(F, Vec<Type>, Type)> {
            let (int, same) = (Type::Int4, array.ty());
            Some(match (name, types.len()) {
                ("array_length", 2) => (F::Length, vec![int], int),
                ("array_upper", 2) => (F::Upper, vec![int], int),
                ("array_lower", 2) => (F::Lower, vec![int], int),
                ("cardinality", 1) => (F::Cardinality, Vec::new(), int),
                ("array_ndims", 1) => (F::Dimensions, Vec::new(), int),
                ("array_dims", 1) => (F::Bounds, Vec::new(), Type::Text),
                ("array_to_string", 2) => (F::ToText(array), vec![Type::Text], Type::Text),
                ("array_to_string", 3) => (F::ToText(array), vec![Type::Text, Type::Text], Type::Text),
                ("trim_array", 2) => (F::Trim(array), vec![int], Type::Array(array)),
                ("array_append", 2) => (F::Append(array), vec![same], Type::Array(array)),
                ("array_cat", 2) => (F::Concat(array), vec![Type::Array(array)], Type::Array(array)),
                ("array_remove", 2) => (F::Remove(array), vec![same], Type::Array(array)),
                ("array_replace", 3) => (F::Replace(array), vec![same, same], Type::Array(array)),
                ("array_position", 2) => (F::Position, vec![same], int),
                ("array_position", 3) => (F::Position, vec![same, int], int),
                ("array_positions", 2) => (F::Positions, vec![same], Type::Array(Element::Int4)),
                _ => return None,
            })
        };
        if (name, types.len()) == ("array_prepend", 2) {
            return self.prepend(arguments);
        }
        if matches!((name, types.len()), ("string_to_array", 2 | 3)) {
            let texts = arguments.into_iter().map(|argument| match argument.ty.is_none_or(Type::is_text) {
                true => self.coerce(argument, Type::Text, Strictness::Implicit),
                false => Err(no_function(name, &types)),
            });
            let texts = texts.collect::<Result<_, _>>()?;
            return Ok(call(F::FromText, texts, Type::Array(Element::Text)));
        }
        // If the type of the first argument is unknown, the argument beside it decides. A function of one argument then
        // cannot be resolved.
        let first = match (elements, types.as_slice()) {
            (Some(_), _) => elements,
            (None, [None, Some(Type::Array(other))]) => Some(*other),
            (None, [None, ..]) if shape(Element::Text).is_some() => match (name, types.get(1)) {
                ("array_append" | "array_remove" | "array_position" | "array_positions", Some(Some(ty))) => {
                    Element::of(without_modifier(*ty))
                }
                _ => return Err(undetermined()),
            },
            _ => None,
        };
        let Some((_, mut wanted, _)) = first.and_then(shape) else { return self.resolve(name, arguments) };
        let Some(mut array) = first else { return self.resolve(name, arguments) };
        // The element type is the one that the array and the values beside it have in common.
        for (given, wanted) in types[1..].iter().zip(&wanted) {
            let beside = match (given, wanted) {
                (Some(given), Type::Array(_)) => element(Some(*given)).map(Element::ty),
                (Some(given), wanted) if *wanted == array.ty() && !given_is_index(name, wanted) => Some(*given),
                _ => continue,
            };
            let shared = beside.and_then(|beside| common(array.ty(), beside)).and_then(Element::of);
            array = shared.ok_or_else(|| no_function(name, &types))?;
        }
        let Some((function, others, result)) = shape(array) else { return self.resolve(name, arguments) };
        wanted = std::iter::once(Type::Array(array)).chain(others).collect();
        let mut list = Vec::with_capacity(arguments.len());
        for (argument, wanted) in arguments.into_iter().zip(wanted) {
            let fits = argument.ty.is_none_or(|given| crate::expr::can_cast(given, wanted, Strictness::Implicit));
            if !fits {
                return Err(no_function(name, &types));
            }
            list.push(self.coerce(argument, wanted, Strictness::Implicit)?);
        }
        Ok(call(function, list, result))
    }

    /// Binds `array_prepend`.
    fn prepend(&mut self, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let types: Vec<_> = arguments.iter().map(|argument| argument.ty).collect();
        let wrong = || no_function("array_prepend", &types);
        let shared = match types.as_slice() {
            [None, Some(Type::Array(array))] => Some(*array),
            [Some(value), Some(Type::Array(array))] => common(*value, array.ty()).and_then(Element::of),
            [Some(value), None] => Element::of(without_modifier(*value)),
            [None, None] => return Err(undetermined()),
            _ => None,
        };
        let shared = shared.ok_or_else(wrong)?;
        let mut list = Vec::with_capacity(2);
        for (argument, wanted) in arguments.into_iter().zip([shared.ty(), Type::Array(shared)]) {
            list.push(self.coerce(argument, wanted, Strictness::Implicit)?);
        }
        Ok(call(ArrayFunction::Prepend(shared), list, Type::Array(shared)))
    }
}

/// Whether an argument of this type is a subscript or a count of elements, and not an element.
fn given_is_index(name: &str, wanted: &Type) -> bool {
    *wanted == Type::Int4 && matches!(name, "array_length" | "array_upper" | "array_lower" | "trim_array")
}
