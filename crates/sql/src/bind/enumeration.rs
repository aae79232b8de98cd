//! The functions of enumerated types: `enum_first`, `enum_last`, `enum_range`.

use super::binder::Binder;
use super::errors::no_function;
use super::typed::Typed;
use crate::catalog::enumeration::undefined_type;
use crate::error::unsupported;
use crate::expr::{Expr, Strictness};
use crate::{SqlError, state};
use hotrow_storage::{Array, Element, Type, Value};

impl Binder<'_> {
    /// Binds a call of a function of enumerated types as a constant. Returns `None` for any other function. The
    /// constant has the labels that the type has now, so the plan depends on the type's definition.
    ///
    /// # Errors
    /// 55P04 if the type has labels that are not committed, 0A000 if a bound of `enum_range` is no constant.
    pub(super) fn enum_function(&mut self, name: &str, arguments: &[Typed]) -> Result<Option<Typed>, SqlError> {
        if !matches!(name, "enum_first" | "enum_last" | "enum_range") {
            return Ok(None);
        }
        let types: Vec<_> = arguments.iter().map(|argument| argument.ty).collect();
        let most = if name == "enum_range" { 2 } else { 1 };
        let made = types.iter().flatten().next().copied();
        let Some(ty @ Type::Enum(id)) = made.filter(|_| (1..=most).contains(&types.len())) else {
            return Err(no_function(name, &types));
        };
        let mut bounds = Vec::with_capacity(arguments.len());
        for argument in arguments {
            if argument.ty.is_some_and(|given| given != ty) {
                return Err(no_function(name, &types));
            }
            bounds.push(self.coerce(argument.clone(), ty, Strictness::Implicit)?);
        }
        let made = self.view.enumeration_of(id).ok_or_else(|| undefined_type(&ty.to_string()))?;
        if id.definition().is_none_or(|committed| committed.labels != made.definition.labels) {
            let message = format!("unsafe use of new values of enum type {ty}");
            return Err(SqlError::new(state::UNSAFE_NEW_ENUM_VALUE_USAGE, message)
                .hint("New enum values must be committed before they can be used."));
        }
        let numbers = made.definition.labels.iter().map(|(number, _)| *number);
        let constant = |number: Option<i32>| Expr::Const(number.map_or(Value::Null, Value::Int4));
        if made.definition.labels.is_empty() && name != "enum_range" {
            let message = format!("enum {ty} contains no values");
            return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        Ok(Some(match (name, bounds.as_slice()) {
            ("enum_first", _) => Typed::new(constant(numbers.min()), ty),
            ("enum_last", _) => Typed::new(constant(numbers.max()), ty),
            (_, [_]) => range(numbers, Element::Enum(id)),
            (_, [Expr::Const(low), Expr::Const(high)]) => {
                let is_within = |number: &i32| {
                    let below = matches!(low, Value::Int4(low) if number < low);
                    let above = matches!(high, Value::Int4(high) if number > high);
                    !below && !above
                };
                range(numbers.filter(is_within), Element::Enum(id))
            }
            _ => return Err(unsupported("enum_range of values that are no constants")),
        }))
    }
}

fn range(numbers: impl Iterator<Item = i32>, element: Element) -> Typed {
    let array = Array::new(element, numbers.map(Value::Int4));
    Typed::new(Expr::Const(Value::Array(array)), Type::Array(element))
}
