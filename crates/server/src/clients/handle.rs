//! The handle through which other threads cancel a client's statement or end its connection.

use crate::socket::has_left;
use hotrow_sql::Backend;
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard, Waiter};
use socket2::Socket;
use std::net::Shutdown;
use subtle::ConstantTimeEq;

/// The handle through which other threads reach a connected client.
///
/// A cancellation ends the statement that is running when the cancellation arrives; if none is running, it has no
/// effect. Cancelling takes the same mutex as [`begin_statement`](Self::begin_statement) and
/// [`end_statement`](Self::end_statement), which decides whether a statement is running; the end of a statement revokes
/// a cancellation that came too late to stop it.
///
/// **Thread safety.** Any thread may [`cancel`](Self::cancel), [`close`](Self::close) and ask; the rest is for the
/// thread that runs the connection.
pub struct ClientHandle {
    /// The session's number, as cancel requests and `pg_backend_pid` have it.
    pub pid: i32,
    /// The number that a cancel request has to show.
    pub secret: i32,
    /// The client's socket.
    pub socket: Arc<Socket>,
    /// Whether the server has read something from the client.
    has_spoken: AtomicBool,
    closing: AtomicBool,
    statement: Mutex<Statement>,
}

struct Statement {
    waiter: Option<Waiter>,
    is_running: bool,
}

impl ClientHandle {
    /// Makes the handle of a client that has no session yet.
    pub fn new(pid: i32, secret: i32, socket: Arc<Socket>) -> Self {
        Self {
            pid,
            secret,
            socket,
            has_spoken: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            statement: Mutex::new(Statement { waiter: None, is_running: false }),
        }
    }

    /// Whether `secret` is the client's secret. The comparison takes the same time for every number.
    pub fn has_secret(&self, secret: i32) -> bool {
        self.secret.to_be_bytes().ct_eq(&secret.to_be_bytes()).into()
    }

    /// Whether the session is to end: the server is closing, or another session has asked for it.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Notes that the client has sent something, so that it is not cut off to make room for another connection.
    pub fn note_input(&self) {
        self.has_spoken.store(true, Ordering::Release);
    }

    /// Whether the client has sent something.
    pub fn has_spoken(&self) -> bool {
        self.has_spoken.load(Ordering::Acquire)
    }

    /// Notes that a statement begins. It can be cancelled from now on.
    pub fn begin_statement(&self) {
        self.statement().is_running = true;
    }

    /// Notes that the statement has ended, and revokes a cancellation that came too late.
    pub fn end_statement(&self) {
        let mut statement = self.statement();
        statement.is_running = false;
        if let Some(waiter) = &statement.waiter
            && !self.is_closing()
        {
            waiter.clear_cancel();
        }
    }

    /// Stores the waiter of the client's session, which begins now, and cancels its waits if the client is to be
    /// closed.
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

    /// Cancels the running statement if the client has closed its end of the connection.
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

    /// Ends the session: cancels its waits, now and later, and ends its input.
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
}
