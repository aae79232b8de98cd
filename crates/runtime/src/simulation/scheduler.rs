//! The scheduler through which simulated tasks wait, and the handle of a task.

use super::{Schedule, Simulated};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::coroutine::Suspender;
use hotrow_sync::{Arc, Mutex, MutexGuard, Scheduler, Time, Waiter};
use hotrow_txn::Engine;

/// The state of a simulation that its tasks and its loop share: the clock, the state of each task, and the schedule.
#[derive(Debug, Default)]
pub(super) struct World {
    now: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub tasks: Vec<TaskState>,
    pub schedule: Schedule,
    /// Whether the simulation has failed. If so, tasks should end soon, and waits and steps no longer suspend them.
    pub over: bool,
}

/// The state of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TaskState {
    pub phase: Phase,
    /// Whether the task was woken and has not continued since.
    pub notified: bool,
    /// The number of suspensions that the task has skipped since the simulation failed.
    pub overtime: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// The task can continue.
    #[default]
    Ready,
    /// The task waits, with this deadline if there is one.
    Waiting(Option<Time>),
    /// The task has ended.
    Done,
}

impl World {
    pub fn now(&self) -> Time {
        Time(self.now.load(Ordering::Acquire))
    }

    /// Moves the clock forward to `time`. If the clock is later, it stays.
    pub fn move_to(&self, time: Time) {
        self.now.store(time.0.max(self.now().0), Ordering::Release);
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

/// The [`Scheduler`] of a simulated task. When the task waits, it suspends the task's coroutine, and the simulation
/// chooses the task that runs next. Its clock is the simulation's.
#[derive(Debug)]
pub struct SimScheduler {
    world: Arc<World>,
    task: usize,
    suspender: Arc<Suspender>,
}

impl SimScheduler {
    /// The number of suspensions that a task may skip until its end, once the simulation has failed. A task that needs
    /// more will not end by itself.
    const OVERTIME: u32 = 1000;

    /// Suspends the task as `phase`, unless the simulation is over.
    fn suspend_as(&self, phase: Phase, step: String) {
        {
            let mut state = self.world.state();
            let over = state.over;
            let task = &mut state.tasks[self.task];
            if over {
                task.overtime += 1;
                if task.overtime < Self::OVERTIME {
                    return;
                }
            }
            if phase != Phase::Ready && std::mem::take(&mut task.notified) {
                return;
            }
            task.phase = phase;
            state.schedule.push(self.task, step);
        }
        self.suspender.suspend();
        self.world.state().tasks[self.task].phase = Phase::Ready;
    }
}

impl Scheduler for SimScheduler {
    fn now(&self) -> Time {
        self.world.now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        let step = match deadline {
            None => "waits".to_owned(),
            Some(deadline) => format!("waits until {} us", deadline.0 / 1000),
        };
        self.suspend_as(Phase::Waiting(deadline), step);
        self.world.state().tasks[self.task].notified = false;
    }

    fn resume(&self) {
        self.world.state().tasks[self.task].notified = true;
    }
}

/// A handle of a simulated task, which the task's own code uses to wait, to make steps and to add to the schedule. A
/// clone is cheap.
#[derive(Clone, Debug)]
pub struct Task {
    scheduler: Arc<SimScheduler>,
    waiter: Waiter,
}

impl Task {
    pub(super) fn new(world: &Arc<World>, name: &str, suspender: Arc<Suspender>) -> Self {
        let mut state = world.state();
        let task = state.tasks.len();
        state.tasks.push(TaskState::default());
        state.schedule.name(name);
        let scheduler = Arc::new(SimScheduler { world: world.clone(), task, suspender });
        Self { waiter: Waiter::new(scheduler.clone()), scheduler }
    }

    /// Returns the waiter through which the task waits. A wait lets other tasks run.
    pub fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// Makes a step: suspends the task, so that the simulation chooses the task that runs next. `step` describes, for
    /// the printed schedule, what the task does when it continues.
    pub fn step(&self, step: impl Into<String>) {
        self.scheduler.suspend_as(Phase::Ready, step.into());
    }

    /// Adds a line to the printed schedule, without a switch to another task.
    pub fn note(&self, note: impl Into<String>) {
        self.scheduler.world.state().schedule.push(self.scheduler.task, note.into());
    }

    /// Makes a transaction object on `engine` that waits through this task's waiter and [makes a step](Self::step)
    /// before every access.
    pub fn transaction(&self, engine: &dyn Engine) -> Simulated {
        Simulated::new(engine.transaction(self.waiter.clone()), self.clone())
    }

    /// Whether the simulation has failed, so that the task should end soon. A task that loops must check it.
    pub fn is_over(&self) -> bool {
        self.scheduler.world.state().over
    }
}
