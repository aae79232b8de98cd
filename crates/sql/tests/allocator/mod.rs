//! An allocator that knows what each thread asks it for.

#![allow(dead_code, reason = "each test file uses a part")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's, with what each thread has asked for.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static USED: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator with the same arguments; counting touches no memory of its own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.get() + layout.size() as isize;
        CALLS.set(CALLS.get() + 1);
        USED.set(used);
        MOST.set(MOST.get().max(used));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.set(USED.get() - layout.size() as isize);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often this thread asks for memory while `work` runs.
pub fn calls(work: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}

/// The most bytes that this thread has in use at a time while `work` runs, above those before.
pub fn most_bytes(work: impl FnOnce()) -> usize {
    let before = USED.get();
    MOST.set(before);
    work();
    (MOST.get() - before).unsigned_abs()
}
