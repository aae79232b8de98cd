//! The mailbox of a session: its channels, and the notifications that its client has not been sent.

use super::queue::{Queued, Received, Reserved};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard};
use std::collections::HashMap;

/// The channels on which a session listens, and the notifications that have come for it. Other sessions add
/// notifications. Thread-safe.
///
/// **Cost.** A session without notifications reads one flag.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    /// Whether there are notifications. It changes under the mutex.
    is_filled: AtomicBool,
    /// Whether the session listens. It changes under the mutex.
    listens: AtomicBool,
    contents: Mutex<Contents>,
}

#[derive(Debug, Default)]
struct Contents {
    queue: Vec<Received>,
    /// The channels, each with its number in the order in which the session began to listen.
    channels: HashMap<Arc<str>, u64>,
    next: u64,
}

impl Mailbox {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Whether there are notifications.
    #[inline]
    pub(crate) fn is_filled(&self) -> bool {
        self.is_filled.load(Ordering::Acquire)
    }

    /// Whether the session listens on a channel.
    #[inline]
    pub(crate) fn listens(&self) -> bool {
        self.listens.load(Ordering::Acquire)
    }

    /// Returns the channels, in the order in which the session began to listen.
    pub(crate) fn channels(&self) -> Vec<Arc<str>> {
        let contents = self.contents();
        let mut channels: Vec<_> = contents.channels.iter().collect();
        channels.sort_by_key(|(_, number)| **number);
        channels.into_iter().map(|(channel, _)| channel.clone()).collect()
    }

    /// Removes all notifications and returns them in the order of their arrival. Drops those on channels on which the
    /// session no longer listens.
    pub(crate) fn take(&self) -> Vec<Received> {
        let mut contents = self.contents();
        self.is_filled.store(false, Ordering::Release);
        let mut received = std::mem::take(&mut contents.queue);
        received.retain(|one| contents.channels.contains_key(&*one.channel));
        received
    }

    /// Adds a notification, in memory that was reserved for it. Returns whether the mailbox was empty before.
    pub(super) fn put(&self, queued: &Arc<Queued>, reserved: &mut Reserved) -> bool {
        let mut contents = self.contents();
        contents.queue.push(Received::new(queued, reserved));
        !self.is_filled.swap(true, Ordering::AcqRel)
    }

    /// Adds a channel. Returns `false` if the session already listens on it.
    pub(super) fn add_channel(&self, channel: &Arc<str>) -> bool {
        let mut contents = self.contents();
        if contents.channels.contains_key(channel) {
            return false;
        }
        let number = contents.next;
        contents.next += 1;
        contents.channels.insert(channel.clone(), number);
        self.listens.store(true, Ordering::Release);
        true
    }

    /// Removes a channel. Returns whether the session listened on it.
    pub(super) fn remove_channel(&self, channel: &str) -> bool {
        let mut contents = self.contents();
        let is_removed = contents.channels.remove(channel).is_some();
        self.listens.store(!contents.channels.is_empty(), Ordering::Release);
        is_removed
    }

    /// Removes all channels and returns them. Keeps the notifications, because a channel may be added again before they
    /// are taken.
    pub(super) fn remove_channels(&self) -> Vec<Arc<str>> {
        let mut contents = self.contents();
        self.listens.store(false, Ordering::Release);
        std::mem::take(&mut contents.channels).into_keys().collect()
    }
}
