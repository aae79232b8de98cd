//! The state that all connections of one server share.

use crate::ServerConfig;
use crate::clients::{Clients, Limits};
use hotrow_sql::Database;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Scheduler, Waiter};
use std::io::Write;

/// The state that all connections of one server share: its configuration, database, clients and certificate.
///
/// **Thread safety.** Any thread may call anything.
pub struct Shared {
    /// The server's configuration.
    pub config: ServerConfig,
    /// The database that makes the sessions.
    pub database: Arc<Database>,
    /// The connected clients.
    pub clients: Arc<Clients>,
    /// Certificate and key, if the server offers TLS.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Makes the sessions' waiters. Without it a session waits as its execution model decides.
    pub waiters: Option<Waiters>,
    /// How often a connection has moved to another worker.
    moves: AtomicU64,
}

/// Makes a session's waiter from the scheduler of its execution model. The waiter decides what waiting for a lock means
/// to the session.
pub type Waiters = Box<dyn Fn(Arc<dyn Scheduler>) -> Waiter + Send + Sync>;

impl Shared {
    /// Makes the shared part of a server without clients.
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

    /// Counts a connection that moves to another worker.
    pub fn count_move(&self) {
        // Relaxed: a figure for people; nothing is read because of it.
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// How often connections have moved to other workers.
    pub fn moves(&self) -> u64 {
        // Relaxed: as above.
        self.moves.load(Ordering::Relaxed)
    }
}
