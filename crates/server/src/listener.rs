//! Where clients come: an address, or a file in a directory.
//!
//! As in PostgreSQL the file's name is `.s.PGSQL.` and the port, so a client finds it that is told the directory in place of a host.
//! Clients of this machine pay about half as much of the system's time for it as for TCP.

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

/// Clients that may wait to be accepted; the system may have a smaller limit.
const BACKLOG: i32 = 4096;

/// A client that has been silent for so long is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(60);

/// Takes clients. A file is removed when this is dropped.
pub struct Listener {
    socket: Arc<Socket>,
    at: Place,
    /// Which file we have made, by device and number, so that another one in its place is left alone.
    made: Option<(u64, u64)>,
}

/// Ends a listener's wait.
#[derive(Clone, Debug)]
pub struct Bell {
    socket: Weak<Socket>,
    at: Place,
}

/// Where a listener listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At an address.
    Address(SocketAddr),
    /// At a file.
    File(PathBuf),
}

impl Listener {
    /// Listens at an address; its port 0 is any that is free.
    pub fn at_address(address: SocketAddr) -> Result<Self, ServerError> {
        let bound = TcpListener::bind(address).and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|error| ServerError::Listen(address, error))?;
        Self::over(listener.into(), Place::Address(address)).map_err(|error| ServerError::Listen(address, error))
    }

    /// Listens at the file of this port in a directory. One that a server has left behind is replaced.
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
        let mut listener = Self::over(OwnedFd::from(listener).into(), Place::File(path.to_owned()))?;
        listener.made = Some((made.dev(), made.ino()));
        // Whoever may not come in is told so by a password, as at an address.
        fs::set_permissions(path, fs::Permissions::from_mode(0o777))?;
        Ok(listener)
    }

    fn over(socket: Socket, at: Place) -> io::Result<Self> {
        // Once more, for the length.
        socket.listen(BACKLOG)?;
        Ok(Self { socket: Arc::new(socket), at, made: None })
    }

    /// Where it listens; the port is the one that was free.
    pub fn at(&self) -> &Place {
        &self.at
    }

    /// The way to have [`accept`](Self::accept) return, for others.
    pub fn bell(&self) -> Bell {
        Bell { socket: Arc::downgrade(&self.socket), at: self.at.clone() }
    }

    /// Waits for the next client.
    pub fn accept(&self) -> io::Result<Socket> {
        let (socket, _) = self.socket.accept()?;
        if let Place::Address(_) = self.at {
            // An answer is sent whole, so it need not wait for more. A client that has left is found out later; one whose machine has
            // gone without a word, by asking it when it has been silent.
            let _ = socket.set_tcp_nodelay(true);
            let _ = socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(SILENCE));
        }
        Ok(socket)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let (Place::File(path), Some(made)) = (&self.at, self.made)
            && fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == made)
        {
            // Left behind, it is replaced by the next server.
            let _ = fs::remove_file(path);
        }
    }
}

impl Bell {
    /// Lets who accepts clients look up, and no client come any more.
    pub fn ring(&self) {
        if let Some(socket) = self.socket.upgrade() {
            // Where that does not end the wait, a last client does, if there is a descriptor for it.
            let _ = socket.shutdown(Shutdown::Both);
            self.at.knock();
        }
    }
}

impl Place {
    /// Its address, if it is one.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Place::Address(address) => Some(*address),
            Place::File(_) => None,
        }
    }

    /// Comes as a client and leaves, so that who accepts there looks up. If nobody accepts, nobody has to.
    fn knock(&self) {
        match self {
            Place::Address(address) => {
                let ip = match address.ip() {
                    IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
                    IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
                    ip => ip,
                };
                let _ = TcpStream::connect(SocketAddr::new(ip, address.port()));
            }
            Place::File(path) => {
                let _ = UnixStream::connect(path);
            }
        }
    }
}
