//! NOTIFY, LISTEN and UNLISTEN in a transaction, whose commit carries them out.

use super::SessionContext;
use crate::notifications::{Action, Notification, PendingMark, check};
use crate::{MemoryLimit, SqlError};

impl SessionContext {
    /// Adds a notification to the transaction, whose commit delivers it. Does nothing in a rehearsal.
    ///
    /// # Errors
    /// 22023 if the channel or the payload has a wrong length; 53200 if there is no memory.
    pub(crate) fn notify(&self, channel: &str, payload: &str) -> Result<(), SqlError> {
        check(channel, payload)?;
        if self.is_rehearsing() {
            return Ok(());
        }
        let (channel, payload) = (channel.to_owned(), payload.to_owned());
        let notification = Notification { pid: self.entry.pid(), channel, payload };
        self.transaction.notifications.borrow_mut().notify(notification, self.memory_limit())
    }

    /// Adds a LISTEN or UNLISTEN to the transaction, whose commit changes the session's channels. Does nothing in a
    /// rehearsal.
    ///
    /// # Errors
    /// 22023 if the name of a channel has a wrong length; 53200 if there is no memory.
    pub(crate) fn change_channels(&self, action: Action) -> Result<(), SqlError> {
        if let Action::Listen(channel) | Action::Unlisten(channel) = &action {
            check(channel, "")?;
        }
        if self.is_rehearsing() {
            return Ok(());
        }
        self.transaction.notifications.borrow_mut().act(action, self.memory_limit())
    }

    /// Returns a mark of the notifications and changes of channels so far, for a later
    /// [`undo_notifications`](Self::undo_notifications).
    #[inline]
    pub(crate) fn mark_notifications(&self) -> PendingMark {
        self.transaction.notifications.borrow().mark()
    }

    /// Removes the notifications and changes of channels since `mark`, because that part of the transaction is undone.
    #[inline]
    pub(crate) fn undo_notifications(&self, mark: PendingMark) {
        self.transaction.notifications.borrow_mut().rollback_to(mark);
    }

    /// Removes all notifications and changes of channels, at the end of the transaction.
    #[inline]
    pub(crate) fn forget_notifications(&self) {
        self.transaction.notifications.borrow_mut().clear();
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.shared.memory_limit()
    }
}
