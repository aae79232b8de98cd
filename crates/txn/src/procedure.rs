//! The interfaces of one-shot transactions, and of the runners that run them.

use crate::{Abort, Accesses, Isolation, Transaction};

/// A transaction that runs from begin to commit without talking to a client, written once for all engines.
///
/// A runner may run it several times before it commits, so `run` must have no effects except those on `txn`.
pub trait Procedure {
    /// The result of a run.
    type Output;

    /// Adds the accesses that [`run`](Self::run) will make, in its order. If the set is incomplete, the procedure says
    /// so with [`Accesses::set_partial`]; adding nothing means the same.
    fn accesses(&self, accesses: &mut Accesses);

    /// Whether [`run`](Self::run) promises not to write.
    fn read_only(&self) -> bool {
        false
    }

    /// Returns the isolation level that the procedure needs, or `None` if it leaves the level to the runner.
    fn isolation(&self) -> Option<Isolation> {
        None
    }

    /// Does the transaction's work. It neither begins nor ends the transaction.
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Self::Output, Abort>;
}

/// Runs procedures: begins, runs and commits them, and retries, with back-off, after aborts that a retry can cure.
///
/// This is all that a workload's client sees of an engine; the runtime implements it over any [`Transaction`].
pub trait Runner {
    /// Runs `procedure` until it commits, or until it aborts for a reason that no retry cures.
    fn run<P: Procedure>(&mut self, procedure: &P) -> Result<P::Output, Abort>;

    /// Records the kind of the procedure that committed last, as an index into the workload's list of kinds, and
    /// whether the procedure found the rows that it asked for. Reports count both; a runner that makes no reports
    /// ignores them.
    fn note(&mut self, _kind: usize, _succeeded: bool) {}
}
