//! Plans: what the binder makes and the executor runs.
//!
//! A query is a tree of [`Node`]s. Rows go from the leaves to the root, pushed one at a time; a node that must see all
//! its input before its first row (sort, aggregate) keeps it.
//!
//! While a table is walked the transaction is busy. Who uses it at each row of an input keeps these rows first: a
//! nested loop the columns of its outer side that are wanted, and any other operator whose expressions have subqueries
//! takes its rows from a [`Node::Materialise`]. So no subquery is part of an [`Access`].
//!
//! | file | what |
//! | --- | --- |
//! | `aggregate`, `window`, `table_function` | what functions over several rows, or of several rows, are asked for |
//! | `subquery` | the plans of subqueries in expressions |
//! | `procedure` | the bodies of procedures |
//! | `foreign_keys`, `deferred` | what foreign keys ask of changed rows, at once and later |
//! | `measured` | operators that count |
//! | this one | statements, operators, and the ways to rows |

mod aggregate;
pub(crate) mod deferred;
mod foreign_keys;
pub mod measured;
mod procedure;
mod subquery;
pub mod table_function;
pub mod window;

pub use self::aggregate::{AggregateCall, AggregateFunction, AggregateOrder};
pub use self::foreign_keys::{Change, ChangePlan, Graph, Keys, Reference, Referred};
pub use self::measured::{Analysis, Measured};
pub use self::procedure::{Body, Call, Step, StepKind, Target};
use crate::catalog::expected::Expected;
use crate::catalog::{Table, Used};
use crate::depth::Syntax;
use crate::expr::{BoundCheck, Expr};
use crate::parse::ExplainOptions;
use crate::parse::cursors::DeclareCursor;
use crate::parse::lex::tokenize;
use crate::parse::utility::Utility;
use crate::system::SystemRelation;
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::{IndexRef, Type, Value};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex};
use hotrow_txn::{Direction, LockFor};
use sqlparser::ast;
use table_function::RowsOf;
use window::Window;

/// A plan for one statement.
#[derive(Debug)]
pub enum Plan {
    /// Nothing but blanks and comments.
    Empty,
    /// SELECT, VALUES.
    Query(Node),
    /// INSERT
    Insert(Box<Insert>),
    /// UPDATE
    Update(Box<Update>),
    /// DELETE
    Delete(Box<Delete>),
    /// CALL
    Call(Call),
    /// DDL, bound when it runs: what it means depends on the catalog of that moment.
    Ddl(Syntax<ast::Statement>),
    /// Everything about transactions, settings, prepared statements and COPY.
    Utility(Box<Utility>),
    /// EXPLAIN: the lines.
    Explain(Vec<Value<'static>>),
    /// EXPLAIN ANALYZE
    Analyze(Box<Analysis>),
    /// DECLARE … CURSOR
    Declare(Box<Declare>),
}

/// DECLARE … CURSOR
#[derive(Debug)]
pub struct Declare {
    /// The cursor.
    pub cursor: DeclareCursor,
    /// The query, whose parameters are the statement's.
    pub query: Arc<Statement>,
}

/// The error of a plan that writes, or locks as if to write, in a transaction that is read-only. What a procedure does
/// is looked at when it does it.
pub fn read_only_violation(plan: &Plan) -> Option<SqlError> {
    let what = match plan {
        Plan::Insert(_) => "INSERT",
        Plan::Update(_) => "UPDATE",
        Plan::Delete(_) => "DELETE",
        Plan::Query(node) if locks_rows(node) => "SELECT FOR UPDATE",
        Plan::Ddl(statement) => match **statement {
            ast::Statement::CreateTable(_) => "CREATE TABLE",
            ast::Statement::CreateIndex(_) => "CREATE INDEX",
            ast::Statement::CreateView(_) => "CREATE VIEW",
            ast::Statement::AlterTable(_) => "ALTER TABLE",
            ast::Statement::AlterIndex { .. } => "ALTER INDEX",
            _ => "DROP",
        },
        Plan::Utility(utility) => utility.writes()?,
        Plan::Declare(declare) => return read_only_violation(&declare.query.plan),
        Plan::Analyze(analysis) => return read_only_violation(&analysis.statement.plan),
        _ => return None,
    };
    let message = format!("cannot execute {what} in a read-only transaction");
    Some(SqlError::new(state::READ_ONLY_SQL_TRANSACTION, message))
}

/// Whether a plan reads rows and neither writes nor locks any as if to write them.
pub fn only_reads(plan: &Plan) -> bool {
    fn steps_read(steps: &[Step]) -> bool {
        steps.iter().all(|step| match &step.kind {
            StepKind::Run(plan, _) => only_reads(plan),
            StepKind::Call(call, _) => steps_read(&call.body.steps),
            StepKind::If(arms, otherwise) => arms.iter().all(|(_, steps)| steps_read(steps)) && steps_read(otherwise),
            StepKind::Assign(..) | StepKind::Return => true,
        })
    }
    match plan {
        Plan::Query(node) => !locks_rows(node),
        Plan::Call(call) => steps_read(&call.body.steps),
        Plan::Declare(declare) => only_reads(&declare.query.plan),
        Plan::Analyze(analysis) => only_reads(&analysis.statement.plan),
        _ => false,
    }
}

fn locks_rows(node: &Node) -> bool {
    if let Node::Table(access) = node {
        return access.lock.is_update();
    }
    let mut locks = false;
    node.each_input(&mut |input| locks |= locks_rows(input));
    locks
}

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

/// How a table's rows are found.
#[derive(Debug)]
pub struct Access {
    /// The table.
    pub table: Arc<Table>,
    /// The way to them.
    pub path: Path,
    /// What must be true of them beside being there. Covers the path's own conditions where the path is inexact.
    pub filter: Option<Expr>,
    /// To read or to change.
    pub lock: LockFor,
}

impl Path {
    /// The values by which rows are looked for.
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Path::Key(values) => values.iter().collect(),
            Path::Range(range) => range.exprs().collect(),
            Path::Ranges(ranges) => ranges.iter().flat_map(Range::exprs).collect(),
            Path::Full => Vec::new(),
        }
    }
}

/// The way to a table's rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Path {
    /// The one with this primary key.
    Key(Vec<Expr>),
    /// One range of an index: a range without lists.
    Range(Range),
    /// Several ranges, each row once: those of OR, of lists, of rows of values. They go one way, in the order of their
    /// index if it is one index.
    Ranges(Vec<Range>),
    /// All of them.
    Full,
}

/// A range of an index: leading columns equal, the next one bounded. With lists it is as many ranges as there are
/// combinations of their values.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The index.
    pub index: IndexRef,
    /// The leading columns' values; NULL where a list has them, and where the column is to be NULL.
    pub equal: Vec<Expr>,
    /// The lists that have the values of leading columns.
    pub lists: Vec<List>,
    /// The leading columns that are to be NULL.
    pub nulls: Vec<usize>,
    /// The next column's lower bounds, and whether each is included.
    pub lower: Vec<(Expr, bool)>,
    /// The next column's upper bounds, and whether each is included.
    pub upper: Vec<(Expr, bool)>,
    /// The order of the walk.
    pub direction: Direction,
}

impl Range {
    /// Whether the range is less than the whole index.
    pub fn is_bounded(&self) -> bool {
        !self.equal.is_empty() || !self.lower.is_empty() || !self.upper.is_empty()
    }

    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let bounds = self.lower.iter().chain(&self.upper).map(|(value, _)| value);
        self.equal.iter().chain(bounds).chain(self.lists.iter().flat_map(|list| &list.exprs))
    }
}

/// The values of a leading column: `column IN (…)`, `column = ANY (array)`.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// Which of the leading columns it is.
    pub place: usize,
    /// The values, or the array of them.
    pub exprs: Vec<Expr>,
    /// It is an array.
    pub is_array: bool,
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

/// INSERT
#[derive(Debug)]
pub struct Insert {
    /// Into this table.
    pub table: Arc<Table>,
    /// The rows: one column for each of `targets`.
    pub source: Source,
    /// The table's columns that the source fills; the others take their defaults.
    pub targets: Vec<usize>,
    /// The defaults of the table's columns.
    pub defaults: Vec<Option<Expr>>,
    /// The conditions that the table has for its rows.
    pub checks: Vec<BoundCheck>,
    /// What to do about a row that is in the way.
    pub on_conflict: OnConflict,
    /// What to answer with, over the new row.
    pub returning: Option<Vec<Expr>>,
    /// What it has to do with foreign keys; none if nothing.
    pub foreign_keys: Option<Arc<Graph>>,
}

/// What an INSERT does about a row that has its new row's key already.
#[derive(Debug)]
pub enum OnConflict {
    /// It fails.
    Fail,
    /// DO NOTHING: on any unique index, or on this one.
    Skip(Option<IndexRef>),
    /// DO UPDATE, on this index: changes the row that is there. Columns after the table's own are those of the row that
    /// was to be inserted.
    Update(IndexRef, Box<Update>),
}

/// Where an INSERT's rows come from.
#[derive(Debug)]
pub enum Source {
    /// VALUES; `None` is DEFAULT.
    Rows(Vec<Vec<Option<Expr>>>),
    /// A query.
    Query(Node),
}

/// UPDATE
#[derive(Debug)]
pub struct Update {
    /// The rows to change.
    pub access: Access,
    /// New values by column, over the old row.
    pub assignments: Vec<(usize, Expr)>,
    /// The conditions that the table has for its rows.
    pub checks: Vec<BoundCheck>,
    /// Whether a column of the primary key changes.
    pub moves: bool,
    /// If the rows and values come from a query: its rows have the key of the row to change, then what `assignments`
    /// and `returning` look at after the table's own columns.
    pub source: Option<Box<Node>>,
    /// What to answer with, over the new row.
    pub returning: Option<Vec<Expr>>,
    /// What it has to do with foreign keys; none if nothing.
    pub foreign_keys: Option<Arc<Graph>>,
}

/// DELETE
#[derive(Debug)]
pub struct Delete {
    /// The rows to delete.
    pub access: Access,
    /// If they come from a query: its rows have the key of the row to delete, then what `returning` looks at after the
    /// table's own columns.
    pub source: Option<Box<Node>>,
    /// What to answer with, over the old row.
    pub returning: Option<Vec<Expr>>,
    /// What it has to do with foreign keys; none if nothing.
    pub foreign_keys: Option<Arc<Graph>>,
}

/// A statement, parsed, bound and planned; shared by all who run it.
#[derive(Debug)]
pub struct Statement {
    /// The text it was made from.
    pub(crate) sql: Arc<str>,
    /// The parameters' types as they were declared.
    pub(crate) declared: Vec<Option<Type>>,
    /// The parameters' types as they were inferred.
    pub(crate) params: Vec<Type>,
    /// The result's columns.
    pub(crate) columns: Option<Vec<OutputColumn>>,
    /// The plan.
    pub(crate) plan: Plan,
    /// What it was made from.
    pub(crate) used: Used,
    /// The statement's tokens within the text, which may be a whole query string.
    pub(crate) tokens: std::ops::Range<usize>,
    /// The catalog's version at which it was last known to be true.
    pub(crate) version: AtomicU64,
    /// Where relations were looked for; none if in `public` only.
    pub(crate) path: Option<Arc<[String]>>,
    /// Whether it was made from a transaction's uncommitted changes of the catalog.
    pub(crate) private: bool,
    /// What its joins are planned for.
    pub(crate) expected: Vec<Expected>,
    /// The plan that was made when this one was not true any more.
    pub(crate) successor: Mutex<Option<Arc<Statement>>>,
}

impl Statement {
    /// DECLARE of a cursor for a query.
    pub(crate) fn declare(cursor: DeclareCursor, query: Statement, tokens: std::ops::Range<usize>) -> Self {
        Self {
            sql: query.sql.clone(),
            declared: query.declared.clone(),
            params: query.params.clone(),
            columns: None,
            used: query.used.clone(),
            tokens,
            version: AtomicU64::new(query.version.load(Ordering::Acquire)),
            path: query.path.clone(),
            private: query.private,
            expected: query.expected.clone(),
            successor: Mutex::default(),
            plan: Plan::Declare(Box::new(Declare { cursor, query: Arc::new(query) })),
        }
    }

    /// EXPLAIN of a statement, whose plan these rows show.
    pub(crate) fn explain(self, rows: Vec<Value<'static>>, column: OutputColumn) -> Self {
        Self { columns: Some(vec![column]), plan: Plan::Explain(rows), ..self }
    }

    /// EXPLAIN ANALYZE of a statement, which took so long to plan.
    pub(crate) fn analyze(mut statement: Statement, options: ExplainOptions, planning_ns: u64) -> Self {
        statement.plan.measure(options.timing);
        Self {
            sql: statement.sql.clone(),
            declared: statement.declared.clone(),
            params: statement.params.clone(),
            columns: Some(vec![options.column()]),
            used: statement.used.clone(),
            tokens: statement.tokens.clone(),
            version: AtomicU64::new(statement.version.load(Ordering::Acquire)),
            path: statement.path.clone(),
            private: statement.private,
            expected: statement.expected.clone(),
            successor: Mutex::default(),
            plan: Plan::Analyze(Box::new(Analysis { options, statement, planning_ns })),
        }
    }

    /// Its own part of the text. Where others are beside it, the text is read again.
    pub(crate) fn text(&self) -> &str {
        let (sql, mut tokens) = (self.sql.trim_end_matches([';', ' ', '\n']), Vec::new());
        if !sql.contains(';') || tokenize(sql, &mut tokens).is_err() {
            return sql;
        }
        let own = tokens.get(self.tokens.clone()).unwrap_or_default();
        let (first, last) = (own.first(), own.last());
        first.zip(last).and_then(|(first, last)| sql.get(first.start..last.end)).unwrap_or(sql)
    }

    /// The types of the parameters `$1`, `$2`, ….
    pub fn param_types(&self) -> &[Type] {
        &self.params
    }

    /// The result's columns, if there is a result.
    pub fn columns(&self) -> Option<&[OutputColumn]> {
        self.columns.as_deref()
    }
}
