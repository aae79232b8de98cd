//! The handle through which other threads cancel a client's statement or end its connection.

use crate::socket::has_left;
use hotrow_sql::Backend;
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard, OnceLock, Waiter};
use socket2::Socket;
use std::net::Shutdown;
use subtle::ConstantTimeEq;

/// The handle through which other threads cancel a connected client's statement or end its connection.
///
/// A cancellation applies to the statement that is running when it arrives. If none is running, it has no effect.
/// [`cancel`](Self::cancel), [`begin_statement`](Self::begin_statement) and [`end_statement`](Self::end_statement) take
/// one mutex, so a cancellation never reaches a later statement. If it came too late to stop its statement, the end of
/// the statement revokes it.
///
/// **Thread safety.** Any thread may call [`cancel`](Self::cancel), [`close`](Self::close), the methods of [`Backend`],
/// and the methods that return a `bool`. All other methods are for the thread that runs the connection.
pub struct ClientHandle {
    /// The session's number, which BackendKeyData, cancel requests and `pg_backend_pid` call the process ID.
    pub pid: i32,
    /// The secret number that a cancel request for this session must contain.
    pub secret: i32,
    /// The client's socket.
    pub socket: Arc<Socket>,
    /// Whether the server has read something from the client.
    has_spoken: AtomicBool,
    closing: AtomicBool,
    statement: Mutex<Statement>,
    idle_waker: OnceLock<Arc<dyn IdleWaker>>,
}

/// The means by which other threads wake an idle connection, as its execution model provides them.
pub trait IdleWaker: Send + Sync {
    /// Makes the thread that serves the connection check whether there is work, although the client has sent nothing.
    /// If the connection is not idle, the call need not have an effect, because the thread checks when the connection
    /// becomes idle.
    fn wake_idle(&self);
}

struct Statement {
    waiter: Option<Waiter>,
    is_running: bool,
}

impl ClientHandle {
    /// Makes the handle of a client whose session has not begun.
    pub fn new(pid: i32, secret: i32, socket: Arc<Socket>) -> Self {
        Self {
            pid,
            secret,
            socket,
            has_spoken: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            statement: Mutex::new(Statement { waiter: None, is_running: false }),
            idle_waker: OnceLock::new(),
        }
    }

    /// Whether `secret` is the client's secret. The comparison takes the same time for every number.
    pub fn has_secret(&self, secret: i32) -> bool {
        self.secret.to_be_bytes().ct_eq(&secret.to_be_bytes()).into()
    }

    /// Whether [`close`](Self::close) was called, because the server shuts down or another session has terminated this
    /// one.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Records that the client has sent something. The server closes a starting connection to make room for another one
    /// only if nothing has come on it.
    pub fn note_input(&self) {
        self.has_spoken.store(true, Ordering::Release);
    }

    /// Whether [`note_input`](Self::note_input) was called: the server has read something from the client.
    pub fn has_spoken(&self) -> bool {
        self.has_spoken.load(Ordering::Acquire)
    }

    /// Sets the waker through which other threads wake the connection while it is idle. The execution model calls this
    /// once.
    pub fn set_idle_waker(&self, waker: Arc<dyn IdleWaker>) {
        // A connection has one execution model, so the waker is set once.
        let _ = self.idle_waker.set(waker);
    }

    /// Records that a statement begins, so that [`cancel`](Self::cancel) reaches it.
    pub fn begin_statement(&self) {
        self.statement().is_running = true;
    }

    /// Records that the statement has ended, and revokes a cancellation that came too late to stop it.
    pub fn end_statement(&self) {
        let mut statement = self.statement();
        statement.is_running = false;
        if let Some(waiter) = &statement.waiter
            && !self.is_closing()
        {
            waiter.clear_cancel();
        }
    }

    /// Stores the waiter of the client's session, which begins now. If [`close`](Self::close) was called before,
    /// cancels the waiter at once.
    pub fn start(&self, waiter: Waiter) {
        if self.is_closing() {
            waiter.cancel();
        }
        self.statement().waiter = Some(waiter);
        // `close` may have looked for the waiter before it was there.
        if self.is_closing() {
            self.close();
        }
    }

    /// Cancels the running statement if the client has closed the connection or its sending side. Asks the system,
    /// without waiting.
    pub fn cancel_if_left(&self) {
        if has_left(&self.socket) {
            self.cancel();
        }
    }

    /// Cancels the running statement, or does nothing if no statement is running.
    pub fn cancel(&self) {
        let statement = self.statement();
        if let Some(waiter) = &statement.waiter
            && statement.is_running
        {
            waiter.cancel();
        }
    }

    /// Makes the session end: cancels its present and later waits, and shuts down the reading side of its socket. The
    /// thread that runs the connection then sends the last message and ends the session.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Release);
        if let Some(waiter) = &self.statement().waiter {
            waiter.cancel();
        }
        // This ends a read that waits for the client. The session can still send its last message.
        let _ = self.socket.shutdown(Shutdown::Read);
    }

    fn statement(&self) -> MutexGuard<'_, Statement> {
        self.statement.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl Backend for ClientHandle {
    fn cancel(&self) {
        ClientHandle::cancel(self);
    }

    fn terminate(&self) {
        self.close();
    }

    fn notify(&self) {
        if let Some(waker) = self.idle_waker.get() {
            waker.wake_idle();
        }
    }
}
