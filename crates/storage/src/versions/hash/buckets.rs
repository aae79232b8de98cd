//! The words of a hash index's buckets: segments that never move, each as large as all segments before it.

use hotrow_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use hotrow_sync::{CachePadded, Mutex};
use std::ops::Range;

/// The binary logarithm of the initial number of buckets, which form the first segment.
const FIRST_LEVEL: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 6 };

/// The greatest number of segments, enough for 2^45 buckets: more memory than there are addresses.
const SEGMENTS: usize = 40;

/// The buckets of a hash index, of which 2^`level` are in use.
pub(super) struct Buckets {
    level: AtomicU32,
    /// The number of the first bucket that no thread has taken to make. All buckets below it are made, or about to be.
    made: CachePadded<AtomicU64>,
    segments: [AtomicPtr<AtomicU64>; SEGMENTS],
    /// The memory that `segments` points to. A thread holds the mutex while it doubles the buckets.
    owned: Mutex<Vec<Segment>>,
}

impl Buckets {
    /// Makes the first segment, with `first` in its first word.
    pub fn new(first: u64) -> Self {
        let segment = Segment::new(1 << FIRST_LEVEL);
        let segments = std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut()));
        segments[0].store(segment.start(), Ordering::Release);
        let (level, made) = (AtomicU32::new(FIRST_LEVEL), CachePadded(AtomicU64::new(1)));
        let buckets = Self { level, made, segments, owned: Mutex::new(vec![segment]) };
        buckets.word(0).store(first, Ordering::Release);
        buckets
    }

    /// Returns the number of the bucket of a hash, and the bucket's word.
    #[inline]
    pub fn of(&self, hash: u64) -> (u64, &AtomicU64) {
        // Pairs with the release of `double_if_below`: the segment is published.
        let bucket = hash & ((1 << self.level.load(Ordering::Acquire)) - 1);
        (bucket, self.word(bucket))
    }

    /// Returns the word of a bucket that is in use.
    #[inline]
    pub fn word(&self, bucket: u64) -> &AtomicU64 {
        let segment = (bucket >> FIRST_LEVEL).checked_ilog2().map_or(0, |log| log as usize + 1);
        let start = self.segments[segment].load(Ordering::Acquire);
        debug_assert!(!start.is_null(), "bucket {bucket} is in use");
        // SAFETY: a segment is published before its buckets are in use, has a word for each of its buckets, and lives
        // as long as self.
        unsafe { &*start.add((bucket - first_of(segment)) as usize) }
    }

    /// Returns the number of the bucket whose word is at an address, and the word.
    #[inline]
    pub fn at(&self, address: usize) -> (u64, &AtomicU64) {
        // Searched from the last segment, which has half of all buckets; the one before has half of the rest, and so
        // on.
        let last = (self.level.load(Ordering::Acquire) - FIRST_LEVEL) as usize;
        for segment in (0..=last).rev() {
            let start = self.segments[segment].load(Ordering::Acquire);
            let offset = address.wrapping_sub(start.addr()) / size_of::<AtomicU64>();
            if offset < len_of(segment) {
                // SAFETY: the word is within the segment, which lives as long as self.
                return (first_of(segment) + offset as u64, unsafe { &*start.add(offset) });
            }
        }
        unreachable!("a stop is the word of a bucket in use")
    }

    /// Doubles the buckets if they are fewer than `versions`. If another thread is doubling them, the call does
    /// nothing.
    pub fn double_if_below(&self, versions: u64) {
        let level = self.level.load(Ordering::Acquire);
        if versions <= 1 << level {
            return;
        }
        let Ok(mut owned) = self.owned.try_lock() else { return };
        let next = (level - FIRST_LEVEL) as usize + 1;
        // Another thread may have doubled the buckets since the level was read.
        if owned.len() != next || next == SEGMENTS {
            return;
        }
        let segment = Segment::new(len_of(next));
        self.segments[next].store(segment.start(), Ordering::Release);
        owned.push(segment);
        self.level.store(level + 1, Ordering::Release);
    }

    /// Claims up to `most` buckets that are in use but not in the index's list yet, and returns their numbers. The
    /// caller puts them into the list. Returns `None` if there are no such buckets, or if another thread claims some at
    /// the same time.
    pub fn take_unmade(&self, most: u64) -> Option<Range<u64>> {
        let end = 1 << self.level.load(Ordering::Acquire);
        // Relaxed, here and in the exchange: this only divides the work; the words of the buckets order the rest.
        let first = self.made.load(Ordering::Relaxed);
        if first >= end {
            return None;
        }
        let next = end.min(first + most);
        // Relaxed: as above.
        let taken = self.made.compare_exchange(first, next, Ordering::Relaxed, Ordering::Relaxed);
        taken.ok().map(|first| first..next)
    }

    /// Returns the bytes of all segments.
    pub fn bytes(&self) -> usize {
        size_of::<AtomicU64>() << self.level.load(Ordering::Acquire)
    }
}

/// Claims an unused bucket for the caller, and sets its word to `value`. Returns false if the bucket was not unused.
pub(super) fn claim(word: &AtomicU64, value: u64) -> bool {
    word.compare_exchange(0, value, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

/// Sets the word of a bucket that the caller has claimed and that is not in the list yet.
pub(super) fn set_claimed(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Release);
}

/// Returns the number of a segment's first bucket.
#[inline]
fn first_of(segment: usize) -> u64 {
    if segment == 0 { 0 } else { 1 << (FIRST_LEVEL as usize + segment - 1) }
}

#[inline]
fn len_of(segment: usize) -> usize {
    1 << (FIRST_LEVEL as usize + segment.saturating_sub(1))
}

/// A segment of buckets, whose words are zero at first.
#[cfg(not(any(loom, shuttle)))]
struct Segment(crate::HugeBlock);

#[cfg(not(any(loom, shuttle)))]
impl Segment {
    fn new(words: usize) -> Self {
        Self(crate::HugeBlock::alloc_zeroed(words * size_of::<AtomicU64>()))
    }

    fn start(&self) -> *mut AtomicU64 {
        self.0.as_ptr().cast()
    }
}

/// A segment for the models, whose atomics cannot be made of zeroed memory.
#[cfg(any(loom, shuttle))]
struct Segment(Box<[AtomicU64]>);

#[cfg(any(loom, shuttle))]
impl Segment {
    fn new(words: usize) -> Self {
        Self((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    /// Returns the address of the first word. All words are changed as atomics only, through this pointer too.
    fn start(&self) -> *mut AtomicU64 {
        self.0.as_ptr().cast_mut()
    }
}
