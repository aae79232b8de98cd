//! The operators of queries.

use super::access::Access;
use super::aggregate::AggregateCall;
use super::measured::Measured;
use super::table_function::RowsOf;
use super::window::Window;
use crate::expr::Expr;
use crate::system::SystemRelation;

/// An operator.
#[derive(Debug)]
pub enum Node {
    /// One row of no columns.
    One,
    /// Computed rows.
    Values(Vec<Vec<Expr>>),
    /// The rows of a table.
    Table(Access),
    /// What the server knows.
    System(&'static SystemRelation),
    /// The rows that a function makes.
    Function(Box<RowsOf>),
    /// Those rows of which the condition is true.
    Filter(Box<Node>, Expr),
    /// One row a group: the group's expressions, then the aggregates.
    Aggregate(Box<Node>, Vec<Expr>, Vec<AggregateCall>),
    /// What window functions say of each row.
    Window(Box<Window>),
    /// Computed columns.
    Project(Box<Node>, Vec<Expr>),
    /// Each row as often as the longest of the functions has rows for it: theirs, NULLs after the end of a shorter one,
    /// then its own columns.
    ProjectSet(Box<Node>, Vec<RowsOf>),
    /// In order, cut to the given number of columns. Of rows that are equal in so many of the first keys only the
    /// first, if that is not zero.
    Sort(Box<Node>, Vec<SortKey>, usize, usize),
    /// Each row once.
    Distinct(Box<Node>),
    /// A part of the rows.
    Limit(Box<Node>, Option<Expr>, Option<Expr>),
    /// These columns of all rows, kept before the first one goes on. Under an operator with subqueries.
    Materialise(Box<Node>, Vec<usize>),
    /// For each row of one side, the other side runs.
    NestedLoop(Box<NestedLoop>),
    /// For each row of one side, the kept rows of the other that match.
    HashJoin(Box<HashJoin>),
    /// The rows of each input, one after the other.
    Append(Vec<Node>),
    /// INTERSECT and EXCEPT.
    Match(Box<Match>),
    /// Queries that are kept, each under its number, for the last one.
    With(Vec<(usize, Node)>, Box<Node>),
    /// The rows that are kept under this number.
    Reference(usize),
    /// A query that goes on with its own rows.
    Recursive(Box<Recursive>),
    /// An operator that counts.
    Measured(Box<Measured>),
}

impl Node {
    /// Visits the nodes that rows come from.
    pub fn each_input<'n>(&'n self, visit: &mut dyn FnMut(&'n Node)) {
        match self {
            Node::One | Node::System(_) | Node::Function(_) | Node::Values(_) | Node::Table(_) | Node::Reference(_) => {
            }
            Node::Filter(input, _) | Node::Aggregate(input, ..) | Node::Project(input, _) => visit(input),
            Node::ProjectSet(input, _) => visit(input),
            Node::Sort(input, ..) | Node::Distinct(input) | Node::Limit(input, ..) => visit(input),
            Node::Materialise(input, _) => visit(input),
            Node::Window(window) => visit(&window.input),
            Node::NestedLoop(join) => [&join.outer, &join.inner].into_iter().for_each(visit),
            Node::HashJoin(join) => [&join.outer, &join.inner].into_iter().for_each(visit),
            Node::Append(inputs) => inputs.iter().for_each(visit),
            Node::Match(sets) => [&sets.left, &sets.right].into_iter().for_each(visit),
            Node::With(queries, body) => {
                queries.iter().for_each(|(_, query)| visit(query));
                visit(body);
            }
            Node::Recursive(query) => [&query.start, &query.step].into_iter().for_each(visit),
            Node::Measured(measured) => visit(&measured.node),
        }
    }

    /// The same, to change them.
    pub fn each_input_mut(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        match self {
            Node::One | Node::System(_) | Node::Function(_) | Node::Values(_) | Node::Table(_) | Node::Reference(_) => {
            }
            Node::Filter(input, _) | Node::Aggregate(input, ..) | Node::Project(input, _) => visit(input),
            Node::ProjectSet(input, _) => visit(input),
            Node::Sort(input, ..) | Node::Distinct(input) | Node::Limit(input, ..) => visit(input),
            Node::Materialise(input, _) => visit(input),
            Node::Window(window) => visit(&mut window.input),
            Node::NestedLoop(join) => [&mut join.outer, &mut join.inner].into_iter().for_each(visit),
            Node::HashJoin(join) => [&mut join.outer, &mut join.inner].into_iter().for_each(visit),
            Node::Append(inputs) => inputs.iter_mut().for_each(visit),
            Node::Match(sets) => [&mut sets.left, &mut sets.right].into_iter().for_each(visit),
            Node::With(queries, body) => {
                queries.iter_mut().for_each(|(_, query)| visit(query));
                visit(body);
            }
            Node::Recursive(query) => [&mut query.start, &mut query.step].into_iter().for_each(visit),
            Node::Measured(measured) => visit(&mut measured.node),
        }
    }
}

/// Which rows a join has beside those that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// None.
    Inner,
    /// The outer side's, with NULLs.
    Left,
    /// Those of both sides, with NULLs.
    Full,
    /// None, and of the outer side's rows those that have a match, each once and by itself.
    Semi,
    /// None, and of the outer side's rows those that have no match.
    Anti,
}

/// A join whose inner side runs once for each row of the outer side: the inner side finds its rows by it. A row of the
/// join has the kept columns, then those of the inner side.
#[derive(Debug)]
pub struct NestedLoop {
    /// Inner or left.
    pub kind: JoinKind,
    /// The side that is kept.
    pub outer: Node,
    /// The columns of it that are.
    pub keep: Vec<usize>,
    /// The number of the frame around the inner side.
    pub frame: usize,
    /// What the frame shows, as positions among the columns kept.
    pub shown: Vec<usize>,
    /// The side that runs again and again. Its conditions are the join's.
    pub inner: Node,
}

/// A join whose inner side is kept, in a hash table if values of both sides must be equal. A row of the join has the
/// columns that are wanted of the outer side, then those of the inner one; a row of a semi or anti join has the first
/// only.
#[derive(Debug)]
pub struct HashJoin {
    /// Any.
    pub kind: JoinKind,
    /// The side that goes by.
    pub outer: Node,
    /// The columns of it that are wanted.
    pub outer_columns: Vec<usize>,
    /// The side that is kept.
    pub inner: Node,
    /// The columns of it that are.
    pub inner_columns: Vec<usize>,
    /// What must be equal.
    pub keys: Vec<JoinKey>,
    /// What else must be true, of the join's row.
    pub condition: Option<Expr>,
}

/// Two values that must be equal in a join.
#[derive(Debug)]
pub struct JoinKey {
    /// Over the columns that are wanted of the outer side.
    pub outer: Expr,
    /// Over those kept of the inner one.
    pub inner: Expr,
    /// Trailing blanks do not count.
    pub blanks: bool,
}

/// The rows of one query that another has, too, or that it has not.
#[derive(Debug)]
pub struct Match {
    /// EXCEPT; else INTERSECT.
    pub except: bool,
    /// As many times as the difference or the lesser number; else once.
    pub all: bool,
    /// Whose rows they are.
    pub left: Node,
    /// The other one.
    pub right: Node,
}

/// WITH RECURSIVE: the rows of the start, and those that the step makes of the rows before, until it makes none.
#[derive(Debug)]
pub struct Recursive {
    /// The number under which the step finds the rows before.
    pub rows: usize,
    /// How many columns there are.
    pub width: usize,
    /// UNION: rows that were there are not there again.
    pub distinct: bool,
    /// What does not look at the rows before.
    pub start: Node,
    /// What does.
    pub step: Node,
}

/// A column to sort by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// Its position in the input.
    pub column: usize,
    /// Greatest first.
    pub descending: bool,
    /// NULLs before all others.
    pub nulls_first: bool,
    /// A `char` column: trailing blanks do not count.
    pub blanks: bool,
}
