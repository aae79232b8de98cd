//! Queries and their parts, bound: what the clauses hand to each other.

use super::group::Group;
use super::scope::Scope;
use crate::OutputColumn;
use crate::expr::Expr;
use crate::plan::{Node, Plan};
use hotrow_storage::Type;
use hotrow_txn::LockFor;
use sqlparser::ast::SelectItem;
use std::collections::HashMap;

/// The select list, bound.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) exprs: Vec<Expr>,
    pub(super) columns: Vec<OutputColumn>,
    /// As in [`Bound`].
    pub(super) loose: Vec<bool>,
}

/// One ORDER BY item, bound to a position in the output or to an expression of its own.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) expr: Expr,
    pub(super) ty: Type,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

/// A query, bound.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) node: Node,
    pub(super) columns: Vec<OutputColumn>,
    /// Of each column, whether its type is only a guess: it is a literal, NULL or a parameter.
    pub(super) loose: Vec<bool>,
}

/// What stands in FROM, or in a part of it.
#[derive(Debug, Default)]
pub(super) struct From {
    pub(super) group: Group,
    pub(super) scope: Scope,
}

/// Which tables of a query FOR UPDATE locks.
#[derive(Clone, Debug, Default)]
pub(super) enum Locking {
    /// None.
    #[default]
    None,
    /// All, those of subqueries in FROM too.
    All(LockFor),
    /// Those of these aliases.
    Of(Vec<(String, LockFor)>),
}

impl Locking {
    /// For what the table is locked that is called this.
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
    /// The number under which its rows are kept.
    pub(super) rows: usize,
    /// Its plan, until it is put somewhere.
    pub(super) plan: Option<Node>,
    /// Whether it may be put where it is mentioned.
    pub(super) inline: bool,
    pub(super) references: usize,
    pub(super) within: Within,
}

/// Which part of a query itself is being bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// None.
    Nothing,
    /// What is not UNION.
    Other,
    /// The one that it starts with.
    Start,
    /// The one that goes on with its rows, with so many queries around it.
    Step(usize),
}

/// How the rows of EXISTS's query are found in a hash table.
#[derive(Debug)]
pub(super) struct Matching {
    /// The values of the row around the query that equal the query's first columns, over the frame; trailing blanks do
    /// not count where the flag says so.
    pub(super) operands: Vec<(Expr, bool)>,
    /// What else must be true, of the query's row and the frame.
    pub(super) condition: Option<Expr>,
}

/// What each `*` means, by the line and the column where it stands.
pub(super) type Stars = HashMap<(u64, u64), Vec<SelectItem>>;

/// The plan of a statement, and the columns of its result if it has one.
pub(super) type PlanWithColumns = (Plan, Option<Vec<OutputColumn>>);

/// A node of which an operator with these expressions takes its rows: they are kept if that has subqueries.
pub(super) fn kept_for<'e>(node: Node, width: usize, exprs: impl IntoIterator<Item = &'e Expr>) -> Node {
    match exprs.into_iter().any(Expr::has_subquery) {
        true => Node::Materialise(Box::new(node), (0..width).collect()),
        false => node,
    }
}

/// Computed rows.
pub(super) fn computed(rows: Vec<Vec<Expr>>) -> Node {
    if !rows.iter().flatten().any(Expr::has_subquery) {
        return Node::Values(rows);
    }
    let row = |exprs| Node::Project(Box::new(Node::Materialise(Box::new(Node::One), Vec::new())), exprs);
    Node::Append(rows.into_iter().map(row).collect())
}
