//! Whether a thread is there to act on messages, and whether it sleeps.
//!
//! **Invariants**
//!
//! 1. *No message is forgotten.* A sender puts its message where the owner looks, fences, and then reads the state. An
//!    owner that is about to sleep, or to leave, writes the state, fences, and then looks for messages. The fences are
//!    SeqCst, so one of them comes after the other: either the sender reads the new state, and wakes the owner or acts
//!    itself, or the owner sees the message.
//! 2. Of all senders that find the owner asleep one wakes it: the one whose exchange changes the state.

use hotrow_sync::atomic::{AtomicU8, Ordering, fence};
use hotrow_sync::{Latch, Waiter};

/// The state of the thread that acts on the messages of one part or port.
#[derive(Debug)]
pub(super) struct Presence {
    state: AtomicU8,
    /// The waiter of the thread, while one is there.
    waiter: Latch<Option<Waiter>>,
}

/// The answer to the question who acts on a message that was just put in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attention {
    /// A thread looks, now or when it was woken.
    Owner,
    /// No thread is there: the sender has to act on the message itself.
    Nobody,
}

const NOBODY: u8 = 0;
const AWAKE: u8 = 1;
const ASLEEP: u8 = 2;

impl Default for Presence {
    fn default() -> Self {
        Self { state: AtomicU8::new(NOBODY), waiter: Latch::new(None) }
    }
}

impl Presence {
    /// Notes that a thread has come, which waits through `waiter`.
    pub(super) fn come(&self, waiter: &Waiter) {
        *self.waiter.lock() = Some(waiter.clone());
        self.state.store(AWAKE, Ordering::Release);
    }

    /// Notes that the thread leaves. The caller looks for messages afterwards.
    pub(super) fn leave(&self) {
        self.state.store(NOBODY, Ordering::Release);
        *self.waiter.lock() = None;
        // SeqCst: the owner's fence of invariant 1.
        fence(Ordering::SeqCst);
    }

    /// Notes that the thread is about to sleep. The caller looks for messages afterwards, and sleeps if there are none.
    pub(super) fn doze(&self) {
        self.state.store(ASLEEP, Ordering::Release);
        // SeqCst: the owner's fence of invariant 1.
        fence(Ordering::SeqCst);
    }

    /// Notes that the thread does not sleep, or no longer.
    pub(super) fn rouse(&self) {
        self.state.store(AWAKE, Ordering::Release);
    }

    /// Makes sure that the owner looks at a message that was just put in place, or says that nobody is there.
    #[inline]
    pub(super) fn call(&self) -> Attention {
        // SeqCst: the sender's fence of invariant 1.
        fence(Ordering::SeqCst);
        match self.state.load(Ordering::Acquire) {
            AWAKE => Attention::Owner,
            NOBODY => Attention::Nobody,
            _ => self.wake(),
        }
    }

    #[cold]
    fn wake(&self) -> Attention {
        match self.state.compare_exchange(ASLEEP, AWAKE, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                let waiter = self.waiter.lock().clone();
                waiter.iter().for_each(Waiter::wake);
                Attention::Owner
            }
            Err(NOBODY) => Attention::Nobody,
            Err(_) => Attention::Owner,
        }
    }
}
