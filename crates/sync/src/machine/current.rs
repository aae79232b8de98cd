//! The machine whose virtual thread runs at present on the calling thread of the operating system.

use super::work::Uncounted;
use std::cell::Cell;
use std::ptr;

thread_local! {
    /// The address of the machine's state; null outside of virtual threads. An allocator reads it, so it must exist
    /// without being initialised, and it needs no drop.
    static MACHINE: Cell<*const ()> = const { Cell::new(ptr::null()) };
}

/// Returns the address of the state of the machine that runs the caller; null outside of virtual threads.
#[inline]
pub(super) fn machine() -> *const () {
    MACHINE.get()
}

/// Sets the address that [`machine`] returns. Returns the previous address.
#[inline]
pub(super) fn set_machine(machine: *const ()) -> *const () {
    MACHINE.replace(machine)
}

/// Whether the caller is a virtual thread.
#[inline]
pub fn is_running() -> bool {
    !machine().is_null()
}

/// Calls `work` as if no machine ran: it makes no steps, and the memory that it allocates is the system's and may
/// outlive the run. `work` must not wait for a virtual thread.
pub fn outside<R>(work: impl FnOnce() -> R) -> R {
    struct Back {
        machine: *const (),
        _uncounted: Uncounted,
    }

    impl Drop for Back {
        fn drop(&mut self) {
            set_machine(self.machine);
        }
    }

    let _uncounted = Uncounted::begin();
    let _back = Back { machine: set_machine(ptr::null()), _uncounted };
    work()
}
