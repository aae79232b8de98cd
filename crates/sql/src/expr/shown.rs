//! Formatting of bound expressions as text.

use super::functions::{Form, form_of};
use super::{
    Arithmetic, ArrayFunction, Comparison, Expr, Function, JsonFunction, Like, SequenceFunction, Subquery,
    SubqueryTest, Variadic,
};
use crate::catalog::enumeration::qualified;
use crate::catalog::{HIDDEN_PREFIX, Table, describe};
use crate::schema::{PUBLIC, quoted};
use crate::types::{Styles, encode_text, enumeration, is_number, number_literal, type_of};
use bytes::BytesMut;
use hotrow_storage::{Element, Type, Value};

/// Formats an expression as SQL, for EXPLAIN and the catalogs. If a table is given, columns are shown by its names. The
/// text of an expression that a definition can have is read as an equal expression.
pub(crate) fn shown(expr: &Expr, table: Option<&Table>) -> String {
    text(expr, None, Columns::of(table))
}

/// Formats an expression whose value has the type `ty`, as [`shown`] does. The type is needed for constants that do not
/// tell their types.
pub(crate) fn shown_as(expr: &Expr, ty: Type, table: Option<&Table>) -> String {
    text(expr, untold(ty), Columns::of(table))
}

/// Formats the condition of a domain, whose only column is the value, of the type `ty`.
pub(crate) fn shown_of_value(condition: &Expr, ty: Type) -> String {
    plain(condition, Columns::Value(ty))
}

/// The names of the columns in an expression.
#[derive(Clone, Copy)]
enum Columns<'t> {
    /// Numbers: the expression is over rows that are no table's.
    Numbered,
    /// The names of a table's columns.
    Table(&'t Table),
    /// VALUE, of this type, in the condition of a domain.
    Value(Type),
}

impl<'t> Columns<'t> {
    fn of(table: Option<&'t Table>) -> Self {
        table.map_or(Columns::Numbered, Columns::Table)
    }

    /// Returns the type of a column, if it is known.
    fn ty(self, column: usize) -> Option<Type> {
        match self {
            Columns::Numbered => None,
            Columns::Table(table) => Some(table.schema.columns.get(column)?.ty),
            Columns::Value(ty) => Some(ty),
        }
    }
}

fn plain(expr: &Expr, columns: Columns<'_>) -> String {
    text(expr, None, columns)
}

/// Formats an expression. `ty` is the [untold] type of its value, if the place of the expression implies one.
fn text(expr: &Expr, ty: Option<Type>, columns: Columns<'_>) -> String {
    let show = |expr: &Expr| plain(expr, columns);
    let all = |list: &[Expr], between: &str| list.iter().map(show).collect::<Vec<_>>().join(between);
    match expr {
        Expr::Const(value) => match ty.and_then(|ty| literal(value, ty)) {
            Some((literal, ty)) => format!("{literal}::{}", type_name(ty)),
            None => constant(value),
        },
        Expr::Param(index) => format!("${}", index + 1),
        Expr::Column(column) => column_name(*column, columns),
        Expr::Outer(frame, column) => format!("${frame}.{}", column + 1),
        Expr::Subquery(subquery) => of_subquery(subquery, columns),
        Expr::Invoke(invocation) => format!("{}({})", invocation.name, all(&invocation.arguments, ", ")),
        Expr::And(list) => format!("({})", all(list, " AND ")),
        Expr::Or(list) => format!("({})", all(list, " OR ")),
        Expr::Not(inner) => match &**inner {
            Expr::IsNull(tested) => format!("({} IS NOT NULL)", show(tested)),
            Expr::Same(pair, _) => distinct(pair, columns),
            inner => format!("(NOT {})", show(inner)),
        },
        Expr::IsNull(inner) => format!("({} IS NULL)", show(inner)),
        Expr::Compare(operator, pair, _) => {
            let [left, right] = beside([&pair.0, &pair.1], columns);
            format!("({left} {} {right})", operator.symbol())
        }
        Expr::Arithmetic(operator, pair) => {
            let [left, right] = beside([&pair.0, &pair.1], columns);
            // A minus sign before a power would be read as that of the power.
            let is_signed = matches!(operator, Arithmetic::Power) && left.starts_with('-');
            let left = if is_signed { format!("({left})") } else { left };
            format!("({left} {} {right})", operator.symbol())
        }
        Expr::In(value, list, _) => {
            let items = list.iter().map(|item| beside([value, item], columns)[1].clone());
            format!("({} IN ({}))", show(value), items.collect::<Vec<_>>().join(", "))
        }
        Expr::Like(like) => of_like(like, columns),
        Expr::IsBool(inner, value) => format!("({} IS {})", show(inner), if *value { "TRUE" } else { "FALSE" }),
        Expr::Same(pair, _) => format!("(NOT {})", distinct(pair, columns)),
        Expr::Negate(inner) => format!("(- {})", show(inner)),
        Expr::Concat(pair) => format!("({} || {})", show(&pair.0), show(&pair.1)),
        Expr::Coalesce(list) => format!("COALESCE({})", alike(list.iter(), ty, columns).join(", ")),
        Expr::NullIf(pair, _) => {
            format!("NULLIF({})", alike([&pair.0, &pair.1].into_iter(), ty, columns).join(", "))
        }
        Expr::Case(arms, otherwise) => {
            let results = alike(arms.iter().map(|(_, then)| then).chain([&**otherwise]), ty, columns);
            let whens = arms.iter().zip(&results).map(|((when, _), then)| format!("WHEN {} THEN {then} ", show(when)));
            let otherwise = results.last().map_or("", String::as_str);
            format!("CASE {}ELSE {otherwise} END", whens.collect::<String>())
        }
        Expr::Call(function, list) => call(*function, list, ty, columns)
            .unwrap_or_else(|| format!("(… {})", arguments(*function, list, ty, columns).join(", "))),
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
        Expr::Domain(inner, domain) => format!("({})::{}", show(inner), qualified(&domain.name)),
        Expr::Cast(inner, from, to, _) => format!("({})::{}", text(inner, untold(*from), columns), type_name(*to)),
        other => {
            let parts: Vec<_> = other.parts().into_iter().map(show).collect();
            format!("(… {})", parts.join(", "))
        }
    }
}

fn of_subquery(subquery: &Subquery, columns: Columns<'_>) -> String {
    match &subquery.test {
        SubqueryTest::Value | SubqueryTest::Column { .. } => "(SubPlan)".to_owned(),
        SubqueryTest::Array(_) => "ARRAY(SubPlan)".to_owned(),
        SubqueryTest::Exists => "EXISTS(SubPlan)".to_owned(),
        SubqueryTest::Matches(..) => "EXISTS(hashed SubPlan)".to_owned(),
        SubqueryTest::Compare(operator, every, _) => {
            let way = if *every { "ALL" } else { "ANY" };
            let hashed = *operator == Comparison::Equal && !every && subquery.arguments.is_empty();
            let plan = if hashed { "hashed SubPlan" } else { "SubPlan" };
            let operands: Vec<_> = subquery.operands.iter().map(|operand| plain(operand, columns)).collect();
            format!("({} {} {way} ({plan}))", operands.join(", "), operator.symbol())
        }
    }
}

fn of_like(like: &Like, columns: Columns<'_>) -> String {
    let (text, pattern) = (plain(&like.text, columns), plain(&like.pattern, columns));
    match like.escape {
        Some('\\') => {
            let (not, case) = (if like.negated { "!" } else { "" }, if like.ignore_case { "*" } else { "" });
            format!("({text} {not}~~{case} {pattern})")
        }
        escape => {
            let (not, case) = (if like.negated { "NOT " } else { "" }, if like.ignore_case { "I" } else { "" });
            let escape = escape.map(String::from).unwrap_or_default().replace('\'', "''");
            format!("({text} {not}{case}LIKE {pattern} ESCAPE '{escape}')")
        }
    }
}

fn distinct(pair: &(Expr, Expr), columns: Columns<'_>) -> String {
    let [left, right] = beside([&pair.0, &pair.1], columns);
    format!("({left} IS DISTINCT FROM {right})")
}

/// Formats a call of a function whose value has the [untold] type `ty`. Returns `None` if SQL has no notation for it.
fn call(function: Function, list: &[Expr], ty: Option<Type>, columns: Columns<'_>) -> Option<String> {
    match (function, list) {
        (Function::Array(ArrayFunction::Any(operator, every, _)), [value, array]) => {
            let way = if every { "ALL" } else { "ANY" };
            let [value, array] = beside([value, array], columns);
            return Some(format!("({value} {} {way} ({array}))", operator.symbol()));
        }
        (Function::Array(ArrayFunction::Like { ignore_case, negated, all }), [text, patterns]) => {
            let (not, case) = (if negated { "!" } else { "" }, if ignore_case { "*" } else { "" });
            let way = if all { "ALL" } else { "ANY" };
            return Some(format!("({} {not}~~{case} {way} ({}))", plain(text, columns), plain(patterns, columns)));
        }
        (function, []) if let Some(written) = function.written() => return Some(written.to_owned()),
        _ => {}
    }
    let texts = arguments(function, list, ty, columns);
    Some(match (form_of(function)?, &texts[..]) {
        (Form::Call(name), _) => {
            let schema = if matches!(function, Function::Column(_)) { "information_schema." } else { "" };
            format!("{schema}{name}({})", texts.join(", "))
        }
        (Form::Operator(operator), [left, right]) => format!("({left} {operator} {right})"),
        (Form::Prefix(operator), [operand]) => format!("({operator} {operand})"),
        (Form::Cast(ty), [value]) => cast(&list[0], value, ty),
        (Form::Name(ty), [number]) => format!("({})::text", cast(&list[0], number, ty)),
        (Form::Similar, [text, pattern, escape]) if *escape == "'\\'" => format!("({text} SIMILAR TO {pattern})"),
        (Form::Similar, [text, pattern, escape]) => format!("({text} SIMILAR TO {pattern} ESCAPE {escape})"),
        (Form::Extract(field), [moment]) => format!("EXTRACT({} FROM {moment})", field.written()),
        (Form::Array, _) => format!("ARRAY[{}]", texts.join(", ")),
        (Form::Subscript, [value, index]) => format!("{}[{index}]", subscripted(&list[0], value)),
        (Form::Slice(has_from, has_to), [array, from, to]) => {
            let from = if has_from { from.as_str() } else { "" };
            let to = if has_to { to.as_str() } else { "" };
            format!("{}[{from}:{to}]", subscripted(&list[0], array))
        }
        (Form::Row { of_relation }, _) => format!("row_to_json({})", row(list, of_relation, columns)),
        _ => return None,
    })
}

/// Formats a cast of an expression, which `text` is, to a type.
fn cast(expr: &Expr, text: &str, ty: &str) -> String {
    if let Expr::Const(Value::Text(_)) = expr { format!("{text}::{ty}") } else { format!("({text})::{ty}") }
}

/// Formats an expression, which `text` is, before a subscript.
fn subscripted(expr: &Expr, text: &str) -> String {
    match expr {
        Expr::Column(_) | Expr::Call(Function::Json(JsonFunction::Subscript), _) => text.to_owned(),
        _ => format!("({text})"),
    }
}

/// Formats a row. The expressions are the names of its columns, each before its value.
fn row(list: &[Expr], of_relation: bool, columns: Columns<'_>) -> String {
    match columns {
        Columns::Table(table) if of_relation => format!("{}.*", quoted(table.plain_name())),
        _ => {
            let values: Vec<_> = list.iter().skip(1).step_by(2).map(|value| plain(value, columns)).collect();
            format!("ROW({})", values.join(", "))
        }
    }
}

/// Formats the arguments of a call whose value has the [untold] type `ty`.
fn arguments(function: Function, list: &[Expr], ty: Option<Type>, columns: Columns<'_>) -> Vec<String> {
    use ArrayFunction as F;
    // The number of arguments that are values of one type or arrays of it, and this type if it is known and untold.
    let (count, ty) = match function {
        Function::Variadic(Variadic::Greatest | Variadic::Least) => (list.len(), ty),
        Function::Array(
            F::Make(element)
            | F::Concat(element)
            | F::Append(element)
            | F::Prepend(element)
            | F::Remove(element)
            | F::Replace(element),
        ) => (list.len(), untold(Type::Array(element))),
        Function::Array(F::Slice(element, ..) | F::Trim(element) | F::ToText(element)) => {
            (1, untold(Type::Array(element)))
        }
        Function::Array(F::Contains | F::Contained | F::Overlaps | F::Positions) => (list.len(), None),
        Function::Array(F::Position) => (2, None),
        _ => (0, None),
    };
    let (first, others) = list.split_at(count.min(list.len()));
    let mut texts = alike(first.iter(), ty, columns);
    texts.extend(others.iter().map(|argument| of_argument(function, argument, columns)));
    texts
}

/// Formats an argument of a function to which a text without a type may not be given, or which takes rows.
fn of_argument(function: Function, argument: &Expr, columns: Columns<'_>) -> String {
    use SequenceFunction::{CurrentValue, LastTaken, NextValue, SetValue};
    match (function, argument) {
        (
            Function::Variadic(Variadic::ToJson(_) | Variadic::JsonObject(_) | Variadic::JsonArray(_)),
            Expr::Call(Function::Variadic(Variadic::JsonRow { of_relation }), list),
        ) => row(list, *of_relation, columns),
        (Function::Variadic(Variadic::ToJson(_)), Expr::Const(Value::Text(_))) => {
            format!("{}::text", plain(argument, columns))
        }
        (Function::Sequence(NextValue | CurrentValue | SetValue | LastTaken), Expr::Const(Value::Text(_))) => {
            format!("{}::regclass", plain(argument, columns))
        }
        _ => alone(argument, None, columns),
    }
}

/// Returns the name of a column as SQL writes it. A hidden column of an index is written as its expression.
fn column_name(column: usize, columns: Columns<'_>) -> String {
    let known = match columns {
        Columns::Value(_) => return "VALUE".to_owned(),
        Columns::Table(table) => table.schema.columns.get(column),
        Columns::Numbered => None,
    };
    match known {
        Some(column) => column.name.strip_prefix(HIDDEN_PREFIX).map_or_else(|| quoted(&column.name), str::to_owned),
        None => format!("#{}", column + 1),
    }
}

/// Returns the name of a type. An enumerated type has its schema, so that the name does not depend on the search path.
fn type_name(ty: Type) -> String {
    let name = ty.to_string();
    // Every second part is in quotes.
    let has_schema = name.split('"').step_by(2).any(|part| part.contains('.'));
    if enumeration(ty).is_none() || has_schema { name } else { format!("{PUBLIC}.{name}") }
}

/// Returns a type, or that of an array's elements, if its constants do not tell it: an enumerated type, whose constants
/// are numbers, or the type of elements that are texts but have no type `text`. Returns `None` for any other type.
fn untold(ty: Type) -> Option<Type> {
    match ty {
        Type::Array(element) if matches!(element.ty(), Type::Varchar(_) | Type::Char(_) | Type::Name) => {
            Some(element.ty())
        }
        ty => enumeration(ty).map(Type::Enum),
    }
}

/// Returns the [untold] type of an expression's value. Returns `None` if there is none, or if the expression does not
/// imply one, as a constant does not.
fn untold_by(expr: &Expr, columns: Columns<'_>) -> Option<Type> {
    use ArrayFunction as F;
    let by_part = |part: &Expr| untold_by(part, columns);
    match expr {
        Expr::Column(column) => untold(columns.ty(*column)?),
        Expr::Cast(_, _, to, _) => untold(*to),
        Expr::Coalesce(list) | Expr::Call(Function::Variadic(Variadic::Greatest | Variadic::Least), list) => {
            list.iter().find_map(by_part)
        }
        Expr::NullIf(pair, _) => by_part(&pair.0).or_else(|| by_part(&pair.1)),
        Expr::Case(arms, otherwise) => arms.iter().find_map(|(_, then)| by_part(then)).or_else(|| by_part(otherwise)),
        Expr::Call(Function::Array(F::Subscript), list) => list.first().and_then(by_part),
        Expr::Call(
            Function::Array(
                F::Make(element)
                | F::Slice(element, ..)
                | F::Concat(element)
                | F::Append(element)
                | F::Prepend(element)
                | F::Remove(element)
                | F::Replace(element)
                | F::Trim(element),
            ),
            _,
        ) => untold(Type::Array(*element)),
        _ => None,
    }
}

/// Formats expressions that have one type, or are arrays of it. If the type is [untold], constants are written with it.
/// `ty` is the type if the place of the expressions implies it.
fn alike<'e>(exprs: impl Iterator<Item = &'e Expr> + Clone, ty: Option<Type>, columns: Columns<'_>) -> Vec<String> {
    let ty = ty.or_else(|| exprs.clone().find_map(|expr| untold_by(expr, columns)));
    let are_alone = exprs.clone().all(|expr| matches!(expr, Expr::Const(_)));
    exprs.map(|expr| if are_alone { alone(expr, ty, columns) } else { text(expr, ty, columns) }).collect()
}

/// Formats an expression beside which nothing implies its type. A number gets its type if its literal is read as one of
/// another type. `ty` is the [untold] type of the value, if the place of the expression implies one.
fn alone(expr: &Expr, ty: Option<Type>, columns: Columns<'_>) -> String {
    let text = text(expr, ty, columns);
    match expr {
        Expr::Const(value)
            if let Some(ty) = type_of(value).filter(|ty| is_number(*ty))
                && !text.starts_with('\'')
                && !number_literal(&text).is_ok_and(|read| type_of(&read) == Some(ty)) =>
        {
            format!("'{text}'::{ty}")
        }
        _ => text,
    }
}

/// Formats the two operands of an operator. A constant beside a value of an [untold] type is a literal without a type.
fn beside(pair: [&Expr; 2], columns: Columns<'_>) -> [String; 2] {
    let ty = pair.iter().find_map(|expr| untold_by(expr, columns));
    let are_alone = pair.iter().all(|expr| matches!(expr, Expr::Const(_)));
    pair.map(|expr| match (expr, ty) {
        (Expr::Const(value), Some(ty)) if let Some((literal, _)) = literal(value, ty) => literal,
        // A `real` is not equal to the double that a literal becomes beside it.
        (Expr::Const(Value::Float4(_)), _) => alone(expr, ty, columns),
        _ if are_alone => alone(expr, ty, columns),
        _ => text(expr, ty, columns),
    })
}

/// Formats a constant of the [untold] type `ty`, or an array of it, as a literal. Returns the literal with its type.
/// Returns `None` for any other constant.
fn literal(value: &Value<'_>, ty: Type) -> Option<(String, Type)> {
    let ty = match (value, ty) {
        (Value::Array(_), ty) => Type::Array(Element::of(ty)?),
        (Value::Int4(_), Type::Enum(_)) => ty,
        _ => return None,
    };
    let mut text = BytesMut::new();
    encode_text(value, ty, Styles::default(), &mut text);
    let text = String::from_utf8_lossy(&text).replace('\'', "''");
    Some((format!("'{text}'"), ty))
}

/// Formats a constant: a number or a Boolean without quotes, a text in quotes, and any other value in quotes with its
/// type.
fn constant(value: &Value<'_>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bool(value) => value.to_string(),
        value => {
            let text = describe(value);
            let literal = format!("'{}'", text.replace('\'', "''"));
            match type_of(value) {
                // NaN and Infinity are names outside of quotes.
                Some(ty) if is_number(ty) && text.ends_with(|last: char| last.is_ascii_digit()) => text,
                Some(ty) if !ty.is_text() => format!("{literal}::{ty}"),
                _ => literal,
            }
        }
    }
}
