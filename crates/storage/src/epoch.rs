//! Reclamation by epochs, one participant per transaction in flight.
//!
//! Readers follow pointers into records and index nodes without latches, so memory that was unlinked may still be looked
//! at. It is freed only when every transaction that might is over.
//!
//! **Definitions.** The *global epoch* is a counter that anybody may advance at any time. A *participant* in an epoch
//! shows in its slot the global epoch it saw when it entered. Garbage carries as its *stamp* the global epoch read after
//! it was unlinked.
//!
//! **Invariant.** Garbage with stamp r is freed only after a scan found every slot empty or above r.
//!
//! **Why that is enough.** Suppose a participant P still sees a pointer that retirer R unlinked. P stores its slot,
//! fences (`enter`), then loads the pointer; R unlinks, fences (`retire`), then reads the stamp, and the scan comes after
//! a fence too (`least_active`). P's load missed the unlink, so P's fence precedes R's, and the scan's, in the single
//! order of sequentially consistent fences. Therefore (1) the scan sees P's slot, unless P has left since; and (2) P's
//! earlier read of the global epoch cannot be newer than R's later one: the slot is at most r. The scan finds it and
//! keeps the garbage. A slot that shows an epoch older than the present one only delays.
//!
//! **Thread safety.** A [`Collector`] is shared by all; a [`Participant`] belongs to one transaction in flight and may
//! move between threads; a [`Guard`] proves that its participant is in an epoch and cannot outlive that.

use hotrow_sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use hotrow_sync::{Arc, CachePadded, Mutex};
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

/// How much garbage a participant lets gather before it tries to free some.
const COLLECT_EVERY: usize = 64;

/// After so many transactions a participant looks for garbage that nobody owns.
const ORPHANS_EVERY: u32 = 256;

/// An empty slot.
const NOT_ACTIVE: u64 = 0;

/// What one database's participants share.
pub struct Collector {
    epoch: CachePadded<AtomicU64>,
    slots: Mutex<Vec<Arc<Slot>>>,
    /// Garbage of participants that are gone, and of index growth.
    orphans: Mutex<VecDeque<Stamped>>,
    /// How much of that there is.
    orphaned: AtomicUsize,
}

struct Slot(CachePadded<AtomicU64>);

struct Stamped {
    stamp: u64,
    garbage: Garbage,
}

impl Collector {
    /// A collector without participants.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            epoch: CachePadded(AtomicU64::new(1)),
            slots: Mutex::new(Vec::new()),
            orphans: Mutex::new(VecDeque::new()),
            orphaned: AtomicUsize::new(0),
        })
    }

    /// A new participant, in no epoch yet.
    pub fn participant(self: &Arc<Self>) -> Participant {
        let slot = Arc::new(Slot(CachePadded(AtomicU64::new(NOT_ACTIVE))));
        self.slots.lock().expect("no panic under the latch").push(slot.clone());
        let (garbage, collect_at) = (VecDeque::new(), COLLECT_EVERY);
        Participant { collector: self.clone(), slot, entered: false, garbage, collect_at, left: 0 }
    }

    /// Frees `garbage`, already unlinked, some time after everybody who may see it has left. For rare retirements by
    /// those who have no participant of their own at hand.
    pub fn defer(&self, garbage: Garbage) {
        let stamp = self.stamp();
        let mut orphans = self.orphans.lock().expect("no panic under the latch");
        orphans.push_back(Stamped { stamp, garbage });
        self.orphaned.store(orphans.len(), Ordering::Release);
        let due = orphans.len().is_multiple_of(COLLECT_EVERY);
        drop(orphans);
        if due {
            self.collect();
        }
    }

    /// Frees what can be freed of the garbage that nobody owns.
    pub fn collect(&self) {
        self.collect_below(self.least_active());
    }

    fn collect_below(&self, least: u64) {
        let Ok(mut orphans) = self.orphans.try_lock() else { return };
        let free = take_free(&mut orphans, least);
        self.orphaned.store(orphans.len(), Ordering::Release);
        drop(orphans);
        drop(free);
    }

    /// Participants in an epoch now, and the age in epochs of the oldest.
    pub fn active(&self) -> (usize, u64) {
        // Relaxed: a figure for people.
        let now = self.epoch.load(Ordering::Relaxed);
        let slots = self.slots.lock().expect("no panic under the latch");
        let active = slots.iter().map(|slot| slot.0.load(Ordering::Acquire)).filter(|&epoch| epoch != NOT_ACTIVE);
        active.fold((0, 0), |(count, oldest), epoch| (count + 1, oldest.max(now.saturating_sub(epoch))))
    }

    fn stamp(&self) -> u64 {
        // SeqCst: R's fence of the module's argument, between the caller's unlink and the read of the stamp.
        fence(Ordering::SeqCst);
        // Relaxed: ordered by the fence.
        self.epoch.load(Ordering::Relaxed)
    }

    /// The least epoch in any slot, and at most the present one: what is unlinked after the scan by a retirer that the
    /// caller meets later has a stamp that is not below it. Advances the global epoch first, so that those who enter
    /// from now on do not hold back what is garbage already.
    fn least_active(&self) -> u64 {
        // Relaxed: the value orders nothing; the fence below does.
        let present = self.epoch.fetch_add(1, Ordering::Relaxed) + 1;
        // SeqCst: the scan's fence of the module's argument.
        fence(Ordering::SeqCst);
        let slots = self.slots.lock().expect("no panic under the latch");
        let epochs = slots.iter().map(|slot| slot.0.load(Ordering::Acquire));
        epochs.filter(|&epoch| epoch != NOT_ACTIVE).min().map_or(present, |least| least.min(present))
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

/// The part of one transaction in flight in reclamation.
pub struct Participant {
    collector: Arc<Collector>,
    slot: Arc<Slot>,
    entered: bool,
    garbage: VecDeque<Stamped>,
    /// How much garbage makes the next attempt to free some worth its while.
    collect_at: usize,
    /// Epochs left; every so often the garbage that nobody owns is looked after.
    left: u32,
}

impl Participant {
    /// Enters the present epoch; nothing that can be reached from now on is freed until [`leave`](Self::leave).
    #[inline]
    pub fn enter(&mut self) {
        debug_assert!(!self.entered, "entered twice");
        // Relaxed: a stale epoch only delays reclamation, and the store is ordered by the fence.
        let epoch = self.collector.epoch.load(Ordering::Relaxed);
        // Release: a scan that sees this epoch instead of the one left before it is ordered after what was read in that one.
        self.slot.0.store(epoch, Ordering::Release);
        // SeqCst: P's fence of the module's argument, between the slot's store and every load of shared memory.
        fence(Ordering::SeqCst);
        self.entered = true;
    }

    /// Leaves the epoch; frees some garbage if enough has gathered.
    #[inline]
    pub fn leave(&mut self) {
        self.slot.0.store(NOT_ACTIVE, Ordering::Release);
        self.entered = false;
        self.left = self.left.wrapping_add(1);
        if self.garbage.len() >= self.collect_at || (self.left.is_multiple_of(ORPHANS_EVERY) && self.has_orphans()) {
            self.collect();
        }
    }

    fn has_orphans(&self) -> bool {
        self.collector.orphaned.load(Ordering::Acquire) > 0
    }

    /// Whether the participant is in an epoch.
    #[inline]
    pub fn is_entered(&self) -> bool {
        self.entered
    }

    /// The proof of being in an epoch.
    ///
    /// # Panics
    /// If the participant is in none.
    #[inline]
    pub fn guard(&self) -> Guard<'_> {
        assert!(self.entered, "a guard needs an epoch");
        Guard(PhantomData)
    }

    /// Frees `garbage`, already unlinked, after everybody who may see it has left.
    pub fn retire(&mut self, garbage: Garbage) {
        let stamp = self.collector.stamp();
        self.garbage.push_back(Stamped { stamp, garbage });
    }

    /// The same for many pieces of garbage, all of them unlinked: for the price of one.
    pub fn retire_all(&mut self, garbage: impl IntoIterator<Item = Garbage>) {
        let mut garbage = garbage.into_iter().peekable();
        if garbage.peek().is_some() {
            let stamp = self.collector.stamp();
            self.garbage.extend(garbage.map(|garbage| Stamped { stamp, garbage }));
        }
    }

    /// Goes over to the present epoch, if that is another: as if the participant had left and entered, without the chance to free
    /// something. For one that stays in an epoch over many calls and keeps no borrow from one to the next.
    #[inline]
    pub fn refresh(&mut self) {
        debug_assert!(self.entered, "only who is in an epoch can go over to another");
        // Relaxed: as in `enter`; nobody else writes the slot.
        let (present, own) = (self.collector.epoch.load(Ordering::Relaxed), self.slot.0.load(Ordering::Relaxed));
        if present != own {
            // Release, and the fence: as in `enter`.
            self.slot.0.store(present, Ordering::Release);
            // SeqCst: P's fence of the module's argument.
            fence(Ordering::SeqCst);
        }
    }

    /// Frees what can be freed now.
    #[cold]
    pub fn collect(&mut self) {
        let least = self.collector.least_active();
        drop(take_free(&mut self.garbage, least));
        self.collect_at = self.garbage.len() + COLLECT_EVERY;
        self.collector.collect_below(least);
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        self.slot.0.store(NOT_ACTIVE, Ordering::Release);
        let mut slots = self.collector.slots.lock().expect("no panic under the latch");
        slots.retain(|slot| !Arc::ptr_eq(slot, &self.slot));
        drop(slots);
        let mut orphans = self.collector.orphans.lock().expect("no panic under the latch");
        orphans.append(&mut self.garbage);
        orphans.make_contiguous().sort_by_key(|stamped| stamped.stamp);
        self.collector.orphaned.store(orphans.len(), Ordering::Release);
        drop(orphans);
        self.collector.collect();
    }
}

impl fmt::Debug for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Participant").field("entered", &self.entered).field("garbage", &self.garbage.len()).finish()
    }
}

/// The proof that a participant is in an epoch: what was reachable after it entered stays allocated for `'p`.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'p>(PhantomData<&'p Participant>);

/// Something to free later.
pub struct Garbage {
    address: *mut u8,
    context: *const (),
    free: unsafe fn(*mut u8, *const ()),
}

// SAFETY: garbage is unlinked memory with a single owner, this value; the constructors ask for `Send` contents.
unsafe impl Send for Garbage {}

impl Garbage {
    /// A box to drop.
    pub fn boxed<T: Send + 'static>(value: Box<T>) -> Self {
        unsafe fn free<T>(address: *mut u8, _: *const ()) {
            // SAFETY: the address came from `Box::into_raw` below and this is called once.
            drop(unsafe { Box::from_raw(address.cast::<T>()) });
        }
        Self { address: Box::into_raw(value).cast(), context: std::ptr::null(), free: free::<T> }
    }

    /// Memory that `free(address, context)` frees.
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

        drop((reader, late));
        collector.defer(garbage());
        writer.retire(garbage());
        drop(writer);
        assert_eq!(freed.load(Ordering::Acquire), 5, "a participant that goes leaves nothing behind");
    }
}
