//! The virtual threads of a machine: which one runs, what the others wait for, and the clock.

use super::CORES;
use super::access::Access;
use super::caches::Caches;
use super::cores::Cores;
use super::current::{self, is_running, set_machine};
use super::hardware::Hardware;
use super::memory::Arena;
use super::places::Place;
use super::schedule::{Schedule, Switch, Why};
use super::strategy::{Chooser, Pause, Strategy};
use super::work::{Uncounted, set_counts, take_blocks};
use crate::coroutine::overflow::{self, Bounds, Running};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr;
use std::rc::Rc;
use std::time::Duration;

/// The size of a virtual thread's stack in bytes. Only the bytes that the thread touches take memory.
const STACK_BYTES: usize = 1 << 20;

/// The nanoseconds by which the clock of a run that is not timed advances with a step.
const STEP_NS: u64 = 10;
/// The nanoseconds by which that clock advances when a thread gives way.
const GIVEN_WAY_NS: u64 = 100;

/// The longest time, in nanoseconds, by which a deadline may pass early, as if all threads had stood still until then.
const STOPPED_NS: u64 = 1_000_000;

thread_local! {
    /// Stacks that can be used again, by the number of the thread that had them.
    static STACKS: RefCell<Vec<Option<DefaultStack>>> = const { RefCell::new(Vec::new()) };
}

/// A machine while it runs.
pub(super) struct Machine {
    /// The number of the thread that runs.
    running: Cell<usize>,
    /// The number of steps that all threads have made.
    steps: Cell<u64>,
    /// The number of steps that the thread that runs has made.
    own_steps: Cell<u64>,
    most_steps: u64,
    now_ns: Cell<u64>,
    order: Order,
    threads: RefCell<Vec<Thread>>,
    /// The work of threads that were spawned and have no coroutine yet.
    spawned: RefCell<Vec<Body>>,
    /// Whether the thread that runs goes on because its deadline has passed while all other threads waited, and has not
    /// called [`was_woken_by_nobody`] since. Until it does, the machine does not stop it.
    uninterrupted: Cell<bool>,
    switches: RefCell<Vec<Switch>>,
    failure: RefCell<Option<FailureKind>>,
    /// Functions that free the values that were leaked, at the end of the run.
    leaked: RefCell<Vec<Body>>,
}

/// The rule that says which thread goes on.
enum Order {
    /// A strategy chooses the thread. The clock counts steps.
    Chosen(Box<RefCell<Chooser>>),
    /// The thread on the core whose clock is furthest behind goes on: the run is timed.
    Timed(Box<RefCell<Cores>>),
}

/// The thread-local values of a virtual thread, by the addresses of their keys.
#[derive(Default)]
pub(super) struct Locals(pub(super) RefCell<Vec<(usize, Rc<dyn Any>)>>);

impl Locals {
    /// Drops the values, and then the values that their destructors make, until there are none.
    fn drop_all(&self) {
        while !self.0.borrow().is_empty() {
            drop(self.0.take());
        }
    }
}

/// The coroutine of a virtual thread, with the bounds of its stack.
type OnStack = (Coroutine<(), (), ()>, Bounds);

/// The work of a virtual thread.
type Body = Box<dyn FnOnce()>;

/// The state of a virtual thread.
struct Thread {
    name: String,
    phase: Phase,
    /// The number of steps that the thread had made when it stopped last. While it runs, [`Machine::own_steps`] has the
    /// number.
    steps: u64,
    /// The means to suspend the thread's coroutine, in the thread's first frame; null until the thread first runs.
    yielder: *const Yielder<(), ()>,
    locals: Rc<Locals>,
    /// Whether the thread was unparked and has not parked since.
    unparked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Ready,
    /// The thread waits for a wake at this address, until this time if there is one.
    Waits {
        at: usize,
        deadline: Option<u64>,
    },
    Done,
}

/// The way in which a wait at an address ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    ByThread,
    ByClock,
}

/// The kinds of failure of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// All threads that have not ended wait, and none of them has a deadline. Holds their names.
    Stalled(Vec<String>),
    /// A thread panicked. Holds its name and the message.
    Panicked(String, String),
    /// The run had not ended after the greatest number of steps.
    Endless,
}

/// The failure of a run.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The run up to the failure.
    pub report: Report,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FailureKind::Stalled(threads) => writeln!(f, "nobody can wake {}", threads.join(", "))?,
            FailureKind::Panicked(thread, message) => writeln!(f, "{thread} panicked: {message}")?,
            FailureKind::Endless => writeln!(f, "no end after {} steps", self.report.steps)?,
        }
        write!(f, "{}", self.report.schedule)
    }
}

impl std::error::Error for Failure {}

/// The record of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The switches from thread to thread; none for a timed run.
    pub schedule: Schedule,
    /// The number of steps that all threads made.
    pub steps: u64,
    /// The machine's time at the end.
    pub time: Duration,
    /// The places at which the threads of a timed run have waited for cache lines, the most expensive first.
    pub places: Vec<Place>,
}

/// Runs `main` as the first thread of a machine, until all its threads have ended.
///
/// The memory that its threads allocate is gone after the run: see [`outside`](super::outside).
///
/// # Errors
/// If a thread panics, if all threads wait for ever, or if they make more than `most_steps` steps. The threads are
/// leaked then.
///
/// # Panics
/// If the caller is a thread of a machine, or if memory that a thread has allocated was not freed.
pub fn run(strategy: &Strategy, seed: u64, most_steps: u64, main: impl FnOnce()) -> Result<Report, Failure> {
    let chooser = RefCell::new(Chooser::new(strategy, seed));
    let (report, live) = run_in(Order::Chosen(Box::new(chooser)), most_steps, main)?;
    assert_eq!(live, 0, "blocks of memory that outlive the run in which they were made");
    Ok(report)
}

/// Runs `main` as the first thread of a machine with this hardware, until all its threads have ended. The machine's
/// clock shows the time that the work would take on such hardware.
///
/// Memory that the threads allocate and do not free must not be used after the run: see [`outside`](super::outside).
///
/// # Errors
/// If a thread panics, or if all threads wait for ever. The threads are leaked then.
///
/// # Panics
/// If the caller is a thread of a machine, or if the hardware is [not possible](Hardware::check).
pub fn run_timed(hardware: &Hardware, main: impl FnOnce()) -> Result<Report, Failure> {
    hardware.check().expect("possible hardware");
    let cores = RefCell::new(Cores::new(hardware));
    run_in(Order::Timed(Box::new(cores)), u64::MAX, main).map(|(report, _)| report)
}

/// Runs `main` as the first thread of a new machine. Returns the record of the run, and the number of blocks of memory
/// that its threads have not freed.
fn run_in(order: Order, most_steps: u64, main: impl FnOnce()) -> Result<(Report, usize), Failure> {
    assert!(!is_running(), "a machine within a machine");
    let arena = Arena::new();
    // The last run may have ended with work that no step has taken.
    take_blocks();
    let machine = Box::new(Machine {
        running: Cell::new(0),
        steps: Cell::new(0),
        own_steps: Cell::new(0),
        most_steps,
        now_ns: Cell::new(0),
        order,
        threads: RefCell::default(),
        spawned: RefCell::default(),
        uninterrupted: Cell::new(false),
        switches: RefCell::default(),
        failure: RefCell::default(),
        leaked: RefCell::default(),
    });
    let main: Box<dyn FnOnce() + '_> = Box::new(main);
    // SAFETY: the loop below ends when the thread has ended, or it leaks the thread, which never runs again then.
    let main = unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Body>(main) };
    machine.spawn("main".to_owned(), main);
    let failed = machine.run_all();
    let report = Report {
        schedule: Schedule::new(machine.switches.borrow().clone()),
        steps: machine.steps.get(),
        time: Duration::from_nanos(machine.now_ns()),
        places: match &machine.order {
            Order::Chosen(_) => Vec::new(),
            Order::Timed(cores) => cores.borrow().places(),
        },
    };
    if let Some(kind) = failed {
        // Leaked threads may still point to it.
        Box::leak(machine);
        // The threads' memory is gone with the next run.
        return Err(Failure { kind: kind.clone(), report });
    }
    machine.leaked.take().into_iter().for_each(|free| free());
    drop(machine);
    Ok((report, arena.live()))
}

/// The machine that runs the caller, while the caller is in the machine's own code.
struct Entered<'m> {
    machine: &'m Machine,
    _uncounted: Uncounted,
}

impl Deref for Entered<'_> {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        self.machine
    }
}

/// Returns the machine that runs the caller, or `None` outside of machines.
#[inline]
fn machine<'m>() -> Option<Entered<'m>> {
    let machine = current::machine().cast::<Machine>();
    if machine.is_null() {
        return None;
    }
    let _uncounted = Uncounted::begin();
    // SAFETY: `run_all` sets the pointer only while it resumes a thread, and the machine outlives the call. What a
    // virtual thread gets here it does not keep beyond its own end: all callers are in this module.
    Some(Entered { machine: unsafe { &*machine }, _uncounted })
}

/// Leaks a box: returns a reference that is valid until the end of the run, or, outside of machines, of the process.
pub(crate) fn leak<T: ?Sized + 'static>(value: Box<T>) -> &'static T {
    let value = Box::into_raw(value);
    if let Some(machine) = machine() {
        // SAFETY: the pointer is a box's. No thread is left when the run ends, and nothing of it is used after it.
        machine.leaked.borrow_mut().push(Box::new(move || drop(unsafe { Box::from_raw(value) })));
    }
    // SAFETY: the value is never moved, nor freed before what can refer to it is gone.
    unsafe { &*value }
}

/// Makes a step: another thread may go on before the caller does.
#[inline]
#[track_caller]
pub(super) fn step(access: Access) {
    step_at(access, Location::caller());
}

/// Makes a step at a place in the code.
///
/// Never inlined, so that it is compiled with the machine, whose code does not count; and without a way to unwind, so
/// that the call needs no block of code of its own.
#[inline(never)]
#[expect(improper_ctypes_definitions, reason = "both sides are compiled together")]
extern "C" fn step_at(access: Access, at: &'static Location<'static>) {
    if let Some(machine) = machine() {
        machine.step(access, at);
    }
}

/// Lets other threads go on, because the caller waits for one of them. `yields` says that it yields its core rather
/// than spins.
#[track_caller]
pub(super) fn give_way(yields: bool) {
    if let Some(machine) = machine() {
        machine.advance(GIVEN_WAY_NS);
        let goes_on = match &machine.order {
            Order::Chosen(_) => false,
            Order::Timed(cores) => !cores.borrow_mut().give_way(yields),
        };
        if !goes_on {
            machine.pause(Pause::GivesWay, Location::caller());
        }
    }
}

/// Counts a plain access of the calling thread, in a timed run, if the address is in the arena.
pub(super) fn plain(address: usize, writes: bool) {
    if let Some(machine) = machine()
        && let Order::Timed(cores) = &machine.order
        && let Some(line) = Caches::number_inside(address)
    {
        cores.borrow_mut().plain(line, writes);
    }
}

/// Prefetches the line at an address, in a timed run, if the address is in the arena.
pub(crate) fn prefetch(address: usize, to_write: bool) {
    if let Some(machine) = machine()
        && let Order::Timed(cores) = &machine.order
        && Caches::number_inside(address).is_some()
    {
        cores.borrow_mut().prefetch(if to_write { Access::Writes(address) } else { Access::Reads(address) });
    }
}

/// Returns the number of cores of the machine that runs the caller, or `None` outside of machines.
pub(crate) fn cores() -> Option<usize> {
    machine().map(|machine| match &machine.order {
        Order::Chosen(_) => CORES,
        Order::Timed(cores) => cores.borrow().count(),
    })
}

/// Returns the name of the simulated hardware, or `None` outside of timed runs.
pub(crate) fn hardware_name() -> Option<String> {
    match &machine()?.order {
        Order::Chosen(_) => None,
        Order::Timed(cores) => Some(cores.borrow().name().to_owned()),
    }
}

/// Returns the time that the calling thread has had on a core, or `None` outside of machines. A machine whose clock
/// counts steps has no such time, and returns its own.
pub(crate) fn cpu_time() -> Option<Duration> {
    let machine = machine()?;
    Some(match &machine.order {
        Order::Chosen(_) => Duration::from_nanos(machine.now_ns()),
        Order::Timed(cores) => cores.borrow().used(),
    })
}

/// Waits until another thread [wakes](wake_all) this address, or the deadline passes. The caller is a virtual thread.
#[track_caller]
pub(super) fn wait_at(at: usize, deadline: Option<Duration>) -> Woken {
    let machine = machine().expect("outside of a machine nobody waits here");
    let deadline = deadline.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    machine.threads.borrow_mut()[machine.running.get()].phase = Phase::Waits { at, deadline };
    machine.advance(STEP_NS);
    machine.pause(Pause::Stops, Location::caller());
    let thread = &mut machine.threads.borrow_mut()[machine.running.get()];
    match thread.phase {
        Phase::Ready => Woken::ByThread,
        _ => {
            thread.phase = Phase::Ready;
            Woken::ByClock
        }
    }
}

/// Whether the calling thread goes on only because its deadline has passed while all other threads waited. A second
/// call returns false. If the condition for which the thread waited is true then, no other thread would have woken it:
/// a wake was lost.
pub(crate) fn was_woken_by_nobody() -> bool {
    machine().is_some_and(|machine| machine.uninterrupted.take())
}

/// Wakes all threads that wait at this address.
pub(super) fn wake_all(at: usize) {
    if let Some(machine) = machine() {
        machine.wake(at, usize::MAX);
    }
}

/// Wakes the thread that waits at this address, or, if there are several, the one with the least number.
pub(super) fn wake_one(at: usize) {
    if let Some(machine) = machine() {
        machine.wake(at, 1);
    }
}

/// Returns the machine's time, or `None` outside of machines. The call is a step.
#[track_caller]
pub(crate) fn now() -> Option<Duration> {
    let machine = machine()?;
    machine.step(Access::Elsewhere, Location::caller());
    Some(Duration::from_nanos(machine.now_ns()))
}

/// Returns the number of the calling thread, or `None` outside of machines.
#[inline]
pub(crate) fn number() -> Option<usize> {
    machine().map(|machine| machine.running.get())
}

/// Adds a thread, which runs `body` later. Returns its number, or `None` outside of machines, where the body is
/// dropped.
pub(super) fn spawn(name: Option<String>, body: Body) -> Option<usize> {
    let machine = machine()?;
    let number = machine.threads.borrow().len();
    Some(machine.spawn(name.unwrap_or_else(|| format!("thread {number}")), body))
}

/// Whether the thread with this number has ended.
pub(super) fn has_ended(number: usize) -> bool {
    machine().is_some_and(|machine| machine.threads.borrow()[number].phase == Phase::Done)
}

/// Returns the calling thread's thread-local values, or `None` outside of machines.
pub(super) fn locals() -> Option<Rc<Locals>> {
    let machine = machine()?;
    Some(machine.threads.borrow()[machine.running.get()].locals.clone())
}

/// Sets whether a thread was unparked. Returns whether it was before.
pub(super) fn set_unparked(number: usize, unparked: bool) -> bool {
    machine().is_some_and(|machine| std::mem::replace(&mut machine.threads.borrow_mut()[number].unparked, unparked))
}

impl Thread {
    fn wake(&mut self, address: usize) -> bool {
        let waits = matches!(self.phase, Phase::Waits { at, .. } if at == address);
        if waits {
            self.phase = Phase::Ready;
        }
        waits
    }
}

impl Machine {
    fn spawn(&self, name: String, body: Body) -> usize {
        let mut threads = self.threads.borrow_mut();
        let (phase, locals) = (Phase::Ready, Rc::default());
        threads.push(Thread { name, phase, steps: 0, yielder: ptr::null(), locals, unparked: false });
        self.spawned.borrow_mut().push(body);
        match &self.order {
            Order::Chosen(chooser) => chooser.borrow_mut().add_thread(),
            Order::Timed(cores) => cores.borrow_mut().add_thread(),
        }
        threads.len() - 1
    }

    /// Wakes up to `most` of the threads that wait at an address, in the order of their numbers.
    fn wake(&self, at: usize, most: usize) {
        let mut threads = self.threads.borrow_mut();
        let woken = threads.iter_mut().enumerate().filter_map(|(number, thread)| thread.wake(at).then_some(number));
        for number in woken.take(most) {
            if let Order::Timed(cores) = &self.order {
                cores.borrow_mut().wake(number);
            }
        }
    }

    /// Returns the time of the thread that runs.
    fn now_ns(&self) -> u64 {
        match &self.order {
            Order::Chosen(_) => self.now_ns.get(),
            Order::Timed(cores) => cores.borrow().now() / 1000,
        }
    }

    /// Counts a step. The clock goes on by `ns`, or, in a timed run, by the work since the last step.
    #[inline]
    fn advance(&self, ns: u64) {
        self.steps.set(self.steps.get() + 1);
        self.own_steps.set(self.own_steps.get() + 1);
        match &self.order {
            Order::Chosen(_) => self.now_ns.set(self.now_ns.get() + ns),
            Order::Timed(cores) => cores.borrow_mut().work(take_blocks()),
        }
    }

    #[inline]
    fn step(&self, access: Access, at: &'static Location<'static>) {
        self.advance(STEP_NS);
        let (thread, own, step) = (self.running.get(), self.own_steps.get(), self.steps.get());
        let is_due = match &self.order {
            Order::Chosen(chooser) => chooser.borrow_mut().is_due(thread, own, access) && !self.uninterrupted.get(),
            Order::Timed(cores) => cores.borrow_mut().step(access, at),
        };
        // A panic is not the machine's own: all its threads would seem to panic.
        if (is_due && !std::thread::panicking()) || step > self.most_steps {
            self.pause(Pause::Step, at);
        }
    }

    /// Chooses the thread that goes on, and returns when the calling thread goes on again. Ends the run if no thread
    /// can go on, or if there were too many steps.
    #[cold]
    fn pause(&self, pause: Pause, at: &'static Location<'static>) {
        self.uninterrupted.set(false);
        let thread = self.running.get();
        if self.steps.get() > self.most_steps {
            self.fail(FailureKind::Endless);
        }
        let own = self.own_steps.get();
        let Some(next) = self.choose(thread, own, pause) else { self.fail(FailureKind::Stalled(self.waiting())) };
        if next == thread {
            return;
        }
        let why = if pause == Pause::Step { Why::Stopped } else { Why::Waits };
        self.note(Switch { thread, step: own, next, why, at });
        self.go_to(next);
    }

    /// Records a switch, unless the run is timed: such a run makes too many switches, and needs none of them.
    fn note(&self, switch: Switch) {
        if let Order::Chosen(_) = self.order {
            self.switches.borrow_mut().push(switch);
        }
    }

    /// Chooses the thread that goes on after `thread`, which stands at its own step `own`. Returns `None` if all wait
    /// for ever.
    fn choose(&self, thread: usize, own: u64, pause: Pause) -> Option<usize> {
        match &self.order {
            Order::Chosen(chooser) => self.choose_by(&mut chooser.borrow_mut(), thread, own, pause),
            Order::Timed(cores) => {
                let mut cores = cores.borrow_mut();
                match self.threads.borrow()[thread].phase {
                    Phase::Ready => {}
                    Phase::Waits { deadline, .. } => cores.stop(deadline.map(|ns| ns.saturating_mul(1000))),
                    Phase::Done => cores.stop(None),
                }
                cores.next()
            }
        }
    }

    fn choose_by(&self, chooser: &mut Chooser, thread: usize, own: u64, pause: Pause) -> Option<usize> {
        let (mut ready, mut early, mut later) = (Vec::new(), Vec::new(), Vec::new());
        let threads = self.threads.borrow();
        let now = self.now_ns.get();
        for (number, thread) in threads.iter().enumerate() {
            match thread.phase {
                Phase::Ready => ready.push(number),
                Phase::Waits { deadline: Some(deadline), .. } if deadline <= now => ready.push(number),
                Phase::Waits { deadline: Some(deadline), .. } if deadline <= now + STOPPED_NS => early.push(number),
                Phase::Waits { deadline: Some(deadline), .. } => later.push((deadline, number)),
                Phase::Waits { deadline: None, .. } | Phase::Done => {}
            }
        }
        let all_wait = ready.is_empty();
        if all_wait && early.is_empty() {
            early.push(later.into_iter().min()?.1);
        }
        let next = chooser.choose(&mut ready, &early, thread, own, pause);
        if let Phase::Waits { deadline: Some(deadline), .. } = threads[next].phase {
            self.now_ns.set(now.max(deadline));
            self.uninterrupted.set(all_wait);
        }
        Some(next)
    }

    /// Returns the names of the threads that have not ended.
    fn waiting(&self) -> Vec<String> {
        let threads = self.threads.borrow();
        threads.iter().filter(|thread| thread.phase != Phase::Done).map(|thread| thread.name.clone()).collect()
    }

    /// Suspends the calling thread, so that the thread `next` goes on. Returns when the calling thread goes on again.
    fn go_to(&self, next: usize) {
        let thread = self.running.get();
        let yielder = {
            let mut threads = self.threads.borrow_mut();
            threads[thread].steps = self.own_steps.get();
            threads[thread].yielder
        };
        self.running.set(next);
        let within = overflow::present();
        // SAFETY: the thread runs, so the frame below it that holds the yielder lives; `coroutine` has set the pointer.
        unsafe { (*yielder).suspend(()) };
        overflow::set_present(within);
    }

    /// Ends the run with a failure. The calling thread never goes on.
    fn fail(&self, kind: FailureKind) -> ! {
        self.failure.borrow_mut().get_or_insert(kind);
        loop {
            self.go_to(self.running.get());
        }
    }

    /// Runs the threads until all have ended or the run has failed. Returns the failure.
    fn run_all(&self) -> Option<FailureKind> {
        let mut coroutines: Vec<Option<OnStack>> = Vec::new();
        let failed = loop {
            for body in self.spawned.take() {
                let number = coroutines.len();
                coroutines.push(Some(self.coroutine(number, body)));
            }
            let running = self.running.get();
            let Some((coroutine, bounds)) = &mut coroutines[running] else { unreachable!("an ended thread goes on") };
            self.own_steps.set(self.threads.borrow()[running].steps);
            set_machine(ptr::from_ref(self).cast());
            let result = {
                let _running = Running::on(*bounds);
                coroutine.resume(())
            };
            set_machine(ptr::null());
            if let Some(failed) = self.failure.take() {
                break Some(failed);
            }
            if let CoroutineResult::Return(()) = result {
                let done = coroutines[running].take().expect("it has run");
                STACKS.with_borrow_mut(|stacks| {
                    stacks.resize_with(stacks.len().max(running + 1), || None);
                    stacks[running] = Some(done.0.into_stack());
                });
                let own = self.own_steps.get();
                let Some(next) = self.choose(running, own, Pause::Stops) else {
                    let waiting = self.waiting();
                    break (!waiting.is_empty()).then_some(FailureKind::Stalled(waiting));
                };
                let at = Location::caller();
                self.note(Switch { thread: running, step: own, next, why: Why::Ends, at });
                self.running.set(next);
            }
        };
        if failed.is_some() {
            coroutines.into_iter().flatten().for_each(std::mem::forget);
        }
        failed
    }

    /// Makes the coroutine of a thread.
    fn coroutine(&self, number: usize, body: Body) -> OnStack {
        let spare = STACKS.with_borrow_mut(|stacks| stacks.get_mut(number).and_then(Option::take));
        let stack = spare.unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("memory for a virtual thread"));
        let bounds = Bounds::of(&stack);
        let this: *const Machine = self;
        let run = move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: the machine runs this thread, so it lives.
            let this = unsafe { &*this };
            this.threads.borrow_mut()[number].yielder = yielder;
            set_counts(matches!(this.order, Order::Timed(_)));
            let panicked = catch_unwind(AssertUnwindSafe(body)).err();
            let locals = this.threads.borrow()[number].locals.clone();
            let panicked = panicked.or_else(|| catch_unwind(AssertUnwindSafe(|| locals.drop_all())).err());
            if let Some(panic) = panicked {
                let name = this.threads.borrow()[number].name.clone();
                this.fail(FailureKind::Panicked(name, message(&*panic)));
            }
            set_counts(false);
            this.threads.borrow_mut()[number].phase = Phase::Done;
            wake_all(end_of(number));
        };
        // SAFETY: `run_all` either runs the coroutine to its end or leaks it.
        (unsafe { Coroutine::with_stack_unchecked(stack, run) }, bounds)
    }
}

/// Returns the address at which threads wait for the end of the thread `number`: a small number, which is no object's
/// address.
pub(super) fn end_of(number: usize) -> usize {
    2 * number + 1
}

/// Returns the address at which the thread `number` waits while it is parked: a small number, which is no object's
/// address.
pub(super) fn parking_of(number: usize) -> usize {
    2 * number + 2
}

/// Returns the message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}
