//! A client's socket, with or without TLS.

use hotrow_sync::{Arc, Time};
use rustix::event::PollFlags;
use rustix::net::{SendFlags, send};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

/// The most bytes that the server still reads from a client after it has closed its own side. It discards them: a close
/// with unread data would destroy the last answer on its way.
const DRAIN_BYTES: usize = 4 << 20;
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// The way in which a read waits for bytes, and a write for room in the socket's send buffer.
#[derive(Clone)]
pub enum SocketWait {
    /// The socket is blocking: a call blocks its thread.
    Block,
    /// The socket is non-blocking: a call that would block waits through this waiter, and then retries.
    Through(Arc<dyn SocketWaiter>),
}

/// The way in which an execution model waits for a non-blocking socket: it blocks a thread, or suspends a coroutine.
pub trait SocketWaiter: Send + Sync {
    /// Waits until one of `events` happens at the socket, or the deadline passes. May also return earlier. So after
    /// each return, the caller retries its call and checks the deadline.
    fn wait_for_socket(&self, socket: &socket2::Socket, events: PollFlags, deadline: Option<Time>);
}

/// The stream of bytes to and from a client, with or without TLS. Its [`SocketWait`] says how reads and writes wait for
/// the client.
pub struct Stream {
    kind: Kind,
}

enum Kind {
    Plain(Socket),
    Tls(Box<StreamOwned<ServerConnection, Socket>>),
}

/// A socket that other threads may shut down.
#[derive(Clone)]
struct Socket {
    inner: Arc<socket2::Socket>,
    wait: SocketWait,
    /// The time at which a waiting read fails.
    read_deadline: Option<Time>,
    /// How long a write waits for room.
    write_timeout: Duration,
    /// Whether calls fail with `WouldBlock` instead of waiting, during [`Stream::without_waiting`].
    never_waits: bool,
}

impl Stream {
    /// Makes the stream over a connected socket, without TLS. A write fails if the client makes no room for
    /// `write_timeout`.
    ///
    /// # Errors
    /// The system's error if an option of the socket cannot be set.
    pub fn new(socket: Arc<socket2::Socket>, wait: SocketWait, write_timeout: Duration) -> io::Result<Self> {
        match &wait {
            SocketWait::Block => socket.set_write_timeout(Some(write_timeout))?,
            SocketWait::Through(_) => socket.set_nonblocking(true)?,
        }
        let socket = Socket { inner: socket, wait, read_deadline: None, write_timeout, never_waits: false };
        Ok(Self { kind: Kind::Plain(socket) })
    }

    /// Switches to TLS, unless the stream already uses it. The handshake takes place in the next reads and writes.
    pub fn start_tls(&mut self, config: Arc<ServerConfig>) -> io::Result<()> {
        if let Kind::Plain(socket) = &self.kind {
            let connection = ServerConnection::new(config).map_err(io::Error::other)?;
            self.kind = Kind::Tls(Box::new(StreamOwned::new(connection, socket.clone())));
        }
        Ok(())
    }

    /// Whether the stream uses TLS.
    pub fn is_tls(&self) -> bool {
        matches!(self.kind, Kind::Tls(_))
    }

    /// Whether a read would return bytes that were read from the socket before: those of a TLS record that is larger
    /// than the reader's buffer.
    pub fn has_read_ahead(&mut self) -> bool {
        match &mut self.kind {
            Kind::Plain(_) => false,
            Kind::Tls(stream) => {
                let state = stream.conn.process_new_packets();
                // The next read returns the error.
                state.map_or(true, |state| state.plaintext_bytes_to_read() > 0)
            }
        }
    }

    fn socket(&mut self) -> &mut Socket {
        match &mut self.kind {
            Kind::Plain(socket) => socket,
            Kind::Tls(stream) => &mut stream.sock,
        }
    }

    /// Sets the time at which reads that wait fail with `TimedOut`. With `None` they wait without limit.
    pub fn set_deadline(&mut self, deadline: Option<Time>) -> io::Result<()> {
        let socket = self.socket();
        socket.read_deadline = deadline;
        match (deadline, &socket.wait) {
            (None, SocketWait::Block) => socket.inner.set_read_timeout(None),
            _ => Ok(()),
        }
    }

    /// Calls `work`, during which reads and writes fail with `WouldBlock` rather than wait. The stream's wait must be
    /// [`SocketWait::Through`].
    pub fn without_waiting<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.socket().never_waits = true;
        let outcome = work(self);
        self.socket().never_waits = false;
        outcome
    }

    /// Closes the connection so that the client can still receive the last answers. Shuts down the sending side, and
    /// then discards input until the client closes its side, for at most 200 ms and about 4 MiB. An immediate close
    /// with unread input would reset the connection and destroy these answers.
    pub fn close(mut self) {
        if let Kind::Tls(stream) = &mut self.kind {
            stream.conn.send_close_notify();
            // The client may be gone already.
            let _ = stream.flush();
        }
        let socket = self.socket();
        socket.read_deadline = Some(Time::now().after(DRAIN_TIMEOUT));
        if socket.inner.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let mut scrap = [0; 4096];
        let mut left = DRAIN_BYTES;
        while let Ok(count) = socket.read(&mut scrap)
            && count > 0
            && left > 0
        {
            left = left.saturating_sub(count);
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::Plain(socket) => socket.read(buffer),
            Kind::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::Plain(socket) => socket.write(bytes),
            Kind::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Plain(socket) => socket.flush(),
            Kind::Tls(stream) => stream.flush(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let (Some(deadline), SocketWait::Block) = (self.read_deadline, &self.wait) {
            let left = deadline.since(Time::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.inner.set_read_timeout(Some(left))?;
        }
        loop {
            match (&*self.inner).read(buffer) {
                Err(error) if self.may_wait(&error) => self.wait(PollFlags::IN, self.read_deadline)?,
                outcome => return outcome,
            }
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut deadline = None;
        loop {
            match send(&*self.inner, bytes, SendFlags::NOSIGNAL).map_err(io::Error::from) {
                Err(error) if self.may_wait(&error) => {
                    let deadline = *deadline.get_or_insert_with(|| Time::now().after(self.write_timeout));
                    self.wait(PollFlags::OUT, Some(deadline))?;
                }
                outcome => return outcome,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket {
    /// Whether a call that failed waits and tries again. A socket that blocks has waited already.
    fn may_wait(&self, error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::WouldBlock && !self.never_waits && !matches!(self.wait, SocketWait::Block)
    }

    /// Waits until something happens to the socket, one of `events` or other. Fails with `TimedOut` after the deadline.
    fn wait(&self, events: PollFlags, deadline: Option<Time>) -> io::Result<()> {
        if deadline.is_some_and(|deadline| deadline.since(Time::now()).is_zero()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if let SocketWait::Through(waiter) = &self.wait {
            waiter.wait_for_socket(&self.inner, events, deadline);
        }
        Ok(())
    }
}
