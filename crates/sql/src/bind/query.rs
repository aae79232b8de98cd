//! Bound queries and their parts, which the clauses of a query hand to each other.

use super::group::Group;
use super::scope::Scope;
use crate::OutputColumn;
use crate::expr::Expr;
use crate::plan::{Node, Plan};
use hotrow_storage::Type;
use hotrow_txn::LockFor;
use sqlparser::ast::SelectItem;
use std::collections::HashMap;

/// A bound select list.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) exprs: Vec<Expr>,
    pub(super) columns: Vec<OutputColumn>,
    /// Whether the type of each column may still change, as in [`Bound`].
    pub(super) loose: Vec<bool>,
}

/// A bound ORDER BY item. If it means an output column, by name or position, `expr` is the expression of that column.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) expr: Expr,
    pub(super) ty: Type,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

/// A bound query: its plan and its columns.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) node: Node,
    pub(super) columns: Vec<OutputColumn>,
    /// Whether the type of each column may still change, because the column is a literal, NULL or a parameter.
    pub(super) loose: Vec<bool>,
}

/// The FROM items of a query or of a part of it: their sources, and the names that they give to columns.
#[derive(Debug, Default)]
pub(super) struct From {
    pub(super) group: Group,
    pub(super) scope: Scope,
}

/// The tables of a query that FOR UPDATE locks.
#[derive(Clone, Debug, Default)]
pub(super) enum Locking {
    /// The query locks no table.
    #[default]
    None,
    /// The query locks all tables, also those of subqueries in FROM.
    All(LockFor),
    /// The query locks the tables of these names or aliases.
    Of(Vec<(String, LockFor)>),
}

impl Locking {
    /// Returns the lock that the query takes on the rows of the table of this name or alias.
    pub(super) fn of(&self, name: &str) -> LockFor {
        match self {
            Locking::None => LockFor::Read,
            Locking::All(lock) => *lock,
            Locking::Of(names) => {
                let locks = names.iter().filter(|(locked, _)| locked == name).map(|(_, lock)| *lock);
                locks.max().unwrap_or_default()
            }
        }
    }
}

/// A query of WITH.
#[derive(Debug)]
pub(super) struct WithQuery {
    pub(super) name: String,
    pub(super) columns: Vec<OutputColumn>,
    /// The number under which the rows of the query are kept.
    pub(super) rows: usize,
    /// The plan of the query, until the binder puts it into another plan.
    pub(super) plan: Option<Node>,
    /// Whether the plan may be put where the query is mentioned.
    pub(super) inline: bool,
    pub(super) references: usize,
    pub(super) within: Within,
    /// The number of scans in this query that must run before the changes of the WITH queries that precede it.
    pub(super) early_scans: usize,
}

/// The part of a query of WITH RECURSIVE that is being bound, which decides whether the query may be mentioned there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// No part is being bound: the query is complete, and any query after it may mention it.
    Nothing,
    /// The query is no UNION, so it must not mention itself.
    Other,
    /// The non-recursive term, which must not mention the query.
    Start,
    /// The recursive term, which may mention the query once, outside its subqueries. The number says how many queries
    /// are around the term.
    Step(usize),
}

/// The comparisons by which an EXISTS finds the rows of its query in a hash table.
#[derive(Debug)]
pub(super) struct Matching {
    /// The values of the outer row that must equal the query's first columns, as expressions over the frame. The flag
    /// says that trailing blanks do not count.
    pub(super) operands: Vec<(Expr, bool)>,
    /// The remaining condition, as an expression over the query's row and the frame.
    pub(super) condition: Option<Expr>,
}

/// The columns for which each `*` stands, by the line and the column of the `*` in the text.
pub(super) type Stars = HashMap<(u64, u64), Vec<SelectItem>>;

/// The plan of a statement, and the columns of its result if it has one.
pub(super) type PlanWithColumns = (Plan, Option<Vec<OutputColumn>>);

/// Materialises a node if the expressions of the operator above it have subqueries.
pub(super) fn kept_for<'e>(node: Node, width: usize, exprs: impl IntoIterator<Item = &'e Expr>) -> Node {
    match exprs.into_iter().any(Expr::has_subquery) {
        true => Node::Materialise(Box::new(node), (0..width).collect()),
        false => node,
    }
}

/// Makes the node of computed rows.
pub(super) fn computed(rows: Vec<Vec<Expr>>) -> Node {
    if !rows.iter().flatten().any(Expr::has_subquery) {
        return Node::Values(rows);
    }
    let row = |exprs| Node::Project(Box::new(Node::Materialise(Box::new(Node::One), Vec::new())), exprs);
    Node::Append(rows.into_iter().map(row).collect())
}
