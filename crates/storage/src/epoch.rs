//! Reclamation by epochs, with one participant for each transaction in flight.
//!
//! Readers follow pointers into records and index nodes without latches, so a reader may still look at memory that was
//! unlinked. Such memory is freed only when every transaction that might look at it has ended.
//!
//! **Definitions.** The *global epoch* is a counter that any thread may advance at any time. A *participant* in an
//! epoch shows in its slot the global epoch that it saw when it entered. Garbage carries as its *stamp* the global
//! epoch that was read after the garbage was unlinked.
//!
//! **Invariant.** Garbage with stamp r is freed only after a scan found every slot empty or above r.
//!
//! **Why that is enough.** Suppose a participant P still sees a pointer that retirer R unlinked. P stores its slot,
//! fences (`enter`), then loads the pointer; R unlinks, fences (`retire`), then reads the stamp, and the scan comes
//! after a fence too (`least_active`). P's load missed the unlink, so P's fence precedes R's, and the scan's, in the
//! single order of sequentially consistent fences. Therefore (1) the scan sees P's slot, unless P has left since; and
//! (2) P's earlier read of the global epoch cannot be newer than R's later one: the slot is at most r. The scan finds
//! it and keeps the garbage. A slot that shows an epoch older than the present one only delays the freeing.
//!
//! **Which participant frees garbage.** A participant keeps its garbage in its slot, under a latch, and frees what it
//! can as more accumulates. A participant that is idle frees nothing. So every participant checks another one's slot
//! from time to time, one after the other, and frees what it finds there; and a thread that drops a table checks all
//! slots. So garbage is freed as long as any participant is active, and the memory of a dropped table waits for running
//! transactions only.
//!
//! **Thread safety.** All threads share a [`Collector`]. A [`Participant`] belongs to one transaction in flight and may
//! move between threads. A [`Guard`] proves that its participant is in an epoch, and cannot outlive that epoch.

use hotrow_sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use hotrow_sync::{Arc, CachePadded, Latch, Mutex};
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

/// The pieces of garbage that a participant accumulates before it tries to free some.
const COLLECT_EVERY: usize = 64;

/// The number of epochs that a participant leaves before it looks for garbage of another participant, or without an
/// owner.
const OTHERS_EVERY: u32 = 256;

/// The value of a slot whose participant is in no epoch.
const NOT_ACTIVE: u64 = 0;

/// The epoch-based garbage collector of one database. It frees unlinked memory once no participant can still read it.
pub struct Collector {
    epoch: CachePadded<AtomicU64>,
    slots: Mutex<Vec<Arc<Slot>>>,
    /// The garbage of participants that are gone, of dropped tables and of unlinked index memory.
    orphans: Mutex<VecDeque<Stamped>>,
    /// The number of pieces of garbage in `orphans`.
    orphaned: AtomicUsize,
}

/// The part of a participant that all other participants see.
struct Slot {
    epoch: CachePadded<AtomicU64>,
    garbage: Latch<VecDeque<Stamped>>,
}

impl Slot {
    fn epoch(&self) -> Option<u64> {
        Some(self.epoch.load(Ordering::Acquire)).filter(|&epoch| epoch != NOT_ACTIVE)
    }

    /// Frees the garbage with a stamp below `least`. Returns how many pieces are left, or `None` if another thread is
    /// freeing.
    fn free_below(&self, least: u64) -> Option<usize> {
        let mut garbage = self.garbage.try_lock()?;
        let free = take_free(&mut garbage, least);
        let left = garbage.len();
        drop(garbage);
        drop(free);
        Some(left)
    }
}

struct Stamped {
    stamp: u64,
    garbage: Garbage,
}

impl Collector {
    /// Makes a collector without participants.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            epoch: CachePadded(AtomicU64::new(1)),
            slots: Mutex::new(Vec::new()),
            orphans: Mutex::new(VecDeque::new()),
            orphaned: AtomicUsize::new(0),
        })
    }

    /// Makes a new participant, which is in no epoch yet.
    pub fn participant(self: &Arc<Self>) -> Participant {
        let epoch = CachePadded(AtomicU64::new(NOT_ACTIVE));
        let slot = Arc::new(Slot { epoch, garbage: Latch::new(VecDeque::new()) });
        self.slots.lock().expect("no panic under the latch").push(slot.clone());
        let (garbage, collect_at) = (0, COLLECT_EVERY);
        Participant { collector: self.clone(), slot, entered: false, garbage, collect_at, left: 0, visited: 0 }
    }

    /// Frees `garbage`, which is unlinked already, some time after every participant that may see it has left its
    /// epoch. The call takes a mutex; callers that have a [`Participant`] use [`Participant::retire`] instead.
    pub fn defer(&self, garbage: Garbage) {
        let stamp = self.stamp();
        let mut orphans = self.orphans.lock().expect("no panic under the latch");
        orphans.push_back(Stamped { stamp, garbage });
        self.orphaned.store(orphans.len(), Ordering::Release);
        let due = orphans.len().is_multiple_of(COLLECT_EVERY);
        drop(orphans);
        if due {
            self.collect_orphans(self.least_active());
        }
    }

    /// Frees the garbage of all participants, of participants that no longer exist, and of dropped tables, as far as no
    /// participant may still see it.
    pub fn collect(&self) {
        let least = self.least_active();
        let slots = self.slots.lock().expect("no panic under the latch").clone();
        for slot in slots {
            slot.free_below(least);
        }
        self.collect_orphans(least);
    }

    /// Frees the orphaned garbage with a stamp below `least`, unless another thread is at the orphans.
    fn collect_orphans(&self, least: u64) {
        let Ok(mut orphans) = self.orphans.try_lock() else { return };
        let free = take_free(&mut orphans, least);
        self.orphaned.store(orphans.len(), Ordering::Release);
        drop(orphans);
        drop(free);
    }

    /// Returns how many participants are in an epoch now, and how many epochs the oldest of them lags behind the global
    /// epoch.
    pub fn active(&self) -> (usize, u64) {
        // Relaxed: a figure for people.
        let now = self.epoch.load(Ordering::Relaxed);
        let slots = self.slots.lock().expect("no panic under the latch");
        let active = slots.iter().filter_map(|slot| slot.epoch());
        active.fold((0, 0), |(count, oldest), epoch| (count + 1, oldest.max(now.saturating_sub(epoch))))
    }

    fn stamp(&self) -> u64 {
        // SeqCst: R's fence of the module's argument, between the caller's unlink and the read of the stamp.
        fence(Ordering::SeqCst);
        // Relaxed: ordered by the fence.
        self.epoch.load(Ordering::Relaxed)
    }

    /// Returns the least epoch in any slot, and at most the present one: garbage that a retirer unlinks after the scan,
    /// and that the caller meets later, has a stamp that is not below the result. Advances the global epoch first, so
    /// that participants that enter from now on do not hold back what is garbage already.
    fn least_active(&self) -> u64 {
        // Relaxed: the value orders nothing; the fence below does.
        let present = self.epoch.fetch_add(1, Ordering::Relaxed) + 1;
        // SeqCst: the scan's fence of the module's argument.
        fence(Ordering::SeqCst);
        let slots = self.slots.lock().expect("no panic under the latch");
        let least = slots.iter().filter_map(|slot| slot.epoch()).min();
        least.map_or(present, |least| least.min(present))
    }

    /// Returns the slot of the participant at `place`, counted in a circle through all participants; `None` if there
    /// are no participants.
    fn slot_at(&self, place: usize) -> Option<Arc<Slot>> {
        let slots = self.slots.lock().expect("no panic under the latch");
        slots.get(place % slots.len().max(1)).cloned()
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").field("active", &self.active()).finish_non_exhaustive()
    }
}

fn take_free(garbage: &mut VecDeque<Stamped>, least: u64) -> Vec<Garbage> {
    let free = garbage.iter().take_while(|stamped| stamped.stamp < least).count();
    garbage.drain(..free).map(|stamped| stamped.garbage).collect()
}

/// The handle by which one transaction in flight takes part in epoch-based reclamation: memory that it can reach while
/// it is in an epoch is not freed.
pub struct Participant {
    collector: Arc<Collector>,
    slot: Arc<Slot>,
    entered: bool,
    /// The number of pieces of garbage in the slot, or more.
    garbage: usize,
    /// The number of pieces of garbage at which the next attempt to free some is worth its cost.
    collect_at: usize,
    /// The number of epochs that the participant has left so far. After every [`OTHERS_EVERY`] of them it checks
    /// others' garbage.
    left: u32,
    /// The place of the participant whose garbage was checked last.
    visited: usize,
}

impl Participant {
    /// Enters the present epoch. Memory that can be reached from now on is not freed until [`leave`](Self::leave).
    #[inline]
    pub fn enter(&mut self) {
        debug_assert!(!self.entered, "entered twice");
        // Relaxed: a stale epoch only delays reclamation, and the store is ordered by the fence.
        let epoch = self.collector.epoch.load(Ordering::Relaxed);
        // Release: a scan that sees this epoch instead of the one left before it is ordered after what was read in that
        // one.
        self.slot.epoch.store(epoch, Ordering::Release);
        // SeqCst: P's fence of the module's argument, between the slot's store and every load of shared memory.
        fence(Ordering::SeqCst);
        self.entered = true;
    }

    /// Leaves the epoch, and frees some garbage if enough has gathered.
    #[inline]
    pub fn leave(&mut self) {
        self.slot.epoch.store(NOT_ACTIVE, Ordering::Release);
        self.entered = false;
        self.left = self.left.wrapping_add(1);
        if self.garbage >= self.collect_at || (self.left.is_multiple_of(OTHERS_EVERY) && self.finds_garbage()) {
            self.collect();
        }
    }

    /// Moves on to the next participant. Returns whether that participant has garbage, or there is orphaned garbage.
    #[cold]
    fn finds_garbage(&mut self) -> bool {
        self.visited = self.visited.wrapping_add(1);
        let others = self.collector.slot_at(self.visited);
        let has_garbage = |slot: Arc<Slot>| slot.garbage.try_lock().is_some_and(|garbage| !garbage.is_empty());
        self.has_orphans() || others.is_some_and(has_garbage)
    }

    fn has_orphans(&self) -> bool {
        self.collector.orphaned.load(Ordering::Acquire) > 0
    }

    /// Whether the participant is in an epoch.
    #[inline]
    pub fn is_entered(&self) -> bool {
        self.entered
    }

    /// Returns the proof that the participant is in an epoch.
    ///
    /// # Panics
    /// If the participant is in no epoch.
    #[inline]
    pub fn guard(&self) -> Guard<'_> {
        assert!(self.entered, "a guard needs an epoch");
        Guard(PhantomData)
    }

    /// Frees `garbage`, which is unlinked already, after every participant that may see it has left its epoch.
    pub fn retire(&mut self, garbage: Garbage) {
        self.retire_all(std::iter::once(garbage));
    }

    /// Retires many pieces of garbage, all of them unlinked, at the cost of a single memory fence.
    pub fn retire_all(&mut self, garbage: impl IntoIterator<Item = Garbage>) {
        let mut garbage = garbage.into_iter().peekable();
        if garbage.peek().is_some() {
            let stamp = self.collector.stamp();
            let mut own = self.slot.garbage.lock();
            own.extend(garbage.map(|garbage| Stamped { stamp, garbage }));
            self.garbage = own.len();
        }
    }

    /// Moves the participant to the present epoch, as if it had left and entered, but frees nothing. A participant that
    /// stays in an epoch over many calls uses this between two of them, so that it does not hold up reclamation. It
    /// must keep no reference from one call to the next.
    #[inline]
    pub fn refresh(&mut self) {
        debug_assert!(self.entered, "only who is in an epoch can go over to another");
        // Relaxed: as in `enter`; no other thread writes the slot.
        let (present, own) = (self.collector.epoch.load(Ordering::Relaxed), self.slot.epoch.load(Ordering::Relaxed));
        if present != own {
            // Release, and the fence: as in `enter`.
            self.slot.epoch.store(present, Ordering::Release);
            // SeqCst: P's fence of the module's argument.
            fence(Ordering::SeqCst);
        }
    }

    /// Frees as much garbage as possible now: that of this participant, that of one other participant, and that of
    /// participants which no longer exist.
    #[cold]
    pub fn collect(&mut self) {
        let least = self.collector.least_active();
        self.garbage = self.slot.free_below(least).unwrap_or(self.garbage);
        self.collect_at = self.garbage + COLLECT_EVERY;
        if let Some(other) = self.collector.slot_at(self.visited) {
            other.free_below(least);
        }
        self.collector.collect_orphans(least);
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        self.slot.epoch.store(NOT_ACTIVE, Ordering::Release);
        let mut slots = self.collector.slots.lock().expect("no panic under the latch");
        slots.retain(|slot| !Arc::ptr_eq(slot, &self.slot));
        drop(slots);
        let mut orphans = self.collector.orphans.lock().expect("no panic under the latch");
        orphans.append(&mut self.slot.garbage.lock());
        orphans.make_contiguous().sort_by_key(|stamped| stamped.stamp);
        self.collector.orphaned.store(orphans.len(), Ordering::Release);
        drop(orphans);
        self.collector.collect_orphans(self.collector.least_active());
    }
}

impl fmt::Debug for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Participant").field("entered", &self.entered).field("garbage", &self.garbage).finish()
    }
}

/// The proof that a participant is in an epoch: memory that was reachable after it entered stays allocated for `'p`.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'p>(PhantomData<&'p Participant>);

/// Unlinked memory that is freed when this value is dropped.
pub struct Garbage {
    address: *mut u8,
    context: *const (),
    free: unsafe fn(*mut u8, *const ()),
}

// SAFETY: garbage is unlinked memory with a single owner, this value; the constructors ask for `Send` contents.
unsafe impl Send for Garbage {}

impl Garbage {
    /// Makes garbage of a box, which is dropped when the garbage is freed.
    pub fn boxed<T: Send + 'static>(value: Box<T>) -> Self {
        unsafe fn free<T>(address: *mut u8, _: *const ()) {
            // SAFETY: the address came from `Box::into_raw` below and this is called once.
            drop(unsafe { Box::from_raw(address.cast::<T>()) });
        }
        Self { address: Box::into_raw(value).cast(), context: std::ptr::null(), free: free::<T> }
    }

    /// Makes garbage that is freed by the call `free(address, context)`.
    ///
    /// # Safety
    /// `free(address, context)` may be called once, from any thread, at any later time.
    pub(crate) unsafe fn raw(address: *mut u8, context: *const (), free: unsafe fn(*mut u8, *const ())) -> Self {
        Self { address, context, free }
    }
}

impl Drop for Garbage {
    fn drop(&mut self) {
        // SAFETY: by the constructors' contracts, and `drop` runs once.
        unsafe { (self.free)(self.address, self.context) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_sync::atomic::AtomicUsize;

    struct Counted(Arc<AtomicUsize>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::AcqRel);
        }
    }

    #[test]
    fn garbage_outlives_those_who_may_see_it_and_nobody_else() {
        let freed = Arc::new(AtomicUsize::new(0));
        let garbage = || Garbage::boxed(Box::new(Counted(freed.clone())));
        let collector = Collector::new();
        let (mut reader, mut writer) = (collector.participant(), collector.participant());

        reader.enter();
        writer.enter();
        writer.retire(garbage());
        writer.leave();
        writer.collect();
        assert_eq!(freed.load(Ordering::Acquire), 0, "the reader may still look at it");

        let mut late = collector.participant();
        late.enter();
        reader.leave();
        writer.collect();
        assert_eq!(freed.load(Ordering::Acquire), 1, "the late one came after the unlink");

        late.leave();
        late.enter();
        writer.enter();
        writer.retire_all([garbage(), garbage()]);
        writer.leave();
        writer.collect();
        assert_eq!(freed.load(Ordering::Acquire), 1, "the late one may still look at them");
        late.refresh();
        writer.collect();
        assert_eq!(freed.load(Ordering::Acquire), 3, "the late one went over to another epoch");

        late.leave();
        writer.enter();
        writer.retire(garbage());
        writer.leave();
        for _ in 0..3 * OTHERS_EVERY {
            late.enter();
            late.leave();
        }
        assert_eq!(freed.load(Ordering::Acquire), 4, "who is idle keeps nothing while others are awake");
        writer.retire(garbage());
        collector.collect();
        assert_eq!(freed.load(Ordering::Acquire), 5, "nor when all are looked after");

        drop((reader, late));
        collector.defer(garbage());
        writer.retire(garbage());
        drop(writer);
        assert_eq!(freed.load(Ordering::Acquire), 7, "a participant that goes leaves nothing behind");
    }
}
