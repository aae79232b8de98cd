//! The items that `std`, loom, shuttle and the simulated machine have in common, each under one name.

#[cfg(not(any(loom, shuttle, machine)))]
mod chosen {
    pub use std::hint;
    pub use std::sync::atomic;
    pub use std::sync::{
        Barrier, Condvar, Mutex, MutexGuard, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc,
    };
    pub use std::thread;
}

#[cfg(loom)]
mod chosen {
    pub use loom::cell;
    pub use loom::hint;
    pub use loom::sync::atomic;
    pub use loom::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc};
    pub use loom::thread;
    pub use std::sync::OnceLock;
}

#[cfg(shuttle)]
mod chosen {
    pub use shuttle::hint;
    pub use shuttle::sync::atomic;
    pub use shuttle::sync::{Barrier, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc};
    pub use shuttle::thread;
    pub use std::sync::OnceLock;
}

#[cfg(machine)]
mod chosen {
    pub use crate::machine::atomic;
    pub use crate::machine::hint;
    pub use crate::machine::locks::{Condvar, Mutex, MutexGuard, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub use crate::machine::thread;
    // A wait for one of these would stop the whole machine. What runs on it uses neither.
    pub use std::sync::{Barrier, mpsc};
}

pub use chosen::*;
/// `std`'s atomic of 32 bits, in every build, for memory layouts in which the word must take four bytes. loom and
/// shuttle do not see it, as with [`PlainAtomicU64`].
#[cfg(not(machine))]
pub use std::sync::atomic::AtomicU32 as PlainAtomicU32;
/// `std`'s atomic of 64 bits, in every build, for memory layouts in which the word must take eight bytes: the atomics
/// of loom and shuttle are larger. These models do not see a plain atomic, so they explore no interleavings of its
/// accesses.
#[cfg(not(machine))]
pub use std::sync::atomic::AtomicU64 as PlainAtomicU64;
/// `std`'s reference counts, in every build. The models' own types have no unsized coercions, and only add a check for
/// leaks.
pub use std::sync::{Arc, Weak};
use std::time::Duration;

// The machine's atomics have the layout of `std`'s.
#[cfg(machine)]
pub use atomic::{AtomicU32 as PlainAtomicU32, AtomicU64 as PlainAtomicU64};

/// Leaks a box: returns a reference that is valid until the process ends. On the simulated machine, the value is freed
/// at the end of the run.
pub fn leak<T: ?Sized + 'static>(value: Box<T>) -> &'static T {
    #[cfg(machine)]
    return crate::machine::leak(value);
    #[cfg(not(machine))]
    Box::leak(value)
}

/// Returns the number of cores that the process may use, at least one. Under loom and shuttle it is the real machine's,
/// too; a simulated machine has its own.
pub fn cores() -> usize {
    #[cfg(not(machine))]
    use std::thread::available_parallelism;
    #[cfg(machine)]
    use thread::available_parallelism;
    available_parallelism().map_or(1, usize::from)
}

/// Returns the name of the simulated hardware, or `None` outside of a timed run of the simulated machine.
pub fn simulated_hardware() -> Option<String> {
    #[cfg(machine)]
    return crate::machine::hardware_name();
    #[cfg(not(machine))]
    None
}

/// Makes a timed run of the simulated machine count the work of `blocks` basic blocks, for code that the compiler does
/// not instrument, such as that of `libm`. Elsewhere the call does nothing.
#[inline(always)]
pub fn count_work(blocks: u64) {
    #[cfg(machine)]
    crate::machine::count_work(blocks);
    #[cfg(not(machine))]
    let _ = blocks;
}

/// Returns the processor time that the calling thread has used, user and system time together, or zero if the system
/// does not tell. On the simulated machine it is the machine's time.
pub fn thread_cpu_time() -> Duration {
    #[cfg(machine)]
    if let Some(time) = crate::machine::cpu_time() {
        return time;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the structure that it is given.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if done != 0 {
        return Duration::ZERO;
    }
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Declares thread-local values: each thread has its own.
#[cfg(machine)]
pub use crate::machine_thread_local as thread_local;
/// Declares thread-local values: each thread has its own.
#[cfg(not(machine))]
pub use std::thread_local;
