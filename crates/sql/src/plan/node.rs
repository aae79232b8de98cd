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
    /// Rows of computed values.
    Values(Vec<Vec<Expr>>),
    /// The rows of a table.
    Table(Access),
    /// The rows of a system relation.
    System(&'static SystemRelation),
    /// The rows that a function makes.
    Function(Box<RowsOf>),
    /// The rows of the input for which the condition is true.
    Filter(Box<Node>, Expr),
    /// One row for each group: the group's expressions, then the aggregates.
    Aggregate(Box<Node>, Vec<Expr>, Vec<AggregateCall>),
    /// The rows of the input with the results of window functions.
    Window(Box<Window>),
    /// Computed columns.
    Project(Box<Node>, Vec<Expr>),
    /// Each row as often as the longest of the functions returns rows for it: the functions' columns, with NULLs after
    /// the end of a shorter one, then the row's own columns.
    ProjectSet(Box<Node>, Vec<RowsOf>),
    /// The rows in order, cut to the given number of columns. If the second number is not zero, only the first of the
    /// rows that are equal in so many of the first keys.
    Sort(Box<Node>, Vec<SortKey>, usize, usize),
    /// Each row once.
    Distinct(Box<Node>),
    /// LIMIT and OFFSET.
    Limit(Box<Node>, Option<Expr>, Option<Expr>),
    /// The given columns of all rows, kept before the first row goes on. The operator stands under one with subqueries.
    Materialise(Box<Node>, Vec<usize>),
    /// The join that runs its inner side for each row of the outer side.
    NestedLoop(Box<NestedLoop>),
    /// The join that looks up the matching rows among the kept rows of its inner side.
    HashJoin(Box<HashJoin>),
    /// The rows of each input, one after the other.
    Append(Vec<Node>),
    /// INTERSECT and EXCEPT.
    Match(Box<Match>),
    /// WITH: queries whose rows are kept, each under its number, then the query that uses them.
    With(Vec<(usize, Node)>, Box<Node>),
    /// The rows that are kept under this number.
    Reference(usize),
    /// WITH RECURSIVE.
    Recursive(Box<Recursive>),
    /// An operator that counts.
    Measured(Box<Measured>),
}

impl Node {
    /// Visits the direct inputs of the operator.
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

    /// Visits the direct inputs of the operator, to change them.
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

/// The treatment of the rows of a join that match, and that do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// The rows are the matching pairs.
    Inner,
    /// The rows are the matching pairs, and the outer side's rows without a match, with NULLs.
    Left,
    /// The rows are the matching pairs, and each side's rows without a match, with NULLs.
    Full,
    /// The rows are the outer side's rows that have a match, each once and without the inner side's columns.
    Semi,
    /// The rows are the outer side's rows that have no match, without the inner side's columns.
    Anti,
}

/// A join whose inner side runs once for each row of the outer side, and uses the row to find its own rows. A row of
/// the join has the outer columns that are kept, then those of the inner side.
#[derive(Debug)]
pub struct NestedLoop {
    /// The kind of the join, which is inner or left.
    pub kind: JoinKind,
    /// The side that is kept.
    pub outer: Node,
    /// The columns of the outer side that are kept.
    pub keep: Vec<usize>,
    /// The number of the frame around the inner side.
    pub frame: usize,
    /// The columns that the frame shows, as positions among the kept columns.
    pub shown: Vec<usize>,
    /// The side that runs for each outer row. It contains the join's conditions.
    pub inner: Node,
}

/// A join whose inner side is kept, in a hash table if values of both sides must be equal. A row of the join has the
/// wanted columns of the outer side, then the kept columns of the inner side. A row of a semi or anti join has only the
/// former.
#[derive(Debug)]
pub struct HashJoin {
    /// The kind of the join, which may be any.
    pub kind: JoinKind,
    /// The side whose rows are not kept: each is matched as it comes.
    pub outer: Node,
    /// The columns of the outer side that the join's rows have.
    pub outer_columns: Vec<usize>,
    /// The side that is kept.
    pub inner: Node,
    /// The columns of the inner side that are kept.
    pub inner_columns: Vec<usize>,
    /// The pairs of values that must be equal.
    pub keys: Vec<JoinKey>,
    /// A further condition of the join, over the join's row.
    pub condition: Option<Expr>,
}

/// Two values that must be equal in a join.
#[derive(Debug)]
pub struct JoinKey {
    /// The value over the wanted columns of the outer side.
    pub outer: Expr,
    /// The value over the kept columns of the inner side.
    pub inner: Expr,
    /// Trailing blanks do not count.
    pub blanks: bool,
}

/// INTERSECT and EXCEPT: the rows of one query that another query returns too, or does not return.
#[derive(Debug)]
pub struct Match {
    /// Whether this is EXCEPT; else it is INTERSECT.
    pub except: bool,
    /// ALL: whether a row comes as many times as the difference of its counts (EXCEPT) or the lesser count (INTERSECT);
    /// else it comes once.
    pub all: bool,
    /// The query whose rows are returned.
    pub left: Node,
    /// The query whose rows are matched with those of `left`.
    pub right: Node,
}

/// WITH RECURSIVE: the rows of the start, then the rows that the step makes of the rows before, until it makes none.
#[derive(Debug)]
pub struct Recursive {
    /// The number under which the step finds the rows before.
    pub rows: usize,
    /// How many columns there are.
    pub width: usize,
    /// UNION: whether a row that the query has returned before is dropped.
    pub distinct: bool,
    /// The part that does not refer to the query itself.
    pub start: Node,
    /// The part that refers to the query itself, and runs over the rows of the step before.
    pub step: Node,
}

/// A column to sort by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// The position of the column in the input.
    pub column: usize,
    /// Greatest first.
    pub descending: bool,
    /// NULLs before all others.
    pub nulls_first: bool,
    /// A `char` column: trailing blanks do not count.
    pub blanks: bool,
}
