//! Locks on whole tables: shared by every statement that uses the table, exclusive for DDL, held to the transaction's end.
//!
//! The engines know nothing of them: rows are theirs, definitions are the catalog's.
//!
//! **Invariants**
//!
//! 1. [`TableLock::state`]'s low bits count the shared holders; `EXCLUSIVE` is set while there is an exclusive one, and then
//!    the count is zero.
//! 2. `QUEUED` is set exactly while the queue holds a request, seen under the queue's mutex. While it is set nobody comes past
//!    the queue: first come, first served. An upgrade goes first, since nobody behind it could be served before it.
//! 3. A request is granted by whoever frees the lock, under the mutex; a requester that gives up learns there which came first.

use hotrow_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard, Time, Waiter, Wake};
use std::collections::VecDeque;
use std::time::Duration;

/// How a table is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// With all who use the table's present definition.
    Shared,
    /// Alone.
    Exclusive,
}

const EXCLUSIVE: u64 = 1 << 63;
const QUEUED: u64 = 1 << 62;

/// The lock on one table name.
#[derive(Debug, Default)]
pub struct TableLock {
    state: AtomicU64,
    queue: Mutex<VecDeque<Request>>,
}

#[derive(Debug)]
struct Request {
    mode: Mode,
    /// Shares that the requester holds already, which an exclusive grant replaces.
    held: u64,
    granted: Arc<AtomicBool>,
    waiter: Waiter,
}

impl TableLock {
    /// Takes the lock, waiting behind whoever came before, until the deadline. `upgrade` says that the caller holds it
    /// shared and wants it exclusive; then the share is given up for it, or kept if the wait fails.
    pub fn acquire(&self, mode: Mode, upgrade: bool, waiter: &Waiter, deadline: Option<Time>) -> Wake {
        if mode == Mode::Shared && self.try_share() {
            return Wake::Ready;
        }
        let granted = Arc::new(AtomicBool::new(false));
        let request = Request { mode, held: u64::from(upgrade), granted: granted.clone(), waiter: waiter.clone() };
        let mut queue = self.queue();
        self.state.fetch_or(QUEUED, Ordering::AcqRel);
        if upgrade {
            queue.push_front(request)
        } else {
            queue.push_back(request)
        }
        self.grant(&mut queue);
        drop(queue);
        let wake = waiter.wait_until(deadline, || granted.load(Ordering::Acquire));
        if wake != Wake::Ready && !self.withdraw(&granted) {
            return Wake::Ready;
        }
        wake
    }

    /// Gives the lock up.
    pub fn release(&self, mode: Mode) {
        match mode {
            Mode::Shared => {
                let before = self.state.fetch_sub(1, Ordering::AcqRel);
                debug_assert!(before & !(EXCLUSIVE | QUEUED) > 0, "released a share that nobody holds");
                if before & QUEUED != 0 {
                    self.grant(&mut self.queue());
                }
            }
            Mode::Exclusive => {
                let mut queue = self.queue();
                let before = self.state.fetch_and(!EXCLUSIVE, Ordering::AcqRel);
                debug_assert!(before & EXCLUSIVE != 0, "released a lock that nobody holds");
                self.grant(&mut queue);
            }
        }
    }

    fn try_share(&self) -> bool {
        let free = |state| (state & (EXCLUSIVE | QUEUED) == 0).then_some(state + 1);
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, free).is_ok()
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Request>> {
        self.queue.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Serves the queue from its front as far as it goes.
    fn grant(&self, queue: &mut VecDeque<Request>) {
        while let Some(request) = queue.front() {
            let (mode, held) = (request.mode, request.held);
            let next = |state: u64| match mode {
                Mode::Shared => (state & EXCLUSIVE == 0).then_some(state + 1),
                Mode::Exclusive => (state & !QUEUED == held).then_some((state - held) | EXCLUSIVE),
            };
            if self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_err() {
                return;
            }
            if let Some(request) = queue.pop_front() {
                request.granted.store(true, Ordering::Release);
                request.waiter.wake();
            }
        }
        self.state.fetch_and(!QUEUED, Ordering::AcqRel);
    }

    /// Takes a request out of the queue; `false` if it was granted before.
    fn withdraw(&self, granted: &Arc<AtomicBool>) -> bool {
        let mut queue = self.queue();
        let Some(at) = queue.iter().position(|request| Arc::ptr_eq(&request.granted, granted)) else { return false };
        queue.remove(at);
        // Those behind it may go now.
        self.grant(&mut queue);
        true
    }
}

/// So many locks of a transaction are shown to others.
const SHOWN: usize = 64;

/// The locks of one transaction, as others may look at them: the first that it has taken, and the one that it waits for. A lock is known by its
/// address. Only the session writes.
#[derive(Debug)]
pub(crate) struct ShownLocks {
    /// Addresses, and the mode as the last bit; zero where there is none.
    held: [AtomicUsize; SHOWN],
    awaited: AtomicUsize,
}

impl Default for ShownLocks {
    fn default() -> Self {
        Self { held: [const { AtomicUsize::new(0) }; SHOWN], awaited: AtomicUsize::new(0) }
    }
}

const _: () = assert!(align_of::<TableLock>() > 1);

impl ShownLocks {
    fn word(lock: &Arc<TableLock>, mode: Mode) -> usize {
        Arc::as_ptr(lock).addr() | usize::from(mode == Mode::Exclusive)
    }

    /// The address and the mode.
    fn read(word: &AtomicUsize) -> Option<(usize, Mode)> {
        let word = word.load(Ordering::Acquire);
        (word != 0).then_some((word & !1, if word & 1 == 0 { Mode::Shared } else { Mode::Exclusive }))
    }

    #[inline]
    fn show(&self, place: usize, word: usize) {
        if let Some(shown) = self.held.get(place) {
            shown.store(word, Ordering::Release);
        }
    }

    /// The addresses of the locks that are held, and how.
    pub(crate) fn held(&self) -> impl Iterator<Item = (usize, Mode)> {
        self.held.iter().map_while(Self::read)
    }

    /// The address of the lock that is waited for, and in which mode.
    pub(crate) fn awaited(&self) -> Option<(usize, Mode)> {
        Self::read(&self.awaited)
    }
}

/// The table locks of one transaction.
#[derive(Debug, Default)]
pub struct HeldLocks {
    held: Vec<(Arc<TableLock>, Mode)>,
    shown: Arc<ShownLocks>,
}

impl HeldLocks {
    /// As others may look at them.
    pub(crate) fn shown(&self) -> &Arc<ShownLocks> {
        &self.shown
    }

    /// Takes a lock, unless it is held already at least as strongly.
    pub fn acquire(&mut self, lock: &Arc<TableLock>, mode: Mode, waiter: &Waiter, wait: Duration) -> Wake {
        let known = self.held.iter().position(|(held, _)| Arc::ptr_eq(held, lock));
        if let Some(place) = known
            && self.held[place].1 >= mode
        {
            return Wake::Ready;
        }
        // The clock is read only by those who have to wait.
        if mode == Mode::Shared && lock.try_share() {
            self.push(lock, mode);
            return Wake::Ready;
        }
        let awaited = &self.shown.awaited;
        awaited.store(ShownLocks::word(lock, mode), Ordering::Release);
        let wake = lock.acquire(mode, known.is_some(), waiter, Some(waiter.now().after(wait)));
        awaited.store(0, Ordering::Release);
        if wake == Wake::Ready {
            match known {
                Some(place) => {
                    self.held[place].1 = mode;
                    self.shown.show(place, ShownLocks::word(lock, mode));
                }
                None => self.push(lock, mode),
            }
        }
        wake
    }

    #[inline]
    fn push(&mut self, lock: &Arc<TableLock>, mode: Mode) {
        self.shown.show(self.held.len(), ShownLocks::word(lock, mode));
        self.held.push((lock.clone(), mode));
    }

    /// Whether a lock is held exclusively.
    pub fn is_exclusive(&self, lock: &Arc<TableLock>) -> bool {
        self.held.iter().any(|(held, mode)| Arc::ptr_eq(held, lock) && *mode == Mode::Exclusive)
    }

    /// Gives all of them up.
    pub fn release_all(&mut self) {
        for (place, (lock, mode)) in self.held.drain(..).enumerate() {
            self.shown.show(place, 0);
            lock.release(mode);
        }
    }
}

impl Drop for HeldLocks {
    fn drop(&mut self) {
        self.release_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter() -> Waiter {
        Waiter::thread(Duration::ZERO)
    }

    fn try_now(lock: &TableLock, mode: Mode, upgrade: bool) -> Wake {
        let waiter = waiter();
        lock.acquire(mode, upgrade, &waiter, Some(waiter.now()))
    }

    #[test]
    fn shares_exclude_the_exclusive_and_it_excludes_all() {
        let lock = TableLock::default();
        assert_eq!(try_now(&lock, Mode::Shared, false), Wake::Ready);
        assert_eq!(try_now(&lock, Mode::Shared, false), Wake::Ready);
        assert_eq!(try_now(&lock, Mode::Exclusive, false), Wake::TimedOut);
        lock.release(Mode::Shared);
        assert_eq!(try_now(&lock, Mode::Exclusive, true), Wake::Ready, "the only holder may upgrade");
        assert_eq!(try_now(&lock, Mode::Shared, false), Wake::TimedOut);
        lock.release(Mode::Exclusive);
        assert_eq!(try_now(&lock, Mode::Exclusive, false), Wake::Ready);
        lock.release(Mode::Exclusive);
        assert_eq!(lock.state.load(Ordering::Acquire), 0);
    }

    #[test]
    fn a_waiting_exclusive_request_is_served_before_later_shares() {
        let lock = Arc::new(TableLock::default());
        assert_eq!(try_now(&lock, Mode::Shared, false), Wake::Ready);
        let other = lock.clone();
        let thread = hotrow_sync::thread::spawn(move || {
            let wake = other.acquire(Mode::Exclusive, false, &waiter(), None);
            other.release(Mode::Exclusive);
            wake
        });
        while lock.state.load(Ordering::Acquire) & QUEUED == 0 {
            hotrow_sync::thread::yield_now();
        }
        assert_eq!(try_now(&lock, Mode::Shared, false), Wake::TimedOut, "a later share waits behind it");
        lock.release(Mode::Shared);
        assert_eq!(thread.join().expect("no panic"), Wake::Ready);
        assert_eq!(try_now(&lock, Mode::Shared, false), Wake::Ready);
    }

    #[test]
    fn a_cancelled_request_leaves_the_queue() {
        let lock = TableLock::default();
        assert_eq!(try_now(&lock, Mode::Exclusive, false), Wake::Ready);
        let cancelled = waiter();
        cancelled.cancel();
        assert_eq!(lock.acquire(Mode::Shared, false, &cancelled, None), Wake::Cancelled);
        lock.release(Mode::Exclusive);
        assert_eq!(lock.state.load(Ordering::Acquire), 0);
    }
}
