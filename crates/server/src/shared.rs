//! The state that all connections of one server share.

use crate::ServerConfig;
use crate::clients::{Clients, Limits};
use hotrow_sql::Database;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Scheduler, Waiter};
use std::io::Write;

/// The state that all connections of one server share: its configuration, database, clients and certificate.
///
/// **Thread safety.** Any thread may call any method.
pub struct Shared {
    /// The server's configuration.
    pub config: ServerConfig,
    /// The database on which the clients' sessions run.
    pub database: Arc<Database>,
    /// The connected clients.
    pub clients: Arc<Clients>,
    /// Certificate and key, if the server offers TLS.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// The function that makes each session's waiter, in tests. If it is `None`, a session waits through the scheduler
    /// of its connection.
    pub waiters: Option<Waiters>,
    /// How often a connection has moved to another worker.
    moves: AtomicU64,
}

/// A function that makes the waiter of a new session. The session waits for locks through this waiter. The argument is
/// the scheduler of the session's connection, through which the waiter suspends the session.
pub type Waiters = Box<dyn Fn(Arc<dyn Scheduler>) -> Waiter + Send + Sync>;

impl Shared {
    /// Makes the state of a server that has no clients yet.
    pub fn new(
        config: ServerConfig,
        database: Arc<Database>,
        tls: Option<Arc<rustls::ServerConfig>>,
        waiters: Option<Waiters>,
    ) -> Arc<Self> {
        let limits = Limits {
            sessions: config.max_connections,
            reserved: config.reserved(),
            starting: config.starting_connections,
        };
        let clients = Arc::new(Clients::new(limits));
        Arc::new(Self { config, database, clients, tls, waiters, moves: AtomicU64::new(0) })
    }

    /// Writes a line to standard error, for the administrator.
    pub fn log(&self, line: &str) {
        // If standard error is closed, there is nowhere else to report to.
        let _ = writeln!(std::io::stderr(), "hotrow: {line}");
    }

    /// Adds one to the number of connection moves, when a connection is moved from one worker to another.
    pub fn count_move(&self) {
        // Relaxed: a figure for people; nothing is read because of it.
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many times a connection was moved to another worker since the server was made.
    pub fn moves(&self) -> u64 {
        // Relaxed: as above.
        self.moves.load(Ordering::Relaxed)
    }
}
