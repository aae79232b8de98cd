//! The errors with which a server fails to start or to continue.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The error with which a server fails to start or to continue.
#[derive(Debug)]
pub enum ServerError {
    /// The configuration has no address to listen on.
    NoAddress,
    /// The server cannot listen at the address: it is in use, belongs to another machine, or is not allowed.
    Listen(SocketAddr, io::Error),
    /// The file of the Unix socket cannot be made: its directory is missing or not writable, its path is too long,
    /// another file has its name, or another server listens at it.
    ListenFile(PathBuf, io::Error),
    /// The address is not a loopback address, so other machines may reach it, and no passwords are configured.
    Unprotected(SocketAddr),
    /// The certificate or the key cannot be used. The text says why.
    Tls(String),
    /// The password file cannot be read.
    PasswordFile(PathBuf, io::Error),
    /// A line of the password file is not of the form `user:password`.
    PasswordLine {
        /// The path of the password file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// The mistake in the line.
        reason: &'static str,
    },
    /// The system has refused a thread, memory for a stack, a descriptor or random numbers, or a thread that accepts
    /// clients has panicked.
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
