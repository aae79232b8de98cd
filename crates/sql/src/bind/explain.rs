//! Plans as lines, in PostgreSQL's manner.

use super::path::{conditions_of, conjunction};
use crate::catalog::{Table, describe};
use crate::expr::{ArrayFunction, Expr, Function};
use crate::measured::Counts;
use crate::plan::{Access, HashJoin, JoinKind, Node, Path, Plan, Source, SubqueryTest};
use hotrow_storage::{IndexRef, Type, Value};
use hotrow_txn::Direction;

/// The lines of a plan.
pub(crate) fn lines(plan: &Plan) -> Vec<String> {
    lines_with(plan, Lines::default(), "")
}

/// The lines of a plan that has counted. If it changes rows, so many rows were its answer, in so many nanoseconds if they are to be told, and so
/// many were changed.
pub(crate) fn explained(plan: &Plan, timed: bool, top: Option<(u64, Option<u64>)>, changed: u64) -> Vec<String> {
    let mut out = Lines { timed, ..Lines::default() };
    out.actual = top.map(|(rows, taken)| {
        let counts = Counts::default();
        counts.add(rows, taken.unwrap_or(0), taken.unwrap_or(0));
        counts.shown(taken.is_some())
    });
    lines_with(plan, out, &format!(" (actual rows={changed} loops=1)"))
}

/// `found` is said of the rows that are changed as they are found.
fn lines_with(plan: &Plan, mut out: Lines, found: &str) -> Vec<String> {
    match plan {
        Plan::Query(node) => out.node(node),
        Plan::Insert(insert) => {
            out.line(&format!("Insert on {}", insert.table.plain_name()));
            out.nested(|out| match &insert.source {
                Source::Rows(rows) => {
                    out.actual = (!found.is_empty()).then(|| format!(" (actual rows={} loops=1)", rows.len()));
                    out.line(if rows.len() == 1 { "Result" } else { "Values Scan" });
                }
                Source::Query(node) => out.node(node),
            });
        }
        Plan::Update(update) => {
            out.line(&format!("Update on {}", update.access.table.plain_name()));
            out.nested(|out| match &update.source {
                Some(source) => out.node(source),
                None => {
                    out.actual = Some(found.to_owned());
                    out.access(&update.access);
                }
            });
        }
        Plan::Delete(delete) => {
            out.line(&format!("Delete on {}", delete.access.table.plain_name()));
            out.nested(|out| match &delete.source {
                Some(source) => out.node(source),
                None => {
                    out.actual = Some(found.to_owned());
                    out.access(&delete.access);
                }
            });
        }
        _ => out.line("Utility Statement"),
    }
    out.lines
}

#[derive(Default)]
struct Lines {
    lines: Vec<String>,
    depth: usize,
    /// Whether times are told.
    timed: bool,
    /// What is said after the next line.
    actual: Option<String>,
}

impl Lines {
    fn line(&mut self, text: &str) {
        let actual = self.actual.take().unwrap_or_default();
        let line = match self.depth {
            0 => format!("{text}{actual}"),
            depth => format!("{}->  {text}{actual}", " ".repeat(depth * 6 - 4)),
        };
        self.lines.push(line);
    }

    fn detail(&mut self, text: &str) {
        self.lines.push(format!("{}{text}", " ".repeat(self.depth * 6 + 2)));
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

    /// Over an input that is kept as it comes.
    fn kept(&mut self, text: &str, input: &Node) {
        if self.actual.is_none() {
            self.actual = input.counts().map(|input| input.counts.shown(self.timed));
        }
        self.over(text, input);
    }

    /// How many rows a condition has kept out, if any.
    fn removed(&mut self, counts: &Counts, input: &Node) {
        let removed = input.counts().map_or(0, |input| input.counts.rows().saturating_sub(counts.rows()));
        if removed > 0 {
            self.detail(&format!("Rows Removed by Filter: {}", counts.of_a_loop(removed)));
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::One => self.line("Result"),
            Node::System(relation) => self.line(&format!("Function Scan on {}", relation.name)),
            Node::Function(rows) => self.line(&format!("Function Scan on {}", rows.function.name())),
            Node::Values(_) => self.line("Values Scan"),
            Node::Table(access) => {
                if access.lock.is_update() {
                    let actual = self.actual.clone();
                    self.line("LockRows");
                    self.actual = actual;
                    self.nested(|out| out.access(access));
                } else {
                    self.access(access);
                }
            }
            Node::Measured(measured) => {
                // What is around it says the same line, and knows which rows came through.
                if self.actual.is_none() {
                    self.actual = Some(measured.counts.shown(self.timed));
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
                self.detail(&format!("Filter: {}", shown(condition, None)));
            }
            Node::Aggregate(input, groups, _) => {
                self.over(if groups.is_empty() { "Aggregate" } else { "HashAggregate" }, input);
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
                self.over_all(if left { "Nested Loop Left Join" } else { "Nested Loop" }, [&join.outer, &join.inner]);
            }
            Node::HashJoin(join) => self.hash_join(join),
            Node::Append(inputs) => self.over_all("Append", inputs.iter()),
            Node::Match(sets) => {
                let what = if sets.except { "SetOp Except" } else { "SetOp Intersect" };
                self.over_all(&format!("{what}{}", if sets.all { " All" } else { "" }), [&sets.left, &sets.right]);
            }
            Node::With(queries, body) => {
                for (id, query) in queries {
                    self.line(&format!("CTE {id}"));
                    self.nested(|out| out.node(query));
                }
                self.node(body);
            }
            Node::Reference(id) => self.line(&format!("CTE Scan on {id}")),
            Node::Recursive(query) => {
                self.over_all(&format!("Recursive Union {}", query.rows), [&query.start, &query.step]);
            }
        }
    }

    fn hash_join(&mut self, join: &HashJoin) {
        let way = if join.keys.is_empty() { "Nested Loop" } else { "Hash" };
        self.line(&match (join.kind, join.keys.is_empty()) {
            (JoinKind::Inner, true) => way.to_owned(),
            (JoinKind::Inner, false) => format!("{way} Join"),
            (JoinKind::Left, _) => format!("{way} Left Join"),
            (JoinKind::Full, _) => format!("{way} Full Join"),
        });
        if let Some(condition) = &join.condition {
            self.detail(&format!("Join Filter: {}", shown(condition, None)));
        }
        self.nested(|out| {
            out.node(&join.outer);
            out.kept(if join.keys.is_empty() { "Materialize" } else { "Hash" }, &join.inner);
        });
    }

    fn access(&mut self, access: &Access) {
        let table = access.table.plain_name();
        fn index_of(path: &Path) -> (Option<IndexRef>, Direction) {
            match path {
                Path::Full => (None, Direction::Forward),
                Path::Key(_) => (Some(IndexRef::Primary), Direction::Forward),
                Path::Range(range) => (Some(range.index), range.direction),
                Path::Each(each) => (index_of(&each.way).0, each.direction),
            }
        }
        let (index, direction) = index_of(&access.path);
        match index {
            None => self.line(&format!("Seq Scan on {table}")),
            Some(index) => {
                let way = if direction == Direction::Backward { " Backward" } else { "" };
                self.line(&format!("Index Scan{way} using {} on {table}", access.table.index_name(index)));
            }
        }
        if let Some(condition) = conjunction(conditions_of(&access.table, &access.path)) {
            self.detail(&format!("Index Cond: {}", shown(&condition, Some(&access.table))));
        }
        if let Some(filter) = &access.filter {
            self.detail(&format!("Filter: {}", shown(filter, Some(&access.table))));
        }
    }
}

/// A condition, near enough to SQL to be recognised.
pub(crate) fn shown(expr: &Expr, table: Option<&Table>) -> String {
    let show = |expr: &Expr| shown(expr, table);
    let all = |list: &[Expr], between: &str| list.iter().map(show).collect::<Vec<_>>().join(between);
    match expr {
        Expr::Const(value @ Value::Text(_)) => format!("'{}'", describe(value)),
        Expr::Const(Value::Null) => "NULL".to_owned(),
        Expr::Const(Value::Bool(value)) => value.to_string(),
        Expr::Const(value) => describe(value),
        Expr::Param(index) => format!("${}", index + 1),
        Expr::Column(column) => match table.and_then(|table| table.schema.columns.get(*column)) {
            Some(column) => column.name.clone(),
            None => format!("#{}", column + 1),
        },
        Expr::Outer(frame, column) => format!("${frame}.{}", column + 1),
        Expr::Subquery(subquery) => match &subquery.test {
            SubqueryTest::Value => "(SubPlan)".to_owned(),
            SubqueryTest::Array(_) => "ARRAY(SubPlan)".to_owned(),
            SubqueryTest::Exists => "EXISTS(SubPlan)".to_owned(),
            SubqueryTest::Compare(operator, every, _) => {
                let way = if *every { "ALL" } else { "ANY" };
                format!("({} {} {way} (SubPlan))", all(&subquery.operands, ", "), operator.symbol())
            }
        },
        Expr::And(list) => format!("({})", all(list, " AND ")),
        Expr::Or(list) => format!("({})", all(list, " OR ")),
        Expr::Not(inner) => match &**inner {
            Expr::IsNull(tested) => format!("({} IS NOT NULL)", show(tested)),
            inner => format!("(NOT {})", show(inner)),
        },
        Expr::IsNull(inner) => format!("({} IS NULL)", show(inner)),
        Expr::Compare(operator, pair, _) => format!("({} {} {})", show(&pair.0), operator.symbol(), show(&pair.1)),
        Expr::Arithmetic(operator, pair) => format!("({} {} {})", show(&pair.0), operator.symbol(), show(&pair.1)),
        Expr::In(value, list, _) => format!("({} IN ({}))", show(value), all(list, ", ")),
        Expr::Call(Function::Array(ArrayFunction::Any(operator, every, _)), list) if let [value, array] = &list[..] => {
            let way = if *every { "ALL" } else { "ANY" };
            format!("({} {} {way} ({}))", show(value), operator.symbol(), show(array))
        }
        Expr::Like(like) => format!("({} ~~ {})", show(&like.text), show(&like.pattern)),
        Expr::Call(function, list) if list.is_empty() && function.written().is_some() => {
            function.written().unwrap_or_default().to_owned()
        }
        // A scale is given up.
        Expr::Cast(inner, Type::Numeric(_), Type::Numeric(None), _) => show(inner),
        Expr::Cast(inner, _, to, _) => format!("({})::{to}", show(inner)),
        other => {
            let parts: Vec<_> = other.parts().into_iter().map(show).collect();
            format!("(… {})", parts.join(", "))
        }
    }
}
