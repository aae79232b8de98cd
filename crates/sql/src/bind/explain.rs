//! Describes a plan for EXPLAIN, in PostgreSQL's manner.

use super::condition::conjunction;
use super::explain_output::{ExplainOutput, Operator};
use super::path::conditions_of;
use crate::expr::shown;
use crate::parse::trigger::TriggerEvent;
use crate::plan::measured::{Actual, Counts};
use crate::plan::{Access, HashJoin, JoinKind, Node, Path, Plan, Source};
use hotrow_storage::IndexRef;
use hotrow_txn::Direction;

/// Describes a plan that has not been run.
pub(crate) fn planned(plan: &Plan) -> ExplainOutput {
    told_with(plan, Lines::default(), None)
}

/// Describes a plan that has been run with counters. If the plan changes rows, `top` has the number of rows that it
/// returned, with the time in nanoseconds if times are shown, and `changed` is the number of rows that it changed.
pub(crate) fn explained(plan: &Plan, timed: bool, top: Option<(u64, Option<u64>)>, changed: u64) -> ExplainOutput {
    let mut out = Lines { timed, ..Lines::default() };
    out.actual = top.map(|(rows, taken)| {
        let counts = Counts::default();
        counts.add(rows, taken.unwrap_or(0), taken.unwrap_or(0));
        counts.actual(taken.is_some())
    });
    told_with(plan, out, Some(changed))
}

/// Describes a plan. If it changes rows and has been run, `changed` is the number of rows that the access itself found
/// and changed.
fn told_with(plan: &Plan, mut out: Lines, changed: Option<u64>) -> ExplainOutput {
    let found = changed.map(|rows| Actual { times_ms: None, rows, loops: 1 });
    out.plan(plan, found);
    out.told
}

#[derive(Default)]
struct Lines {
    told: ExplainOutput,
    depth: usize,
    /// Whether the description has times.
    timed: bool,
    /// The measurements that the next operator's line shows.
    actual: Option<Actual>,
}

impl Lines {
    /// Adds the operators of a plan. `found` has the measurements for the scan of an UPDATE or DELETE that has no query
    /// of its own, and for the rows of VALUES in an INSERT; `None` if the plan has not run.
    fn plan(&mut self, plan: &Plan, found: Option<Actual>) {
        match plan {
            Plan::Query(node) => self.node(node),
            Plan::CreateAs(create) => self.node(&create.query),
            Plan::Insert(insert) => {
                self.change("Insert", insert.table.plain_name());
                self.nested(|out| match &insert.source {
                    Source::Rows(rows) => {
                        out.actual = found.map(|found| Actual { rows: rows.len() as u64, ..found });
                        out.line(if rows.len() == 1 { "Result" } else { "Values Scan" });
                    }
                    Source::Query(node) => out.node(node),
                });
            }
            Plan::Update(update) => {
                self.change("Update", update.access.table.plain_name());
                self.nested(|out| match &update.source {
                    Some(source) => out.node(source),
                    None => {
                        out.actual = found;
                        out.access(&update.access);
                    }
                });
            }
            Plan::Delete(delete) => {
                self.change("Delete", delete.access.table.plain_name());
                self.nested(|out| match &delete.source {
                    Some(source) => out.node(source),
                    None => {
                        out.actual = found;
                        out.access(&delete.access);
                    }
                });
            }
            Plan::Instead(instead) => {
                let operation = match instead.event {
                    TriggerEvent::Insert => "Insert",
                    TriggerEvent::Update => "Update",
                    TriggerEvent::Delete => "Delete",
                };
                self.change(operation, instead.triggers.table.plain_name());
                self.nested(|out| out.node(&instead.source));
            }
            Plan::Merge(merge) => {
                self.change("Merge", merge.table.plain_name());
                self.nested(|out| out.node(&merge.source));
            }
            _ => self.line("Utility Statement"),
        }
    }

    /// Adds an operator with no properties but its type.
    fn line(&mut self, text: &str) {
        self.operator(text.to_owned(), vec![("Node Type", text.to_owned())]);
    }

    /// Adds an operator whose line may say more than its type, with the operator's properties.
    fn operator(&mut self, text: String, properties: Vec<(&'static str, String)>) {
        let (depth, actual) = (self.depth, self.actual.take());
        self.told.operators.push(Operator { depth, text, properties, actual, details: Vec::new() });
    }

    /// Adds the operator of a statement that changes rows.
    fn change(&mut self, operation: &str, table: &str) {
        let properties =
            [("Node Type", "ModifyTable"), ("Operation", operation), ("Relation Name", table), ("Alias", table)];
        let properties = properties.map(|(name, value)| (name, value.to_owned()));
        self.operator(format!("{operation} on {table}"), properties.to_vec());
    }

    /// Adds an operator that works on a named object. The line says the kind of the operator first; `name` is the
    /// property for the object's name.
    fn on(&mut self, kind: &str, name: &'static str, of: &str) {
        let properties = vec![("Node Type", kind.to_owned()), (name, of.to_owned())];
        self.operator(format!("{kind} on {of}"), properties);
    }

    /// Adds a detail to the last operator at this depth or above it.
    fn detail(&mut self, name: &'static str, detail: String) {
        let depth = self.depth;
        let last = self.told.operators.iter_mut().rev().find(|operator| operator.depth <= depth);
        if let Some(operator) = last {
            operator.details.push((name, detail));
        }
    }

    fn nested(&mut self, inner: impl FnOnce(&mut Self)) {
        self.depth += 1;
        inner(self);
        self.depth -= 1;
    }

    fn over(&mut self, text: &str, input: &Node) {
        self.line(text);
        self.nested(|out| out.node(input));
    }

    fn over_all<'n>(&mut self, text: &str, inputs: impl IntoIterator<Item = &'n Node>) {
        self.line(text);
        self.nested(|out| inputs.into_iter().for_each(|input| out.node(input)));
    }

    /// Adds an operator that keeps its input's rows as they come, with the input's measurements if it has none of its
    /// own.
    fn kept(&mut self, text: &str, input: &Node) {
        if self.actual.is_none() {
            self.actual = input.counts().map(|input| input.counts.actual(self.timed));
        }
        self.over(text, input);
    }

    /// Adds the number of rows that a condition has removed, if it has removed any.
    fn removed(&mut self, counts: &Counts, input: &Node) {
        let removed = input.counts().map_or(0, |input| input.counts.rows().saturating_sub(counts.rows()));
        if removed > 0 {
            self.detail("Rows Removed by Filter", counts.of_a_loop(removed).to_string());
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::One => self.line("Result"),
            Node::System(relation) => self.on("Function Scan", "Alias", relation.name),
            Node::Function(rows) => self.on("Function Scan", "Function Name", rows.function.name()),
            Node::Values(_) => self.line("Values Scan"),
            Node::Table(access) => {
                if access.lock.is_update() {
                    let actual = self.actual;
                    self.line("LockRows");
                    self.actual = actual;
                    self.nested(|out| out.access(access));
                } else {
                    self.access(access);
                }
            }
            Node::Measured(measured) => {
                // The operator around this one has the same line, and its measurements tell how many rows came through.
                if self.actual.is_none() {
                    self.actual = Some(measured.counts.actual(self.timed));
                }
                match &measured.node {
                    Node::Filter(input, _) => {
                        self.node(&measured.node);
                        self.removed(&measured.counts, input);
                    }
                    node => self.node(node),
                }
            }
            Node::Filter(input, condition) => {
                self.node(input);
                self.detail("Filter", shown(condition, None));
            }
            Node::Aggregate(input, groups, _) => {
                let (text, strategy) =
                    if groups.is_empty() { ("Aggregate", "Plain") } else { ("HashAggregate", "Hashed") };
                let properties = [("Node Type", "Aggregate"), ("Strategy", strategy)];
                self.operator(text.to_owned(), properties.map(|(name, value)| (name, value.to_owned())).to_vec());
                self.nested(|out| out.node(input));
            }
            Node::GroupingSets(groups) => {
                // Rows that are grouped as one are not hashed.
                let mixed = groups.sets.iter().any(Vec::is_empty);
                let (text, strategy) = if mixed { ("MixedAggregate", "Mixed") } else { ("HashAggregate", "Hashed") };
                let properties = [("Node Type", "Aggregate"), ("Strategy", strategy)];
                self.operator(text.to_owned(), properties.map(|(name, value)| (name, value.to_owned())).to_vec());
                self.nested(|out| out.node(&groups.input));
            }
            Node::Window(window) => self.over("WindowAgg", &window.input),
            Node::Project(input, _) => self.node(input),
            Node::ProjectSet(input, _) => self.over("ProjectSet", input),
            Node::Sort(input, ..) => self.over("Sort", input),
            Node::Distinct(input) => self.over("Unique", input),
            Node::Limit(input, ..) => self.over("Limit", input),
            Node::Materialise(input, _) => self.kept("Materialize", input),
            Node::NestedLoop(join) => {
                let left = join.kind == JoinKind::Left;
                let text = if left { "Nested Loop Left Join" } else { "Nested Loop" };
                self.join(text, "Nested Loop", join.kind);
                self.nested(|out| [&join.outer, &join.inner].into_iter().for_each(|input| out.node(input)));
            }
            Node::HashJoin(join) => self.hash_join(join),
            Node::Append(inputs) => self.over_all("Append", inputs.iter()),
            Node::Match(sets) => {
                let what = if sets.except { "SetOp Except" } else { "SetOp Intersect" };
                self.over_all(&format!("{what}{}", if sets.all { " All" } else { "" }), [&sets.left, &sets.right]);
            }
            Node::With(queries, body) => {
                for (id, query) in queries {
                    let name = format!("CTE {id}");
                    self.operator(name.clone(), vec![("Node Type", "CTE".to_owned()), ("Subplan Name", name)]);
                    self.nested(|out| out.node(query));
                }
                self.node(body);
            }
            Node::Change(plan) => {
                if let Some(plan) = plan.get() {
                    self.plan(plan, None);
                }
            }
            Node::Reference(id) => self.on("CTE Scan", "CTE Name", &id.to_string()),
            Node::Recursive(query) => {
                self.over_all(&format!("Recursive Union {}", query.rows), [&query.start, &query.step]);
            }
        }
    }

    fn join(&mut self, text: &str, kind: &str, join: JoinKind) {
        let join = match join {
            JoinKind::Inner => "Inner",
            JoinKind::Left => "Left",
            JoinKind::Full => "Full",
            JoinKind::Semi => "Semi",
            JoinKind::Anti => "Anti",
        };
        let properties = vec![("Node Type", kind.to_owned()), ("Join Type", join.to_owned())];
        self.operator(text.to_owned(), properties);
    }

    fn hash_join(&mut self, join: &HashJoin) {
        let way = if join.keys.is_empty() { "Nested Loop" } else { "Hash" };
        let text = match (join.kind, join.keys.is_empty()) {
            (JoinKind::Inner, true) => way.to_owned(),
            (JoinKind::Inner, false) => format!("{way} Join"),
            (JoinKind::Left, _) => format!("{way} Left Join"),
            (JoinKind::Full, _) => format!("{way} Full Join"),
            (JoinKind::Semi, _) => format!("{way} Semi Join"),
            (JoinKind::Anti, _) => format!("{way} Anti Join"),
        };
        self.join(&text, if join.keys.is_empty() { "Nested Loop" } else { "Hash Join" }, join.kind);
        if let Some(condition) = &join.condition {
            self.detail("Join Filter", shown(condition, None));
        }
        self.nested(|out| {
            out.node(&join.outer);
            out.kept(if join.keys.is_empty() { "Materialize" } else { "Hash" }, &join.inner);
        });
    }

    fn access(&mut self, access: &Access) {
        let table = access.table.plain_name();
        let (indexes, direction) = match &access.path {
            Path::Full => (Vec::new(), Direction::Forward),
            Path::Key(_) => (vec![IndexRef::Primary], Direction::Forward),
            Path::Range(range) => (vec![range.index], range.direction),
            Path::Ranges(ranges) => {
                let mut indexes = Vec::new();
                for range in ranges {
                    if !indexes.contains(&range.index) {
                        indexes.push(range.index);
                    }
                }
                (indexes, ranges.first().map_or(Direction::Forward, |range| range.direction))
            }
        };
        match &indexes[..] {
            [] => {
                let properties = [("Node Type", "Seq Scan"), ("Relation Name", table), ("Alias", table)]
                    .map(|(name, value)| (name, value.to_owned()));
                self.operator(format!("Seq Scan on {table}"), properties.to_vec());
            }
            indexes => {
                let way = if direction == Direction::Backward { " Backward" } else { "" };
                let names: Vec<_> = indexes.iter().map(|&index| access.table.index_name(index)).collect();
                let name = names.join(", ");
                let scan = if way.is_empty() { "Forward" } else { "Backward" };
                let text = format!("Index Scan{way} using {name} on {table}");
                let properties = [
                    ("Node Type", "Index Scan"),
                    ("Scan Direction", scan),
                    ("Index Name", &name),
                    ("Relation Name", table),
                    ("Alias", table),
                ];
                self.operator(text, properties.map(|(name, value)| (name, value.to_owned())).to_vec());
            }
        }
        if let Some(condition) = conjunction(conditions_of(&access.table, &access.path)) {
            self.detail("Index Cond", shown(&condition, Some(&access.table)));
        }
        if let Some(filter) = &access.filter {
            self.detail("Filter", shown(filter, Some(&access.table)));
        }
    }
}
