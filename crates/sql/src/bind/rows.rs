//! Rows in expressions: `(a, b) < (1, 2)`, `ROW(a, b) IN ((1, 2), (3, 4))`, `(a, b) IS NULL`.

use super::binder::Binder;
use super::scope::Scope;
use super::typed::Typed;
use crate::error::unsupported;
use crate::expr::{Comparison, Expr};
use crate::{SqlError, state};
use sqlparser::ast::{Expr as A, Function, FunctionArg, FunctionArgExpr, FunctionArguments};
use std::borrow::Cow;

/// Returns the parts of a row that is written as `(a, b)` or `ROW(a, b)`, or `None` if the expression is something
/// else.
pub(super) fn parts_of_row(expr: &A) -> Option<Cow<'_, [A]>> {
    match expr {
        A::Tuple(parts) => Some(Cow::Borrowed(parts)),
        A::Function(Function { name, args: FunctionArguments::List(list), .. })
            if name.to_string().eq_ignore_ascii_case("row") =>
        {
            let part = |argument: &FunctionArg| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(part)) => Some(part.clone()),
                _ => None,
            };
            list.args.iter().map(part).collect::<Option<Vec<_>>>().map(Cow::Owned)
        }
        _ => None,
    }
}

impl Binder<'_> {
    /// Binds the fields of a row, which is written out or is that of a variable. Returns `None` for any other
    /// expression.
    pub(super) fn fields_of_row(&mut self, expr: &A, scope: &Scope) -> Result<Option<Vec<Typed>>, SqlError> {
        if let Some(fields) = self.row_variable(expr)? {
            return Ok(Some(fields.into_iter().map(|(_, field)| field).collect()));
        }
        let Some(parts) = parts_of_row(expr) else { return Ok(None) };
        parts.iter().map(|part| self.expr(part, scope)).collect::<Result<_, _>>().map(Some)
    }

    /// Binds `(a, b) IS NULL`, which is true if all fields are NULL, or `(a, b) IS NOT NULL`, which is true if none is.
    pub(super) fn test_row(&mut self, parts: &[A], is_null: bool, scope: &Scope) -> Result<Typed, SqlError> {
        let mut tests = Vec::with_capacity(parts.len());
        for part in parts {
            let typed = self.expr(part, scope)?;
            let test = Expr::IsNull(Box::new(self.resolved(typed)?.0));
            tests.push(if is_null { test } else { Expr::Not(Box::new(test)) });
        }
        Ok(Typed::bool(Expr::And(tests)))
    }

    /// Binds `(a, b) <op> (c, d)`. Rows are equal if all their parts are; otherwise the first parts that differ decide.
    pub(super) fn compare_rows(
        &mut self,
        op: Comparison,
        left: &[A],
        right: &[A],
        scope: &Scope,
    ) -> Result<Typed, SqlError> {
        if left.len() != right.len() {
            return Err(SqlError::new(state::SYNTAX_ERROR, "unequal number of entries in row expressions"));
        }
        let mut pairs = Vec::with_capacity(left.len());
        for (left, right) in left.iter().zip(right) {
            pairs.push((self.expr(left, scope)?, self.expr(right, scope)?));
        }
        let expr = match op {
            Comparison::Equal | Comparison::NotEqual => {
                let mut tests = Vec::with_capacity(pairs.len());
                for (left, right) in pairs {
                    tests.push(self.compare(op, left, right)?.expr);
                }
                if op == Comparison::Equal { Expr::And(tests) } else { Expr::Or(tests) }
            }
            _ => self.order_rows(op, pairs)?,
        };
        Ok(Typed::bool(expr))
    }

    /// Makes the condition for an order of rows, from the last parts to the first: each pair decides, or is equal and
    /// the following pairs decide.
    fn order_rows(&mut self, op: Comparison, mut pairs: Vec<(Typed, Typed)>) -> Result<Expr, SqlError> {
        let strict = match op {
            Comparison::LessOrEqual => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::Greater,
            other => other,
        };
        let Some((left, right)) = pairs.pop() else { return Err(unsupported("a row without parts")) };
        let mut rest = self.compare(op, left, right)?.expr;
        while let Some((left, right)) = pairs.pop() {
            let decides = self.compare(strict, left.clone(), right.clone())?.expr;
            let equal = self.compare(Comparison::Equal, left, right)?.expr;
            rest = Expr::Or(vec![decides, Expr::And(vec![equal, rest])]);
        }
        Ok(rest)
    }

    /// Binds `(a, b) [NOT] IN ((1, 2), (3, 4))`.
    pub(super) fn row_in_list(
        &mut self,
        row: &[A],
        list: &[A],
        negated: bool,
        scope: &Scope,
    ) -> Result<Typed, SqlError> {
        let mut tests = Vec::with_capacity(list.len());
        for candidate in list {
            let candidate = parts_of_row(candidate).ok_or_else(|| unsupported("a row beside what is none"))?;
            tests.push(self.compare_rows(Comparison::Equal, row, &candidate, scope)?.expr);
        }
        let any = Expr::Or(tests);
        Ok(Typed::bool(if negated { Expr::Not(Box::new(any)) } else { any }))
    }
}
