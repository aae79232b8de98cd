//! The inheritance of one transaction: the locks that it may reclaim, and those that it passes on.

use super::higher::{HigherLock, Place};
use super::manager::Requester;
use super::mode::Mode;
use hotrow_txn::Statistics;
use std::mem;

/// The locks that a transaction inherits from the one before it on the same agent, and those that it passes on to the
/// next one.
#[derive(Default)]
pub(super) struct Inheritance {
    /// The inherited locks that the transaction has not asked for.
    unused: Vec<HigherLock>,
    /// Whether the transaction has taken over the locks of its agent.
    has_taken: bool,
    /// The locks that the transaction, which is about to end, passes on.
    passed_on: Vec<HigherLock>,
    /// The number of successive transactions that may leave an inherited lock unused before the lock is released.
    momentum: u8,
}

/// The greatest number of unused locks that a transaction keeps because of the momentum. Each transaction must check
/// all locks that were kept.
const MOST_KEPT: usize = 16;

impl Inheritance {
    pub(super) fn new(momentum: u8) -> Self {
        Self { momentum, ..Self::default() }
    }

    /// Reclaims the inherited lock on a node, in `mode`, without the lock manager. Returns `None` if there is none, or
    /// it cannot be used any more. `is_orphan` says that the lock on the node above was not inherited: it was
    /// invalidated, and so is the lock on this node.
    pub(super) fn reclaim(
        &mut self,
        requester: &mut Requester,
        place: Place,
        mode: Mode,
        is_orphan: bool,
        statistics: &mut Statistics,
    ) -> Option<HigherLock> {
        if !mem::replace(&mut self.has_taken, true) {
            self.unused = requester.manager.agents.take(mem::take(&mut self.unused));
        }
        let position = self.unused.iter().position(|lock| lock.place == place)?;
        let lock = self.unused.swap_remove(position);
        if !is_orphan && lock.request.reclaim(requester.id, mode) {
            statistics.hierarchy.used += 1;
            return Some(HigherLock { mode, is_inherited: true, unused: 0, ..lock });
        }
        if is_orphan {
            statistics.hierarchy.invalidated += 1;
            release(requester, lock);
        } else {
            give_up(requester, lock, statistics);
        }
        None
    }

    /// Passes a lock on to the next transaction. Returns the lock if a transaction waits for it.
    #[inline]
    pub(super) fn pass_on(&mut self, lock: HigherLock) -> Option<HigherLock> {
        if !lock.request.pass_on() {
            return Some(lock);
        }
        self.passed_on.push(lock);
        None
    }

    /// Ends the transaction. Inherited locks that the transaction has not used are released, unless the momentum keeps
    /// them. These and the locks that the transaction passes on go to its agent.
    pub(super) fn end(&mut self, requester: &mut Requester, statistics: &mut Statistics) {
        self.has_taken = false;
        let passed_on = self.passed_on.len();
        // The locks that the last transaction has used come before those that the momentum has kept.
        let mut unused = mem::take(&mut self.unused);
        for mut lock in unused.drain(..) {
            let state = lock.request.state();
            let has_momentum = lock.unused < self.momentum && self.passed_on.len() < passed_on + MOST_KEPT;
            if has_momentum && state.mode != Mode::None && !state.awaited {
                lock.unused += 1;
                self.passed_on.push(lock);
            } else {
                give_up(requester, lock, statistics);
            }
        }
        self.unused = unused;
        if self.passed_on.is_empty() {
            return;
        }
        requester.manager.agents.give(&mut self.passed_on);
        statistics.hierarchy.inherited += passed_on as u64;
        while let Some(lock) = self.passed_on.pop() {
            if lock.unused > 0 {
                give_up(requester, lock, statistics);
            } else {
                statistics.hierarchy.inherited -= 1;
                release(requester, lock);
            }
        }
    }
}

/// Releases an inherited lock that no transaction has used, unless it was invalidated.
fn give_up(requester: &mut Requester, lock: HigherLock, statistics: &mut Statistics) {
    if lock.request.state().mode == Mode::None {
        statistics.hierarchy.invalidated += 1;
        requester.spare(lock.request);
    } else {
        statistics.hierarchy.discarded += 1;
        release(requester, lock);
    }
}

/// Releases a lock that no transaction holds. If it was invalidated meanwhile, there is nothing to unlink.
fn release(requester: &mut Requester, lock: HigherLock) {
    requester.manager.unlink(lock.place.lock(), lock.request);
    requester.spare(lock.request);
}
