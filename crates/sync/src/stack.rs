//! The bytes that are left of the stack on which the caller runs, a coroutine's or a thread's, and a larger stack for a
//! while.
//!
//! Code whose recursion follows its input asks [`left`] on the way down, and gives up while there is still room to do
//! so in order. Code that cannot ask, such as a library's, is called through [`with_room`].

use crate::coroutine::overflow::{self, Bounds, Running};
use corosensei::stack::DefaultStack;
use std::cell::Cell;
use std::io;

thread_local! {
    /// The lowest address that the thread's present stack may use; zero until [`left`] is first called.
    static FLOOR: Cell<usize> = const { Cell::new(0) };

    /// The spare stack on which [`with_room`] ran last, kept for the next call.
    static SPARE: Cell<Option<Spare>> = const { Cell::new(None) };
}

/// Returns how many bytes of stack are left to the caller. The call costs a load and a subtraction.
#[inline]
pub fn left() -> usize {
    let local = 0_u8;
    let here = (&raw const local).addr();
    match FLOOR.get() {
        0 => left_of_thread(here),
        floor => here.saturating_sub(floor),
    }
}

/// Finds the lowest address of the thread's own stack, at the thread's first call of [`left`].
#[cold]
fn left_of_thread(here: usize) -> usize {
    let floor = floor_of_thread().filter(|&floor| floor < here).unwrap_or(here.saturating_sub(UNKNOWN_BYTES));
    FLOOR.set(floor.max(1));
    here.saturating_sub(floor)
}

/// The bytes that a thread is assumed to have left if the system says nothing about its stack.
const UNKNOWN_BYTES: usize = 256 << 10;

/// The number of bytes left unused at the bottom of the stack that the system reports: a guard page of any existing
/// size may lie there.
const GUARD_BYTES: usize = 64 << 10;

#[cfg(target_os = "linux")]
fn floor_of_thread() -> Option<usize> {
    use std::mem::MaybeUninit;
    use std::ptr;
    let mut attributes = MaybeUninit::uninit();
    let mut lowest = ptr::null_mut();
    let mut size = 0;
    // SAFETY: the first call fills the attributes or says that it has not. They are read only if filled, and destroyed
    // once.
    let known = unsafe {
        libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 && {
            let read = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size) == 0;
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            read
        }
    };
    known.then(|| lowest.addr() + GUARD_BYTES)
}

#[cfg(target_vendor = "apple")]
fn floor_of_thread() -> Option<usize> {
    // SAFETY: the calls only ask for numbers.
    let (highest, size) = unsafe {
        let thread = libc::pthread_self();
        (libc::pthread_get_stackaddr_np(thread), libc::pthread_get_stacksize_np(thread))
    };
    highest.addr().checked_sub(size).map(|lowest| lowest + GUARD_BYTES)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn floor_of_thread() -> Option<usize> {
    None
}

/// Records that the thread now runs on the stack whose lowest usable address is `floor`, for [`left`]. Returns that
/// address of the stack on which the thread ran before.
#[inline]
pub(crate) fn enter(floor: usize) -> usize {
    FLOOR.replace(floor)
}

/// Records that the thread runs on its previous stack again. `before` is the result of the matching [`enter`].
#[inline]
pub(crate) fn leave(before: usize) {
    FLOOR.set(before);
}

/// Returns the lowest address of the present stack, for [`leave`].
#[cfg(machine)]
pub(crate) fn floor() -> usize {
    FLOOR.get()
}

/// The bytes of a spare stack that calls may have used before they ask for room again and still get it there.
const NESTED_BYTES: usize = 256 << 10;

/// A spare stack, for work that does not wait.
struct Spare {
    memory: DefaultStack,
    bounds: Bounds,
    bytes: usize,
}

/// Calls `work` with at least `bytes` bytes of stack, and returns its result. The work runs on the present stack if
/// that much is left, and otherwise on a spare stack, which the thread keeps for the next time. A coroutine cannot be
/// suspended during `work`.
///
/// # Errors
/// If the system has no memory, or no more mappings, for a stack.
///
/// # Panics
/// If `work` does.
pub fn with_room<R>(bytes: usize, work: impl FnOnce() -> R) -> io::Result<R> {
    if left() >= bytes {
        return Ok(work());
    }
    let mut spare = match SPARE.take().filter(|spare| spare.bytes >= bytes) {
        Some(spare) => spare,
        None => Spare::new(bytes)?,
    };
    let result = {
        let _running = Running::on(spare.bounds);
        corosensei::on_stack(&mut spare.memory, work)
    };
    SPARE.set(Some(spare));
    Ok(result)
}

impl Spare {
    fn new(bytes: usize) -> io::Result<Self> {
        overflow::watch();
        // The extra bytes let nested calls that ask for as much again run on the same stack.
        let memory = DefaultStack::new(bytes + NESTED_BYTES)?;
        Ok(Self { bounds: Bounds::of(&memory), memory, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coroutine::{Coroutine, Resumed, Stack};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Recurses until less than `reserve` is left. Returns the depth, and how much was left then.
    fn down(reserve: usize, depth: usize) -> (usize, usize) {
        let frame = std::hint::black_box([depth; 16]);
        let left = left();
        let deepest = if left < reserve { (depth, left) } else { down(reserve, depth + 1) };
        assert_eq!(frame[15], depth);
        deepest
    }

    #[test]
    fn a_thread_can_tell_how_much_is_left() {
        for size in [256 << 10, 1 << 20] {
            let thread = std::thread::Builder::new().stack_size(size).spawn(move || {
                // A thread may get the larger stack of a thread that has ended.
                let before = left();
                assert!(before > size / 2, "{before} of {size}");
                let (depth, at_last) = down(32 << 10, 0);
                assert!(depth > 10 && at_last > 16 << 10, "{depth} {at_last}");
                left()
            });
            assert!(thread.unwrap().join().unwrap() > size / 2);
        }
    }

    #[test]
    fn a_coroutine_has_what_its_stack_has_however_often_it_is_suspended() {
        let outside = left();
        let mut coroutines: Vec<_> = [64 << 10, 256 << 10]
            .map(|size| {
                let stack = Stack::new(size).unwrap();
                let suspender = stack.suspender();
                Coroutine::new(stack, move || {
                    for _ in 0..3 {
                        let before = left();
                        assert!(before <= size && before > size / 2, "{before} of {size}");
                        assert!(down(16 << 10, 0).0 > 10);
                        suspender.suspend();
                    }
                })
            })
            .into();
        for _ in 0..3 {
            for coroutine in &mut coroutines {
                assert!(matches!(coroutine.resume(), Resumed::Suspended));
                assert!(left().abs_diff(outside) < 4096, "the thread's own again");
            }
        }
        drop(coroutines);
        assert!(left().abs_diff(outside) < 4096);
    }

    #[test]
    fn there_is_room_where_it_is_asked_for() {
        const ROOM: usize = 1 << 20;
        let check = || {
            let mut deep = Vec::new();
            for _ in 0..2 {
                let inner = || with_room(2 * ROOM, || left() >= 2 * ROOM - 4096).unwrap();
                deep.push(with_room(ROOM, || (down(64 << 10, 0).0, inner())).unwrap());
            }
            deep.iter().all(|&(depth, inner)| depth > ROOM / 2048 && inner)
        };
        let mut coroutine = Coroutine::new(Stack::new(64 << 10).unwrap(), check);
        assert!(matches!(coroutine.resume(), Resumed::Returned(true)));
        assert!(std::thread::Builder::new().stack_size(256 << 10).spawn(check).unwrap().join().unwrap());
    }

    #[test]
    fn a_panic_comes_back_to_the_stack_that_it_belongs_to() {
        let before = left();
        let panicked = catch_unwind(AssertUnwindSafe(|| with_room(before * 2, || panic!("in there"))));
        assert!(panicked.is_err());
        assert!(left().abs_diff(before) < 4096);
    }
}
