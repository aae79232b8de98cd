//! A worker of the pool: its slots, and the choice of the next one to run.

use super::{PoolConfig, Slot};
use crate::run::{Pace, Run, Stepped, Steps, panic_message};
use crate::{Counts, OneShot, RunError};
use hotrow_sync::coroutine::{Resumed, Scope, Stack, Suspender, scope};
use hotrow_sync::wait::give_core_away;
use hotrow_sync::{Arc, Doorbell, Scheduler, SlotScheduler, Time, Waiter, hint, thread};
use hotrow_txn::{Abort, Duties, LoadLimit, Statistics, Transaction, WorkerId};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The time by which a sleeping thread usually wakes up after the time that it asked for.
const LATE: Duration = Duration::from_micros(100);

/// The time after which a worker with nothing to run looks again: room may have come, or an analysis may find
/// something, without any notification.
const LOOK_AGAIN: Duration = Duration::from_micros(100);

/// Runs a worker of the pool on the calling thread until the end of the run, and reports its counts or its failure to
/// `run`.
pub(super) fn work<D, T, C>(
    run: &Run<'_>,
    config: &PoolConfig,
    id: WorkerId,
    make_worker: impl Fn(WorkerId) -> D,
    make_slot: impl Fn(&mut D, Slot, &Waiter) -> (T, C),
) where
    D: Duties,
    T: Transaction,
    C: FnMut(&mut OneShot<T>) -> Result<(), Abort>,
{
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let worker = Worker::new(run, id, make_worker(id), config);
        let (counts, cpu) = worker.work(config, make_slot);
        (counts, cpu, !worker.steps.are_left(), worker.is_serving.get())
    }));
    match outcome {
        Ok((counts, cpu, made_all, serves)) => run.finish(&counts, cpu, made_all, serves),
        Err(panic) => run.fail(RunError::Panicked { worker: id, message: panic_message(panic.as_ref()) }),
    }
}

/// The counts of a client that has made its last step, or the abort with which it failed.
type Outcome = Result<Counts, Abort>;

/// The state of a worker, which its slots' coroutines share. At any time either one of them runs, or the worker itself.
struct Worker<'r, D> {
    run: &'r Run<'r>,
    id: WorkerId,
    duties: RefCell<D>,
    steps: Steps,
    /// The counts of the worker's duties when the measured period began.
    counted: Cell<Statistics>,
    doorbell: Arc<Doorbell>,
    /// Slots without a transaction, as bits.
    free: Cell<u64>,
    /// Slots whose transaction waits, as bits.
    waiting: Cell<u64>,
    /// The first deadline of the slots that wait, or an earlier time.
    next_deadline: Cell<Time>,
    /// The limit on the number of transactions under way.
    limit: Cell<LoadLimit>,
    /// Whether the limit has kept a transaction from beginning since the last step ended.
    has_held_back: Cell<bool>,
    /// Whether messages have come since the worker last found no slot to run.
    has_received: Cell<bool>,
    /// Whether the worker is counted among those that only serve others.
    is_serving: Cell<bool>,
    /// Whether waits lower the limit, and not only failures.
    follows_waits: bool,
    slots: u32,
}

/// The idleness of a worker that has no slot to run.
struct Idle {
    /// The time since which the worker has had nothing to do, or `None` if it has something to do.
    since: Option<Time>,
    /// The time up to which the idleness is counted, or `None` if none of it is.
    counted_to: Option<Time>,
    /// Whether there are more workers than cores, so that an idle worker gives its core away at once.
    is_crowded: bool,
    /// The number of times that the worker has given its core away since it had something to do.
    yields: u32,
}

impl Idle {
    /// Notes that the worker has something to do.
    #[inline]
    fn end(&mut self) {
        (self.since, self.counted_to, self.yields) = (None, None, 0);
    }
}

const NEVER: Time = Time(u64::MAX);

/// The number of times in a row that an idle worker with waiting transactions gives its core away as
/// [one that is about to go on](give_core_away), for which others pause between two transactions. The first few times
/// dissolve a convoy; if many more count, the others do little but pause.
const COUNTED_YIELDS: u32 = 3;

impl<'r, D: Duties> Worker<'r, D> {
    fn new(run: &'r Run<'r>, id: WorkerId, duties: D, config: &PoolConfig) -> Self {
        let slots = config.slots as u32;
        Self {
            run,
            id,
            follows_waits: config.follows_waits && !duties.ignores_waits(),
            duties: RefCell::new(duties),
            steps: Steps::new(run.config),
            counted: Cell::default(),
            // Before it sleeps, the worker looks around rather than spins.
            doorbell: Arc::new(Doorbell::new(Waiter::thread(Duration::ZERO))),
            free: Cell::new(0),
            waiting: Cell::new(0),
            next_deadline: Cell::new(NEVER),
            limit: Cell::new(LoadLimit::new(slots)),
            has_held_back: Cell::new(false),
            has_received: Cell::new(false),
            is_serving: Cell::new(false),
            slots,
        }
    }

    /// Makes the slots and runs them until all their clients have made their last step. Returns their counts, and the
    /// CPU time that it took.
    fn work<T, C>(&self, config: &PoolConfig, make_slot: impl Fn(&mut D, Slot, &Waiter) -> (T, C)) -> (Counts, Duration)
    where
        T: Transaction,
        C: FnMut(&mut OneShot<T>) -> Result<(), Abort>,
    {
        scope(|scope| {
            let mut schedulers = Vec::new();
            for slot in 0..config.slots {
                let stack = match Stack::new(config.stack_bytes) {
                    Ok(stack) => stack,
                    Err(error) => {
                        self.run.fail(RunError::NoStack(error.to_string()));
                        break;
                    }
                };
                let suspender = stack.suspender();
                let scheduler = Arc::new(SlotScheduler::new(self.doorbell.clone(), slot, suspender.clone()));
                schedulers.push(scheduler.clone());
                let waiter = Waiter::new(scheduler);
                self.run.enter(&waiter);
                let number = self.id.0 as usize * config.slots + slot;
                let (txn, client) = make_slot(&mut self.duties.borrow_mut(), Slot { worker: self.id, number }, &waiter);
                let runner = self.run.runner(txn, &waiter, number);
                scope.spawn(stack, move || self.run_slot(slot, &suspender, runner, client));
                self.free.set(self.free.get() | 1 << slot);
            }
            let waiter = Waiter::new(self.doorbell.clone());
            self.duties.borrow_mut().settle(&waiter);
            let mut counts = self.run_slots(scope, &schedulers);
            self.duties.borrow_mut().leave();
            self.steps.clock.end_stretch(self.is_serving.get());
            let cpu = self.steps.clock.add_to(&mut counts);
            (counts, cpu)
        })
    }

    /// The body of a slot's coroutine.
    fn run_slot<T, C>(&self, slot: usize, suspender: &Suspender, mut runner: OneShot<T>, mut client: C) -> Outcome
    where
        T: Transaction,
        C: FnMut(&mut OneShot<T>) -> Result<(), Abort>,
    {
        let pace = SlotPace { worker: self, bit: 1 << slot, suspender };
        self.run.step_until_stopped(&pace, &self.steps, &mut runner, &mut client)?;
        Ok(runner.counts().clone())
    }

    /// The main loop, which runs until every slot's coroutine has returned.
    fn run_slots(&self, scope: &mut Scope<'_, Outcome>, schedulers: &[Arc<SlotScheduler>]) -> Counts {
        let mut counts = Counts::default();
        let mut idle = Idle {
            since: None,
            counted_to: None,
            is_crowded: self.run.config.threads > hotrow_sync::cores(),
            yields: 0,
        };
        let mut last = 0;
        while self.free.get() | self.waiting.get() != 0 {
            let chosen = self.choose(last, schedulers);
            self.note_role();
            let Some(slot) = chosen else {
                if self.has_received.take() {
                    idle.end();
                } else if self.duties.borrow_mut().find_work() {
                    idle.counted_to = None;
                } else {
                    self.rest(&mut idle);
                }
                continue;
            };
            last = slot;
            idle.end();
            match scope.resume(slot) {
                Resumed::Suspended => self.note_suspended(slot, &schedulers[slot]),
                Resumed::Returned(Ok(counted)) => counts.add(&counted),
                // A run that fails is stopped, so the other slots end by themselves: their transactions leave the
                // queues in which they stand.
                Resumed::Returned(Err(abort)) => self.run.fail(RunError::Failed { worker: self.id, abort }),
                Resumed::Panicked(panic) => {
                    let message = panic_message(panic.as_ref());
                    self.run.fail(RunError::Panicked { worker: self.id, message });
                }
            }
        }
        counts.statistics.add(&self.duties.borrow().statistics().since(&self.counted.get()));
        counts
    }

    /// Chooses the slot to run next, or returns `None` if none can run. `last` is the slot that ran last.
    fn choose(&self, last: usize, schedulers: &[Arc<SlotScheduler>]) -> Option<usize> {
        if self.duties.borrow_mut().receive() {
            self.has_received.set(true);
        }
        if self.is_deadline_over() {
            self.ring_late(schedulers);
        }
        let rung = self.doorbell.rung();
        let woken = rung & self.waiting.get();
        if rung != woken {
            // The other bits come from wakes that arrived when their slots had already seen the condition.
            self.doorbell.answer(rung & !woken);
        }
        if woken != 0 {
            let slot = next_after(woken, last);
            self.doorbell.answer(1 << slot);
            self.waiting.set(self.waiting.get() & !(1 << slot));
            return Some(slot);
        }
        if self.free.get() != 0 && self.may_begin() {
            // The same slot each time, if possible: its memory is in the cache.
            let slot = self.free.get().trailing_zeros() as usize;
            self.free.set(self.free.get() & !(1 << slot));
            return Some(slot);
        }
        None
    }

    /// Whether a free slot may continue, either to begin a transaction or only to end.
    fn may_begin(&self) -> bool {
        let is_room = self.is_below_limit() && self.duties.borrow().has_room();
        is_room || self.run.config.stop.is_raised() || !self.steps.are_left()
    }

    /// Does for a worker that only serves others what its clients' steps do for another one: begins the measured
    /// period, and ends the run when no worker makes steps any more.
    #[inline]
    fn note_role(&self) {
        let serves = !self.duties.borrow().runs_transactions();
        if serves != self.is_serving.replace(serves) {
            self.run.note_serving(serves);
            self.steps.clock.end_stretch(!serves);
        }
        if !serves {
            return;
        }
        if self.run.is_measured() && self.steps.begin_measured() {
            self.counted.set(self.duties.borrow().statistics());
        }
        if self.steps.are_limited() && self.run.is_finished() {
            self.run.config.stop.raise();
        }
    }

    /// Whether another transaction may be under way, in addition to those that wait.
    #[inline]
    fn is_below_limit(&self) -> bool {
        let is_below = (self.waiting.get().count_ones() as usize) < self.limit.get().get();
        if !is_below {
            self.has_held_back.set(true);
        }
        is_below
    }

    /// Adapts the limit to what happened in a step of a slot.
    #[inline]
    fn adapt_limit(&self, Stepped { failed, last_failure, has_waited }: Stepped) {
        let has_waited = has_waited && self.follows_waits && failed == 0;
        let has_been_short = self.has_held_back.replace(false);
        // A transaction that was held back begins after one that has waited. So if waits count, steps that end without
        // a wait may raise the limit, too.
        let is_short = has_been_short || self.follows_waits && failed == 0 && self.is_limited();
        if failed == 0 && !is_short && !has_waited {
            return;
        }
        let mut limit = self.limit.get();
        (0..failed).filter(|_| last_failure.is_because_of_others()).for_each(|_| limit.failed(last_failure));
        if has_waited {
            limit.waited();
        } else if is_short {
            limit.succeeded(self.slots);
        }
        self.limit.set(limit);
    }

    /// Whether the limit is below the number of slots.
    #[inline]
    fn is_limited(&self) -> bool {
        self.limit.get().get() < self.slots as usize
    }

    fn note_suspended(&self, slot: usize, scheduler: &SlotScheduler) {
        if self.free.get() & 1 << slot != 0 {
            return;
        }
        self.waiting.set(self.waiting.get() | 1 << slot);
        let deadline = scheduler.deadline().unwrap_or(NEVER);
        self.next_deadline.set(self.next_deadline.get().min(deadline));
    }

    fn is_deadline_over(&self) -> bool {
        self.next_deadline.get() != NEVER && self.doorbell.now() >= self.next_deadline.get()
    }

    /// Wakes the slots whose deadlines have passed.
    #[cold]
    fn ring_late(&self, schedulers: &[Arc<SlotScheduler>]) {
        let now = self.doorbell.now();
        let mut next = NEVER;
        for slot in bits(self.waiting.get()) {
            match schedulers[slot].deadline() {
                Some(deadline) if deadline <= now => self.doorbell.ring(slot),
                Some(deadline) => next = next.min(deadline),
                None => {}
            }
        }
        self.next_deadline.set(next);
    }

    /// Counts the idleness of the worker up to `now`.
    fn count_idle(&self, idle: &mut Idle, now: Time) {
        if let Some(counted_to) = idle.counted_to.replace(now) {
            self.steps.clock.add_idle(now.since(counted_to));
        }
    }

    /// Passes a moment in which no slot can run: spins at first, and sleeps once the worker has been idle for long
    /// enough.
    fn rest(&self, idle: &mut Idle) {
        let now = self.doorbell.now();
        self.count_idle(idle, now);
        let spin_end = idle.since.get_or_insert(now).after(self.run.config.spin);
        let expected = self.duties.borrow().expected().unwrap_or(NEVER);
        if now < spin_end || expected < now.after(LATE) {
            if !idle.is_crowded {
                return hint::spin_loop();
            }
            let has_waiting = self.follows_waits && self.waiting.get() != 0;
            match has_waiting && idle.yields < COUNTED_YIELDS {
                true => give_core_away(),
                false => thread::yield_now(),
            }
            idle.yields += 1;
            return self.count_idle(idle, self.doorbell.now());
        }
        let before_expected = Time(expected.0.saturating_sub(LATE.as_nanos() as u64));
        let until = self.next_deadline.get().min(before_expected).min(now.after(LOOK_AGAIN));
        if self.duties.borrow_mut().doze() {
            self.doorbell.listen(Some(until));
        }
        self.duties.borrow_mut().rouse();
        self.count_idle(idle, self.doorbell.now());
    }
}

/// The pace of a slot's client: what happens between two of its transactions.
struct SlotPace<'w, 'r, D> {
    worker: &'w Worker<'r, D>,
    bit: u64,
    suspender: &'w Suspender,
}

impl<D: Duties> Pace for SlotPace<'_, '_, D> {
    /// Whether another slot goes first, or there is no room for another transaction.
    #[inline]
    fn has_to_yield(&self) -> bool {
        let worker = self.worker;
        worker.duties.borrow_mut().receive();
        let somebody_goes_first = worker.doorbell.rung() & !self.bit != 0 || worker.is_deadline_over();
        somebody_goes_first || !worker.is_below_limit() || !worker.duties.borrow().has_room()
    }

    /// Gives the thread back to the worker.
    fn yield_now(&self) {
        self.worker.free.set(self.worker.free.get() | self.bit);
        self.suspender.suspend();
    }

    #[inline]
    fn has_stepped(&self, stepped: Stepped) {
        self.worker.duties.borrow_mut().count_step();
        self.worker.adapt_limit(stepped);
    }

    fn begin_measured(&self) {
        self.worker.counted.set(self.worker.duties.borrow().statistics());
    }
}

/// Iterates over the numbers of the bits that are set.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        bit
    })
}

/// Returns the number of the first bit of a set above `last`, or of the first bit of all if there is none above, so
/// that each bit gets its turn.
fn next_after(set: u64, last: usize) -> usize {
    let above = set & (u64::MAX << last << 1);
    if above != 0 { above } else { set }.trailing_zeros() as usize
}
