//! Several statements as one planned transaction: the statements of a query string, or of a pipeline of the extended
//! protocol.
//!
//! The statements are planned together and run one after the other. If the engine aborts the transaction, they run
//! again from the first. The results of each statement are held back until the transaction cannot be retried any more.
//! A pipeline runs when its first statement is executed; the executions of the others send the results that are held.

use super::Session;
use super::held::Held;
use super::output::Output;
use super::planned::{Wanted, is_plannable};
use super::retry::Attempts;
use super::run::Bound;
use super::text::{Ready, Source};
use super::transaction::Phase;
use crate::client::Client;
use crate::exec::Fail;
use crate::parse::Parsed;
use crate::parse::lex::Token;
use crate::plan::{Plan, Statement};
use crate::{SqlError, state};
use hotrow_storage::{Type, Value};
use hotrow_sync::Arc;
use std::collections::VecDeque;
use std::ops::Range;

/// A statement of a batch.
pub(super) struct Member<'s> {
    statement: Arc<Statement>,
    params: Vec<Value<'static>>,
    /// The statement's place in a query string; `None` for a prepared statement.
    source: Option<Source<'s>>,
}

impl Member<'_> {
    fn bound(&self) -> Bound<'_> {
        Bound { statement: &self.statement, params: &self.params, source: self.source.as_ref() }
    }
}

/// A pipeline of the extended protocol: statements that the client sends together and ends with one Sync.
#[derive(Default)]
pub(super) struct Pipeline {
    /// The statements after the next one, with their parameters, until they run.
    announced: Vec<(Arc<Statement>, Vec<Value<'static>>)>,
    /// The statements that have run, with the results that the client has not been sent yet.
    results: VecDeque<(Arc<Statement>, Held)>,
    /// The error that ended the last of these statements, if there was one.
    error: Option<SqlError>,
}

impl Pipeline {
    /// Forgets the pipeline's statements, results and error.
    pub(super) fn clear(&mut self) {
        self.announced.clear();
        self.results.clear();
        self.error = None;
    }

    fn has_run(&self) -> bool {
        !self.results.is_empty() || self.error.is_some()
    }
}

impl Session {
    /// Makes the plans of a query string's statements. Returns `None` if they cannot be one planned transaction, or if
    /// one of them has a mistake; the caller then runs them one after the other.
    pub(super) fn batch<'s>(
        &mut self,
        ready: &mut [Ready],
        text: &'s Arc<str>,
        tokens: &'s [Token],
        ranges: &[Range<usize>],
    ) -> Option<Vec<Member<'s>>> {
        let may = |ready: &Ready| match ready {
            Ready::Cached(statement, _) => is_plannable(&statement.plan),
            Ready::Parsed(parsed, _) => matches!(parsed, Parsed::Ast(_)),
        };
        if self.one_shot.wanted == Wanted::Nothing
            || ready.len() < 2
            || self.transaction.phase != Phase::Idle
            || !ready.iter().all(may)
        {
            return None;
        }
        self.start_implicit();
        let mut members = Vec::with_capacity(ready.len());
        for (range, ready) in ranges.iter().zip(ready) {
            let source = Source { text, tokens, range: range.clone() };
            let again = Ready::Parsed(Parsed::Empty, None);
            let resolved = self.resolve(&source, std::mem::replace(ready, again));
            let Ok((statement, params)) = resolved else {
                *ready = self.ready(text, &tokens[range.clone()]).ok()?;
                return None;
            };
            *ready = Ready::Cached(statement.clone(), params.clone());
            // The statements after this one may depend on it, and a statement that acts may not run twice.
            if statement.used.acts || !self.may_be_planned(&statement) {
                return None;
            }
            members.push(Member { statement, params, source: Some(source) });
        }
        let are_planned = self.are_planned(members.iter().map(|member| &*member.statement));
        are_planned.then_some(members)
    }

    /// Runs the statements of a query string as one planned transaction. Sends the client their results after the
    /// commit.
    pub(super) fn run_batch(&mut self, members: &[Member<'_>], client: &mut dyn Client) -> Result<(), SqlError> {
        let mut results = Vec::new();
        let commits = self.commits_early(true);
        let ran = self.run_members(members, commits, &mut results).and_then(|()| {
            let committed = self.finish_implicit();
            if committed.is_err() {
                forget_last_tag(&mut results);
            }
            committed
        });
        // After a commit it is too late to cancel. If the batch was cancelled, the client gets the error after the
        // results.
        results.iter_mut().try_for_each(|held| held.tell_all(client))?;
        ran
    }

    /// Whether the engine can use the list of the statements that are sent together with the next one: see
    /// [`announce_pipeline`](Self::announce_pipeline).
    pub fn wants_pipeline(&self) -> bool {
        self.one_shot.wanted != Wanted::Nothing
            && self.transaction.phase == Phase::Implicit
            && self.transaction.executed == 0
            && !self.engine.begun
            && !self.one_shot.pipeline.has_run()
    }

    /// Announces the statements that the client executes after the next [`execute`](Self::execute), with the values of
    /// their parameters. The client fetches all rows of each statement, and then ends the transaction. So the session
    /// plans and runs all of them as one transaction.
    pub fn announce_pipeline(&mut self, rest: Vec<(Arc<Statement>, Vec<Value<'static>>)>) {
        self.one_shot.pipeline.announced = rest;
    }

    /// Returns the plan of a statement that the client will [`parse`](Self::parse).
    ///
    /// # Errors
    /// The error that `parse` will return to the client.
    pub fn foresee(&self, sql: &str, types: &[Option<Type>]) -> Result<Arc<Statement>, SqlError> {
        self.plan_text(sql, types, &mut |_| ())
    }

    /// Whether a statement that is executed belongs to the pipeline. The first such statement makes all of them run.
    pub(super) fn pipelines(&mut self, statement: &Arc<Statement>, params: &[Value<'static>]) -> bool {
        let rest = std::mem::take(&mut self.one_shot.pipeline.announced);
        if self.one_shot.pipeline.has_run() {
            return true;
        }
        let plannable = |statement: &Statement| {
            is_plannable(&statement.plan)
                && !statement.used.acts
                && !matches!(statement.plan, Plan::Utility(_) | Plan::Declare(_) | Plan::Analyze(_))
        };
        let all = || std::iter::once(statement).chain(rest.iter().map(|(statement, _)| statement)).map(|one| &**one);
        if rest.is_empty() || !all().all(plannable) || !self.are_planned(all()) || !self.wants_pipeline() {
            return false;
        }
        let first = (statement.clone(), params.to_vec());
        let member = |(statement, params)| Member { statement, params, source: None };
        let members: Vec<_> = std::iter::once(first).chain(rest).map(member).collect();
        let mut results = Vec::new();
        let ran = self.within_limit(|session| session.run_members(&members, false, &mut results));
        self.one_shot.pipeline.results = members.into_iter().map(|member| member.statement).zip(results).collect();
        self.one_shot.pipeline.error = ran.err();
        true
    }

    /// Sends the client the results of the pipeline's next statement.
    pub(super) fn tell_next(&mut self, statement: &Statement, client: &mut dyn Client) -> Result<(), SqlError> {
        if let Some((announced, mut held)) = self.one_shot.pipeline.results.pop_front() {
            if announced.sql != statement.sql {
                let message = "a pipeline's statements are not those that were announced";
                return Err(SqlError::new(state::INTERNAL_ERROR, message));
            }
            held.tell(client, &self.waiter)?;
        }
        match self.one_shot.pipeline.error.take_if(|_| self.one_shot.pipeline.results.is_empty()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Runs statements as one planned transaction, which stays open unless its commit is part of each attempt.
    /// `results` receives the results of each statement; of a statement that fails, it receives the results up to the
    /// error.
    fn run_members(&mut self, members: &[Member<'_>], commits: bool, results: &mut Vec<Held>) -> Result<(), SqlError> {
        let mut attempts = Attempts::after(self.waiter.waited_ns());
        self.one_shot.planning.start();
        self.entry.counters.count_statements(members.len());
        loop {
            self.start_implicit();
            results.clear();
            self.allow_recall();
            let ran = self.attempt_members(members, results);
            let shown = ran.and_then(|()| self.show_results(commits).inspect_err(|_| results.clear()));
            let ended = shown.and_then(|()| self.end_attempt(true, commits).inspect_err(|_| forget_last_tag(results)));
            match ended {
                Ok(()) => return Ok(()),
                Err(Fail::Sql(error)) => return Err(error),
                Err(Fail::Abort(_)) if self.was_recalled() => {}
                Err(Fail::Abort(abort)) => {
                    // The client has not been sent any of these results.
                    results.clear();
                    self.transaction.executed = 0;
                    self.after_abort(abort, true, &mut attempts)?;
                }
            }
        }
    }

    fn attempt_members(&mut self, members: &[Member<'_>], results: &mut Vec<Held>) -> Result<(), Fail> {
        let mut replanned = Vec::with_capacity(members.len());
        for member in members {
            replanned.push(self.lock_and_refresh(member.bound())?);
        }
        let fresh: Vec<_> =
            members.iter().zip(&replanned).map(|(member, plan)| member.bound().with(plan.as_ref())).collect();
        let list: Vec<_> = fresh.iter().map(|bound| (&**bound.statement, bound.params)).collect();
        self.plan_accesses(&list)?;
        // The engine is given the access set that is known now, even if a statement is planned again later.
        if !list.iter().all(|(statement, _)| self.is_apart(statement)) {
            self.begin_engine()?;
        }
        for bound in fresh {
            results.push(Held::new(self.database.memory_limit()));
            let Some(held) = results.last_mut() else { break };
            held.styles(self.context.styles());
            // The time limit of the first statement includes the planning and the waits for all of them.
            if self.transaction.executed > 0 {
                self.restart_limit();
            }
            let mut output = if bound.source.is_some() { Output::simple(held, false) } else { Output::extended(held) };
            let attempted = self.attempt(bound, &mut output);
            self.report_troubles(Some(bound.statement));
            let tag = attempted?;
            tag.tell(held)?;
            self.transaction.executed += 1;
        }
        Ok(())
    }
}

/// Removes the command tag of the last statement from the results: the transaction did not commit, so that statement is
/// not complete.
fn forget_last_tag(results: &mut [Held]) {
    results.last_mut().into_iter().for_each(Held::forget_tag);
}
