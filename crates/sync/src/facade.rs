//! The items that `std`, loom and shuttle have in common, each under one name.

#[cfg(not(any(loom, shuttle)))]
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

pub use chosen::*;
/// `std`'s reference count, in every build. The models' own types have no unsized coercions, and only add a check for
/// leaks.
pub use std::sync::Arc;
/// `std`'s atomic of 32 bits, in every build, for a word that is four bytes of a layout. As with [`PlainAtomicU64`],
/// models switch no threads at it.
pub use std::sync::atomic::AtomicU32 as PlainAtomicU32;
/// `std`'s atomic of 64 bits, in every build, for a word that is eight bytes of a layout. The models' own types are
/// larger. Models switch no threads at a plain atomic.
pub use std::sync::atomic::AtomicU64 as PlainAtomicU64;

/// Returns the number of cores, at least one. A model has as many as its machine.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
