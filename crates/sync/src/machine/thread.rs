//! Stands for `std::thread`. Only virtual threads may spawn, park and sleep.

use super::access::Access;
use super::scheduler::{
    self, end_of, give_way, has_ended, now, number, parking_of, set_unparked, step, wait_at, wake_all,
};
use std::io;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
pub use std::thread::{Result, panicking};
use std::time::Duration;

/// The address at which sleeping threads wait. No thread wakes it.
const NOBODY: usize = 0;

/// Returns the number of cores.
///
/// # Errors
/// Outside of machines, if the system does not tell the number.
pub fn available_parallelism() -> io::Result<NonZeroUsize> {
    scheduler::cores().and_then(NonZeroUsize::new).map_or_else(std::thread::available_parallelism, Ok)
}

/// Lets other virtual threads go on; outside of machines, other threads of the operating system.
#[track_caller]
pub fn yield_now() {
    if number().is_some() { give_way(true) } else { std::thread::yield_now() }
}

/// Suspends the calling thread for `time`.
#[track_caller]
pub fn sleep(time: Duration) {
    let now = now().expect("only virtual threads sleep");
    wait_at(NOBODY, Some(now.saturating_add(time)));
}

/// Waits until another thread calls [`Thread::unpark`].
#[track_caller]
pub fn park() {
    park_until(None);
}

/// Waits as [`park`] does, for `time` at most.
#[track_caller]
pub fn park_timeout(time: Duration) {
    park_until(Some(time));
}

#[track_caller]
fn park_until(time: Option<Duration>) {
    let now = now().expect("only virtual threads are parked");
    let own = number().expect("it is one");
    if !set_unparked(own, false) {
        wait_at(parking_of(own), time.map(|time| now.saturating_add(time)));
        set_unparked(own, false);
    }
}

/// Returns the calling thread.
pub fn current() -> Thread {
    Thread { number: number().expect("only virtual threads know themselves") }
}

/// A handle of a virtual thread.
#[derive(Clone, Debug)]
pub struct Thread {
    number: usize,
}

impl Thread {
    /// Lets the thread go on if it is parked. Otherwise its next attempt to park returns at once.
    #[track_caller]
    pub fn unpark(&self) {
        step(Access::Elsewhere);
        set_unparked(self.number, true);
        wake_all(parking_of(self.number));
    }
}

/// The place for a thread's result, which is `None` until the thread has ended.
type Packet<T> = Arc<Mutex<Option<T>>>;

/// A handle through which the end of a thread can be waited for.
#[derive(Debug)]
pub struct JoinHandle<T> {
    number: usize,
    packet: Packet<T>,
}

impl<T> JoinHandle<T> {
    /// Waits until the thread has ended, and returns its result.
    ///
    /// # Errors
    /// None: the panic of a thread ends the run.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        join(self.number);
        Ok(self.packet.lock().unwrap_or_else(PoisonError::into_inner).take().expect("the thread has ended"))
    }

    /// Whether the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        step(Access::Elsewhere);
        has_ended(self.number)
    }

    /// Returns a handle of the thread.
    pub fn thread(&self) -> Thread {
        Thread { number: self.number }
    }
}

#[track_caller]
fn join(number: usize) {
    step(Access::Elsewhere);
    while !has_ended(number) {
        wait_at(end_of(number), None);
    }
}

/// Starts a thread.
#[track_caller]
pub fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().spawn(work).expect("a machine has room")
}

/// The description of a thread to start.
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
}

impl Builder {
    /// Makes a description of a thread without a name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the thread's name, which reports of failures show.
    pub fn name(self, name: String) -> Self {
        Self { name: Some(name) }
    }

    /// Does nothing: all stacks have the same size.
    pub fn stack_size(self, _: usize) -> Self {
        self
    }

    /// Starts a thread.
    ///
    /// # Errors
    /// None.
    #[track_caller]
    pub fn spawn<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
        Ok(start(self.name, work))
    }
}

/// Starts a thread. Everything that `work` borrows must outlive the thread.
#[track_caller]
fn start<'a, T: Send + 'a>(name: Option<String>, work: impl FnOnce() -> T + Send + 'a) -> JoinHandle<T> {
    step(Access::Elsewhere);
    let packet: Packet<T> = Arc::default();
    let own = packet.clone();
    let body: Box<dyn FnOnce() + 'a> = Box::new(move || {
        let result = work();
        *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    // SAFETY: the thread either ends before what it borrows, since `scope` waits for it and `spawn` admits no borrows,
    // or its machine has failed, and it never runs again.
    let body = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'a>, Box<dyn FnOnce()>>(body) };
    JoinHandle { number: scheduler::spawn(name, body).expect("only virtual threads start threads"), packet }
}

/// A scope of threads that may borrow from their surroundings, because all of them end before the call of [`scope`]
/// returns.
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    threads: Mutex<Vec<usize>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// A handle through which the end of a [`Scope`]'s thread can be waited for.
#[derive(Debug)]
pub struct ScopedJoinHandle<'scope, T> {
    handle: JoinHandle<T>,
    scope: PhantomData<&'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits until the thread has ended, and returns its result.
    ///
    /// # Errors
    /// None: the panic of a thread ends the run.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.handle.join()
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a thread.
    #[track_caller]
    pub fn spawn<T: Send + 'scope>(
        &'scope self,
        work: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        let handle = start(None, work);
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(handle.number);
        ScopedJoinHandle { handle, scope: PhantomData }
    }
}

/// Calls `work` with a scope, waits until all threads of the scope have ended, and returns the result of `work`.
#[track_caller]
pub fn scope<'env, T>(work: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    let scope = Scope { threads: Mutex::default(), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| work(&scope)));
    loop {
        let threads = std::mem::take(&mut *scope.threads.lock().unwrap_or_else(PoisonError::into_inner));
        if threads.is_empty() {
            break;
        }
        threads.into_iter().for_each(join);
    }
    result.unwrap_or_else(|panic| resume_unwind(panic))
}
