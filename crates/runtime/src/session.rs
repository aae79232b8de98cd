//! Interactive transactions on an engine that was chosen at run time.

use crate::{Planner, Retry, RetryConfig};
use hotrow_sync::wait::{LONGEST_SPIN, let_others_finish};
use hotrow_sync::{Waiter, Wake};
use hotrow_txn::{Abort, Begin, Engine, Isolation, Procedure, Runner, Transaction};
use std::ops::{Deref, DerefMut};

/// A session of a program that embeds the database. It runs transactions one at a time: interactive ones
/// ([`begin`](Self::begin)) and procedures ([`run`](Runner::run)).
///
/// One thread at a time may use a session, and the session may move between threads. Another thread can cancel its
/// waits through a clone of its [`waiter`](Self::waiter).
pub struct Session {
    txn: Box<dyn Transaction>,
    waiter: Waiter,
    planner: Planner,
    isolation: Isolation,
    retry: Retry,
}

impl Session {
    /// Makes a session on `engine` whose waits block the calling thread.
    pub fn new(engine: &dyn Engine) -> Self {
        Self::with_waiter(engine, Waiter::thread(LONGEST_SPIN))
    }

    /// Makes a session on `engine` that waits through `waiter`.
    pub fn with_waiter(engine: &dyn Engine, waiter: Waiter) -> Self {
        Self {
            txn: engine.transaction(waiter.clone()),
            waiter,
            planner: Planner::default(),
            isolation: Isolation::default(),
            retry: Retry::new(RetryConfig::default(), 0),
        }
    }

    /// Begins an interactive transaction at this isolation level.
    ///
    /// # Errors
    /// The abort, if the engine refuses to begin. No transaction is running then.
    pub fn begin(&mut self, isolation: Isolation) -> Result<Txn<'_>, Abort> {
        self.begin_with(&Begin::at(isolation))
    }

    /// Begins an interactive transaction with the properties in `begin`.
    ///
    /// # Errors
    /// The abort, if the engine refuses to begin. No transaction is running then.
    pub fn begin_with(&mut self, begin: &Begin<'_>) -> Result<Txn<'_>, Abort> {
        if let Err(abort) = self.txn.begin(begin) {
            self.txn.abort();
            return Err(abort);
        }
        Ok(Txn { session: self })
    }

    /// Sets the isolation level at which [`run`](Runner::run) runs procedures that require no certain level. Initially
    /// it is serializable.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.isolation = isolation;
    }

    /// Returns the waiter through which the session waits. Another thread can cancel a wait with a clone of it.
    pub fn waiter(&self) -> &Waiter {
        &self.waiter
    }
}

impl Runner for Session {
    fn run<P: Procedure>(&mut self, procedure: &P) -> Result<P::Output, Abort> {
        let mut planner = std::mem::take(&mut self.planner);
        planner.begin(self.txn.capabilities(), procedure);
        self.retry.reset();
        let outcome = loop {
            let abort = match self.attempt(procedure, &mut planner) {
                Ok(output) => break Ok(output),
                Err(abort) => abort,
            };
            if !abort.is_retryable() || !self.retry.again() {
                break Err(abort);
            }
            // The transaction has ended, but the engine knows which transaction blocked it.
            match self.txn.give_way(None) {
                Err(abort) => break Err(abort),
                Ok(true) => {}
                Ok(false) if self.retry.pause(&self.waiter) == Wake::Cancelled => break Err(Abort::Cancelled),
                Ok(false) => {}
            }
        };
        self.planner = planner;
        outcome
    }
}

impl Session {
    /// Begins, runs and commits a procedure once, after a reconnaissance if one is needed.
    fn attempt<P: Procedure>(&mut self, procedure: &P, planner: &mut Planner) -> Result<P::Output, Abort> {
        if planner.is_unknown() {
            planner.reconnoitre(&mut *self.txn, procedure)?;
        }
        let isolation = procedure.isolation().unwrap_or(self.isolation);
        let (read_only, accesses) = (procedure.read_only(), planner.accesses());
        let mut txn = self.begin_with(&Begin { isolation, read_only, accesses, one_shot: true, ..Begin::default() })?;
        let outcome = procedure.run(&mut *txn);
        if matches!(outcome, Err(Abort::OutsidePlan)) {
            planner.correct(&mut *txn, procedure);
        }
        let output = outcome?;
        txn.commit()?;
        Ok(output)
    }
}

/// A running interactive transaction, which is used as a [`Transaction`]. Dropping it without [`commit`](Self::commit)
/// rolls it back.
pub struct Txn<'a> {
    session: &'a mut Session,
}

impl Txn<'_> {
    /// Commits the transaction.
    ///
    /// # Errors
    /// The abort, if the transaction cannot commit. All its changes are undone then.
    pub fn commit(self) -> Result<(), Abort> {
        self.session.txn.commit()
    }

    /// Rolls the transaction back: undoes its changes and ends it.
    pub fn rollback(self) {}
}

impl Drop for Txn<'_> {
    /// Aborts the transaction, unless it was committed: then `abort` does nothing.
    fn drop(&mut self) {
        self.session.txn.abort();
        let_others_finish();
    }
}

impl Deref for Txn<'_> {
    type Target = dyn Transaction;

    fn deref(&self) -> &Self::Target {
        &*self.session.txn
    }
}

impl DerefMut for Txn<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.session.txn
    }
}
