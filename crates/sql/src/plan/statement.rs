//! Plans of statements, with the texts from which they were made.

use super::analysis::Analysis;
use super::change::{Delete, Insert, Instead, Merge, Update};
use super::node::Node;
use super::procedure::Call;
use crate::catalog::expected::Expected;
use crate::catalog::{Used, is_temporary};
use crate::depth::Syntax;
use crate::parse::ExplainOptions;
use crate::parse::cursors::DeclareCursor;
use crate::parse::lex::tokenize;
use crate::parse::utility::Utility;
use crate::schema::SearchPath;
use crate::types::{DomainId, oid};
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::{Column, Type, Value};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex};
use sqlparser::ast;

/// The plan of one statement.
#[derive(Debug)]
pub enum Plan {
    /// An empty statement, of blanks and comments.
    Empty,
    /// SELECT or VALUES.
    Query(Node),
    /// INSERT
    Insert(Box<Insert>),
    /// UPDATE
    Update(Box<Update>),
    /// DELETE
    Delete(Box<Delete>),
    /// MERGE
    Merge(Box<Merge>),
    /// INSERT, UPDATE or DELETE of a view whose INSTEAD OF triggers make the change.
    Instead(Box<Instead>),
    /// CALL
    Call(Call),
    /// A DDL statement. It is bound when it runs, because its meaning depends on the catalog of that moment.
    Ddl(Syntax<ast::Statement>),
    /// CREATE TABLE AS or SELECT INTO.
    CreateAs(Box<CreateAs>),
    /// A statement about transactions, settings, prepared statements or COPY.
    Utility(Box<Utility>),
    /// EXPLAIN, with the lines of its result.
    Explain(Vec<Value<'static>>),
    /// EXPLAIN ANALYZE, with the statement to run.
    Analyze(Box<Analysis>),
    /// DECLARE CURSOR, with the cursor's query.
    Declare(Box<Declare>),
}

/// The plan of CREATE TABLE AS, and of SELECT INTO.
#[derive(Debug)]
pub struct CreateAs {
    /// The definition of the table, without columns.
    pub create: Syntax<ast::CreateTable>,
    /// The columns of the table, which are those of the query.
    pub columns: Vec<Column>,
    /// The domain of each column, if the column has one.
    pub domains: Vec<Option<DomainId>>,
    /// The query for the rows.
    pub query: Node,
    /// The name of the statement for messages: `CREATE TABLE AS` or `SELECT INTO`.
    pub name: &'static str,
}

/// The plan of DECLARE CURSOR.
#[derive(Debug)]
pub struct Declare {
    /// The name and the options of the cursor.
    pub cursor: DeclareCursor,
    /// The cursor's query. It has the parameters of the DECLARE statement.
    pub query: Arc<Statement>,
}

/// Returns the error for a plan that is not allowed in a read-only transaction. Returns `None` if the plan may run, as
/// it may if it changes and locks rows of temporary tables only. The statements of a procedure are checked only when
/// they run.
pub fn read_only_violation(plan: &Plan) -> Option<SqlError> {
    let what = writing(plan).filter(|_| !writes_only_temporary(plan))?;
    let message = format!("cannot execute {what} in a read-only transaction");
    Some(SqlError::new(state::READ_ONLY_SQL_TRANSACTION, message))
}

/// Returns the name of the command if a plan writes rows or definitions, or locks rows for an update. Returns `None`
/// for any other plan. The effects of procedures and functions that the plan calls do not count.
pub fn writing(plan: &Plan) -> Option<&'static str> {
    Some(match plan {
        Plan::Merge(_) => "MERGE",
        Plan::Instead(instead) => instead.event.name(),
        Plan::Insert(_) => "INSERT",
        Plan::Update(_) => "UPDATE",
        Plan::Delete(_) => "DELETE",
        Plan::Query(_) if changes_in_with(plan) => "SELECT",
        Plan::Query(node) if locks_rows(node) => "SELECT FOR UPDATE",
        Plan::Ddl(statement) => match **statement {
            ast::Statement::CreateTable(_) => "CREATE TABLE",
            ast::Statement::CreateIndex(_) => "CREATE INDEX",
            ast::Statement::CreateView(_) => "CREATE VIEW",
            ast::Statement::AlterTable(_) => "ALTER TABLE",
            ast::Statement::AlterIndex { .. } => "ALTER INDEX",
            _ => "DROP",
        },
        Plan::CreateAs(create) => create.name,
        Plan::Utility(utility) => utility.writes()?,
        Plan::Declare(declare) => return writing(&declare.query.plan),
        Plan::Analyze(analysis) => return writing(&analysis.statement.plan),
        _ => return None,
    })
}

/// Whether a plan that [writes](writing) changes and locks rows of temporary tables only, which are no part of the
/// database. The changes in its WITH count, too.
fn writes_only_temporary(plan: &Plan) -> bool {
    let table = match plan {
        Plan::Query(node) => return has_only_temporary(node),
        Plan::Insert(insert) => &insert.table,
        Plan::Update(update) => &update.access.table,
        Plan::Delete(delete) => &delete.access.table,
        Plan::Merge(merge) => &merge.table,
        Plan::Declare(declare) => return writes_only_temporary(&declare.query.plan),
        Plan::Analyze(analysis) => return writes_only_temporary(&analysis.statement.plan),
        _ => return false,
    };
    is_temporary(table.name()) && plan.root().is_none_or(has_only_temporary)
}

/// Whether the rows that a query changes or locks for an update belong to temporary tables only.
fn has_only_temporary(node: &Node) -> bool {
    let mut only = match node {
        Node::Table(access) => !access.lock.is_update() || is_temporary(access.table.name()),
        Node::Change(plan) => plan.get::<Plan>().is_some_and(writes_only_temporary),
        _ => true,
    };
    node.each_input(&mut |input| only &= has_only_temporary(input));
    only
}

/// Whether the WITH at the top of a plan's query changes rows.
pub fn changes_in_with(plan: &Plan) -> bool {
    let Some(Node::With(queries, _)) = plan.root() else { return false };
    queries.iter().any(|(_, query)| query.is_change())
}

/// Whether a plan changes rows or definitions, without the effects of procedures and functions that it calls. A SELECT
/// whose WITH changes rows does not count: the binder notes its changes in [`Used::calls`].
fn changes_itself(plan: &Plan) -> bool {
    match plan {
        Plan::Insert(_) | Plan::Update(_) | Plan::Delete(_) | Plan::Merge(_) | Plan::Instead(_) => true,
        Plan::Ddl(_) | Plan::CreateAs(_) => true,
        Plan::Utility(utility) => utility.writes().is_some(),
        Plan::Analyze(analysis) => changes_itself(&analysis.statement.plan),
        Plan::Empty | Plan::Query(_) | Plan::Call(_) | Plan::Declare(_) | Plan::Explain(_) => false,
    }
}

/// Whether a plan reads rows, and neither writes rows nor locks rows for an update, without the effects of procedures
/// and functions that it calls. Returns false for utility statements and DDL, but true for a SELECT whose WITH changes
/// rows: the binder notes its changes in [`Used::calls`].
pub fn only_reads_itself(plan: &Plan) -> bool {
    match plan {
        Plan::Query(node) => !locks_rows(node),
        Plan::Call(_) => true,
        Plan::Declare(declare) => only_reads_itself(&declare.query.plan),
        Plan::Analyze(analysis) => only_reads_itself(&analysis.statement.plan),
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

/// A statement, parsed, bound and planned. Sessions share it through the plan cache.
#[derive(Debug)]
pub struct Statement {
    /// The text that contains the statement, and perhaps others.
    pub(crate) sql: Arc<str>,
    /// The types that the client has declared for the parameters; `None` where it has declared none.
    pub(crate) declared: Vec<Option<Type>>,
    /// The inferred types of the parameters.
    pub(crate) params: Vec<Type>,
    /// The parameters that are values for a domain, by their positions, each with the domain.
    pub(crate) domains: Vec<(usize, DomainId)>,
    /// The columns of the result; `None` if the statement has no result.
    pub(crate) columns: Option<Vec<OutputColumn>>,
    /// The plan.
    pub(crate) plan: Plan,
    /// The definitions that the plan depends on.
    pub(crate) used: Used,
    /// The range of the statement's tokens among the tokens of `sql`.
    pub(crate) tokens: std::ops::Range<usize>,
    /// The latest version of the catalog for which the plan is known to be valid.
    pub(crate) version: AtomicU64,
    /// The search path with which the names were resolved; `None` stands for `public` alone.
    pub(crate) path: Option<Arc<SearchPath>>,
    /// Whether the plan depends on uncommitted changes of the catalog, which only one transaction sees.
    pub(crate) private: bool,
    /// The estimates of the tables' row counts from which the plan's joins were chosen.
    pub(crate) expected: Vec<Expected>,
    /// The statement that has replaced this one after its plan became invalid; `None` if there is none.
    pub(crate) successor: Mutex<Option<Arc<Statement>>>,
}

impl Statement {
    /// Makes the statement that declares a cursor for a query.
    pub(crate) fn declare(cursor: DeclareCursor, query: Statement, tokens: std::ops::Range<usize>) -> Self {
        Self {
            sql: query.sql.clone(),
            declared: query.declared.clone(),
            params: query.params.clone(),
            domains: query.domains.clone(),
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

    /// Makes the EXPLAIN of this statement, whose result is `rows` in one `column`.
    pub(crate) fn explain(self, rows: Vec<Value<'static>>, column: OutputColumn) -> Self {
        Self { columns: Some(vec![column]), plan: Plan::Explain(rows), ..self }
    }

    /// Makes the EXPLAIN ANALYZE of a statement, whose planning took `planning_ns` nanoseconds.
    pub(crate) fn analyze(mut statement: Statement, options: ExplainOptions, planning_ns: u64) -> Self {
        statement.plan.measure(options.timing);
        Self {
            sql: statement.sql.clone(),
            declared: statement.declared.clone(),
            params: statement.params.clone(),
            domains: statement.domains.clone(),
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

    /// Returns this statement's part of the text. If the text has several statements, it is tokenized again.
    pub(crate) fn text(&self) -> &str {
        let (sql, mut tokens) = (self.sql.trim_end_matches([';', ' ', '\n']), Vec::new());
        if !sql.contains(';') || tokenize(sql, &mut tokens).is_err() {
            return sql;
        }
        let own = tokens.get(self.tokens.clone()).unwrap_or_default();
        let (first, last) = (own.first(), own.last());
        first.zip(last).and_then(|(first, last)| sql.get(first.start..last.end)).unwrap_or(sql)
    }

    /// Whether the statement may change rows or definitions, itself or through the procedures and functions that it
    /// calls.
    pub fn changes_database(&self) -> bool {
        self.used.calls.writes || changes_itself(&self.plan)
    }

    /// Whether the statement reads rows, and neither it nor a procedure or function that it calls may write rows or
    /// lock rows for an update. Returns false for utility statements and DDL.
    pub fn only_reads(&self) -> bool {
        !self.used.calls.writes && only_reads_itself(&self.plan)
    }

    /// Returns the types of the parameters `$1`, `$2`, ….
    pub fn param_types(&self) -> &[Type] {
        &self.params
    }

    /// Returns the OIDs of the types of the parameters `$1`, `$2`, …. A parameter that is a value for a domain has the
    /// domain's.
    pub fn param_oids(&self) -> Vec<u32> {
        let mut oids: Vec<_> = self.params.iter().map(|ty| oid(*ty)).collect();
        for (at, domain) in &self.domains {
            oids[*at] = domain.0;
        }
        oids
    }

    /// Returns the columns of the result, or `None` if the statement has no result.
    pub fn columns(&self) -> Option<&[OutputColumn]> {
        self.columns.as_deref()
    }
}
