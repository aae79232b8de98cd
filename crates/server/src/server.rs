//! The server: listens, accepts clients and gives each to the execution model.

use crate::conversation::turn_away;
use crate::execution::Executor;
use crate::metrics::Metrics;
use crate::shared::{Shared, Waiters};
use crate::socket::{ACCEPT_RETRY, Listener, ListenerStopper, load_tls};
use crate::{ServerConfig, ServerError};
use hotrow_sql::Database;
use hotrow_sync::{Arc, thread};
use socket2::Socket;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The shortest time between two lines in the log about connections that cannot be accepted.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// A server for PostgreSQL clients. It listens from [`bind`](Self::bind) on, and serves clients during
/// [`run`](Self::run).
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Listener>,
    metrics: Option<Metrics>,
}

/// A handle that ends a server, from any thread. A clone is cheap.
#[derive(Clone)]
pub struct ServerHandle {
    shared: Arc<Shared>,
    stoppers: Vec<ListenerStopper>,
}

impl Server {
    /// Makes a server that listens on the configured addresses. Clients can connect, but get no answer until
    /// [`run`](Self::run) is called.
    ///
    /// # Errors
    /// If the configuration is invalid, if an address or a file cannot be used, or if a thread or memory is refused:
    /// see [`ServerError`].
    pub fn bind(config: ServerConfig, database: Arc<Database>) -> Result<Self, ServerError> {
        Self::listen(config, database, None)
    }

    /// Makes a server as [`bind`](Self::bind) does, for a test that controls how sessions wait. When a session begins,
    /// the server calls `waiters` to make the session's waiter, through which the session waits for locks. So the test
    /// can see which sessions wait, and can set the clock that limits the waits. The argument is the scheduler of the
    /// session's connection. The waiter must suspend the session through this scheduler: if it blocked the thread, all
    /// other sessions of the thread would stop, too.
    ///
    /// # Errors
    /// The same errors as those of [`bind`](Self::bind).
    pub fn bind_with(config: ServerConfig, database: Arc<Database>, waiters: Waiters) -> Result<Self, ServerError> {
        Self::listen(config, database, Some(waiters))
    }

    fn listen(config: ServerConfig, database: Arc<Database>, waiters: Option<Waiters>) -> Result<Self, ServerError> {
        if config.listen.is_empty() {
            return Err(ServerError::NoAddress);
        }
        let open = config.listen.iter().find(|address| !address.ip().is_loopback());
        if let (Some(&address), None) = (open, &config.passwords) {
            return Err(ServerError::Unprotected(address));
        }
        let tls = config.tls.as_ref().map(load_tls).transpose()?;
        let mut listeners =
            config.listen.iter().map(|&address| Listener::at_address(address)).collect::<Result<Vec<_>, _>>()?;
        if let Some(directory) = &config.socket_dir
            && let Some(address) = listeners.iter().find_map(|listener| listener.address())
        {
            listeners.push(Listener::in_directory(directory, address.port())?);
        }
        let metrics = config.metrics.map(Metrics::bind).transpose()?;
        database.set_max_connections(u32::try_from(config.max_connections).unwrap_or(u32::MAX));
        Ok(Self { shared: Shared::new(config, database, tls, waiters), listeners, metrics })
    }

    /// Returns the TCP addresses on which the server listens, in the order of the configuration. If the configuration
    /// asks for port 0, the address has the port that the system chose.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.address()).collect()
    }

    /// Returns the address at which the server answers requests for metrics, with the port that the system chose for
    /// port 0. Returns `None` if the configuration has no such address.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(Metrics::address)
    }

    /// Returns a handle with which any thread can shut the server down.
    pub fn handle(&self) -> ServerHandle {
        let stoppers = self.listeners.iter().map(Listener::stopper).chain(self.metrics.iter().map(Metrics::stopper));
        ServerHandle { shared: self.shared.clone(), stoppers: stoppers.collect() }
    }

    /// Serves until [`ServerHandle::shutdown`] is called and every session has ended after that.
    ///
    /// # Errors
    /// [`ServerError::System`] if a thread cannot be started, or if a thread that accepts clients has panicked.
    pub fn run(self) -> Result<(), ServerError> {
        let executor = Executor::start(&self.shared)?;
        let accepted = thread::scope(|scope| {
            let mut accepting = Vec::new();
            for listener in &self.listeners {
                let accept = || accept(listener, &self.shared, &executor);
                let thread = thread::Builder::new().name("accept".to_owned()).spawn_scoped(scope, accept);
                accepting.push(thread.map_err(ServerError::System)?);
            }
            if let Some(metrics) = &self.metrics {
                let answer = || metrics.answer(&self.shared);
                let thread = thread::Builder::new().name("metrics".to_owned()).spawn_scoped(scope, answer);
                accepting.push(thread.map_err(ServerError::System)?);
            }
            let panicked = |_| ServerError::System(std::io::Error::other("a thread that accepts panicked"));
            accepting.into_iter().try_for_each(|thread| thread.join().map_err(panicked))
        });
        drop((self.listeners, self.metrics));
        self.shared.clients.drain(self.shared.config.shutdown_grace);
        executor.end();
        accepted
    }
}

impl ServerHandle {
    /// Shuts the server down: stops listening, cancels the statements that run, ends every session with error 57P01,
    /// and lets [`Server::run`] return. Does not wait for any of this. Further calls have no effect.
    pub fn shutdown(&self) {
        self.shared.clients.close();
        self.stoppers.iter().for_each(ListenerStopper::stop);
    }
}

/// Accepts clients until the server is closing: the work of a listener's thread.
fn accept(listener: &Listener, shared: &Shared, executor: &Executor) {
    let mut logged: Option<Instant> = None;
    loop {
        let accepted = listener.accept();
        if shared.clients.is_closing() {
            return;
        }
        match accepted {
            Ok(socket) => welcome(socket, shared, executor),
            Err(error) => {
                if logged.is_none_or(|logged| logged.elapsed() >= LOG_INTERVAL) {
                    logged = Some(Instant::now());
                    shared.log(&format!("cannot accept a connection: {error}; clients wait until others leave"));
                }
                // The process is out of descriptors. Clients that leave give some back.
                thread::sleep(ACCEPT_RETRY);
            }
        }
    }
}

/// Registers a client and gives it to the execution model, or turns it away.
fn welcome(socket: Socket, shared: &Shared, executor: &Executor) {
    let socket = Arc::new(socket);
    let served = match shared.clients.register(socket.clone()) {
        Ok(Some(slot)) => executor.serve(slot),
        Ok(None) => return turn_away(&socket),
        Err(error) => Err(error),
    };
    if let Err(error) = served {
        shared.log(&format!("cannot serve a connection: {error}"));
    }
}
