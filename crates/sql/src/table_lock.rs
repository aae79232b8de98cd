//! Locks on whole tables: shared for every statement that uses the table, exclusive for DDL, and held until the
//! transaction ends.
//!
//! The engines do not know these locks: an engine protects rows, and these locks protect definitions.
//!
//! **Invariants**
//!
//! 1. The low bits of [`TableLock::state`] count the shared holders. `EXCLUSIVE` is set while there is an exclusive
//!    holder, and then the count is zero.
//! 2. `QUEUED` is set exactly while the queue contains a request, as seen under the queue's mutex. While it is set, the
//!    queue is served in order of arrival, and no request is granted out of turn. Only an upgrade is put at the front
//!    of the queue, since no request behind it could be granted before it.
//! 3. The transaction that releases the lock grants requests, under the mutex. A requester that withdraws takes the
//!    mutex, so it sees whether the request was granted before.

use hotrow_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard, Time, Waiter};
use std::collections::VecDeque;

/// The mode of a lock on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// The transaction shares the lock with all others that use the table's present definition.
    Shared,
    /// The transaction holds the lock alone.
    Exclusive,
}

impl Mode {
    /// Returns the mode's name for messages and views.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Shared => "shared",
            Mode::Exclusive => "exclusive",
        }
    }

    /// Whether two different transactions cannot hold a lock in these two modes at the same time.
    pub(crate) fn conflicts(self, other: Mode) -> bool {
        self == Mode::Exclusive || other == Mode::Exclusive
    }
}

const EXCLUSIVE: u64 = 1 << 63;
const QUEUED: u64 = 1 << 62;

/// The lock on the name of a table.
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
    /// Requests the lock, and puts the request into the queue if it cannot be granted at once. The returned flag is set
    /// when the request is granted; `waiter` is then woken. If `upgrade` is set, the caller holds the lock shared and
    /// requests it exclusive, and the grant replaces its shared lock.
    pub(crate) fn ask(&self, mode: Mode, upgrade: bool, waiter: &Waiter) -> Arc<AtomicBool> {
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
        granted
    }

    /// Returns the requests that wait, in the queue's order.
    pub(crate) fn waiting(&self) -> Vec<(Waiter, Mode)> {
        self.queue().iter().map(|request| (request.waiter.clone(), request.mode)).collect()
    }

    /// Reorders the requests that wait: first the requests of the waiters in `order`, in that order, and then all other
    /// requests. Grants the requests that can then be granted.
    pub(crate) fn reorder(&self, order: &[Waiter]) {
        let mut queue = self.queue();
        let place = |request: &Request| order.iter().position(|waiter| waiter.is(&request.waiter));
        queue.make_contiguous().sort_by_key(|request| place(request).unwrap_or(usize::MAX));
        self.grant(&mut queue);
    }

    /// Releases the lock, which is held in this mode, and grants requests that wait for it.
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

    pub(crate) fn try_share(&self) -> bool {
        let free = |state| (state & (EXCLUSIVE | QUEUED) == 0).then_some(state + 1);
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, free).is_ok()
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Request>> {
        self.queue.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Grants requests from the front of the queue, up to the first that cannot be granted.
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

    /// Removes the request with this flag from the queue, and grants requests behind it. Does nothing if the request
    /// was granted before.
    pub(crate) fn withdraw(&self, granted: &Arc<AtomicBool>) {
        let mut queue = self.queue();
        if let Some(at) = queue.iter().position(|request| Arc::ptr_eq(&request.granted, granted)) {
            queue.remove(at);
            // The requests behind it may be granted now.
            self.grant(&mut queue);
        }
    }
}

/// The number of locks of a transaction that other sessions can read without a latch.
const SHOWN: usize = 64;

/// The table locks of a session's transaction, as other sessions can read them: the locks that it holds, and the lock
/// that it waits for. A lock is identified by its address. Only the session itself writes.
#[derive(Debug)]
pub(crate) struct ShownLocks {
    /// A word for each lock that is held: its address, with the mode as the lowest bit. Places without a lock are zero.
    held: [AtomicUsize; SHOWN],
    /// The words of the locks for which `held` has no room.
    more: Mutex<Vec<usize>>,
    awaited: Mutex<Option<AwaitedLock>>,
}

/// A lock that a session waits for.
#[derive(Clone, Debug)]
pub(crate) struct AwaitedLock {
    pub(crate) lock: Arc<TableLock>,
    pub(crate) mode: Mode,
    pub(crate) since: Time,
}

impl Default for ShownLocks {
    fn default() -> Self {
        Self { held: [const { AtomicUsize::new(0) }; SHOWN], more: Mutex::default(), awaited: Mutex::default() }
    }
}

const _: () = assert!(align_of::<TableLock>() > 1);

impl ShownLocks {
    pub(crate) fn word(lock: &Arc<TableLock>, mode: Mode) -> usize {
        Arc::as_ptr(lock).addr() | usize::from(mode == Mode::Exclusive)
    }

    /// Splits a word into the lock's address and the mode. Returns `None` for a word without a lock.
    fn read(word: usize) -> Option<(usize, Mode)> {
        (word != 0).then_some((word & !1, if word & 1 == 0 { Mode::Shared } else { Mode::Exclusive }))
    }

    #[inline]
    pub(crate) fn show(&self, place: usize, word: usize) {
        match self.held.get(place) {
            Some(shown) => shown.store(word, Ordering::Release),
            None => self.show_more(place - SHOWN, word),
        }
    }

    #[cold]
    fn show_more(&self, place: usize, word: usize) {
        let mut more = lock_of(&self.more);
        if more.len() <= place {
            more.resize(place + 1, 0);
        }
        more[place] = word;
    }

    pub(crate) fn await_lock(&self, awaited: Option<AwaitedLock>) {
        *lock_of(&self.awaited) = awaited;
    }

    /// Returns the addresses and modes of the table locks that the transaction holds.
    pub(crate) fn held(&self) -> impl Iterator<Item = (usize, Mode)> {
        let first: Vec<_> = self.held.iter().map_while(|word| Self::read(word.load(Ordering::Acquire))).collect();
        let more = if first.len() < SHOWN { Vec::new() } else { lock_of(&self.more).clone() };
        first.into_iter().chain(more.into_iter().map_while(Self::read))
    }

    /// Returns the table lock for which the transaction waits, or `None` if it waits for none.
    pub(crate) fn awaited(&self) -> Option<AwaitedLock> {
        lock_of(&self.awaited).clone()
    }

    /// Whether the transaction holds any table lock.
    pub(crate) fn holds_any(&self) -> bool {
        self.held[0].load(Ordering::Acquire) != 0
    }
}

fn lock_of<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_sync::Wake;
    use std::time::Duration;

    fn waiter() -> Waiter {
        Waiter::thread(Duration::ZERO)
    }

    fn try_now(lock: &TableLock, mode: Mode, upgrade: bool) -> Wake {
        let granted = lock.ask(mode, upgrade, &waiter());
        lock.withdraw(&granted);
        if granted.load(Ordering::Acquire) { Wake::Ready } else { Wake::TimedOut }
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
            let waiter = waiter();
            let granted = other.ask(Mode::Exclusive, false, &waiter);
            let wake = waiter.wait_until(None, || granted.load(Ordering::Acquire));
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
    fn a_queue_that_is_put_in_another_order_is_served_in_that_order() {
        let lock = TableLock::default();
        assert_eq!(try_now(&lock, Mode::Shared, false), Wake::Ready);
        let waiters = [(); 3].map(|()| waiter());
        let [first, second, third] = [Mode::Exclusive, Mode::Shared, Mode::Exclusive];
        let granted = [lock.ask(first, false, &waiters[0]), lock.ask(second, false, &waiters[1])];
        let last = lock.ask(third, false, &waiters[2]);
        let flags = || [&granted[0], &granted[1], &last].map(|granted| granted.load(Ordering::Acquire));
        assert_eq!(flags(), [false; 3]);
        lock.reorder(&[waiters[1].clone()]);
        assert_eq!(flags(), [false, true, false], "a share beside a share");
        lock.reorder(&[waiters[2].clone(), waiters[0].clone()]);
        lock.release(Mode::Shared);
        lock.release(Mode::Shared);
        assert_eq!(flags(), [false, true, true]);
        lock.release(Mode::Exclusive);
        assert_eq!(flags(), [true; 3]);
    }
}
