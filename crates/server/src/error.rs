//! Why a server does not start.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server does not start.
#[derive(Debug)]
pub enum ServerError {
    /// The configuration names no address.
    NoAddress,
    /// The address cannot be listened on: taken, not ours, or not allowed.
    Listen(SocketAddr, io::Error),
    /// The socket's file cannot be made: its directory is missing or not ours, its path is too long, or another server has it.
    ListenFile(PathBuf, io::Error),
    /// The address can be reached from other hosts, and no passwords are configured.
    Unprotected(SocketAddr),
    /// Certificate and key are of no use; the text says why.
    Tls(String),
    /// The password file cannot be read.
    PasswordFile(PathBuf, io::Error),
    /// A line of the password file is not of the form `user:password`.
    PasswordLine {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A thread could not be started, or the system gave no random numbers.
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
