//! A client's visit from its first byte to its last, in steps: each answers what has come, and ends when more has to come.

use crate::backend;
use crate::connection::{Connection, End, Received};
use crate::input::Input;
use crate::link::flush;
use crate::server::Shared;
use crate::sessions::{Guest, NoPlace};
use crate::startup::{NoSession, Start, Startup};
use crate::stream::{Patience, Stream};
use bytes::BytesMut;
use hotrow_sql::{Session, SqlError, state};
use hotrow_sync::{Arc, Scheduler, Time, Waiter, meter};
use pgwire::messages::startup::Authentication;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A connected client and, once it has begun, its session.
///
/// Reading and writing waits as the stream's patience has it, and the session as the scheduler has it; this says only when
/// nothing is left to do until the client sends more.
pub struct Conversation {
    shared: Arc<Shared>,
    guest: Guest,
    scheduler: Arc<dyn Scheduler>,
    /// When the session must have begun.
    patience_ends: Time,
    state: State,
    /// The answers to what has come are left to whoever reads, to [send](Self::send_at_once).
    keeps_answers: bool,
    /// Some of them did not go at once.
    is_late: bool,
}

enum State {
    /// The session has not begun.
    Arrived(Stream, Input),
    Begun(Box<Connection<Stream>>),
    Over,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All that has come is answered.
    Answered,
    /// The client has been told good-bye, or is gone.
    Over,
}

impl Conversation {
    /// With a client that has just connected, and whose session will wait through `scheduler`.
    pub fn new(
        shared: Arc<Shared>,
        guest: Guest,
        patience: Patience,
        scheduler: Arc<dyn Scheduler>,
    ) -> io::Result<Self> {
        let config = &shared.config;
        let mut stream = Stream::new(guest.peer().socket.clone(), patience, config.write_timeout)?;
        let now = Time::now();
        stream.set_deadline(Some(now.after(config.silence_timeout.min(config.startup_timeout))))?;
        let patience_ends = now.after(config.startup_timeout);
        let keeps_answers = config.hands_over();
        let input = Input::new(shared.database.memory_limit());
        let state = State::Arrived(stream, input);
        Ok(Self { shared, guest, scheduler, patience_ends, state, keeps_answers, is_late: false })
    }

    /// Answers what has come; begins the session first, if it has not begun, and waits for what belongs to that.
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
            // Its state may be broken; another panic leaves nothing but to drop it.
            let _ = catch_unwind(AssertUnwindSafe(|| connection.finish_after_panic()));
            Progress::Over
        });
        // What the statements have kept is dropped by now.
        meter::trim();
        if progress == Progress::Over
            && let State::Begun(connection) = std::mem::replace(&mut self.state, State::Over)
        {
            connection.disconnect();
        }
        progress
    }

    /// Waits for input. The session has begun.
    pub fn receive(&mut self) {
        if let State::Begun(connection) = &mut self.state {
            connection.receive_in_time();
        }
    }

    /// Looks for input; does not wait. What comes before the session is left to [`proceed`](Self::proceed).
    pub fn receive_at_once(&mut self) -> Received {
        match &mut self.state {
            State::Begun(connection) => connection.receive_at_once(),
            State::Arrived(..) | State::Over => Received::Some,
        }
    }

    /// Sends the answers that it has kept; does not wait. What does not go is left to [`proceed`](Self::proceed), and so is a client that
    /// is gone.
    pub fn send_at_once(&mut self) {
        if let State::Begun(connection) = &mut self.state {
            self.is_late = !connection.send_at_once().unwrap_or(false);
        }
    }

    /// Gives memory back that an idle client's conversation has no use for.
    pub fn rest(&mut self) {
        if let State::Begun(connection) = &mut self.state {
            connection.rest();
        }
    }

    /// Whether [`proceed`](Self::proceed) would do something now, rather than wait for the client or ask for more.
    pub fn has_work(&self) -> bool {
        match &self.state {
            State::Begun(connection) => self.is_late || connection.has_work(),
            State::Arrived(..) | State::Over => true,
        }
    }

    /// Whether others may wait for what the client does next.
    pub fn may_be_waited_for(&self) -> bool {
        matches!(&self.state, State::Begun(connection) if connection.may_be_waited_for())
    }

    /// When [`proceed`](Self::proceed) has something to do though the client sends nothing.
    pub fn idle_until(&self) -> Option<Time> {
        match &self.state {
            State::Begun(connection) => connection.idle_until(),
            State::Arrived(..) | State::Over => None,
        }
    }

    /// Brings the client to its session, or says why not.
    fn begin(&mut self) {
        let State::Arrived(mut stream, mut input) = std::mem::replace(&mut self.state, State::Over) else { return };
        match self.admit(&mut stream, &mut input) {
            Ok((session, out)) => {
                let limit = self.shared.config.max_message_bytes;
                let connection = Connection::new(stream, input, out, session, self.guest.peer().clone(), limit);
                self.state = State::Begun(Box::new(connection));
            }
            Err(NoSession::Gone) => stream.close(),
            Err(NoSession::Refused(error)) => {
                let mut out = BytesMut::new();
                backend::error(&mut out, "FATAL", &error);
                // The client may be gone.
                let _ = flush(&mut stream, &mut out);
                stream.close();
            }
        }
    }

    /// The client's session, and what it is told first.
    fn admit(&mut self, stream: &mut Stream, input: &mut Input) -> Result<(Session, BytesMut), NoSession> {
        let shared = &*self.shared;
        let (peer, deadline) = (self.guest.peer().clone(), self.patience_ends);
        let mut startup =
            Startup { stream, input, tls: shared.tls.as_ref(), sessions: &shared.sessions, peer: &peer, deadline };
        let mut start = startup.negotiate()?;
        let mut out = BytesMut::new();
        if let Some(unknown) = start.negotiated() {
            backend::negotiate_version(&mut out, unknown);
            flush(startup.stream, &mut out)?;
        }
        startup.authenticate(&start.user, shared.config.passwords.as_ref())?;
        stream.set_deadline(None)?;
        let waiter = match &shared.waiters {
            Some(waiters) => waiters(self.scheduler.clone()),
            None => Waiter::new(self.scheduler.clone()),
        };
        let is_administrator = start.user == shared.config.administrator;
        self.guest.admit(waiter.clone(), is_administrator).map_err(|no_place| match no_place {
            NoPlace::Full => too_many(),
            NoPlace::Reserved => reserved(&shared.config.administrator),
        })?;
        let mut session = shared.database.session(&start.user, waiter);
        greet(&mut out, &mut session, &start, &self.guest);
        Ok((session, out))
    }
}

/// There is no room for another client.
pub fn too_many() -> SqlError {
    SqlError::new(state::TOO_MANY_CONNECTIONS, "sorry, too many clients already")
        .hint("Raise the server's limit on connections, or use a pool of connections.")
}

/// The room that is left is for others.
fn reserved(administrator: &str) -> SqlError {
    let message = "remaining connection slots are reserved for non-replication superuser connections";
    SqlError::new(state::TOO_MANY_CONNECTIONS, message)
        .hint(format!("They are for the user \"{administrator}\": --administrator and --reserved-connections."))
}

/// The first messages of a session.
fn greet(out: &mut BytesMut, session: &mut Session, start: &Start, guest: &Guest) {
    backend::authentication(out, &Authentication::Ok);
    session.set_id(guest.peer().pid);
    session.set_backend(guest.peer().clone());
    session.set_address(guest.peer().socket.peer_addr().ok().and_then(|address| address.as_socket()));
    for (name, value) in &start.settings {
        // A driver's habit of setting something is no reason to turn it away.
        if let Err(error) = session.set_parameter(name, value) {
            backend::notice(out, "WARNING", &error);
        }
    }
    for (name, value) in session.parameters() {
        backend::parameter_status(out, name, &value);
    }
    backend::key_data(out, guest.peer().pid, guest.peer().secret);
    backend::ready_for_query(out, b'I');
}
