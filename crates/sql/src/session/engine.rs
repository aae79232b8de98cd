//! The engine's part of a session's transactions.

use super::Session;
use super::recall::Recall;
use super::transaction::Phase;
use crate::database::Database;
use crate::exec::Fail;
use crate::settings::CONCURRENCY;
use crate::watched::Watched;
use crate::{SqlError, state};
use hotrow_sync::Waiter;
use hotrow_txn::{Begin, Concurrency, Diagnostics, Exclusion, Holding, Ownership, Statistics, Transaction, Yielding};

/// The engine's transaction of a session.
pub(super) struct EngineTransaction {
    pub(super) txn: Watched,
    /// Whether a transaction runs.
    pub(super) begun: bool,
    pub(super) recall: Recall,
    /// The engine's statistics at the end of the previous transaction.
    counted: Statistics,
    /// The concurrency of the previous transaction, if optimistic and pessimistic transactions take turns.
    turn: Concurrency,
}

impl EngineTransaction {
    pub(super) fn new(database: &Database, waiter: &Waiter) -> Self {
        let mut txn = Watched::new(database.engine(), waiter);
        txn.statistics().timed = database.config.times.is_some();
        let (counted, turn) = (Statistics::default(), Concurrency::Pessimistic);
        Self { txn, begun: false, recall: Recall::default(), counted, turn }
    }
}

impl Session {
    /// Begins the engine's transaction, if it has not begun.
    pub(super) fn begin_engine(&mut self) -> Result<(), Fail> {
        if !self.engine.begun {
            let concurrency = self.next_concurrency();
            let accesses = self.one_shot.planning.accesses();
            let begin = Begin {
                isolation: self.context.transaction.isolation.get(),
                concurrency,
                accesses,
                one_shot: self.one_shot.planning.is_one_shot() || self.one_shot.starts_over,
                read_only: self.is_read_only() || self.one_shot.planning.only_reads(),
                label: self.id.unsigned_abs(),
                ..Begin::default()
            };
            self.engine.begun = true;
            self.entry.begin_engine();
            let EngineTransaction { txn, recall, .. } = &mut self.engine;
            recall.allow(&self.waiter, || Ok(txn.begin(&begin)?))?;
            if self.engine.txn.capabilities().needs_accesses && self.engine.txn.exclusion() != Exclusion::None {
                self.entry.exclude();
            }
            for table in self.context.view().temporary_tables() {
                self.engine.txn.own_table(table.id, Ownership::Locked);
            }
        }
        Ok(())
    }

    /// Whether the engine may treat the transaction as read-only: it is READ ONLY, and the session has no temporary
    /// tables, which even a READ ONLY transaction may change.
    fn is_read_only(&self) -> bool {
        self.context.transaction.read_only.get() && self.context.view().temporary.has_no_tables()
    }

    /// Chooses whether the transaction that begins is optimistic or pessimistic; `None` leaves the choice to the
    /// engine.
    fn next_concurrency(&mut self) -> Option<Concurrency> {
        if !self.context.settings.borrow().mixes_concurrency() {
            return self.context.settings.borrow().concurrency();
        }
        self.engine.turn = match self.engine.turn {
            Concurrency::Optimistic => Concurrency::Pessimistic,
            Concurrency::Pessimistic => Concurrency::Optimistic,
        };
        Some(self.engine.turn)
    }

    /// Checks that the setting that makes transactions optimistic or pessimistic may have this value. `None` is the
    /// value with which the session began.
    ///
    /// # Errors
    /// The engine offers no choice, the present transaction has begun with another value, or the value is unknown.
    pub(super) fn check_concurrency(&self, value: Option<&str>) -> Result<(), SqlError> {
        let wanted = self.context.settings.borrow().foreseen(CONCURRENCY, value)?;
        let info = self.database.engine().info();
        if wanted != "default" && info.concurrency.is_none() {
            let message = format!("engine {} does not let transactions choose to be {wanted}", info.name);
            let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, message);
            return Err(match &self.database.config.choosing_engines[..] {
                [] => error,
                engines => error.hint(format!("Engines that do: {}.", engines.join(", "))),
            });
        }
        if self.engine.begun && wanted != self.context.settings.borrow().show(CONCURRENCY)?.1 {
            let message = format!("{CONCURRENCY} must be set before any query of a transaction");
            return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
        }
        Ok(())
    }

    /// Releases hot rows that a block has changed to other transactions before it commits, while it waits for its
    /// client, if the settings ask for that. A block with savepoints releases nothing, since a rollback to a savepoint
    /// must restore its rows.
    pub(super) fn release_early(&mut self) {
        let may = self.transaction.phase == Phase::Block && self.engine.begun && self.transaction.marks.is_empty();
        if may && self.context.settings.borrow().releases_early() {
            self.engine.txn.retire_writes();
        }
    }

    /// Aborts the engine's transaction, if it has begun; the next statement begins a new one.
    pub(super) fn withdraw_begin(&mut self) {
        if self.engine.begun {
            self.engine.txn.abort();
            self.engine.begun = false;
            self.entry.end_engine();
        }
    }

    /// Counts the transaction's locks and waits, and the lock manager's time, if times are counted.
    pub(super) fn count_locking(&mut self) {
        let now = *self.engine.txn.statistics();
        let counted = now.since(&self.engine.counted);
        self.engine.counted = now;
        self.entry.counters.count_locking(&counted);
        if let Some(times) = &self.database.config.times {
            times.count_transaction(&counted);
        }
    }
}
