//! The simulator: many transactions on one thread, interleaved at every access by a seed.
//!
//! Each task is a coroutine. A task's transaction is [`Simulated`]: it suspends before every access, and its waits
//! suspend, too ([`SimScheduler`]), so that the simulation chooses the task that continues at every step. The choice,
//! the clock, and the injected faults (cancellations, early time-outs, spurious wakes) follow from the seed alone: a
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
//! By itself the simulation finds a task that waits for ever (a stall), a waiter that was not woken although its
//! condition came true (a lost wake-up), a panic, and a run without an end. An audit may check more after every step
//! ([`Simulation::after_each_step`]). Whether the transactions read and wrote correctly is for `hotrow-check` to judge.
//!
//! **Invariants**
//!
//! 1. One task runs at a time. The choice of the next one depends only on the seed and on the tasks' states.
//! 2. Only the simulation moves the clock: a little at every step, and to the next deadline if no task can run, or
//!    earlier if the seed says so.
//! 3. Before the clock jumps because no task can run, every waiting task checks its condition once more. A task that
//!    continues was not woken when it should have been.

mod run;
mod schedule;
mod scheduler;
mod seeds;
mod simulated;

pub use run::{Simulation, SimulationConfig};
pub use schedule::{Failure, FailureKind, Schedule};
pub use scheduler::{SimScheduler, Task};
pub use seeds::{SEED_VARIABLE, SEEDS_VARIABLE, for_each_seed, seeds};
pub use simulated::Simulated;
