//! One-shot transactions on engines that need to know beforehand which rows a transaction will touch.
//!
//! A statement outside a block, the statements of one query string or one pipeline, and CALL are transactions whose end
//! is known when they begin. If the keys in the statements say which rows they touch, the access set is made of these
//! keys. Otherwise a rehearsal finds it out: all statements run once in reconnaissance, and their results are
//! discarded. If the run then touches other rows, it is aborted, the set is corrected, and the run is retried. That is
//! possible only as long as nothing was sent to the client, so rows are held back if they would be sent before the set
//! is known to be right. After a few wrong sets, the transaction runs without a set, and alone in the database. So do
//! transactions of which nothing is known: blocks, DDL, COPY.
//!
//! An engine that offers read committed needs no access set of a transaction that only reads at that level.
//!
//! An engine that [locks access sets](Capabilities::locks_accesses) is told the rows whose keys are known, if they are
//! several. It locks them together and in one order, so that such transactions do not deadlock among themselves. The
//! engine locks the other rows as the transaction reaches them, so there is no rehearsal and no wrong set. The results
//! are held back until the transaction has run, so that it can be retried. This holds only for statements whose retry
//! cannot be noticed: they return few rows and call no function that [acts](crate::catalog::Used::acts).

use super::Session;
use super::batch::Pipeline;
use super::engine::EngineTransaction;
use super::transaction::Phase;
use crate::exec::{Exec, Fail, accesses};
use crate::expr::Env;
use crate::parse::utility::Utility;
use crate::plan::{Plan, Statement, read_only_violation};
use hotrow_runtime::{Corrected, Estimate, Estimates, Renewal};
use hotrow_storage::Value;
use hotrow_txn::{Abort, Accesses, Capabilities, Isolation, Transaction};
use std::ops::ControlFlow;

/// The most rows that are locked together: a session keeps the memory of its list.
const ROWS_MAX: usize = 1_000;

/// The accesses of a one-shot transaction that the engine needs to know before the transaction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The engine needs to know no accesses.
    Nothing,
    /// The engine needs the rows whose keys are known: it locks them together.
    Rows,
    /// The engine needs all accesses of the transaction.
    All,
}

impl Wanted {
    fn of(capabilities: Capabilities) -> Self {
        match (capabilities.needs_accesses, capabilities.locks_accesses) {
            (true, _) => Wanted::All,
            (false, true) => Wanted::Rows,
            (false, false) => Wanted::Nothing,
        }
    }
}

/// The access set of the present transaction, and the state of the knowledge about it.
#[derive(Debug)]
pub(super) struct Planning {
    estimate: Estimate,
    /// Whether the transaction's statements write nothing.
    only_reads: bool,
    stage: Stage,
    /// The version of the catalog for which the access set was made.
    version: u64,
}

/// The state of the knowledge about a transaction's accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// The accesses are unknown, and the transaction runs without an access set.
    #[default]
    Off,
    /// The accesses are not known yet.
    Unknown,
    /// The known accesses are not enough: a reconnaissance comes first.
    Sought,
    /// All accesses are known, as far as the session can tell.
    Known,
    /// The accesses are unknown and not needed. Either the transaction only reads, at a level at which the engine reads
    /// row by row, or it has no rows that the engine could lock together.
    Needless,
}

/// The plan of a transaction whose end is known before it begins: its accesses, and the statements that follow.
pub(super) struct OneShot {
    /// The accesses that the engine needs to know.
    pub(super) wanted: Wanted,
    pub(super) planning: Planning,
    /// Whether the next statement is a transaction of its own.
    pub(super) whole: bool,
    /// Whether the session runs the present statement again if it meets another transaction's change.
    pub(super) starts_over: bool,
    /// The statements that the client has sent together with the next one.
    pub(super) pipeline: Pipeline,
}

impl OneShot {
    pub(super) fn new(capabilities: Capabilities) -> Self {
        let (planning, pipeline) = (Planning::new(), Pipeline::default());
        Self { wanted: Wanted::of(capabilities), planning, whole: false, starts_over: false, pipeline }
    }
}

impl Planning {
    fn new() -> Self {
        // A statement whose set is wrong mostly depends on its own writes, which another reconnaissance does not see.
        Self { estimate: Estimate::new(Renewal::Late), only_reads: false, stage: Stage::Off, version: 0 }
    }

    pub(super) fn start(&mut self) {
        self.estimate.begin();
        self.stage = Stage::Unknown;
    }

    /// Returns the access set to give to the engine, if it is known.
    pub(super) fn accesses(&self) -> Option<&Accesses> {
        (self.stage == Stage::Known).then_some(self.estimate.accesses())
    }

    /// Whether the engine's transaction has nothing to run after the planned statements.
    pub(super) fn is_one_shot(&self) -> bool {
        matches!(self.stage, Stage::Known | Stage::Needless)
    }

    /// Whether the engine may begin the transaction as one that writes nothing.
    pub(super) fn only_reads(&self) -> bool {
        self.is_one_shot() && self.only_reads
    }

    /// Corrects the access set after an attempt that touched something outside it.
    fn correct(&mut self, txn: &mut dyn Transaction) {
        self.stage = match self.estimate.correct(txn, |_| ()) {
            Corrected::Known => Stage::Known,
            Corrected::Unknown => Stage::Sought,
            Corrected::Hopeless => Stage::Off,
        };
    }
}

impl Session {
    /// Returns how many access sets were found out by a rehearsal, and how many were wrong.
    pub fn estimates(&self) -> Estimates {
        self.one_shot.planning.estimate.estimates()
    }

    /// Announces that the client ends the transaction after the next [`execute`](Self::execute), so that the
    /// transaction has one statement.
    pub fn announce_sync(&mut self) {
        self.one_shot.whole = true;
    }

    /// Decides whether the statement that is about to run is a transaction to be planned. `whole` says that no other
    /// statement follows in its transaction.
    pub(super) fn start_planning(&mut self, statement: &Statement, whole: bool) {
        self.one_shot.planning.stage = Stage::Off;
        let fresh = self.transaction.phase == Phase::Implicit && self.transaction.executed == 0 && !self.engine.begun;
        if whole && fresh && self.are_planned([statement]) {
            self.one_shot.planning.start();
        }
    }

    /// Whether these statements are to be planned and run as one transaction.
    pub(super) fn are_planned<'s>(&self, statements: impl IntoIterator<Item = &'s Statement> + Clone) -> bool {
        let all = || statements.clone().into_iter();
        let only_read = || all().all(Statement::only_reads);
        all().all(|statement| self.may_be_planned(statement))
            && (self.one_shot.wanted == Wanted::All
                || accesses::name_several_rows(all().map(|statement| &statement.plan))
                    && (self.keeps_reads() || !only_read()))
    }

    /// Whether a statement may be part of a planned transaction.
    pub(super) fn may_be_planned(&self, statement: &Statement) -> bool {
        match self.one_shot.wanted {
            Wanted::Nothing => false,
            Wanted::Rows => {
                let is_refused =
                    self.context.transaction.read_only.get() && read_only_violation(&statement.plan).is_some();
                !is_refused && !statement.used.acts && accesses::has_few_rows(&statement.plan)
            }
            // A rehearsal changes nothing, so that a loop which waits for a change would never end there.
            Wanted::All => is_plannable(&statement.plan) && !statement.used.calls.is_open,
        }
    }

    /// Whether rows must be held back until it is known that the attempt touches nothing outside its access set, or
    /// that the attempt has all its locks.
    pub(super) fn holds_back(&self, statement: &Statement) -> bool {
        let is_needed = match self.one_shot.wanted {
            Wanted::Nothing => false,
            Wanted::Rows => true,
            Wanted::All => !accesses::is_known_query(&statement.plan) && !self.reads_row_by_row(statement.only_reads()),
        };
        is_needed && self.one_shot.planning.stage != Stage::Off
    }

    /// Whether a transaction that only reads needs no access set, since the engine grants it read committed.
    fn reads_row_by_row(&self, only_reads: bool) -> bool {
        only_reads
            && self.database.engine().info().granted(self.context.transaction.isolation.get())
                == Isolation::ReadCommitted
    }

    /// Forgets the access set if the catalog has changed since it was made: a plan that was made again for that reason
    /// touches other tables. A statement that was planned again while the catalog stayed the same keeps its set.
    pub(super) fn forget_accesses(&mut self) {
        let planning = &mut self.one_shot.planning;
        let is_made = planning.is_one_shot() || planning.stage == Stage::Sought;
        if is_made && planning.version != self.database.catalog().version() {
            planning.estimate.forget();
            planning.stage = Stage::Sought;
        }
    }

    /// Corrects the access set if the engine aborted the transaction because the set was wrong. Returns whether that
    /// was the reason. The engine's transaction has not been undone yet.
    pub(super) fn correct_accesses(&mut self, abort: Abort) -> bool {
        let wrong = abort == Abort::OutsidePlan && self.one_shot.planning.stage == Stage::Known;
        if wrong {
            self.one_shot.planning.correct(&mut self.engine.txn);
        }
        wrong
    }

    /// Finds out which rows the statements will touch, if the engine needs to know and the set is not known yet. The
    /// caller holds the locks of their tables.
    pub(super) fn plan_accesses(&mut self, statements: &[(&Statement, &[Value<'static>])]) -> Result<(), Fail> {
        let stage = self.one_shot.planning.stage;
        if self.engine.begun || !matches!(stage, Stage::Unknown | Stage::Sought) {
            return Ok(());
        }
        let only_reads = statements.iter().all(|(statement, _)| statement.only_reads());
        self.one_shot.planning.only_reads = only_reads;
        self.one_shot.planning.version = self.database.catalog().version();
        if self.reads_row_by_row(only_reads) {
            self.one_shot.planning.stage = Stage::Needless;
            return Ok(());
        }
        let (now, user, session_id, waiter) = (self.transaction.now, self.user.as_str(), self.id, &self.waiter);
        let memory = self.database.memory_limit();
        let context = Some(&self.context);
        let (keeps_reads, styles) = (self.asks_at_reads(), self.context.styles());
        let env =
            |params| Env { params, now, user, session_id, waiter, context, styles, memory, keeps_reads, frames: None };
        let planning = &mut self.one_shot.planning;
        let accesses = planning.estimate.accesses_mut();
        if self.one_shot.wanted == Wanted::Rows {
            for (statement, params) in statements {
                accesses::add_rows(&statement.plan, env(params), ROWS_MAX, accesses);
            }
            let is_useful = (2..=ROWS_MAX).contains(&accesses.rows().len());
            planning.stage = if is_useful { Stage::Known } else { Stage::Needless };
            return Ok(());
        }
        planning.stage = Stage::Known;
        if stage == Stage::Unknown {
            let mut all = statements.iter();
            if all.all(|(statement, params)| accesses::fill(&statement.plan, env(params), accesses)) {
                return Ok(());
            }
            accesses.clear();
        }
        let engine = &**self.database.engine();
        let (locks, deferred) = (&mut self.transaction.locks, &mut self.transaction.deferred);
        let scratch = &mut self.scratch;
        self.context.rehearse();
        let EngineTransaction { txn, recall, .. } = &mut self.engine;
        let reconnaissance = || {
            planning.estimate.reconnoitre(txn, |txn| {
                let read_only = self.context.transaction.read_only.get();
                for (statement, params) in statements {
                    let mut exec = Exec { txn, env: env(params), engine, locks, deferred, scratch };
                    match exec.rows(&statement.plan, read_only, &mut |_| Ok(ControlFlow::Continue(()))) {
                        Ok(_) => {}
                        // The rehearsal may have read rows of different states, so this error may not occur in the
                        // run. The accesses up to the error are kept.
                        Err(Fail::Sql(_)) if !waiter.is_cancelled() => return Ok(()),
                        Err(Fail::Abort(Abort::User)) => return Ok(()),
                        Err(fail) => return Err(fail),
                    }
                }
                // Violations of constraints are ignored in a rehearsal.
                Exec { txn, env: env(&[]), engine, locks, deferred, scratch }.check_deferred(true)
            })
        };
        let outcome = recall.allow(waiter, reconnaissance);
        self.context.rehearsed();
        self.transaction.deferred.clear();
        outcome
    }
}

/// Whether a statement reads and writes rows and does nothing else.
pub(super) fn is_plannable(plan: &Plan) -> bool {
    match plan {
        Plan::Query(_)
        | Plan::Insert(_)
        | Plan::Update(_)
        | Plan::Delete(_)
        | Plan::Merge(_)
        | Plan::Instead(_)
        | Plan::Call(_)
        | Plan::Declare(_)
        | Plan::CreateAs(_) => true,
        // EXECUTE and the like run another statement.
        Plan::Utility(utility) => matches!(**utility, Utility::Execute { .. }),
        Plan::Analyze(_) => true,
        Plan::Empty | Plan::Ddl(_) | Plan::Explain(_) => false,
    }
}
