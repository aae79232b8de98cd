//! The sessions that listen, by channel.

use super::Notification;
use super::pending::{Action, Pending};
use super::queue::{Queue, Queued, Reserved, queued_bytes};
use crate::session_entry::SessionEntry;
use crate::{MemoryLimit, SqlError};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard};
use std::collections::HashMap;

/// The sessions of a database that listen, by channel, and the bound on the memory of their notifications. Thread-safe.
///
/// **Cost.** While no session listens, a transaction with notifications reads one flag.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// Whether a session listens. It changes under the mutex.
    any: AtomicBool,
    channels: Mutex<Channels>,
    queue: Arc<Queue>,
}

type Channels = HashMap<Arc<str>, Vec<Arc<SessionEntry>>>;

impl Listeners {
    /// Makes the state of a database without listeners. The memory limit of the process bounds the queue.
    pub(crate) fn new(memory: MemoryLimit) -> Self {
        Self { any: AtomicBool::new(false), channels: Mutex::default(), queue: Queue::new(memory) }
    }

    fn channels(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Returns the fraction of the queue that is in use, from 0 to 1.
    pub(crate) fn usage(&self) -> f64 {
        self.queue.usage()
    }

    /// Reserves memory for the notifications of a transaction that is about to commit. Needs none for channels on which
    /// no session listens.
    ///
    /// # Errors
    /// 54000 if the queue does not have enough room.
    pub(crate) fn reserve(&self, pending: &Pending) -> Result<Reserved, SqlError> {
        let is_heard = self.any.load(Ordering::Acquire) || pending.listens();
        if !is_heard || pending.notifications().is_empty() {
            return self.queue.reserve(0);
        }
        let channels = self.channels();
        let bytes = |notification: &Arc<Notification>| {
            let listeners = channels.get(&*notification.channel).map_or(0, Vec::len);
            let heard = listeners + usize::from(pending.listens());
            if heard == 0 { 0 } else { queued_bytes(notification, heard) }
        };
        self.queue.reserve(pending.notifications().iter().map(bytes).sum())
    }

    /// Carries out the LISTENs and UNLISTENs of a session's transaction that has committed, and then delivers its
    /// notifications.
    pub(crate) fn commit(&self, entry: &Arc<SessionEntry>, pending: &Pending, reserved: Reserved) {
        for action in pending.actions() {
            match action {
                Action::Listen(channel) => self.listen(entry, channel),
                Action::Unlisten(channel) => self.unlisten(entry, channel),
                Action::UnlistenAll => self.unlisten_all(entry),
            }
        }
        if self.any.load(Ordering::Acquire) {
            for listener in self.deliver(pending.notifications(), reserved) {
                // The session itself looks at its mailbox when its statement has ended.
                let backend = listener.backend().filter(|_| !Arc::ptr_eq(&listener, entry));
                backend.into_iter().for_each(|backend| backend.notify());
            }
        }
    }

    /// Removes a session that ends, together with the notifications that its client has not been sent.
    pub(crate) fn leave(&self, entry: &Arc<SessionEntry>) {
        if entry.mailbox.listens() {
            self.unlisten_all(entry);
        }
        if entry.mailbox.is_filled() {
            entry.mailbox.take();
        }
    }

    fn unlisten_all(&self, entry: &Arc<SessionEntry>) {
        let mut channels = self.channels();
        for channel in entry.mailbox.remove_channels() {
            remove(&mut channels, &channel, entry);
        }
        self.any.store(!channels.is_empty(), Ordering::Release);
    }

    fn listen(&self, entry: &Arc<SessionEntry>, channel: &str) {
        let mut channels = self.channels();
        let channel = channels.get_key_value(channel).map_or_else(|| channel.into(), |(known, _)| known.clone());
        if entry.mailbox.add_channel(&channel) {
            channels.entry(channel).or_default().push(entry.clone());
        }
        self.any.store(true, Ordering::Release);
    }

    fn unlisten(&self, entry: &Arc<SessionEntry>, channel: &str) {
        let mut channels = self.channels();
        if entry.mailbox.remove_channel(channel) {
            remove(&mut channels, channel, entry);
        }
        self.any.store(!channels.is_empty(), Ordering::Release);
    }

    /// Puts notifications into the mailboxes of the sessions that listen on their channels. Returns the sessions whose
    /// mailboxes were empty before.
    fn deliver(&self, notifications: &[Arc<Notification>], mut reserved: Reserved) -> Vec<Arc<SessionEntry>> {
        let mut first = Vec::new();
        let channels = self.channels();
        for notification in notifications {
            let Some(listeners) = channels.get(&*notification.channel) else { continue };
            let queued = Queued::new(notification, &mut reserved);
            first.extend(listeners.iter().filter(|listener| listener.mailbox.put(&queued, &mut reserved)).cloned());
        }
        first
    }
}

/// Removes a session from the listeners of a channel. Removes the channel if it has no listeners any more.
fn remove(channels: &mut Channels, channel: &str, entry: &Arc<SessionEntry>) {
    if let Some(listeners) = channels.get_mut(channel) {
        listeners.retain(|listener| !Arc::ptr_eq(listener, entry));
        if listeners.is_empty() {
            channels.remove(channel);
        }
    }
}
