//! The numbers of threads.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns the calling thread's number, from one. No other thread has had it or will have it.
#[inline]
pub fn thread_number() -> u64 {
    #[cfg(machine)]
    if let Some(number) = crate::machine::number() {
        return number as u64 + 1;
    }
    OWN_NUMBER.with(|number| match number.get() {
        0 => first_number(number),
        number => number,
    })
}

#[cold]
fn first_number(number: &Cell<u64>) -> u64 {
    /// The greatest number that was given to a thread. It is not an atomic of the models: it only has to give each
    /// number once.
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    // Relaxed: nothing is read because of it.
    number.set(NUMBERS.fetch_add(1, Ordering::Relaxed) + 1);
    number.get()
}

#[cfg(not(any(loom, shuttle)))]
std::thread_local! {
    static OWN_NUMBER: Cell<u64> = const { Cell::new(0) };
}

#[cfg(loom)]
loom::thread_local! {
    static OWN_NUMBER: Cell<u64> = Cell::new(0);
}

#[cfg(shuttle)]
shuttle::thread_local! {
    static OWN_NUMBER: Cell<u64> = Cell::new(0);
}
