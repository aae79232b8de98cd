//! Indexes on expressions and partial indexes: which conditions and orders they serve.
//!
//! The values of an indexed expression are stored in a hidden column. A condition that mentions the expression also
//! holds if the column takes its place. So the planner adds such conditions, and an index on a hidden column serves
//! them as any other.
//!
//! A partial index is used if the conditions imply the condition of the index. For each conjunct of the latter, there
//! must be an equal condition, or the conjunct is `x IS NOT NULL` and a condition compares `x`.
//!
//! Expressions are compared in a normal form, without casts that change no value: a dump of PostgreSQL has
//! `lower((name)::text)` where a query has `lower(name)`.

use super::condition::conjuncts;
use crate::catalog::Table;
use crate::expr::{ArrayFunction, Comparison, Expr, Function};
use hotrow_storage::{IndexRef, Type, Value};

/// Returns the conditions over the hidden columns of indexes that follow from `conditions`, which are about a row of
/// the table. For a partial index, one of them says that the row is in the index.
pub(super) fn derived(table: &Table, conditions: &[Expr]) -> Vec<Expr> {
    let mut derived = Vec::new();
    if table.visible() == table.stored() {
        return derived;
    }
    let conditions: Vec<_> = conditions.iter().cloned().map(normal).collect();
    for index in table.indexes() {
        if let Some(predicate) = table.predicate(index) {
            if !implies(&conditions, predicate) {
                continue;
            }
            derived.push(Expr::Column(table.index_columns(index)[0]));
        }
        for &column in table.key_columns(index).iter().filter(|column| table.is_hidden(**column)) {
            let Some(value) = table.key_expression(index, column).map(normal) else { continue };
            for condition in &conditions {
                let mut changed = condition.clone();
                if replace(&mut changed, &value, column) {
                    derived.push(changed);
                }
            }
        }
    }
    derived
}

/// Whether the column of an index has the value of an expression over the table's row.
pub(super) fn is_value(table: &Table, index: IndexRef, column: usize, expr: &Expr) -> bool {
    *expr == Expr::Column(column)
        || (table.key_columns(index).contains(&column)
            && table.is_hidden(column)
            && table.key_expression(index, column).map(normal) == Some(normal(expr.clone())))
}

/// Whether conditions imply a predicate. Only the form of the conditions is compared, so the result may be false
/// although they do.
pub(super) fn implies(conditions: &[Expr], predicate: Expr) -> bool {
    let known: Vec<_> = conditions.iter().flat_map(parts).map(canonical).collect();
    parts(&predicate).into_iter().map(canonical).all(|part| {
        let tested = match &part {
            Expr::Not(inner) => match &**inner {
                Expr::IsNull(tested) => Some(&**tested),
                _ => None,
            },
            _ => None,
        };
        known.contains(&part) || tested.is_some_and(|tested| known.iter().any(|known| refuses_null(known, tested)))
    })
}

fn parts(condition: &Expr) -> Vec<Expr> {
    conjuncts(Some(normal(condition.clone())))
}

/// Returns the normal form of an expression, which has the same value: without casts that change no value, and with IN
/// in place of `= ANY` of a constant array.
fn normal(mut expr: Expr) -> Expr {
    for part in expr.parts_mut() {
        *part = normal(std::mem::replace(part, Expr::NULL));
    }
    match expr {
        Expr::Cast(inner, from, to, _) if is_same(from, to) => *inner,
        Expr::Call(Function::Array(ArrayFunction::Any(Comparison::Equal, false, blanks)), operands) => {
            match (&operands[..], operands.get(1).and_then(elements)) {
                ([value, _], Some(list)) => Expr::In(Box::new(value.clone()), list, blanks),
                _ => Expr::Call(Function::Array(ArrayFunction::Any(Comparison::Equal, false, blanks)), operands),
            }
        }
        other => other,
    }
}

/// Whether a cast between these types never changes a value.
fn is_same(from: Type, to: Type) -> bool {
    let is_text = |ty: Type| matches!(ty, Type::Text | Type::Varchar(_));
    let is_numeric = matches!((from, to), (Type::Numeric(_), Type::Numeric(None)));
    is_numeric || is_text(from) && matches!(to, Type::Text | Type::Varchar(None))
}

/// Returns the elements of an array of constants, or `None` for any other expression.
fn elements(array: &Expr) -> Option<Vec<Expr>> {
    match array {
        Expr::Const(Value::Array(array)) => Some(array.iter().map(|value| Expr::Const(value.into_owned())).collect()),
        Expr::Call(Function::Array(ArrayFunction::Make(_)), list) => {
            list.iter().all(|element| matches!(element, Expr::Const(_))).then(|| list.clone())
        }
        Expr::Cast(inner, Type::Array(from), Type::Array(to), _) if is_same(from.ty(), to.ty()) => elements(inner),
        _ => None,
    }
}

/// Whether a condition cannot be true if `value` is NULL. Only comparisons, IN, LIKE and the value itself are known to
/// be such conditions.
fn refuses_null(condition: &Expr, value: &Expr) -> bool {
    match condition {
        Expr::Compare(_, pair, _) => pair.0 == *value || pair.1 == *value,
        Expr::In(tested, ..) => **tested == *value,
        Expr::Like(like) => like.text == *value,
        condition => condition == value,
    }
}

/// Returns one form for several conditions that are true for the same rows: `b = true` and `b IS TRUE` become `b`.
/// Where the condition is not true, its form may be NULL instead of false, or false instead of NULL.
fn canonical(condition: Expr) -> Expr {
    let of_bool = |tested: Expr, value: bool| if value { tested } else { Expr::Not(Box::new(tested)) };
    match condition {
        Expr::Compare(Comparison::Equal, pair, _) if let Expr::Const(Value::Bool(value)) = pair.1 => {
            of_bool(pair.0, value)
        }
        Expr::IsBool(tested, value) => of_bool(*tested, value),
        other => other,
    }
}

/// Replaces each occurrence of `value` in an expression by a column. Returns whether there was any.
fn replace(expr: &mut Expr, value: &Expr, column: usize) -> bool {
    if expr == value {
        *expr = Expr::Column(column);
        return true;
    }
    let mut found = false;
    for part in expr.parts_mut() {
        found |= replace(part, value, column);
    }
    found
}
