//! A session's connection: messages in, calls of the session, messages out.
//!
//! Output is sent when the input holds no further message, at Flush, and when the buffer is full. So a pipeline of
//! statements costs one write. After an error in a message of the extended protocol everything up to Sync is skipped.

use super::portals::PortalShapes;
use super::statement_io::{OUTPUT_LIMIT, StatementIo, flush};
use crate::clients::ClientHandle;
use crate::message::{Body, Frame, Input, RowShape, backend, malformed};
use crate::socket::Stream;
use bytes::{Buf, BytesMut};
use hotrow_sql::{Session, SqlError, TransactionStatus, state};
use hotrow_sync::{Arc, Time};
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

/// The most bytes of capacity that an idle connection keeps in its output buffer, and in the copy of its last
/// statement's text.
const KEPT_BYTES: usize = 4 << 10;

/// The connection of a client that has logged in: its socket, its session, and the buffers for input and output.
pub struct Connection<S> {
    pub(super) stream: S,
    pub(super) input: Input,
    pub(super) out: BytesMut,
    pub(super) session: Session,
    pub(super) client: Arc<ClientHandle>,
    /// The longest message that is accepted, in bytes.
    pub(super) limit: usize,
    /// The text of the statement, or the name of the portal, that is running. It is copied since COPY reads on
    /// meanwhile.
    pub(super) text: String,
    shape: RowShape,
    pub(super) portals: PortalShapes,
    /// Whether messages are skipped, from an error to the next Sync.
    skipping: bool,
    /// Whether the input has ended: the client sends nothing more, or nothing more is read from it.
    at_end: bool,
    /// Whether the input has ended because there is no memory for the message that is coming.
    is_too_long: bool,
    /// The session's wait for its client, if the session has something to do at a certain time even if no message
    /// comes.
    idle: Option<Idle>,
}

/// A session's wait for its client.
struct Idle {
    since: Time,
    /// The time at which the session next checks whether the wait takes too long.
    until: Time,
}

/// The reason why a connection ends.
#[derive(Debug)]
pub enum End {
    /// The client has sent Terminate, has closed the connection, or cannot be written to.
    Left,
    /// The server ends the connection, and sends this error to the client.
    Terminated(SqlError),
}

impl<S: Read + Write> Connection<S> {
    /// Makes the connection of a client that has logged in. `out` holds messages that are still to be sent to the
    /// client. `limit` is the greatest length of a client's message, in bytes.
    pub fn new(
        stream: S,
        input: Input,
        out: BytesMut,
        session: Session,
        client: Arc<ClientHandle>,
        limit: usize,
    ) -> Self {
        Self {
            stream,
            input,
            out,
            session,
            client,
            limit,
            text: String::new(),
            shape: RowShape::default(),
            portals: PortalShapes::default(),
            skipping: false,
            at_end: false,
            is_too_long: false,
            idle: None,
        }
    }

    /// Answers the messages that have come. Returns the reason why the connection ends, or `None` if it continues.
    /// Leaves less than [`OUTPUT_LIMIT`] bytes of answers in the output buffer, for [`send`](Self::send).
    pub fn answer(&mut self) -> Option<End> {
        loop {
            if self.client.is_closing() {
                let message = "terminating connection due to administrator command";
                return Some(End::Terminated(SqlError::new(state::ADMIN_SHUTDOWN, message)));
            }
            match self.input.frame(self.limit) {
                Err(error) => return Some(End::Terminated(error)),
                Ok(Some(frame)) => {
                    self.idle = None;
                    if let Some(end) = self.handle(&frame) {
                        return Some(end);
                    }
                }
                Ok(None) if self.is_too_long => return Some(End::Terminated(out_of_memory())),
                Ok(None) if self.at_end => return Some(End::Left),
                Ok(None) if self.deliver().is_err() => return Some(End::Left),
                Ok(None) => return self.idle(),
            }
        }
    }

    /// Writes the notifications that have come for the session. Within a transaction there are none to write: they wait
    /// for its end.
    fn deliver(&mut self) -> io::Result<()> {
        for notification in self.session.take_notifications() {
            backend::notification(&mut self.out, &notification);
            if self.out.len() >= OUTPUT_LIMIT {
                flush(&mut self.stream, &mut self.out)?;
            }
        }
        Ok(())
    }

    /// Notes that the session waits for its client. Returns the reason why the connection ends if the session has
    /// waited for too long, else `None`.
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
            Err(error) => return Some(End::Terminated(error)),
        }
        None
    }

    /// Returns the time at which [`answer`](Self::answer) must be called even if the client sends nothing, because an
    /// idle time-out may have passed. Returns `None` if there is no such time.
    pub fn idle_until(&self) -> Option<Time> {
        self.idle.as_ref().map(|idle| idle.until)
    }

    fn is_overdue(&self) -> bool {
        self.idle_until().is_some_and(|until| Time::now() >= until)
    }

    /// Sends all answers in the output buffer, and empties the buffer even if that fails. Waits while the client reads
    /// slowly.
    ///
    /// # Errors
    /// If the connection is lost, or if the client reads nothing for
    /// [`write_timeout`](crate::ServerConfig::write_timeout).
    pub fn send(&mut self) -> io::Result<()> {
        flush(&mut self.stream, &mut self.out)
    }

    /// Frees buffers that are needed only while there are messages to answer.
    pub fn rest(&mut self) {
        self.input.rest();
        if self.out.is_empty() && self.out.capacity() > KEPT_BYTES {
            self.out = BytesMut::new();
        }
        if self.text.capacity() > KEPT_BYTES {
            self.text = String::new();
        }
    }

    /// Whether [`answer`](Self::answer) should be called now: there is a message to answer, the connection is to end,
    /// there are notifications to send, or an idle time-out may have passed.
    pub fn has_work(&self) -> bool {
        self.at_end
            || self.has_notifications()
            || self.input.has_frame(self.limit)
            || self.client.is_closing()
            || self.is_overdue()
    }

    /// Whether there are notifications that can be sent now: some have come, and the session is in no transaction.
    pub fn has_notifications(&self) -> bool {
        self.session.has_notifications()
    }

    /// Whether the session listens on a channel, so that notifications may come while the client sends nothing.
    pub fn is_listening(&self) -> bool {
        self.session.is_listening()
    }

    /// Whether other sessions may be waiting for this one, because it is in a transaction or holds an advisory lock.
    pub fn may_be_waited_for(&self) -> bool {
        self.session.may_be_waited_for()
    }

    fn end_input(&mut self, ended: io::Result<usize>) {
        self.at_end = true;
        self.is_too_long = ended.is_err_and(|error| error.kind() == ErrorKind::OutOfMemory);
    }

    /// Ends the session, which rolls its transaction back, and sends the client the reason why the connection ends.
    pub fn finish(&mut self, end: &End) {
        if let End::Terminated(error) = end {
            backend::error(&mut self.out, "FATAL", error);
        }
        // The session ends before the flush, since the flush may wait for a client that reads nothing.
        self.session.end();
        // The client may be gone.
        let _ = flush(&mut self.stream, &mut self.out);
    }

    /// Ends the session after a panic, and sends the client an internal error. Buffered output is discarded, since it
    /// may end with half a message.
    pub fn finish_after_panic(&mut self) {
        self.out.clear();
        let error = SqlError::new(state::INTERNAL_ERROR, "internal error; the session has ended")
            .hint("This is a defect of the server. Its log says more.");
        self.finish(&End::Terminated(error));
    }

    /// Answers a message. Returns the reason why the connection ends if this message ends it, else `None`.
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
            // The client sends the rest of a COPY that has failed. It is skipped.
            b'd' | b'c' | b'f' => {}
            b'F' => {
                let message = "fast-path function calls are not supported";
                self.answer_error(&SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
            }
            kind => return Some(End::Terminated(malformed(&format!("invalid frontend message type {kind}")))),
        }
        if self.out.len() >= OUTPUT_LIMIT && flush(&mut self.stream, &mut self.out).is_err() {
            return Some(End::Left);
        }
        None
    }

    /// Answers Query, a string of statements.
    fn query(&mut self, frame: &Frame) {
        let mut body = Body::new(self.input.body(frame));
        let text = match body.text().and_then(|text| body.end().map(|()| text)) {
            Ok(text) => text,
            Err(error) => return self.answer_error(&error),
        };
        // The text is copied, since COPY reads on while the statement runs.
        self.text.clear();
        self.text.push_str(text);
        self.client.begin_statement();
        let mut io = StatementIo {
            stream: &mut self.stream,
            input: &mut self.input,
            out: &mut self.out,
            shape: &mut self.shape,
            limit: self.limit,
        };
        let result = self.session.simple_query(&self.text, &mut io);
        self.client.end_statement();
        match result {
            // The client gets the reason of the connection's end instead.
            Err(error) if self.is_cut_off(&error) => return,
            Err(error) => backend::error(&mut self.out, "ERROR", &error),
            Ok(()) => {}
        }
        self.ready();
    }

    /// Whether a statement was cancelled because the session is to end.
    fn is_cut_off(&self, error: &SqlError) -> bool {
        self.client.is_closing() && error.state == state::QUERY_CANCELED
    }

    /// Writes an error outside any statement, for a message that is answered by ReadyForQuery.
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
            // A client that is lost is noticed when the answer is sent.
            let _ = self.deliver();
        }
        backend::ready_for_query(&mut self.out, status);
    }
}

fn out_of_memory() -> SqlError {
    SqlError::new(state::OUT_OF_MEMORY, "out of memory for a long message")
        .hint("Send less at once, drop or truncate tables, or start the server with a larger --memory-limit.")
}

/// The outcome of a read that does not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Bytes were read, and there may be more.
    Some,
    /// All bytes that had come were read, or the input has ended.
    All,
    /// No bytes have come.
    Nothing,
}

impl Connection<Stream> {
    /// Whether a read would return bytes that were read from the socket before. The system gives no notice of them.
    pub fn has_read_ahead(&mut self) -> bool {
        self.stream.has_read_ahead()
    }

    /// Reads the bytes that have come. If there are none, waits for some, at most until
    /// [`idle_until`](Self::idle_until). An error counts as the end of the input.
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

    /// Reads the bytes that have come, without waiting. An error counts as the end of the input.
    pub fn receive_at_once(&mut self) -> Received {
        let input = &mut self.input;
        match self.stream.without_waiting(|stream| input.fill(stream)) {
            Ok(1..) if self.input.is_full() || self.stream.is_tls() => Received::Some,
            Ok(1..) => Received::All,
            Err(error) if error.kind() == ErrorKind::WouldBlock => Received::Nothing,
            ended => {
                self.end_input(ended);
                Received::All
            }
        }
    }

    /// Sends as much of the output buffer as possible without waiting. Returns whether all of it was sent.
    pub fn send_at_once(&mut self) -> io::Result<bool> {
        let out = &mut self.out;
        let sent = self.stream.without_waiting(|stream| {
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

    /// Sends the answers that [`send_at_once`](Self::send_at_once) could not send, and waits as [`send`](Self::send)
    /// does.
    pub fn send_rest(&mut self) -> io::Result<()> {
        self.send()?;
        self.stream.flush()
    }

    /// Closes the socket so that the client still receives the last answers: see [`Stream::close`].
    pub fn disconnect(self) {
        self.stream.close();
    }
}
