//! Moves conditions on the rows of a subquery in FROM down to the sources of these rows, where an index may serve them.
//!
//! A condition goes through an operator that neither adds rows nor looks at other rows. On its way, each column is
//! replaced by the expression for which it stands. Where the condition can go no further, it becomes a filter.

use super::condition::{conjunction, conjuncts, is_volatile};
use super::path;
use crate::expr::Expr;
use crate::plan::window::WindowSort;
use crate::plan::{Access, JoinKind, Node, Path};
use hotrow_storage::IndexRef;

/// Filters the rows of a node by a condition, which goes down into the node as far as possible.
pub(super) fn filtered(node: Node, condition: Expr) -> Node {
    if condition.has_subquery() || is_volatile(&condition) {
        return Node::Filter(Box::new(node), condition);
    }
    match node {
        Node::Project(input, exprs) => match over(&condition, &exprs) {
            Some(condition) => Node::Project(Box::new(filtered(*input, condition)), exprs),
            None => Node::Filter(Box::new(Node::Project(input, exprs)), condition),
        },
        Node::Filter(input, other) if !other.has_subquery() => {
            Node::Filter(Box::new(filtered(*input, condition)), other)
        }
        // The operator above has subqueries, for which its input must stay kept.
        Node::Materialise(input, columns) => {
            let kept: Vec<_> = columns.iter().map(|&column| Expr::Column(column)).collect();
            match over(&condition, &kept) {
                Some(condition) => Node::Materialise(Box::new(filtered(*input, condition)), columns),
                None => Node::Filter(Box::new(Node::Materialise(input, columns)), condition),
            }
        }
        Node::Sort(input, keys, width, 0) => Node::Sort(Box::new(filtered(*input, condition)), keys, width, 0),
        Node::Distinct(input) => Node::Distinct(Box::new(filtered(*input, condition))),
        Node::Append(inputs) => {
            Node::Append(inputs.into_iter().map(|input| filtered(input, condition.clone())).collect())
        }
        Node::Aggregate(input, groups, calls) => match over(&condition, &groups) {
            // Without groups, the aggregate has a row even if its input has none.
            Some(condition) if !groups.is_empty() => {
                Node::Aggregate(Box::new(filtered(*input, condition)), groups, calls)
            }
            _ => Node::Filter(Box::new(Node::Aggregate(input, groups, calls)), condition),
        },
        Node::Window(mut window) if of_partitions(&condition, &window.sorts) => {
            window.input = filtered(std::mem::replace(&mut window.input, Node::One), condition);
            Node::Window(window)
        }
        Node::Table(access) => Node::Table(narrowed(access, condition)),
        Node::NestedLoop(mut join) => {
            let kept: Vec<_> = join.keep.iter().map(|&column| Expr::Column(column)).collect();
            match over(&condition, &kept) {
                Some(condition) => join.outer = filtered(std::mem::replace(&mut join.outer, Node::One), condition),
                None => return Node::Filter(Box::new(Node::NestedLoop(join)), condition),
            }
            Node::NestedLoop(join)
        }
        Node::HashJoin(mut join) if join.kind != JoinKind::Full => {
            let kept: Vec<_> = join.outer_columns.iter().map(|&column| Expr::Column(column)).collect();
            match over(&condition, &kept) {
                Some(condition) => join.outer = filtered(std::mem::replace(&mut join.outer, Node::One), condition),
                None => return Node::Filter(Box::new(Node::HashJoin(join)), condition),
            }
            Node::HashJoin(join)
        }
        other => Node::Filter(Box::new(other), condition),
    }
}

/// Whether an index would find rows of a node by a value in the condition for which `is_wanted` is true.
pub(super) fn is_served(node: &Node, condition: &Expr, is_wanted: &impl Fn(&Expr) -> bool) -> bool {
    let below = |input: &Node, exprs: &[Expr]| {
        over(condition, exprs).is_some_and(|condition| is_served(input, &condition, is_wanted))
    };
    let columns = |columns: &[usize]| columns.iter().copied().map(Expr::Column).collect::<Vec<_>>();
    match node {
        Node::Project(input, exprs) => below(input, exprs),
        Node::Aggregate(input, groups, _) if !groups.is_empty() => below(input, groups),
        Node::Materialise(input, kept) => below(input, &columns(kept)),
        Node::NestedLoop(join) => below(&join.outer, &columns(&join.keep)),
        Node::HashJoin(join) if join.kind != JoinKind::Full => below(&join.outer, &columns(&join.outer_columns)),
        Node::Filter(input, _) | Node::Sort(input, _, _, 0) | Node::Distinct(input) => {
            is_served(input, condition, is_wanted)
        }
        Node::Window(window) if of_partitions(condition, &window.sorts) => {
            is_served(&window.input, condition, is_wanted)
        }
        Node::Append(inputs) => inputs.iter().any(|input| is_served(input, condition, is_wanted)),
        Node::Table(Access { table, path, filter, lock }) => {
            let access = Access { table: table.clone(), path: path.clone(), filter: filter.clone(), lock: *lock };
            narrowed(access, condition.clone()).path.exprs().into_iter().any(is_wanted)
        }
        _ => false,
    }
}

/// Whether a condition refers only to columns by which all window functions partition: then it drops whole partitions.
fn of_partitions(condition: &Expr, sorts: &[WindowSort]) -> bool {
    let is_key = |column: usize, sort: &WindowSort| sort.keys[..sort.partition].iter().any(|key| key.column == column);
    !condition.has_subquery()
        && !is_volatile(condition)
        && !condition
            .any(&mut |part| matches!(part, Expr::Column(column) if !sorts.iter().all(|sort| is_key(*column, sort))))
}

/// Returns the condition with each column replaced by its expression in `exprs`. Returns `None` if there is no such
/// expression, or if it is volatile or has a subquery.
fn over(condition: &Expr, exprs: &[Expr]) -> Option<Expr> {
    fn replace(expr: &mut Expr, exprs: &[Expr]) -> bool {
        if let Expr::Column(column) = expr {
            let Some(wanted) = exprs.get(*column).filter(|expr| !expr.has_subquery() && !is_volatile(expr)) else {
                return false;
            };
            *expr = wanted.clone();
            return true;
        }
        expr.parts_mut().into_iter().all(|part| replace(part, exprs))
    }
    let mut condition = condition.clone();
    replace(&mut condition, exprs).then_some(condition)
}

/// Returns an access with one more condition. The path is chosen anew for all conditions together.
fn narrowed(access: Access, condition: Expr) -> Access {
    let Access { table, path, filter, lock } = access;
    let mut conditions = conjuncts(filter);
    let is_whole = match &path {
        Path::Range(range) => range.index != IndexRef::Primary,
        Path::Ranges(ranges) => ranges.iter().any(|range| range.index != IndexRef::Primary),
        Path::Key(_) | Path::Full => false,
    };
    if !is_whole {
        conditions.extend(path::conditions_of(&table, &path));
    }
    conditions.push(condition);
    path::choose(table, conjunction(conditions), lock, &[]).0
}
