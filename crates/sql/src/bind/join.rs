//! Joins: their order and their methods.
//!
//! The input is a [`Group`]: sources and conditions, which stand for all combinations of the sources' rows that satisfy
//! all conditions. The planner begins with the source that is estimated to have the fewest rows, and joins the others
//! one by one, the cheapest first. A table whose index serves a condition on the rows joined so far is looked up for
//! each of these rows. Any other source is kept, in a hash table if an equality connects it. An outer join is one
//! source of its group, and has two groups inside.
//!
//! The estimates are in `cost`.

use super::binder::Binder;
use super::condition::{conjunction, is_true};
use super::group::{Columns, Group, Item, OuterJoin, Planned, Shown, Source, localise, place, places};
use super::path::{self, served};
use super::semi_join::semi_join;
use super::{cost, push};
use crate::error::unsupported;
use crate::expr::{Comparison, Expr, SubqueryTest, lost};
use crate::plan::{Access, HashJoin, JoinKey, JoinKind, NestedLoop, Node};
use crate::{SqlError, depth};

impl Binder<'_> {
    /// Plans a group. The columns in `needed` are wanted. The rows come in `order` if an index gives it, as the
    /// result's `in_order` says.
    pub(super) fn plan_group(
        &mut self,
        mut group: Group,
        needed: &Columns,
        order: &[path::Wanted],
    ) -> Result<Planned, SqlError> {
        depth::check()?;
        group.push_down();
        self.hoist(&mut group);
        self.depends.joins(&group.sources);
        let (deferred, mut conditions): (Vec<_>, Vec<_>) =
            std::mem::take(&mut group.conditions).into_iter().partition(Expr::has_subquery);
        let mut needed = needed.clone();
        deferred.iter().for_each(|condition| needed.mark(condition));
        let mut sources = group.sources;
        if sources.is_empty() {
            let node = filtered(Node::One, conditions);
            return deferred_filter(Planned::leaf(node, &(0..0)), deferred, &needed);
        }
        let alone = sources.len() == 1;
        let mut joined = Columns::default();
        let first = self.cheapest(&sources, &conditions, &joined)?;
        let source = sources.remove(first);
        joined.extend(source.columns.clone());
        let now = take_applicable(&mut conditions, &joined);
        let mut wanted = needed.clone();
        let mut planned = {
            mark_pending(&mut wanted, &conditions, &sources);
            self.leaf(source, now, &wanted, if alone { order } else { &[] })?
        };
        while !sources.is_empty() {
            let next = self.cheapest(&sources, &conditions, &joined)?;
            let source = sources.remove(next);
            joined.extend(source.columns.clone());
            let now = take_applicable(&mut conditions, &joined);
            let mut wanted = needed.clone();
            mark_pending(&mut wanted, &conditions, &sources);
            planned = self.join_next(planned, source, now, &wanted)?;
        }
        deferred_filter(planned, deferred, &needed)
    }

    /// Plans the rows of one source that satisfy the conditions.
    fn leaf(
        &mut self,
        source: Source,
        mut conditions: Vec<Expr>,
        wanted: &Columns,
        order: &[path::Wanted],
    ) -> Result<Planned, SqlError> {
        let own = source.columns;
        match source.item {
            Item::Table(table, lock) => {
                let mut shown = Shown { frame: 0, columns: Vec::new() };
                conditions.iter_mut().for_each(|condition| localise(condition, &own, &mut shown));
                let local = |(expr, descending, nulls_first): &path::Wanted| {
                    let mut expr = expr.clone();
                    expr.change_columns(&|column| *column = column.wrapping_sub(own.start));
                    (expr, *descending, *nulls_first)
                };
                let order: Vec<_> = order.iter().map(local).collect();
                let (access, in_order) = path::choose(table, conjunction(conditions), lock, &order);
                let in_order = in_order && !order.is_empty();
                Ok(Planned { in_order, ..Planned::leaf(Node::Table(access), &own) })
            }
            Item::Rows(_, Some(_)) => Err(lost("a LATERAL item")),
            Item::Rows(node, None) => {
                let mut shown = Shown { frame: 0, columns: Vec::new() };
                conditions.iter_mut().for_each(|condition| localise(condition, &own, &mut shown));
                let node = conditions.into_iter().fold(*node, push::filtered);
                Ok(Planned::leaf(node, &own))
            }
            Item::Outer(join) => {
                let mut wanted = wanted.clone();
                conditions.iter().for_each(|condition| wanted.mark(condition));
                let mut planned = self.outer_join(*join, &wanted)?;
                for condition in &mut conditions {
                    planned.place(condition)?;
                }
                planned.node = filtered(planned.node, conditions);
                Ok(planned)
            }
        }
    }

    /// Joins a source to the rows that have been joined so far.
    fn join_next(
        &mut self,
        outer: Planned,
        source: Source,
        conditions: Vec<Expr>,
        wanted: &Columns,
    ) -> Result<Planned, SqlError> {
        let source = match self.nested(outer, source, &conditions, JoinKind::Inner, wanted)? {
            Nested::Done(planned) => return Ok(planned),
            Nested::Unserved(outer, source) => (outer, source),
        };
        let (outer, source) = source;
        let mut own = Columns::default();
        own.extend(source.columns.clone());
        let (local, others): (Vec<_>, Vec<_>) =
            conditions.into_iter().partition(|condition| Columns::of([condition]).subset_of(&own));
        let mut inner_wanted = wanted.clone();
        others.iter().for_each(|condition| inner_wanted.mark(condition));
        let inner = self.leaf(source, local, &inner_wanted, &[])?;
        hash_join(outer, inner, others, JoinKind::Inner, wanted)
    }

    /// Plans a left or full join.
    fn outer_join(&mut self, join: OuterJoin, needed: &Columns) -> Result<Planned, SqlError> {
        let OuterJoin { full, left, mut right, mut on } = join;
        let mut below = needed.clone();
        on.iter().for_each(|condition| below.mark(condition));
        mark_pending(&mut below, &[], &right.sources);
        let mut left = self.plan_group(left, &below, &[])?;
        if full {
            let right = self.plan_group(right, &below, &[])?;
            return hash_join(left, right, on, JoinKind::Full, needed);
        }
        let simple = !on.iter().chain(&right.conditions).any(Expr::has_subquery);
        if simple && right.sources.len() == 1 {
            let Some(source) = right.sources.pop() else { return Err(lost("a FROM item")) };
            let conditions: Vec<_> = on.iter().chain(&right.conditions).cloned().collect();
            match self.nested(left, source, &conditions, JoinKind::Left, needed)? {
                Nested::Done(planned) => return Ok(planned),
                Nested::Unserved(outer, source) => {
                    left = outer;
                    right.sources.push(source);
                }
            }
        }
        let own = right.columns();
        let (local, others): (Vec<_>, Vec<_>) = std::mem::take(&mut on).into_iter().partition(|condition| {
            let columns = Columns::of([condition]);
            !condition.has_subquery() && columns.any() && columns.within(&own)
        });
        right.conditions.extend(local);
        let right = self.plan_group(right, &below, &[])?;
        hash_join(left, right, others, JoinKind::Left, needed)
    }

    /// Joins a source by a nested loop if it is LATERAL, or if an index serves a condition on the rows joined so far.
    fn nested(
        &mut self,
        outer: Planned,
        source: Source,
        conditions: &[Expr],
        kind: JoinKind,
        wanted: &Columns,
    ) -> Result<Nested, SqlError> {
        let own = source.columns.clone();
        let (inner, shown) = match source.item {
            Item::Table(ref table, lock) => {
                let mut shown = Shown { frame: self.counts.new_frame(), columns: Vec::new() };
                let access = served(table, lock, conditions, &own, &mut shown);
                if !looks_at(&access, shown.frame) {
                    return Ok(Nested::Unserved(outer, source));
                }
                (Node::Table(access), shown)
            }
            Item::Rows(node, Some(mut shown)) => {
                let mut conditions = conditions.to_vec();
                conditions.iter_mut().for_each(|condition| localise(condition, &own, &mut shown));
                (filtered(*node, conditions), shown)
            }
            Item::Rows(_, None) | Item::Outer(_) => return Ok(Nested::Unserved(outer, source)),
        };
        let mut kept = wanted.clone();
        kept.extend(shown.columns.iter().copied());
        let columns = outer.present(&kept);
        let keep = outer.places_of(&columns);
        let position = |column: &usize| {
            let found = columns.iter().position(|known| known == column);
            found.ok_or_else(|| unsupported("a LATERAL item that looks past the join that it is part of"))
        };
        let positions = shown.columns.iter().map(position).collect::<Result<_, _>>()?;
        let inner_columns: Vec<_> = own.collect();
        let places = places(&columns, &inner_columns);
        let join = NestedLoop { kind, outer: outer.node, keep, frame: shown.frame, shown: positions, inner };
        Ok(Nested::Done(Planned { node: Node::NestedLoop(Box::new(join)), places, in_order: false }))
    }

    /// Returns the position of the source that is cheapest to join next. If nothing has been joined yet, that is the
    /// source with the fewest rows.
    fn cheapest(&mut self, sources: &[Source], conditions: &[Expr], joined: &Columns) -> Result<usize, SqlError> {
        let mut best: Option<(f64, usize)> = None;
        for (at, source) in sources.iter().enumerate() {
            let mut with = joined.clone();
            with.extend(source.columns.clone());
            let now: Vec<_> =
                conditions.iter().filter(|condition| Columns::of([*condition]).subset_of(&with)).cloned().collect();
            let Some(cost) = cost::cost(source, &now, joined) else { continue };
            if best.is_none_or(|(known, _)| cost < known) {
                best = Some((cost, at));
            }
        }
        let message = "a LATERAL item that looks past the join that it is part of";
        best.map(|(_, at)| at).ok_or_else(|| unsupported(message))
    }

    /// Turns subqueries in conditions into sources, if their rows could lead to an index: `column = (SELECT …)` and
    /// `column IN (SELECT …)` if the subquery does not refer to the row.
    fn hoist(&mut self, group: &mut Group) {
        for at in 0..group.conditions.len() {
            let place = self.select.columns;
            let source = match &mut group.conditions[at] {
                Expr::Compare(_, pair, _) => {
                    let (Expr::Column(_), subquery @ Expr::Subquery(_)) = sides(pair) else { continue };
                    let Expr::Subquery(inner) = &*subquery else { continue };
                    if inner.test != SubqueryTest::Value || !inner.arguments.is_empty() {
                        continue;
                    }
                    let value = std::mem::replace(subquery, Expr::Column(place));
                    let columns = self.select.add_columns(1);
                    let row = Node::Materialise(Box::new(Node::One), Vec::new());
                    Source { item: Item::Rows(Box::new(Node::Project(Box::new(row), vec![value])), None), columns }
                }
                Expr::Subquery(subquery) => {
                    let SubqueryTest::Compare(Comparison::Equal, false, blanks) = &subquery.test else { continue };
                    let plain = subquery.operands.iter().all(|operand| matches!(operand, Expr::Column(_)));
                    if !plain || blanks.contains(&true) || !subquery.arguments.is_empty() {
                        continue;
                    }
                    let operands = subquery.operands.clone();
                    let Some(node) = subquery.plan.get_mut::<Node>() else { continue };
                    let node = std::mem::replace(node, Node::One);
                    let columns = self.select.add_columns(operands.len());
                    let equal = |(at, operand)| {
                        let pair = (operand, Expr::Column(place + at));
                        Expr::Compare(Comparison::Equal, Box::new(pair), false)
                    };
                    let conditions: Vec<_> = operands.into_iter().enumerate().map(equal).collect();
                    group.conditions[at] = Expr::bool(true);
                    group.conditions.extend(conditions);
                    Source { item: Item::Rows(Box::new(Node::Distinct(Box::new(node))), None), columns }
                }
                _ => continue,
            };
            group.sources.push(source);
        }
        group.conditions.retain(|condition| !is_true(condition));
    }
}

/// The outcome of an attempt to join a source by a nested loop.
#[allow(clippy::large_enum_variant, reason = "taken apart at once by whoever asked")]
enum Nested {
    Done(Planned),
    /// A nested loop does not serve. The rows joined so far and the source are returned unchanged.
    Unserved(Planned, Source),
}

/// Returns the sides of a comparison. If one of them is a column, it comes first.
fn sides(pair: &mut (Expr, Expr)) -> (&Expr, &mut Expr) {
    let (left, right) = pair;
    if matches!(left, Expr::Column(_)) { (left, right) } else { (right, left) }
}

/// Whether the path to a table's rows depends on the columns that a frame shows.
fn looks_at(access: &Access, frame: usize) -> bool {
    let way = access.path.exprs();
    way.into_iter().any(|value| value.any(&mut |part| matches!(part, Expr::Outer(at, _) if *at == frame)))
}

/// Removes the conditions that refer to no other columns than these from the list, and returns them.
fn take_applicable(conditions: &mut Vec<Expr>, joined: &Columns) -> Vec<Expr> {
    let (now, later) =
        std::mem::take(conditions).into_iter().partition(|condition| Columns::of([condition]).subset_of(joined));
    *conditions = later;
    now
}

/// Marks the columns that later joins need: those of the conditions, and those that LATERAL sources look at.
fn mark_pending(wanted: &mut Columns, conditions: &[Expr], sources: &[Source]) {
    conditions.iter().for_each(|condition| wanted.mark(condition));
    for source in sources {
        match &source.item {
            Item::Rows(_, Some(shown)) => wanted.extend(shown.columns.iter().copied()),
            Item::Outer(join) => {
                mark_pending(wanted, &[], &join.left.sources);
                mark_pending(wanted, &[], &join.right.sources);
            }
            Item::Table(..) | Item::Rows(_, None) => {}
        }
    }
}

/// Filters a node's rows by the conjunction of the conditions.
fn filtered(node: Node, conditions: Vec<Expr>) -> Node {
    match conjunction(conditions) {
        Some(condition) => Node::Filter(Box::new(node), condition),
        None => node,
    }
}

/// Filters rows by conditions with subqueries. The rows are kept first, unless a semi join or an anti join does the
/// work of the condition.
fn deferred_filter(mut planned: Planned, conditions: Vec<Expr>, wanted: &Columns) -> Result<Planned, SqlError> {
    let mut deferred = Vec::with_capacity(conditions.len());
    for condition in conditions {
        let (joined, condition) = semi_join(planned, condition, wanted)?;
        planned = joined;
        deferred.extend(condition);
    }
    if deferred.is_empty() {
        return Ok(planned);
    }
    let mut planned = planned.kept(wanted);
    for condition in &mut deferred {
        planned.place(condition)?;
    }
    planned.node = filtered(planned.node, deferred);
    Ok(planned)
}

/// Joins the rows so far with rows that are kept. If conditions are equalities between the sides, the kept rows are in
/// a hash table.
fn hash_join(
    outer: Planned,
    inner: Planned,
    conditions: Vec<Expr>,
    kind: JoinKind,
    wanted: &Columns,
) -> Result<Planned, SqlError> {
    let mut wanted = wanted.clone();
    conditions.iter().for_each(|condition| wanted.mark(condition));
    let (left, right) = (outer.present(&wanted), inner.present(&wanted));
    let (outer_places, inner_places, both) = (places(&left, &[]), places(&right, &[]), places(&left, &right));
    let (mut keys, mut rest) = (Vec::new(), Vec::new());
    for condition in conditions {
        let Expr::Compare(Comparison::Equal, pair, blanks) = condition else {
            rest.push(condition);
            continue;
        };
        let side = |expr: &Expr, planned: &Planned| {
            let columns = Columns::of([expr]);
            columns.any() && columns.iter().all(|column| planned.place_of(column).is_some())
        };
        let simple = !pair.0.has_subquery() && !pair.1.has_subquery();
        let (mut one, mut other) = match *pair {
            (one, other) if simple && side(&one, &outer) && side(&other, &inner) => (one, other),
            (one, other) if simple && side(&one, &inner) && side(&other, &outer) => (other, one),
            pair => {
                rest.push(Expr::Compare(Comparison::Equal, Box::new(pair), blanks));
                continue;
            }
        };
        place(&mut one, &outer_places)?;
        place(&mut other, &inner_places)?;
        keys.push(JoinKey { outer: one, inner: other, blanks });
    }
    for condition in &mut rest {
        place(condition, &both)?;
    }
    let (mut outer_columns, inner_columns) = (outer.places_of(&left), inner.places_of(&right));
    let mut outer_node = outer.node;
    if rest.iter().any(Expr::has_subquery) {
        outer_node = Node::Materialise(Box::new(outer_node), outer_columns.clone());
        outer_columns = (0..outer_columns.len()).collect();
    }
    let condition = conjunction(rest);
    let join = HashJoin { kind, outer: outer_node, outer_columns, inner: inner.node, inner_columns, keys, condition };
    Ok(Planned { node: Node::HashJoin(Box::new(join)), places: both, in_order: false })
}
