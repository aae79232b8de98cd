//! What a server is told before it starts.

use crate::Passwords;
use hotrow_sql::RESERVED_STACK_BYTES;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Where and how a server listens, whom it lets in, and its limits.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Addresses to listen on. Others than loopback need [`passwords`](Self::passwords). Port 0 takes any free port.
    pub listen: Vec<SocketAddr>,
    /// A directory for a socket of the machine's own, beside the addresses; `.s.PGSQL.` and the first address's port name it.
    pub socket_dir: Option<PathBuf>,
    /// An address at which Prometheus is told what the server does. Whoever reaches it is answered.
    pub metrics: Option<SocketAddr>,
    /// Most sessions at a time; one more is told 53300.
    pub max_connections: usize,
    /// Of these, those that only [`administrator`](Self::administrator) may have; others are told 53300. `None` is three, as in PostgreSQL,
    /// but no more than a tenth.
    pub reserved_connections: Option<usize>,
    /// The user for whom connections are reserved.
    pub administrator: String,
    /// Most connections at a time without a session, beside those that have one. If one more comes, the oldest one that has said nothing
    /// is cut off; if all have, the newest one is told 53300.
    pub starting_connections: usize,
    /// Longest message that a client may send, in bytes.
    pub max_message_bytes: usize,
    /// How long a client may take from connecting to its session's start.
    pub startup_timeout: Duration,
    /// How long a client may take from connecting to its first word.
    pub silence_timeout: Duration,
    /// How long a client may leave what it is sent untaken before it counts as gone. A statement that is sending rows holds
    /// locks, and keeps memory from being freed.
    pub write_timeout: Duration,
    /// How long a shutdown waits for clients to take what was sent to them before their connections are cut.
    pub shutdown_grace: Duration,
    /// How long a session that waits for a lock looks for it before its thread is blocked, if it is.
    pub wait_spin: Duration,
    /// How often a session that waits for a lock looks whether its client is still there, if its thread is blocked; else it is
    /// told at once. A client that has closed its connection, or its sending side, is not; its statement is cancelled.
    pub presence_interval: Duration,
    /// What runs the clients' messages.
    pub execution: Execution,
    /// Who reads and writes, under [`Execution::Coroutine`].
    pub io: Io,
    /// How many workers there are, one at the least. Under [`Execution::Thread`] there are none.
    pub threads: usize,
    /// Bytes of a coroutine's stack, at least [`MIN_STACK_BYTES`](Self::MIN_STACK_BYTES). Memory is taken as it is used.
    pub stack_bytes: usize,
    /// Certificate and key, to offer TLS.
    pub tls: Option<TlsFiles>,
    /// Who may come in, by SCRAM-SHA-256. Without, everybody may, under any name.
    pub passwords: Option<Passwords>,
}

/// What runs the clients' messages: the execution models of *Interactive Transaction Processing for In-Memory Database System*, §3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// Each connection has a thread.
    Thread,
    /// The messages that have come on a connection are run by a thread of a pool, which blocks if they have to wait.
    Request,
    /// A worker per core has many connections. The messages that have come on one of them are run in a coroutine, which is suspended
    /// if it has to wait.
    #[default]
    Coroutine,
}

/// Who reads what clients send, and writes the answers, if coroutines run the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// The worker that runs them.
    #[default]
    Worker,
    /// Threads of their own, which hand messages over to the workers and take the answers back, as in the paper. What does not fit into
    /// one answer of 64 KiB, and what belongs to logging in or to COPY, a worker reads and writes itself.
    Handoff,
}

impl ServerConfig {
    /// Whether others read and write than those who run the messages, and know nothing of sockets.
    pub fn hands_over(&self) -> bool {
        self.execution == Execution::Coroutine && self.io == Io::Handoff
    }

    /// The number of reserved connections.
    pub(crate) fn reserved(&self) -> usize {
        self.reserved_connections.unwrap_or((self.max_connections / 10).min(3))
    }

    /// The smallest stack on which each statement ends with an answer, and be it that it is too complex.
    pub const MIN_STACK_BYTES: usize = 2 * RESERVED_STACK_BYTES;

    /// A stack on which no statement is too complex that is not so on any.
    pub const DEFAULT_STACK_BYTES: usize = 512 << 10;
}

impl Default for ServerConfig {
    /// 127.0.0.1:5442, without TLS and passwords.
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

/// Files in PEM format.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, and the chain behind it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}
