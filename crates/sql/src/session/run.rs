//! One statement: locks on its tables, a plan that is still true, and execution, in as many [attempts](super::retry) as it takes.

use super::held::Held;
use super::planned::{Wanted, is_plannable};
use super::retry::Attempts;
use super::transaction::{Phase, runs_when_failed};
use super::{Session, plan};
use crate::catalog::View;
use crate::catalog::expected::Expected;
use crate::client::{Client, OutputColumn, are_alike};
use crate::exec::ddl::Ddl;
use crate::exec::{Exec, Fail};
use crate::expr::{Env, Input};
use crate::parse::Parsed;
use crate::parse::lex::{Token, character_position, tokenize_within};
use crate::plan::{Plan, Statement, only_reads, read_only_violation};
use crate::table_lock::Mode;
use crate::{SqlError, parse, state};
use hotrow_storage::Value;
use hotrow_sync::Arc;
use hotrow_sync::atomic::Ordering;
use hotrow_txn::{Abort, Isolation, Transaction};
use std::io::Write;
use std::ops::{ControlFlow, Range};

/// Where a statement of the simple protocol stands. Nothing was promised about its result before it runs, unlike a
/// prepared one's.
pub(super) struct Source<'s> {
    pub(super) text: &'s Arc<str>,
    /// Those of the whole text.
    pub(super) tokens: &'s [Token],
    /// The statement's own.
    pub(super) range: Range<usize>,
}

impl Source<'_> {
    /// A plan for the statement with its literals.
    pub(super) fn plan(&self, parsed: Parsed, view: View<'_>) -> Result<Arc<Statement>, SqlError> {
        let statement = plan(parsed, self.text, self.tokens, self.range.clone(), view, Vec::new())?;
        if statement.params.is_empty() {
            return Ok(Arc::new(statement));
        }
        let at = self.text.find('$').unwrap_or(0);
        Err(SqlError::new(state::UNDEFINED_PARAMETER, "there is no parameter $1").at(character_position(self.text, at)))
    }
}

/// Where a statement's results go.
pub(super) struct Output<'c> {
    pub(super) client: &'c mut dyn Client,
    /// Whether the columns are to be announced.
    describe: bool,
    /// Whether an implicit transaction is to be committed before the statement is said to be complete.
    commit: bool,
    /// Whether the client has seen anything, or sent data that cannot be asked for again.
    pub(super) sent: bool,
}

impl<'c> Output<'c> {
    /// The simple protocol; `last` in its query string.
    pub(super) fn simple(client: &'c mut dyn Client, last: bool) -> Self {
        Self { client, describe: true, commit: last, sent: false }
    }

    /// The extended protocol: columns are described and the transaction is committed apart from it.
    pub(super) fn extended(client: &'c mut dyn Client) -> Self {
        Self { client, describe: false, commit: false, sent: false }
    }

    pub(super) fn columns(&mut self, columns: Option<&[OutputColumn]>) -> Result<(), SqlError> {
        if let Some(columns) = columns
            && self.describe
        {
            self.describe = false;
            self.sent = true;
            self.client.columns(columns)?;
        }
        Ok(())
    }

    pub(super) fn row(&mut self, columns: Option<&[OutputColumn]>, values: &[Value<'_>]) -> Result<(), SqlError> {
        self.columns(columns)?;
        self.sent = true;
        self.client.row(values)
    }
}

/// A command tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Word(&'static str),
    /// With the number of rows.
    Rows(&'static str, u64),
    /// The client has been told.
    Told,
}

impl Tag {
    pub(super) fn tell(self, client: &mut dyn Client) -> Result<(), SqlError> {
        match self {
            Tag::Told => Ok(()),
            Tag::Word(word) => client.complete(word),
            Tag::Rows(word, rows) => {
                // Long enough for any word of ours and twenty digits: no allocation for a tag.
                let mut buffer = [0; 48];
                let mut rest = &mut buffer[..];
                let written = write!(rest, "{word} {rows}");
                let left = rest.len();
                let text = std::str::from_utf8(&buffer[..48 - left]).unwrap_or(word);
                debug_assert!(written.is_ok(), "a tag fits its buffer");
                client.complete(text)
            }
        }
    }
}

impl Session {
    /// Runs something for no longer than `statement_timeout`.
    pub(super) fn within_limit(&mut self, run: impl FnOnce(&mut Self) -> Result<(), SqlError>) -> Result<(), SqlError> {
        if !self.restart_limit() {
            return run(self);
        }
        let result = run(self);
        let late = self.waiter.is_late();
        self.waiter.set_limit(None);
        result.map_err(|error| match late && error.state == state::QUERY_CANCELED {
            true => SqlError::new(error.state, "canceling statement due to statement timeout"),
            false => error,
        })
    }

    /// A statement may last as long as `statement_timeout` says from now on. Whether there is such a limit.
    pub(super) fn restart_limit(&self) -> bool {
        let limit = self.names.settings.borrow().duration("statement_timeout");
        if let Some(limit) = limit {
            self.waiter.set_limit(Some(self.waiter.now().after(limit)));
        }
        limit.is_some()
    }

    /// Runs a statement and tells the client its result. `alone` says that it may be tried again without anybody noticing;
    /// without a source it is a prepared one, whose columns and parameters do not change.
    pub(super) fn run(
        &mut self,
        statement: &Arc<Statement>,
        params: &[Value<'static>],
        source: Option<&Source<'_>>,
        alone: bool,
        output: &mut Output<'_>,
    ) -> Result<(), SqlError> {
        output.client.styles(self.names.styles());
        let result = self.within_limit(|session| session.run_unlimited(statement, params, source, alone, output));
        self.report_troubles(Some(statement));
        result
    }

    /// Adds what a statement, or a commit without one, has met to what all have.
    #[inline]
    pub(super) fn report_troubles(&mut self, statement: Option<&Statement>) {
        if self.txn.has_troubles() {
            let text = statement.map_or("COMMIT", Statement::text);
            self.database.contention.add(self.txn.troubles(), text);
        }
    }

    fn run_unlimited(
        &mut self,
        statement: &Arc<Statement>,
        params: &[Value<'static>],
        source: Option<&Source<'_>>,
        alone: bool,
        output: &mut Output<'_>,
    ) -> Result<(), SqlError> {
        if self.phase == Phase::Failed && !runs_when_failed(&statement.plan) {
            return Err(self.failed_block());
        }
        if matches!(statement.plan, Plan::Empty) {
            return output.client.empty();
        }
        self.seat.counters.count_statements(1);
        self.show_settings();
        let whole = std::mem::take(&mut self.whole);
        let ends = matches!(&statement.plan, Plan::Utility(utility) if utility.is_transaction_control());
        if !ends {
            self.start_implicit();
        }
        self.start_planning(statement, whole);
        let ends = (output.commit || whole) && self.phase == Phase::Implicit;
        let commits = self.commits_early(ends);
        let attempts = Attempts::after(self.waiter.waited_ns());
        let (mut attempts, mut held) = (attempts, Held::new(self.database.memory_limit()));
        let start = self.start_request(&statement.plan);
        self.starts_over = alone && self.lines_up(&statement.plan);
        let tag = loop {
            held.clear();
            attempts.timed = self.timed_attempt();
            let waits = commits && self.awaits_commit(&statement.plan);
            let attempted = if self.holds_back(&statement.plan) || waits || start.is_some() {
                let mut holding = Output { client: &mut held, describe: output.describe, commit: false, sent: false };
                self.attempt(statement, params, source, &mut holding)
            } else {
                self.attempt(statement, params, source, output)
            };
            let attempted = match attempted {
                // The commit waits for nothing that the rows would have to wait for. Until then the client may cancel.
                Ok(tag) if commits && !waits && held.has_rows() => {
                    output.sent = true;
                    held.tell(output.client, &self.waiter).map(|()| tag).map_err(Fail::from)
                }
                attempted => attempted,
            };
            let complete = attempted.as_ref().ok().copied();
            let ended = attempted.and_then(|tag| self.end_attempt(ends, commits).map(|()| tag));
            match ended {
                Ok(tag) => break tag,
                Err(Fail::Sql(error)) => {
                    held.tell(output.client, &self.waiter)?;
                    // In the extended protocol the transaction's end is no part of the statement.
                    if let Some(tag) = complete.filter(|_| !output.commit) {
                        tag.tell(output.client)?;
                    }
                    return Err(error);
                }
                Err(Fail::Abort(abort)) => {
                    if let Err(abort) = self.request_again(abort, start.filter(|_| !output.sent), &mut attempts) {
                        self.after_abort(abort, alone && !output.sent, &mut attempts)?;
                    }
                }
            }
        };
        if commits {
            // Too late to be cancelled.
            held.tell_all(output.client)?;
            return tag.tell(output.client);
        }
        held.tell(output.client, &self.waiter)?;
        self.executed += 1;
        if output.commit {
            self.finish_implicit()?;
        }
        tag.tell(output.client)
    }

    /// Whether the commit, if the statement `ends` the transaction, belongs to the attempt: an engine that keeps versions, or lets others have what is
    /// not committed, may refuse it for what others have done.
    pub(super) fn commits_early(&self, ends: bool) -> bool {
        ends && (self.database.keeps_versions() || self.database.releases_early)
    }

    /// What belongs to an attempt of a statement that `ends` its transaction: under an engine that plans the checks that were put off,
    /// since they may touch what nobody has foreseen; and the commit if it may be refused.
    pub(super) fn end_attempt(&mut self, ends: bool, commits: bool) -> Result<(), Fail> {
        if ends && self.wanted == Wanted::All && self.phase == Phase::Implicit {
            self.check_deferred(true)?;
        }
        if commits { self.commit_attempt() } else { Ok(()) }
    }

    /// Whether rows must be held back until the commit because it may be refused, and the statement tried again.
    fn awaits_commit(&self, plan: &Plan) -> bool {
        self.keeps_reads() && is_plannable(plan) && !only_reads(plan)
    }

    /// Whether the transaction keeps what it has read until it ends: it locks it, or looks at it again.
    pub(super) fn keeps_reads(&self) -> bool {
        self.database.engine().info().granted(self.names.isolation.get()) != Isolation::ReadCommitted
    }

    /// Whether there must be memory for what the transaction keeps of its reads.
    pub(super) fn asks_at_reads(&self) -> bool {
        self.database.memory_limit().bytes().is_some() && self.keeps_reads()
    }

    pub(super) fn attempt(
        &mut self,
        statement: &Arc<Statement>,
        params: &[Value<'static>],
        source: Option<&Source<'_>>,
        output: &mut Output<'_>,
    ) -> Result<Tag, Fail> {
        if self.waiter.is_cancelled() {
            return Err(Abort::Cancelled.into());
        }
        let replanned = self.lock_and_refresh(statement, params, source)?;
        if replanned.is_some() {
            self.forget_accesses();
        }
        // A plan from the source has its literals in it.
        let params = if replanned.is_some() && source.is_some() { &[] } else { params };
        let statement = replanned.as_ref().unwrap_or(statement);
        if self.names.read_only.get()
            && let Some(error) = read_only_violation(&statement.plan)
        {
            return Err(error.into());
        }
        let tag = self.execute_any(statement, params, output)?;
        output.columns(statement.columns())?;
        Ok(tag)
    }

    pub(super) fn execute_any(
        &mut self,
        statement: &Statement,
        params: &[Value<'static>],
        output: &mut Output<'_>,
    ) -> Result<Tag, Fail> {
        match &statement.plan {
            Plan::Empty => Ok(Tag::Told),
            Plan::Utility(utility) => self.utility(utility, statement, output),
            Plan::Explain(lines) => {
                for line in lines {
                    output.row(statement.columns(), &[line.borrowed()])?;
                }
                Ok(Tag::Word("EXPLAIN"))
            }
            Plan::Ddl(ddl) => {
                self.begin_engine()?;
                self.ddl(|context| context.run(ddl), output)
            }
            Plan::Declare(declare) => self.declare_cursor(declare, params),
            Plan::Analyze(analysis) => self.analyze(analysis, statement.columns(), params, output),
            Plan::Query(_) | Plan::Insert(_) | Plan::Update(_) | Plan::Delete(_) | Plan::Call(_) => {
                self.names.may_wait.set(statement.used.tables.is_empty());
                if !self.is_apart(statement) {
                    self.plan_accesses(&[(statement, params)])?;
                    self.begin_engine()?;
                }
                self.execute_plan(statement, params, output)
            }
        }
    }

    /// Whether a statement asks nothing of the engine: so one that looks at the sessions is answered whoever keeps the database. In a block it
    /// is part of the block's transaction.
    pub(super) fn is_apart(&self, statement: &Statement) -> bool {
        statement.used.tables.is_empty() && self.phase == Phase::Implicit && matches!(statement.plan, Plan::Query(_))
    }

    fn execute_plan(
        &mut self,
        statement: &Statement,
        params: &[Value<'static>],
        output: &mut Output<'_>,
    ) -> Result<Tag, Fail> {
        let read_only = self.names.read_only.get();
        let (_, mut exec) = self.exec(params);
        let columns = statement.columns();
        let rows = exec.rows(&statement.plan, read_only, &mut |row: &Input<'_>| {
            if let Input::Values(values) = row {
                output.row(columns, values)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for notice in self.names.notices.take() {
            if self.names.settings.borrow().tells(notice.severity) {
                output.client.notice(notice);
            }
        }
        if self.names.settings.borrow().has_untold() {
            for (name, value) in self.names.settings.borrow_mut().untold() {
                output.client.parameter(name, &value);
            }
        }
        Ok(match &statement.plan {
            Plan::Query(_) => Tag::Rows("SELECT", rows),
            Plan::Insert(_) => Tag::Rows("INSERT 0", rows),
            Plan::Update(_) => Tag::Rows("UPDATE", rows),
            Plan::Delete(_) => Tag::Rows("DELETE", rows),
            Plan::Call(_) => Tag::Word("CALL"),
            _ => Tag::Told,
        })
    }

    /// What a plan runs with.
    pub(super) fn exec<'s>(&'s mut self, params: &'s [Value<'static>]) -> (&'s str, Exec<'s>) {
        let (engine, memory) = (&**self.database.engine(), self.database.memory_limit());
        let (context, keeps_reads) = (Some(&self.names), self.asks_at_reads());
        let styles = self.names.styles();
        let (now, user, session_id, waiter) = (self.now, self.user.as_str(), self.id, &self.waiter);
        let env = Env { params, now, user, session_id, waiter, context, styles, memory, keeps_reads, frames: None };
        let (txn, deferred, scratch) = (&mut self.txn, &mut self.deferred, &mut self.scratch);
        (&self.user, Exec { txn, env, engine, deferred, scratch })
    }

    /// Runs DDL with all that it needs, and passes its notices on.
    pub(super) fn ddl(
        &mut self,
        run: impl FnOnce(&mut Ddl<'_>) -> Result<&'static str, Fail>,
        output: &mut Output<'_>,
    ) -> Result<Tag, Fail> {
        let limit = self.names.settings.borrow().duration("lock_timeout");
        let txn: &mut dyn Transaction = &mut self.txn;
        let memory = self.database.memory_limit();
        let (now, user, session_id, waiter) = (self.now, self.user.as_str(), self.id, &self.waiter);
        let (keeps_reads, styles) = (false, self.names.styles());
        let env = Env {
            params: &[],
            now,
            user,
            session_id,
            waiter,
            context: None,
            styles,
            memory,
            keeps_reads,
            frames: None,
        };
        let mut notices = Vec::new();
        let mut ddl = Ddl {
            engine: &**self.database.engine(),
            catalog: &self.database.catalog,
            context: &mut self.names,
            deferred: &self.deferred,
            locks: &mut self.locks,
            limit,
            txn,
            env,
            notices: &mut notices,
        };
        let tag = run(&mut ddl);
        for notice in notices {
            if self.names.settings.borrow().tells(notice.severity) {
                output.client.notice(notice);
            }
        }
        tag.map(Tag::Word)
    }

    /// Takes shared locks on a statement's tables; another plan, if the present one is not true any more.
    pub(super) fn lock_and_refresh(
        &mut self,
        statement: &Arc<Statement>,
        params: &[Value<'static>],
        source: Option<&Source<'_>>,
    ) -> Result<Option<Arc<Statement>>, Fail> {
        let mut replanned: Option<Arc<Statement>> = None;
        self.follow_path();
        loop {
            let current = replanned.as_ref().unwrap_or(statement);
            for lock in current.used.locks() {
                self.lock_table(lock, Mode::Shared)?;
            }
            self.lock_sequences(current, params)?;
            if self.is_fresh(current) {
                return Ok(replanned);
            }
            replanned = Some(match source {
                Some(source) => {
                    let tokens = &source.tokens[source.range.clone()];
                    source.plan(parse::parse(source.text, tokens)?, self.view())?
                }
                None => self.succeed(statement, current)?,
            });
        }
    }

    /// Takes shared locks on the sequences that parameters name.
    fn lock_sequences(&mut self, statement: &Statement, params: &[Value<'static>]) -> Result<(), Fail> {
        for &at in &statement.used.sequence_params {
            let Some(Value::Text(name)) = params.get(at) else { continue };
            // What is wrong with the name is said when the statement runs.
            let Ok(sequence) = self.view().named_sequence(name) else { continue };
            let lock = self.database.catalog.lock(&sequence.name);
            self.lock_table(&lock, Mode::Shared)?;
        }
        Ok(())
    }

    /// Whether all tables and procedures of a plan are the ones that their names mean now, and have about as many rows as it was made for. The
    /// locks of the tables are held.
    fn is_fresh(&self, statement: &Statement) -> bool {
        let holds = |expected: &Expected| {
            expected.look(&**self.database.engine());
            expected.holds()
        };
        let version = self.database.catalog.version();
        let known = statement.version.load(Ordering::Acquire) == version && statement.path == self.names.path;
        if known && self.names.changes.is_empty() && !statement.private {
            return statement.expected.iter().all(holds);
        }
        let view = self.view();
        let fresh = statement.used.is_current(view) && statement.expected.iter().all(holds);
        if fresh && self.names.changes.is_empty() && !statement.private {
            statement.version.store(version, Ordering::Release);
        }
        fresh
    }

    /// The plan after one that is not true any more: the one that somebody made for this reason, if it is not the one at hand, or a new one.
    fn succeed(&self, statement: &Statement, current: &Arc<Statement>) -> Result<Arc<Statement>, SqlError> {
        let known = || statement.successor.lock().unwrap_or_else(|poison| poison.into_inner());
        if let Some(successor) = &*known()
            && !Arc::ptr_eq(successor, current)
        {
            return Ok(successor.clone());
        }
        let fresh = self.replan(current)?;
        if !fresh.private {
            *known() = Some(fresh.clone());
        }
        Ok(fresh)
    }

    /// A prepared statement's plan for the tables that there are now.
    fn replan(&self, statement: &Statement) -> Result<Arc<Statement>, SqlError> {
        let mut tokens = Vec::new();
        let _room = tokenize_within(&statement.sql, &mut tokens, self.database.memory_limit())?;
        // The text may hold several statements of one query string; the plan says where its own is.
        let range = statement.tokens.clone();
        let parsed = parse::parse(&statement.sql, &tokens[range.clone()])?;
        let types = statement.params.iter().copied().map(Some).collect();
        let mut fresh = plan(parsed, &statement.sql, &tokens, range, self.view(), types)?;
        fresh.declared.clone_from(&statement.declared);
        let is_alike = match (fresh.columns(), statement.columns()) {
            (Some(fresh), Some(known)) => are_alike(fresh, known),
            (fresh, known) => fresh.is_some() == known.is_some(),
        };
        if !is_alike || fresh.params != statement.params {
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "cached plan must not change result type"));
        }
        Ok(Arc::new(fresh))
    }
}
