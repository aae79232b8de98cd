//! A coroutine that runs into the page below its stack: a message, and the end of the program.
//!
//! The system sends a signal to the thread that touched the page. It is handled on the thread's alternate stack, which `std` gives
//! each thread that it starts; what is not ours goes to the handler that was there before, `std`'s own for the stacks of
//! threads.
//!
//! **Why the program ends.** The frames on that stack hold latches, locks and places in queues, and only they can give them back. They
//! cannot be unwound: the signal comes at any instruction, and compilers prepare unwinding for calls only. To leave the stack behind,
//! which is what `corosensei::trap` offers, is for code that changes nothing outside it.

use crate::stack;
use corosensei::stack::{DefaultStack, Stack as _};
use std::cell::Cell;

/// Where a coroutine's stack lies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bounds {
    /// Where the page begins that guards it.
    low: usize,
    /// The lowest address that can be used.
    pub(crate) floor: usize,
    /// Where it ends.
    pub(crate) high: usize,
}

impl Bounds {
    /// Of a stack with a page below it.
    pub(crate) fn of(memory: &DefaultStack) -> Self {
        let low = memory.limit().get();
        Self { low, floor: low + page_bytes(), high: memory.base().get() }
    }
}

#[cfg(unix)]
fn page_bytes() -> usize {
    // SAFETY: it asks for a number, which there is.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// At the least.
#[cfg(not(unix))]
fn page_bytes() -> usize {
    64 << 10
}

thread_local! {
    /// The stack of the coroutine that runs; the innermost, if one runs another. A signal handler reads it: it has to be there
    /// without being made, and needs no drop.
    static RUNNING: Cell<Bounds> = const { Cell::new(Bounds { low: 0, floor: 0, high: 0 }) };
}

/// While it lives, the thread is on this stack, as far as the handler knows, and whoever asks how much of it is left.
pub(crate) struct Running {
    before: Bounds,
    floor_before: usize,
}

impl Running {
    #[inline]
    pub(crate) fn on(bounds: Bounds) -> Self {
        Self { before: RUNNING.replace(bounds), floor_before: stack::enter(bounds.floor) }
    }
}

impl Drop for Running {
    #[inline]
    fn drop(&mut self) {
        RUNNING.set(self.before);
        stack::leave(self.floor_before);
    }
}

/// Has overflows of coroutines end with a message, from now on.
pub(crate) fn watch() {
    #[cfg(unix)]
    signal::watch();
}

#[cfg(unix)]
mod signal {
    use super::{Bounds, RUNNING};
    use libc::{c_int, c_void, sigaction, siginfo_t};
    use std::io::Write;
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::{Once, OnceLock};

    /// Which of these a touch of the page is depends on the system.
    const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

    /// What a handler has to know.
    struct Before {
        /// Who handled the signals before, in their order.
        actions: [sigaction; SIGNALS.len()],
    }

    static BEFORE: OnceLock<Before> = OnceLock::new();

    pub(super) fn watch() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let actions = SIGNALS.map(|signal| replace(signal, None));
            // Known before the first signal can come to us.
            BEFORE.get_or_init(|| Before { actions });
            for signal in SIGNALS {
                // SAFETY: all zeros is an action: by default, with no flags and no signals masked.
                let mut ours: sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
                let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = handle;
                ours.sa_sigaction = handler as *const () as usize;
                ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                replace(signal, Some(&ours));
            }
        });
    }

    /// The present action for a signal, which is replaced if there is another.
    fn replace(signal: c_int, with: Option<&sigaction>) -> sigaction {
        let mut before = MaybeUninit::zeroed();
        // SAFETY: both point to actions, or nowhere; all zeros is one, should the call fail, which it does not for such signals.
        unsafe {
            sigaction(signal, with.map_or(ptr::null(), ptr::from_ref), before.as_mut_ptr());
            before.assume_init()
        }
    }

    /// Allocates nothing and takes no latch, for the thread may have been interrupted anywhere.
    extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        let Some(before) = BEFORE.get() else { return };
        // SAFETY: the system hands the signal's information to a handler that asked for it.
        let address = unsafe { (*info).si_addr() }.addr();
        let Bounds { low, floor, high } = RUNNING.get();
        if (low..floor).contains(&address) {
            end(high - floor);
        }
        pass_on(before, signal, info, context);
    }

    fn end(stack_bytes: usize) -> ! {
        let mut text = [0_u8; 256];
        let mut rest = &mut text[..];
        // What does not fit is left out.
        let _ = writeln!(
            rest,
            "\nfatal: a transaction has overflowed the {stack_bytes} bytes of its stack: it calls itself too often, or \
             needs more `stack_bytes`"
        );
        let unwritten = rest.len();
        let length = text.len() - unwritten;
        // SAFETY: so many bytes of the text are there; to end needs nothing.
        unsafe {
            libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), length);
            libc::abort()
        }
    }

    /// Lets who was there before handle a signal that is not ours. By default the instruction is tried again, and ends the program.
    fn pass_on(before: &Before, signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        let position = SIGNALS.iter().position(|&ours| ours == signal).unwrap_or(0);
        let action = &before.actions[position];
        if [libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction) {
            // SAFETY: as in `watch`.
            let default: sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
            replace(signal, Some(&default));
            return;
        }
        // SAFETY: an action that is neither of the two above is the address of a handler, of the type that its flags say.
        unsafe {
            if action.sa_flags & libc::SA_SIGINFO == 0 {
                std::mem::transmute::<usize, extern "C" fn(c_int)>(action.sa_sigaction)(signal);
            } else {
                type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
                std::mem::transmute::<usize, Handler>(action.sa_sigaction)(signal, info, context);
            }
        }
    }
}
