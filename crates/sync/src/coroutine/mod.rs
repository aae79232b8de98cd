//! Stackful coroutines: plain synchronous code that can be suspended from any depth.
//!
//! A [`Stack`] is made first, then its [`Suspender`], then the [`Coroutine`] on it. So the body can be given objects
//! that suspend it, such as a [`Scheduler`](crate::Scheduler), without knowing how.
//!
//! **Invariants**
//!
//! 1. A suspender suspends only the coroutine that it was made for, and only if that coroutine calls it: the caller's
//!    frame lies on the coroutine's stack. A call from elsewhere panics.
//! 2. A suspender outlives its coroutine harmlessly: once the body has ended, a call panics, even after the stack is
//!    reused.
//! 3. A coroutine that is dropped while suspended unwinds its stack, so that what lives there is dropped; a suspension
//!    during that unwinding returns at once.
//! 4. A body that borrows runs in a [`Scope`], which cannot be leaked and ends before what the body borrows does.
//!
//! A body asks how much of its stack is [`left`](crate::stack::left). A body that needs more than that ends the
//! program, with a message that says so: `coroutine/overflow.rs`.

pub(crate) mod overflow;

use crate::Arc;
use crate::atomic::{AtomicBool, AtomicPtr, Ordering};
use corosensei::stack::DefaultStack;
use corosensei::{CoroutineResult, Yielder};
use overflow::{Bounds, Running};
use std::any::Any;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

/// The memory for a coroutine's frames, with a guard page below it. It can be used again when its coroutine is done.
pub struct Stack {
    memory: DefaultStack,
    suspender: Arc<Suspender>,
}

impl Stack {
    /// Makes a stack of at least `size` bytes. That costs several system calls, so callers should keep stacks and use
    /// them again.
    ///
    /// # Errors
    /// If the system has no memory, or no more mappings, for it.
    pub fn new(size: usize) -> io::Result<Self> {
        overflow::watch();
        let memory = DefaultStack::new(size)?;
        let bounds = Bounds::of(&memory);
        Ok(Self::around(memory, bounds))
    }

    /// Returns the object that suspends the coroutine that will run on this stack.
    pub fn suspender(&self) -> Arc<Suspender> {
        self.suspender.clone()
    }

    fn around(memory: DefaultStack, bounds: Bounds) -> Self {
        let suspender =
            Suspender { yielder: AtomicPtr::new(ptr::null_mut()), unwinding: AtomicBool::new(false), bounds };
        Self { memory, suspender: Arc::new(suspender) }
    }
}

/// The handle by which the code in one coroutine suspends that coroutine. Any thread may hold a reference, but only
/// code that runs on the coroutine's stack may call [`suspend`](Self::suspend).
#[derive(Debug)]
pub struct Suspender {
    /// The pointer to the yielder in the coroutine's first frame, while the coroutine's body runs or is suspended; null
    /// before and after.
    yielder: AtomicPtr<Yielder<(), ()>>,
    unwinding: AtomicBool,
    bounds: Bounds,
}

impl Suspender {
    /// Suspends the calling coroutine until it is resumed. Returns at once while the coroutine's stack is unwound.
    ///
    /// # Panics
    /// If the caller does not run in the coroutine that this object was made for.
    pub fn suspend(&self) {
        assert!(self.is_caller(), "a coroutine can be suspended only by itself");
        let yielder = self.yielder.load(Ordering::Acquire);
        assert!(!yielder.is_null(), "the coroutine's body is not running");
        if self.unwinding.load(Ordering::Acquire) {
            return;
        }
        // SAFETY: the caller's frame is on this coroutine's stack, so the coroutine runs, on this thread, and its body,
        // which holds the yielder borrowed, is one of the frames below. The pointer is that borrow. The body sets it
        // when it begins and nulls it before it ends, and only code on this stack can run in between.
        unsafe { (*yielder).suspend(()) };
    }

    /// Whether the caller runs on the coroutine's stack. The address of the caller's frame shows that.
    fn is_caller(&self) -> bool {
        let local = 0_u8;
        let address = (&raw const local).addr();
        (self.bounds.floor..self.bounds.high).contains(&address)
    }
}

/// A guard that nulls the pointer to the yielder when the body returns or unwinds.
struct InBody<'a>(&'a Suspender);

impl Drop for InBody<'_> {
    fn drop(&mut self) {
        self.0.yielder.store(ptr::null_mut(), Ordering::Release);
    }
}

/// The outcome of resuming a coroutine.
#[derive(Debug)]
pub enum Resumed<R> {
    /// The coroutine suspended itself.
    Suspended,
    /// The body returned this value.
    Returned(R),
    /// The body panicked with this payload.
    Panicked(Box<dyn Any + Send>),
}

/// A function that runs on a stack of its own and can be suspended at any depth. It stays on the thread that made it.
pub struct Coroutine<R: 'static> {
    /// The coroutine itself; `None` only after it was consumed.
    inner: Option<corosensei::Coroutine<(), (), R>>,
    suspender: Arc<Suspender>,
}

impl<R: 'static> Coroutine<R> {
    /// Makes a coroutine that will run `body` when it is first resumed.
    pub fn new(stack: Stack, body: impl FnOnce() -> R + 'static) -> Self {
        // SAFETY: the body is `'static`, so it borrows nothing that could end.
        unsafe { Self::borrowing(stack, body) }
    }

    /// Makes a coroutine whose body may borrow.
    ///
    /// # Safety
    /// The data that the body borrows must outlive the coroutine, and the coroutine must be dropped.
    unsafe fn borrowing(stack: Stack, body: impl FnOnce() -> R) -> Self {
        let Stack { memory, suspender } = stack;
        let own = suspender.clone();
        // Only a small object can be moved onto the new stack.
        let body = Box::new(body);
        let body = move |yielder: &Yielder<(), ()>, ()| {
            own.yielder.store(ptr::from_ref(yielder).cast_mut(), Ordering::Release);
            let _in_body = InBody(&own);
            body()
        };
        // SAFETY: the data that the body borrows remains until the coroutine is dropped, as our caller promises.
        let inner = unsafe { corosensei::Coroutine::with_stack_unchecked(memory, body) };
        Self { inner: Some(inner), suspender }
    }

    /// Runs the body until it suspends itself, returns or panics.
    ///
    /// # Panics
    /// If the coroutine is done.
    pub fn resume(&mut self) -> Resumed<R> {
        assert!(!self.is_done(), "a coroutine that is done cannot be resumed");
        let inner = self.inner.as_mut().expect("present until the coroutine is consumed");
        let _running = Running::on(self.suspender.bounds);
        match catch_unwind(AssertUnwindSafe(|| inner.resume(()))) {
            Ok(CoroutineResult::Yield(())) => Resumed::Suspended,
            Ok(CoroutineResult::Return(value)) => Resumed::Returned(value),
            Err(panic) => Resumed::Panicked(panic),
        }
    }

    /// Whether the body has returned or panicked.
    pub fn is_done(&self) -> bool {
        self.inner().done()
    }

    /// Returns the coroutine's stack, to be used again. If the coroutine is not done, its stack is unwound first.
    pub fn into_stack(mut self) -> Stack {
        self.unwind();
        let inner = self.inner.take().expect("present until it is taken here or dropped");
        Stack::around(inner.into_stack(), self.suspender.bounds)
    }

    fn unwind(&mut self) {
        if let Some(inner) = &mut self.inner {
            self.suspender.unwinding.store(true, Ordering::Release);
            let _running = Running::on(self.suspender.bounds);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| inner.force_unwind())) {
                // SAFETY: the unwinding has dropped what was on the stack as far as that was possible. Nothing may be
                // dropped twice, which would happen to a body that has never begun.
                unsafe { inner.force_reset() };
                resume_unwind(panic);
            }
        }
    }

    fn inner(&self) -> &corosensei::Coroutine<(), (), R> {
        self.inner.as_ref().expect("present until the coroutine is consumed")
    }
}

impl<R: 'static> Drop for Coroutine<R> {
    fn drop(&mut self) {
        self.unwind();
    }
}

/// Calls `work` with a [`Scope`], in which it can spawn coroutines whose bodies borrow data that outlives this call.
/// When `work` returns or panics, the coroutines that are not done are unwound.
pub fn scope<'env, R: 'static, T>(work: impl FnOnce(&mut Scope<'env, R>) -> T) -> T {
    work(&mut Scope { coroutines: Vec::new(), borrowed: PhantomData })
}

/// The coroutines of a [`scope`], numbered from zero.
pub struct Scope<'env, R: 'static> {
    coroutines: Vec<Coroutine<R>>,
    borrowed: PhantomData<&'env mut &'env ()>,
}

impl<'env, R: 'static> Scope<'env, R> {
    /// Adds a coroutine that will run `body` when it is first resumed. Coroutines are numbered in the order of their
    /// spawns.
    pub fn spawn(&mut self, stack: Stack, body: impl FnOnce() -> R + 'env) {
        // SAFETY: `'env` outlives the call of `scope`, since it is one of its parameters. Scopes live in frames of
        // `scope` and are only lent, so each is dropped, with its coroutines, before such a call returns or unwinds.
        self.coroutines.push(unsafe { Coroutine::borrowing(stack, body) });
    }

    /// Resumes the coroutine with this number, as [`Coroutine::resume`] does.
    ///
    /// # Panics
    /// If there is no coroutine with this number, or it is done.
    pub fn resume(&mut self, number: usize) -> Resumed<R> {
        self.coroutines[number].resume()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    fn stack() -> Stack {
        Stack::new(64 * 1024).expect("memory for a stack")
    }

    /// Sets its flag when it is dropped, and suspends on the way.
    struct OnDrop(Rc<Cell<bool>>, Arc<Suspender>);

    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.1.suspend();
            self.0.set(true);
        }
    }

    #[test]
    fn a_body_is_suspended_from_any_depth() {
        fn deep(depth: u32, suspender: &Suspender) -> u32 {
            if depth == 0 {
                suspender.suspend();
                return 1;
            }
            deep(depth - 1, suspender) + 1
        }
        let stack = stack();
        let suspender = stack.suspender();
        let mut coroutine = Coroutine::new(stack, move || deep(9, &suspender));
        assert!(matches!(coroutine.resume(), Resumed::Suspended));
        assert!(matches!(coroutine.resume(), Resumed::Returned(10)));
        assert!(coroutine.is_done());
    }

    #[test]
    fn a_suspended_body_is_unwound_and_its_stack_used_again() {
        let dropped = Rc::new(Cell::new(false));
        let stack = stack();
        let suspender = stack.suspender();
        let guard = OnDrop(dropped.clone(), suspender.clone());
        let old = suspender.clone();
        let mut coroutine = Coroutine::new(stack, move || {
            let _guard = guard;
            suspender.suspend();
        });
        assert!(matches!(coroutine.resume(), Resumed::Suspended));
        let stack = coroutine.into_stack();
        assert!(dropped.get());

        let mut successor = Coroutine::new(stack, move || old.suspend());
        assert!(matches!(successor.resume(), Resumed::Panicked(_)), "a dead suspender suspends nobody");
    }

    #[test]
    fn a_panic_comes_out_of_resume() {
        let mut coroutine = Coroutine::new(stack(), || -> u8 { panic!("inside") });
        assert!(matches!(coroutine.resume(), Resumed::Panicked(panic) if panic.is::<&str>()));
        assert!(coroutine.is_done());
    }

    #[test]
    fn a_body_that_panics_when_it_is_dropped_is_dropped_once() {
        struct Thrower(Rc<Cell<u32>>);

        impl Drop for Thrower {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
                panic!("while it is dropped");
            }
        }

        let drops = Rc::new(Cell::new(0));
        let thrower = Thrower(drops.clone());
        let coroutine = Coroutine::new(stack(), move || drop(thrower));
        assert!(catch_unwind(AssertUnwindSafe(|| drop(coroutine))).is_err(), "it is never begun");
        assert_eq!(drops.get(), 1);
    }

    #[test]
    fn a_scope_unwinds_what_is_not_done_before_its_borrows_end() {
        let (dropped, begun) = (Rc::new(Cell::new(false)), Cell::new(0));
        /// Spawns a coroutine that suspends itself once.
        fn spawn<'env>(scope: &mut Scope<'env, u32>, begun: &'env Cell<u32>, dropped: &Rc<Cell<bool>>) {
            let stack = stack();
            let suspender = stack.suspender();
            let dropped = dropped.clone();
            scope.spawn(stack, move || {
                begun.set(begun.get() + 1);
                let guard = OnDrop(dropped, suspender);
                guard.1.suspend();
                std::mem::forget(guard);
                begun.get()
            });
        }
        let outcome = scope(|scope| {
            (0..3).for_each(|_| spawn(scope, &begun, &dropped));
            assert!(matches!((scope.resume(0), scope.resume(1)), (Resumed::Suspended, Resumed::Suspended)));
            assert!(matches!(scope.resume(1), Resumed::Returned(2)));
            dropped.get()
        });
        assert!(!outcome && dropped.replace(false), "the first one was unwound");
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            scope(|scope| {
                spawn(scope, &begun, &dropped);
                scope.resume(0);
                panic!("in the scope");
            })
        }));
        assert!(panicked.is_err() && dropped.get());
    }

    #[test]
    fn nobody_else_can_suspend_a_coroutine() {
        let first = stack();
        let suspender = first.suspender();
        assert!(catch_unwind(AssertUnwindSafe(|| suspender.suspend())).is_err(), "not inside any coroutine");

        let own = suspender.clone();
        let mut outer = Coroutine::new(first, move || {
            let mut inner = Coroutine::new(stack(), move || own.suspend());
            matches!(inner.resume(), Resumed::Panicked(_))
        });
        assert!(matches!(outer.resume(), Resumed::Returned(true)), "from a coroutine inside it");
    }
}
