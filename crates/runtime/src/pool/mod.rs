//! Worker threads that each keep several transactions, and go on with another one when one waits.
//!
//! A worker has a fixed number of *slots*. In each runs a coroutine with a transaction object and a client of its own,
//! one transaction after the other. When one waits, its coroutine is suspended and the worker chooses who runs next, in
//! the order of the VLL paper's main loop (Fig. 1, and Fig. 3 for partitions):
//!
//! 1. what has come in from other workers is received;
//! 2. a slot that waits and was woken, or whose deadline has passed, goes on, each in its turn;
//! 3. a free slot begins a new transaction, if the engine has room for one, and the worker's limit allows it;
//! 4. the engine looks for a transaction that waits and need not.
//!
//! If nothing of this leads to anything the worker looks around for a moment, and sleeps until somebody rings its
//! [doorbell](hotrow_sync::Doorbell) or the first deadline passes. Nothing is switched while nobody waits: a slot that has
//! finished a transaction begins the next one itself, after a look at the doorbell.
//!
//! **The limit.** Where transactions abort each other, a worker that begins a new one whenever one waits makes it worse: the more are
//! under way, the more of them fail. It is the same where they wait for each other: one that waits has locks already, for which others will wait.
//! So each worker has a [`LoadLimit`](hotrow_txn::LoadLimit) for those that it has under way. It is all
//! the slots where next to nothing fails or waits, and may fall to one, as on a thread without slots. Where transactions
//! [wait for messages](hotrow_txn::Duties::expects_messages), waits say nothing of conflicts.
//!
//! A woken transaction is run by its own worker; in the paper any worker may take it.

mod worker;

use crate::run::Run;
use crate::{OneShot, RunConfig, RunError, RunReport};
use hotrow_sync::{Doorbell, Waiter, thread};
use hotrow_txn::{Abort, Duties, Transaction, WorkerId};
use worker::work;

/// How [`drive_pool`] is to run.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// Workers, phases and clients.
    pub run: RunConfig,
    /// How many transactions each worker keeps, from 1 to [`MAX_SLOTS`](Self::MAX_SLOTS).
    pub slots: usize,
    /// A worker begins fewer transactions where they wait for each other, not only where they abort each other.
    pub follows_waits: bool,
    /// Bytes of a slot's stack; one that overflows ends the program, with a message that names this.
    pub stack_bytes: usize,
}

impl PoolConfig {
    /// The most slots that a worker can have.
    pub const MAX_SLOTS: usize = Doorbell::MAX_SLOTS;

    /// How many it has unless somebody says otherwise.
    pub const DEFAULT_SLOTS: usize = 8;
}

impl Default for PoolConfig {
    /// Memory for a stack is taken page by page as it is used.
    fn default() -> Self {
        let (run, slots) = (RunConfig::default(), Self::DEFAULT_SLOTS);
        Self { run, slots, follows_waits: true, stack_bytes: 512 * 1024 }
    }
}

/// Where a transaction object and its client sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The worker.
    pub worker: WorkerId,
    /// The slot's number over all workers, from zero.
    pub number: usize,
}

/// Runs `slots` clients on each of `threads` workers through warm-up and the measured period, and adds up what they
/// counted. In all that it does not say here it does as [`drive`](crate::drive).
///
/// Each worker calls `make_worker` on its own thread, and then `make_slot` for the transaction object and the client of
/// each slot; the transaction must wait through the waiter that `make_slot` is given. A worker's steps are those of all
/// its clients.
///
/// # Errors
/// The first worker's failure, or that there is no memory for a stack; the others are stopped.
///
/// # Panics
/// If the number of slots is not one that a worker can have.
pub fn drive_pool<D, T, C>(
    config: &PoolConfig,
    make_worker: impl Fn(WorkerId) -> D + Sync,
    make_slot: impl Fn(&mut D, Slot, &Waiter) -> (T, C) + Sync,
) -> Result<RunReport, RunError>
where
    D: Duties,
    T: Transaction,
    C: FnMut(&mut OneShot<T>) -> Result<(), Abort>,
{
    assert!(
        (1..=PoolConfig::MAX_SLOTS).contains(&config.slots),
        "{} slots: expected 1 to {}",
        config.slots,
        PoolConfig::MAX_SLOTS
    );
    let run = Run::new(&config.run);
    let timing = thread::scope(|scope| {
        for number in 0..config.run.threads {
            let (run, make_worker, make_slot) = (&run, &make_worker, &make_slot);
            scope.spawn(move || work(run, config, WorkerId(number as u32), make_worker, make_slot));
        }
        run.time()
    });
    run.into_report(timing)
}

#[cfg(test)]
mod tests;
