//! Access sets of procedures: told, or found out by a reconnaissance.
//!
//! **Paper.** ORTHRUS §3.2 calls it OLLP. An engine that needs the access set runs a procedure whose set is not known
//! once without isolation and without effects, and takes what it touched for the set. If the run itself then touches
//! something else, it aborts, the set is corrected, and it starts again.
//!
//! | paper | code |
//! | --- | --- |
//! | reconnaissance mode | [`Reconnaissance`](crate::Reconnaissance) |
//! | access estimate, annotation | [`Estimate`] |
//! | update of the annotation, abort, restart | [`Estimate::correct`], [`Transaction::add_missing`] |

use crate::estimate::{Corrected, Estimate, Estimates};
use hotrow_txn::{Abort, Accesses, Procedure, Transaction};

/// The most rows of a hint to an engine that only looks them up together: what is fetched for the first ones must still be in a core's cache when the last ones are fetched.
pub const HINT_ROWS_MAX: usize = 1024;

/// The access set of the procedure at hand, and what has become of it: what a runner keeps.
#[derive(Debug, Default)]
pub struct Planner {
    estimate: Estimate,
    stage: Stage,
    /// The most rows of this procedure's set of which the engine is told, if it does without.
    rows_max: usize,
}

/// What is known of the present procedure's accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// All that is needed, for engines that do without.
    #[default]
    Hint,
    /// Not enough: a reconnaissance comes first.
    Unknown,
    /// As far as anybody knows, all.
    Known,
    /// It cannot be known: the procedure runs alone.
    Hopeless,
}

impl Planner {
    /// Asks the next procedure, which is to run on `txn`, for its accesses.
    #[inline]
    pub fn begin<T: Transaction + ?Sized>(&mut self, txn: &T, procedure: &impl Procedure) {
        self.estimate.begin();
        let accesses = self.estimate.accesses_mut();
        procedure.accesses(accesses);
        self.stage = Stage::Hint;
        self.rows_max = if txn.locks_accesses() { usize::MAX } else { HINT_ROWS_MAX };
        if txn.needs_accesses() {
            let is_unknown = accesses.is_partial() || accesses.is_empty();
            self.stage = if is_unknown { Stage::Unknown } else { Stage::Known };
        }
    }

    /// The next procedure's accesses shall not be told to an engine that does without them.
    #[inline]
    pub fn begin_without(&mut self) {
        self.estimate.begin();
        self.stage = Stage::Hint;
    }

    /// Whether a reconnaissance must come before the next attempt.
    #[inline]
    pub fn is_unknown(&self) -> bool {
        self.stage == Stage::Unknown
    }

    /// Runs the procedure in reconnaissance on `txn`, and keeps what it touched beside what is known.
    ///
    /// # Errors
    /// What kept the engine from it. A procedure that gives up in reconnaissance has touched what it has touched.
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

    /// What to tell the engine of the next attempt.
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

    /// An attempt on `txn` ended with [`Abort::OutsidePlan`] and is not yet undone: corrects the set.
    #[cold]
    pub fn correct<T: Transaction + ?Sized>(&mut self, txn: &mut T, procedure: &impl Procedure) {
        self.stage = match self.estimate.correct(txn, |accesses| procedure.accesses(accesses)) {
            Corrected::Known => self.stage,
            Corrected::Unknown => Stage::Unknown,
            Corrected::Hopeless => Stage::Hopeless,
        };
    }

    /// What was counted since the planner was made or last [`reset`](Self::reset).
    pub fn estimates(&self) -> Estimates {
        self.estimate.estimates()
    }

    /// Counts from zero again.
    pub fn reset(&mut self) {
        self.estimate.reset();
    }
}
