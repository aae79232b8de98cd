//! A simulated machine: the real code on virtual threads, which all run on one thread of the operating system, one step
//! at a time.
//!
//! [`run`] runs a program on such a machine. Each access to an atomic, each lock of a [`Mutex`](crate::Mutex), each
//! wait, wake, spawn and look at the clock is a *step*. Before each step, the machine may let another virtual thread go
//! on. A [`Strategy`] decides that, from a seed, so the same seed gives the same run. What lies between two steps runs
//! without interruption.
//!
//! | module | what it has |
//! | --- | --- |
//! | `scheduler` | the virtual threads, what they wait for, and the clock |
//! | [`strategy`] | which thread goes on, unless the run is timed |
//! | `hardware`, `cores`, `caches` | which thread goes on in a timed run, and what an access costs |
//! | `places` | where threads of a timed run wait for cache lines |
//! | `instruments`, `work` | the work of plain code in a timed run |
//! | `schedule` | the switches that a run made, to print, to shrink and to make again |
//! | `access` | what a step does to memory |
//! | `current` | whether the caller is a virtual thread |
//! | `memory` | the memory of a run: at the same addresses in each |
//! | [`atomic`], [`locks`], [`thread`], [`local`] | the machine's implementations of the facade's items |
//!
//! [`run_timed`] makes a *timed run*, on simulated hardware: each core has a clock, which advances by the cost of the
//! code, accesses and waits of the core's thread. The thread on the core whose clock is furthest behind goes on.
//!
//! **What is different from a real machine.** All accesses are sequentially consistent: orderings are loom's matter.
//! Races on memory that is shared without an atomic are not found. The clock of a run that is not timed advances by a
//! fixed time with each step, and jumps to the next deadline when all threads wait.
//!
//! **Invariants**
//!
//! 1. A virtual thread runs only while the machine that it belongs to has resumed it, on the thread that called
//!    [`run`]. So the machine's own state needs no synchronisation.
//! 2. Nothing of a run depends on real time or on what other threads of the process do. The addresses of the run's
//!    memory are the same in each run.
//! 3. A failed run leaks the threads that have not ended: what they hold may be in any state, so it cannot be dropped.

mod access;
pub mod atomic;
mod caches;
mod cores;
mod current;
mod hardware;
mod instruments;
pub mod local;
pub mod locks;
mod memory;
mod places;
mod schedule;
mod scheduler;
pub mod strategy;
pub mod thread;
mod work;

pub use current::{is_running, outside};
pub use hardware::{Hardware, Lines, Threads};
pub use instruments::is_instrumented;
pub use places::Place;
pub use schedule::{Schedule, Switch, Why};
pub use scheduler::{Failure, FailureKind, Report, run, run_timed};
pub(crate) use scheduler::{cpu_time, hardware_name, leak, now, number, prefetch, was_woken_by_nobody};
pub use strategy::{Changes, Strategy};
pub(crate) use work::count_work;

/// The number of cores that a machine reports in a run that is not timed.
const CORES: usize = 4;

/// Stands for `std::hint`.
pub mod hint {
    pub use std::hint::*;

    /// Lets other virtual threads go on, because the caller waits for one of them.
    #[track_caller]
    pub fn spin_loop() {
        super::scheduler::give_way(false);
    }
}
