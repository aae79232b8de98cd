//! The estimate of an access set that is not known beforehand. A reconnaissance finds it, and it is corrected after
//! runs for which it was wrong.
//!
//! **What is corrected.** The accesses that a set lacked are added to it. A set that a reconnaissance found may be
//! wrong for two reasons. First, the data may have changed, and much of the set with it. Then it is better to replace
//! the set by another reconnaissance. Second, the transaction may depend on its own writes, which no reconnaissance
//! sees. Then another reconnaissance is in vain. [`Renewal`] says which of the two is assumed. Accesses that earlier
//! reconnaissances have missed are added to the set that replaces theirs.
//!
//! **Bounds.** A set that the caller knew is corrected up to [`CORRECTIONS`] times, and then replaced by
//! reconnaissance. After [`RECONNAISSANCES`] reconnaissances the last set is corrected as often. Then the transaction
//! runs without a set, which keeps all other transactions off the database. So every transaction ends.

use crate::reconnaissance::{Reconnaissance, Shapes};
use hotrow_txn::{Abort, Accesses, Transaction};

/// The number of times that one access set is corrected before it is replaced or given up.
pub const CORRECTIONS: u32 = 4;

/// The greatest number of reconnaissances for one transaction. If the last set also proves wrong too often, the
/// transaction runs without a set.
pub const RECONNAISSANCES: u32 = 4;

/// The rule by which an access set that a reconnaissance has found, and that has proved wrong, is either corrected or
/// replaced by another reconnaissance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Renewal {
    /// The set is replaced after the first run for which it was wrong. This suits data that change between
    /// reconnaissance and run.
    #[default]
    AtOnce,
    /// The set is replaced only after it was corrected [`CORRECTIONS`] times. This suits transactions that depend on
    /// their own writes, which a reconnaissance does not see.
    Late,
}

/// The estimated access set of a transaction, for an engine that needs the set before the transaction begins. It counts
/// how often the set was wrong, and decides between a correction and another reconnaissance.
#[derive(Debug, Default)]
pub struct Estimate {
    renewal: Renewal,
    accesses: Accesses,
    /// The accesses that this transaction's reconnaissances have missed, as its runs found out.
    missing: Accesses,
    shapes: Shapes,
    /// The number of times that the set was corrected since the last reconnaissance.
    corrections: u32,
    /// The number of reconnaissances made for this transaction.
    reconnaissances: u32,
    estimates: Estimates,
}

/// The counts of reconnaissances, and of access sets that proved wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimates {
    /// The number of reconnaissances that were run.
    pub reconnaissances: u64,
    /// The number of runs that aborted because they accessed data outside their access set.
    pub wrong: u64,
}

/// The outcome of [`Estimate::correct`]: how the next attempt gets its access set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corrected {
    /// The set was corrected, and the next attempt uses it.
    Known,
    /// Another reconnaissance must find the set before the next attempt. Until then, the set holds the accesses that
    /// the caller knows, and those that earlier reconnaissances have missed.
    Unknown,
    /// The set was wrong too often. The next attempt runs without a set, and excludes all other transactions.
    Hopeless,
}

impl Estimate {
    /// Makes an empty estimate that replaces wrong sets by the rule `renewal`.
    pub fn new(renewal: Renewal) -> Self {
        Self { renewal, ..Self::default() }
    }

    /// Begins another transaction: empties the set, and sets the numbers of its corrections and reconnaissances to
    /// zero.
    #[inline]
    pub fn begin(&mut self) {
        self.forget();
        (self.corrections, self.reconnaissances) = (0, 0);
    }

    /// Empties the set, but keeps the numbers of its corrections and reconnaissances, which bound the attempts of the
    /// transaction.
    #[inline]
    pub fn forget(&mut self) {
        self.accesses.clear();
        self.missing.clear();
    }

    /// Returns the estimated access set.
    #[inline]
    pub fn accesses(&self) -> &Accesses {
        &self.accesses
    }

    /// Returns the estimated access set, so that the caller can add accesses that it knows.
    #[inline]
    pub fn accesses_mut(&mut self) -> &mut Accesses {
        &mut self.accesses
    }

    /// Calls `run` with a reconnaissance on `txn`, and adds the accesses that `run` makes to the set. No transaction
    /// may be running on `txn`.
    ///
    /// # Errors
    /// The error of `run`, or the abort with which the engine refused to begin.
    pub fn reconnoitre<T: Transaction + ?Sized, E: From<Abort>>(
        &mut self,
        txn: &mut T,
        run: impl FnOnce(&mut Reconnaissance<'_, T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut reconnaissance = Reconnaissance::begin(txn, &mut self.shapes, &mut self.accesses)?;
        let outcome = run(&mut reconnaissance);
        drop(reconnaissance);
        self.estimates.reconnaissances += 1;
        self.reconnaissances += 1;
        self.corrections = 0;
        outcome
    }

    /// Corrects the set, or empties it for another reconnaissance, after an attempt on `txn` has failed with
    /// [`Abort::OutsidePlan`]. The caller must not have aborted the attempt yet. If the set was emptied, `know` adds
    /// the accesses that the caller knows.
    #[cold]
    pub fn correct<T: Transaction + ?Sized>(&mut self, txn: &mut T, know: impl FnOnce(&mut Accesses)) -> Corrected {
        self.estimates.wrong += 1;
        self.corrections += 1;
        let is_stale = self.renewal == Renewal::AtOnce && self.reconnaissances > 0 && self.corrections == 1;
        if self.reconnaissances < RECONNAISSANCES && (is_stale || self.corrections > CORRECTIONS) {
            txn.add_missing(&mut self.missing);
            self.accesses.clear();
            know(&mut self.accesses);
            self.accesses.extend(&self.missing);
            Corrected::Unknown
        } else if self.corrections <= CORRECTIONS {
            txn.add_missing(&mut self.accesses);
            Corrected::Known
        } else {
            Corrected::Hopeless
        }
    }

    /// Returns the counts over all transactions since the estimate was made or last [`reset`](Self::reset).
    pub fn estimates(&self) -> Estimates {
        self.estimates
    }

    /// Sets the counts that [`estimates`](Self::estimates) returns to zero.
    pub fn reset(&mut self) {
        self.estimates = Estimates::default();
    }
}
