//! The grouping sets of GROUP BY: GROUPING SETS, ROLLUP and CUBE, and the calls of GROUPING.

use super::binder::Binder;
use super::query::Output;
use super::scope::Scope;
use super::typed::Typed;
use crate::error::unsupported;
use crate::expr::Expr;
use crate::parse::grouping::GroupItem;
use crate::plan::{AggregateCall, AggregateFunction, GroupingSets, Node};
use crate::{SqlError, state};
use hotrow_storage::Type;
use sqlparser::ast::{self, Expr as A, FunctionArg, FunctionArgExpr};
use std::collections::HashSet;

/// The maximum number of grouping sets of a query, as in PostgreSQL.
const MAX_SETS: usize = 4096;

/// The maximum number of elements of a CUBE, as in PostgreSQL.
const MAX_CUBE: usize = 12;

/// The maximum number of arguments of GROUPING, whose `int4` result has a bit for each.
const MAX_ARGUMENTS: usize = 31;

/// A bound GROUP BY clause.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// The expressions of all grouping sets. No two are equal, except constants for different output columns.
    pub(super) exprs: Vec<Expr>,
    /// The grouping sets, as sorted positions in `exprs`. Empty if there is only one set, which has all expressions.
    pub(super) sets: Vec<Vec<usize>>,
    /// Whether the query has a GROUP BY clause.
    pub(super) given: bool,
    /// The places in `exprs` of the constants and parameters, each with the position of the output column for which it
    /// stands, if any. In the groups of a set without the constant, only that output column is NULL: an equal constant
    /// elsewhere in the query keeps its value.
    pub(super) constants: Vec<(usize, Option<usize>)>,
}

impl Groups {
    /// Adds an expression to all sets. The groups do not change, because the expression has the same value in all rows
    /// of a group.
    pub(super) fn add_determined(&mut self, expr: Expr) {
        self.sets.iter_mut().for_each(|set| set.push(self.exprs.len()));
        self.exprs.push(expr);
    }

    /// Returns the expressions that are in every grouping set.
    pub(super) fn common(&self) -> Vec<Expr> {
        let in_all = |at: &usize| self.sets.iter().all(|set| set.contains(at));
        (0..self.exprs.len()).filter(in_all).map(|at| self.exprs[at].clone()).collect()
    }

    /// Makes the operator that groups the rows of `input` and computes the calls for each group.
    pub(super) fn over(self, input: Node, calls: Vec<AggregateCall>) -> Node {
        let Self { exprs, sets, .. } = self;
        match sets.is_empty() {
            true => Node::Aggregate(Box::new(input), exprs, calls),
            false => Node::GroupingSets(Box::new(GroupingSets { input, exprs, sets, calls })),
        }
    }

    /// Returns the expressions with which those above the aggregation are compared: an expression that is equal to one
    /// of them is a column of the aggregation's rows. If there are several grouping sets, each constant is replaced by
    /// an expression that nothing equals.
    pub(super) fn matched(&self) -> Vec<Expr> {
        let mut exprs = self.exprs.clone();
        if !self.sets.is_empty() {
            self.constants.iter().for_each(|&(at, _)| exprs[at] = Expr::Aggregate(usize::MAX));
        }
        exprs
    }

    /// Returns the place in `exprs` of the first constant that stands for an output column and for which `is_wanted` is
    /// true. `is_wanted` gets the position of the output column and the constant.
    pub(super) fn constant(&self, is_wanted: impl Fn(usize, &Expr) -> bool) -> Option<usize> {
        let mut constants = self.constants.iter().filter_map(|&(at, listed)| Some((at, listed?)));
        constants.find(|&(at, listed)| is_wanted(listed, &self.exprs[at])).map(|(at, _)| at)
    }

    /// Returns the place of an expression in `exprs`, to which it is added if it is new. `listed` is the position of
    /// the output column for which the expression stands, if any.
    fn place(&mut self, expr: Expr, listed: Option<usize>) -> usize {
        let is_constant = matches!(expr, Expr::Const(_) | Expr::Param(_));
        let known = match is_constant {
            true => self.constants.iter().find(|(_, known)| *known == listed).map(|(at, _)| *at),
            false => self.exprs.iter().position(|known| *known == expr),
        };
        known.unwrap_or_else(|| {
            let at = self.exprs.len();
            self.exprs.push(expr);
            if is_constant {
                self.constants.push((at, listed));
            }
            at
        })
    }
}

/// Returns the union of two sets of positions.
fn union(left: &[usize], right: &[usize]) -> Vec<usize> {
    let added = right.iter().filter(|at| !left.contains(at));
    left.iter().chain(added).copied().collect()
}

fn check_count(count: usize) -> Result<(), SqlError> {
    if count > MAX_SETS {
        let message = format!("too many grouping sets present (maximum {MAX_SETS})");
        return Err(SqlError::new(state::STATEMENT_TOO_COMPLEX, message));
    }
    Ok(())
}

impl Binder<'_> {
    /// Binds the GROUP BY list, whose items are grouping sets, expressions, numbers of output columns, or names of
    /// output columns. The sets of the items are combined: each combination of one set from every item is a grouping
    /// set of the query.
    ///
    /// # Errors
    /// 54001 if there are more than [`MAX_SETS`] sets.
    pub(super) fn groups(
        &mut self,
        group_by: &ast::GroupByExpr,
        output: &Output,
        scope: &Scope,
    ) -> Result<Groups, SqlError> {
        let ast::GroupByExpr::Expressions(items, modifiers) = group_by else { return Err(unsupported("GROUP BY ALL")) };
        if !modifiers.is_empty() {
            return Err(unsupported("this kind of GROUP BY"));
        }
        self.without_aggregates("GROUP BY", |binder| {
            let mut groups = Groups { given: !items.is_empty(), ..Groups::default() };
            // The expressions that all sets get are added at the end, at once.
            let (mut sets, mut in_all, mut distinct) = (vec![Vec::new()], Vec::new(), false);
            for item in items {
                distinct |= matches!(GroupItem::of(item), GroupItem::Distinct);
                let added = binder.sets_of(item, &mut groups, output, scope)?;
                if let [added] = added.as_slice() {
                    in_all.extend(added);
                    continue;
                }
                check_count(sets.len().saturating_mul(added.len()))?;
                sets = sets.iter().flat_map(|set| added.iter().map(|other| union(set, other))).collect();
            }
            for set in &mut sets {
                set.extend(&in_all);
                set.sort_unstable();
                set.dedup();
            }
            if distinct {
                let mut known = HashSet::new();
                sets.retain(|set| known.insert(set.clone()));
            }
            if sets.len() > 1 {
                groups.sets = sets;
            }
            Ok(groups)
        })
    }

    /// Returns the grouping sets of an item of GROUP BY as positions in `groups`, to which their expressions are added.
    fn sets_of(
        &mut self,
        item: &A,
        groups: &mut Groups,
        output: &Output,
        scope: &Scope,
    ) -> Result<Vec<Vec<usize>>, SqlError> {
        let mut sets = Vec::new();
        let item = GroupItem::of(item);
        if let GroupItem::Sets(items) | GroupItem::Rollup(items) | GroupItem::Cube(items) = &item
            && items.is_empty()
        {
            return Err(SqlError::new(state::SYNTAX_ERROR, "syntax error at or near \")\""));
        }
        match item {
            GroupItem::Empty | GroupItem::Distinct => sets.push(Vec::new()),
            GroupItem::Sets(items) => {
                for item in items {
                    sets.extend(self.sets_of(item, groups, output, scope)?);
                    check_count(sets.len())?;
                }
            }
            GroupItem::Rollup(items) => {
                sets.push(Vec::new());
                for item in items {
                    let added = self.set(item, groups, output, scope)?;
                    let all = sets.last().map_or_else(Vec::new, |before| union(before, &added));
                    sets.push(all);
                }
                sets.reverse();
                check_count(sets.len())?;
            }
            GroupItem::Cube(items) => {
                if items.len() > MAX_CUBE {
                    let message = format!("CUBE is limited to {MAX_CUBE} elements");
                    return Err(SqlError::new(state::TOO_MANY_COLUMNS, message));
                }
                sets.push(Vec::new());
                for item in items {
                    let added = self.set(item, groups, output, scope)?;
                    sets = sets.iter().flat_map(|set| [union(set, &added), set.clone()]).collect();
                }
            }
            GroupItem::Plain(item) => sets.push(self.set(item, groups, output, scope)?),
        }
        Ok(sets)
    }

    /// Returns the grouping set that consists of an expression, or of the expressions of a list in parentheses, as
    /// positions in `groups`.
    fn set(&mut self, item: &A, groups: &mut Groups, output: &Output, scope: &Scope) -> Result<Vec<usize>, SqlError> {
        match item {
            A::Nested(inner) => self.set(inner, groups, output, scope),
            A::Tuple(items) => {
                let mut set = Vec::new();
                for item in items {
                    set = union(&set, &self.set(item, groups, output, scope)?);
                }
                Ok(set)
            }
            item => {
                let (expr, listed) = self.group(item, output, scope)?;
                let listed = listed.or_else(|| output.exprs.iter().position(|known| *known == expr));
                Ok(vec![groups.place(expr, listed)])
            }
        }
    }

    /// Binds a call of GROUPING. Its arguments are found among the expressions of GROUP BY later, when all of these are
    /// bound.
    ///
    /// # Errors
    /// 42803 if GROUPING may not stand here, 54023 if there are too many arguments.
    pub(super) fn grouping(&mut self, list: &[FunctionArg], scope: &Scope) -> Result<Typed, SqlError> {
        let before = self.looked.len();
        if list.is_empty() {
            return Err(SqlError::new(state::SYNTAX_ERROR, "syntax error at or near \")\""));
        }
        if list.len() > MAX_ARGUMENTS {
            let message = format!("GROUPING must have fewer than {} arguments", MAX_ARGUMENTS + 1);
            return Err(SqlError::new(state::TOO_MANY_ARGUMENTS, message));
        }
        self.check_aggregates("grouping operations")?;
        let mut direct = Vec::with_capacity(list.len());
        for argument in list {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else {
                return Err(unsupported("this kind of argument"));
            };
            let typed = self.without_aggregates("aggregate", |binder| binder.expr(argument, scope))?;
            direct.push(self.resolved(typed)?.0);
        }
        let call = AggregateCall { direct, ..AggregateCall::new(AggregateFunction::Grouping, None, Type::Int4) };
        self.aggregate_call(call, before)
    }
}
