//! The transactions that wait for the log: until a position is durable, or until the ring has room.

use hotrow_sync::{Mutex, MutexGuard, Waiter};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A waiter and the position for which it waits.
#[derive(Debug)]
struct Entry {
    position: u64,
    waiter: Waiter,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.position == other.position
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.position.cmp(&other.position)
    }
}

/// The waiters, by the positions for which they wait. When a position is reached, its waiters are woken, and no others.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    entries: Mutex<BinaryHeap<Reverse<Entry>>>,
}

impl Waiting {
    fn entries(&self) -> MutexGuard<'_, BinaryHeap<Reverse<Entry>>> {
        self.entries.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Adds a waiter. The caller must check afterwards whether the position is reached, since that may have happened
    /// before.
    pub(super) fn add(&self, position: u64, waiter: &Waiter) {
        self.entries().push(Reverse(Entry { position, waiter: waiter.clone() }));
    }

    /// Whether no transaction waits.
    pub(super) fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// Wakes all waiters, so that they check conditions other than their positions. They are not removed.
    pub(super) fn wake_all(&self) {
        let waiters: Vec<Waiter> = self.entries().iter().map(|Reverse(entry)| entry.waiter.clone()).collect();
        waiters.iter().for_each(Waiter::wake);
    }

    /// Wakes the waiters whose positions are at most `position`, and removes them.
    pub(super) fn wake_until(&self, position: u64) {
        let mut woken = Vec::new();
        {
            let mut entries = self.entries();
            while entries.peek().is_some_and(|Reverse(first)| first.position <= position) {
                woken.extend(entries.pop().map(|Reverse(entry)| entry.waiter));
            }
        }
        woken.iter().for_each(Waiter::wake);
    }
}
