//! Types: the types that several expressions have in common, and casts to the type that a place requires.

use super::binder::Binder;
use super::typed::Typed;
use crate::catalog::Declared;
use crate::expr::{Expr, Strictness, can_cast, cast};
use crate::parse::names::fold;
use crate::types::{Styles, decode_text, enumeration, is_number, rank, type_name, without_modifier};
use crate::{SqlError, state};
use hotrow_storage::{Element, Type, Value};
use sqlparser::ast;

/// Returns the numeric type to which operands of these types are cast. Unknown types follow the others. Returns `None`
/// if one of the types is not numeric or all are unknown.
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

/// Whether the modifier of a type is a number of digits, to which values are rounded. A cast to such a type without the
/// modifier changes no value.
fn is_rounded(ty: Type) -> bool {
    use Type::{Interval, Numeric, Time, Timestamp, TimestampTz};
    matches!(ty, Numeric(_) | Timestamp(_) | TimestampTz(_) | Time(_) | Interval(_))
}

/// Returns the type of a function's result that is of the same type as an argument: the type without its modifier,
/// except that a `char` keeps its length and a varchar stays a varchar.
pub(super) fn plain_type(ty: Type) -> Type {
    match ty {
        Type::Varchar(_) => Type::Varchar(None),
        Type::Char(_) => ty,
        _ => without_modifier(ty),
    }
}

/// Returns the type that two types have in common for CASE, COALESCE, VALUES and comparisons, or `None` if they have
/// none.
pub(super) fn common(left: Type, right: Type) -> Option<Type> {
    if left == right {
        return Some(left);
    }
    if left.is_text() && right.is_text() {
        // Each of them casts to the other implicitly, so the first one stays.
        return Some(if matches!(left, Type::Varchar(_)) { Type::Varchar(None) } else { Type::Text });
    }
    if is_number(left) && is_number(right) {
        return common_number(&[Some(left), Some(right)]);
    }
    // Numbers of objects cast to each other implicitly, so the first type stays. An integer becomes such a number.
    match (left, right) {
        (Type::Oid | Type::Reg(_), Type::Oid | Type::Reg(_)) => return Some(left),
        (Type::Oid | Type::Reg(_), _) if right.is_integer() => return Some(left),
        (_, Type::Oid | Type::Reg(_)) if left.is_integer() => return Some(right),
        _ => {}
    }
    if let (Type::Array(left), Type::Array(right)) = (left, right) {
        return common(left.ty(), right.ty()).and_then(Element::of).map(Type::Array);
    }
    // Types that differ in their modifiers have the type without one in common.
    let (left, right) = (without_modifier(left), without_modifier(right));
    if left == right {
        return Some(left);
    }
    let time = |ty| match ty {
        Type::Date => Some(0),
        Type::Timestamp(_) => Some(1),
        Type::TimestampTz(_) => Some(2),
        _ => None,
    };
    match (time(left), time(right)) {
        (Some(earlier), Some(later)) => Some(if earlier < later { right } else { left }),
        _ => None,
    }
}

impl Binder<'_> {
    /// Returns the type that a type's name means.
    pub(super) fn declared_type(&mut self, ty: &ast::DataType) -> Result<Declared, SqlError> {
        let declared = self.view.declared_type(ty)?;
        self.use_type(declared.ty);
        Ok(declared)
    }

    /// Makes the plan depend on the present definition of a type, if the type or its elements are enumerated.
    fn use_type(&mut self, ty: Type) {
        let made = enumeration(ty).and_then(|id| self.view.enumeration_of(id));
        made.iter().for_each(|made| self.depends.used.add_enumeration(made));
    }

    /// Casts an expression to a type.
    ///
    /// # Errors
    ///
    /// 42846 if there is no cast of this strictness; the error of reading the text if it is a literal that is no value
    /// of the type.
    pub(crate) fn coerce(&mut self, typed: Typed, to: Type, strictness: Strictness) -> Result<Expr, SqlError> {
        let at = typed.at;
        self.use_type(to);
        self.coerce_typed(typed, to, strictness).map_err(|error| self.locate_at(error, at))
    }

    fn coerce_typed(&mut self, typed: Typed, to: Type, strictness: Strictness) -> Result<Expr, SqlError> {
        if let Some(expr) = self.named_object(&typed, to, strictness)? {
            return Ok(expr);
        }
        let Some(from) = typed.ty else { return self.coerce_unknown(typed.expr, to, strictness) };
        let is_free = matches!(to, Type::Text | Type::Varchar(None)) && !matches!(from, Type::Char(_));
        let loses_modifier = is_rounded(from) && to == without_modifier(from);
        if from == to || (from.is_text() && is_free) || loses_modifier {
            return Ok(typed.expr);
        }
        if !can_cast(from, to, strictness) {
            let message = format!("cannot cast type {} to {}", type_name(Some(from)), type_name(Some(to)));
            return Err(SqlError::new(state::CANNOT_COERCE, message));
        }
        // A constant is cast now, once. If the cast fails, it stays, and fails when it is evaluated. A cast that
        // depends on a style waits for the session's style.
        if let Expr::Const(value) = &typed.expr
            && !Styles::matter(from, to)
            && let Ok(value) = cast(value.clone(), from, to, strictness, self.view.styles)
        {
            return Ok(Expr::Const(value));
        }
        Ok(Expr::Cast(Box::new(typed.expr), from, to, strictness))
    }

    /// Casts an expression of unknown type: a literal becomes a constant of the type, a parameter gets the type.
    fn coerce_unknown(&mut self, expr: Expr, to: Type, strictness: Strictness) -> Result<Expr, SqlError> {
        match expr {
            Expr::Const(Value::Null) => Ok(Expr::NULL),
            Expr::Const(Value::Text(text)) => {
                let base = without_modifier(to);
                let value = decode_text(base, &text, self.view.styles)?;
                // A value that is too long or too large becomes a cast, which fails only if it is evaluated.
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
                let ty = self.parameters.settle(index, base);
                if ty == to {
                    return Ok(Expr::Param(index));
                }
                self.coerce(Typed::new(Expr::Param(index), ty), to, strictness.max(Strictness::Assignment))
            }
            // Only literals and parameters have no type.
            other => Ok(other),
        }
    }

    /// Casts an expression to the type of a column, as INSERT and UPDATE do, and makes it a value of the column's
    /// domain.
    pub(crate) fn assign(&mut self, typed: Typed, column: &str, to: Declared) -> Result<Expr, SqlError> {
        if let Some(from) = typed.ty
            && !can_cast(from, to.ty, Strictness::Assignment)
        {
            let message = format!(
                "column \"{column}\" is of type {} but expression is of type {}",
                self.view.shown_type(Some(to.ty), to.domain),
                self.view.shown_type(Some(from), typed.domain)
            );
            let error = SqlError::new(state::DATATYPE_MISMATCH, message)
                .hint("You will need to rewrite or cast the expression.");
            return Err(self.locate_at(error, typed.at));
        }
        self.coerce_to(typed, to, Strictness::Assignment)
    }

    /// Casts an expression to boolean. Errors name the place of the expression as `place`, which is PostgreSQL's name
    /// of it.
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

    /// Returns an expression of a result with its type. An unknown type becomes text.
    pub(crate) fn resolved(&mut self, typed: Typed) -> Result<(Expr, Type), SqlError> {
        match typed.ty {
            Some(ty) => Ok((typed.expr, ty)),
            None => Ok((self.coerce(typed, Type::Text, Strictness::Implicit)?, Type::Text)),
        }
    }

    /// Casts expressions to the type that they have in common. Errors name the construct that they are part of as
    /// `place`.
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
            // A literal without a type has no length either.
            Some(Type::Varchar(_)) if list.iter().any(|typed| typed.ty.is_none()) => Type::Varchar(None),
            Some(ty) if is_rounded(ty) && list.iter().any(|typed| typed.ty.is_none()) => without_modifier(ty),
            wanted => wanted.unwrap_or(Type::Text),
        };
        let exprs =
            list.into_iter().map(|typed| self.coerce(typed, ty, Strictness::Implicit)).collect::<Result<_, _>>()?;
        Ok((exprs, ty))
    }

    /// Binds the parameter `$name`.
    pub(super) fn parameter(&mut self, name: &str) -> Result<Typed, SqlError> {
        let (position, ty) = self.parameters.find(name)?;
        Ok(Typed { ty, ..Typed::unknown(Expr::Param(position)) })
    }

    /// Returns the name of a result column from an identifier of the syntax.
    pub(super) fn alias(ident: &sqlparser::ast::Ident) -> String {
        fold(ident)
    }
}
