//! Worker threads that each keep several transactions, and continue with another one when one waits.
//!
//! A worker has a fixed number of *slots*. In each slot a coroutine, with its own transaction object and client, runs
//! one transaction after the other. When a transaction waits, its coroutine is suspended, and the worker chooses the
//! next slot to run, in the order of the VLL paper's main loop (Fig. 1, and Fig. 3 for partitions):
//!
//! 1. the worker handles messages from other workers;
//! 2. a waiting slot continues if it was woken or its deadline has passed; such slots take turns;
//! 3. a free slot begins a new transaction, if the engine has room for one, and the worker's limit allows it;
//! 4. the engine looks for a transaction that waits without need.
//!
//! If none of these steps finds a slot to run, the worker repeats them for a moment, and then sleeps until its
//! [doorbell](hotrow_sync::Doorbell) rings or the first deadline passes. While no transaction waits, the worker does
//! not switch: a slot that has finished a transaction begins the next one itself, after a look at the doorbell.
//!
//! **The limit.** If transactions abort each other, a worker makes that worse by beginning a new one whenever one
//! waits: the more transactions are under way, the more of them fail. The same holds if transactions wait for each
//! other, because a transaction that waits holds locks already, for which others will wait. So each worker has a
//! [`LoadLimit`](hotrow_txn::LoadLimit) on its transactions under way. The limit equals the number of slots if almost
//! no transaction fails or waits, and may fall to one, as on a thread without slots. Under engines whose transactions
//! wait for messages, waits [may have no effect](hotrow_txn::Duties::ignores_waits).
//!
//! A woken transaction continues on its own worker; in the paper any worker may take it.

mod worker;

use crate::run::Run;
use crate::{OneShot, RunConfig, RunError, RunReport};
use hotrow_sync::{Doorbell, Waiter, thread};
use hotrow_txn::{Abort, Duties, Transaction, WorkerId};
use worker::work;

/// The configuration of [`drive_pool`].
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// The number of workers, the lengths of the phases, and the configuration of the clients.
    pub run: RunConfig,
    /// The number of slots of each worker, from 1 to [`MAX_SLOTS`](Self::MAX_SLOTS): the greatest number of its
    /// transactions that may be under way at a time.
    pub slots: usize,
    /// Whether a worker keeps fewer transactions under way if they often wait for each other. If false, it does so only
    /// if they abort each other.
    pub follows_waits: bool,
    /// The size of a slot's stack, in bytes. An overflow ends the program, with a message that names this setting.
    pub stack_bytes: usize,
}

impl PoolConfig {
    /// The greatest number of slots that a worker can have.
    pub const MAX_SLOTS: usize = Doorbell::MAX_SLOTS;

    /// The default number of slots.
    pub const DEFAULT_SLOTS: usize = 8;
}

impl Default for PoolConfig {
    /// Returns the default configuration. Its stacks may be large, because the memory of a stack is taken page by page,
    /// as it is used.
    fn default() -> Self {
        let (run, slots) = (RunConfig::default(), Self::DEFAULT_SLOTS);
        Self { run, slots, follows_waits: true, stack_bytes: 512 * 1024 }
    }
}

/// The identity of a slot: a worker's place for one transaction object and its client, with a coroutine of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The number of the worker.
    pub worker: WorkerId,
    /// The number of the slot among the slots of all workers, from zero.
    pub number: usize,
}

/// Runs a benchmark as [`drive`](crate::drive) does, but with `slots` clients on each of `threads` workers: when the
/// transaction of one client waits, the worker runs another client.
///
/// Each worker calls `make_worker` on its own thread for its duties towards the engine, and then `make_slot` for the
/// transaction object and the client of each slot. The transaction object must wait through the waiter that is passed
/// to `make_slot`. A limit on a worker's steps applies to the sum over its clients.
///
/// # Errors
/// The first failure of a worker, as in [`drive`](crate::drive), or [`RunError::NoStack`]. The other workers are
/// stopped.
///
/// # Panics
/// If the number of slots is zero or exceeds [`PoolConfig::MAX_SLOTS`].
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
