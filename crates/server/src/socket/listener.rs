//! Listening sockets, to which clients connect: at a TCP address, or at a Unix socket, which is a file in a directory.
//!
//! As in PostgreSQL the file's name is `.s.PGSQL.` and the port, so a client that is given the directory in place of a
//! host finds it. A message through the Unix socket costs about half of the system's time that a message over TCP does.

use crate::ServerError;
use hotrow_sync::Arc;
use socket2::{Socket, TcpKeepalive};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::Duration;

/// How many clients may wait to be accepted. The system may have a smaller limit.
const BACKLOG: i32 = 4096;

/// The time of silence after which the system asks a TCP client's machine whether it still has the connection.
const SILENCE: Duration = Duration::from_secs(60);

/// The time after which a caller retries [`accept`](Listener::accept) if it has failed.
pub const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// A listening socket, which accepts clients at a TCP address or at a Unix socket. Dropping it removes the file of the
/// Unix socket.
pub struct Listener {
    socket: Arc<Socket>,
    endpoint: Endpoint,
    /// Device and number of the file that this listener has made. Another file in its place is left alone.
    made: Option<(u64, u64)>,
}

/// A handle with which any thread stops a [`Listener`].
#[derive(Clone, Debug)]
pub struct ListenerStopper {
    socket: Weak<Socket>,
    endpoint: Endpoint,
}

/// Where a listener listens.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Endpoint {
    Tcp(SocketAddr),
    /// The path of the socket's file.
    Unix(PathBuf),
}

impl Listener {
    /// Makes a listener at a TCP address. With port 0 the system chooses a free port.
    ///
    /// # Errors
    /// [`ServerError::Listen`] if the address is in use, not of this machine, or not allowed.
    pub fn at_address(address: SocketAddr) -> Result<Self, ServerError> {
        let bound = TcpListener::bind(address).and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|error| ServerError::Listen(address, error))?;
        Self::over(listener.into(), Endpoint::Tcp(address)).map_err(|error| ServerError::Listen(address, error))
    }

    /// Makes a listener at a Unix socket in a directory, whose file is named for the port as in PostgreSQL
    /// (`.s.PGSQL.5432`). If the file exists, but no server listens at it, it is replaced.
    ///
    /// # Errors
    /// [`ServerError::ListenFile`] if the file cannot be made, is not a socket, or has a server that listens at it.
    pub fn in_directory(directory: &Path, port: u16) -> Result<Self, ServerError> {
        let path = directory.join(format!(".s.PGSQL.{port}"));
        Self::at_file(&path).map_err(|error| ServerError::ListenFile(path, error))
    }

    fn at_file(path: &Path) -> io::Result<Self> {
        if let Ok(found) = fs::symlink_metadata(path) {
            if !found.file_type().is_socket() {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    "there is a file of this name that is no socket",
                ));
            }
            match UnixStream::connect(path) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path)?,
                Err(error) => return Err(error),
                Ok(_) => return Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens there")),
            }
        }
        let listener = UnixListener::bind(path)?;
        let made = fs::metadata(path)?;
        let mut listener = Self::over(OwnedFd::from(listener).into(), Endpoint::Unix(path.to_owned()))?;
        listener.made = Some((made.dev(), made.ino()));
        // Every user of the machine may connect. Passwords keep users out, as they do at an address.
        fs::set_permissions(path, fs::Permissions::from_mode(0o777))?;
        Ok(listener)
    }

    fn over(socket: Socket, endpoint: Endpoint) -> io::Result<Self> {
        // The standard library has called `listen` with a shorter queue. A second call sets its length.
        socket.listen(BACKLOG)?;
        Ok(Self { socket: Arc::new(socket), endpoint, made: None })
    }

    /// Returns the TCP address, with the port that the system chose for port 0. Returns `None` for a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match self.endpoint {
            Endpoint::Tcp(address) => Some(address),
            Endpoint::Unix(_) => None,
        }
    }

    /// Returns a handle that makes [`accept`](Self::accept) return, from another thread.
    pub fn stopper(&self) -> ListenerStopper {
        ListenerStopper { socket: Arc::downgrade(&self.socket), endpoint: self.endpoint.clone() }
    }

    /// Blocks until a client connects, and returns its socket.
    ///
    /// # Errors
    /// The system's error, such as too many open files. After [`ListenerStopper::stop`] a call fails, or returns a last
    /// connection, which the stopper itself has made.
    pub fn accept(&self) -> io::Result<Socket> {
        let (socket, _) = self.socket.accept()?;
        if let Endpoint::Tcp(_) = self.endpoint {
            // An answer is sent whole, so the system need not wait for more bytes. An option that cannot be set means
            // that the client has left, which the first read finds. A client whose machine has vanished sends nothing;
            // the system finds it by asking after a silence.
            let _ = socket.set_tcp_nodelay(true);
            let _ = socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(SILENCE));
        }
        Ok(socket)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let (Endpoint::Unix(path), Some(made)) = (&self.endpoint, self.made)
            && fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == made)
        {
            // A file that is left behind is replaced by the next server.
            let _ = fs::remove_file(path);
        }
    }
}

impl ListenerStopper {
    /// Makes a thread that blocks in [`Listener::accept`] return, and lets no further client connect. Does nothing if
    /// the listener was dropped.
    pub fn stop(&self) {
        if let Some(socket) = self.socket.upgrade() {
            // Where a shutdown does not end the wait, a last client does, if there is a descriptor for it.
            let _ = socket.shutdown(Shutdown::Both);
            self.endpoint.connect_once();
        }
    }
}

impl Endpoint {
    /// Connects as a client and leaves, which ends a wait in [`Listener::accept`]. If nothing listens there is no wait
    /// to end.
    fn connect_once(&self) {
        match self {
            Endpoint::Tcp(address) => {
                let ip = match address.ip() {
                    IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
                    IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
                    ip => ip,
                };
                let _ = TcpStream::connect(SocketAddr::new(ip, address.port()));
            }
            Endpoint::Unix(path) => {
                let _ = UnixStream::connect(path);
            }
        }
    }
}
