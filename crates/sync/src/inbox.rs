//! A worker's inbox: what other threads send to a worker that sleeps in a system call of its own, such as a wait for
//! sockets.
//!
//! A [`Doorbell`](crate::Doorbell) has a bit for each of a few slots; an inbox takes any number of things. A sender
//! pays for waking the worker only if the worker sleeps.
//!
//! **Invariants**
//!
//! 1. The word says `AWAKE`, `FULL` or `ASLEEP`. A sender puts its thing into the list first, and then says `FULL`; if
//!    the word was `ASLEEP`, it raises the alarm.
//! 2. The worker says `AWAKE` before it empties the list. So a thing that comes into the list after that is followed by
//!    a `FULL` that the worker has not taken back. While the word is not `FULL`, the `FULL` of each thing in the list
//!    is still to come.
//! 3. The worker sleeps only if it has changed the word from `AWAKE` to `ASLEEP`. An earlier `FULL` makes that exchange
//!    fail, and a later one raises the alarm. So nothing lies in the list while the worker sleeps, unless the alarm is
//!    raised or is about to be.
//! 4. An alarm that is raised before the sleep must end the sleep at once.

use crate::atomic::{AtomicU64, Ordering};
use crate::{Mutex, MutexGuard};
use std::fmt;

/// An unbounded queue through which any thread sends things to one worker. A sender wakes the worker only if it sleeps.
///
/// **Thread safety.** Any thread may [`send`](Self::send); all other methods are for the worker only.
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
    /// Makes an empty inbox. A call of `alarm` must end the worker's sleep: the present one, or the next if the worker
    /// does not sleep.
    pub fn new(alarm: impl Fn() + Send + Sync + 'static) -> Self {
        Self { word: AtomicU64::new(AWAKE), list: Mutex::new(Vec::new()), alarm: Box::new(alarm) }
    }

    /// Sends a thing, and wakes the worker if it sleeps.
    pub fn send(&self, thing: T) {
        self.list().push(thing);
        if self.word.swap(FULL, Ordering::AcqRel) == ASLEEP {
            (self.alarm)();
        }
    }

    /// Whether a thing was sent since the worker last emptied the inbox.
    #[inline]
    pub fn has_some(&self) -> bool {
        self.word.load(Ordering::Acquire) == FULL
    }

    /// Moves the things in the inbox to the end of `taken`, in the order in which they were sent.
    pub fn take(&self, taken: &mut Vec<T>) {
        if self.has_some() {
            self.word.swap(AWAKE, Ordering::AcqRel);
            taken.append(&mut self.list());
        }
    }

    /// Runs the worker's own way to sleep, such as a wait for sockets: calls `sleep` and returns its result. The
    /// argument of `sleep` is false if a thing was sent that the worker has not [taken](Self::take): then `sleep` must
    /// return at once. A thing that is sent during `sleep` raises the alarm, which ends the sleep.
    pub fn doze<R>(&self, sleep: impl FnOnce(bool) -> R) -> R {
        let may_sleep = self.word.compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_ok();
        let slept = sleep(may_sleep);
        if may_sleep {
            // The exchange fails if the word is `FULL`, which must stay.
            let _ = self.word.compare_exchange(ASLEEP, AWAKE, Ordering::AcqRel, Ordering::Acquire);
        }
        slept
    }

    fn list(&self) -> MutexGuard<'_, Vec<T>> {
        self.list.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}
