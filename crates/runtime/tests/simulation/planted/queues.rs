//! Queues of writers for a planted engine: who met another writer waits at the row's key until that one has ended, and
//! then has its turn.

use super::versions::Bug;
use hotrow_storage::Key;
use hotrow_sync::Waiter;
use std::collections::{BTreeMap, VecDeque};

/// The transactions that wait at a key, in the order in which they came. The first has its turn if there is no holder.
#[derive(Default)]
struct Queue {
    holder: Option<u64>,
    waiting: VecDeque<Waiter>,
}

impl Queue {
    fn is_first(&self, waiter: &Waiter) -> bool {
        self.waiting.front().is_some_and(|first| first.is(waiter))
    }

    fn call(&self) {
        self.waiting.front().filter(|_| self.holder.is_none()).inspect(|first| first.wake());
    }
}

/// The queues of a database.
#[derive(Default)]
pub struct Queues(BTreeMap<Key, Queue>);

impl Queues {
    /// Puts a transaction at the end of a queue, unless it is first already. The first waits for `holder`.
    pub fn stand(&mut self, key: &Key, waiter: &Waiter, holder: Option<u64>) {
        let queue = self.0.entry(key.clone()).or_default();
        if !queue.is_first(waiter) {
            queue.waiting.push_back(waiter.clone());
        }
        if queue.is_first(waiter) {
            queue.holder = holder;
        }
    }

    pub fn has_turn(&self, key: &Key, waiter: &Waiter) -> bool {
        self.0.get(key).is_some_and(|queue| queue.holder.is_none() && queue.is_first(waiter))
    }

    /// Takes a transaction out of a queue. Its turn, if it has it, is the next one's.
    pub fn leave(&mut self, key: &Key, waiter: &Waiter, bug: Bug) {
        let Some(queue) = self.0.get_mut(key) else { return };
        let was_first = queue.is_first(waiter);
        queue.waiting.retain(|other| !other.is(waiter));
        if was_first {
            if bug == Bug::NextIsPassedOver && queue.waiting.len() > 1 {
                queue.waiting.pop_front();
            }
            queue.call();
        }
        if queue.waiting.is_empty() {
            self.0.remove(key);
        }
    }

    /// A transaction has ended: those that wait for it go on.
    pub fn release(&mut self, holder: u64, bug: Bug) {
        for queue in self.0.values_mut().filter(|queue| queue.holder == Some(holder)) {
            queue.holder = None;
            if bug != Bug::WritersAreNotWoken {
                queue.call();
            }
        }
    }
}
