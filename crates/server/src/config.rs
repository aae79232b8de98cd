//! The configuration of a server.

use crate::Passwords;
use hotrow_sql::RESERVED_STACK_BYTES;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Where and how a server listens, which clients it serves, and its limits.
// More than 15 fields: all have one owner, the program, which writes them once from its options. They are flat so that
// each can be set over the defaults, by its option's name.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The TCP addresses to listen on. An address that is not a loopback address is refused unless there are
    /// [`passwords`](Self::passwords). With port 0 the system chooses a free port.
    pub listen: Vec<SocketAddr>,
    /// The directory in which the server listens at a Unix socket, in addition to the addresses. The name of the
    /// socket's file is `.s.PGSQL.` and the port of the first address.
    pub socket_dir: Option<PathBuf>,
    /// The address at which the server answers `GET /metrics` for Prometheus, without a password.
    pub metrics: Option<SocketAddr>,
    /// The greatest number of sessions at a time. A further client is refused with error 53300.
    pub max_connections: usize,
    /// The number of sessions, out of `max_connections`, that are reserved for the
    /// [`administrator`](Self::administrator). If no more than these are free, other users are refused with error
    /// 53300. `None` means three, as in PostgreSQL, but at most a tenth of `max_connections`.
    pub reserved_connections: Option<usize>,
    /// The name of the user for whom sessions are reserved.
    pub administrator: String,
    /// The greatest number of connections at a time that have no session yet; connections with a session do not count.
    /// If a further client connects, the server closes the oldest of these connections from which nothing has come. If
    /// all of them have sent something, the new client is refused with error 53300.
    pub starting_connections: usize,
    /// The greatest length of a client's message, in bytes. A longer one ends the connection.
    pub max_message_bytes: usize,
    /// The longest time from the connection of a client to the start of its session, log-in included.
    pub startup_timeout: Duration,
    /// The longest time from the connection of a client to its first byte.
    pub silence_timeout: Duration,
    /// The time after which the server gives up a write for which the client makes no room. It then ends the
    /// connection, because a statement that is sending rows holds locks, and keeps memory from being freed.
    pub write_timeout: Duration,
    /// The time for which a shutdown waits for clients to receive their last messages. Then it closes the connections
    /// that are left.
    pub shutdown_grace: Duration,
    /// The longest time that a session spins for a lock before its thread blocks. [`Execution::Coroutine`] ignores it.
    pub wait_spin: Duration,
    /// The interval at which a session that waits for a lock checks that its client is still connected. If the client
    /// has closed the connection, or its sending side, the statement is cancelled. [`Execution::Coroutine`] ignores the
    /// interval, because there the system reports at once that the client has left.
    pub presence_interval: Duration,
    /// The execution model, which decides which thread runs a client's messages.
    pub execution: Execution,
    /// The choice of the threads that read from clients and write to them, under [`Execution::Coroutine`].
    pub io: Io,
    /// The number of threads that run messages at a time; zero counts as one. Threads that only read and write come in
    /// addition. Under [`Execution::Request`], a thread that blocks does not count. [`Execution::Thread`] ignores the
    /// number.
    pub threads: usize,
    /// The size of a coroutine's stack, in bytes. It should be at least [`MIN_STACK_BYTES`](Self::MIN_STACK_BYTES).
    /// Only the part that is used takes memory.
    pub stack_bytes: usize,
    /// The certificate and its key, or `None` if the server does not offer TLS.
    pub tls: Option<TlsFiles>,
    /// The users that may connect. They prove their passwords by SCRAM-SHA-256. If it is `None`, every client may
    /// connect as any user.
    pub passwords: Option<Passwords>,
}

/// An execution model: which thread runs a client's messages, and what happens to the thread if a message has to wait
/// for a lock or for the client. Source: *Interactive Transaction Processing for In-Memory Database System*, §3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// Each connection has a thread, which blocks when it has to wait.
    Thread,
    /// A thread of a pool runs the messages that have come on a connection. If it blocks, another thread of the pool
    /// runs meanwhile.
    Request,
    /// Each of a few workers serves many connections. It runs the messages that have come on one of them in a
    /// coroutine. If the coroutine has to wait, the worker suspends it and serves another connection.
    #[default]
    Coroutine,
}

/// The choice of the threads that read from clients and write to them, if coroutines run the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// The worker that runs a connection's messages also reads and writes its socket.
    #[default]
    Worker,
    /// I/O threads read messages, hand them over to the workers, and send the answers, as in the paper. A worker reads
    /// and writes a socket only during log-in and COPY, and if an answer exceeds 64 KiB.
    Handoff,
}

impl ServerConfig {
    /// Whether I/O threads read and write for the workers that run messages: [`Io::Handoff`] under
    /// [`Execution::Coroutine`].
    pub fn hands_over(&self) -> bool {
        self.execution == Execution::Coroutine && self.io == Io::Handoff
    }

    /// Returns the number of sessions that are reserved for the administrator, with the default resolved.
    pub(crate) fn reserved(&self) -> usize {
        self.reserved_connections.unwrap_or((self.max_connections / 10).min(3))
    }

    /// The smallest size of a coroutine's stack, in bytes. On this size, a statement that needs more stack ends with an
    /// error rather than with the process.
    pub const MIN_STACK_BYTES: usize = 2 * RESERVED_STACK_BYTES;

    /// The default size of a coroutine's stack, in bytes.
    pub const DEFAULT_STACK_BYTES: usize = 2 << 20;
}

impl Default for ServerConfig {
    /// The server listens on 127.0.0.1:5442, without TLS and passwords.
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 5442))],
            socket_dir: None,
            metrics: None,
            max_connections: 1000,
            reserved_connections: None,
            administrator: "postgres".to_owned(),
            starting_connections: 256,
            max_message_bytes: 256 << 20,
            startup_timeout: Duration::from_secs(60),
            silence_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(60),
            shutdown_grace: Duration::from_secs(5),
            wait_spin: Duration::ZERO,
            presence_interval: Duration::from_millis(250),
            execution: Execution::default(),
            io: Io::default(),
            threads: hotrow_sync::cores(),
            stack_bytes: Self::DEFAULT_STACK_BYTES,
            tls: None,
            passwords: None,
        }
    }
}

/// The paths of the files with a server's TLS certificate and key, in PEM format.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The file with the certificate and the chain of certificates that sign it.
    pub certificate: PathBuf,
    /// The file with the certificate's private key.
    pub key: PathBuf,
}
