//! Many transactions on one thread, interleaved at every access by a seed.
//!
//! Each task is a coroutine. A task's transaction is [`Simulated`]: it suspends before every access, and its waits
//! suspend too ([`SimScheduler`]), so that the simulation chooses who goes on at every step. The choice, the clock, and
//! the faults that are let loose (cancellations, early time-outs, wakes for no reason) follow from the seed alone: a
//! seed that fails will fail again.
//!
//! ```text
//! for_each_seed(300, |seed| {
//!     let mut simulation = Simulation::new(SimulationConfig::new(seed));
//!     simulation.spawn("writer", move |task| { let mut txn = task.transaction(&*engine); … });
//!     simulation.run().map(drop)
//! });
//! ```
//!
//! What it finds by itself: a task that waits for what nobody will give (a stall), a waiter that was not woken though
//! what it waits for came true (a lost wake-up), a panic, a run without an end; and after every step whatever an audit that
//! it is given finds ([`Simulation::after_each_step`]). What the transactions read and wrote is for `hotrow-check` to judge.
//!
//! **Invariants**
//!
//! 1. One task runs at a time, and the choice of the next is made from the seed and the tasks' states only.
//! 2. The clock moves when the simulation moves it: a little at every step, and to the next deadline when nobody can
//!    run, or early by the seed's whim.
//! 3. Before the clock jumps because nobody can run, every waiting task looks at its condition once more. One that goes
//!    on was not woken when it should have been.

mod run;
mod schedule;
mod scheduler;
mod seeds;
mod simulated;

pub use run::{Simulation, SimulationConfig};
pub use schedule::{Failure, FailureKind, Schedule};
pub use scheduler::{SimScheduler, Task};
pub use seeds::{SEED_VARIABLE, SEEDS_VARIABLE, for_each_seed};
pub use simulated::Simulated;
