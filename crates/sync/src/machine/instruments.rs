//! The work of plain code, as the compiler's instrumentation tells it.
//!
//! A build for timed runs lets the compiler insert a call before each basic block, and before each plain load and
//! store. (The flags are those of LLVM's SanitizerCoverage; `bench/sim.sh` sets them.) So the work between two steps is
//! known without being timed, and it is the same in each run. `bench/sim-rustc.sh` compiles this crate without the
//! calls. Other code that the machine runs for itself, such as that of `std`, has the calls; they count nothing while
//! [`counts`] is false.

use super::memory::{BYTES, START};
use super::scheduler;
use super::work::{ALONE, count_work, counts, set_counts};
use std::sync::atomic::AtomicBool;

/// Whether the compiler has inserted the calls in this build.
static IS_PRESENT: AtomicBool = AtomicBool::new(false);

/// Whether the compiler has inserted the calls on which a timed run depends.
pub fn is_instrumented() -> bool {
    IS_PRESENT.load(ALONE)
}

// SAFETY of the names here: they are those that the instrumentation calls, and nothing else defines them, since the
// flags that `bench/sim.sh` sets link no sanitizer.

/// Notes that the build has the calls. The system calls this before `main`; LLVM would let it number the basic blocks,
/// which nothing here needs.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_trace_pc_guard_init(_: *mut u32, _: *mut u32) {
    IS_PRESENT.store(true, ALONE);
}

/// Counts a basic block. The compiler inserts a call before each one.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_trace_pc_guard(_: *mut u32) {
    count_work(1);
}

macro_rules! accesses {
    ($($name:ident: $writes:literal)*) => {
        $(
            /// Counts a plain access. The compiler inserts a call before each access of the kind and size that the name
            /// says.
            #[unsafe(no_mangle)]
            extern "C" fn $name(address: usize) {
                // Memory outside of the arena belongs to stacks and statics, whose lines a core nearly always has.
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
