//! The bound on the memory of the notifications that clients have not been sent.

use super::Notification;
use crate::{MemoryLimit, SqlError, state};
use hotrow_sync::Arc;
use hotrow_sync::atomic::{AtomicUsize, Ordering};
use std::ops::Deref;

/// The maximum number of bytes in all mailboxes of a database if the process has no memory limit.
const UNLIMITED_BYTES: usize = 256 << 20;

/// The divisor that gives the maximum number of bytes in all mailboxes of a database from the memory limit of the
/// process.
const PART: usize = 16;

/// The bytes that are counted for a notification in addition to its texts.
const NOTIFICATION_BYTES: usize = 128;

/// The bytes that are counted for each mailbox that contains a notification.
const PLACE_BYTES: usize = 16;

/// The counter of the bytes in all mailboxes of a database, with its limit. Thread-safe.
#[derive(Debug)]
pub(super) struct Queue {
    used: AtomicUsize,
    limit: usize,
}

/// Bytes of the queue that are reserved for the notifications of a transaction. Dropping it releases the bytes that
/// were not spent.
#[derive(Debug)]
#[must_use = "dropped, it is reserved no longer"]
pub(crate) struct Reserved {
    queue: Arc<Queue>,
    bytes: usize,
}

/// A notification in one or more mailboxes. Its bytes count in the queue until it is dropped.
#[derive(Debug)]
pub(super) struct Queued {
    notification: Arc<Notification>,
    queue: Arc<Queue>,
}

/// A notification for a session, as [`Session::take_notifications`](crate::Session::take_notifications) returns it. Its
/// bytes count in the queue of notifications until it is dropped.
#[derive(Debug)]
pub struct Received(Arc<Queued>);

impl Queue {
    /// Makes an empty queue. Its limit depends on the memory limit of the process.
    pub(super) fn new(memory: MemoryLimit) -> Arc<Self> {
        let limit = memory.bytes().map_or(UNLIMITED_BYTES, |bytes| bytes / PART);
        Arc::new(Self { used: AtomicUsize::new(0), limit })
    }

    /// Returns the fraction of the queue that is in use, from 0 to 1.
    pub(super) fn usage(&self) -> f64 {
        let used = self.used.load(Ordering::Acquire).min(self.limit);
        used as f64 / self.limit.max(1) as f64
    }

    /// Reserves bytes for notifications. A reservation of zero bytes always succeeds.
    ///
    /// # Errors
    /// 54000 if the queue would exceed its limit.
    pub(super) fn reserve(self: &Arc<Self>, bytes: usize) -> Result<Reserved, SqlError> {
        let fits = |used: usize| used.checked_add(bytes).filter(|&sum| bytes == 0 || sum <= self.limit);
        if self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).is_ok() {
            return Ok(Reserved { queue: self.clone(), bytes });
        }
        let message = "too many notifications in the NOTIFY queue";
        Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message)
            .hint("A session that listens does not receive its notifications, or stays in a transaction."))
    }

    fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::AcqRel);
    }
}

impl Reserved {
    /// Spends bytes of the reservation, which count in the queue until they are released. If the reservation has too
    /// few, because a session has begun to listen since it was made, the queue may exceed its limit.
    fn spend(&mut self, bytes: usize) {
        let reserved = bytes.min(self.bytes);
        self.bytes -= reserved;
        self.queue.used.fetch_add(bytes - reserved, Ordering::AcqRel);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.queue.release(self.bytes);
    }
}

impl Queued {
    /// Makes a notification for mailboxes, in memory that was reserved for it.
    pub(super) fn new(notification: &Arc<Notification>, reserved: &mut Reserved) -> Arc<Self> {
        reserved.spend(bytes_of(notification));
        Arc::new(Self { notification: notification.clone(), queue: reserved.queue.clone() })
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.queue.release(bytes_of(&self.notification));
    }
}

impl Received {
    /// Makes the entry of a mailbox for a notification, in memory that was reserved for it.
    pub(super) fn new(queued: &Arc<Queued>, reserved: &mut Reserved) -> Self {
        reserved.spend(PLACE_BYTES);
        Self(queued.clone())
    }
}

impl Deref for Received {
    type Target = Notification;

    fn deref(&self) -> &Notification {
        &self.0.notification
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        self.0.queue.release(PLACE_BYTES);
    }
}

/// Returns the number of bytes that are counted for a notification in this many mailboxes.
pub(super) fn queued_bytes(notification: &Notification, mailboxes: usize) -> usize {
    bytes_of(notification) + mailboxes * PLACE_BYTES
}

fn bytes_of(notification: &Notification) -> usize {
    NOTIFICATION_BYTES + notification.channel.len() + notification.payload.len()
}
