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

/// The number of times that one set is corrected.
pub const CORRECTIONS: u32 = 4;

/// The number of reconnaissances for one transaction before it runs without a set.
pub const RECONNAISSANCES: u32 = 4;

/// The rule that says when a new reconnaissance replaces a set that an earlier one found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Renewal {
    /// A reconnaissance replaces the set after the first run for which the set was wrong.
    #[default]
    AtOnce,
    /// A reconnaissance replaces the set after it was corrected [`CORRECTIONS`] times.
    Late,
}

/// The estimated access set of the transaction at hand, and how often it was wrong.
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

/// Counts of reconnaissances, and of wrong estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimates {
    /// The number of reconnaissances that were run.
    pub reconnaissances: u64,
    /// The number of runs that accessed something outside their access set.
    pub wrong: u64,
}

/// The state of an access set after a correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corrected {
    /// The set is good for the next attempt.
    Known,
    /// A reconnaissance must find the set. The set holds the accesses that the last reconnaissance missed.
    Unknown,
    /// The set was wrong too often, so the transaction runs without one.
    Hopeless,
}

impl Estimate {
    /// Makes an empty estimate, which renews its set by the rule `renewal`.
    pub fn new(renewal: Renewal) -> Self {
        Self { renewal, ..Self::default() }
    }

    /// Begins another transaction: its set is empty, and its corrections and reconnaissances count from zero.
    #[inline]
    pub fn begin(&mut self) {
        self.forget();
        (self.corrections, self.reconnaissances) = (0, 0);
    }

    /// Forgets the set, but not how often it was wrong, so that the transaction still ends.
    #[inline]
    pub fn forget(&mut self) {
        self.accesses.clear();
        self.missing.clear();
    }

    /// Returns the estimated set.
    #[inline]
    pub fn accesses(&self) -> &Accesses {
        &self.accesses
    }

    /// Returns the estimated set, for a caller that adds the accesses that it knows.
    #[inline]
    pub fn accesses_mut(&mut self) -> &mut Accesses {
        &mut self.accesses
    }

    /// Calls `run` in reconnaissance on `txn`, on which no transaction runs, and adds to the set what `run` accesses.
    ///
    /// # Errors
    /// The error of `run`, or the abort with which the engine refused to begin the reconnaissance.
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

    /// Corrects the set after an attempt on `txn` that ended with [`Abort::OutsidePlan`] and is not yet undone. If a
    /// reconnaissance must find the set, `know` fills in the accesses that the caller knows.
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

    /// Returns the counts since the estimate was made or last [`reset`](Self::reset).
    pub fn estimates(&self) -> Estimates {
        self.estimates
    }

    /// Sets the counts to zero.
    pub fn reset(&mut self) {
        self.estimates = Estimates::default();
    }
}
