//! The overflow of a coroutine's stack: it ends the program with a message.
//!
//! A coroutine that overflows its stack touches the guard page below it, and the system sends a signal to its thread.
//! The signal is handled on the thread's alternate stack, which `std` gives each thread that it starts. Signals that
//! are not ours go to the handler that was installed before, which is `std`'s own for the stacks of threads.
//!
//! **Why the program ends.** The frames on that stack hold latches, locks and places in queues, and only they can
//! release them. They cannot be unwound, because the signal comes at any instruction and compilers prepare unwinding
//! for calls only. `corosensei::trap` would leave the stack behind; that is only for code that changes nothing outside
//! its stack.

use crate::stack;
use corosensei::stack::{DefaultStack, Stack as _};
use std::cell::Cell;

/// The addresses of a coroutine's stack.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bounds {
    /// The address at which the guard page begins.
    low: usize,
    /// The lowest address of the stack that can be used.
    pub(crate) floor: usize,
    /// The address at which the stack ends.
    pub(crate) high: usize,
}

impl Bounds {
    /// Returns the bounds of a stack with a guard page below it.
    pub(crate) fn of(memory: &DefaultStack) -> Self {
        let low = memory.limit().get();
        Self { low, floor: low + page_bytes(), high: memory.base().get() }
    }
}

#[cfg(unix)]
fn page_bytes() -> usize {
    // SAFETY: the call only asks for a number, which every system has.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Returns a size that no page of the system exceeds.
#[cfg(not(unix))]
fn page_bytes() -> usize {
    64 << 10
}

thread_local! {
    /// The bounds of the running coroutine's stack; of the innermost one, if a coroutine runs another. A signal handler
    /// reads them, so the cell must exist without being initialised, and it needs no drop.
    static RUNNING: Cell<Bounds> = const { Cell::new(Bounds { low: 0, floor: 0, high: 0 }) };
}

/// A guard for the time in which a coroutine runs on the thread: while it exists, the signal handler and
/// [`stack::left`] use the bounds of the coroutine's stack.
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

/// Returns the bounds of the stack on which the thread runs, for [`set_present`].
#[cfg(machine)]
pub(crate) fn present() -> (Bounds, usize) {
    (RUNNING.get(), stack::floor())
}

/// Records that the thread is back on the stack on which it called [`present`]. The simulated machine calls this when
/// it resumes a virtual thread, which may be in the middle of a coroutine.
#[cfg(machine)]
pub(crate) fn set_present((bounds, floor): (Bounds, usize)) {
    RUNNING.set(bounds);
    stack::leave(floor);
}

/// Installs the signal handler. From then on, an overflow of a coroutine's stack ends the program with a message.
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

    /// The signals that a touched guard page may raise. Which of them comes depends on the system.
    const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

    /// The state that the signal handler needs, stored before the handler is installed.
    struct Before {
        /// The actions that the signals had before ours was installed, in the order of `SIGNALS`.
        actions: [sigaction; SIGNALS.len()],
    }

    static BEFORE: OnceLock<Before> = OnceLock::new();

    pub(super) fn watch() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let actions = SIGNALS.map(|signal| replace(signal, None));
            // Set before the first signal can reach our handler.
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

    /// Returns the present action for a signal, and replaces it if `with` is given.
    fn replace(signal: c_int, with: Option<&sigaction>) -> sigaction {
        let mut before = MaybeUninit::zeroed();
        // SAFETY: both pointers lead to actions, or nowhere. All zeros is an action, should the call fail, which it
        // does not for such signals.
        unsafe {
            sigaction(signal, with.map_or(ptr::null(), ptr::from_ref), before.as_mut_ptr());
            before.assume_init()
        }
    }

    /// Handles the signals. It allocates nothing and takes no latch, because the thread may have been interrupted
    /// anywhere.
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
        // Text that does not fit is left out.
        let _ = writeln!(
            rest,
            "\nfatal: a transaction has overflowed the {stack_bytes} bytes of its stack: it calls itself too often, or \
             needs more `stack_bytes`"
        );
        let unwritten = rest.len();
        let length = text.len() - unwritten;
        // SAFETY: `length` bytes of the text are initialised, and `abort` has no precondition.
        unsafe {
            libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), length);
            libc::abort()
        }
    }

    /// Passes a signal that is not ours to the handler that was installed before. If there was none, the default action
    /// is restored: then the instruction runs again, and ends the program.
    fn pass_on(before: &Before, signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        let position = SIGNALS.iter().position(|&ours| ours == signal).unwrap_or(0);
        let action = &before.actions[position];
        if [libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction) {
            // SAFETY: as in `watch`.
            let default: sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
            replace(signal, Some(&default));
            return;
        }
        // SAFETY: an action that is neither of the two above is the address of a handler, of the type that its flags
        // say.
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
