//! GROUP BY: rewrites expressions over the input into expressions over the groups.

use super::binder::Binder;
use super::group::{Group, Item};
use super::json::check_equality;
use super::path::Wanted;
use super::query::{Order, Output};
use super::scope::{Relation, Scope};
use super::sets::SetCall;
use super::windows::Windows;
use crate::error::unsupported;
use crate::expr::Expr;
use crate::parse::names::fold;
use crate::plan::{AggregateCall, AggregateFunction};
use crate::{SqlError, state};
use sqlparser::ast::{self, Expr as A};

impl Group {
    /// Returns the order of rows in which the first row decides the result, if the only aggregate function is `min` or
    /// `max` of a column and the only source is the column's table. Adds the condition that the column is not NULL if
    /// NULLs would come first. Returns `None` in all other cases.
    pub(super) fn first_by(&mut self, calls: &[AggregateCall]) -> Option<Wanted> {
        let ([call], [source]) = (calls, &self.sources[..]) else { return None };
        let (Some(Expr::Column(column)), None) = (&call.argument, &call.filter) else { return None };
        let Item::Table(table, _) = &source.item else { return None };
        let is_greatest = match call.function {
            AggregateFunction::Min => false,
            AggregateFunction::Max => true,
            _ => return None,
        };
        let is_nullable = table.schema.columns.get(column.checked_sub(source.columns.start)?)?.nullable;
        if is_greatest && is_nullable {
            // NULLs come first in the descending order.
            let is_null = Expr::IsNull(Box::new(Expr::Column(*column)));
            self.conditions.push(Expr::Not(Box::new(is_null)));
        }
        Some((Expr::Column(*column), is_greatest, is_greatest))
    }
}

impl Binder<'_> {
    /// Binds the GROUP BY list, whose items are expressions, positions in the select list, or names of output columns.
    pub(super) fn groups(
        &mut self,
        group_by: &ast::GroupByExpr,
        output: &Output,
        scope: &Scope,
    ) -> Result<Vec<Expr>, SqlError> {
        let ast::GroupByExpr::Expressions(items, modifiers) = group_by else { return Err(unsupported("GROUP BY ALL")) };
        if !modifiers.is_empty() {
            return Err(unsupported("this kind of GROUP BY"));
        }
        self.without_aggregates("GROUP BY", |binder| {
            items.iter().map(|item| binder.group(item, output, scope)).collect()
        })
    }

    fn group(&mut self, item: &A, output: &Output, scope: &Scope) -> Result<Expr, SqlError> {
        if matches!(item, A::Rollup(_) | A::Cube(_) | A::GroupingSets(_)) {
            return Err(unsupported("this kind of GROUP BY"));
        }
        let listed = match self.listed_position(item, output, "GROUP BY")? {
            Some(at) => Some(at),
            // A column of the input takes precedence over an output column of the same name.
            None => match item {
                A::Identifier(ident) if self.expr(item, scope).is_err() => {
                    let name = fold(ident);
                    output.columns.iter().position(|column| column.name == name)
                }
                _ => None,
            },
        };
        if let Some(at) = listed {
            let expr = output.exprs[at].clone();
            if expr.any(&mut |part| matches!(part, Expr::Aggregate(_))) {
                return Err(SqlError::new(state::GROUPING_ERROR, "aggregate functions are not allowed in GROUP BY"));
            }
            if expr.any(&mut |part| matches!(part, Expr::Window(_))) {
                return Err(SqlError::new(state::WINDOWING_ERROR, "window functions are not allowed in GROUP BY"));
            }
            check_equality(output.columns[at].ty)?;
            return Ok(expr);
        }
        let typed = self.expr(item, scope)?;
        let (expr, ty) = self.resolved(typed)?;
        check_equality(ty)?;
        Ok(expr)
    }

    /// Rewrites all expressions above the aggregation into expressions over its rows: the values of `groups`, then the
    /// results of the aggregate functions. If the whole primary key of a table is among the groups, each group has one
    /// row of the table: those of its other columns that are wanted are added to the groups.
    pub(super) fn regroup(
        &mut self,
        groups: &mut Vec<Expr>,
        scope: &Scope,
        output: &mut Output,
        orders: &mut [Order],
        having: &mut Option<Expr>,
        (windows, sets): (&mut Windows, &[SetCall]),
    ) -> Result<(), SqlError> {
        let determined = determined(groups, scope);
        if !determined.is_empty() {
            let mut wanted = Vec::new();
            let exprs = output.exprs.iter().chain(orders.iter().map(|order| &order.expr)).chain(having.as_ref());
            let exprs = exprs.chain(sets.iter().flat_map(|call| &call.rows.arguments));
            for expr in exprs.chain(windows.parts()) {
                expr.any(&mut |part| {
                    if determined.contains(part) && !groups.contains(part) && !wanted.contains(part) {
                        wanted.push(part.clone());
                    }
                    false
                });
            }
            groups.extend(wanted);
        }
        let exprs = output.exprs.iter_mut().chain(orders.iter_mut().map(|order| &mut order.expr)).chain(having);
        for expr in exprs.chain(windows.parts_mut()) {
            over_groups(expr, groups, scope, false)?;
        }
        Ok(())
    }
}

/// Rewrites the arguments of set-returning functions into expressions over the groups.
pub(super) fn grouped_sets(mut sets: Vec<SetCall>, groups: &[Expr], scope: &Scope) -> Result<Vec<SetCall>, SqlError> {
    for argument in sets.iter_mut().flat_map(|call| &mut call.rows.arguments) {
        over_groups(argument, groups, scope, false)?;
    }
    Ok(sets)
}

/// Returns the columns of the tables whose whole primary key is among the groups.
fn determined(groups: &[Expr], scope: &Scope) -> Vec<Expr> {
    let is_determined = |relation: &&Relation| {
        !relation.key.is_empty() && relation.key.iter().all(|&column| groups.contains(&relation.columns[column].expr))
    };
    let columns = scope.relations().iter().filter(is_determined).flat_map(|relation| &relation.columns);
    columns.map(|column| column.expr.clone()).collect()
}

/// Rewrites an expression over the input into one over the groups. `subquery` says that the expression is one that a
/// subquery refers to, which matters for the error message.
fn over_groups(expr: &mut Expr, groups: &[Expr], scope: &Scope, subquery: bool) -> Result<(), SqlError> {
    if let Some(at) = groups.iter().position(|group| group == expr) {
        *expr = Expr::Column(at);
        return Ok(());
    }
    match expr {
        Expr::Aggregate(at) => *expr = Expr::Column(groups.len() + *at),
        Expr::Column(column) => {
            let name = scope.name_of(*column);
            let message = match subquery {
                true => format!("subquery uses ungrouped column \"{name}\" from outer query"),
                false => {
                    format!("column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function")
                }
            };
            return Err(SqlError::new(state::GROUPING_ERROR, message));
        }
        other => {
            let inside = subquery || matches!(other, Expr::Subquery(_));
            for part in other.parts_mut() {
                over_groups(part, groups, scope, inside)?;
            }
        }
    }
    Ok(())
}
