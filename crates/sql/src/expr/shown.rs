//! Formatting of bound expressions as text.

use super::functions::{Form, form_of};
use super::{ArrayFunction, Comparison, Expr, Function, SubqueryTest};
use crate::catalog::{HIDDEN_PREFIX, Table, describe};
use crate::schema::quoted;
use crate::types::{Styles, encode_text, enumeration, is_number, type_of};
use bytes::BytesMut;
use hotrow_storage::{Element, Type, Value};

/// Formats an expression similarly to SQL, for EXPLAIN and the catalogs. If a table is given, columns are shown by its
/// names.
pub(crate) fn shown(expr: &Expr, table: Option<&Table>) -> String {
    let show = |expr: &Expr| shown(expr, table);
    let all = |list: &[Expr], between: &str| list.iter().map(show).collect::<Vec<_>>().join(between);
    match expr {
        Expr::Const(value) => constant(value),
        Expr::Param(index) => format!("${}", index + 1),
        Expr::Column(column) => column_name(*column, table),
        Expr::Outer(frame, column) => format!("${frame}.{}", column + 1),
        Expr::Subquery(subquery) => match &subquery.test {
            SubqueryTest::Value => "(SubPlan)".to_owned(),
            SubqueryTest::Array(_) => "ARRAY(SubPlan)".to_owned(),
            SubqueryTest::Exists => "EXISTS(SubPlan)".to_owned(),
            SubqueryTest::Matches(..) => "EXISTS(hashed SubPlan)".to_owned(),
            SubqueryTest::Compare(operator, every, _) => {
                let way = if *every { "ALL" } else { "ANY" };
                let hashed = *operator == Comparison::Equal && !every && subquery.arguments.is_empty();
                let plan = if hashed { "hashed SubPlan" } else { "SubPlan" };
                format!("({} {} {way} ({plan}))", all(&subquery.operands, ", "), operator.symbol())
            }
        },
        Expr::Invoke(invocation) => format!("{}({})", invocation.name, all(&invocation.arguments, ", ")),
        Expr::And(list) => format!("({})", all(list, " AND ")),
        Expr::Or(list) => format!("({})", all(list, " OR ")),
        Expr::Not(inner) => match &**inner {
            Expr::IsNull(tested) => format!("({} IS NOT NULL)", show(tested)),
            inner => format!("(NOT {})", show(inner)),
        },
        Expr::IsNull(inner) => format!("({} IS NULL)", show(inner)),
        Expr::Compare(operator, pair, _) => {
            let [left, right] = beside([&pair.0, &pair.1], table);
            format!("({left} {} {right})", operator.symbol())
        }
        Expr::Arithmetic(operator, pair) => format!("({} {} {})", show(&pair.0), operator.symbol(), show(&pair.1)),
        Expr::In(value, list, _) => {
            let items = list.iter().map(|item| beside([value, item], table)[1].clone());
            format!("({} IN ({}))", show(value), items.collect::<Vec<_>>().join(", "))
        }
        Expr::Call(Function::Array(ArrayFunction::Any(operator, every, _)), list) if let [value, array] = &list[..] => {
            let way = if *every { "ALL" } else { "ANY" };
            let [value, array] = beside([value, array], table);
            format!("({value} {} {way} ({array}))", operator.symbol())
        }
        Expr::Call(Function::Array(ArrayFunction::Like { ignore_case, negated, all }), list)
            if let [text, patterns] = &list[..] =>
        {
            let (not, case) = (if *negated { "!" } else { "" }, if *ignore_case { "*" } else { "" });
            let way = if *all { "ALL" } else { "ANY" };
            format!("({} {not}~~{case} {way} ({}))", show(text), show(patterns))
        }
        Expr::Like(like) => {
            let (not, case) = (if like.negated { "!" } else { "" }, if like.ignore_case { "*" } else { "" });
            match like.escape {
                Some('\\') => format!("({} {not}~~{case} {})", show(&like.text), show(&like.pattern)),
                escape => {
                    let (not, case) = (if like.negated { "NOT " } else { "" }, if like.ignore_case { "I" } else { "" });
                    let escape = escape.map(String::from).unwrap_or_default().replace('\'', "''");
                    format!("({} {not}{case}LIKE {} ESCAPE '{escape}')", show(&like.text), show(&like.pattern))
                }
            }
        }
        Expr::IsBool(inner, value) => format!("({} IS {})", show(inner), if *value { "TRUE" } else { "FALSE" }),
        Expr::Same(pair, _) => format!("(NOT ({} IS DISTINCT FROM {}))", show(&pair.0), show(&pair.1)),
        Expr::Negate(inner) => format!("(- {})", show(inner)),
        Expr::Concat(pair) => format!("({} || {})", show(&pair.0), show(&pair.1)),
        Expr::Coalesce(list) => format!("COALESCE({})", all(list, ", ")),
        Expr::NullIf(pair, _) => format!("NULLIF({}, {})", show(&pair.0), show(&pair.1)),
        Expr::Case(arms, otherwise) => {
            let arms = arms.iter().map(|(when, then)| format!("WHEN {} THEN {} ", show(when), show(then)));
            format!("CASE {}ELSE {} END", arms.collect::<String>(), show(otherwise))
        }
        Expr::Call(function, list) if list.is_empty() && function.written().is_some() => {
            function.written().unwrap_or_default().to_owned()
        }
        Expr::Call(function, list) if let Some(form) = form_of(*function) => match (form, list.as_slice()) {
            (Form::Operator(operator), [left, right]) => format!("({} {operator} {})", show(left), show(right)),
            (Form::Call(name) | Form::Operator(name), _) => format!("{name}({})", all(list, ", ")),
        },
        Expr::Call(Function::Array(ArrayFunction::Make(_)), list) => format!("ARRAY[{}]", all(list, ", ")),
        // A cast that only takes the scale away is not shown.
        Expr::Cast(inner, Type::Numeric(_), Type::Numeric(None), _) => show(inner),
        // CURRENT_TIMESTAMP(3) and the like.
        Expr::Cast(
            inner,
            _,
            Type::TimestampTz(Some(digits)) | Type::Timestamp(Some(digits)) | Type::Time(Some(digits)),
            _,
        ) if let Expr::Call(Function::Session(function), _) = &**inner
            && let Some(moment) = function.moment() =>
        {
            format!("{moment}({})", digits.count())
        }
        Expr::Cast(inner, _, to, _) => format!("({})::{to}", show(inner)),
        other => {
            let parts: Vec<_> = other.parts().into_iter().map(show).collect();
            format!("(… {})", parts.join(", "))
        }
    }
}

/// Returns the name of a column. That of a hidden column of an index is its expression.
fn column_name(column: usize, table: Option<&Table>) -> String {
    match table.and_then(|table| table.schema.columns.get(column)) {
        Some(column) => column.name.strip_prefix(HIDDEN_PREFIX).map_or_else(|| quoted(&column.name), str::to_owned),
        None => format!("#{}", column + 1),
    }
}

/// Formats two expressions that are compared. A constant beside a column of an enumerated type is shown as its label.
fn beside(pair: [&Expr; 2], table: Option<&Table>) -> [String; 2] {
    let of_enum = pair.iter().find_map(|expr| enum_column(expr, table));
    pair.map(|expr| labelled(expr, of_enum).unwrap_or_else(|| shown(expr, table)))
}

/// Returns the type of a column, if it is enumerated.
fn enum_column(expr: &Expr, table: Option<&Table>) -> Option<Type> {
    let Expr::Column(column) = expr else { return None };
    let ty = table?.schema.columns.get(*column)?.ty;
    enumeration(ty).map(|_| ty)
}

/// Formats a constant that stands beside a value of an enumerated type as a literal, whose type the value beside it
/// decides. Returns `None` for any other expression.
fn labelled(expr: &Expr, of_enum: Option<Type>) -> Option<String> {
    let (ty, value) = match (of_enum?, expr) {
        (ty, Expr::Const(value @ Value::Array(_))) => (Element::of(ty).map_or(ty, Type::Array), value),
        (ty, Expr::Const(value @ Value::Int4(_))) => (ty, value),
        _ => return None,
    };
    let mut text = BytesMut::new();
    encode_text(value, ty, Styles::default(), &mut text);
    let text = String::from_utf8_lossy(&text).replace('\'', "''");
    Some(format!("'{text}'"))
}

/// Formats a constant: a number or a Boolean as it is, a text in quotes, and anything else in quotes with its type.
fn constant(value: &Value<'_>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bool(value) => value.to_string(),
        value => match type_of(value) {
            Some(ty) if is_number(ty) => describe(value),
            Some(ty) if !ty.is_text() => format!("'{}'::{ty}", describe(value).replace('\'', "''")),
            _ => format!("'{}'", describe(value).replace('\'', "''")),
        },
    }
}
