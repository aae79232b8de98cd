//! The access sets of procedures, for engines that need or use them: announced by the procedure, or estimated by a
//! reconnaissance.
//!
//! **Paper.** ORTHRUS §3.2 calls it OLLP. If an engine needs the access set and a procedure's set is not known, the
//! procedure first runs once without isolation and without effects. The accesses that it makes are the estimate of the
//! set. If the real run then makes other accesses, it aborts, the set is corrected, and the run starts again.
//!
//! | paper | code |
//! | --- | --- |
//! | reconnaissance mode | [`Reconnaissance`](crate::Reconnaissance) |
//! | access estimate, annotation | [`Estimate`] |
//! | update of the annotation, abort, restart | [`Estimate::correct`], [`hotrow_txn::Planned::add_missing`] |

use crate::estimate::{Corrected, Estimate, Estimates};
use hotrow_txn::{Abort, Accesses, Capabilities, Procedure, Transaction};

/// The greatest number of rows in an access set that is passed to an engine which does not need the set, but prefetches
/// its rows. With more, the first rows would have left the cache before the transaction reads them.
pub const HINT_ROWS_MAX: usize = 1024;

/// The planner of a runner: it determines which access set, if any, is passed to the engine for each attempt of the
/// present procedure.
#[derive(Debug, Default)]
pub struct Planner {
    estimate: Estimate,
    stage: Stage,
    /// The greatest number of rows of this procedure's set that are passed to an engine that does not need the set.
    rows_max: usize,
}

/// The state of knowledge about the present procedure's accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// The engine does not need the set. The accesses that are known are a hint.
    #[default]
    Hint,
    /// The set is not known well enough, so a reconnaissance comes before the next attempt.
    Unknown,
    /// The set is complete, as far as the planner knows.
    Known,
    /// The set cannot be found, so the procedure runs without one and excludes all other transactions.
    Hopeless,
}

impl Planner {
    /// Begins a procedure: asks it for its accesses, and decides by the engine's capabilities whether a reconnaissance
    /// is needed.
    #[inline]
    pub fn begin(&mut self, capabilities: Capabilities, procedure: &impl Procedure) {
        self.estimate.begin();
        let accesses = self.estimate.accesses_mut();
        procedure.accesses(accesses);
        self.stage = Stage::Hint;
        self.rows_max = if capabilities.locks_accesses { usize::MAX } else { HINT_ROWS_MAX };
        if capabilities.needs_accesses {
            let is_unknown = accesses.is_partial() || accesses.is_empty();
            self.stage = if is_unknown { Stage::Unknown } else { Stage::Known };
        }
    }

    /// Begins a procedure whose accesses are not passed to the engine. Only for engines that do not need the access
    /// set.
    #[inline]
    pub fn begin_without(&mut self) {
        self.estimate.begin();
        self.stage = Stage::Hint;
    }

    /// Whether the caller must call [`reconnoitre`](Self::reconnoitre) before the next attempt.
    #[inline]
    pub fn is_unknown(&self) -> bool {
        self.stage == Stage::Unknown
    }

    /// Runs the procedure as a reconnaissance on `txn`: without effects, only to find its accesses, which are added to
    /// the access set.
    ///
    /// # Errors
    /// The abort, if the engine aborts the reconnaissance. If the procedure itself rolls back ([`Abort::User`]), its
    /// accesses up to then are added, and there is no error.
    pub fn reconnoitre<T: Transaction + ?Sized, P: Procedure>(
        &mut self,
        txn: &mut T,
        procedure: &P,
    ) -> Result<(), Abort> {
        match self.estimate.reconnoitre(txn, |reconnaissance| procedure.run(reconnaissance).map(drop)) {
            Ok(()) | Err(Abort::User) => {
                self.stage = Stage::Known;
                Ok(())
            }
            Err(abort) => Err(abort),
        }
    }

    /// Returns the access set for [`Begin::accesses`](hotrow_txn::Begin::accesses) of the next attempt, or `None` if
    /// the attempt runs without one.
    #[inline]
    pub fn accesses(&self) -> Option<&Accesses> {
        let accesses = self.estimate.accesses();
        match self.stage {
            Stage::Hint if accesses.rows().len() > self.rows_max => None,
            Stage::Hint | Stage::Unknown => (!accesses.is_empty()).then_some(accesses),
            Stage::Known => Some(accesses),
            Stage::Hopeless => None,
        }
    }

    /// Corrects the access set after an attempt on `txn` has failed with [`Abort::OutsidePlan`]. The caller must not
    /// have aborted the attempt yet.
    #[cold]
    pub fn correct<T: Transaction + ?Sized>(&mut self, txn: &mut T, procedure: &impl Procedure) {
        self.stage = match self.estimate.correct(txn, |accesses| procedure.accesses(accesses)) {
            Corrected::Known => self.stage,
            Corrected::Unknown => Stage::Unknown,
            Corrected::Hopeless => Stage::Hopeless,
        };
    }

    /// Returns the counts of reconnaissances and wrong access sets since the planner was made or last
    /// [`reset`](Self::reset).
    pub fn estimates(&self) -> Estimates {
        self.estimate.estimates()
    }

    /// Sets the counts that [`estimates`](Self::estimates) returns to zero.
    pub fn reset(&mut self) {
        self.estimate.reset();
    }
}
