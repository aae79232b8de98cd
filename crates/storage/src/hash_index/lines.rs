//! The array behind one shard: cache lines of slots, and the walk that finds an entry.

use hotrow_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::ops::ControlFlow;

/// The number of slots of a line. A model has few, so that a handful of entries fills a line.
pub(super) const SLOTS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 8 };

/// The word of a slot that has not held an entry since the array was made, or whose entry was removed from a line that
/// was never full. Fresh memory has this value.
pub(super) const EMPTY: u64 = 0;

/// The word of a slot whose entry was removed from a full line. It is not an address: addresses are multiples of eight.
pub(super) const TOMBSTONE: u64 = 1;

/// The mask of the bits of a slot that hold the address; the other bits hold the tag.
pub(super) const ADDRESS: u64 = (1 << 48) - 1;

/// A line: the slots that share a cache line.
#[repr(align(64))]
pub(super) struct Line([AtomicU64; SLOTS]);

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Line>() == 64);

/// Returns the tag of a hash: the bits of the hash that a slot keeps, at their place in the slot. They are bits 42 to
/// 57 of the hash, so that they are independent of the slot's position (the low bits) and of the shard (the high bits).
#[inline]
pub(super) fn tag(hash: u64) -> u64 {
    hash << 6 & !ADDRESS
}

/// Returns the address in the slot's word `slot` if the slot holds an entry with this tag.
#[inline]
pub(super) fn tagged(slot: u64, tag: u64) -> Option<usize> {
    let difference = slot ^ tag;
    (difference <= ADDRESS && difference > TOMBSTONE).then_some(difference as usize)
}

/// Returns the address in the slot's word `slot` if the slot holds any entry.
#[inline]
pub(super) fn occupied(slot: u64) -> Option<usize> {
    (slot > TOMBSTONE).then_some((slot & ADDRESS) as usize)
}

/// The lines of one shard, borrowed by a reader or writer. Their number is a power of two.
#[derive(Clone, Copy)]
pub(super) struct Lines<'g> {
    lines: &'g [Line],
}

impl<'g> Lines<'g> {
    /// Returns the number of slots in all lines.
    #[inline]
    pub fn capacity(self) -> usize {
        self.lines.len() * SLOTS
    }

    /// Returns the line where the search for `hash` begins.
    #[inline]
    pub fn home(self, hash: u64) -> &'g Line {
        self.line(hash as usize / SLOTS)
    }

    /// Returns the line at `position` modulo the number of lines.
    #[inline]
    pub fn line(self, position: usize) -> &'g Line {
        // SAFETY: the number of lines is a power of two (both constructors of `&[Line]` see to it), so the mask keeps
        // the position below it.
        unsafe { self.lines.get_unchecked(position & (self.lines.len() - 1)) }
    }

    /// Returns the line in which `slot` stands. The slot must belong to one of these lines.
    pub fn line_of(self, slot: &AtomicU64) -> &'g Line {
        let offset = std::ptr::from_ref(slot).addr() - self.lines.as_ptr().addr();
        self.line(offset / size_of::<Line>())
    }

    /// Returns all lines of the shard, in the order of their positions.
    pub fn all(self) -> &'g [Line] {
        self.lines
    }

    /// Visits the slots that may hold an entry with this hash, each with its word. Returns the value with which `visit`
    /// breaks; `None` if it has not broken when the search reaches the end of a line that was never full.
    #[inline]
    pub fn probe<B>(self, hash: u64, mut visit: impl FnMut(&'g AtomicU64, u64) -> ControlFlow<B>) -> Option<B> {
        let mut position = hash as usize / SLOTS;
        let first = hash as usize % SLOTS;
        loop {
            let line = self.line(position);
            let mut has_room = false;
            for offset in 0..SLOTS {
                let slot = &line.0[(first + offset) % SLOTS];
                // Pairs with the release of `HashIndex::place`: a thread that sees an address sees the record behind
                // it.
                let word = slot.load(Ordering::Acquire);
                has_room |= word == EMPTY;
                if let ControlFlow::Break(found) = visit(slot, word) {
                    return Some(found);
                }
            }
            if has_room {
                return None;
            }
            position += 1;
        }
    }

    /// Finds the slot into which a new entry of `hash` is put. Returns the slot and its present word, [`EMPTY`] or
    /// [`TOMBSTONE`].
    #[inline]
    pub fn free(self, hash: u64) -> (&'g AtomicU64, u64) {
        self.probe(hash, |slot, word| match word {
            EMPTY | TOMBSTONE => ControlFlow::Break((slot, word)),
            _ => ControlFlow::Continue(()),
        })
        .expect("a line that ends the search has an empty slot")
    }
}

impl Line {
    /// Reads the word of each slot of the line once.
    #[inline]
    pub fn words(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|slot| slot.load(Ordering::Acquire))
    }

    /// Whether the line was never full.
    pub fn has_room(&self) -> bool {
        self.words().any(|word| word == EMPTY)
    }
}

/// The lines of one shard, as the owner of their memory.
pub(super) struct Array {
    start: *mut Line,
    log2_lines: u32,
    #[cfg(not(any(loom, shuttle)))]
    _block: crate::HugeBlock,
}

// SAFETY: an array owns its lines, and lines are atomics.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

impl Array {
    /// Makes an array with room for at least `slots` entries.
    pub fn new(slots: usize) -> Self {
        let lines = slots.div_ceil(SLOTS).next_power_of_two();
        Self::with_lines(lines, lines.ilog2())
    }

    #[cfg(not(any(loom, shuttle)))]
    fn with_lines(lines: usize, log2_lines: u32) -> Self {
        let block = crate::HugeBlock::alloc_zeroed(lines * size_of::<Line>());
        Self { start: block.as_ptr().cast(), log2_lines, _block: block }
    }

    /// Makes the array of a model. Its lines are made one by one, since a model's atomics cannot be made of zeroed
    /// memory.
    #[cfg(any(loom, shuttle))]
    fn with_lines(lines: usize, log2_lines: u32) -> Self {
        let lines: Box<[Line]> = (0..lines).map(|_| Line(std::array::from_fn(|_| AtomicU64::new(EMPTY)))).collect();
        Self { start: Box::into_raw(lines).cast(), log2_lines }
    }

    /// Returns the lines of this array.
    pub fn lines(&self) -> Lines<'_> {
        // SAFETY: `start` leads to that many initialised lines, since all zero bits are an empty line, and they live as
        // long as self.
        Lines { lines: unsafe { std::slice::from_raw_parts(self.start, 1 << self.log2_lines) } }
    }

    /// Packs the address of the lines and the binary logarithm of their number into one word. That is possible because
    /// lines are aligned to 64 bytes, and the logarithm is below 64.
    fn descriptor(&self) -> *mut Line {
        self.start.map_addr(|address| address | self.log2_lines as usize)
    }
}

#[cfg(any(loom, shuttle))]
impl Drop for Array {
    fn drop(&mut self) {
        let lines = std::ptr::slice_from_raw_parts_mut(self.start, 1 << self.log2_lines);
        // SAFETY: the lines were made by `Box::into_raw` in `with_lines`, and dropped once.
        drop(unsafe { Box::from_raw(lines) });
    }
}

/// The place where readers find a shard's present array. It holds the array's address and its size, which change
/// together.
pub(super) struct Published(AtomicPtr<Line>);

impl Published {
    /// Makes the place, with `array` as the present array.
    pub fn new(array: &Array) -> Self {
        Self(AtomicPtr::new(array.descriptor()))
    }

    /// Publishes `array`, whose entries are all in place, instead of the present array.
    pub fn replace(&self, array: &Array) {
        self.0.store(array.descriptor(), Ordering::Release);
    }

    /// Returns the lines of the present array.
    ///
    /// # Safety
    ///
    /// Every array published here must outlive `'g` if it was present at some moment in `'g`.
    #[inline]
    pub unsafe fn lines<'g>(&self) -> Lines<'g> {
        // Pairs with the release of `replace`: the entries that were copied are in place.
        let descriptor = self.0.load(Ordering::Acquire);
        let log2_lines = descriptor.addr() % align_of::<Line>();
        let start = descriptor.map_addr(|address| address - log2_lines);
        // SAFETY: `descriptor` made the word of an array's start and size, and the caller keeps the array alive.
        Lines { lines: unsafe { std::slice::from_raw_parts(start, 1 << log2_lines) } }
    }
}
