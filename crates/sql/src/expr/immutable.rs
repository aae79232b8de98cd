//! Whether an expression has the same value for the same row at any time and in any session, so that the value may be
//! stored.

use super::functions::{ArrayFunction, Function, IntervalFunction, NumberFunction, TimeFunction, Variadic};
use super::{Arithmetic, Expr};
use crate::types::type_of;
use hotrow_storage::{Element, Type};

impl Expr {
    /// Whether the value depends on nothing but the row: not on the present time, a setting such as the time zone, or a
    /// stored object. `type_of_column` returns the types of the row's columns.
    pub fn is_immutable(&self, type_of_column: &dyn Fn(usize) -> Type) -> bool {
        let is_zoned = |expr: &Expr| is_zoned(expr, type_of_column);
        !self.any(&mut |part| match part {
            Expr::Call(function, arguments) => !is_immutable_call(*function, arguments, &is_zoned),
            Expr::Cast(_, from, to, _) => depends_on_settings(*from, *to),
            Expr::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, pair) => is_zoned(&pair.0) != is_zoned(&pair.1),
            Expr::Subquery(_) | Expr::Invoke(_) | Expr::Param(_) | Expr::Outer(..) => true,
            _ => false,
        })
    }
}

fn is_immutable_call(function: Function, arguments: &[Expr], is_zoned: &dyn Fn(&Expr) -> bool) -> bool {
    match function {
        Function::Number(NumberFunction::ToCharacters | NumberFunction::ToNumber) => false,
        Function::Number(_) | Function::Text(_) | Function::Pattern(_) | Function::Json(_) | Function::Column(_) => {
            true
        }
        Function::JsonPath(function) => !function.is_zoned(),
        Function::Sequence(_)
        | Function::Catalog(_)
        | Function::Session(_)
        | Function::Lock(_)
        | Function::Notification(_)
        | Function::Setting(_) => false,
        Function::Time(function) => match function {
            TimeFunction::ToCharacters | TimeFunction::ToDate | TimeFunction::MakeTimestampTz => false,
            TimeFunction::ToTimestamp => arguments.len() == 1,
            TimeFunction::Extract(_) | TimeFunction::DatePart | TimeFunction::DateTrunc => {
                !arguments.iter().any(is_zoned)
            }
            TimeFunction::MakeDate
            | TimeFunction::MakeTimestamp
            | TimeFunction::IsFinite
            | TimeFunction::AtTimeZone => true,
        },
        Function::Interval(function) => function != IntervalFunction::Age || !arguments.iter().any(is_zoned),
        Function::Variadic(function) => match function {
            Variadic::Concat
            | Variadic::ConcatWithSeparator
            | Variadic::Format
            | Variadic::JsonObject(_)
            | Variadic::JsonArray(_)
            | Variadic::JsonRow { .. }
            | Variadic::ToJson(_) => false,
            Variadic::Greatest
            | Variadic::Least
            | Variadic::CountNulls
            | Variadic::CountValues
            | Variadic::MakeInterval => true,
        },
        Function::Array(function) => !matches!(function, ArrayFunction::ToText(_)),
    }
}

/// Whether the value of an expression may be a `timestamptz` or an array of them.
fn is_zoned(expr: &Expr, type_of_column: &dyn Fn(usize) -> Type) -> bool {
    let is_type = |ty: Type| matches!(ty, Type::TimestampTz(_) | Type::Array(Element::TimestampTz(_)));
    let any = |list: &[Expr]| list.iter().any(|expr| is_zoned(expr, type_of_column));
    match expr {
        Expr::Const(value) => type_of(value).is_some_and(is_type),
        Expr::Column(column) => is_type(type_of_column(*column)),
        Expr::Cast(_, _, to, _) => is_type(*to),
        Expr::Case(arms, otherwise) => {
            arms.iter().any(|(_, value)| is_zoned(value, type_of_column)) || is_zoned(otherwise, type_of_column)
        }
        Expr::Coalesce(list) => any(list),
        Expr::NullIf(pair, _) => is_zoned(&pair.0, type_of_column),
        Expr::Arithmetic(_, pair) => is_zoned(&pair.0, type_of_column) != is_zoned(&pair.1, type_of_column),
        Expr::Call(Function::Time(TimeFunction::AtTimeZone), list) => !any(list),
        Expr::Call(Function::Time(TimeFunction::ToTimestamp | TimeFunction::MakeTimestampTz), _) => true,
        Expr::Call(Function::Time(TimeFunction::DateTrunc), list) => any(list),
        Expr::Call(Function::Interval(IntervalFunction::DateBin), list) => any(list),
        Expr::Call(Function::Variadic(_) | Function::Array(_), list) => any(list),
        _ => false,
    }
}

/// Whether a cast depends on settings: the time zone, the style of dates and intervals, or the names of objects.
fn depends_on_settings(from: Type, to: Type) -> bool {
    let is_text = |ty: Type| ty.is_text() || matches!(ty, Type::Name);
    let is_moment = |ty: Type| matches!(ty, Type::Date | Type::Timestamp(_) | Type::TimestampTz(_));
    let is_zoned = |ty: Type| matches!(ty, Type::TimestampTz(_));
    let is_named = |ty: Type| matches!(ty, Type::Enum(_) | Type::Reg(_));
    let is_array = |ty: Type| matches!(ty, Type::Array(_));
    let from_text = is_moment(to) || matches!(to, Type::Time(_) | Type::Interval(_)) || is_named(to) || is_array(to);
    let to_text = is_moment(from) || matches!(from, Type::Interval(_)) || is_named(from) || is_array(from);
    (is_text(from) && from_text)
        || (is_text(to) && to_text)
        || (is_zoned(from) != is_zoned(to) && !is_text(from) && !is_text(to))
}
