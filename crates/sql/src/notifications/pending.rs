//! The notifications and the changes of channels that a transaction has asked for.

use super::Notification;
use crate::schema::LONGEST_NAME;
use crate::{MemoryLimit, SqlError, state};
use hotrow_sync::Arc;
use std::collections::HashSet;

/// The length in bytes from which a payload is refused.
const PAYLOAD_LIMIT: usize = 8000;

/// The notifications, LISTENs and UNLISTENs of a transaction, which its commit carries out.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    notifications: Vec<Arc<Notification>>,
    /// The members of `notifications`. A notification that is given twice is delivered once.
    known: HashSet<Arc<Notification>>,
    actions: Vec<Action>,
}

/// A change of the channels on which the session listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// LISTEN on a channel.
    Listen(String),
    /// UNLISTEN of a channel.
    Unlisten(String),
    /// UNLISTEN of all channels.
    UnlistenAll,
}

impl Action {
    /// Returns the command tag of the statement.
    pub(crate) fn tag(&self) -> &'static str {
        match self {
            Action::Listen(_) => "LISTEN",
            Action::Unlisten(_) | Action::UnlistenAll => "UNLISTEN",
        }
    }
}

/// The state of a [`Pending`] at a savepoint, for a rollback to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PendingMark {
    notifications: usize,
    actions: usize,
}

impl Pending {
    /// Whether there is nothing for the commit to carry out.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.notifications.is_empty() && self.actions.is_empty()
    }

    /// Returns the notifications in the order in which they were given, each once.
    pub(super) fn notifications(&self) -> &[Arc<Notification>] {
        &self.notifications
    }

    /// Returns the changes of channels in the order of their statements.
    pub(super) fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Whether the transaction has executed a LISTEN.
    pub(super) fn listens(&self) -> bool {
        self.actions.iter().any(|action| matches!(action, Action::Listen(_)))
    }

    /// Adds a notification, unless the transaction already contains an equal one.
    ///
    /// # Errors
    /// 53200 if there is no memory for it.
    pub(crate) fn notify(&mut self, notification: Notification, memory: MemoryLimit) -> Result<(), SqlError> {
        memory.check_push(&self.notifications)?;
        memory.check_push(&self.known)?;
        let notification = Arc::new(notification);
        if self.known.insert(notification.clone()) {
            self.notifications.push(notification);
        }
        Ok(())
    }

    /// Adds a change of the session's channels.
    ///
    /// # Errors
    /// 53200 if there is no memory for it.
    pub(crate) fn act(&mut self, action: Action, memory: MemoryLimit) -> Result<(), SqlError> {
        memory.check_push(&self.actions)?;
        self.actions.push(action);
        Ok(())
    }

    /// Returns a mark of the present state, for a later [`rollback_to`](Self::rollback_to).
    pub(crate) fn mark(&self) -> PendingMark {
        PendingMark { notifications: self.notifications.len(), actions: self.actions.len() }
    }

    /// Removes what was added after `mark`.
    pub(crate) fn rollback_to(&mut self, mark: PendingMark) {
        self.actions.truncate(mark.actions);
        let from = mark.notifications.min(self.notifications.len());
        for notification in self.notifications.drain(from..) {
            self.known.remove(&notification);
        }
    }

    /// Removes everything, at the end of the transaction.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.is_empty() {
            *self = Self::default();
        }
    }
}

/// Checks the lengths of a notification's channel and payload.
///
/// # Errors
/// 22023 if the channel is empty or too long, or the payload too long.
pub(crate) fn check(channel: &str, payload: &str) -> Result<(), SqlError> {
    let message = if channel.is_empty() {
        "channel name cannot be empty"
    } else if channel.len() > LONGEST_NAME {
        "channel name too long"
    } else if payload.len() >= PAYLOAD_LIMIT {
        "payload string too long"
    } else {
        return Ok(());
    };
    Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn give(pending: &mut Pending, payload: &str) {
        let notification = Notification { pid: 1, channel: "c".to_owned(), payload: payload.to_owned() };
        pending.notify(notification, MemoryLimit::NONE).unwrap();
    }

    fn payloads(pending: &Pending) -> Vec<&str> {
        pending.notifications().iter().map(|notification| &*notification.payload).collect()
    }

    #[test]
    fn a_notification_is_kept_once_and_a_rollback_forgets_it() {
        let mut pending = Pending::default();
        give(&mut pending, "1");
        let mark = pending.mark();
        for payload in ["2", "1", "2", "3"] {
            give(&mut pending, payload);
        }
        pending.act(Action::UnlistenAll, MemoryLimit::NONE).unwrap();
        assert_eq!(payloads(&pending), ["1", "2", "3"]);
        pending.rollback_to(mark);
        assert_eq!((payloads(&pending), pending.actions()), (vec!["1"], &[][..]));
        give(&mut pending, "2");
        assert_eq!(payloads(&pending), ["1", "2"]);
        pending.clear();
        assert!(pending.is_empty());
    }

    #[test]
    fn names_and_payloads_have_limits() {
        let long = "x".repeat(PAYLOAD_LIMIT);
        let cases = [
            ("", "", "channel name cannot be empty"),
            (&long[..64], "", "channel name too long"),
            ("c", &long, "payload string too long"),
        ];
        for (channel, payload, message) in cases {
            assert_eq!(check(channel, payload).unwrap_err().message, message);
        }
        assert_eq!(check(&long[..63], &long[1..]), Ok(()));
    }
}
