//! Nodes: the operators of queries.

use super::access::Access;
use super::aggregate::AggregateCall;
use super::measured::Measured;
use super::table_function::RowsOf;
use super::window::Window;
use crate::expr::Expr;
use crate::opaque::Opaque;
use crate::system::SystemRelation;

/// An operator of a query, with its inputs.
#[derive(Debug)]
pub enum Node {
    /// A single row without columns.
    One,
    /// Rows of computed values.
    Values(Vec<Vec<Expr>>),
    /// The rows that a scan of a table finds.
    Table(Access),
    /// The rows of a system relation.
    System(&'static SystemRelation),
    /// The rows that a set-returning function returns.
    Function(Box<RowsOf>),
    /// The rows of the input for which the condition is true.
    Filter(Box<Node>, Expr),
    /// One row for each group of the input: the values of the GROUP BY expressions, then the results of the aggregate
    /// functions.
    Aggregate(Box<Node>, Vec<Expr>, Vec<AggregateCall>),
    /// One row for each group of each of several grouping sets.
    GroupingSets(Box<GroupingSets>),
    /// The rows of the input, each with the results of window functions as further columns.
    Window(Box<Window>),
    /// The values of the expressions for each row of the input.
    Project(Box<Node>, Vec<Expr>),
    /// The rows of set-returning functions in the select list. For each input row, there are as many rows as the
    /// longest of the functions returns. A row consists of the functions' columns, which are NULL after the end of a
    /// shorter function, and then of the input's columns.
    ProjectSet(Box<Node>, Vec<RowsOf>),
    /// The sorted rows of the input, with only the first columns: as many as the first number says. If the second
    /// number is n and not zero, only the first of all rows with equal values in the first n keys is returned (DISTINCT
    /// ON).
    Sort(Box<Node>, Vec<SortKey>, usize, usize),
    /// The rows of the input without duplicates.
    Distinct(Box<Node>),
    /// LIMIT and OFFSET: the first expression is the limit, the second the offset.
    Limit(Box<Node>, Option<Expr>, Option<Expr>),
    /// The given columns of the input's rows. All of them are stored before the first row is passed on. The operator is
    /// the input of an operator whose expressions have subqueries.
    Materialise(Box<Node>, Vec<usize>),
    /// A join that runs its inner side for each row of its outer side.
    NestedLoop(Box<NestedLoop>),
    /// A join that looks up matching rows among the stored rows of its inner side.
    HashJoin(Box<HashJoin>),
    /// The rows of all inputs, one input after the other.
    Append(Vec<Node>),
    /// INTERSECT and EXCEPT.
    Match(Box<Match>),
    /// WITH: the queries whose rows are stored, each with its number, and the query that uses their rows.
    With(Vec<(usize, Node)>, Box<Node>),
    /// The stored rows of the WITH query with this number.
    Reference(usize),
    /// An INSERT, UPDATE or DELETE in WITH, as a [`Plan`](super::Plan). Its rows are those of RETURNING. The operator
    /// is one of the queries of [`Node::With`], which runs it to its end.
    Change(Opaque),
    /// WITH RECURSIVE: a query that refers to itself.
    Recursive(Box<Recursive>),
    /// An operator that is wrapped in a counter for EXPLAIN ANALYZE.
    Measured(Box<Measured>),
}

impl Node {
    /// Whether the operator is an INSERT, UPDATE or DELETE, perhaps with a counter around it.
    pub fn is_change(&self) -> bool {
        match self {
            Node::Change(_) => true,
            Node::Measured(measured) => measured.node.is_change(),
            _ => false,
        }
    }

    /// Calls `visit` for each direct input of the operator.
    pub fn each_input<'n>(&'n self, visit: &mut dyn FnMut(&'n Node)) {
        match self {
            Node::One | Node::System(_) | Node::Function(_) | Node::Values(_) | Node::Table(_) => {}
            Node::Reference(_) | Node::Change(_) => {}
            Node::Filter(input, _) | Node::Aggregate(input, ..) | Node::Project(input, _) => visit(input),
            Node::ProjectSet(input, _) => visit(input),
            Node::Sort(input, ..) | Node::Distinct(input) | Node::Limit(input, ..) => visit(input),
            Node::Materialise(input, _) => visit(input),
            Node::GroupingSets(groups) => visit(&groups.input),
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

    /// Calls `visit` for each direct input of the operator, which it may change.
    pub fn each_input_mut(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        match self {
            Node::One | Node::System(_) | Node::Function(_) | Node::Values(_) | Node::Table(_) => {}
            Node::Reference(_) | Node::Change(_) => {}
            Node::Filter(input, _) | Node::Aggregate(input, ..) | Node::Project(input, _) => visit(input),
            Node::ProjectSet(input, _) => visit(input),
            Node::Sort(input, ..) | Node::Distinct(input) | Node::Limit(input, ..) => visit(input),
            Node::Materialise(input, _) => visit(input),
            Node::GroupingSets(groups) => visit(&mut groups.input),
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

/// The aggregation of GROUP BY with several grouping sets, which groups the rows of the input by each of the sets. A
/// row for a group has the values of `exprs`, of which those that are not in the group's set are NULL, and then the
/// results of the aggregate functions. The set without expressions has one group even if the input has no row.
#[derive(Debug)]
pub struct GroupingSets {
    /// The rows to group.
    pub input: Node,
    /// The expressions of all sets.
    pub exprs: Vec<Expr>,
    /// The sets, as sorted positions in `exprs`. A set may occur several times.
    pub sets: Vec<Vec<usize>>,
    /// The calls of aggregate functions.
    pub calls: Vec<AggregateCall>,
}

/// The kinds of joins, which differ in the rows that they return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Returns the matching pairs.
    Inner,
    /// Returns the matching pairs, and the rows of the outer side that have no match, with NULLs for the inner columns.
    Left,
    /// Returns the matching pairs, and the rows of each side that have no match, with NULLs for the other side's
    /// columns.
    Full,
    /// Returns the rows of the outer side that have a match, each once and without the inner side's columns.
    Semi,
    /// Returns the rows of the outer side that have no match, without the inner side's columns.
    Anti,
}

/// A join whose inner side runs once for each row of the outer side, and can use the columns of that row. A row of the
/// join has the stored outer columns, then those of the inner side.
#[derive(Debug)]
pub struct NestedLoop {
    /// The kind of the join, which is inner or left.
    pub kind: JoinKind,
    /// The outer side, whose rows are stored before the inner side first runs.
    pub outer: Node,
    /// The positions of the outer columns that are stored.
    pub keep: Vec<usize>,
    /// The number of the frame in which the inner side finds the outer row.
    pub frame: usize,
    /// The columns of the frame, as positions among the stored columns.
    pub shown: Vec<usize>,
    /// The inner side, which runs for each outer row. It contains the join's conditions.
    pub inner: Node,
}

/// A join that stores its inner side, in a hash table if there are equality conditions. A row of the join has the
/// wanted columns of the outer side, then the stored columns of the inner side. A row of a semi or anti join has only
/// the outer columns.
#[derive(Debug)]
pub struct HashJoin {
    /// The kind of the join, which may be any.
    pub kind: JoinKind,
    /// The outer side, whose rows are matched one by one and not stored.
    pub outer: Node,
    /// The positions of the outer columns that are passed on.
    pub outer_columns: Vec<usize>,
    /// The inner side, whose rows are stored.
    pub inner: Node,
    /// The positions of the inner columns that are stored.
    pub inner_columns: Vec<usize>,
    /// The pairs of values that must be equal.
    pub keys: Vec<JoinKey>,
    /// The conditions other than `keys`, as an expression over the join's row.
    pub condition: Option<Expr>,
}

/// Two expressions that must be equal in a join, one for each side.
#[derive(Debug)]
pub struct JoinKey {
    /// The expression over the outer columns of the join's row.
    pub outer: Expr,
    /// The expression over the stored columns of the inner side.
    pub inner: Expr,
    /// Whether the comparison ignores trailing blanks, as for `char`.
    pub blanks: bool,
}

/// INTERSECT and EXCEPT: the rows of one query that another query also returns, or does not return.
#[derive(Debug)]
pub struct Match {
    /// Whether the operation is EXCEPT, not INTERSECT.
    pub except: bool,
    /// Whether duplicates count (ALL). If so, a row is returned as often as the difference of its counts on both sides
    /// (EXCEPT), or their minimum (INTERSECT). Otherwise each row is returned once.
    pub all: bool,
    /// The query whose rows are returned.
    pub left: Node,
    /// The query whose rows are matched with those of `left`.
    pub right: Node,
}

/// WITH RECURSIVE: returns the rows of the start, and then those of repeated steps, each of which runs over the rows of
/// the previous step. The query ends when a step returns no rows.
#[derive(Debug)]
pub struct Recursive {
    /// The number under which a step refers to the rows of the previous step (see [`Node::Reference`]).
    pub rows: usize,
    /// The number of columns.
    pub width: usize,
    /// Whether a row that the query has returned before is dropped (UNION instead of UNION ALL).
    pub distinct: bool,
    /// The part that does not refer to the query itself.
    pub start: Node,
    /// The part that refers to the query itself. It runs over the rows of the previous step.
    pub step: Node,
}

/// A column by which rows are sorted, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// The position of the column in the input.
    pub column: usize,
    /// Whether the greatest value comes first.
    pub descending: bool,
    /// Whether NULLs come before all other values.
    pub nulls_first: bool,
    /// Whether the column is a `char`, of which trailing blanks do not count.
    pub blanks: bool,
}
