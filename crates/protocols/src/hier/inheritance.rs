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
}

impl Inheritance {
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
            return Some(HigherLock { mode, is_inherited: true, ..lock });
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

    /// Ends the transaction: releases the inherited locks that it has not used, and gives its agent those that it
    /// passes on.
    pub(super) fn end(&mut self, requester: &mut Requester, statistics: &mut Statistics) {
        self.has_taken = false;
        while let Some(lock) = self.unused.pop() {
            give_up(requester, lock, statistics);
        }
        if self.passed_on.is_empty() {
            return;
        }
        let passed_on = self.passed_on.len();
        requester.manager.agents.give(&mut self.passed_on);
        statistics.hierarchy.inherited += (passed_on - self.passed_on.len()) as u64;
        while let Some(lock) = self.passed_on.pop() {
            release(requester, lock);
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
