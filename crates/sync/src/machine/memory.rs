//! Memory at the same addresses in each run, since addresses decide things: rows with the same key stand in the order
//! of their addresses, and tables are hashed by them.
//!
//! The global allocator of a build for the machine gives the threads of a run memory of an *arena* at a fixed address.
//! All other code gets memory of the system. Each run begins with an empty arena, so a process makes one run at a time.
//!
//! **Invariants**
//!
//! 1. Only the thread of the operating system that has the [`Arena`] takes memory from it, so it needs no
//!    synchronisation.
//! 2. A run that succeeds has given all memory of the arena back at its end: [`run`](super::run) panics if it has not,
//!    and the caller of [`run_timed`](super::run_timed) must not use what is left. A run that fails leaks its threads,
//!    which never go on. So no code reads memory of an earlier run when the next run uses the arena.

use super::current::is_running;
use super::work::count_work;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The address of the arena.
pub(super) const START: usize = 0x1000_0000_0000;
/// The size of the arena in bytes. Only the bytes that are touched take memory.
pub(super) const BYTES: usize = 1 << 37;
/// The size of the arena's first part in bytes. The second part has the large blocks.
const SMALL_BYTES: usize = 1 << 35;

/// The least size of a large block, in bytes. A large block gets addresses that the run has not used before, so its
/// bytes are zero, and it takes no memory where it is not touched.
const LEAST_LARGE: usize = 256 << 10;

/// The greatest size, in bytes, that is rounded up to a multiple of 16 bytes. Greater sizes are rounded up to a power
/// of two.
const MOST_FINE: usize = 1024;
const PAGE: usize = 4096;

/// The number of basic blocks that a timed run counts for each block of memory that is given out or taken back: about
/// the work of a good allocator.
const ALLOCATOR_BLOCKS: u64 = 12;

/// The number of lists of free blocks: one for each multiple of 16 bytes, and one for each power of two.
const LISTS: usize = MOST_FINE / 16 + 1 + usize::BITS as usize;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator { state: UnsafeCell::new(State::EMPTY) };

/// The mutex that a run holds while it uses the arena.
static ALONE: Mutex<()> = Mutex::new(());

/// The number of blocks of the arena that were given out and not given back.
static LIVE: AtomicUsize = AtomicUsize::new(0);

struct Allocator {
    state: UnsafeCell<State>,
}

// SAFETY: only the thread that holds `ALONE` uses the state.
unsafe impl Sync for Allocator {}

struct State {
    /// The offset in the arena behind the last block of the first part, whether the block is in use or in a list.
    small: usize,
    /// The offset in the arena behind the last block of the second part.
    large: usize,
    /// The bytes at the beginning of the arena to which this run or an earlier one may have written. The bytes behind
    /// them, up to the second part, are zero.
    written: usize,
    /// The address of the first free block of each list; a free block holds the address of the next one.
    free: [*mut u8; LISTS],
    is_mapped: bool,
}

/// The right to use the arena, which a machine has while it runs.
pub(super) struct Arena {
    _alone: MutexGuard<'static, ()>,
}

impl Arena {
    /// Waits until no other machine runs, and empties the arena.
    pub(super) fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: this thread holds `ALONE`, and no machine runs that could use the state meanwhile.
        unsafe { (*ALLOCATOR.state.get()).reset() };
        LIVE.store(0, Ordering::Release);
        Self { _alone: alone }
    }

    /// Returns the number of blocks that were given out in this run and not given back.
    pub(super) fn live(&self) -> usize {
        LIVE.load(Ordering::Acquire)
    }
}

/// Whether memory that the caller allocates is of the arena: that of a virtual thread which does not panic. The code
/// that reports a panic keeps memory for the next panic, which may come after the run.
fn is_inside() -> bool {
    is_running() && !std::thread::panicking()
}

fn contains(block: *mut u8) -> bool {
    (START..START + BYTES).contains(&block.addr())
}

// SAFETY: blocks of the arena do not overlap, as `State` says; all else is the system's.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_inside() {
            // SAFETY: as our caller promises.
            return unsafe { System.alloc(layout) };
        }
        // SAFETY: the thread runs a machine, so it holds `ALONE`; the call does not come back here.
        unsafe { (*self.state.get()).take(layout).0 }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !is_inside() {
            // SAFETY: as our caller promises.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: as above; the block has the layout's size.
        unsafe {
            let (block, is_zero) = (*self.state.get()).take(layout);
            if !is_zero {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !contains(block) {
            // SAFETY: as our caller promises; the block is the system's.
            return unsafe { System.dealloc(block, layout) };
        }
        LIVE.fetch_sub(1, Ordering::AcqRel);
        if is_running() {
            count_work(ALLOCATOR_BLOCKS);
            // SAFETY: as in `alloc`; the block was given out with this layout.
            unsafe { (*self.state.get()).give_back(block, layout) };
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !contains(block) {
            // SAFETY: as our caller promises; the block is the system's.
            return unsafe { System.realloc(block, layout, size) };
        }
        // SAFETY: as our caller promises, the new size with this alignment is a layout; the blocks do not overlap.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// Returns the size of the block for a layout, and the number of its list. Blocks whose size is a power of two are
/// aligned to their size.
fn class(layout: Layout) -> (usize, usize) {
    if layout.align() <= 16 && layout.size() <= MOST_FINE {
        let size = layout.size().max(1).next_multiple_of(16);
        return (size, size / 16);
    }
    let size = layout.size().max(layout.align()).next_power_of_two();
    (size, MOST_FINE / 16 + 1 + size.ilog2() as usize)
}

impl State {
    const EMPTY: Self =
        Self { small: 0, large: SMALL_BYTES, written: 0, free: [ptr::null_mut(); LISTS], is_mapped: false };

    /// Empties the arena.
    fn reset(&mut self) {
        if !self.is_mapped {
            map();
        }
        let used = self.large - SMALL_BYTES;
        if used > 0 {
            discard(ptr::with_exposed_provenance_mut(START + SMALL_BYTES), used);
        }
        *self = Self { written: self.written.max(self.small), is_mapped: true, ..Self::EMPTY };
    }

    /// Gives out a block. Returns its address, and whether all its bytes are zero.
    fn take(&mut self, layout: Layout) -> (*mut u8, bool) {
        LIVE.fetch_add(1, Ordering::AcqRel);
        count_work(ALLOCATOR_BLOCKS);
        let (size, list) = class(layout);
        if size >= LEAST_LARGE {
            let place = self.large.next_multiple_of(size.max(layout.align()));
            self.large = place + size;
            assert!(self.large <= BYTES, "a run takes more memory than the arena has");
            return (ptr::with_exposed_provenance_mut(START + place), true);
        }
        if let Some(block) = NonNull::new(self.free[list]) {
            // SAFETY: a free block holds the next one, and nobody else uses it.
            self.free[list] = unsafe { block.cast::<*mut u8>().read() };
            return (block.as_ptr(), false);
        }
        let align = if size <= MOST_FINE && layout.align() <= 16 { 16 } else { size };
        let place = self.small.next_multiple_of(align);
        self.small = place + size;
        assert!(self.small <= SMALL_BYTES, "a run takes more memory than the arena has");
        (ptr::with_exposed_provenance_mut(START + place), place >= self.written)
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// The block was given out with this layout, and no code uses it any more.
    unsafe fn give_back(&mut self, block: *mut u8, layout: Layout) {
        let (size, list) = class(layout);
        if size >= LEAST_LARGE {
            discard(block, size);
            return;
        }
        // SAFETY: a block has at least 16 bytes, aligned to 16.
        unsafe { block.cast::<*mut u8>().write(self.free[list]) };
        self.free[list] = block;
    }
}

/// A large array outside of the arena. Its bytes are zero at first, and take no memory where they are not touched.
#[derive(Debug)]
pub(super) struct Zeroed<T> {
    start: NonNull<T>,
    len: usize,
}

impl<T: Copy> Zeroed<T> {
    /// Makes an array of `len` values, all of whose bytes are zero.
    ///
    /// # Safety
    /// Zero bytes are a valid value of the type.
    pub(super) unsafe fn new(len: usize) -> Self {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let bytes = len * size_of::<T>();
        // SAFETY: a new mapping that replaces no other one.
        let mapped = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        assert!(mapped != libc::MAP_FAILED, "no addresses are left for {bytes} bytes");
        Self { start: NonNull::new(mapped.cast()).expect("a mapping is not at address zero"), len }
    }

    /// Returns the value at a place, which must be within the array.
    #[inline]
    pub(super) fn at(&mut self, place: usize) -> &mut T {
        assert!(place < self.len);
        // SAFETY: the mapping has this place, and the array is borrowed alone.
        unsafe { self.start.add(place).as_mut() }
    }
}

impl<T> Drop for Zeroed<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is the array's own, and nobody uses it any more.
        let done = unsafe { libc::munmap(self.start.as_ptr().cast(), self.len * size_of::<T>()) };
        assert!(done == 0, "the system does not take memory back");
    }
}

/// Maps the arena at its fixed address. Panics if other memory is there.
fn map() {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let start = ptr::without_provenance_mut(START);
    // SAFETY: a new mapping that replaces no other one.
    let mapped = unsafe { libc::mmap(start, BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    assert!(mapped == start, "the addresses of the simulated machine's memory are taken");
    let _ = mapped.expose_provenance();
}

/// Gives whole pages back to the system. They are zero from now on.
fn discard(start: *mut u8, bytes: usize) {
    // SAFETY: the pages are of the arena's second part, whose blocks are whole pages, and nobody uses them.
    let done = unsafe { libc::madvise(start.cast(), bytes.next_multiple_of(PAGE), libc::MADV_DONTNEED) };
    assert!(done == 0, "the system does not take memory back");
}
