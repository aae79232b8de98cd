//! Stands for the locks of `std::sync`.
//!
//! Each is `std`'s own lock, which a virtual thread only ever tries to take. A thread that does not get the lock waits
//! at the lock's address until another thread gives it back. Outside of machines the thread of the operating system
//! waits.

use super::access::Access;
use super::current::is_running;
use super::scheduler::{Woken, now, step, wait_at, wake_all, wake_one};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::Duration;

macro_rules! guard {
    ($name:ident of $lock:ident $($mutable:ident)?) => {
        /// The guard of a lock: gives access to the value that the lock protects. Its drop gives the lock back.
        pub struct $name<'a, T: ?Sized> {
            inner: ManuallyDrop<std::sync::$name<'a, T>>,
            lock: &'a std::sync::$lock<T>,
        }

        impl<'a, T: ?Sized> $name<'a, T> {
            fn new(inner: std::sync::$name<'a, T>, lock: &'a std::sync::$lock<T>) -> Self {
                Self { inner: ManuallyDrop::new(inner), lock }
            }
        }

        impl<T: ?Sized> Drop for $name<'_, T> {
            fn drop(&mut self) {
                // SAFETY: nobody uses the guard after its drop.
                unsafe { ManuallyDrop::drop(&mut self.inner) };
                wake_all(address(self.lock));
            }
        }

        impl<T: ?Sized> Deref for $name<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.inner
            }
        }

        $(impl<T: ?Sized> DerefMut for $name<'_, T> {
            fn deref_mut(&mut self) -> &$mutable T {
                &mut self.inner
            }
        })?

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&**self, f)
            }
        }
    };
}

guard!(MutexGuard of Mutex mut);
guard!(RwLockReadGuard of RwLock);
guard!(RwLockWriteGuard of RwLock mut);

fn address<T: ?Sized>(lock: &T) -> usize {
    ptr::from_ref(lock).addr()
}

/// Takes a lock, and waits for it if necessary. `attempt` tries to take the lock; `outside` waits for it outside of
/// machines.
#[track_caller]
fn take<'a, L: ?Sized, G>(
    lock: &'a L,
    attempt: impl Fn(&'a L) -> TryLockResult<G>,
    outside: impl FnOnce(&'a L) -> LockResult<G>,
) -> LockResult<G> {
    if !is_running() {
        return outside(lock);
    }
    step(Access::Exchanges(address(lock)));
    loop {
        match attempt(lock) {
            Ok(taken) => return Ok(taken),
            Err(TryLockError::Poisoned(poisoned)) => return Err(poisoned),
            Err(TryLockError::WouldBlock) => wait_at(address(lock), None),
        };
    }
}

/// Wraps the guard in the result of a lock, whether the lock is poisoned or not.
fn with_guard<G, O>(taken: LockResult<G>, guard: impl Fn(G) -> O) -> LockResult<O> {
    match taken {
        Ok(taken) => Ok(guard(taken)),
        Err(poisoned) => Err(PoisonError::new(guard(poisoned.into_inner()))),
    }
}

#[track_caller]
fn lock<T: ?Sized>(mutex: &std::sync::Mutex<T>) -> LockResult<MutexGuard<'_, T>> {
    let taken = take(mutex, |mutex| mutex.try_lock(), |mutex| mutex.lock());
    with_guard(taken, |taken| MutexGuard::new(taken, mutex))
}

/// Stands for `std`'s mutex.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Makes a free mutex.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Consumes the mutex, and returns its value.
    ///
    /// # Errors
    /// If a thread panicked while it held the mutex.
    pub fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the mutex.
    ///
    /// # Errors
    /// If a thread panicked while it held the mutex.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        lock(&self.0)
    }

    /// Takes the mutex if it is free.
    ///
    /// # Errors
    /// If it is taken, or a thread panicked while it held the mutex.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        step(Access::Exchanges(address(&self.0)));
        let guard = |taken| MutexGuard::new(taken, &self.0);
        match self.0.try_lock() {
            Ok(taken) => Ok(guard(taken)),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            Err(TryLockError::Poisoned(poisoned)) => {
                Err(TryLockError::Poisoned(PoisonError::new(guard(poisoned.into_inner()))))
            }
        }
    }

    /// Returns the value without taking the mutex, which no other thread can use meanwhile.
    ///
    /// # Errors
    /// If a thread panicked while it held the mutex.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }
}

/// Stands for `std`'s lock of many readers or one writer.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Makes a free lock.
    pub const fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes the lock for reading, beside other readers.
    ///
    /// # Errors
    /// If a thread panicked while it wrote.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let taken = take(&self.0, |lock| lock.try_read(), |lock| lock.read());
        with_guard(taken, |taken| RwLockReadGuard::new(taken, &self.0))
    }

    /// Takes the lock for writing, alone.
    ///
    /// # Errors
    /// If a thread panicked while it wrote.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let taken = take(&self.0, |lock| lock.try_write(), |lock| lock.write());
        with_guard(taken, |taken| RwLockWriteGuard::new(taken, &self.0))
    }
}

/// Whether a wait ended because its time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the wait ended because its time was over.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// Stands for `std`'s condition variable. Only virtual threads may wait.
#[derive(Debug, Default)]
pub struct Condvar {
    /// A byte, so that each condition variable has an address of its own, at which threads wait.
    _place: u8,
}

impl Condvar {
    /// Makes a condition variable.
    pub const fn new() -> Self {
        Self { _place: 0 }
    }

    /// Gives the mutex back, waits for a notification, and takes the mutex again.
    ///
    /// # Errors
    /// If a thread panicked while it held the mutex.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        with_guard(self.wait_until(guard, None), |(guard, _)| guard)
    }

    /// Waits as [`wait`](Self::wait) does, for `time` at most.
    ///
    /// # Errors
    /// If a thread panicked while it held the mutex.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        self.wait_until(guard, Some(time))
    }

    #[track_caller]
    fn wait_until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Option<Duration>,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let now = now().expect("only virtual threads wait for a condition");
        let mutex = guard.lock;
        // No step comes between the end of the guard and the wait.
        drop(guard);
        let woken = wait_at(address(self), time.map(|time| now.saturating_add(time)));
        let timed_out = WaitTimeoutResult(woken == Woken::ByClock);
        with_guard(lock(mutex), |guard| (guard, timed_out))
    }

    /// Wakes one of the waiting threads, that with the least number, if there are any.
    #[track_caller]
    pub fn notify_one(&self) {
        step(Access::Reads(address(self)));
        wake_one(address(self));
    }

    /// Wakes all waiting threads.
    #[track_caller]
    pub fn notify_all(&self) {
        step(Access::Reads(address(self)));
        wake_all(address(self));
    }
}

/// Stands for `std`'s cell that is written once.
pub struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    /// The mutex that a thread holds while it makes the value.
    making: Mutex<()>,
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), making: Mutex::new(()) }
    }
}

impl<T> OnceLock<T> {
    /// Makes an empty cell.
    pub const fn new() -> Self {
        Self { value: std::sync::OnceLock::new(), making: Mutex::new(()) }
    }

    /// Returns the value, or `None` if there is none yet.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        step(Access::Reads(address(self)));
        self.value.get()
    }

    /// Returns the value, or `None` if there is none yet.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    /// Sets the value, unless the cell has one already.
    ///
    /// # Errors
    /// Returns `value` if the cell has one already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let _alone = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        self.value.set(value)
    }

    /// Returns the value, and makes it first if there is none.
    #[track_caller]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        // Without a step, if possible: whether a static has its value before a run makes no difference then.
        let _alone = match self.making.0.try_lock() {
            Ok(alone) => with_guard(Ok(alone), |alone| MutexGuard::new(alone, &self.making.0)),
            Err(_) => self.making.lock(),
        };
        if self.value.get().is_none() {
            let made = make();
            // Nobody else sets the value while this thread has the mutex.
            let _ = self.value.set(made);
        }
        self.value.get().expect("it was made")
    }

    /// Takes the value out, and leaves the cell empty.
    pub fn take(&mut self) -> Option<T> {
        self.value.take()
    }

    /// Consumes the cell, and returns its value, or `None` if it has none.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.value, f)
    }
}
