//! The server: listens, and hands each client to whoever runs its messages.

use crate::execution::{Executor, turn_away};
use crate::listener::{Bell, Listener};
use crate::metrics::Metrics;
use crate::sessions::{Limits, Sessions};
use crate::{ServerConfig, ServerError, tls};
use hotrow_sql::Database;
use hotrow_sync::{Arc, Scheduler, Waiter, thread};
use socket2::Socket;
use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// After a connection could not be accepted, the next one is looked for after this time.
pub const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// And as often it is told, not more.
const TELL_AGAIN: Duration = Duration::from_secs(10);

/// A server that listens and, once it [`run`](Self::run)s, serves.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Listener>,
    metrics: Option<Metrics>,
}

/// What all connections share.
pub struct Shared {
    /// The limits.
    pub config: ServerConfig,
    /// Where sessions come from.
    pub database: Arc<Database>,
    /// Who is connected.
    pub sessions: Arc<Sessions>,
    /// Certificate and key, if TLS is offered.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Without, a session waits as its execution model has it.
    pub waiters: Option<Waiters>,
}

/// Makes a session's waiter out of its execution model's scheduler: what waiting for a lock means to it.
pub type Waiters = Box<dyn Fn(Arc<dyn Scheduler>) -> Waiter + Send + Sync>;

/// Ends a running server, from any thread. Cheap to clone.
#[derive(Clone)]
pub struct ServerHandle {
    shared: Arc<Shared>,
    bells: Vec<Bell>,
}

impl Server {
    /// Listens on the configured addresses. Clients that come wait until [`run`](Self::run).
    pub fn bind(config: ServerConfig, database: Arc<Database>) -> Result<Self, ServerError> {
        Self::listen(config, database, None)
    }

    /// [`bind`](Self::bind) with sessions that wait in another way: each takes its waiter from `waiters` when it begins. So a test
    /// can tell who waits, and keep the clock. The waiter has to suspend through the scheduler that it is made of.
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
        let tls = config.tls.as_ref().map(tls::load).transpose()?;
        let mut listeners =
            config.listen.iter().map(|&address| Listener::at_address(address)).collect::<Result<Vec<_>, _>>()?;
        if let Some(directory) = &config.socket_dir
            && let Some(address) = listeners.iter().find_map(|listener| listener.at().address())
        {
            listeners.push(Listener::in_directory(directory, address.port())?);
        }
        let metrics = config.metrics.map(Metrics::bind).transpose()?;
        database.set_max_connections(u32::try_from(config.max_connections).unwrap_or(u32::MAX));
        let sessions = Arc::new(Sessions::new(Limits {
            sessions: config.max_connections,
            reserved: config.reserved(),
            starting: config.starting_connections,
        }));
        Ok(Self { shared: Arc::new(Shared { config, database, sessions, tls, waiters }), listeners, metrics })
    }

    /// The addresses listened on, in the order of the configuration, with the ports that were free.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.at().address()).collect()
    }

    /// The address of the metrics, with the port that was free.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(Metrics::address)
    }

    /// What ends the server.
    pub fn handle(&self) -> ServerHandle {
        let bells = self.listeners.iter().map(Listener::bell).chain(self.metrics.iter().map(Metrics::bell));
        ServerHandle { shared: self.shared.clone(), bells: bells.collect() }
    }

    /// Serves until [`ServerHandle::shutdown`], and until every session has ended after it.
    pub fn run(self) -> Result<(), ServerError> {
        let executor = Executor::new(&self.shared)?;
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
        self.shared.sessions.drain(self.shared.config.shutdown_grace);
        executor.end();
        accepted
    }
}

impl ServerHandle {
    /// Stops listening, cancels what sessions wait for, tells clients good-bye (57P01), and lets [`Server::run`] return.
    /// More than one call does no harm.
    pub fn shutdown(&self) {
        self.shared.sessions.close();
        self.bells.iter().for_each(Bell::ring);
    }
}

fn accept(listener: &Listener, shared: &Shared, executor: &Executor) {
    let mut told: Option<Instant> = None;
    loop {
        let accepted = listener.accept();
        if shared.sessions.is_closing() {
            return;
        }
        match accepted {
            Ok(socket) => welcome(socket, shared, executor),
            Err(error) => {
                if told.is_none_or(|told| told.elapsed() >= TELL_AGAIN) {
                    told = Some(Instant::now());
                    shared.log(&format!("cannot accept a connection: {error}; clients wait until others leave"));
                }
                // Out of descriptors: those who leave give some back.
                thread::sleep(ACCEPT_AGAIN);
            }
        }
    }
}

fn welcome(socket: Socket, shared: &Shared, executor: &Executor) {
    let socket = Arc::new(socket);
    let served = match shared.sessions.enter(socket.clone()) {
        Ok(Some(guest)) => executor.serve(guest),
        Ok(None) => return turn_away(&socket),
        Err(error) => Err(error),
    };
    if let Err(error) = served {
        shared.log(&format!("cannot serve a connection: {error}"));
    }
}

impl Shared {
    /// A line for whoever runs the server.
    pub fn log(&self, line: &str) {
        // Nobody listens: nothing can be done about it.
        let _ = writeln!(std::io::stderr(), "hotrow: {line}");
    }
}
