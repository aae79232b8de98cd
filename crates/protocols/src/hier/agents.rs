//! Agents: the threads that run transactions, each with the requests that its next transaction inherits.

use super::higher::HigherLock;
use hotrow_sync::{CachePadded, Latch, thread_number};
use std::mem;

/// The agents of one database. Each thread has an agent; with more threads than [`AGENTS`], some threads share one.
///
/// An inherited request stays linked in its head's queue whatever becomes of its agent. A conflicting request takes it
/// away without the agent's help. So an agent that is idle, or whose thread has ended, keeps no transaction waiting.
/// The next thread with the same agent inherits what it left.
pub(super) struct Agents(Box<[CachePadded<Latch<Vec<HigherLock>>>]>);

/// The number of agents of a database.
const AGENTS: usize = 128;

/// The number of requests that an agent keeps for its next transaction.
const MOST_INHERITED: usize = 64;

impl Agents {
    pub(super) fn new() -> Self {
        Self((0..AGENTS).map(|_| CachePadded::default()).collect())
    }

    /// Returns the agent of the calling thread. It is not inlined: a transaction may go on on another thread after a
    /// wait.
    #[inline(never)]
    fn own(&self) -> &Latch<Vec<HigherLock>> {
        &self.0[thread_number() as usize % AGENTS].0
    }

    /// Takes all inherited requests of the calling thread's agent, for a transaction that begins. `empty` is an empty
    /// vector, whose memory the agent uses from then on.
    pub(super) fn take(&self, empty: Vec<HigherLock>) -> Vec<HigherLock> {
        debug_assert!(empty.is_empty());
        mem::replace(&mut *self.own().lock(), empty)
    }

    /// Gives the calling thread's agent the requests that a transaction has passed on. Those that the agent has no use
    /// for stay in `passed_on`: it has a request for the same lock already, or too many.
    pub(super) fn give(&self, passed_on: &mut Vec<HigherLock>) {
        let mut list = self.own().lock();
        if list.is_empty() && passed_on.len() <= MOST_INHERITED {
            mem::swap(&mut *list, passed_on);
            return;
        }
        let mut left = Vec::new();
        for lock in passed_on.drain(..) {
            let is_known = list.iter().any(|other| other.place == lock.place);
            if is_known || list.len() == MOST_INHERITED { left.push(lock) } else { list.push(lock) }
        }
        *passed_on = left;
    }

    /// Removes and returns all inherited locks.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = HigherLock> {
        self.0.iter_mut().flat_map(|agent| mem::take(agent.0.get_mut()))
    }

    /// Returns the number of requests that all agents keep, invalid ones included.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn inherited(&self) -> usize {
        self.0.iter().map(|agent| agent.0.lock().len()).sum()
    }
}
