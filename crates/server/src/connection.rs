//! A session's connection: messages in, calls of the session, messages out.
//!
//! Output is sent when the input holds no further message, at Flush, and when there is much of it: a pipeline of
//! statements costs one write. After an error in an extended-protocol message everything up to Sync is passed over.

use crate::backend::{self, RowShape};
use crate::extended::Portals;
use crate::frontend::{Body, malformed};
use crate::input::{Frame, Input};
use crate::link::{Link, OUTPUT_LIMIT, flush};
use crate::sessions::Peer;
use crate::stream::Stream;
use bytes::{Buf, BytesMut};
use hotrow_sql::{Session, SqlError, TransactionStatus, state};
use hotrow_sync::{Arc, Time};
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

/// What an idle connection keeps of its output buffer and of its last statement's text.
const KEPT_BYTES: usize = 4 << 10;

/// A client's session and its two buffers.
pub struct Connection<S> {
    pub(crate) stream: S,
    pub(crate) input: Input,
    pub(crate) out: BytesMut,
    pub(crate) session: Session,
    pub(crate) peer: Arc<Peer>,
    pub(crate) limit: usize,
    /// The statement's text or portal's name, kept while the input goes on.
    pub(crate) text: String,
    shape: RowShape,
    pub(crate) portals: Portals,
    /// After an error, until Sync.
    skipping: bool,
    /// The client sends nothing more, or nothing more is taken from it.
    at_end: bool,
    /// What it sends is too long for the memory that is left.
    is_too_long: bool,
    /// The wait for the client, if the session is to be looked after meanwhile.
    idle: Option<Idle>,
}

/// A session's wait for its client.
struct Idle {
    since: Time,
    /// When the session is looked after.
    until: Time,
}

/// How a connection ends.
#[derive(Debug)]
pub enum End {
    /// The client said so, or is gone.
    Left,
    /// The server says so, for this reason.
    Told(SqlError),
}

impl<S: Read + Write> Connection<S> {
    /// A connection whose session has begun; `out` holds what the client is told first.
    pub fn new(stream: S, input: Input, out: BytesMut, session: Session, peer: Arc<Peer>, limit: usize) -> Self {
        Self {
            stream,
            input,
            out,
            session,
            peer,
            limit,
            text: String::new(),
            shape: RowShape::default(),
            portals: Portals::default(),
            skipping: false,
            at_end: false,
            is_too_long: false,
            idle: None,
        }
    }

    /// Answers the messages that have come, and says whether the connection ends. What is not much is left to [`send`](Self::send), to go
    /// at once.
    pub fn answer(&mut self) -> Option<End> {
        loop {
            if self.peer.is_closing() {
                let message = "terminating connection due to administrator command";
                return Some(End::Told(SqlError::new(state::ADMIN_SHUTDOWN, message)));
            }
            match self.input.frame(self.limit) {
                Err(error) => return Some(End::Told(error)),
                Ok(Some(frame)) => {
                    self.idle = None;
                    if let Some(end) = self.handle(&frame) {
                        return Some(end);
                    }
                }
                Ok(None) if self.is_too_long => return Some(End::Told(out_of_memory())),
                Ok(None) if self.at_end => return Some(End::Left),
                Ok(None) => return self.idle(),
            }
        }
    }

    /// The session waits for its client; `Some` if it has waited for too long.
    fn idle(&mut self) -> Option<End> {
        let since = match &self.idle {
            Some(idle) if Time::now() < idle.until => return None,
            idle => idle.as_ref().map(|idle| idle.since),
        };
        let long = since.map_or(Duration::ZERO, |since| Time::now().since(since));
        match self.session.look_after_idle(long) {
            Ok(None) => self.idle = None,
            Ok(Some(next)) => {
                let since = since.unwrap_or_else(Time::now);
                self.idle = Some(Idle { since, until: since.after(next) });
            }
            Err(error) => return Some(End::Told(error)),
        }
        None
    }

    /// When the session is looked after though its client says nothing.
    pub fn idle_until(&self) -> Option<Time> {
        self.idle.as_ref().map(|idle| idle.until)
    }

    fn is_overdue(&self) -> bool {
        self.idle_until().is_some_and(|until| Time::now() >= until)
    }

    /// Sends what is left of the answers.
    pub fn send(&mut self) -> io::Result<()> {
        flush(&mut self.stream, &mut self.out)
    }

    /// Gives memory back that is of use only while there is something to answer.
    pub fn rest(&mut self) {
        self.input.rest();
        if self.out.is_empty() && self.out.capacity() > KEPT_BYTES {
            self.out = BytesMut::new();
        }
        if self.text.capacity() > KEPT_BYTES {
            self.text = String::new();
        }
    }

    /// Whether there is something to answer or to end.
    pub fn has_work(&self) -> bool {
        self.at_end || self.input.has_frame(self.limit) || self.peer.is_closing() || self.is_overdue()
    }

    /// Whether others may wait for what the session does next: it is in a transaction, or holds an advisory lock.
    pub fn may_be_waited_for(&self) -> bool {
        self.session.may_be_waited_for()
    }

    fn end_input(&mut self, ended: io::Result<usize>) {
        self.at_end = true;
        self.is_too_long = ended.is_err_and(|error| error.kind() == ErrorKind::OutOfMemory);
    }

    /// Says why, and gives the session's transaction up.
    pub fn finish(&mut self, end: &End) {
        if let End::Told(error) = end {
            backend::error(&mut self.out, "FATAL", error);
        }
        // Before the flush, which may wait for a client that reads nothing.
        self.session.end();
        // The client may be gone.
        let _ = flush(&mut self.stream, &mut self.out);
    }

    /// [`finish`](Self::finish) after a panic: what was not sent yet may be half a message.
    pub fn finish_after_panic(&mut self) {
        self.out.clear();
        let error = SqlError::new(state::INTERNAL_ERROR, "internal error; the session has ended")
            .hint("This is a defect of the server. Its log says more.");
        self.finish(&End::Told(error));
    }

    /// Answers a message; `Some` if it was the last.
    fn handle(&mut self, frame: &Frame) -> Option<End> {
        match frame.kind {
            b'X' => return Some(End::Left),
            b'S' => self.sync(),
            _ if self.skipping => {}
            b'Q' => self.query(frame),
            b'P' | b'B' | b'D' | b'E' | b'C' => {
                if let Err(error) = self.extended(frame) {
                    self.session.fail();
                    self.skipping = true;
                    if !self.is_cut_off(&error) {
                        backend::error(&mut self.out, "ERROR", &error);
                    }
                }
            }
            b'H' => return flush(&mut self.stream, &mut self.out).err().map(|_| End::Left),
            // What is left of a COPY that has failed.
            b'd' | b'c' | b'f' => {}
            b'F' => {
                let message = "fast-path function calls are not supported";
                self.answer_error(&SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
            }
            kind => return Some(End::Told(malformed(&format!("invalid frontend message type {kind}")))),
        }
        if self.out.len() >= OUTPUT_LIMIT && flush(&mut self.stream, &mut self.out).is_err() {
            return Some(End::Left);
        }
        None
    }

    /// Query: a string of statements.
    fn query(&mut self, frame: &Frame) {
        let mut body = Body::new(self.input.body(frame));
        let text = match body.text().and_then(|text| body.end().map(|()| text)) {
            Ok(text) => text,
            Err(error) => return self.answer_error(&error),
        };
        // COPY reads on while the statement runs.
        self.text.clear();
        self.text.push_str(text);
        self.peer.begin();
        let mut link = Link {
            stream: &mut self.stream,
            input: &mut self.input,
            out: &mut self.out,
            shape: &mut self.shape,
            limit: self.limit,
        };
        let result = self.session.simple_query(&self.text, &mut link);
        self.peer.end();
        match result {
            // The client is told of its end instead.
            Err(error) if self.is_cut_off(&error) => return,
            Err(error) => backend::error(&mut self.out, "ERROR", &error),
            Ok(()) => {}
        }
        self.ready();
    }

    /// Whether a statement has failed because the session is to end.
    fn is_cut_off(&self, error: &SqlError) -> bool {
        self.peer.is_closing() && error.state == state::QUERY_CANCELED
    }

    /// An error outside any statement, in answer to a message that is answered by ReadyForQuery.
    fn answer_error(&mut self, error: &SqlError) {
        self.session.fail();
        backend::error(&mut self.out, "ERROR", error);
        self.ready();
    }

    fn sync(&mut self) {
        self.skipping = false;
        if let Err(error) = self.session.sync() {
            backend::error(&mut self.out, "ERROR", &error);
        }
        self.ready();
    }

    fn ready(&mut self) {
        let status = match self.session.status() {
            TransactionStatus::Idle => b'I',
            TransactionStatus::InTransaction => b'T',
            TransactionStatus::Failed => b'E',
        };
        if status == b'I' {
            self.portals.clear_named();
        }
        backend::ready_for_query(&mut self.out, status);
    }
}

/// There is no memory for a message.
fn out_of_memory() -> SqlError {
    SqlError::new(state::OUT_OF_MEMORY, "out of memory for a long message")
        .hint("Send less at once, drop or truncate tables, or start the server with a larger --memory-limit.")
}

/// What a look for input came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// There was something; more may be there.
    Some,
    /// All that was there, or the end.
    All,
    /// There was nothing.
    Nothing,
}

impl Connection<Stream> {
    /// Reads what has come; waits until something has, or the session has been idle for too long. An error ends the
    /// input.
    pub fn receive_in_time(&mut self) {
        let until = self.idle_until();
        if until.is_some() && self.stream.set_deadline(until).is_err() {
            return self.end_input(Ok(0));
        }
        match self.input.fill(&mut self.stream) {
            Ok(1..) => {}
            Err(_) if self.is_overdue() => {}
            ended => self.end_input(ended),
        }
        if until.is_some() && self.stream.set_deadline(None).is_err() {
            self.end_input(Ok(0));
        }
    }

    /// Reads what has come, and does not wait for more.
    pub fn receive_at_once(&mut self) -> Received {
        let input = &mut self.input;
        match self.stream.hurry(|stream| input.fill(stream)) {
            Ok(1..) if self.input.is_full() || self.stream.is_tls() => Received::Some,
            Ok(1..) => Received::All,
            Err(error) if error.kind() == ErrorKind::WouldBlock => Received::Nothing,
            ended => {
                self.end_input(ended);
                Received::All
            }
        }
    }

    /// Sends of the answers what can be sent without waiting; whether that was all.
    pub fn send_at_once(&mut self) -> io::Result<bool> {
        let out = &mut self.out;
        let sent = self.stream.hurry(|stream| {
            while !out.is_empty() {
                match stream.write(out)? {
                    0 => return Err(ErrorKind::WriteZero.into()),
                    count => out.advance(count),
                }
            }
            stream.flush()
        });
        match sent {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
            sent => sent.map(|()| true),
        }
    }

    /// Sends what of that was left, and waits.
    pub fn send_rest(&mut self) -> io::Result<()> {
        self.send()?;
        self.stream.flush()
    }

    /// Closes the connection; the client gets what was sent.
    pub fn disconnect(self) {
        self.stream.close();
    }
}
