//! The memory of a table's records: slots of one size in large segments.
//!
//! Segments may keep *vectors* of 32-bit numbers beside the slots. A vector has one number for each slot, in the order
//! of the slots. A number is found from the address of its slot, without reading the slot. Such segments begin at
//! multiples of 2 MiB:
//!
//! ```text
//! | 4 KiB, one line of which says where things are | vector | vector | … | slots |
//! ```

use crate::huge::{HUGE_PAGE_BYTES, HugeBlock};
use crate::striped::{STRIPES, stripe};
use hotrow_sync::{CachePadded, Latch, PlainAtomicU32};
use std::fmt;
use std::ptr::NonNull;

const FIRST_SEGMENT_BYTES: usize = 64 << 10;
const SEGMENT_BYTES: usize = 2 << 20;
const LINE_BYTES: usize = 64;

/// The number of slots that a thread takes at once, unless the slots are so large that `TAKEN_BYTES` limits it.
const TAKEN_SLOTS: usize = 32;
const TAKEN_BYTES: usize = 16 << 10;

/// The most bytes of free slots that a thread keeps when it frees more than it takes.
const KEPT_BYTES: usize = 128 << 10;

/// The free slots of one thread, or of a few threads.
type FreeSlots = Latch<Vec<NonNull<u8>>>;

/// An allocator for slots of one size, in which records lie. Any thread may call all methods.
///
/// Each thread has its own list of free slots, or shares a list with a few others. So a thread reuses the slots that it
/// has freed while they are in its caches. Latches are held for a few instructions, and once for each segment for the
/// time of an allocation.
pub struct Segments {
    slot_bytes: usize,
    beside: Option<Beside>,
    free: Box<[CachePadded<FreeSlots>; STRIPES]>,
    state: Latch<State>,
}

struct State {
    blocks: Vec<HugeBlock>,
    /// The offset of the next unused slot in the last block, and the offset at which that block's slots end.
    used: usize,
    end: usize,
    /// The free slots that no thread keeps.
    free: Vec<NonNull<u8>>,
}

// SAFETY: the pointers lead into the blocks of `state`, which live as long as the pointers; nothing in the slots
// belongs to a thread.
unsafe impl Send for Segments {}
// SAFETY: as above, and the latches hand out each slot to one thread.
unsafe impl Sync for Segments {}

impl Segments {
    /// Makes an allocator without memory, for slots of at least `bytes` bytes. A slot of up to a cache line lies within
    /// one line; a larger slot begins at one.
    pub fn new(bytes: usize) -> Self {
        Self::with_beside(bytes, 0)
    }

    /// Makes an allocator as [`new`](Self::new) does, with `vectors` arrays of 32-bit numbers beside the slots. Each
    /// array has one number for each slot.
    pub fn with_beside(bytes: usize, vectors: usize) -> Self {
        let slot_bytes = match bytes {
            0..=8 => 8,
            9..=16 => 16,
            17..=32 => 32,
            _ => bytes.next_multiple_of(LINE_BYTES),
        };
        let free = Box::new(std::array::from_fn(|_| CachePadded(Latch::new(Vec::new()))));
        let beside = (vectors > 0).then(|| Beside::new(slot_bytes, vectors));
        let state = State { blocks: Vec::new(), used: 0, end: 0, free: Vec::new() };
        Self { slot_bytes, beside, free, state: Latch::new(state) }
    }

    /// Returns the size of a slot in bytes.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Returns the bytes that the segments and the lists of free slots have taken from the system.
    pub fn allocated_bytes(&self) -> usize {
        let kept: usize = self.free.iter().map(|free| free.lock().capacity()).sum();
        let state = self.state.lock();
        let blocks: usize = state.blocks.iter().map(HugeBlock::bytes).sum();
        blocks + (kept + state.free.capacity()) * size_of::<NonNull<u8>>()
    }

    /// Returns the bytes of the slots that were freed and not allocated again.
    pub fn spare_bytes(&self) -> usize {
        let kept: usize = self.free.iter().map(|free| free.lock().len()).sum();
        (kept + self.state.lock().free.len()) * self.slot_bytes
    }

    /// Allocates a zeroed slot, valid until it is freed or the segments are dropped.
    pub fn allocate(&self) -> NonNull<u8> {
        let mut free = self.free[stripe()].lock();
        self.fill(&mut free, 1);
        let slot = free.pop().expect("there is one at least");
        drop(free);
        // SAFETY: the slot has that many bytes and, taken off the list, belongs to this call.
        unsafe { slot.write_bytes(0, self.slot_bytes) };
        slot
    }

    /// Appends `count` slots to `out`. The slots are not zeroed. Those that were freed last come last.
    pub fn allocate_many(&self, count: usize, out: &mut Vec<NonNull<u8>>) {
        let mut free = self.free[stripe()].lock();
        self.fill(&mut free, count);
        let kept = free.len() - count;
        out.extend(free.drain(kept..));
    }

    /// Fills a thread's list `free` until it has at least `count` free slots.
    fn fill(&self, free: &mut Vec<NonNull<u8>>, count: usize) {
        if free.len() < count {
            let more = (count - free.len()).max(TAKEN_SLOTS.min(TAKEN_BYTES / self.slot_bytes));
            self.state.lock().take(more, self.slot_bytes, self.beside.as_ref(), free);
        }
    }

    /// Frees a slot.
    ///
    /// # Safety
    /// The slot came from `allocate` of these segments, was not freed since, and no thread looks at it any more.
    pub unsafe fn free(&self, slot: NonNull<u8>) {
        // SAFETY: the caller keeps the contract.
        unsafe { self.free_many(std::iter::once(slot)) };
    }

    /// Frees slots.
    ///
    /// # Safety
    /// As for [`free`](Self::free), for each slot.
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
    /// Appends `count` slots to `out`: free ones first, and as many as are missing that were never used.
    fn take(&mut self, count: usize, slot_bytes: usize, beside: Option<&Beside>, out: &mut Vec<NonNull<u8>>) {
        let used_again = count.min(self.free.len());
        for _ in used_again..count {
            out.push(self.fresh(slot_bytes, beside));
        }
        let kept = self.free.len() - used_again;
        out.extend(self.free.drain(kept..));
    }

    /// Takes a slot that was never used, from a new block if the last one is full.
    fn fresh(&mut self, slot_bytes: usize, beside: Option<&Beside>) -> NonNull<u8> {
        let Self { blocks, used, end, .. } = self;
        if *used + slot_bytes > *end {
            let (block, slots) = match beside {
                Some(beside) => (beside.block(slot_bytes, blocks.is_empty()), beside.slots(slot_bytes)),
                None => {
                    let last = blocks.last().map_or(FIRST_SEGMENT_BYTES / 2, HugeBlock::bytes);
                    let bytes = (2 * last).min(SEGMENT_BYTES).max(slot_bytes.next_power_of_two());
                    (HugeBlock::alloc_zeroed(bytes), 0..bytes)
                }
            };
            blocks.push(block);
            (*used, *end) = (slots.start, slots.end);
        }
        let block = blocks.last().expect("a block was just made if there was none");
        // SAFETY: `used + slot_bytes` is at most `end`, as checked above, and so within the block.
        let slot = unsafe { block.as_ptr().add(*used) };
        *used += slot_bytes;
        NonNull::new(slot).expect("blocks do not begin at zero")
    }
}

/// The positions of the vectors and the slots in a segment. Each segment with vectors has a copy, at [`head_at`].
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Beside {
    /// 2^32 divided by the bytes of a slot, rounded up. A multiplication with it computes a slot's number from its
    /// offset.
    reciprocal: u64,
    vectors: usize,
    /// The size of a vector in bytes, a multiple of a cache line.
    vector_bytes: usize,
    /// The offset of the first slot.
    slots_at: usize,
    /// The number of slots in a segment.
    slots: usize,
}

/// The number of bytes of a segment before its vectors.
const HEAD_BYTES: usize = 4096;

const _: () = assert!(size_of::<Beside>() == LINE_BYTES && SEGMENT_BYTES == HUGE_PAGE_BYTES);

/// Returns the offset of the copy of [`Beside`] in the segment that begins at this address. Neighbouring segments have
/// their copies in different lines of a page, and so in different sets of a cache.
#[inline]
fn head_at(segment: usize) -> usize {
    segment / SEGMENT_BYTES * LINE_BYTES % HEAD_BYTES
}

impl Beside {
    fn new(slot_bytes: usize, vectors: usize) -> Self {
        const NUMBER: usize = size_of::<PlainAtomicU32>();
        let spare = SEGMENT_BYTES - HEAD_BYTES - vectors * LINE_BYTES;
        let slots = (spare / (slot_bytes + vectors * NUMBER)).max(1);
        let vector_bytes = (slots * NUMBER).next_multiple_of(LINE_BYTES);
        let slots_at = HEAD_BYTES + vectors * vector_bytes;
        Self { reciprocal: (1_u64 << 32).div_ceil(slot_bytes as u64), vectors, vector_bytes, slots_at, slots }
    }

    /// Returns the range of a segment's bytes that are slots.
    fn slots(&self, slot_bytes: usize) -> std::ops::Range<usize> {
        self.slots_at..self.slots_at + self.slots * slot_bytes
    }

    /// Makes the memory of a segment. The first segment of a table may hold only a few rows, so it uses small pages.
    fn block(&self, slot_bytes: usize, is_first: bool) -> HugeBlock {
        let bytes = self.slots(slot_bytes).end.max(SEGMENT_BYTES);
        let block = if is_first { HugeBlock::alloc_sparse(bytes) } else { HugeBlock::alloc_zeroed(bytes) };
        let start = block.as_ptr();
        // SAFETY: the place is in the first bytes of the block, which is larger, and is aligned to a cache line. No
        // other thread knows the block yet.
        unsafe { start.add(head_at(start.addr())).cast::<Self>().write(*self) };
        block
    }
}

/// Returns the number of a slot in the array numbered `vector`, out of the arrays of numbers beside the slots. The slot
/// itself is not read.
///
/// # Safety
/// The slot came from [`Segments`] that have more than `vector` vectors and live for `'a`.
#[inline]
pub(crate) unsafe fn beside<'a>(slot: NonNull<u8>, vector: usize) -> &'a PlainAtomicU32 {
    let within = slot.addr().get() % SEGMENT_BYTES;
    let segment = slot.as_ptr().wrapping_sub(within);
    // SAFETY: by the caller the slot belongs to a segment with vectors. Slots begin within the first `SEGMENT_BYTES` of
    // a segment, whose address is a multiple of that; `block` wrote the head before any thread knew a slot of the
    // segment, and no thread has written it since.
    let head = unsafe { &*segment.add(head_at(segment.addr())).cast::<Beside>() };
    debug_assert!(vector < head.vectors, "vector {vector} of {}", head.vectors);
    // The offset is a multiple of a slot's bytes and below 2^21, so rounding the reciprocal up adds less than one.
    let number = ((within - head.slots_at) as u64 * head.reciprocal) >> 32;
    let place = HEAD_BYTES + vector * head.vector_bytes + number as usize * size_of::<PlainAtomicU32>();
    // SAFETY: each vector has a number for each slot, zeroed when the block was made, and accessed as an atomic only.
    unsafe { &*segment.add(place).cast::<PlainAtomicU32>() }
}

impl fmt::Debug for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segments").field("slot_bytes", &self.slot_bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_sync::atomic::Ordering;

    #[test]
    fn slots_are_apart_zeroed_and_used_again() {
        let segments = Segments::new(100);
        assert_eq!(segments.slot_bytes(), 128);
        let mut slots: Vec<_> = (0..40_000).map(|_| segments.allocate()).collect();
        slots.sort_unstable();
        assert!(slots.windows(2).all(|pair| pair[1].as_ptr() as usize - pair[0].as_ptr() as usize >= 128));
        // SAFETY: the slot belongs to this test and has 128 bytes; it is freed once and not used afterwards.
        unsafe {
            slots[7].write_bytes(0xAA, 128);
            segments.free(slots[7]);
        }
        let again = segments.allocate();
        assert_eq!(again, slots[7]);
        // SAFETY: the slot belongs to this test again.
        assert_eq!(unsafe { again.read() }, 0);
    }

    #[test]
    fn vectors_have_a_number_for_each_slot_apart_from_all_slots() {
        for (bytes, count) in [(8, 200_000), (24, 100_000), (100, 40_000), (1000, 5000), (3 << 20, 3)] {
            let segments = Segments::with_beside(bytes, 2);
            let slot_bytes = segments.slot_bytes();
            let slots: Vec<_> = (0..count).map(|_| segments.allocate()).collect();
            let number = |slot: NonNull<u8>, vector| {
                // SAFETY: the slot came from these segments, which have two vectors.
                unsafe { beside(slot, vector) }
            };
            for (at, &slot) in slots.iter().enumerate() {
                for vector in 0..2 {
                    let before = number(slot, vector).swap((2 * at + vector + 1) as u32, Ordering::AcqRel);
                    assert_eq!(before, 0, "{bytes} bytes, slot {at}, vector {vector}");
                }
                // SAFETY: the slot belongs to this test and has that many bytes.
                unsafe { slot.write_bytes(0xAA, slot_bytes) };
            }
            for (at, &slot) in slots.iter().enumerate() {
                let found = [0, 1].map(|vector| number(slot, vector).load(Ordering::Acquire));
                assert_eq!(found, [2 * at as u32 + 1, 2 * at as u32 + 2], "{bytes} bytes, slot {at}");
            }
        }
        let segments = Segments::with_beside(128, 2);
        let mut slots: Vec<_> = (0..32).map(|_| segments.allocate()).collect();
        slots.sort_unstable();
        // SAFETY: as above.
        let places: Vec<_> = slots.iter().map(|&slot| unsafe { std::ptr::from_ref(beside(slot, 1)).addr() }).collect();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] == 4), "neighbours' numbers lie beside each other");
    }

    #[test]
    fn many_slots_come_at_once_the_warmest_last() {
        let segments = Segments::new(64);
        let mut slots = Vec::new();
        segments.allocate_many(5, &mut slots);
        let back = [slots[3], slots[1]];
        // SAFETY: the slots belong to this test, are freed once and not used afterwards.
        unsafe { segments.free_many(back.into_iter()) };
        let mut again = Vec::new();
        segments.allocate_many(3, &mut again);
        assert_eq!(again[1..], back);
        assert!(!slots.contains(&again[0]));
    }
}
