//! Formatting of bound expressions as text.

use super::{ArrayFunction, Comparison, Expr, Function, SubqueryTest};
use crate::catalog::{Table, describe};
use hotrow_storage::{Type, Value};

/// Formats an expression similarly to SQL, for EXPLAIN and the catalogs. If a table is given, columns are shown by its
/// names.
pub(crate) fn shown(expr: &Expr, table: Option<&Table>) -> String {
    let show = |expr: &Expr| shown(expr, table);
    let all = |list: &[Expr], between: &str| list.iter().map(show).collect::<Vec<_>>().join(between);
    match expr {
        Expr::Const(value @ Value::Text(_)) => format!("'{}'", describe(value)),
        Expr::Const(Value::Null) => "NULL".to_owned(),
        Expr::Const(Value::Bool(value)) => value.to_string(),
        Expr::Const(value) => describe(value),
        Expr::Param(index) => format!("${}", index + 1),
        Expr::Column(column) => match table.and_then(|table| table.schema.columns.get(*column)) {
            Some(column) => column.name.clone(),
            None => format!("#{}", column + 1),
        },
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
        Expr::And(list) => format!("({})", all(list, " AND ")),
        Expr::Or(list) => format!("({})", all(list, " OR ")),
        Expr::Not(inner) => match &**inner {
            Expr::IsNull(tested) => format!("({} IS NOT NULL)", show(tested)),
            inner => format!("(NOT {})", show(inner)),
        },
        Expr::IsNull(inner) => format!("({} IS NULL)", show(inner)),
        Expr::Compare(operator, pair, _) => format!("({} {} {})", show(&pair.0), operator.symbol(), show(&pair.1)),
        Expr::Arithmetic(operator, pair) => format!("({} {} {})", show(&pair.0), operator.symbol(), show(&pair.1)),
        Expr::In(value, list, _) => format!("({} IN ({}))", show(value), all(list, ", ")),
        Expr::Call(Function::Array(ArrayFunction::Any(operator, every, _)), list) if let [value, array] = &list[..] => {
            let way = if *every { "ALL" } else { "ANY" };
            format!("({} {} {way} ({}))", show(value), operator.symbol(), show(array))
        }
        Expr::Call(Function::Array(ArrayFunction::Like { ignore_case, negated, all }), list)
            if let [text, patterns] = &list[..] =>
        {
            let (not, case) = (if *negated { "!" } else { "" }, if *ignore_case { "*" } else { "" });
            let way = if *all { "ALL" } else { "ANY" };
            format!("({} {not}~~{case} {way} ({}))", show(text), show(patterns))
        }
        Expr::Like(like) => format!("({} ~~ {})", show(&like.text), show(&like.pattern)),
        Expr::Call(function, list) if list.is_empty() && function.written().is_some() => {
            function.written().unwrap_or_default().to_owned()
        }
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
