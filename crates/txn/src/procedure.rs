//! One-shot transactions.

use crate::{Abort, Accesses, Isolation, Transaction};

/// A transaction that runs from begin to commit with nobody to talk to; written once for all engines.
///
/// It may be run several times before it commits, so `run` must have no effects but those on `txn`.
pub trait Procedure {
    /// What it returns.
    type Output;

    /// Adds what [`run`](Self::run) will touch, in its order. If that is not all, it says so with
    /// [`Accesses::set_partial`]; adding nothing means the same.
    fn accesses(&self, accesses: &mut Accesses);

    /// Whether [`run`](Self::run) promises not to write.
    fn read_only(&self) -> bool {
        false
    }

    /// The level that it needs, if that is not up to its runner.
    fn isolation(&self) -> Option<Isolation> {
        None
    }

    /// The transaction's work. Neither begins nor ends the transaction.
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Self::Output, Abort>;
}

/// Runs procedures: begins, runs, commits, and retries with back-off what a retry can cure.
///
/// This is what a workload's client sees of an engine; the runtime implements it over any [`Transaction`].
pub trait Runner {
    /// Runs `procedure` until it commits, or until it aborts for a reason that no retry cures.
    fn run<P: Procedure>(&mut self, procedure: &P) -> Result<P::Output, Abort>;

    /// Says of what kind the procedure was that committed last, as a position in the workload's list of kinds, and
    /// whether it found what it was looking for. Reports count both; who makes none ignores it.
    fn note(&mut self, _kind: usize, _succeeded: bool) {}
}
