//! Subqueries in expressions.

use super::binder::Binder;
use super::expr::like_operator;
use super::query::{Bound, Locking};
use super::rows::parts_of_row;
use super::scope::{Level, Scope};
use super::typed::Typed;
use crate::error::unsupported;
use crate::expr::{Comparison, Expr, Subquery, SubqueryTest};
use crate::opaque::Opaque;
use crate::parse::names::fold;
use crate::plan::Node;
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::Type;
use sqlparser::ast::{self, BinaryOperator as B, Expr as A};

impl Binder<'_> {
    /// Binds an expression that has a subquery of its own: a scalar subquery, EXISTS, IN, ANY or ALL.
    pub(super) fn subquery(&mut self, expr: &A, scope: &Scope) -> Result<Typed, SqlError> {
        let of_elements = matches!(expr, A::AnyOp { right, .. } | A::AllOp { right, .. } if !is_query(right));
        if let Some(place) = self.without_subqueries
            && !of_elements
        {
            let message = format!("cannot use subquery in {place}");
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        match expr {
            A::Subquery(query) => self.whole_column(query, scope, |_| Ok(SubqueryTest::Value)),
            A::Exists { subquery, negated } => {
                let exists = self.exists(subquery, scope)?;
                Ok(negated_if(*negated, exists))
            }
            A::InSubquery { expr, subquery, negated } => {
                let is_in = self.compare_subquery(expr, Comparison::Equal, false, subquery, scope)?;
                Ok(negated_if(*negated, is_in))
            }
            A::AnyOp { left, compare_op, right, .. } => self.any_or_all(left, compare_op, right, false, scope),
            A::AllOp { left, compare_op, right } => self.any_or_all(left, compare_op, right, true, scope),
            other => Err(unsupported(&format!("expression {other}"))),
        }
    }

    /// Binds a subquery that must have a single column. `test` makes the test of its rows from the column's type.
    pub(super) fn whole_column(
        &mut self,
        query: &ast::Query,
        scope: &Scope,
        test: impl FnOnce(Type) -> Result<SubqueryTest, SqlError>,
    ) -> Result<Typed, SqlError> {
        if let Some(place) = self.without_subqueries {
            let message = format!("cannot use subquery in {place}");
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        let (bound, level) = self.query_of_expression(query, scope)?;
        let [column] = &bound.columns[..] else {
            return Err(SqlError::new(state::SYNTAX_ERROR, "subquery must return only one column"));
        };
        let (ty, domain) = (column.ty, column.domain);
        Ok(Typed::new(asked(bound.node, level, test(ty)?, Vec::new()), ty).of_domain(domain))
    }

    /// Binds a query that is assigned to a list of columns. Returns the values of its only row, one for each of its
    /// columns. They have to be evaluated for a row together and in this order: see [`SubqueryTest::Column`].
    pub(super) fn columns_of_row(&mut self, query: &ast::Query, scope: &Scope) -> Result<Vec<Typed>, SqlError> {
        let (bound, level) = self.query_of_expression(query, scope)?;
        let (Bound { node, columns, .. }, Level { frame, columns: shown, .. }) = (bound, level);
        let (plan, width) = (Opaque::new(node), columns.len());
        let arguments: Vec<_> = shown.into_iter().map(Expr::Column).collect();
        let value = |(at, column): (usize, &OutputColumn)| {
            let test = SubqueryTest::Column { at, width };
            let (plan, arguments, operands) = (plan.clone(), arguments.clone(), Vec::new());
            let value = Expr::Subquery(Box::new(Subquery { plan, test, frame, arguments, operands }));
            Typed::new(value, column.ty).of_domain(column.domain)
        };
        Ok(columns.iter().enumerate().map(value).collect())
    }

    /// Binds a query that may refer to the row of the expression around it.
    pub(super) fn query_of_expression(
        &mut self,
        query: &ast::Query,
        scope: &Scope,
    ) -> Result<(Bound, Level), SqlError> {
        if !query.locks.is_empty() && !self.changes_rows {
            return Err(unsupported("FOR UPDATE in a subquery of an expression")
                .hint("It can be in one of INSERT, UPDATE and DELETE, and in a subquery in FROM."));
        }
        let locking = std::mem::replace(&mut self.locking, Locking::None);
        let bound = self.without_aggregates("this context", |binder| binder.query_within(query, scope.clone()));
        self.locking = locking;
        let (mut bound, level) = bound?;
        self.settle(&mut bound)?;
        Ok((bound, level))
    }

    fn any_or_all(&mut self, left: &A, op: &B, right: &A, all: bool, scope: &Scope) -> Result<Typed, SqlError> {
        let mut right = right;
        while let A::Nested(inner) = right {
            right = inner;
        }
        if let Some((negated, ignore_case)) = like_operator(op) {
            return self.like_each(left, right, all, (negated, ignore_case), scope);
        }
        let comparison = match op {
            B::Eq => Comparison::Equal,
            B::NotEq => Comparison::NotEqual,
            B::Lt => Comparison::Less,
            B::LtEq => Comparison::LessOrEqual,
            B::Gt => Comparison::Greater,
            B::GtEq => Comparison::GreaterOrEqual,
            other => return Err(unsupported(&format!("operator {other} with ANY or ALL"))),
        };
        let A::Subquery(query) = right else { return self.any_or_all_elements(left, comparison, right, all, scope) };
        if (comparison, all) == (Comparison::NotEqual, true) {
            let is_in = self.compare_subquery(left, Comparison::Equal, false, query, scope)?;
            return Ok(negated_if(true, is_in));
        }
        self.compare_subquery(left, comparison, all, query, scope).map(Typed::bool)
    }

    fn compare_subquery(
        &mut self,
        left: &A,
        comparison: Comparison,
        all: bool,
        query: &ast::Query,
        scope: &Scope,
    ) -> Result<Expr, SqlError> {
        let mut left = left;
        while let A::Nested(inner) = left {
            left = inner;
        }
        let left = parts_of_row(left).unwrap_or_else(|| std::slice::from_ref(left).into());
        let mut operands = Vec::with_capacity(left.len());
        for operand in &*left {
            operands.push(self.expr(operand, scope)?);
        }
        let (bound, level) = self.query_of_expression(query, scope)?;
        let wrong = match bound.columns.len().cmp(&operands.len()) {
            std::cmp::Ordering::Less => Some("subquery has too few columns"),
            std::cmp::Ordering::Greater => Some("subquery has too many columns"),
            std::cmp::Ordering::Equal => None,
        };
        if let Some(message) = wrong {
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        if operands.len() > 1 && !matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
            return Err(unsupported("an order of rows"));
        }
        let (mut values, mut columns, mut blanks) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (operand, column)) in operands.into_iter().zip(&bound.columns).enumerate() {
            let other = Typed::new(Expr::Column(at), column.ty);
            let (value, column, blank) = self.comparable(comparison.symbol(), operand, other)?;
            values.push(value);
            columns.push(column);
            blanks.push(blank);
        }
        let plain = columns.iter().enumerate().all(|(at, column)| *column == Expr::Column(at));
        let node = if plain { bound.node } else { Node::Project(Box::new(bound.node), columns) };
        Ok(asked(node, level, SubqueryTest::Compare(comparison, all, blanks), values))
    }
}

fn is_query(expr: &A) -> bool {
    match expr {
        A::Nested(inner) => is_query(inner),
        other => matches!(other, A::Subquery(_)),
    }
}

pub(super) fn asked(plan: Node, level: Level, test: SubqueryTest, operands: Vec<Expr>) -> Expr {
    let arguments = level.columns.into_iter().map(Expr::Column).collect();
    Expr::Subquery(Box::new(Subquery { plan: Opaque::new(plan), test, frame: level.frame, arguments, operands }))
}

fn negated_if(negated: bool, expr: Expr) -> Typed {
    Typed::bool(if negated { Expr::Not(Box::new(expr)) } else { expr })
}

/// Returns the name of a scalar subquery's column, which is also the default name of the outer query's column. Returns
/// `None` if it has no name.
pub(super) fn name_of(query: &ast::Query) -> Option<String> {
    let ast::SetExpr::Select(select) = &*query.body else { return None };
    match select.projection.first()? {
        ast::SelectItem::UnnamedExpr(expr) => Some(Binder::default_name(expr)),
        ast::SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
        _ => None,
    }
}
