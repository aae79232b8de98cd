//! The memory of a table's records: slots of one size in large segments.

use crate::HugeBlock;
use hotrow_sync::Latch;
use std::fmt;
use std::ptr::NonNull;

const FIRST_SEGMENT_BYTES: usize = 64 << 10;
const SEGMENT_BYTES: usize = 2 << 20;
const LINE_BYTES: usize = 64;

/// Hands out and takes back slots of one size. Any thread may call it; the latch is held for a few instructions, and
/// for the time of an allocation once a segment.
pub struct Segments {
    slot_bytes: usize,
    state: Latch<State>,
}

struct State {
    blocks: Vec<HugeBlock>,
    /// Bytes of the last block that are handed out.
    used: usize,
    free: Vec<NonNull<u8>>,
}

// SAFETY: the pointers lead into `blocks`, which moves with them; nothing in them belongs to a thread.
unsafe impl Send for State {}

impl Segments {
    /// Segments with slots of at least `bytes` bytes. A slot of up to a cache line lies in one; a larger one begins one.
    pub fn new(bytes: usize) -> Self {
        let slot_bytes = match bytes {
            0..=8 => 8,
            9..=16 => 16,
            17..=32 => 32,
            _ => bytes.next_multiple_of(LINE_BYTES),
        };
        Self { slot_bytes, state: Latch::new(State { blocks: Vec::new(), used: 0, free: Vec::new() }) }
    }

    /// Bytes of a slot.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Bytes taken from the system.
    pub fn allocated_bytes(&self) -> usize {
        let state = self.state.lock();
        state.blocks.iter().map(HugeBlock::bytes).sum::<usize>() + state.free.capacity() * size_of::<NonNull<u8>>()
    }

    /// A zeroed slot, valid until it is given back or the segments are dropped.
    pub fn allocate(&self) -> NonNull<u8> {
        let mut state = self.state.lock();
        if let Some(slot) = state.free.pop() {
            drop(state);
            // SAFETY: the slot has that many bytes and, taken off the list, belongs to this call.
            unsafe { slot.write_bytes(0, self.slot_bytes) };
            return slot;
        }
        state.fresh(self.slot_bytes)
    }

    /// Appends `count` slots to `out`, which are not zeroed: those that were given back last come last.
    pub fn allocate_many(&self, count: usize, out: &mut Vec<NonNull<u8>>) {
        let mut state = self.state.lock();
        let used_again = count.min(state.free.len());
        for _ in used_again..count {
            let slot = state.fresh(self.slot_bytes);
            out.push(slot);
        }
        let kept = state.free.len() - used_again;
        out.extend(state.free.drain(kept..));
    }

    /// Takes a slot back.
    ///
    /// # Safety
    /// The slot came from `allocate` of these segments, was not given back since, and nobody looks at it any more.
    pub unsafe fn free(&self, slot: NonNull<u8>) {
        self.state.lock().free.push(slot);
    }

    /// Takes slots back.
    ///
    /// # Safety
    /// As for [`free`](Self::free), for each of them.
    pub unsafe fn free_many(&self, slots: impl Iterator<Item = NonNull<u8>>) {
        self.state.lock().free.extend(slots);
    }
}

impl State {
    /// A slot that was never used, and is zeroed.
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
