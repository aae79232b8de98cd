//! GROUP BY: rewrites expressions over the input into expressions over the groups.

use super::binder::Binder;
use super::group::{Group, Item};
use super::grouping_sets::Groups;
use super::json::check_equality;
use super::path::Wanted;
use super::query::{Order, Output};
use super::scope::{Relation, Scope};
use super::sets::{SetCall, used_by};
use super::windows::Windows;
use crate::expr::Expr;
use crate::parse::names::fold;
use crate::plan::{AggregateCall, AggregateFunction};
use crate::{SqlError, state};
use sqlparser::ast::Expr as A;

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
    /// Binds an item of GROUP BY. If the item is the number or the name of an output column, returns the position of
    /// that column, too.
    pub(super) fn group(
        &mut self,
        item: &A,
        output: &Output,
        scope: &Scope,
    ) -> Result<(Expr, Option<usize>), SqlError> {
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
            return Ok((expr, Some(at)));
        }
        let typed = self.expr(item, scope)?;
        let (expr, ty) = self.resolved(typed)?;
        check_equality(ty)?;
        Ok((expr, None))
    }
}

/// The expressions of a query that are evaluated over its groups, and the calls of aggregate functions.
pub(super) struct Above<'a> {
    pub(super) output: &'a mut Output,
    pub(super) orders: &'a mut [Order],
    pub(super) having: &'a mut Option<Expr>,
    pub(super) windows: &'a mut Windows,
    pub(super) sets: &'a [SetCall],
    pub(super) calls: &'a mut [AggregateCall],
}

impl Above<'_> {
    /// Rewrites the expressions into expressions over the rows of the aggregation, which have the values of `groups`
    /// and then the results of the aggregate functions. Returns the set-returning functions that run over the groups.
    ///
    /// If the whole primary key of a table is among the groups, each group belongs to one row of the table. Then the
    /// other columns of the table that the expressions use are added to `groups`.
    ///
    /// # Errors
    /// 42803 if an expression uses a column that is not grouped.
    pub(super) fn regroup(self, groups: &mut Groups, scope: &Scope) -> Result<Vec<SetCall>, SqlError> {
        let Self { output, orders, having, windows, sets, calls } = self;
        find_grouping_arguments(calls, groups)?;
        let determined = determined(&groups.common(), scope);
        if !determined.is_empty() {
            let mut wanted = Vec::new();
            let exprs = output.exprs.iter().chain(orders.iter().map(|order| &order.expr)).chain(having.as_ref());
            let exprs = exprs.chain(sets.iter().flat_map(|call| &call.rows.arguments));
            let exprs = exprs.chain(calls.iter().flat_map(|call| &call.direct));
            for expr in exprs.chain(windows.parts()) {
                expr.any(&mut |part| {
                    if determined.contains(part) && !groups.exprs.contains(part) && !wanted.contains(part) {
                        wanted.push(part.clone());
                    }
                    false
                });
            }
            wanted.into_iter().for_each(|expr| groups.add_determined(expr));
        }
        let matched = groups.matched();
        for call in calls.iter_mut().filter(|call| call.function != AggregateFunction::Grouping) {
            for direct in &mut call.direct {
                over_groups(direct, &matched, scope, false).map_err(|error| {
                    error.detail("Direct arguments of an ordered-set aggregate must use only grouped columns.")
                })?;
            }
        }
        for expr in orders.iter_mut().map(|order| &mut order.expr) {
            match groups.constant(|_, constant| constant == expr) {
                Some(place) => *expr = Expr::Column(place),
                None => over_groups(expr, &matched, scope, false)?,
            }
        }
        for (at, expr) in output.exprs.iter_mut().enumerate() {
            match groups.constant(|listed, _| listed == at) {
                Some(place) => *expr = Expr::Column(place),
                None => over_groups(expr, &matched, scope, false)?,
            }
        }
        for expr in having.iter_mut().chain(windows.parts_mut()) {
            over_groups(expr, &matched, scope, false)?;
        }
        let mut sets = used_by(sets, output.exprs.iter().chain(orders.iter().map(|order| &order.expr)));
        for argument in sets.iter_mut().flat_map(|call| &mut call.rows.arguments) {
            over_groups(argument, &matched, scope, false)?;
        }
        Ok(sets)
    }
}

/// Replaces the arguments of each call of GROUPING by their places among the groups.
///
/// # Errors
/// 42803 if an argument is no expression of GROUP BY.
fn find_grouping_arguments(calls: &mut [AggregateCall], groups: &Groups) -> Result<(), SqlError> {
    for call in calls.iter_mut().filter(|call| call.function == AggregateFunction::Grouping) {
        for argument in &mut call.direct {
            let Some(at) = groups.exprs.iter().position(|group| group == argument) else {
                let message = "arguments to GROUPING must be grouping expressions of the associated query level";
                return Err(SqlError::new(state::GROUPING_ERROR, message));
            };
            *argument = Expr::Column(at);
        }
    }
    Ok(())
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
