//! The memory of a table's records: slots of one size in large segments.

use crate::HugeBlock;
use crate::striped::{STRIPES, stripe};
use hotrow_sync::{CachePadded, Latch};
use std::fmt;
use std::ptr::NonNull;

const FIRST_SEGMENT_BYTES: usize = 64 << 10;
const SEGMENT_BYTES: usize = 2 << 20;
const LINE_BYTES: usize = 64;

/// Slots that a thread takes at once, unless they are large.
const TAKEN_SLOTS: usize = 32;
const TAKEN_BYTES: usize = 16 << 10;

/// Bytes of the slots that a thread keeps, if it is given back more than it takes.
const KEPT_BYTES: usize = 128 << 10;

/// Free slots of a thread, or of few.
type FreeSlots = Latch<Vec<NonNull<u8>>>;

/// Hands out and takes back slots of one size. Any thread may call it.
///
/// Each thread has free slots of its own, or shares them with few others: what it gave back it gets again, while that is in its
/// caches. Latches are held for a few instructions, and for the time of an allocation once a segment.
pub struct Segments {
    slot_bytes: usize,
    free: Box<[CachePadded<FreeSlots>; STRIPES]>,
    state: Latch<State>,
}

struct State {
    blocks: Vec<HugeBlock>,
    /// Bytes of the last block that are handed out.
    used: usize,
    /// What threads have given back and do not keep.
    free: Vec<NonNull<u8>>,
}

// SAFETY: the pointers lead into the blocks of `state`, which are freed with them; nothing in the slots belongs to a thread.
unsafe impl Send for Segments {}
// SAFETY: as above, and the latches hand out each slot to one thread.
unsafe impl Sync for Segments {}

impl Segments {
    /// Segments with slots of at least `bytes` bytes. A slot of up to a cache line lies in one; a larger one begins one.
    pub fn new(bytes: usize) -> Self {
        let slot_bytes = match bytes {
            0..=8 => 8,
            9..=16 => 16,
            17..=32 => 32,
            _ => bytes.next_multiple_of(LINE_BYTES),
        };
        let free = Box::new(std::array::from_fn(|_| CachePadded(Latch::new(Vec::new()))));
        Self { slot_bytes, free, state: Latch::new(State { blocks: Vec::new(), used: 0, free: Vec::new() }) }
    }

    /// Bytes of a slot.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Bytes taken from the system.
    pub fn allocated_bytes(&self) -> usize {
        let kept: usize = self.free.iter().map(|free| free.lock().capacity()).sum();
        let state = self.state.lock();
        let blocks: usize = state.blocks.iter().map(HugeBlock::bytes).sum();
        blocks + (kept + state.free.capacity()) * size_of::<NonNull<u8>>()
    }

    /// Bytes of the slots that are free, but for those that were never used.
    pub fn spare_bytes(&self) -> usize {
        let kept: usize = self.free.iter().map(|free| free.lock().len()).sum();
        (kept + self.state.lock().free.len()) * self.slot_bytes
    }

    /// A zeroed slot, valid until it is given back or the segments are dropped.
    pub fn allocate(&self) -> NonNull<u8> {
        let mut free = self.free[stripe()].lock();
        self.fill(&mut free, 1);
        let slot = free.pop().expect("there is one at least");
        drop(free);
        // SAFETY: the slot has that many bytes and, taken off the list, belongs to this call.
        unsafe { slot.write_bytes(0, self.slot_bytes) };
        slot
    }

    /// Appends `count` slots to `out`, which are not zeroed: those that were given back last come last.
    pub fn allocate_many(&self, count: usize, out: &mut Vec<NonNull<u8>>) {
        let mut free = self.free[stripe()].lock();
        self.fill(&mut free, count);
        let kept = free.len() - count;
        out.extend(free.drain(kept..));
    }

    /// Sees to it that a thread has `count` slots.
    fn fill(&self, free: &mut Vec<NonNull<u8>>, count: usize) {
        if free.len() < count {
            let more = (count - free.len()).max(TAKEN_SLOTS.min(TAKEN_BYTES / self.slot_bytes));
            self.state.lock().take(more, self.slot_bytes, free);
        }
    }

    /// Takes a slot back.
    ///
    /// # Safety
    /// The slot came from `allocate` of these segments, was not given back since, and nobody looks at it any more.
    pub unsafe fn free(&self, slot: NonNull<u8>) {
        // SAFETY: passed on to the caller.
        unsafe { self.free_many(std::iter::once(slot)) };
    }

    /// Takes slots back.
    ///
    /// # Safety
    /// As for [`free`](Self::free), for each of them.
    pub unsafe fn free_many(&self, slots: impl Iterator<Item = NonNull<u8>>) {
        let mut free = self.free[stripe()].lock();
        free.extend(slots);
        let kept = (KEPT_BYTES / self.slot_bytes).max(TAKEN_SLOTS);
        if free.len() > kept {
            let spare = free.len() - kept / 2;
            self.state.lock().free.extend(free.drain(..spare));
        }
    }
}

impl State {
    /// Appends `count` slots to `out`.
    fn take(&mut self, count: usize, slot_bytes: usize, out: &mut Vec<NonNull<u8>>) {
        let used_again = count.min(self.free.len());
        for _ in used_again..count {
            out.push(self.fresh(slot_bytes));
        }
        let kept = self.free.len() - used_again;
        out.extend(self.free.drain(kept..));
    }

    /// A slot that was never used.
    fn fresh(&mut self, slot_bytes: usize) -> NonNull<u8> {
        let Self { blocks, used, .. } = self;
        let full = blocks.last().is_none_or(|block| *used + slot_bytes > block.bytes());
        if full {
            let last = blocks.last().map_or(FIRST_SEGMENT_BYTES / 2, HugeBlock::bytes);
            let bytes = (2 * last).min(SEGMENT_BYTES).max(slot_bytes.next_power_of_two());
            blocks.push(HugeBlock::alloc_zeroed(bytes));
            *used = 0;
        }
        let block = blocks.last().expect("a block was just made if there was none");
        // SAFETY: `used + slot_bytes` is within the block, as checked above.
        let slot = unsafe { block.as_ptr().add(*used) };
        *used += slot_bytes;
        NonNull::new(slot).expect("blocks do not begin at zero")
    }
}

impl fmt::Debug for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segments").field("slot_bytes", &self.slot_bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_apart_zeroed_and_used_again() {
        let segments = Segments::new(100);
        assert_eq!(segments.slot_bytes(), 128);
        let mut slots: Vec<_> = (0..40_000).map(|_| segments.allocate()).collect();
        slots.sort_unstable();
        assert!(slots.windows(2).all(|pair| pair[1].as_ptr() as usize - pair[0].as_ptr() as usize >= 128));
        // SAFETY: the slot is ours and has 128 bytes; it is given back once and not used after.
        unsafe {
            slots[7].write_bytes(0xAA, 128);
            segments.free(slots[7]);
        }
        let again = segments.allocate();
        assert_eq!(again, slots[7]);
        // SAFETY: the slot is ours again.
        assert_eq!(unsafe { again.read() }, 0);
    }

    #[test]
    fn many_slots_come_at_once_the_warmest_last() {
        let segments = Segments::new(64);
        let mut slots = Vec::new();
        segments.allocate_many(5, &mut slots);
        let back = [slots[3], slots[1]];
        // SAFETY: the slots are ours, are given back once and not used after.
        unsafe { segments.free_many(back.into_iter()) };
        let mut again = Vec::new();
        segments.allocate_many(3, &mut again);
        assert_eq!(again[1..], back);
        assert!(!slots.contains(&again[0]));
    }
}
