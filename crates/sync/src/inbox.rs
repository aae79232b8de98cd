//! A worker's inbox: what other threads send to a thread that sleeps in a call of its own, such as one that waits for sockets.
//!
//! A [`Doorbell`](crate::Doorbell) has a bit for each of a few slots; an inbox takes any number of things. Whoever sends one pays
//! for waking the worker only if it sleeps.
//!
//! **Invariants**
//!
//! 1. The word says `AWAKE`, `FULL` or `ASLEEP`. A sender puts its thing into the list first, and then says `FULL`; if the word
//!    was `ASLEEP` it raises the alarm.
//! 2. The worker says `AWAKE` before it empties the list. So what comes into the list after that is followed by a `FULL`
//!    which the worker has not taken back: while the word is not `FULL`, all that is in the list has its `FULL` to come.
//! 3. The worker sleeps only if it has changed the word from `AWAKE` to `ASLEEP`. A `FULL` of before keeps it from that, and one
//!    of after raises the alarm. So no thing lies in the list while the worker sleeps, unless the alarm is raised or is about to be.
//! 4. An alarm that is raised before the sleep must end the sleep at once.

use crate::atomic::{AtomicU64, Ordering};
use crate::{Mutex, MutexGuard};
use std::fmt;

/// Takes things from any thread to one worker.
///
/// **Thread safety.** Any thread may [`send`](Self::send); everything else is the worker's.
pub struct Inbox<T> {
    word: AtomicU64,
    list: Mutex<Vec<T>>,
    alarm: Box<dyn Fn() + Send + Sync>,
}

const AWAKE: u64 = 0;
const FULL: u64 = 1;
const ASLEEP: u64 = 2;

impl<T> fmt::Debug for Inbox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("has_some", &self.has_some()).finish_non_exhaustive()
    }
}

impl<T> Inbox<T> {
    /// An empty inbox of a worker whose sleep `alarm` ends, be it the present one or the next.
    pub fn new(alarm: impl Fn() + Send + Sync + 'static) -> Self {
        Self { word: AtomicU64::new(AWAKE), list: Mutex::new(Vec::new()), alarm: Box::new(alarm) }
    }

    /// Sends a thing.
    pub fn send(&self, thing: T) {
        self.list().push(thing);
        if self.word.swap(FULL, Ordering::AcqRel) == ASLEEP {
            (self.alarm)();
        }
    }

    /// Whether something has come that was not taken.
    #[inline]
    pub fn has_some(&self) -> bool {
        self.word.load(Ordering::Acquire) == FULL
    }

    /// Moves what has come to the end of `taken`, in the order in which it was sent.
    pub fn take(&self, taken: &mut Vec<T>) {
        if self.has_some() {
            self.word.swap(AWAKE, Ordering::AcqRel);
            taken.append(&mut self.list());
        }
    }

    /// Calls `sleep`, and tells it whether it may sleep: not if something has come.
    pub fn doze<R>(&self, sleep: impl FnOnce(bool) -> R) -> R {
        let may_sleep = self.word.compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_ok();
        let slept = sleep(may_sleep);
        if may_sleep {
            // An error is a `FULL`, which stays.
            let _ = self.word.compare_exchange(ASLEEP, AWAKE, Ordering::AcqRel, Ordering::Acquire);
        }
        slept
    }

    fn list(&self) -> MutexGuard<'_, Vec<T>> {
        self.list.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}
