//! Conditions: their conjuncts, and the order in which these are checked.

use crate::expr::Expr;
use hotrow_storage::{Type, Value};

/// Splits a condition into its conjuncts, all of which must be true.
pub(super) fn conjuncts(condition: Option<Expr>) -> Vec<Expr> {
    match condition {
        Some(Expr::And(list)) => flatten(list),
        Some(other) => vec![other],
        None => Vec::new(),
    }
}

fn flatten(list: Vec<Expr>) -> Vec<Expr> {
    let mut flat = Vec::with_capacity(list.len());
    for expr in list {
        match expr {
            Expr::And(inner) => flat.extend(flatten(inner)),
            other => flat.push(other),
        }
    }
    flat
}

/// Joins conditions by AND, the cheapest first. Returns `None` if there is none besides the constant TRUE.
pub(super) fn conjunction(mut list: Vec<Expr>) -> Option<Expr> {
    list.retain(|expr| !is_true(expr));
    // An expression that does not depend on the row, but is no constant yet, may fail when it is evaluated.
    let decided = list.iter().all(|expr| matches!(expr, Expr::Const(_)) || !expr.is_row_independent());
    if decided && list.iter().any(|expr| matches!(expr, Expr::Const(Value::Null | Value::Bool(false)))) {
        return Some(Expr::bool(false));
    }
    list.sort_by_cached_key(effort);
    match list.len() {
        0 => None,
        1 => list.pop(),
        _ => Some(Expr::And(list)),
    }
}

/// Estimates the cost of an expression, in evaluations of the simplest operators.
pub(super) fn effort(expr: &Expr) -> usize {
    let own = match expr {
        Expr::Const(_) | Expr::Param(_) | Expr::Column(_) | Expr::Outer(..) => return 0,
        Expr::Subquery(_) | Expr::Invoke(_) => 10_000,
        Expr::In(_, list, _) => list.len().div_ceil(2),
        Expr::And(_) | Expr::Or(_) | Expr::Not(_) | Expr::IsNull(_) => 0,
        Expr::Cast(_, Type::Text, to, _) if !to.is_text() => 2,
        _ => 1,
    };
    own + expr.parts().into_iter().map(effort).sum::<usize>()
}

/// Whether an expression is the constant TRUE, which needs no check.
pub(super) fn is_true(expr: &Expr) -> bool {
    *expr == Expr::Const(Value::Bool(true))
}

/// Whether an expression may have different values for the same row.
pub(super) fn is_volatile(expr: &Expr) -> bool {
    expr.any(&mut |part| matches!(part, Expr::Call(function, _) if function.is_volatile()))
}
