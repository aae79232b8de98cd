//! A client's socket, with or without TLS.

use hotrow_sync::Arc;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// What a refused client may still send before its connection is cut: a close with unread data would destroy the answer.
const DRAIN_BYTES: usize = 4 << 20;
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// A client's socket. Reads and writes block.
pub struct Stream {
    kind: Kind,
    deadline: Option<Instant>,
}

enum Kind {
    Plain(Socket),
    Tls(Box<StreamOwned<ServerConnection, Socket>>),
}

/// A socket that others may shut down.
struct Socket(Arc<TcpStream>);

impl Stream {
    /// Takes over a connected socket.
    pub fn new(socket: Arc<TcpStream>) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        Ok(Self { kind: Kind::Plain(Socket(socket)), deadline: None })
    }

    /// Goes on with TLS; the handshake happens at the first read.
    pub fn start_tls(&mut self, config: Arc<ServerConfig>) -> io::Result<()> {
        if let Kind::Plain(socket) = &self.kind {
            let connection = ServerConnection::new(config).map_err(io::Error::other)?;
            self.kind = Kind::Tls(Box::new(StreamOwned::new(connection, Socket(socket.0.clone()))));
        }
        Ok(())
    }

    /// Whether the stream is encrypted.
    pub fn is_tls(&self) -> bool {
        matches!(self.kind, Kind::Tls(_))
    }

    /// The socket below.
    pub fn socket(&self) -> &TcpStream {
        match &self.kind {
            Kind::Plain(socket) => &socket.0,
            Kind::Tls(stream) => &stream.sock.0,
        }
    }

    /// Lets reads fail after a point in time, or wait for ever.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        self.deadline = deadline;
        match deadline {
            None => self.socket().set_read_timeout(None),
            Some(_) => Ok(()),
        }
    }

    /// Closes in order: what was written reaches the client.
    pub fn close(mut self) {
        if let Kind::Tls(stream) = &mut self.kind {
            stream.conn.send_close_notify();
            // The client may be gone already.
            let _ = stream.flush();
        }
        let mut socket = self.socket();
        if socket.shutdown(Shutdown::Write).is_err() || socket.set_read_timeout(Some(DRAIN_TIMEOUT)).is_err() {
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
        if let Some(deadline) = self.deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.socket().set_read_timeout(Some(left))?;
        }
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
        (&*self.0).read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush()
    }
}
