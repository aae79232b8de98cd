//! A client's socket, with or without TLS.

use crate::execution::{Pool, Task};
use hotrow_sync::{Arc, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendFlags, send};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

/// What a refused client may still send before its connection is cut: a close with unread data would destroy the answer.
const DRAIN_BYTES: usize = 4 << 20;
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// What a read does that finds nothing, and a write that finds no room.
#[derive(Clone)]
pub enum Patience {
    /// It blocks the thread: the socket blocks.
    Block,
    /// It blocks the thread, one of a pool: the socket does not block.
    Poll(Arc<Pool>),
    /// It suspends the connection's coroutine: the socket does not block.
    Suspend(Arc<Task>),
}

/// A client's socket. Reads and writes wait for the client.
pub struct Stream {
    kind: Kind,
}

enum Kind {
    Plain(Socket),
    Tls(Box<StreamOwned<ServerConnection, Socket>>),
}

/// A socket that others may shut down.
#[derive(Clone)]
struct Socket {
    inner: Arc<socket2::Socket>,
    patience: Patience,
    /// Until when reads wait.
    read_deadline: Option<Time>,
    write_timeout: Duration,
    /// For a moment, nothing waits.
    hurries: bool,
}

impl Stream {
    /// Takes over a connected socket. A write that finds no room for so long fails.
    pub fn new(socket: Arc<socket2::Socket>, patience: Patience, write_timeout: Duration) -> io::Result<Self> {
        match &patience {
            Patience::Block => socket.set_write_timeout(Some(write_timeout))?,
            Patience::Poll(_) | Patience::Suspend(_) => socket.set_nonblocking(true)?,
        }
        let socket = Socket { inner: socket, patience, read_deadline: None, write_timeout, hurries: false };
        Ok(Self { kind: Kind::Plain(socket) })
    }

    /// Goes on with TLS; the handshake happens at the first read.
    pub fn start_tls(&mut self, config: Arc<ServerConfig>) -> io::Result<()> {
        if let Kind::Plain(socket) = &self.kind {
            let connection = ServerConnection::new(config).map_err(io::Error::other)?;
            self.kind = Kind::Tls(Box::new(StreamOwned::new(connection, socket.clone())));
        }
        Ok(())
    }

    /// Whether the stream is encrypted.
    pub fn is_tls(&self) -> bool {
        matches!(self.kind, Kind::Tls(_))
    }

    fn socket(&mut self) -> &mut Socket {
        match &mut self.kind {
            Kind::Plain(socket) => socket,
            Kind::Tls(stream) => &mut stream.sock,
        }
    }

    /// Lets reads fail after a point in time, or wait for ever.
    pub fn set_deadline(&mut self, deadline: Option<Time>) -> io::Result<()> {
        let socket = self.socket();
        socket.read_deadline = deadline;
        match (deadline, &socket.patience) {
            (None, Patience::Block) => socket.inner.set_read_timeout(None),
            _ => Ok(()),
        }
    }

    /// Calls `read`, which reads what is there and does not wait: if there is nothing it fails with `WouldBlock`. The patience is
    /// not to block.
    pub fn hurry<R>(&mut self, read: impl FnOnce(&mut Self) -> R) -> R {
        self.socket().hurries = true;
        let outcome = read(self);
        self.socket().hurries = false;
        outcome
    }

    /// Closes in order: what was written reaches the client.
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
        if let (Some(deadline), Patience::Block) = (self.read_deadline, &self.patience) {
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
    /// Whether a call that failed is to be tried again later. A socket that blocks has waited.
    fn may_wait(&self, error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::WouldBlock && !self.hurries && !matches!(self.patience, Patience::Block)
    }

    /// Waits until something happens to the socket, one of `flags` or other.
    fn wait(&self, flags: PollFlags, deadline: Option<Time>) -> io::Result<()> {
        let left = deadline.map(|deadline| deadline.since(Time::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match &self.patience {
            Patience::Block => {}
            Patience::Suspend(task) => task.wait_for_socket(deadline),
            Patience::Poll(pool) => pool.block(|| {
                let mut sockets = [PollFd::new(&*self.inner, flags)];
                // A limit beyond what the system can count is none. An error shows at the next try.
                let limit = left.and_then(|left| Timespec::try_from(left).ok());
                let _ = poll(&mut sockets, limit.as_ref());
            }),
        }
        Ok(())
    }
}
