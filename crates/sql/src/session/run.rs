//! One statement: locks on its tables, a plan that is still true, and execution, in as many [attempts](super::retry) as
//! it takes.

use super::Session;
use super::held::Held;
use super::output::{Output, Tag};
use super::planned::{Wanted, is_plannable};
use super::retry::Attempts;
use super::text::Source;
use super::transaction::{Phase, is_transaction_control, runs_when_failed};
use crate::catalog::place_log::refused;
use crate::client::Notice;
use crate::context::SessionContext;
use crate::exec::ddl::Ddl;
use crate::exec::{Exec, Fail};
use crate::expr::{Env, Input};
use crate::parse::trigger::TriggerEvent;
use crate::parse::utility::Utility;
use crate::plan::{CreateAs, Insert, Plan, Statement};
use crate::{SqlError, state, system};
use hotrow_storage::{Refusal, Value};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Isolation, Transaction};
use std::ops::ControlFlow;

/// The number of rows that a statement may send before it waits for the log, if the rows contain numbers of sequences.
/// So few rows hardly leave the client's buffer before the statement or its transaction ends, which waits in any case.
const FEW_ROWS: u64 = 16;

/// A statement that is to run, with the values of its parameters.
#[derive(Clone, Copy)]
pub(super) struct Bound<'s> {
    pub(super) statement: &'s Arc<Statement>,
    pub(super) params: &'s [Value<'static>],
    /// The statement's place in a text of the simple protocol. A prepared statement has none: its columns and
    /// parameters do not change.
    pub(super) source: Option<&'s Source<'s>>,
}

impl<'s> Bound<'s> {
    /// Makes the value for a prepared statement, which has no source.
    pub(super) fn prepared(statement: &'s Arc<Statement>, params: &'s [Value<'static>]) -> Self {
        Self { statement, params, source: None }
    }

    /// Returns the statement with a new plan in place of its own, if there is one. A plan from the source contains the
    /// literals, so it takes no parameters.
    pub(super) fn with(self, replanned: Option<&'s Arc<Statement>>) -> Self {
        match replanned {
            Some(statement) if self.source.is_some() => Self { statement, params: &[], ..self },
            Some(statement) => Self { statement, ..self },
            None => self,
        }
    }
}

impl Session {
    /// Calls `run`, which is cancelled when `statement_timeout` is over.
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

    /// Starts the time of `statement_timeout` for a statement. Returns whether there is such a limit.
    pub(super) fn restart_limit(&self) -> bool {
        let limit = self.context.settings.borrow().duration("statement_timeout");
        if let Some(limit) = limit {
            self.waiter.set_limit(Some(self.waiter.now().after(limit)));
        }
        limit.is_some()
    }

    /// Runs a statement and sends its result to the client. `alone` says that a retry cannot be noticed.
    pub(super) fn run(&mut self, bound: Bound<'_>, alone: bool, output: &mut Output<'_>) -> Result<(), SqlError> {
        let statement = bound.statement;
        output.client.styles(self.context.styles());
        if self.transaction.phase == Phase::Failed && !runs_when_failed(&statement.plan) {
            return Err(self.failed_block());
        }
        if matches!(statement.plan, Plan::Empty) {
            return output.client.empty();
        }
        self.entry.counters.count_statements(1);
        self.show_settings();
        let whole = std::mem::take(&mut self.one_shot.whole);
        if !is_transaction_control(&statement.plan) {
            self.start_implicit();
        }
        self.start_planning(statement, whole);
        let ends = (output.commit || whole) && self.transaction.phase == Phase::Implicit;
        let result = self.within_limit(|session| session.run_in_attempts(bound, alone, ends, output));
        self.report_troubles(Some(statement));
        result
    }

    /// Attempts a statement until it has run, or until it fails with an error for the client. `ends` says that the
    /// transaction ends with the statement.
    fn run_in_attempts(
        &mut self,
        bound: Bound<'_>,
        alone: bool,
        ends: bool,
        output: &mut Output<'_>,
    ) -> Result<(), SqlError> {
        let (statement, plan) = (bound.statement, &bound.statement.plan);
        let commits = self.commits_early(ends);
        let mut attempts = Attempts::after(self.waiter.waited_ns());
        let mut held = Held::new(self.database.memory_limit());
        let start = self.start_request(statement);
        self.one_shot.starts_over = alone && self.lines_up(statement);
        let tag = loop {
            held.clear();
            attempts.timed = self.timed_attempt();
            self.allow_recall();
            let waits = commits && self.awaits_commit(statement);
            let attempted = if self.holds_back(statement) || waits || start.is_some() || self.holds_notices(plan) {
                self.attempt(bound, &mut output.holding(&mut held))
            } else {
                self.attempt(bound, output)
            };
            let attempted = match attempted {
                // The commit waits for nothing that the rows would have to wait for. Until then the client may cancel.
                Ok(tag) if commits && !waits && held.has_rows() => {
                    output.sent = true;
                    held.tell(output.client, &self.waiter).map(|()| tag).map_err(Fail::from)
                }
                attempted => attempted,
            };
            let attempted = attempted.and_then(|tag| {
                self.show_results(ends).inspect_err(|_| held.clear())?;
                Ok(tag)
            });
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
                Err(Fail::Abort(_)) if self.was_recalled() => {}
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
        self.transaction.executed += 1;
        if output.commit {
            self.finish_implicit()?;
        }
        tag.tell(output.client)
    }

    /// Adds the conflicts and waits of a statement, or of a commit without a statement, to the contention statistics.
    #[inline]
    pub(super) fn report_troubles(&mut self, statement: Option<&Statement>) {
        if self.engine.txn.has_troubles() {
            let text = statement.map_or("COMMIT", Statement::text);
            self.database.contention.add(self.engine.txn.troubles(), text);
        }
    }

    /// Whether the commit of a statement that `ends` its transaction belongs to the attempt. An engine that keeps
    /// versions, or lets others read uncommitted changes, may refuse the commit because of other transactions.
    pub(super) fn commits_early(&self, ends: bool) -> bool {
        ends && (self.database.keeps_versions() || self.database.releases_early)
    }

    /// Finishes an attempt of a statement that `ends` its transaction. Under an engine that plans, makes the deferred
    /// checks, since they may touch rows outside the access set. If `commits` is set, commits, since the engine may
    /// refuse the commit.
    pub(super) fn end_attempt(&mut self, ends: bool, commits: bool) -> Result<(), Fail> {
        if ends && self.one_shot.wanted == Wanted::All && self.transaction.phase == Phase::Implicit {
            self.check_deferred(true)?;
        }
        if commits { self.commit_attempt() } else { Ok(()) }
    }

    /// Whether rows must be held back until the commit because it may be refused, and the statement tried again.
    fn awaits_commit(&self, statement: &Statement) -> bool {
        self.keeps_reads() && is_plannable(&statement.plan) && !statement.only_reads()
    }

    /// Whether the transaction keeps its reads until it ends, to hold their locks or to validate them.
    pub(super) fn keeps_reads(&self) -> bool {
        self.database.engine().info().granted(self.context.transaction.isolation.get()) != Isolation::ReadCommitted
    }

    /// Whether statements must check that there is memory for the reads that the transaction keeps.
    pub(super) fn asks_at_reads(&self) -> bool {
        self.database.memory_limit().bytes().is_some() && self.keeps_reads()
    }

    /// Whether a statement is a DO that may be retried, so that its notices must be held back until it has run.
    fn holds_notices(&self, plan: &Plan) -> bool {
        self.transaction.phase == Phase::Implicit
            && matches!(plan, Plan::Utility(utility) if matches!(**utility, Utility::Do(_)))
    }

    /// Runs a statement once, with a plan that is true now.
    pub(super) fn attempt(&mut self, bound: Bound<'_>, output: &mut Output<'_>) -> Result<Tag, Fail> {
        if self.waiter.is_cancelled() {
            return Err(Abort::Cancelled.into());
        }
        let replanned = self.lock_and_refresh(bound)?;
        let Bound { statement, params, .. } = bound.with(replanned.as_ref());
        self.check_writes(statement)?;
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
            Plan::Empty => Ok(Tag::Sent),
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
            Plan::CreateAs(create) => self.create_as(create, statement, params, output),
            Plan::Declare(declare) => self.declare_cursor(declare, params),
            Plan::Analyze(analysis) => self.analyze(analysis, statement.columns(), params, output),
            Plan::Query(_) => self.execute_rows(statement, params, output).map(|rows| Tag::Rows("SELECT", rows)),
            Plan::Insert(_) => self.execute_rows(statement, params, output).map(|rows| Tag::Rows("INSERT 0", rows)),
            Plan::Update(_) => self.execute_rows(statement, params, output).map(|rows| Tag::Rows("UPDATE", rows)),
            Plan::Delete(_) => self.execute_rows(statement, params, output).map(|rows| Tag::Rows("DELETE", rows)),
            Plan::Merge(_) => self.execute_rows(statement, params, output).map(|rows| Tag::Rows("MERGE", rows)),
            Plan::Instead(instead) => {
                let word = if instead.event == TriggerEvent::Insert { "INSERT 0" } else { instead.event.name() };
                self.execute_rows(statement, params, output).map(|rows| Tag::Rows(word, rows))
            }
            Plan::Call(_) => self.execute_rows(statement, params, output).map(|_| Tag::Word("CALL")),
        }
    }

    /// Runs CREATE TABLE AS: creates the table and, unless the statement says WITH NO DATA, inserts the rows of its
    /// query.
    fn create_as(
        &mut self,
        create: &CreateAs,
        statement: &Statement,
        params: &[Value<'static>],
        output: &mut Output<'_>,
    ) -> Result<Tag, Fail> {
        self.context.may_wait.set(statement.used.tables.is_empty());
        self.plan_accesses(&[(statement, params)])?;
        self.begin_engine()?;
        let mut made = None;
        let define = |ddl: &mut Ddl<'_>| {
            made = ddl.create_table_as(create)?;
            Ok("CREATE TABLE AS")
        };
        let tag = self.ddl(define, output)?;
        let is_filled = create.create.with_data.as_ref().is_none_or(|with| with.data);
        let Some(table) = made.filter(|_| is_filled) else { return Ok(tag) };
        let insert = Insert::plain(table, create.columns.len());
        let rows = self.exec(params).fill(&insert, &create.query, &mut |_| Ok(ControlFlow::Continue(())))?;
        self.tell_effects(output);
        Ok(Tag::Rows("SELECT", rows))
    }

    /// Whether a statement needs nothing of the engine. Outside a block, such a statement on the sessions is answered
    /// even while a transaction excludes all others from the database. In a block it is part of the block's
    /// transaction.
    pub(super) fn is_apart(&self, statement: &Statement) -> bool {
        statement.used.tables.is_empty()
            && statement.used.procedures.is_empty()
            && self.transaction.phase == Phase::Implicit
            && matches!(statement.plan, Plan::Query(_))
    }

    /// Reads and writes rows, and sends the rows of the result to the client. Returns how many rows the command tag
    /// counts.
    fn execute_rows(
        &mut self,
        statement: &Statement,
        params: &[Value<'static>],
        output: &mut Output<'_>,
    ) -> Result<u64, Fail> {
        self.context.may_wait.set(statement.used.tables.is_empty());
        if !self.is_apart(statement) {
            self.plan_accesses(&[(statement, params)])?;
            self.begin_engine()?;
        }
        let read_only = self.context.transaction.read_only.get();
        let columns = statement.columns();
        let objects = columns.filter(|columns| system::has_objects(columns));
        let mut told = 0_u64;
        let (mut exec, context, waiter) = self.exec_beside(params);
        let rows = exec.rows(&statement.plan, read_only, &mut |row: &Input<'_>| {
            if let Input::Values(values) = row {
                if told >= FEW_ROWS && context.has_unseen_numbers() {
                    context.await_numbers(waiter).map_err(|_| refused(Refusal::Failed))?;
                }
                told += 1;
                match objects {
                    Some(objects) => output.row(columns, &system::named_values(context, objects, values))?,
                    None => output.row(columns, values)?,
                }
            }
            Ok(ControlFlow::Continue(()))
        });
        self.tell_effects_of(&rows, output);
        rows
    }

    /// Sends the client the notices and changed settings of the functions and procedures that a statement has called.
    /// After an abort, drops the notices instead, because the statement may run again.
    pub(super) fn tell_effects_of<R>(&self, done: &Result<R, Fail>, output: &mut Output<'_>) {
        match done {
            Ok(_) | Err(Fail::Sql(_)) => self.tell_effects(output),
            Err(Fail::Abort(_)) => self.context.notices.borrow_mut().clear(),
        }
    }

    /// Sends the client the notices of the functions that a statement has called, and the reported settings that they
    /// have changed.
    pub(super) fn tell_effects(&self, output: &mut Output<'_>) {
        for notice in self.context.notices.take() {
            if self.context.settings.borrow().tells(notice.severity) {
                output.client.notice(notice);
            }
        }
        if self.context.settings.borrow().has_untold() {
            for (name, value) in self.context.settings.borrow_mut().untold() {
                output.client.parameter(name, &value);
            }
        }
    }

    /// Returns the executor with which a plan runs.
    pub(super) fn exec<'s>(&'s mut self, params: &'s [Value<'static>]) -> Exec<'s> {
        self.exec_beside(params).0
    }

    /// Returns the executor with which a plan runs, together with the context and the waiter that its results need
    /// meanwhile.
    fn exec_beside<'s>(&'s mut self, params: &'s [Value<'static>]) -> (Exec<'s>, &'s SessionContext, &'s Waiter) {
        let (engine, memory) = (&**self.database.engine(), self.database.memory_limit());
        let (context, keeps_reads) = (Some(&self.context), self.asks_at_reads());
        let styles = self.context.styles();
        let (now, user, session_id, waiter) = (self.transaction.now, self.user.as_str(), self.id, &self.waiter);
        let env = Env { params, now, user, session_id, waiter, context, styles, memory, keeps_reads, frames: None };
        let (txn, scratch) = (&mut self.engine.txn, &mut self.scratch);
        let (locks, deferred) = (&mut self.transaction.locks, &mut self.transaction.deferred);
        (Exec { txn, env, engine, locks, deferred, scratch }, &self.context, &self.waiter)
    }

    /// Runs DDL with all that it needs, and passes its notices on.
    pub(super) fn ddl(
        &mut self,
        run: impl FnOnce(&mut Ddl<'_>) -> Result<&'static str, Fail>,
        output: &mut Output<'_>,
    ) -> Result<Tag, Fail> {
        let mut notices = Vec::new();
        let tag = self.untold_ddl(run, &mut notices);
        for notice in notices {
            if self.context.settings.borrow().tells(notice.severity) {
                output.client.notice(notice);
            }
        }
        tag.map(Tag::Word)
    }

    /// Runs DDL by calling `run`. Adds its notices to `notices` and does not send them.
    pub(super) fn untold_ddl(
        &mut self,
        run: impl FnOnce(&mut Ddl<'_>) -> Result<&'static str, Fail>,
        notices: &mut Vec<Notice>,
    ) -> Result<&'static str, Fail> {
        let limit = self.context.settings.borrow().duration("lock_timeout");
        let txn: &mut dyn Transaction = &mut self.engine.txn;
        let memory = self.database.memory_limit();
        let (now, user, session_id, waiter) = (self.transaction.now, self.user.as_str(), self.id, &self.waiter);
        let (keeps_reads, styles) = (false, self.context.styles());
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
        run(&mut Ddl {
            engine: &**self.database.engine(),
            catalog: self.database.catalog(),
            context: &mut self.context,
            deferred: &mut self.transaction.deferred,
            locks: &mut self.transaction.locks,
            limit,
            txn,
            env,
            notices,
        })
    }
}
