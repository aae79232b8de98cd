//! The simulation's loop, which chooses the next task and moves the clock.

use super::scheduler::{Phase, World};
use super::{Failure, FailureKind, Schedule, Task};
use crate::Random;
use crate::run::panic_message;
use hotrow_sync::coroutine::{Coroutine, Resumed, Stack};
use hotrow_sync::{Arc, Time};
use std::time::Duration;

/// The configuration of a simulation: its seed, the frequencies of injected faults, and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulationConfig {
    /// The seed, which determines every choice of the simulation.
    pub seed: u64,
    /// The share of steps, in per cent, in which the task that ran last continues if it can. In all other steps a
    /// random task runs. Some bugs need one task to run for long between two steps of another, which is rare if every
    /// step may switch.
    pub stay_percent: u64,
    /// The number of steps in 1000 before which the waiter of a random task is cancelled. The task's own code must
    /// clear the cancellation.
    pub cancel_per_mille: u64,
    /// The number of steps in 1000 before which the clock jumps to the next deadline of a wait, although a task could
    /// continue.
    pub time_out_per_mille: u64,
    /// The number of steps in 1000 before which a random waiting task is woken without a reason (a spurious wake).
    pub wake_per_mille: u64,
    /// The greatest number of steps of a run. A longer run fails with [`FailureKind::Endless`].
    pub most_steps: usize,
    /// The size of each task's stack in bytes.
    pub stack_bytes: usize,
}

impl SimulationConfig {
    /// Makes a configuration without faults.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            stay_percent: 0,
            cancel_per_mille: 0,
            time_out_per_mille: 0,
            wake_per_mille: 0,
            most_steps: 50_000,
            stack_bytes: 512 * 1024,
        }
    }

    /// Makes a configuration that injects every kind of fault: cancellations and time-outs in 0.5 % of the steps, and
    /// spurious wakes in 2 %.
    pub fn with_faults(seed: u64) -> Self {
        Self { cancel_per_mille: 5, time_out_per_mille: 5, wake_per_mille: 20, ..Self::new(seed) }
    }
}

/// A simulation: tasks that run as coroutines on one thread, and whose interleaving is determined by a seed.
pub struct Simulation {
    config: SimulationConfig,
    random: Random,
    world: Arc<World>,
    names: Vec<String>,
    tasks: Vec<Task>,
    coroutines: Vec<Coroutine<()>>,
    audit: Box<Audit>,
}

/// A check of the state that the tasks share, made between two steps. Its argument is the number of tasks that wait.
type Audit = dyn FnMut(usize) -> Result<(), String>;

impl Simulation {
    /// Makes a simulation without tasks.
    pub fn new(config: SimulationConfig) -> Self {
        Self {
            config,
            random: Random::new(config.seed),
            world: Arc::default(),
            names: Vec::new(),
            tasks: Vec::new(),
            coroutines: Vec::new(),
            audit: Box::new(|_| Ok(())),
        }
    }

    /// Sets a check of the state that the tasks share, which is called after every step. At that time no task is within
    /// a call of the engine, except for calls that wait. The argument of `audit` is the number of tasks that wait. If
    /// it returns an error, the simulation fails with [`FailureKind::Audit`].
    pub fn after_each_step(&mut self, audit: impl FnMut(usize) -> Result<(), String> + 'static) {
        self.audit = Box::new(audit);
    }

    /// Adds a task that runs `body` as a coroutine. Schedules and failures call it by its name.
    ///
    /// # Panics
    /// If there is no memory for the task's stack.
    pub fn spawn(&mut self, name: &str, body: impl FnOnce(&Task) + 'static) {
        let stack = Stack::new(self.config.stack_bytes).expect("memory for a simulated task's stack");
        let task = Task::new(&self.world, name, stack.suspender());
        self.names.push(name.to_owned());
        self.tasks.push(task.clone());
        self.coroutines.push(Coroutine::new(stack, move || body(&task)));
    }

    /// Runs all tasks until they have ended. Returns the schedule: the steps that were made.
    ///
    /// # Errors
    /// The first failure. After a failure, the other tasks are cancelled and run until they end. The memory of a task
    /// that does not end is leaked.
    pub fn run(mut self) -> Result<Schedule, Box<Failure>> {
        let outcome = self.run_tasks();
        self.end_tasks();
        let schedule = std::mem::take(&mut self.world.state().schedule);
        match outcome {
            Ok(()) => Ok(schedule),
            Err(kind) => Err(Box::new(Failure::new(kind, self.config.seed, schedule))),
        }
    }

    fn run_tasks(&mut self) -> Result<(), FailureKind> {
        let mut last = 0;
        for _ in 0..self.config.most_steps {
            self.let_faults_loose();
            let ready = self.positions(|world, task| world.can_go_on(task));
            if ready.is_empty() {
                if self.positions(|world, task| !world.is_done(task)).is_empty() {
                    return Ok(());
                }
                self.look_for_lost_wakeups()?;
                self.jump_to_deadline()?;
                continue;
            }
            let stay = ready.contains(&last) && self.random.chance(self.config.stay_percent);
            last = if stay { last } else { *self.random.pick(&ready) };
            self.resume(last)?;
            let waiting = self.positions(|world, task| world.deadline(task).is_some()).len();
            (self.audit)(waiting).map_err(FailureKind::Audit)?;
        }
        Err(FailureKind::Endless)
    }

    /// Resumes a task until it suspends or ends, and lets time pass.
    fn resume(&mut self, task: usize) -> Result<(), FailureKind> {
        let step = Duration::from_nanos(self.random.below(20_000));
        self.world.move_to(self.world.now().after(step));
        match self.coroutines[task].resume() {
            Resumed::Suspended => return Ok(()),
            Resumed::Returned(()) => self.world.state().tasks[task].phase = Phase::Done,
            Resumed::Panicked(panic) => {
                self.world.state().tasks[task].phase = Phase::Done;
                return Err(FailureKind::Panicked(self.names[task].clone(), panic_message(panic.as_ref())));
            }
        }
        self.tasks[task].note("ends");
        Ok(())
    }

    fn let_faults_loose(&mut self) {
        let mut happens = |per_mille: u64| self.random.below(1000) < per_mille;
        let (cancel, time_out, wake) = (
            happens(self.config.cancel_per_mille),
            happens(self.config.time_out_per_mille),
            happens(self.config.wake_per_mille),
        );
        let alive = self.positions(|world, task| !world.is_done(task));
        if cancel && !alive.is_empty() {
            let task = *self.random.pick(&alive);
            self.tasks[task].note("is cancelled");
            self.tasks[task].waiter().cancel();
        }
        let waiting = self.positions(|world, task| world.deadline(task).is_some());
        if wake && !waiting.is_empty() {
            let task = *self.random.pick(&waiting);
            self.tasks[task].note("is woken for no reason");
            self.tasks[task].waiter().wake();
        }
        if time_out && let Some(deadline) = self.next_deadline() {
            self.world.move_to(deadline);
        }
    }

    /// Checks, when no task was woken, that no waiting task has a true condition. Only a condition that waits for a
    /// deadline may come true without a wake.
    fn look_for_lost_wakeups(&mut self) -> Result<(), FailureKind> {
        for task in self.positions(|world, task| world.deadline(task).is_some()) {
            let before = self.world.state().tasks[task];
            let moved = self.probe(task)?;
            let after = self.world.state().tasks[task];
            if moved || after.phase != before.phase {
                return Err(FailureKind::LostWakeup(self.names[task].clone()));
            }
        }
        Ok(())
    }

    /// Lets a waiting task check its condition. Returns whether it continued rather than waited again.
    fn probe(&mut self, task: usize) -> Result<bool, FailureKind> {
        let steps = self.world.state().schedule.len();
        self.world.state().schedule.push(task, "looks again, though nobody woke it".to_owned());
        match self.coroutines[task].resume() {
            Resumed::Suspended => {}
            Resumed::Returned(()) => {
                self.world.state().tasks[task].phase = Phase::Done;
                return Ok(true);
            }
            Resumed::Panicked(panic) => {
                self.world.state().tasks[task].phase = Phase::Done;
                return Err(FailureKind::Panicked(self.names[task].clone(), panic_message(panic.as_ref())));
            }
        }
        let mut state = self.world.state();
        let moved = !matches!(state.tasks[task].phase, Phase::Waiting(_));
        if !moved {
            state.schedule.truncate(steps);
        }
        Ok(moved)
    }

    fn jump_to_deadline(&mut self) -> Result<(), FailureKind> {
        let Some(deadline) = self.next_deadline() else {
            let waiting = self.positions(|world, task| !world.is_done(task));
            return Err(FailureKind::Stalled(waiting.into_iter().map(|task| self.names[task].clone()).collect()));
        };
        self.world.move_to(deadline);
        Ok(())
    }

    fn next_deadline(&self) -> Option<Time> {
        let state = self.world.state();
        let deadlines = state.tasks.iter().filter_map(|task| match task.phase {
            Phase::Waiting(deadline) => deadline,
            _ => None,
        });
        deadlines.min()
    }

    fn positions(&self, wanted: impl Fn(&World, usize) -> bool) -> Vec<usize> {
        (0..self.coroutines.len()).filter(|&task| wanted(&self.world, task)).collect()
    }

    /// Lets every task end by its own code after a failure, with waits cancelled and nothing suspending. Unwinding a
    /// suspended task instead would leave its requests in the protocol's queues.
    fn end_tasks(&mut self) {
        self.world.state().over = true;
        for task in &self.tasks {
            task.waiter().cancel();
        }
        for mut coroutine in self.coroutines.drain(..) {
            if !coroutine.is_done() && matches!(coroutine.resume(), Resumed::Suspended) {
                std::mem::forget(coroutine);
            }
        }
    }
}

impl World {
    fn can_go_on(&self, task: usize) -> bool {
        let state = self.state().tasks[task];
        match state.phase {
            Phase::Ready => true,
            Phase::Waiting(deadline) => state.notified || deadline.is_some_and(|deadline| deadline <= self.now()),
            Phase::Done => false,
        }
    }

    fn is_done(&self, task: usize) -> bool {
        self.state().tasks[task].phase == Phase::Done
    }

    /// Returns the deadline of a task that waits; `None` if the task does not wait, and `Some(None)` if it waits
    /// without a deadline.
    fn deadline(&self, task: usize) -> Option<Option<Time>> {
        match self.state().tasks[task].phase {
            Phase::Waiting(deadline) => Some(deadline),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotrow_sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use hotrow_sync::{Mutex, Waiter, Wake};

    /// A lock to wait for. A `forgetful` lock unlocks without waking, as a broken protocol would.
    #[derive(Default)]
    struct ToyLock {
        taken: AtomicBool,
        forgetful: bool,
        queue: Mutex<Vec<Waiter>>,
    }

    impl ToyLock {
        fn lock(&self, task: &Task, deadline: Option<Duration>) -> Wake {
            self.queue.lock().expect("not poisoned").push(task.waiter().clone());
            let deadline = deadline.map(|deadline| task.waiter().now().after(deadline));
            task.waiter().wait_until(deadline, || !self.taken.swap(true, Ordering::AcqRel))
        }

        fn unlock(&self) {
            self.taken.store(false, Ordering::Release);
            if !self.forgetful {
                self.queue.lock().expect("not poisoned").iter().for_each(Waiter::wake);
            }
        }
    }

    /// Runs three tasks that increment a counter under a lock. If `forgets`, one of them does not unlock.
    fn simulate(config: SimulationConfig, lock: ToyLock, forgets: bool) -> (Result<Schedule, Box<Failure>>, u64) {
        let (lock, counter) = (Arc::new(lock), Arc::new(AtomicU64::new(0)));
        let mut simulation = Simulation::new(config);
        for name in ["a", "b", "c"] {
            let (lock, counter) = (lock.clone(), counter.clone());
            simulation.spawn(name, move |task| {
                while lock.lock(task, None) != Wake::Ready {
                    if task.is_over() {
                        return;
                    }
                    task.waiter().clear_cancel();
                }
                let seen = counter.load(Ordering::Acquire);
                task.step("increments");
                counter.store(seen + 1, Ordering::Release);
                if !(forgets && name == "b") {
                    lock.unlock();
                }
            });
        }
        let outcome = simulation.run();
        (outcome, counter.load(Ordering::Acquire))
    }

    #[test]
    fn a_seed_gives_one_schedule_and_seeds_differ() {
        let run = |seed| simulate(SimulationConfig::with_faults(seed), ToyLock::default(), false);
        let mut schedules = Vec::new();
        for seed in 0..50 {
            let (schedule, counter) = run(seed);
            assert_eq!(counter, 3);
            let schedule = schedule.expect("the lock is right");
            assert_eq!(run(seed).0, Ok(schedule.clone()));
            schedules.push(schedule.to_string());
        }
        schedules.sort();
        schedules.dedup();
        assert!(schedules.len() > 20, "{} schedules", schedules.len());
    }

    #[test]
    fn a_lost_wakeup_is_found() {
        let forgetful = || ToyLock { forgetful: true, ..ToyLock::default() };
        let found = (0..50).filter_map(|seed| simulate(SimulationConfig::new(seed), forgetful(), false).0.err());
        let kinds: Vec<_> = found.map(|failure| failure.kind).collect();
        assert!(kinds.len() > 10, "{kinds:?}");
        assert!(kinds.iter().all(|kind| matches!(kind, FailureKind::LostWakeup(_))), "{kinds:?}");
    }

    #[test]
    fn a_stall_is_found() {
        let found = (0..50).filter_map(|seed| simulate(SimulationConfig::new(seed), ToyLock::default(), true).0.err());
        let kinds: Vec<_> = found.map(|failure| failure.kind).collect();
        assert!(kinds.len() > 10, "{kinds:?}");
        assert!(kinds.iter().all(|kind| matches!(kind, FailureKind::Stalled(_))), "{kinds:?}");
    }

    #[test]
    fn a_panic_and_an_endless_run_are_found() {
        let mut simulation = Simulation::new(SimulationConfig::new(1));
        simulation.spawn("thrower", |_| panic!("no ball"));
        let failure = simulation.run().expect_err("the task panics");
        assert_eq!(failure.kind, FailureKind::Panicked("thrower".to_owned(), "no ball".to_owned()));

        let mut simulation = Simulation::new(SimulationConfig { most_steps: 100, ..SimulationConfig::new(1) });
        simulation.spawn("runner", |task| {
            while !task.is_over() {
                task.step("runs");
            }
        });
        assert_eq!(simulation.run().expect_err("the task runs on").kind, FailureKind::Endless);
    }

    #[test]
    fn an_audit_looks_after_every_step_and_ends_the_simulation() {
        let (shared, looks) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut simulation = Simulation::new(SimulationConfig::new(1));
        for name in ["a", "b"] {
            let shared = shared.clone();
            simulation.spawn(name, move |task| {
                for _ in 0..3 {
                    task.step("counts");
                    shared.store(shared.load(Ordering::Acquire) + 1, Ordering::Release);
                }
            });
        }
        let looked = looks.clone();
        simulation.after_each_step(move |_| {
            looked.store(looked.load(Ordering::Acquire) + 1, Ordering::Release);
            let counted = shared.load(Ordering::Acquire);
            if counted < 4 { Ok(()) } else { Err(format!("{counted} is too much")) }
        });
        let failure = simulation.run().expect_err("there are six counts");
        assert_eq!(failure.kind, FailureKind::Audit("4 is too much".to_owned()));
        assert_eq!(looks.load(Ordering::Acquire), failure.schedule.len() as u64);
    }

    #[test]
    fn the_clock_jumps_to_a_deadline_and_a_cancelled_wait_ends() {
        let lock = Arc::new(ToyLock { taken: AtomicBool::new(true), ..ToyLock::default() });
        let waiter = Arc::new(Mutex::new(None));
        let mut simulation = Simulation::new(SimulationConfig::new(1));
        let (own, published) = (lock.clone(), waiter.clone());
        simulation.spawn("patient", move |task| {
            *published.lock().expect("not poisoned") = Some(task.waiter().clone());
            assert_eq!(own.lock(task, None), Wake::Cancelled);
        });
        simulation.spawn("hasty", move |task| {
            let before = task.waiter().now();
            assert_eq!(lock.lock(task, Some(Duration::from_secs(3600))), Wake::TimedOut);
            assert!(task.waiter().now().since(before) >= Duration::from_secs(3600));
            waiter.lock().expect("not poisoned").take().expect("published").cancel();
        });
        let schedule = simulation.run().map_err(|failure| failure.to_string());
        assert!(schedule.is_ok(), "{}", schedule.expect_err("failed"));
    }
}
