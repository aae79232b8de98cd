//! The server: listens, and gives each client a thread.

use crate::backend;
use crate::connection::Connection;
use crate::input::Input;
use crate::link::flush;
use crate::sessions::{Guest, Sessions};
use crate::startup::{NoSession, Start, Startup};
use crate::stream::Stream;
use crate::{ServerConfig, ServerError, tls};
use bytes::BytesMut;
use hotrow_sql::{Database, Session, SqlError, state};
use hotrow_sync::{Arc, Waiter, thread};
use pgwire::messages::startup::Authentication;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Stack of a session's thread; only what is used takes memory.
const STACK_BYTES: usize = 8 << 20;

/// A server that listens and, once it [`run`](Self::run)s, serves.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<TcpListener>,
}

struct Shared {
    config: ServerConfig,
    database: Arc<Database>,
    sessions: Arc<Sessions>,
    tls: Option<Arc<rustls::ServerConfig>>,
    /// Without, sessions block their threads.
    waiters: Option<Waiters>,
}

/// Makes a session's waiter: what waiting for a lock means to it.
pub type Waiters = Box<dyn Fn() -> Waiter + Send + Sync>;

/// Ends a running server, from any thread. Cheap to clone.
#[derive(Clone)]
pub struct ServerHandle {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
}

impl Server {
    /// Listens on the configured addresses. Clients that come wait until [`run`](Self::run). A session that waits blocks its
    /// thread, and looks now and then whether its client is still there.
    pub fn bind(config: ServerConfig, database: Arc<Database>) -> Result<Self, ServerError> {
        Self::listen(config, database, None)
    }

    /// [`bind`](Self::bind) with sessions that wait in another way: each takes its waiter from `waiters` when it begins, on
    /// its own thread. So a test can tell who waits, and keep the clock.
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
        let listeners = config
            .listen
            .iter()
            .map(|&address| TcpListener::bind(address).map_err(|error| ServerError::Listen(address, error)))
            .collect::<Result<_, _>>()?;
        let sessions = Arc::new(Sessions::new(config.max_connections));
        Ok(Self { shared: Arc::new(Shared { config, database, sessions, tls, waiters }), listeners })
    }

    /// The addresses listened on, in the order of the configuration, with the ports that were free.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// What ends the server.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle { shared: self.shared.clone(), addresses: self.local_addresses() }
    }

    /// Serves until [`ServerHandle::shutdown`], and until every session has ended after it.
    pub fn run(self) -> Result<(), ServerError> {
        let mut threads = Vec::new();
        for listener in self.listeners {
            let shared = self.shared.clone();
            let accepting = thread::Builder::new()
                .name("accept".to_owned())
                .spawn(move || accept(&listener, &shared))
                .map_err(ServerError::System)?;
            threads.push(accepting);
        }
        for thread in threads {
            thread.join().map_err(|_| ServerError::System(std::io::Error::other("the accepting thread panicked")))?;
        }
        self.shared.sessions.drain(self.shared.config.shutdown_grace);
        Ok(())
    }
}

impl ServerHandle {
    /// Stops listening, cancels what sessions wait for, tells clients good-bye (57P01), and lets [`Server::run`] return.
    /// More than one call does no harm.
    pub fn shutdown(&self) {
        self.shared.sessions.close();
        for &address in &self.addresses {
            // A last guest, so that the accepting thread looks up.
            let ip = match address.ip() {
                IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
                ip => ip,
            };
            // If nobody accepts, nobody has to look up.
            let _ = TcpStream::connect(SocketAddr::new(ip, address.port()));
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.sessions.is_closing() {
            return;
        }
        match accepted {
            Ok((socket, _)) => welcome(socket, shared),
            // Out of descriptors: those who leave give some back.
            Err(error) => {
                log(&format!("cannot accept a connection: {error}"));
                thread::sleep(std::time::Duration::from_millis(50));
            }
        }
    }
}

/// Gives a connection its thread.
fn welcome(socket: TcpStream, shared: &Arc<Shared>) {
    let socket = Arc::new(socket);
    let guest = match shared.sessions.enter(socket.clone()) {
        Ok(Some(guest)) => guest,
        Ok(None) => return turn_away(&socket),
        Err(error) => return log(&error.to_string()),
    };
    let for_thread = shared.clone();
    let name = format!("session {}", guest.peer().pid);
    let thread = thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn({
        let socket = socket.clone();
        move || serve(socket, guest, &for_thread)
    });
    if let Err(error) = thread {
        log(&format!("cannot start a thread for a connection: {error}"));
        turn_away(&socket);
    }
}

fn too_many() -> SqlError {
    SqlError::new(state::TOO_MANY_CONNECTIONS, "sorry, too many clients already")
        .hint("Raise the server's limit on connections, or use a pool of connections.")
}

fn turn_away(mut socket: &TcpStream) {
    let mut out = BytesMut::new();
    backend::error(&mut out, "FATAL", &too_many());
    // Whether it hears this or not, it is turned away.
    let _ = socket.write_all(&out);
}

/// A connection, from its first byte to its last.
fn serve(socket: Arc<TcpStream>, mut guest: Guest, shared: &Shared) {
    let Ok(mut stream) = Stream::new(socket) else { return };
    if stream.socket().set_write_timeout(Some(shared.config.write_timeout)).is_err() {
        return;
    }
    let mut input = Input::new();
    match begin(&mut stream, &mut input, &mut guest, shared) {
        Err(NoSession::Gone) => {}
        Err(NoSession::Refused(error)) => {
            let mut out = BytesMut::new();
            backend::error(&mut out, "FATAL", &error);
            // The client may be gone.
            let _ = flush(&mut stream, &mut out);
        }
        Ok((session, out)) => {
            let limit = shared.config.max_message_bytes;
            let mut connection = Connection::new(&mut stream, input, out, session, guest.peer(), limit);
            let finished = catch_unwind(AssertUnwindSafe(|| {
                let end = connection.run();
                connection.finish(&end);
            }));
            if finished.is_err() {
                log("a session panicked and has ended");
                // Its state may be broken; another panic leaves nothing but to drop it.
                let _ = catch_unwind(AssertUnwindSafe(|| connection.finish_after_panic()));
            }
        }
    }
    stream.close();
}

/// Brings a connection to its session, and says what is told first.
fn begin(
    stream: &mut Stream,
    input: &mut Input,
    guest: &mut Guest,
    shared: &Shared,
) -> Result<(Session, BytesMut), NoSession> {
    stream.set_deadline(Some(Instant::now() + shared.config.startup_timeout))?;
    let mut startup = Startup { stream, input, tls: shared.tls.as_ref(), sessions: &shared.sessions };
    let mut start = startup.negotiate()?;
    let mut out = BytesMut::new();
    if let Some(unknown) = start.negotiated() {
        backend::negotiate_version(&mut out, unknown);
        flush(startup.stream, &mut out)?;
    }
    startup.authenticate(&start.user, shared.config.passwords.as_ref())?;
    stream.set_deadline(None)?;
    let waiter = match &shared.waiters {
        Some(waiters) => waiters(),
        None => guest.waiter(shared.config.wait_spin, shared.config.presence_interval),
    };
    if !guest.admit(waiter.clone()) {
        return Err(too_many().into());
    }
    let mut session = shared.database.session(&start.user, waiter);
    greet(&mut out, &mut session, &start, guest);
    Ok((session, out))
}

/// The first messages of a session.
fn greet(out: &mut BytesMut, session: &mut Session, start: &Start, guest: &Guest) {
    backend::authentication(out, &Authentication::Ok);
    session.set_id(guest.peer().pid);
    for (name, value) in &start.settings {
        // A driver's habit of setting something is no reason to turn it away.
        if let Err(error) = session.set_parameter(name, value) {
            backend::notice(out, "WARNING", &error);
        }
    }
    for (name, value) in session.parameters() {
        backend::parameter_status(out, name, value);
    }
    backend::key_data(out, guest.peer().pid, guest.peer().secret);
    backend::ready_for_query(out, b'I');
}

/// A line for whoever runs the server.
fn log(line: &str) {
    // Nobody listens: nothing can be done about it.
    let _ = writeln!(std::io::stderr(), "hotrow: {line}");
}
