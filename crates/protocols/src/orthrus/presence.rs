//! The presence of the thread that acts on the messages of a part or of a port: there is none, it is awake, or it
//! sleeps.
//!
//! **Invariants**
//!
//! 1. *No message is forgotten.* The *owner* is the thread that is there. A sender puts its message where the owner
//!    looks, fences, and then reads the state. An owner that is about to sleep or to leave writes the state, fences,
//!    and then looks for messages. The fences are SeqCst, so one of them comes before the other. If the owner's comes
//!    first, the sender reads the new state, and wakes the owner or acts itself. If the sender's comes first, the owner
//!    sees the message.
//! 2. If several senders find the owner asleep, only the sender whose exchange changes the state wakes it.

use hotrow_sync::atomic::{AtomicU8, Ordering, fence};
use hotrow_sync::{Latch, Waiter};

/// The presence of the thread that acts on the messages of one part or port.
#[derive(Debug)]
pub(super) struct Presence {
    state: AtomicU8,
    /// The waiter of the thread, while one is there.
    waiter: Latch<Option<Waiter>>,
}

/// The answer to a sender that has put a message in place: whether another thread acts on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attention {
    /// A thread is there, which looks at the message. It was woken if it slept.
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
    /// Notes that a thread has come. It waits through `waiter`.
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

    /// Notes that the thread does not sleep after all, or has woken.
    pub(super) fn rouse(&self) {
        self.state.store(AWAKE, Ordering::Release);
    }

    /// Makes sure that the owner looks at a message that the caller has put in place. If there is no owner, the caller
    /// has to act on the message.
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
