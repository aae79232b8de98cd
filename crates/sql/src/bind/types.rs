//! Types: which one several expressions have in common, and how an expression gets the type its place wants.

use super::binder::Binder;
use super::typed::Typed;
use crate::expr::{Expr, Strictness, can_cast, cast};
use crate::parse::names::fold;
use crate::types::{Styles, decode_text, is_number, rank, type_name};
use crate::{SqlError, state};
use hotrow_storage::{Element, Type, Value};

/// The number type that operands of these types are brought to; unknown ones follow the others. `None` if some are no
/// numbers or all are unknown.
pub fn common_number(types: &[Option<Type>]) -> Option<Type> {
    let mut best: Option<(u8, Type)> = None;
    for ty in types.iter().flatten() {
        let rank = rank(*ty)?;
        if best.is_none_or(|(known, _)| rank > known) {
            best = Some((rank, without_modifier(*ty)));
        }
    }
    best.map(|(_, ty)| ty)
}

/// A type without length, precision and scale; `char(n)` and `varchar(n)` become text, among elements too.
pub(super) fn without_modifier(ty: Type) -> Type {
    match ty {
        Type::Numeric(_) => Type::Numeric(None),
        Type::Char(_) | Type::Varchar(_) => Type::Text,
        Type::Array(element) if element.is_vector() => ty,
        Type::Array(element) => Element::of(without_modifier(element.ty())).map_or(ty, Type::Array),
        other => other,
    }
}

/// The type of a function's result that was an argument's.
pub(super) fn plain_type(ty: Type) -> Type {
    match ty {
        Type::Varchar(_) => Type::Varchar(None),
        Type::Char(_) => ty,
        _ => without_modifier(ty),
    }
}

/// The type that two types have in common for CASE, COALESCE, VALUES and comparisons.
pub(super) fn common(left: Type, right: Type) -> Option<Type> {
    if left == right {
        return Some(left);
    }
    if left.is_text() && right.is_text() {
        // Each can be the other without being asked, so that the first one stays.
        return Some(if matches!(left, Type::Varchar(_)) { Type::Varchar(None) } else { Type::Text });
    }
    if is_number(left) && is_number(right) {
        return common_number(&[Some(left), Some(right)]);
    }
    if let (Type::Array(left), Type::Array(right)) = (left, right) {
        return common(left.ty(), right.ty()).and_then(Element::of).map(Type::Array);
    }
    let time = |ty| match ty {
        Type::Date => Some(0),
        Type::Timestamp => Some(1),
        Type::TimestampTz => Some(2),
        _ => None,
    };
    match (time(left), time(right)) {
        (Some(earlier), Some(later)) => Some(if earlier < later { right } else { left }),
        _ => None,
    }
}

impl Binder<'_> {
    /// Brings an expression to a type, if there is a cast of that strictness.
    pub(crate) fn coerce(&mut self, typed: Typed, to: Type, strictness: Strictness) -> Result<Expr, SqlError> {
        let at = typed.at;
        self.coerce_typed(typed, to, strictness).map_err(|error| self.locate_at(error, at))
    }

    fn coerce_typed(&mut self, typed: Typed, to: Type, strictness: Strictness) -> Result<Expr, SqlError> {
        let Some(from) = typed.ty else { return self.coerce_unknown(typed.expr, to, strictness) };
        let is_free = matches!(to, Type::Text | Type::Varchar(None)) && !matches!(from, Type::Char(_));
        if from == to || (from.is_text() && is_free) {
            return Ok(typed.expr);
        }
        if !can_cast(from, to, strictness) {
            let message = format!("cannot cast type {} to {}", type_name(Some(from)), type_name(Some(to)));
            return Err(SqlError::new(state::CANNOT_COERCE, message));
        }
        // A number that exceeds our numeric is read as the double that it is to be.
        if let (Expr::Cast(text, Type::Text, Type::Numeric(None), _), Type::Float4 | Type::Float8) = (&typed.expr, to)
            && let Expr::Const(Value::Text(text)) = &**text
        {
            return Ok(Expr::Const(decode_text(to, text, self.view.styles)?));
        }
        // A constant is cast once, now; one that cannot be is left to fail when it is reached, and one that has a style
        // waits for the session's.
        if let Expr::Const(value) = &typed.expr
            && !Styles::matter(from, to)
            && let Ok(value) = cast(value.clone(), from, to, strictness, self.view.styles)
        {
            return Ok(Expr::Const(value));
        }
        Ok(Expr::Cast(Box::new(typed.expr), from, to, strictness))
    }

    /// A literal becomes a constant of the type, a parameter gets the type.
    fn coerce_unknown(&mut self, expr: Expr, to: Type, strictness: Strictness) -> Result<Expr, SqlError> {
        match expr {
            Expr::Const(Value::Null) => Ok(Expr::NULL),
            Expr::Const(Value::Text(text)) => {
                let base = without_modifier(to);
                let value = decode_text(base, &text, self.view.styles)?;
                // What is too long or too large is an error where it is wanted.
                Ok(match crate::expr::fit(value.clone(), to, strictness) {
                    Ok(value) => Expr::Const(value),
                    Err(_) => Expr::Cast(Box::new(Expr::Const(value)), base, to, strictness),
                })
            }
            Expr::Param(index) => {
                let base = match to {
                    Type::Varchar(_) => Type::Varchar(None),
                    other => without_modifier(other),
                };
                let ty = *self.params[index].get_or_insert(base);
                if ty == to {
                    return Ok(Expr::Param(index));
                }
                self.coerce(Typed::new(Expr::Param(index), ty), to, strictness.max(Strictness::Assignment))
            }
            // Only literals and parameters have no type.
            other => Ok(other),
        }
    }

    /// An expression as the value of a column, as INSERT and UPDATE store it.
    pub(crate) fn assign(&mut self, typed: Typed, column: &str, to: Type) -> Result<Expr, SqlError> {
        let from = typed.ty;
        if let Some(from) = from
            && !can_cast(from, to, Strictness::Assignment)
        {
            let message = format!(
                "column \"{column}\" is of type {} but expression is of type {}",
                type_name(Some(to)),
                type_name(Some(from))
            );
            let error = SqlError::new(state::DATATYPE_MISMATCH, message)
                .hint("You will need to rewrite or cast the expression.");
            return Err(self.locate_at(error, typed.at));
        }
        self.coerce(typed, to, Strictness::Assignment)
    }

    /// An expression whose type must be boolean. `place` is PostgreSQL's name of where it stands.
    pub(crate) fn condition(&mut self, typed: Typed, place: &str) -> Result<Expr, SqlError> {
        if typed.expr.any(&mut |part| matches!(part, Expr::Set(_))) {
            let message = format!("argument of {place} must not return a set");
            return Err(self.locate_at(SqlError::new(state::DATATYPE_MISMATCH, message), typed.at));
        }
        match typed.ty {
            None | Some(Type::Bool) => self.coerce(typed, Type::Bool, Strictness::Implicit),
            Some(ty) => {
                let message = format!("argument of {place} must be type boolean, not type {}", type_name(Some(ty)));
                Err(self.locate_at(SqlError::new(state::DATATYPE_MISMATCH, message), typed.at))
            }
        }
    }

    /// An expression that is shown: what has no type is text.
    pub(crate) fn resolved(&mut self, typed: Typed) -> Result<(Expr, Type), SqlError> {
        match typed.ty {
            Some(ty) => Ok((typed.expr, ty)),
            None => Ok((self.coerce(typed, Type::Text, Strictness::Implicit)?, Type::Text)),
        }
    }

    /// Brings expressions to the type they have in common. `place` names what they are part of.
    pub(crate) fn unify(&mut self, list: Vec<Typed>, place: &str) -> Result<(Vec<Expr>, Type), SqlError> {
        let mut wanted: Option<Type> = None;
        for typed in &list {
            let Some(ty) = typed.ty else { continue };
            wanted = Some(match wanted {
                None => ty,
                Some(known) => common(known, ty).ok_or_else(|| {
                    let (left, right) = (type_name(wanted), type_name(Some(ty)));
                    let message = format!("{place} types {left} and {right} cannot be matched");
                    self.locate_at(SqlError::new(state::DATATYPE_MISMATCH, message), typed.at)
                })?,
            });
        }
        let ty = match wanted {
            // What has no type has no length either.
            Some(Type::Varchar(_)) if list.iter().any(|typed| typed.ty.is_none()) => Type::Varchar(None),
            Some(Type::Numeric(_)) if list.iter().any(|typed| typed.ty.is_none()) => Type::Numeric(None),
            wanted => wanted.unwrap_or(Type::Text),
        };
        let exprs =
            list.into_iter().map(|typed| self.coerce(typed, ty, Strictness::Implicit)).collect::<Result<_, _>>()?;
        Ok((exprs, ty))
    }

    /// The parameter `$name`.
    pub(super) fn parameter(&mut self, name: &str) -> Result<Typed, SqlError> {
        let number = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
        let known = |number: &usize| self.variables.is_none_or(|variables| variables.has_argument(*number));
        let Some(number) = number.filter(|number| (1..=65_535).contains(number)).filter(known) else {
            return Err(SqlError::new(state::UNDEFINED_PARAMETER, format!("there is no parameter {name}")));
        };
        if self.params.len() < number {
            self.params.resize(number, None);
        }
        Ok(Typed { ty: self.params[number - 1], ..Typed::unknown(Expr::Param(number - 1)) })
    }

    /// A column's name as the syntax has it, for output.
    pub(super) fn alias(ident: &sqlparser::ast::Ident) -> String {
        fold(ident)
    }
}
