//! Plans as lines, in PostgreSQL's manner.

use super::path::{conditions_of, conjunction};
use crate::catalog::{Table, describe};
use crate::expr::Expr;
use crate::plan::{Access, HashJoin, JoinKind, Node, Path, Plan, Source, SubqueryTest};
use hotrow_storage::{IndexRef, Value};
use hotrow_txn::{Direction, LockFor};

/// The lines of a plan.
pub(super) fn lines(plan: &Plan) -> Vec<String> {
    let mut out = Lines::default();
    match plan {
        Plan::Query(node) => out.node(node),
        Plan::Insert(insert) => {
            out.line(&format!("Insert on {}", insert.table.name()));
            out.nested(|out| match &insert.source {
                Source::Rows(rows) if rows.len() == 1 => out.line("Result"),
                Source::Rows(_) => out.line("Values Scan"),
                Source::Query(node) => out.node(node),
            });
        }
        Plan::Update(update) => {
            out.line(&format!("Update on {}", update.access.table.name()));
            out.nested(|out| match &update.source {
                Some(source) => out.node(source),
                None => out.access(&update.access),
            });
        }
        Plan::Delete(delete) => {
            out.line(&format!("Delete on {}", delete.access.table.name()));
            out.nested(|out| match &delete.source {
                Some(source) => out.node(source),
                None => out.access(&delete.access),
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
}

impl Lines {
    fn line(&mut self, text: &str) {
        let line = match self.depth {
            0 => text.to_owned(),
            depth => format!("{}->  {text}", " ".repeat(depth * 6 - 4)),
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

    fn node(&mut self, node: &Node) {
        match node {
            Node::One => self.line("Result"),
            Node::System(relation) => self.line(&format!("Function Scan on {}", relation.name)),
            Node::Function(rows) => self.line(&format!("Function Scan on {}", rows.function.name())),
            Node::Values(_) => self.line("Values Scan"),
            Node::Table(access) => {
                if access.lock == LockFor::Update {
                    self.line("LockRows");
                    self.nested(|out| out.access(access));
                } else {
                    self.access(access);
                }
            }
            Node::Filter(input, condition) => {
                self.node(input);
                self.detail(&format!("Filter: {}", shown(condition, None)));
            }
            Node::Aggregate(input, groups, _) => {
                self.over(if groups.is_empty() { "Aggregate" } else { "HashAggregate" }, input);
            }
            Node::Project(input, _) => self.node(input),
            Node::Sort(input, ..) => self.over("Sort", input),
            Node::Distinct(input) => self.over("Unique", input),
            Node::Limit(input, ..) => self.over("Limit", input),
            Node::Materialise(input, _) => self.over("Materialize", input),
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
            if join.keys.is_empty() { out.over("Materialize", &join.inner) } else { out.over("Hash", &join.inner) }
        });
    }

    fn access(&mut self, access: &Access) {
        let table = access.table.name();
        let (index, direction) = match &access.path {
            Path::Full => (None, Direction::Forward),
            Path::Key(_) => (Some(IndexRef::Primary), Direction::Forward),
            Path::Range(range) => (Some(range.index), range.direction),
        };
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
        Expr::Not(inner) => format!("(NOT {})", show(inner)),
        Expr::IsNull(inner) => format!("({} IS NULL)", show(inner)),
        Expr::Compare(operator, pair, _) => format!("({} {} {})", show(&pair.0), operator.symbol(), show(&pair.1)),
        Expr::Arithmetic(operator, pair) => format!("({} {} {})", show(&pair.0), operator.symbol(), show(&pair.1)),
        Expr::In(value, list, _) => format!("({} IN ({}))", show(value), all(list, ", ")),
        Expr::Like(like) => format!("({} ~~ {})", show(&like.text), show(&like.pattern)),
        Expr::Call(function, list) if list.is_empty() && function.written().is_some() => {
            function.written().unwrap_or_default().to_owned()
        }
        Expr::Cast(inner, _, to, _) => format!("({})::{to}", show(inner)),
        other => {
            let parts: Vec<_> = other.parts().into_iter().map(show).collect();
            format!("(… {})", parts.join(", "))
        }
    }
}
