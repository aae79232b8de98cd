//! The errors that keep a server from starting or from running on.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The error that keeps a server from starting or from running on.
#[derive(Debug)]
pub enum ServerError {
    /// The configuration names no address.
    NoAddress,
    /// The server cannot listen at the address: it is taken, belongs to another machine, or is not allowed.
    Listen(SocketAddr, io::Error),
    /// The Unix socket's file cannot be made: its directory is missing or forbidden, its path is too long, or another
    /// server listens at it.
    ListenFile(PathBuf, io::Error),
    /// Other machines can reach the address, and no passwords are configured.
    Unprotected(SocketAddr),
    /// Certificate and key cannot be used; the text says why.
    Tls(String),
    /// The password file cannot be read.
    PasswordFile(PathBuf, io::Error),
    /// A line of the password file is not of the form `user:password`.
    PasswordLine {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// The mistake in the line.
        reason: &'static str,
    },
    /// The system has refused a thread, memory for a stack, or random numbers.
    System(io::Error),
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerError::NoAddress => f.write_str("no address to listen on"),
            ServerError::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
            ServerError::ListenFile(path, error) => write!(f, "cannot listen on {}: {error}", path.display()),
            ServerError::Unprotected(address) => write!(
                f,
                "refusing to listen on {address} without passwords: name a password file, or listen on a loopback \
                 address such as 127.0.0.1"
            ),
            ServerError::Tls(reason) => write!(f, "cannot use TLS: {reason}"),
            ServerError::PasswordFile(path, error) => {
                write!(f, "cannot read the password file {}: {error}", path.display())
            }
            ServerError::PasswordLine { path, line, reason } => {
                write!(f, "{}, line {line}: {reason}; expected user:password", path.display())
            }
            ServerError::System(error) => write!(f, "the system refused: {error}"),
        }
    }
}

impl std::error::Error for ServerError {}
