//! Plans of statements, with the texts that they were made from.

use super::analysis::Analysis;
use super::change::{Delete, Insert, Update};
use super::node::Node;
use super::procedure::{Call, Step, StepKind};
use crate::catalog::Used;
use crate::catalog::expected::Expected;
use crate::depth::Syntax;
use crate::parse::ExplainOptions;
use crate::parse::cursors::DeclareCursor;
use crate::parse::lex::tokenize;
use crate::parse::utility::Utility;
use crate::{OutputColumn, SqlError, state};
use hotrow_storage::{Type, Value};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex};
use sqlparser::ast;

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

/// A statement, parsed, bound and planned, which all sessions that run it share.
#[derive(Debug)]
pub struct Statement {
    /// The text that the statement was made from.
    pub(crate) sql: Arc<str>,
    /// The parameters' types as they were declared.
    pub(crate) declared: Vec<Option<Type>>,
    /// The parameters' types as they were inferred.
    pub(crate) params: Vec<Type>,
    /// The result's columns.
    pub(crate) columns: Option<Vec<OutputColumn>>,
    /// The plan.
    pub(crate) plan: Plan,
    /// The definitions that the plan was made from.
    pub(crate) used: Used,
    /// The statement's tokens within the text, which may be a whole query string.
    pub(crate) tokens: std::ops::Range<usize>,
    /// The latest version of the catalog at which the plan is known to be valid.
    pub(crate) version: AtomicU64,
    /// The search path with which the names were resolved; none for `public` alone.
    pub(crate) path: Option<Arc<[String]>>,
    /// Whether it was made from a transaction's uncommitted changes of the catalog.
    pub(crate) private: bool,
    /// The estimates for which the plan's joins were made.
    pub(crate) expected: Vec<Expected>,
    /// The statement that replaces this one since its plan became invalid.
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

    /// The statement's own part of the text. If the text holds several statements, it is tokenized again.
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
