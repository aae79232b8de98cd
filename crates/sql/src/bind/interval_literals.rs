//! Intervals: literals with fields, arithmetic with dates and times, and `make_interval`.

use super::binder::Binder;
use super::errors::no_function;
use super::scope::Scope;
use super::typed::Typed;
use crate::SqlError;
use crate::error::unsupported;
use crate::expr::{Arithmetic, Expr, Function, Strictness, Variadic};
use crate::parse::names::fold;
use crate::types::interval_text::{Fields, Unit, parse};
use crate::types::without_modifier;
use hotrow_storage::{Type, Value};
use sqlparser::ast::{self, DateTimeField, Expr as A, FunctionArg, FunctionArgExpr};

/// The names of the arguments of `make_interval`.
const PARTS: [&str; 7] = ["years", "months", "weeks", "days", "hours", "mins", "secs"];

/// Returns the types to which the operands of date and interval arithmetic are cast, and the result's type. Returns
/// `None` if operands of these types need another operator.
pub(super) fn arithmetic(op: Arithmetic, left: Option<Type>, right: Option<Type>) -> Option<((Type, Type), Type)> {
    use Arithmetic::{Add, Divide, Multiply, Subtract};
    use Type::{Date, Float8, Interval, Time, Timestamp, TimestampTz};
    const INTERVAL: Type = Type::INTERVAL;
    const TIME: Type = Type::TIME;
    let is_moment = |ty: Type| matches!(ty, Timestamp(_) | TimestampTz(_));
    let (left, right) = (left.map(without_modifier), right.map(without_modifier));
    // Beside an interval, a date is taken for a timestamp.
    let moment = |ty: Type| if ty == Date { Type::TIMESTAMP } else { ty };
    Some(match (left, op, right) {
        (Some(ty @ (Date | Timestamp(_) | TimestampTz(_))), Add | Subtract, Some(Interval(_))) => {
            ((moment(ty), INTERVAL), moment(ty))
        }
        (Some(Interval(_)), Add, Some(ty @ (Date | Timestamp(_) | TimestampTz(_)))) => {
            ((INTERVAL, moment(ty)), moment(ty))
        }
        // A time of day beside a timestamp is cast to an interval.
        (Some(ty), Add | Subtract, Some(Time(_))) if is_moment(ty) => ((ty, INTERVAL), ty),
        (Some(Time(_)), Add, Some(ty)) if is_moment(ty) => ((INTERVAL, ty), ty),
        // An operand of unknown type beside a timestamp is an interval if it is added, and a timestamp in a
        // subtraction.
        (Some(ty), Add, None) if is_moment(ty) => ((ty, INTERVAL), ty),
        (None, Add, Some(ty)) if is_moment(ty) => ((INTERVAL, ty), ty),
        (Some(ty), Subtract, None) | (None, Subtract, Some(ty)) if is_moment(ty) => ((ty, ty), INTERVAL),
        (Some(one), Subtract, Some(other)) if is_moment(one) && is_moment(other) => {
            let ty = if one == other { one } else { Type::TIMESTAMP_TZ };
            ((ty, ty), INTERVAL)
        }
        (Some(Date), Subtract, Some(ty)) | (Some(ty), Subtract, Some(Date)) if is_moment(ty) => ((ty, ty), INTERVAL),
        (Some(Interval(_)), Add | Subtract, Some(Interval(_)) | None) | (None, Add | Subtract, Some(Interval(_))) => {
            ((INTERVAL, INTERVAL), INTERVAL)
        }
        (Some(Interval(_)), Multiply | Divide, Some(ty)) if crate::types::is_number(ty) => {
            ((INTERVAL, Float8), INTERVAL)
        }
        (Some(Interval(_)), Multiply | Divide, None) => ((INTERVAL, Float8), INTERVAL),
        (Some(ty), Multiply, Some(Interval(_))) if crate::types::is_number(ty) => ((Float8, INTERVAL), INTERVAL),
        (None, Multiply, Some(Interval(_))) => ((Float8, INTERVAL), INTERVAL),
        (Some(Time(_)), Add | Subtract, Some(Interval(_))) | (Some(Time(_)), Add, None) => ((TIME, INTERVAL), TIME),
        (Some(Interval(_)), Add, Some(Time(_))) => ((INTERVAL, TIME), TIME),
        (Some(Time(_)), Subtract, Some(Time(_)) | None) | (None, Subtract, Some(Time(_))) => ((TIME, TIME), INTERVAL),
        (Some(Date), Add, Some(Time(_))) => ((Date, TIME), Type::TIMESTAMP),
        (Some(Time(_)), Add, Some(Date)) => ((TIME, Date), Type::TIMESTAMP),
        _ => return None,
    })
}

fn unit(field: &DateTimeField) -> Option<Unit> {
    Some(match field {
        DateTimeField::Year => Unit::Year,
        DateTimeField::Month => Unit::Month,
        DateTimeField::Day => Unit::Day,
        DateTimeField::Hour => Unit::Hour,
        DateTimeField::Minute => Unit::Minute,
        DateTimeField::Second => Unit::Second,
        _ => return None,
    })
}

impl Binder<'_> {
    /// Binds `INTERVAL '…'`, with or without fields after it.
    pub(super) fn interval_literal(&mut self, literal: &ast::Interval, scope: &Scope) -> Result<Typed, SqlError> {
        if literal.leading_precision.is_some() || literal.fractional_seconds_precision.is_some() {
            return Err(unsupported("an interval of less than six digits"));
        }
        let finest = literal.last_field.as_ref().or(literal.leading_field.as_ref());
        let fields = match finest.map(|field| unit(field).ok_or(field)).transpose() {
            Ok(None) => None,
            Ok(Some(finest)) => {
                let from_minutes = literal.leading_field == Some(DateTimeField::Minute);
                Some(Fields { finest, minutes_first: from_minutes && literal.last_field.is_some() })
            }
            Err(field) => return Err(unsupported(&format!("an interval's field {field}"))),
        };
        let typed = self.expr(&literal.value, scope)?;
        let Expr::Const(Value::Text(text)) = &typed.expr else {
            return Err(unsupported("INTERVAL before anything but a string").hint("Say CAST(… AS interval)."));
        };
        let interval =
            parse(text, fields, self.view.styles.intervals).map_err(|error| self.locate_at(error, typed.at))?;
        Ok(Typed::new(Expr::Const(Value::Interval(interval)), Type::INTERVAL))
    }

    /// Binds `make_interval`, whose arguments may be named and left out.
    pub(super) fn make_interval(&mut self, list: &[FunctionArg], scope: &Scope) -> Result<Typed, SqlError> {
        let mut parts: [Option<Expr>; 7] = Default::default();
        let mut types = Vec::with_capacity(list.len());
        for (position, argument) in list.iter().enumerate() {
            let named = |name: &str| PARTS.iter().position(|part| *part == name);
            let (place, argument) = match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => (Some(position), argument),
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(argument), .. } => (named(&fold(name)), argument),
                FunctionArg::ExprNamed { name: A::Identifier(name), arg: FunctionArgExpr::Expr(argument), .. } => {
                    (named(&fold(name)), argument)
                }
                _ => return Err(unsupported("this kind of argument")),
            };
            let typed = self.expr(argument, scope)?;
            types.push(typed.ty);
            let free = place.and_then(|place| Some((place, parts.get_mut(place).filter(|part| part.is_none())?)));
            let Some((place, part)) = free else { return Err(no_function("make_interval", &types)) };
            let wanted = if place == 6 { Type::Float8 } else { Type::Int4 };
            if typed.ty.is_some_and(|ty| !crate::expr::can_cast(ty, wanted, Strictness::Implicit)) {
                return Err(no_function("make_interval", &types));
            }
            *part = Some(self.coerce(typed, wanted, Strictness::Implicit)?);
        }
        let zero = |place| if place == 6 { Value::Float8(0.0) } else { Value::Int4(0) };
        let parts = parts.into_iter().enumerate();
        let parts = parts.map(|(place, part)| part.unwrap_or_else(|| Expr::Const(zero(place)))).collect();
        Ok(Typed::new(Expr::Call(Function::Variadic(Variadic::MakeInterval), parts), Type::INTERVAL))
    }
}
