//! EXISTS whose query compares columns with the outer row: semi joins and anti joins.
//!
//! If an index serves such a comparison, the query runs for each outer row and finds its own rows by the index. If none
//! does, the query runs once and without its comparisons. Its rows are kept in a hash table, by the columns that must
//! be equal, and the other comparisons are checked for each row that is found in the table. An EXISTS that is one of
//! the conjuncts of a condition becomes a join. At any other place it is a look-up in the table.

use super::binder::Binder;
use super::condition::{conjunction, is_volatile};
use super::group::{Columns, Group, Item, Planned, Shown, localise, place, places};
use super::path::served;
use super::push;
use super::query::{Bound, Locking, Matching};
use super::scope::Scope;
use super::subquery::asked;
use crate::SqlError;
use crate::expr::{Comparison, Expr, Subquery, SubqueryTest};
use crate::plan::{HashJoin, JoinKey, JoinKind, Node};
use sqlparser::ast;

impl Binder<'_> {
    /// Binds EXISTS.
    pub(super) fn exists(&mut self, query: &ast::Query, scope: &Scope) -> Result<Expr, SqlError> {
        self.may_match = matches!(&*query.body, ast::SetExpr::Select(_)) && query.with.is_none() && has_any_row(query);
        let bound = self.query_of_expression(query, scope);
        self.may_match = false;
        let matching = self.matching.take();
        let (bound, level) = bound?;
        let Some(Matching { operands, condition }) = matching else {
            return Ok(asked(bound.node, level, SubqueryTest::Exists, Vec::new()));
        };
        let node = match bound.node {
            Node::Limit(input, ..) => *input,
            node => node,
        };
        let (mut operands, blanks): (Vec<_>, Vec<_>) = operands.into_iter().unzip();
        let shown: Vec<_> = level.columns.iter().copied().map(Expr::Column).collect();
        operands.iter_mut().for_each(|operand| unframe(operand, level.frame, &shown));
        Ok(asked(node, level, SubqueryTest::Matches(blanks, condition), operands))
    }

    /// Plans the query of EXISTS without its comparisons with the outer row, which the frame shows, if a hash table
    /// serves these comparisons. Otherwise returns the group unchanged.
    pub(super) fn matched(&mut self, mut group: Group, frame: usize) -> Result<Result<Bound, Group>, SqlError> {
        let looks_out = |expr: &Expr| expr.any(&mut |part| matches!(part, Expr::Outer(at, _) if *at == frame));
        let refuses = |expr: &Expr| expr.has_subquery() || is_volatile(expr);
        let conditions = &group.conditions;
        if !matches!(self.locking, Locking::None) || conditions.iter().any(refuses) || group.is_served(&[], &looks_out)
        {
            return Ok(Err(group));
        }
        let is_key = |condition: &Expr| sides(condition, &looks_out).is_some();
        if !conditions.iter().any(is_key) {
            return Ok(Err(group));
        }
        let (outward, own): (Vec<_>, Vec<_>) = std::mem::take(&mut group.conditions).into_iter().partition(looks_out);
        group.conditions = own;
        let needed = Columns::of(&outward);
        let planned = self.plan_group(group, &needed, &[])?;
        let (mut operands, mut exprs, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for condition in outward {
            match sides(&condition, &looks_out) {
                Some((outer, inner, blanks)) => {
                    operands.push((outer.clone(), blanks));
                    exprs.push(inner.clone());
                }
                None => rest.push(condition),
            }
        }
        let columns: Vec<_> = Columns::of(&rest).iter().collect();
        let mut condition = conjunction(rest);
        if let Some(condition) = &mut condition {
            let mut at: Vec<_> = places(&columns, &[]);
            at.iter_mut().for_each(|place| *place = place.saturating_add(exprs.len()));
            place(condition, &at)?;
        }
        exprs.extend(columns.into_iter().map(Expr::Column));
        for expr in &mut exprs {
            planned.place(expr)?;
        }
        self.matching = Some(Matching { operands, condition });
        let node = Node::Project(Box::new(planned.node), exprs);
        Ok(Ok(Bound { node, columns: Vec::new(), loose: Vec::new() }))
    }
}

impl Group {
    /// Whether an index finds rows of a source by the outer row: by a condition of the group, or by one of those
    /// `above` it. `looks_out` is true of an expression that refers to the outer row.
    fn is_served(&self, above: &[Expr], looks_out: &impl Fn(&Expr) -> bool) -> bool {
        let conditions = [&self.conditions[..], above].concat();
        self.sources.iter().any(|source| {
            let own = |condition: &&Expr| Columns::of([*condition]).within(&source.columns);
            let mut shown = Shown { frame: usize::MAX, columns: Vec::new() };
            match &source.item {
                Item::Table(table, lock) => {
                    let own: Vec<_> = conditions.iter().filter(own).cloned().collect();
                    let access = served(table, *lock, &own, &source.columns, &mut shown);
                    access.path.exprs().into_iter().any(looks_out)
                }
                Item::Rows(node, _) => {
                    let mut own: Vec<_> = conditions.iter().filter(own).cloned().collect();
                    own.iter_mut().for_each(|condition| localise(condition, &source.columns, &mut shown));
                    conjunction(own).is_some_and(|condition| push::is_served(node, &condition, looks_out))
                }
                Item::Outer(join) => {
                    let conditions = [&conditions[..], &join.on].concat();
                    join.left.is_served(&conditions, looks_out) || join.right.is_served(&conditions, looks_out)
                }
            }
        })
    }
}

/// Returns the sides of an equality between an expression over the outer row and one over the query's own row, in this
/// order, and whether trailing blanks do not count. Returns `None` for any other condition.
fn sides<'e>(condition: &'e Expr, looks_out: &impl Fn(&Expr) -> bool) -> Option<(&'e Expr, &'e Expr, bool)> {
    let Expr::Compare(Comparison::Equal, pair, blanks) = condition else { return None };
    let (left, right) = &**pair;
    let is_outer = |expr: &Expr| looks_out(expr) && !Columns::of([expr]).any();
    let is_inner = |expr: &Expr| !looks_out(expr) && Columns::of([expr]).any();
    if is_outer(left) && is_inner(right) {
        return Some((left, right, *blanks));
    }
    (is_inner(left) && is_outer(right)).then_some((right, left, *blanks))
}

/// Replaces the columns that a frame shows by their expressions in `shown`.
fn unframe(expr: &mut Expr, frame: usize, shown: &[Expr]) {
    match expr {
        Expr::Outer(at, column) if *at == frame => {
            if let Some(what) = shown.get(*column) {
                *expr = what.clone();
            }
        }
        other => other.parts_mut().into_iter().for_each(|part| unframe(part, frame, shown)),
    }
}

/// Whether a query surely has a row with its ORDER BY, LIMIT and OFFSET if it has one without them.
fn has_any_row(query: &ast::Query) -> bool {
    let is_positive = |limit: &ast::Expr| match limit {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(number, _) => number.parse::<u64>().is_ok_and(|number| number > 0),
            _ => false,
        },
        _ => false,
    };
    let limit = match &query.limit_clause {
        None => true,
        Some(ast::LimitClause::LimitOffset { limit, offset: None, limit_by }) => {
            limit_by.is_empty() && limit.as_ref().is_none_or(is_positive)
        }
        Some(_) => false,
    };
    limit && query.fetch.is_none()
}

/// Joins the rows with the query of a condition that is EXISTS or NOT EXISTS, so that the rows for which the condition
/// holds remain. Any other condition is returned with the rows unchanged.
pub(super) fn semi_join(
    planned: Planned,
    condition: Expr,
    wanted: &Columns,
) -> Result<(Planned, Option<Expr>), SqlError> {
    let (expr, kind) = match condition {
        Expr::Not(inner) if matches!(*inner, Expr::Subquery(_)) => (*inner, JoinKind::Anti),
        other => (other, JoinKind::Semi),
    };
    let back = |expr: Expr| if kind == JoinKind::Anti { Expr::Not(Box::new(expr)) } else { expr };
    let subquery = match expr {
        Expr::Subquery(subquery) => subquery,
        other => return Ok((planned, Some(other))),
    };
    if !matches!(subquery.test, SubqueryTest::Matches(..)) {
        return Ok((planned, Some(back(Expr::Subquery(subquery)))));
    }
    let Subquery { plan, test, frame, mut arguments, mut operands } = *subquery;
    let plan = match plan.into_inner::<Node>() {
        Ok(plan) => plan,
        Err(plan) => {
            let subquery = Subquery { plan, test, frame, arguments, operands };
            return Ok((planned, Some(back(Expr::Subquery(Box::new(subquery))))));
        }
    };
    let (SubqueryTest::Matches(blanks, mut condition), Node::Project(_, exprs)) = (test, &plan) else {
        return Err(crate::expr::lost("the query of a join"));
    };
    let width = exprs.len();
    let columns = planned.present(wanted);
    let at = places(&columns, &[]);
    operands.iter_mut().chain(&mut arguments).try_for_each(|expr| place(expr, &at))?;
    if let Some(condition) = &mut condition {
        let own: Vec<_> = (0..width).map(|column| columns.len() + column).collect();
        place(condition, &own)?;
        unframe(condition, frame, &arguments);
    }
    let key = |(at, (outer, blanks))| JoinKey { outer, inner: Expr::Column(at), blanks };
    let keys = operands.into_iter().zip(blanks).enumerate().map(key).collect();
    let (outer_columns, inner_columns) = (planned.places_of(&columns), (0..width).collect());
    let join = HashJoin { kind, outer: planned.node, outer_columns, inner: plan, inner_columns, keys, condition };
    let node = Node::HashJoin(Box::new(join));
    Ok((Planned { node, places: at, in_order: planned.in_order }, None))
}
