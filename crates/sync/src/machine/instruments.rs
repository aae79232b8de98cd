//! The work of plain code, as the compiler's instrumentation tells it.
//!
//! A build for timed runs lets the compiler insert a call before each basic block, and before each plain load and
//! store. (The flags are those of LLVM's SanitizerCoverage; `bench/sim.sh` sets them.) So the work between two steps
//! is known without being timed, and it is the same in each run. `bench/sim-rustc.sh` leaves this crate out. Other code
//! that the machine runs for itself, such as that of `std`, is left out by [`counts`].

use super::memory::{BYTES, START};
use super::scheduler;
use super::work::{ALONE, count_work, counts, set_counts};
use std::sync::atomic::AtomicBool;

/// Whether the build has the calls.
static IS_PRESENT: AtomicBool = AtomicBool::new(false);

/// Whether the compiler has inserted the calls on which a timed run depends.
pub fn is_instrumented() -> bool {
    IS_PRESENT.load(ALONE)
}

// SAFETY of the names here: they are those that the instrumentation calls, and nothing else defines them, since the
// flags that `bench/sim.sh` sets link no sanitizer.

/// Called before `main`; the numbers of the blocks are not needed.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_trace_pc_guard_init(_: *mut u32, _: *mut u32) {
    IS_PRESENT.store(true, ALONE);
}

/// Called before each basic block.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_trace_pc_guard(_: *mut u32) {
    count_work(1);
}

macro_rules! accesses {
    ($($name:ident: $writes:literal)*) => {
        $(
            /// Called before each plain access of the name's kind and bytes.
            #[unsafe(no_mangle)]
            extern "C" fn $name(address: usize) {
                // What is not of the arena is a stack's or a static's, which a core nearly always has.
                if counts() && address.wrapping_sub(START) < BYTES {
                    set_counts(false);
                    scheduler::plain(address, $writes);
                    set_counts(true);
                }
            }
        )*
    };
}

accesses! {
    __sanitizer_cov_load1: false
    __sanitizer_cov_load2: false
    __sanitizer_cov_load4: false
    __sanitizer_cov_load8: false
    __sanitizer_cov_load16: false
    __sanitizer_cov_store1: true
    __sanitizer_cov_store2: true
    __sanitizer_cov_store4: true
    __sanitizer_cov_store8: true
    __sanitizer_cov_store16: true
}
