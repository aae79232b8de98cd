//! NOTIFY and LISTEN: the notifications of a database, from the transactions that give them to the sessions that
//! listen.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `pending` | what a transaction has asked for and its commit will do |
//! | `listeners` | the sessions that listen, by channel, and the delivery of a transaction's notifications |
//! | `mailbox` | the channels of one session, and the notifications that its client has not been sent |
//! | `queue` | the bound on the memory of all mailboxes |
//!
//! **Definitions.** A *channel* is a name. A session that *listens* on a channel receives the notifications that other
//! transactions, or its own, give on it. The session's *mailbox* keeps them until the client is sent them, which is
//! only done outside transactions.
//!
//! **Invariants**
//!
//! 1. A transaction that rolls back delivers nothing and changes no channels. One that commits does both once, after
//!    its changes are visible: first its LISTENs and UNLISTENs, then its notifications.
//! 2. A transaction's notifications enter the mailboxes in one step under the mutex of the listeners. So all sessions
//!    receive the transactions of all others in one order.
//! 3. A session that has begun to listen receives the notifications of every transaction that commits from then on:
//!    the listeners are looked up after the commit, not before it.
//! 4. The lock order is: listeners, then a mailbox. Connections are woken when both are released.

mod listeners;
mod mailbox;
mod pending;
mod queue;

pub(crate) use listeners::Listeners;
pub(crate) use mailbox::Mailbox;
pub use pending::Action;
pub(crate) use pending::{Pending, PendingMark, check};
pub use queue::Received;
pub(crate) use queue::Reserved;

/// A notification, as a session has given it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Notification {
    /// The number of the session that sent the notification, which is its `pg_backend_pid()`.
    pub pid: i32,
    /// The name of the channel.
    pub channel: String,
    /// The text that belongs to the notification; empty if none was given.
    pub payload: String,
}
