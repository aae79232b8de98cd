//! The conversation with one client, from the first byte of its connection to the last. It proceeds in steps, each of
//! which answers the messages that have come.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `startup` | from the first byte to the start of the session: TLS, cancel requests, the password |
//! | `connection` | a session's connection: from a message to calls of the session, and when answers are sent |
//! | `extended`, `portals` | the messages of the extended protocol, and the formats of portals |
//! | `pipeline` | the statements that a pipeline will execute, read ahead |
//! | `statement_io` | a running statement's rows into the output buffer, and its COPY data from the input |
//! | `refusal` | the errors for clients that are not served |
//!
//! An execution model drives a [`Conversation`]: it calls [`proceed`](Conversation::proceed) while there is work, and
//! reads more input in between. A conversation does not know which model drives it. Its reads and writes wait as its
//! [`SocketWait`] says, its session waits for locks through its [`Scheduler`].

mod connection;
mod extended;
mod pipeline;
mod portals;
mod refusal;
mod startup;
mod statement_io;

pub use connection::Received;
pub use refusal::turn_away;

use crate::clients::ClientSlot;
use crate::message::{Input, backend};
use crate::shared::Shared;
use crate::socket::{SocketWait, Stream};
use bytes::BytesMut;
use connection::{Connection, End};
use hotrow_sql::{Session, SqlError, state};
use hotrow_sync::{Arc, Scheduler, Time, Waiter, meter};
use pgwire::messages::startup::Authentication;
use startup::{Start, Startup, StartupError};
use statement_io::flush;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A connected client: its socket, its unread input and, after log-in, its session. It answers the client's messages,
/// and an execution model decides on which thread.
///
/// **Thread safety.** One thread at a time uses a conversation. Between two calls, it may move to another thread. Under
/// coroutines it is dropped within a coroutine, since a rollback may have to wait.
pub struct Conversation {
    shared: Arc<Shared>,
    slot: ClientSlot,
    scheduler: Arc<dyn Scheduler>,
    /// The time by which the session must have begun.
    startup_deadline: Time,
    state: State,
    /// Whether [`proceed`](Self::proceed) leaves its answers in the output buffer, for
    /// [`send_at_once`](Self::send_at_once).
    keeps_answers: bool,
    /// Whether a part of the kept answers could not be sent at once.
    is_late: bool,
}

enum State {
    /// The session has not begun.
    Arrived(Stream, Input),
    /// The session has begun.
    Begun(Box<Connection<Stream>>),
    /// The connection is closed.
    Over,
}

/// The outcome of a call of [`Conversation::proceed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All messages that have come are answered. The caller must read more input before the next call.
    Answered,
    /// The connection has ended. The caller drops the conversation.
    Over,
}

impl Conversation {
    /// Makes the conversation with a client that has just connected, and reads nothing yet. Reads and writes of the
    /// socket wait as `wait` says, and the session's waits for locks go through `scheduler`.
    ///
    /// # Errors
    /// The system's error if an option of the socket cannot be set.
    pub fn new(
        shared: Arc<Shared>,
        slot: ClientSlot,
        wait: SocketWait,
        scheduler: Arc<dyn Scheduler>,
    ) -> io::Result<Self> {
        let config = &shared.config;
        let mut stream = Stream::new(slot.client().socket.clone(), wait, config.write_timeout)?;
        let now = Time::now();
        stream.set_deadline(Some(now.after(config.silence_timeout.min(config.startup_timeout))))?;
        let startup_deadline = now.after(config.startup_timeout);
        let keeps_answers = config.hands_over();
        let input = Input::new(shared.database.memory_limit());
        let state = State::Arrived(stream, input);
        Ok(Self { shared, slot, scheduler, startup_deadline, state, keeps_answers, is_late: false })
    }

    /// Answers the messages that have come. The first call also logs the client in, and waits for the client's messages
    /// meanwhile. A panic of the session ends the connection, and does not reach the caller.
    pub fn proceed(&mut self) -> Progress {
        if let State::Arrived(..) = self.state {
            self.begin();
        }
        let State::Begun(connection) = &mut self.state else { return Progress::Over };
        let (keeps_answers, is_late) = (self.keeps_answers, std::mem::take(&mut self.is_late));
        let answered = catch_unwind(AssertUnwindSafe(|| {
            let sent = if is_late { connection.send_rest() } else { Ok(()) };
            let end = if sent.is_ok() { connection.answer() } else { Some(End::Left) };
            let end = end.or_else(|| (!keeps_answers && connection.send().is_err()).then_some(End::Left));
            let Some(end) = end else { return Progress::Answered };
            connection.finish(&end);
            Progress::Over
        }));
        let progress = answered.unwrap_or_else(|_| {
            self.shared.log("a session panicked and has ended");
            // The session's state may be broken. If it panics again, it is only dropped.
            let _ = catch_unwind(AssertUnwindSafe(|| connection.finish_after_panic()));
            Progress::Over
        });
        // The memory of the statements is free by now.
        meter::trim();
        if progress == Progress::Over
            && let State::Begun(connection) = std::mem::replace(&mut self.state, State::Over)
        {
            connection.disconnect();
        }
        progress
    }

    /// Reads input. Waits until there is some, or until [`idle_until`](Self::idle_until). Does nothing before log-in.
    pub fn receive(&mut self) {
        if let State::Begun(connection) = &mut self.state {
            connection.receive_in_time();
        }
    }

    /// Reads the input that has come, without waiting. Before log-in it reads nothing and returns [`Received::Some`],
    /// because [`proceed`](Self::proceed) reads the messages of the log-in.
    pub fn receive_at_once(&mut self) -> Received {
        match &mut self.state {
            State::Begun(connection) => connection.receive_at_once(),
            State::Arrived(..) | State::Over => Received::Some,
        }
    }

    /// Sends as many of the buffered answers as possible without waiting. If some are left,
    /// [`has_work`](Self::has_work) is true, and [`proceed`](Self::proceed) sends them. For the model with I/O threads,
    /// where `proceed` leaves its answers in the buffer.
    pub fn send_at_once(&mut self) {
        if let State::Begun(connection) = &mut self.state {
            self.is_late = !connection.send_at_once().unwrap_or(false);
        }
    }

    /// Frees buffers that an idle client does not need. An execution model calls it when the messages that have come
    /// are answered.
    pub fn rest(&mut self) {
        if let State::Begun(connection) = &mut self.state {
            connection.rest();
        }
    }

    /// Whether [`proceed`](Self::proceed) should be called now: there is a message to answer, something to send, or a
    /// reason to end the connection, or the client has not logged in yet.
    pub fn has_work(&self) -> bool {
        match &self.state {
            State::Begun(connection) => self.is_late || connection.has_work(),
            State::Arrived(..) | State::Over => true,
        }
    }

    /// Whether there are notifications that can be sent now, even if the client has sent nothing.
    pub fn has_notifications(&self) -> bool {
        matches!(&self.state, State::Begun(connection) if connection.has_notifications())
    }

    /// Whether the session listens on a channel, so that notifications may come while the client sends nothing.
    pub fn is_listening(&self) -> bool {
        matches!(&self.state, State::Begun(connection) if connection.is_listening())
    }

    /// Whether [`receive`](Self::receive) would return bytes that were read from the socket before. The system gives no
    /// notice of them.
    pub fn has_read_ahead(&mut self) -> bool {
        match &mut self.state {
            State::Begun(connection) => connection.has_read_ahead(),
            State::Arrived(..) | State::Over => false,
        }
    }

    /// Whether other sessions may be waiting for this client's next message, because its session is in a transaction or
    /// holds an advisory lock. A worker serves such a connection first.
    pub fn may_be_waited_for(&self) -> bool {
        matches!(&self.state, State::Begun(connection) if connection.may_be_waited_for())
    }

    /// Returns the time at which [`proceed`](Self::proceed) must be called even if the client sends nothing, such as
    /// that of an idle time-out. Returns `None` if there is no such time.
    pub fn idle_until(&self) -> Option<Time> {
        match &self.state {
            State::Begun(connection) => connection.idle_until(),
            State::Arrived(..) | State::Over => None,
        }
    }

    /// Carries the client through the startup to its session, or sends it the error for which it gets none.
    fn begin(&mut self) {
        let State::Arrived(mut stream, mut input) = std::mem::replace(&mut self.state, State::Over) else { return };
        match self.start_session(&mut stream, &mut input) {
            Ok((session, out)) => {
                let limit = self.shared.config.max_message_bytes;
                let connection = Connection::new(stream, input, out, session, self.slot.client().clone(), limit);
                self.state = State::Begun(Box::new(connection));
            }
            Err(StartupError::Gone) => stream.close(),
            Err(StartupError::Refused(error)) => {
                let mut out = BytesMut::new();
                backend::error(&mut out, "FATAL", &error);
                // The client may be gone.
                let _ = flush(&mut stream, &mut out);
                stream.close();
            }
        }
    }

    /// Starts the client's session. Returns it with its first messages, which are still to be sent.
    fn start_session(&mut self, stream: &mut Stream, input: &mut Input) -> Result<(Session, BytesMut), StartupError> {
        let shared = &*self.shared;
        let (client, deadline) = (self.slot.client().clone(), self.startup_deadline);
        let mut startup =
            Startup { stream, input, tls: shared.tls.as_ref(), clients: &shared.clients, client: &client, deadline };
        let mut start = startup.negotiate()?;
        let mut out = BytesMut::new();
        if let Some(unknown) = start.take_unknown_options() {
            backend::negotiate_version(&mut out, unknown);
            flush(startup.stream, &mut out)?;
        }
        startup.authenticate(&start.user, shared.config.passwords.as_ref())?;
        stream.set_deadline(None)?;
        let waiter = match &shared.waiters {
            Some(waiters) => waiters(self.scheduler.clone()),
            None => Waiter::new(self.scheduler.clone()),
        };
        let administrator = &shared.config.administrator;
        self.slot
            .start_session(waiter.clone(), start.user == *administrator)
            .map_err(|limit| refusal::no_session(limit, administrator))?;
        let database = shared.database.named(&start.database).ok_or_else(|| {
            let message = format!("database \"{}\" does not exist", start.database);
            SqlError::new(state::INVALID_CATALOG_NAME, message)
        })?;
        let mut session = database.session(&start.user, waiter);
        greet(&mut out, &mut session, &start, &self.slot)?;
        Ok((session, out))
    }
}

/// Gives a new session its settings and its identity, and writes its first messages.
///
/// # Errors
/// 22023 if the client asks for a time zone that does not exist.
fn greet(
    out: &mut BytesMut,
    session: &mut Session,
    start: &Start,
    slot: &ClientSlot,
) -> Result<(), hotrow_sql::SqlError> {
    let client = slot.client();
    backend::authentication(out, &Authentication::Ok);
    session.set_id(client.pid);
    session.set_backend(client.clone());
    session.set_address(client.socket.peer_addr().ok().and_then(|address| address.as_socket()));
    for (name, value) in &start.settings {
        match session.set_parameter(name, value) {
            Ok(()) => {}
            // In another zone all times would be wrong, and few clients look at warnings.
            Err(error) if name.eq_ignore_ascii_case("TimeZone") => return Err(error),
            // Drivers set parameters by habit. An unknown one does not keep the client out.
            Err(error) => backend::notice(out, "WARNING", &error),
        }
    }
    for (name, value) in session.parameters() {
        backend::parameter_status(out, name, &value);
    }
    backend::key_data(out, client.pid, client.secret);
    backend::ready_for_query(out, b'I');
    Ok(())
}
