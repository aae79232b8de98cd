//! What `std`, loom and shuttle have in common, under one name each.

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
/// Always `std`'s: the models' own have no unsized coercions, and only add a check for leaks.
pub use std::sync::Arc;
/// The same for a word of four bytes.
pub use std::sync::atomic::AtomicU32 as PlainAtomicU32;
/// Always `std`'s: for a word that is eight bytes of a layout. The models' own are larger; models switch no threads at this one.
pub use std::sync::atomic::AtomicU64 as PlainAtomicU64;

/// How many cores there are, one at the least. A model has as many as its machine.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
