//! Binds operators: the operands' types select the operator, and the operands are cast to the types that it takes.

use super::binder::Binder;
use super::errors::{ambiguous_operator, no_operator, no_prefix_operator};
use super::json::check_equality;
use super::typed::Typed;
use super::types::{common, common_number};
use crate::expr::{self, Arithmetic, Comparison, Expr, Strictness};
use crate::types::{is_number, without_modifier};
use crate::{SqlError, state};
use hotrow_storage::{Type, Value};
use std::mem::discriminant;

impl Binder<'_> {
    /// Binds the comparison `left <op> right`.
    pub(super) fn compare(&mut self, op: Comparison, left: Typed, right: Typed) -> Result<Typed, SqlError> {
        let (left, right, blanks) = self.comparable(op.symbol(), left, right)?;
        if left == Expr::NULL || right == Expr::NULL {
            return Ok(Typed::bool(Expr::NULL));
        }
        if let (Expr::Const(left), Expr::Const(right)) = (&left, &right) {
            return Ok(Typed::bool(Expr::bool(op.holds(expr::compare(left, right, blanks)))));
        }
        Ok(Typed::bool(Expr::Compare(op, Box::new((left, right)), blanks)))
    }

    /// Casts two expressions to types that can be compared. Returns them, and whether the comparison ignores trailing
    /// blanks.
    pub(super) fn comparable(
        &mut self,
        symbol: &str,
        left: Typed,
        right: Typed,
    ) -> Result<(Expr, Expr, bool), SqlError> {
        if [left.ty, right.ty].contains(&Some(Type::Json)) {
            return Err(no_operator(symbol, left.ty, right.ty));
        }
        let (left_type, right_type) = match (left.ty, right.ty) {
            (None, None) => (Type::Text, Type::Text),
            (Some(ty), None) | (None, Some(ty)) => {
                let blanks = matches!(ty, Type::Char(_));
                let other = without_modifier(ty);
                let bind = |binder: &mut Self, typed: Typed| match typed.ty {
                    Some(_) => Ok(typed.expr),
                    None => binder.coerce(typed, other, Strictness::Implicit),
                };
                check_equality(ty)?;
                return Ok((bind(self, left)?, bind(self, right)?, blanks));
            }
            (Some(left), Some(right)) => (left, right),
        };
        match (left_type, right_type) {
            (Type::Array(one), Type::Array(other)) if discriminant(&one) != discriminant(&other) => {
                Err(no_operator(symbol, left.ty, right.ty))
            }
            // Neither is cast, so that an index on the `char` serves. Beside a text, the text's trailing blanks count.
            (Type::Char(_), Type::Char(_) | Type::Varchar(_)) | (Type::Varchar(_), Type::Char(_)) => {
                Ok((left.expr, right.expr, true))
            }
            // Integers of different widths are not cast, so that an index on either of them serves.
            (left_type, right_type) if left_type.is_integer() && right_type.is_integer() => {
                Ok((left.expr, right.expr, false))
            }
            (left_type, right_type) => {
                let Some(ty) = common_or_float(without_modifier(left_type), without_modifier(right_type)) else {
                    return Err(no_operator(symbol, left.ty, right.ty));
                };
                check_equality(ty)?;
                let left = self.coerce(left, ty, Strictness::Implicit)?;
                Ok((left, self.coerce(right, ty, Strictness::Implicit)?, false))
            }
        }
    }

    /// Binds `left + right` and other arithmetic.
    pub(super) fn arithmetic(&mut self, op: Arithmetic, left: Typed, right: Typed) -> Result<Typed, SqlError> {
        if let Some(typed) = self.date_arithmetic(op, &left, &right)? {
            return Ok(typed);
        }
        if let Some((wanted, result)) = super::interval_literals::arithmetic(op, left.ty, right.ty) {
            let left = self.coerce(left, wanted.0, Strictness::Implicit)?;
            let right = self.coerce(right, wanted.1, Strictness::Implicit)?;
            let is_null = left == Expr::NULL || right == Expr::NULL;
            let expr = if is_null { Expr::NULL } else { Expr::Arithmetic(op, Box::new((left, right))) };
            return Ok(Typed::new(expr, result));
        }
        let wrong = no_operator(op.symbol(), left.ty, right.ty);
        let ty = match (left.ty, right.ty) {
            (None, None) => {
                return Err(ambiguous_operator(op.symbol(), None, None));
            }
            (left, right) => common_number(&[left, right]).ok_or(wrong)?,
        };
        let fits = match op {
            Arithmetic::Power => true,
            Arithmetic::BitAnd | Arithmetic::BitOr | Arithmetic::BitXor => ty.is_integer(),
            Arithmetic::Modulo => ty.is_integer() || ty == Type::Numeric(None),
            _ => true,
        };
        if !fits {
            return Err(no_operator(op.symbol(), left.ty, right.ty));
        }
        // A `real` and a number of another type make a double.
        let ty = match ty {
            _ if op == Arithmetic::Power && ty != Type::Numeric(None) => Type::Float8,
            Type::Float4 if left.ty != right.ty && left.ty.is_some() && right.ty.is_some() => Type::Float8,
            ty => ty,
        };
        let left = self.coerce(left, ty, Strictness::Implicit)?;
        let right = self.coerce(right, ty, Strictness::Implicit)?;
        if left == Expr::NULL || right == Expr::NULL {
            return Ok(Typed::new(Expr::NULL, ty));
        }
        Ok(Typed::new(Expr::Arithmetic(op, Box::new((left, right))), ty))
    }

    /// Binds arithmetic of dates with numbers of days. Returns `None` if the operands are of other types.
    fn date_arithmetic(&mut self, op: Arithmetic, left: &Typed, right: &Typed) -> Result<Option<Typed>, SqlError> {
        let days = |ty: Option<Type>| matches!(ty, Some(Type::Int2 | Type::Int4));
        let result = match (left.ty, op, right.ty) {
            (Some(Type::Date), Arithmetic::Add | Arithmetic::Subtract, ty) if days(ty) => Type::Date,
            (ty, Arithmetic::Add, Some(Type::Date)) if days(ty) => Type::Date,
            (Some(Type::Date), Arithmetic::Subtract, Some(Type::Date) | None)
            | (None, Arithmetic::Subtract, Some(Type::Date)) => Type::Int4,
            _ => return Ok(None),
        };
        let operand = |binder: &mut Self, typed: &Typed| match typed.ty {
            Some(_) => Ok(typed.expr.clone()),
            None => binder.coerce(typed.clone(), Type::Date, Strictness::Implicit),
        };
        let pair = Box::new((operand(self, left)?, operand(self, right)?));
        Ok(Some(Typed::new(Expr::Arithmetic(op, pair), result)))
    }

    /// Binds `left || right`.
    pub(super) fn concat(&mut self, left: Typed, right: Typed) -> Result<Typed, SqlError> {
        if [left.ty, right.ty].iter().any(|ty| matches!(ty, Some(Type::Array(_)))) {
            return self.concat_arrays(left, right);
        }
        if left.ty == Some(Type::Bytea) || right.ty == Some(Type::Bytea) {
            let (left, right) = (
                self.coerce(left, Type::Bytea, Strictness::Implicit)?,
                self.coerce(right, Type::Bytea, Strictness::Implicit)?,
            );
            return Ok(Typed::new(Expr::Concat(Box::new((left, right))), Type::Bytea));
        }
        if let (Some(Type::Jsonb), None | Some(Type::Jsonb)) | (None, Some(Type::Jsonb)) = (left.ty, right.ty) {
            return self.operator("||", vec![left, right]);
        }
        let texts = [left.ty, right.ty].iter().any(|ty| ty.is_none_or(Type::is_text));
        if !texts {
            return Err(no_operator("||", left.ty, right.ty));
        }
        let left = self.coerce(left, Type::Text, Strictness::Assignment)?;
        let right = self.coerce(right, Type::Text, Strictness::Assignment)?;
        Ok(Typed::new(Expr::Concat(Box::new((left, right))), Type::Text))
    }

    /// Binds the negation of an operand that is bound already.
    ///
    /// # Errors
    ///
    /// 42725 if the type of the operand is not known, 42883 if it is neither a number nor an interval.
    pub(super) fn negate(&mut self, typed: Typed) -> Result<Typed, SqlError> {
        let ty = match typed.ty {
            Some(ty) if is_number(ty) || matches!(ty, Type::Interval(_)) => ty,
            None => {
                let error = SqlError::new(state::AMBIGUOUS_FUNCTION, "operator is not unique: - unknown");
                return Err(error
                    .hint("Could not choose a best candidate operator. You might need to add explicit type casts."));
            }
            Some(_) => return Err(no_prefix_operator("-", typed.ty)),
        };
        let expr = self.coerce(typed, ty, Strictness::Implicit)?;
        let expr = match expr {
            Expr::Const(Value::Int4(value)) if value != i32::MIN => Expr::Const(Value::Int4(-value)),
            Expr::Const(Value::Int8(value)) if value != i64::MIN => Expr::Const(Value::Int8(-value)),
            Expr::Const(Value::Numeric(value)) => Expr::Const(Value::Numeric(value.negate())),
            other => Expr::Negate(Box::new(other)),
        };
        Ok(Typed::new(expr, without_modifier(ty)))
    }
}

/// Returns the type to which operands are cast for arithmetic. A `real` and a number of another type meet as doubles, a
/// time beside an interval becomes an interval.
fn common_or_float(left: Type, right: Type) -> Option<Type> {
    match common(left, right) {
        None if matches!((left, right), (Type::Time(_), Type::Interval(_)) | (Type::Interval(_), Type::Time(_))) => {
            Some(Type::INTERVAL)
        }
        Some(Type::Float4) if left != right => Some(Type::Float8),
        other => other,
    }
}
