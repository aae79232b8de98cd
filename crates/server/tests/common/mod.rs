//! A server on a free port, and a client that speaks the protocol byte by byte.

#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::print_stderr, reason = "a failing test shows the engine it failed on")]

pub mod client;
pub mod program;

use hotrow_server::{Execution, Io, Server, ServerConfig, ServerError, ServerHandle, Waiters};
use hotrow_sql::{Config, Database};
use hotrow_sync::Arc;
use hotrow_sync::thread::{self, JoinHandle};
use hotrow_txn::Engine;
use std::net::SocketAddr;
use std::time::Duration;

pub use client::Client;

/// The engines that SQL is tested on.
pub const ENGINES: [&str; 10] =
    ["serial", "2pl-timeout", "1v", "ilock", "mvo", "mvl", "2pl-ordered", "2pl-atomic", "vll", "orthrus"];

/// The engine on which all execution models are tested; the others run under the default one.
pub const ENGINE_OF_ALL_MODELS: &str = "ilock";

/// An execution model, and the threads that read under it.
pub type Model = (Execution, Io);

/// The default execution model.
pub const DEFAULT_MODEL: Model = (Execution::Coroutine, Io::Worker);

/// The execution models other than the default one.
pub const OTHER_MODELS: [Model; 3] =
    [(Execution::Coroutine, Io::Handoff), (Execution::Request, Io::Worker), (Execution::Thread, Io::Worker)];

/// Returns all execution models.
pub fn models() -> impl Iterator<Item = Model> {
    [DEFAULT_MODEL].into_iter().chain(OTHER_MODELS)
}

/// Returns a configuration with this execution model.
pub fn model((execution, io): Model) -> ServerConfig {
    ServerConfig { execution, io, ..ServerConfig::default() }
}

/// Each engine under the default model, and one engine under the others.
pub fn settings() -> impl Iterator<Item = (&'static str, ServerConfig)> {
    let others = OTHER_MODELS.map(|other| (ENGINE_OF_ALL_MODELS, model(other)));
    ENGINES.into_iter().map(|engine| (engine, ServerConfig::default())).chain(others)
}

/// A running server, until dropped.
pub struct Running {
    pub address: SocketAddr,
    pub engine: Arc<dyn Engine>,
    pub handle: ServerHandle,
    pub metrics: Option<SocketAddr>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// A server over an empty database under the engine, with default limits.
    pub fn new(engine: &str) -> Self {
        Self::with(engine, ServerConfig::default())
    }

    /// A server with this configuration, on a free port of its first address.
    pub fn with(engine: &str, config: ServerConfig) -> Self {
        Self::over(hotrow_protocols::open(engine).expect("the engine is in the registry"), config)
    }

    /// A server over the caller's database.
    pub fn over(engine: Arc<dyn Engine>, config: ServerConfig) -> Self {
        Self::with_sql(engine, config, Config::default())
    }

    /// A server over the caller's database and SQL.
    pub fn with_sql(engine: Arc<dyn Engine>, config: ServerConfig, sql: Config) -> Self {
        Self::bound(engine, config, sql, Server::bind)
    }

    /// A server over the caller's database, whose sessions wait as the caller decides. No session is held back because
    /// its blocks fail: in a script the caller decides each step.
    pub fn waiting(engine: Arc<dyn Engine>, config: ServerConfig, waiters: Waiters) -> Self {
        let sql = Config { holds_back: false, ..Config::default() };
        Self::bound(engine, config, sql, |config, database| Server::bind_with(config, database, waiters))
    }

    fn bound(
        engine: Arc<dyn Engine>,
        mut config: ServerConfig,
        sql: Config,
        bind: impl FnOnce(ServerConfig, Arc<Database>) -> Result<Server, ServerError>,
    ) -> Self {
        config.listen.truncate(1);
        config.listen[0].set_port(0);
        let database = Database::new(engine.clone(), sql);
        let server = bind(config, database).expect("a free port");
        let mut address = server.local_addresses()[0];
        if address.ip().is_unspecified() {
            address.set_ip([127, 0, 0, 1].into());
        }
        let (handle, metrics) = (server.handle(), server.metrics_address());
        let thread = thread::spawn(move || server.run().expect("the server runs"));
        Self { address, engine, handle, metrics, thread: Some(thread) }
    }

    /// A client whose session has begun.
    pub fn client(&self) -> Client {
        Client::connect(self.address)
    }

    /// Sends cancel requests for a client's statement until it ends.
    pub fn cancel(&self, client: &mut Client) {
        let (pid, secret) = client.key;
        let request = client::packet(80_877_102, &[pid.to_be_bytes(), secret.to_be_bytes()].concat());
        client.stream.set_read_timeout(Some(Duration::from_millis(10))).expect("a time-out");
        while client.stream.peek(&mut [0]).is_err() {
            let mut canceller = Client::open(self.address);
            canceller.send(&request);
            assert!(canceller.try_read().is_ok_and(|answer| answer.is_none()), "a cancel request has no answer");
        }
        client.stream.set_read_timeout(None).expect("no time-out");
    }

    /// Ends the server and waits for it.
    pub fn stop(&mut self) {
        self.handle.shutdown();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ends without a panic");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.stop();
        }
    }
}

/// Runs a test against a fresh server of each of the [`settings`].
pub fn on_each_engine(test: impl Fn(&Running)) {
    for (engine, config) in settings() {
        eprintln!("engine {engine}, {:?}, {:?}", config.execution, config.io);
        test(&Running::with(engine, config));
    }
}
