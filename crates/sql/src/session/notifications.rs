//! NOTIFY and LISTEN: what a commit does for them, and the notifications that have come for the session.

use super::Session;
use super::output::Tag;
use super::transaction::Phase;
use crate::SqlError;
use crate::exec::Fail;
use crate::notifications::{Action, Received, Reserved};

impl Session {
    /// Whether there are notifications for the session, and it is outside any transaction, so that they can be taken.
    /// Costs one load if there are none.
    #[inline]
    pub fn has_notifications(&self) -> bool {
        self.entry.mailbox.is_filled() && self.transaction.phase == Phase::Idle
    }

    /// Removes the notifications for the session, and returns them in the order of their arrival. Within a transaction
    /// it returns none; they can be taken after the transaction.
    ///
    /// A session that listens should take its notifications often, and should not stay in a transaction. Notifications
    /// that are not taken, or not dropped, fill the queue. When it is full, commits with notifications fail (54000).
    pub fn take_notifications(&mut self) -> Vec<Received> {
        if self.has_notifications() { self.entry.mailbox.take() } else { Vec::new() }
    }

    /// Whether the session listens on a channel.
    #[inline]
    pub fn is_listening(&self) -> bool {
        self.entry.mailbox.listens()
    }

    /// Runs LISTEN or UNLISTEN, which take effect when the transaction commits.
    pub(super) fn change_channels(&mut self, action: &Action) -> Result<Tag, Fail> {
        self.context.change_channels(action.clone())?;
        Ok(Tag::Word(action.tag()))
    }

    /// Runs NOTIFY, whose notification is delivered when the transaction commits.
    pub(super) fn notify(&mut self, channel: &str, payload: &str) -> Result<Tag, Fail> {
        self.context.notify(channel, payload)?;
        Ok(Tag::Word("NOTIFY"))
    }

    /// Reserves memory for the notifications of the transaction, before its commit. Returns `None` if the transaction
    /// has executed no NOTIFY, LISTEN or UNLISTEN.
    ///
    /// # Errors
    /// 54000 if the queue of notifications is too full.
    #[inline]
    pub(super) fn reserve_notifications(&self) -> Result<Option<Reserved>, SqlError> {
        let pending = self.context.transaction.notifications.borrow();
        if pending.is_empty() { Ok(None) } else { self.database.listeners().reserve(&pending).map(Some) }
    }

    /// Delivers the notifications of a transaction that has committed, and changes the session's channels.
    #[inline]
    pub(super) fn deliver_notifications(&mut self, reserved: Option<Reserved>) {
        if let Some(reserved) = reserved {
            let pending = self.context.transaction.notifications.take();
            self.database.listeners().commit(&self.entry, &pending, reserved);
        }
    }
}
