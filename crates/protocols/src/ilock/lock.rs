//! The lock of a record: how it is acquired, waited for, released and handed over.
//!
//! **Source.** Zhu, Wang, Hu, Qian, Wang, Zhou: Interactive Transaction Processing for In-Memory Database System, §4.1,
//! §4.2, Figs. 6 to 11.
//!
//! ```text
//! lock-state, in write mode | 1 | transaction that owns it, 0 for the dummy write lock (63)                      |
//!             in read mode  | 0 | a reader waits to become the writer (1) | its worker (6) | readers (56)        |
//! write-waiter, read-waiter | a bit for each worker                                                              |
//! ```
//!
//! **Invariants**
//!
//! 1. At any time one transaction owns the write lock, or the transaction that made it the dummy one has it, or readers
//!    have the lock. A transaction comes to own it by an exchange of *free*, or of itself as the only reader; or the
//!    holder of the dummy write lock gives it the lock; or, if it is the only reader, the last other reader does, by an
//!    exchange of just that state.
//! 2. A worker's bit is set if and only if its wait-map has such a request for the lock, whenever the map's latch is
//!    free.
//! 3. *No wake-up is lost.* A transaction that waits sets the bit and then looks at the state once more; a transaction
//!    that leaves the lock free does that and then looks at the bits once more. Of two such, the second to come between
//!    its two steps sees what the other did (Fig. 13).
//! 4. *No transaction waits in vain.* Between two calls, a transaction that waits for the write lock waits for a holder
//!    of the lock. A transaction that waits for the read lock waits for a writer, or for a reader that waits to become
//!    the writer: when that one ceases to be either, it [lets them pass](ILock::let_pass).
//! 5. *No hand-over is stolen.* Between the release and the hand-over the state is never free.
//! 6. While a reader waits to become the writer, no other one does, and none comes new: when the others have left, it
//!    is the writer.

use super::owner::Owner;
use super::wait_map::{Granted, LockAt, LockRequest, WaitMaps, Waiting};
use hotrow_storage::mix;
use hotrow_sync::atomic::{AtomicU64, Ordering};

/// The lock of a record, in its header. The default is a free lock.
#[derive(Debug, Default)]
pub struct ILock {
    state: AtomicU64,
    write_waiter: AtomicU64,
    read_waiter: AtomicU64,
}

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<ILock>() == 24);

/// A value of the lock-state word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(u64);

const WRITE: u64 = 1 << 63;
const UPGRADING: u64 = 1 << 62;
const WORKER_AT: u32 = 56;
const WORKER: u64 = UPGRADING - (1 << WORKER_AT);
const READERS: u64 = (1 << WORKER_AT) - 1;

const _: () = assert!(super::wait_map::WORKERS as u64 <= (WORKER >> WORKER_AT) + 1);

/// The kind of requests that are granted next, if readers and writers both wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Readers,
    Writers,
}

/// The outcome of a request for a record's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestOutcome {
    /// The transaction has the lock.
    Taken,
    /// The lock cannot be granted now. The request is in the wait-map of the transaction's worker.
    Waits,
    /// Another reader waits to become the writer, and waits for this transaction: a deadlock.
    Deadlock,
}

impl State {
    const FREE: State = State(0);
    /// The state of the dummy write lock: `mask` in the paper.
    const DUMMY: State = State(WRITE);
    const ONE_READER: State = State(1);

    #[inline]
    fn owned_by(tid: u64) -> Self {
        State(WRITE | tid)
    }

    #[inline]
    fn is_write(self) -> bool {
        self.0 & WRITE != 0
    }

    #[inline]
    fn readers(self) -> u64 {
        self.0 & READERS
    }

    /// Returns the worker of the reader that waits to become the writer, if there is one.
    #[inline]
    fn upgrader(self) -> Option<u32> {
        (self.0 & (WRITE | UPGRADING) == UPGRADING).then_some(((self.0 & WORKER) >> WORKER_AT) as u32)
    }

    fn with_upgrader(self, worker: u32) -> Self {
        State(self.0 | UPGRADING | u64::from(worker) << WORKER_AT)
    }

    fn without_upgrader(self) -> Self {
        State(self.readers())
    }

    #[inline]
    fn with_readers(self, count: u64) -> Self {
        State(self.0 + count)
    }
}

/// Orders this thread's stores before its later loads: `atomic-synchronize()`. Both sides of invariant 3 store and load
/// with `SeqCst`, which orders them; loom knows such an order only of fences.
#[inline]
fn synchronize() {
    #[cfg(loom)]
    // SeqCst: as above.
    hotrow_sync::atomic::fence(Ordering::SeqCst);
}

impl ILock {
    #[inline]
    pub(super) fn state(&self) -> State {
        // SeqCst: the second look of a transaction that waits (invariant 3).
        State(self.state.load(Ordering::SeqCst))
    }

    /// Exchanges the state, if it is still `state`. Acquire and release: the holder of the lock sees what all holders
    /// before it did.
    #[inline]
    fn replace(&self, state: State, with: State) -> bool {
        // SeqCst, on failure as well: the second look of a transaction that waits, and the first step of one that
        // leaves (invariant 3).
        self.state.compare_exchange(state.0, with.0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Sets the state of a lock of which the caller has the write lock, its own or the dummy one.
    #[inline]
    fn set(&self, state: State) {
        // SeqCst: as in `replace`.
        let _ = self.state.swap(state.0, Ordering::SeqCst);
    }

    #[inline]
    fn waiters(&self, wanted: LockRequest) -> &AtomicU64 {
        match wanted {
            LockRequest::Read => &self.read_waiter,
            LockRequest::Write | LockRequest::Upgrade => &self.write_waiter,
        }
    }

    /// Returns the workers that have transactions waiting with this request, one bit each.
    #[inline]
    pub(super) fn bits(&self, wanted: LockRequest) -> u64 {
        // SeqCst: the second look of a transaction that leaves (invariant 3).
        self.waiters(wanted).load(Ordering::SeqCst)
    }

    #[inline]
    fn set_bit(&self, wanted: LockRequest, worker: u32) {
        // SeqCst: the first step of a transaction that waits (invariant 3).
        self.waiters(wanted).fetch_or(1 << worker, Ordering::SeqCst);
    }

    fn clear_bit(&self, wanted: LockRequest, worker: u32) {
        // SeqCst: readers that wait because of it look once more, as in invariant 3.
        self.waiters(wanted).fetch_and(!(1 << worker), Ordering::SeqCst);
    }

    #[inline]
    fn is_awaited(&self) -> bool {
        self.bits(LockRequest::Write) | self.bits(LockRequest::Read) != 0
    }

    /// Whether transaction `tid` owns the write lock.
    #[inline]
    pub(super) fn is_owned_by(&self, tid: u64) -> bool {
        self.state() == State::owned_by(tid)
    }

    /// Makes `tid` the owner of a lock that no other transaction has seen.
    #[inline]
    pub(super) fn set_owner(&self, tid: u64) {
        self.set(State::owned_by(tid));
    }

    /// Takes the lock if that is possible without waiting, and returns whether it was taken. Line 2 of Fig. 6, lines 2
    /// to 16 of Fig. 7.
    #[inline]
    pub(super) fn take(&self, wanted: LockRequest, tid: u64) -> bool {
        match wanted {
            LockRequest::Write => self.replace(State::FREE, State::owned_by(tid)),
            LockRequest::Upgrade => self.replace(State::ONE_READER, State::owned_by(tid)),
            LockRequest::Read => self.take_to_read(),
        }
    }

    /// Takes the read lock if the lock is free and no transaction waits for the write lock. Returns whether the lock
    /// was taken.
    #[inline]
    pub(super) fn take_free_to_read(&self) -> bool {
        self.bits(LockRequest::Write) == 0 && self.replace(State::FREE, State::ONE_READER)
    }

    #[inline]
    fn take_to_read(&self) -> bool {
        loop {
            let state = self.state();
            if state.is_write() || state.upgrader().is_some() || self.bits(LockRequest::Write) != 0 {
                return false;
            }
            if self.replace(state, state.with_readers(1)) {
                return true;
            }
        }
    }

    /// Takes the lock, or adds a request for it to the wait-map of the owner's worker. Fig. 6, lines 3 to 10; Fig. 7,
    /// lines 4 to 8.
    pub(super) fn ask(&self, wanted: LockRequest, owner: &Owner) -> RequestOutcome {
        let (tid, worker) = (owner.tid(), owner.worker());
        let mut map = owner.maps().of(worker).lock();
        if wanted == LockRequest::Upgrade {
            loop {
                let state = self.state();
                if state == State::ONE_READER && self.take(wanted, tid) {
                    return RequestOutcome::Taken;
                }
                if state.upgrader().is_some() {
                    return RequestOutcome::Deadlock;
                }
                if state != State::ONE_READER && self.replace(state, state.with_upgrader(worker)) {
                    break;
                }
            }
        } else {
            let is_first = !map.awaits(LockAt::of(self), wanted);
            self.set_bit(wanted, worker);
            synchronize();
            if self.take(wanted, tid) {
                if is_first {
                    self.clear_bit(wanted, worker);
                }
                return RequestOutcome::Taken;
            }
        }
        map.put(LockAt::of(self), Waiting { tid, wanted, parked: owner.parked().clone() });
        RequestOutcome::Waits
    }

    /// Takes back the owner's request, and lets readers pass that waited only because of it. Returns `false` if the
    /// request was granted meanwhile.
    pub(super) fn withdraw(&self, owner: &Owner) -> bool {
        let (maps, worker) = (owner.maps(), owner.worker());
        let mut map = maps.of(worker).lock();
        let Some(Waiting { wanted, .. }) = map.take_out(LockAt::of(self), owner.parked()) else { return false };
        match wanted {
            LockRequest::Upgrade => loop {
                let state = self.state();
                if self.replace(state, state.without_upgrader()) {
                    break;
                }
            },
            wanted if map.awaits(LockAt::of(self), wanted) => {}
            wanted => self.clear_bit(wanted, worker),
        }
        drop(map);
        if wanted != LockRequest::Read {
            self.let_pass(owner);
        }
        true
    }

    /// Lets the readers pass that waited only because of a transaction that does not wait any more (invariant 4).
    #[cold]
    fn let_pass(&self, owner: &Owner) {
        let maps = owner.maps();
        synchronize();
        loop {
            let state = self.state();
            if state.is_write() || state.upgrader().is_some() {
                // The transaction that has the lock, or waits to have it, hands it over.
                return;
            }
            if state == State::FREE {
                if !self.is_awaited() {
                    return;
                }
                if self.replace(State::FREE, State::DUMMY) {
                    return self.hand_over(owner, Some(Turn::Readers));
                }
            } else if self.bits(LockRequest::Write) != 0 || self.bits(LockRequest::Read) == 0 {
                return;
            } else if self.replace(state, state.with_readers(1)) {
                self.grant_readers(maps);
                return self.hand_over(owner, self.leave_read(maps));
            }
        }
    }

    /// Releases the owner's lock, and hands it over to transactions that wait for it. Figs. 8 and 9.
    #[inline]
    pub(super) fn release(&self, owner: &Owner) {
        let turn = if self.state().is_write() { self.leave_write() } else { self.leave_read(owner.maps()) };
        if turn.is_some() {
            self.hand_over(owner, turn);
        }
    }

    /// Releases a write lock. If waiting transactions make it the dummy write lock, returns whose turn it is. Fig. 8,
    /// lines 1 to 11.
    #[inline]
    fn leave_write(&self) -> Option<Turn> {
        if self.is_awaited() {
            self.set(State::DUMMY);
            return Some(Turn::Readers);
        }
        self.set(State::FREE);
        self.look_again().then_some(Turn::Readers)
    }

    /// Releases a read lock, and returns a turn as [`leave_write`](Self::leave_write) does. Fig. 9, lines 1 to 13.
    #[inline]
    fn leave_read(&self, maps: &WaitMaps) -> Option<Turn> {
        loop {
            let state = self.state();
            debug_assert!(!state.is_write() && state.readers() > 0, "{state:?} is left by a reader");
            if state == State::ONE_READER {
                let next = if self.is_awaited() { State::DUMMY } else { State::FREE };
                if self.replace(state, next) {
                    let is_dummy = next == State::DUMMY || self.look_again();
                    return is_dummy.then_some(Turn::Writers);
                }
            } else if self.replace(state, State(state.0 - 1)) {
                if let Some(worker) = state.upgrader().filter(|_| state.readers() == 2) {
                    self.send_upgrade(maps, worker);
                }
                return None;
            }
        }
    }

    /// Looks once more for waiters of a lock that was left free. Returns whether the lock is now the dummy write lock,
    /// since there are some.
    #[inline]
    fn look_again(&self) -> bool {
        synchronize();
        self.is_awaited() && self.replace(State::FREE, State::DUMMY)
    }

    /// Gives the lock to transactions that wait for it. The caller has the dummy write lock, unless there is no turn.
    /// Fig. 8, lines 12 to 16; Fig. 9, lines 14 to 18.
    #[cold]
    fn hand_over(&self, owner: &Owner, turn: Option<Turn>) {
        let maps = owner.maps();
        let mut next = turn;
        while let Some(turn) = next {
            let (readers, writers) = (self.bits(LockRequest::Read) != 0, self.bits(LockRequest::Write) != 0);
            next = match (turn, readers, writers) {
                (Turn::Readers, true, _) | (_, true, false) => self.send_read_lock(maps),
                (_, _, true) => self.send_write_lock(owner).then_some(turn),
                (_, false, false) => {
                    // The transactions that waited have gone.
                    self.set(State::FREE);
                    self.look_again().then_some(turn)
                }
            };
        }
    }

    /// Gives the write lock to a transaction that waits for it. Returns `true` if none does any more. Fig. 10.
    ///
    /// Which worker is served first is drawn by lot, with the number of the transaction that releases. If the turn went
    /// on from that one's worker, two workers whose transactions come back at once could pass the lock to each other
    /// for ever, while others wait.
    fn send_write_lock(&self, owner: &Owner) -> bool {
        for worker in workers_by_lot(self.bits(LockRequest::Write), mix(owner.tid())) {
            let mut map = owner.maps().of(worker).lock();
            let Some(Waiting { tid, parked, .. }) = map.take_first(LockAt::of(self), LockRequest::Write) else {
                continue;
            };
            if !map.awaits(LockAt::of(self), LockRequest::Write) {
                self.clear_bit(LockRequest::Write, worker);
            }
            self.set(State::owned_by(tid));
            parked.grant();
            drop(map);
            parked.wake();
            return false;
        }
        true
    }

    /// Gives the read lock to all transactions that wait for it. Fig. 11.
    fn send_read_lock(&self, maps: &WaitMaps) -> Option<Turn> {
        self.set(State::ONE_READER);
        synchronize();
        self.grant_readers(maps);
        self.leave_read(maps)
    }

    /// Gives the read lock to all transactions that wait for it. The caller has it, so that it stays a read lock.
    fn grant_readers(&self, maps: &WaitMaps) {
        let mut granted = Granted::new();
        for worker in workers_by_lot(self.bits(LockRequest::Read), 0) {
            let mut map = maps.of(worker).lock();
            let before = granted.len();
            while let Some(waiting) = map.take_first(LockAt::of(self), LockRequest::Read) {
                granted.push(waiting.parked);
            }
            // SeqCst: as in `replace`.
            self.state.fetch_add((granted.len() - before) as u64, Ordering::SeqCst);
            self.clear_bit(LockRequest::Read, worker);
            granted[before..].iter().for_each(|parked| parked.grant());
        }
        granted.iter().for_each(|parked| parked.wake());
    }

    /// Gives the write lock to the only reader that is left, if that reader still waits to become the writer. Since the
    /// caller left, the reader may have given up, and another reader of its worker, which is not alone, may wait for
    /// the same.
    #[cold]
    fn send_upgrade(&self, maps: &WaitMaps, worker: u32) {
        let mut map = maps.of(worker).lock();
        let Some(tid) = map.first(LockAt::of(self), LockRequest::Upgrade).map(|waiting| waiting.tid) else { return };
        if !self.replace(State::ONE_READER.with_upgrader(worker), State::owned_by(tid)) {
            return;
        }
        let Some(Waiting { parked, .. }) = map.take_first(LockAt::of(self), LockRequest::Upgrade) else {
            unreachable!("the map has been latched since it was found")
        };
        parked.grant();
        drop(map);
        parked.wake();
    }

    /// Returns the label of the reader that waits to become the writer, if there is one.
    pub(super) fn upgrading(&self, maps: &WaitMaps) -> Option<u32> {
        let map = maps.of(self.state().upgrader()?).lock();
        Some(map.first(LockAt::of(self), LockRequest::Upgrade)?.parked.label())
    }

    /// Whether a transaction that waits with this request waits although the lock's state does not make it wait.
    /// Invariant 4 excludes this between two calls.
    pub(super) fn keeps_in_vain(&self, wanted: LockRequest) -> bool {
        let state = self.state();
        match wanted {
            LockRequest::Write => state == State::FREE,
            LockRequest::Read => !state.is_write() && state.upgrader().is_none() && self.bits(LockRequest::Write) == 0,
            LockRequest::Upgrade => state.upgrader().is_none() || state.readers() == 1,
        }
    }

    /// Whether no transaction has the lock.
    pub(super) fn is_free(&self) -> bool {
        self.state() == State::FREE
    }

    /// Whether no transaction has the lock or waits for it.
    #[cfg(all(test, any(loom, shuttle)))]
    pub(super) fn is_at_rest(&self) -> bool {
        self.is_free() && !self.is_awaited()
    }
}

/// Returns the workers whose bits are set, in turn. `lot` says which of them is the first.
fn workers_by_lot(bits: u64, lot: u64) -> impl Iterator<Item = u32> {
    let mut from_first = bits;
    (0..lot % u64::from(bits.count_ones()).max(1)).for_each(|_| from_first &= from_first - 1);
    let first = from_first.trailing_zeros() % u64::BITS;
    let mut rest = bits.rotate_right(first);
    std::iter::from_fn(move || {
        let next = (rest != 0).then(|| rest.trailing_zeros())?;
        rest &= rest - 1;
        Some((first + next) % u64::BITS)
    })
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn every_worker_is_served_once_and_a_lot_makes_each_of_them_the_first() {
        for bits in [0, 1, 1 << 63, 0b1010_0000, u64::MAX, 1 << 63 | 1] {
            let set: Vec<_> = (0..u64::BITS).filter(|&worker| bits & 1 << worker != 0).collect();
            for (lot, &first) in (0..).zip(&set) {
                let order: Vec<_> = workers_by_lot(bits, lot).collect();
                assert_eq!(order.first(), Some(&first));
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, set, "{bits:#x}, {lot}");
            }
            assert_eq!(workers_by_lot(bits, u64::MAX).count(), set.len());
        }
    }
}
