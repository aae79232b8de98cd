//! Nodes: the operators of queries.

use super::access::Access;
use super::aggregate::AggregateCall;
use super::measured::Measured;
use super::table_function::RowsOf;
use super::window::Window;
use crate::expr::Expr;
use crate::system::SystemRelation;

/// An operator of a query, with its inputs.
#[derive(Debug)]
pub enum Node {
    /// A single row without columns.
    One,
    /// Rows of computed values.
    Values(Vec<Vec<Expr>>),
    /// The rows that an access finds in a table.
    Table(Access),
    /// The rows of a system relation.
    System(&'static SystemRelation),
    /// The rows that a function makes.
    Function(Box<RowsOf>),
    /// The rows of the input for which the condition is true.
    Filter(Box<Node>, Expr),
    /// One row for each group of the input: the values of the GROUP BY expressions, then the results of the aggregate
    /// functions.
    Aggregate(Box<Node>, Vec<Expr>, Vec<AggregateCall>),
    /// The rows of the input with the results of window functions.
    Window(Box<Window>),
    /// The values of the expressions for each row of the input.
    Project(Box<Node>, Vec<Expr>),
    /// The rows of set-returning functions beside each row of the input. An input row comes as many times as the
    /// longest of its functions has rows. The result has the functions' columns, with NULLs after the end of a shorter
    /// function, then the input's columns.
    ProjectSet(Box<Node>, Vec<RowsOf>),
    /// The rows of the input in order, cut to the given number of columns. If the second number is n and not zero, of
    /// all rows that are equal in the first n keys only the first is returned (DISTINCT ON).
    Sort(Box<Node>, Vec<SortKey>, usize, usize),
    /// The rows of the input without duplicates.
    Distinct(Box<Node>),
    /// LIMIT and OFFSET: the first expression is the limit, the second the offset.
    Limit(Box<Node>, Option<Expr>, Option<Expr>),
    /// The given columns of all input rows, which are kept before the first of them goes on. The operator serves as
    /// input of an operator whose expressions have subqueries.
    Materialise(Box<Node>, Vec<usize>),
    /// A join that runs its inner side for each row of the outer side.
    NestedLoop(Box<NestedLoop>),
    /// A join that looks up matching rows among the kept rows of its inner side.
    HashJoin(Box<HashJoin>),
    /// The rows of all inputs, one input after the other.
    Append(Vec<Node>),
    /// INTERSECT and EXCEPT.
    Match(Box<Match>),
    /// WITH: the queries whose rows are kept, each with its number, and the query that uses them.
    With(Vec<(usize, Node)>, Box<Node>),
    /// The kept rows of the query of WITH with this number.
    Reference(usize),
    /// WITH RECURSIVE: a query that uses its own rows.
    Recursive(Box<Recursive>),
    /// An operator that is wrapped in a counter for EXPLAIN ANALYZE.
    Measured(Box<Measured>),
}

impl Node {
    /// Calls `visit` for each direct input of the operator.
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

    /// Calls `visit` for each direct input of the operator, so that it can be changed.
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

/// A join whose inner side runs once for each row of the outer side, and finds its rows by means of that row. A row of
/// the join has the kept outer columns, then those of the inner side.
#[derive(Debug)]
pub struct NestedLoop {
    /// The kind of the join, which is inner or left.
    pub kind: JoinKind,
    /// The side whose rows are kept before the inner side first runs.
    pub outer: Node,
    /// The positions of the outer columns that are kept.
    pub keep: Vec<usize>,
    /// The number of the frame through which the inner side sees the outer row.
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
    /// The kind of the join. All kinds are possible.
    pub kind: JoinKind,
    /// The side whose rows are matched one by one and not kept.
    pub outer: Node,
    /// The positions of the outer columns that the join's rows have.
    pub outer_columns: Vec<usize>,
    /// The side that is kept.
    pub inner: Node,
    /// The positions of the inner columns that are kept.
    pub inner_columns: Vec<usize>,
    /// The pairs of values that must be equal.
    pub keys: Vec<JoinKey>,
    /// The conditions other than `keys`, as an expression over the join's row.
    pub condition: Option<Expr>,
}

/// Two expressions that must be equal in a join, one for each side.
#[derive(Debug)]
pub struct JoinKey {
    /// The expression over the wanted columns of the outer side.
    pub outer: Expr,
    /// The expression over the kept columns of the inner side.
    pub inner: Expr,
    /// Whether the comparison ignores trailing blanks, as that of `char` does.
    pub blanks: bool,
}

/// INTERSECT and EXCEPT: the rows of one query that another query returns as well, or does not return.
#[derive(Debug)]
pub struct Match {
    /// Whether the operation is EXCEPT, else INTERSECT.
    pub except: bool,
    /// Whether duplicates count (ALL). If so, a row comes as many times as the difference of its counts on both sides
    /// (EXCEPT), or as the lesser of them (INTERSECT). Otherwise each row comes once.
    pub all: bool,
    /// The query whose rows are returned.
    pub left: Node,
    /// The query whose rows are matched with those of `left`.
    pub right: Node,
}

/// WITH RECURSIVE: the rows of the start, then repeatedly the rows that the step makes from those of the step before.
/// The query ends when a step makes no rows.
#[derive(Debug)]
pub struct Recursive {
    /// The number under which a step finds the rows of the step before.
    pub rows: usize,
    /// The number of columns.
    pub width: usize,
    /// Whether a row that the query has returned before is dropped (UNION instead of UNION ALL).
    pub distinct: bool,
    /// The part that does not refer to the query itself.
    pub start: Node,
    /// The part that refers to the query itself. It runs over the rows of the step before.
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
