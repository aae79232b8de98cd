//! The part of a session that a log asks for: definitions are stored when their transaction commits, a statement that
//! changes something may be refused, and the numbers of sequences are seen only when no crash can give them again.

use super::Session;
use crate::catalog::is_temporary;
use crate::catalog::place_log::refused;
use crate::catalog::stored::{Entry, Stored, entries};
use crate::context::DatabaseChange;
use crate::exec::Fail;
use crate::parse::utility::Utility;
use crate::plan::{Plan, Statement, read_only_violation};
use hotrow_storage::Refusal;
use hotrow_txn::{Abort, Accesses, Begin, Transaction};

impl Session {
    /// Checks that the transaction and the log allow the changes that a statement makes.
    ///
    /// # Errors
    /// 25006 in a read-only transaction, 53100 if the disk of the log is full, 58030 if the log has failed.
    #[inline]
    pub(super) fn check_writes(&mut self, statement: &Statement) -> Result<(), Fail> {
        if self.context.transaction.read_only.get()
            && !self.copies_to_temporary(statement)
            && let Some(error) = read_only_violation(&statement.plan)
        {
            return Err(error.into());
        }
        if let Some(log) = self.database.places()
            && statement.changes_database()
        {
            log.check()?;
            self.transaction.has_changes = true;
        }
        Ok(())
    }

    /// Whether a statement is COPY FROM into a temporary table.
    fn copies_to_temporary(&self, statement: &Statement) -> bool {
        let Plan::Utility(utility) = &statement.plan else { return false };
        matches!(&**utility, Utility::Copy(copy) if copy.from && is_temporary(&self.context.view().find(&copy.table)))
    }

    /// Whether the client must be told that the log has failed while its transaction committed. A transaction that has
    /// only read needs no log, so its commit has succeeded.
    pub(super) fn is_unsure(&self) -> bool {
        let has_only_read = self.database.stored().is_some() && !self.transaction.has_changes;
        !has_only_read || self.context.has_unseen_numbers()
    }

    /// Stores the definitions that the transaction has changed, as part of the transaction itself.
    pub(super) fn store_definitions(&mut self) -> Result<(), Fail> {
        let has_changes =
            !self.context.transaction.changes.is_empty() || !self.context.transaction.databases.is_empty();
        if self.database.stored().is_none() || !has_changes {
            return Ok(());
        }
        let database = self.database.clone();
        let (Some(stored), Some(of_databases)) = (database.stored(), &database.main.stored) else { return Ok(()) };
        let entries = entries(&self.context.transaction.changes, database.catalog())?;
        self.store(stored, &entries)?;
        // The names of databases are definitions of the database that is always there.
        let databases = self.context.transaction.databases.iter().map(DatabaseChange::entries);
        self.store(of_databases, &databases.collect::<Result<Vec<_>, _>>()?.concat())
    }

    fn store(&mut self, stored: &Stored, entries: &[Entry]) -> Result<(), Fail> {
        if entries.is_empty() {
            return Ok(());
        }
        self.store_places(stored);
        if self.engine.begun {
            return Ok(stored.write(entries, &mut self.engine.txn)?);
        }
        match self.store_alone(stored, entries, Some(&stored.accesses(entries))) {
            Err(Abort::OutsidePlan) => {
                self.withdraw_begin();
                Ok(self.store_alone(stored, entries, None)?)
            }
            written => Ok(written?),
        }
    }

    /// Begins a transaction in the engine that does nothing but store definitions, and stores them.
    fn store_alone(&mut self, stored: &Stored, entries: &[Entry], accesses: Option<&Accesses>) -> Result<(), Abort> {
        let begin = Begin {
            accesses,
            one_shot: true,
            label: self.id.unsigned_abs(),
            ..Begin::at(self.context.transaction.isolation.get())
        };
        self.engine.begun = true;
        self.entry.begin_engine();
        self.engine.txn.begin(&begin)?;
        stored.write(entries, &mut self.engine.txn)
    }

    /// Appends the present numbers of the sequences whose definitions the transaction changes to the log. The log may
    /// already contain a later number, up to which a sequence may go on without another record; by the new definition,
    /// other numbers may come next.
    fn store_places(&self, stored: &Stored) {
        let changed = &self.context.transaction.changes.sequences;
        changed.values().flatten().for_each(|sequence| sequence.place.store(stored.places()));
    }

    /// Returns the numbers of the places that are no longer used after the commit: those of sequences that the
    /// transaction drops or restarts.
    pub(super) fn places_that_go(&self) -> Vec<u32> {
        let changed = &self.context.transaction.changes.sequences;
        if changed.is_empty() || self.database.stored().is_none() {
            return Vec::new();
        }
        let is_kept = |place: u32| changed.values().flatten().any(|sequence| sequence.place.number == place);
        let known = changed.keys().filter_map(|name| self.database.catalog().sequence(name));
        known.map(|sequence| sequence.place.number).filter(|place| !is_kept(*place)).collect()
    }

    /// Waits until the client may see the numbers of sequences in the results of a statement that has run. Does not
    /// wait if the statement `ends` the transaction, because the commit waits.
    ///
    /// # Errors
    /// 58030 if the log has failed. The transaction has not committed.
    pub(super) fn show_results(&mut self, ends: bool) -> Result<(), Fail> {
        if !ends && self.context.has_unseen_numbers() {
            self.await_numbers().map_err(|_| refused(Refusal::Failed))?;
        }
        Ok(())
    }

    /// Waits until no crash can assign the session's numbers of sequences again.
    pub(super) fn await_numbers(&self) -> Result<(), Abort> {
        Ok(self.context.await_numbers(&self.waiter)?)
    }
}
