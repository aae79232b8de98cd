//! A mailbox: messages that any thread leaves for one owner, which looks into it between two pieces of work.

use hotrow_sync::Mutex;
use hotrow_sync::atomic::{AtomicBool, Ordering};

/// The messages that were left for one owner and not taken yet. Any thread may put messages in and take them out.
#[derive(Debug)]
pub(crate) struct Mailbox<M> {
    /// Whether the mailbox has a message. It is read without the mutex.
    is_full: AtomicBool,
    messages: Mutex<Vec<M>>,
}

impl<M> Default for Mailbox<M> {
    fn default() -> Self {
        Self { is_full: AtomicBool::new(false), messages: Mutex::default() }
    }
}

impl<M> Mailbox<M> {
    /// Puts a message in.
    pub(crate) fn put(&self, message: M) {
        let mut messages = self.messages.lock().unwrap_or_else(|poison| poison.into_inner());
        messages.push(message);
        self.is_full.store(true, Ordering::Release);
    }

    /// Whether there is a message. The answer may miss a message that is just being put in, so the sender wakes the
    /// owner afterwards.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Acquire)
    }

    /// Takes all messages out.
    pub(crate) fn take(&self) -> Vec<M> {
        let mut messages = self.messages.lock().unwrap_or_else(|poison| poison.into_inner());
        self.is_full.store(false, Ordering::Release);
        std::mem::take(&mut messages)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_gives_everything_at_once() {
        let mailbox = Mailbox::default();
        assert!(!mailbox.is_full() && mailbox.take().is_empty());
        [4, 5].into_iter().for_each(|message| mailbox.put(message));
        assert!(mailbox.is_full());
        assert_eq!(mailbox.take(), [4, 5]);
        assert!(!mailbox.is_full());
    }
}
