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
    /// The addresses to listen on. Addresses beyond loopback need [`passwords`](Self::passwords). Port 0 takes any free
    /// port.
    pub listen: Vec<SocketAddr>,
    /// The directory for a Unix socket, which the server offers beside the addresses. Its file is named by `.s.PGSQL.`
    /// and the first address's port.
    pub socket_dir: Option<PathBuf>,
    /// The address at which Prometheus reads the server's figures. Every client that reaches it is answered.
    pub metrics: Option<SocketAddr>,
    /// The most sessions at a time. A further client is refused with 53300.
    pub max_connections: usize,
    /// How many of the sessions only [`administrator`](Self::administrator) may have. If only these are left, other
    /// users are refused with 53300. `None` means three, as in PostgreSQL, but no more than a tenth.
    pub reserved_connections: Option<usize>,
    /// The user for whom connections are reserved.
    pub administrator: String,
    /// The most connections without a session at a time, beside the sessions. If one more comes, the oldest one that
    /// has sent nothing is cut off; if all have sent something, the newest one is refused with 53300.
    pub starting_connections: usize,
    /// The longest message that a client may send, in bytes.
    pub max_message_bytes: usize,
    /// How long a client may take from connecting to the start of its session.
    pub startup_timeout: Duration,
    /// How long a client may take from connecting to its first byte.
    pub silence_timeout: Duration,
    /// How long the server tries to send an answer to a client that takes nothing. Then the client counts as gone,
    /// because a statement that is sending rows holds locks, and keeps memory from being freed.
    pub write_timeout: Duration,
    /// How long a shutdown waits for clients to take their last messages before it cuts their connections.
    pub shutdown_grace: Duration,
    /// How long a session that waits for a lock spins before its thread blocks, under the models that block threads.
    pub wait_spin: Duration,
    /// How often a session that waits for a lock checks that its client is still connected, under the models that block
    /// threads. Under coroutines the system reports it at once. A client that has closed its connection, or its sending
    /// side, counts as gone, and its statement is cancelled.
    pub presence_interval: Duration,
    /// The execution model, which runs the clients' messages.
    pub execution: Execution,
    /// The threads that read from clients and write to them, under [`Execution::Coroutine`].
    pub io: Io,
    /// The number of workers, one at the least. [`Execution::Thread`] has no workers.
    pub threads: usize,
    /// The size of a coroutine's stack, in bytes; at least [`MIN_STACK_BYTES`](Self::MIN_STACK_BYTES). Only the used
    /// part takes memory.
    pub stack_bytes: usize,
    /// Certificate and key, if the server offers TLS.
    pub tls: Option<TlsFiles>,
    /// The users that may connect, with their passwords, by SCRAM-SHA-256. Without it every client may connect as any
    /// user.
    pub passwords: Option<Passwords>,
}

/// An execution model, which runs the clients' messages: see *Interactive Transaction Processing for In-Memory Database
/// System*, §3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// Each connection has a thread.
    Thread,
    /// A thread of a pool runs the messages that have come on a connection, and blocks if they have to wait.
    Request,
    /// A worker per core has many connections. It runs the messages that have come on one of them in a coroutine, and
    /// suspends the coroutine if it has to wait.
    #[default]
    Coroutine,
}

/// The threads that read from clients and write to them, if coroutines run the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// Each worker reads and writes for itself.
    #[default]
    Worker,
    /// I/O threads hand messages over to the workers and send the answers, as in the paper. A worker reads and writes
    /// by itself what does not fit into one answer of 64 KiB, and what belongs to logging in or to COPY.
    Handoff,
}

impl ServerConfig {
    /// Whether I/O threads read and write, and the workers that run messages have no sockets.
    pub fn hands_over(&self) -> bool {
        self.execution == Execution::Coroutine && self.io == Io::Handoff
    }

    /// Returns the number of sessions that only the administrator may have.
    pub(crate) fn reserved(&self) -> usize {
        self.reserved_connections.unwrap_or((self.max_connections / 10).min(3))
    }

    /// The size of the smallest stack on which each statement ends with an answer, even if that says that the statement
    /// is too complex.
    pub const MIN_STACK_BYTES: usize = 2 * RESERVED_STACK_BYTES;

    /// The default size of a coroutine's stack, in bytes. A statement that is too complex for it is too complex for
    /// larger stacks, too.
    pub const DEFAULT_STACK_BYTES: usize = 512 << 10;
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

/// The files of a server's certificate and key, in PEM format.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate with the chain behind it.
    pub certificate: PathBuf,
    /// The certificate's private key.
    pub key: PathBuf,
}
