//! The connected clients: how many there may be, and how other threads reach one of them.
//!
//! A connection has a [`ClientSlot`] from its acceptance to its end. It is *starting* until its session begins
//! ([`ClientSlot::start_session`]). Starting connections and sessions are limited apart, so a flood of connections that
//! send nothing takes no session away. Every slot has a [`ClientHandle`], through which other threads cancel the
//! client's statement or end its connection.
//!
//! Nothing here knows messages or execution models.

mod handle;

pub use handle::{ClientHandle, IdleWaker};

use crate::ServerError;
use crate::auth::random;
use crate::socket::has_input;
use hotrow_sync::{Arc, Condvar, Mutex, MutexGuard, Waiter};
use socket2::Socket;
use std::collections::{BTreeMap, HashMap};
use std::net::Shutdown;
use std::time::{Duration, Instant};

/// The limits on the number of sessions, and on the number of connections that have no session yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The limit on the number of sessions at a time, the reserved ones included. A further client is refused.
    pub sessions: usize,
    /// The number of sessions, out of `sessions`, that are reserved for the administrator. If no more than these are
    /// free, other users are refused.
    pub reserved: usize,
    /// The greatest number of connections without a session: clients that log in, send a cancel request, or are being
    /// refused. If a further client connects, the oldest of these connections from which nothing has come is closed. If
    /// all have sent something, the new client is refused.
    pub starting: usize,
}

/// The least room for connections that were cut off and whose workers have not noticed it yet. If more of them remain,
/// new connections are refused.
const LEAST_CUT_OFF: usize = 64;

/// The registry of all connected clients. It enforces the limits, and finds a client by its number.
///
/// **Thread safety.** Any thread may call any method.
pub struct Clients {
    state: Mutex<State>,
    /// Notified when a client's slot is dropped.
    left: Condvar,
    limits: Limits,
}

struct State {
    clients: HashMap<i32, Arc<ClientHandle>>,
    /// The clients that have no session, in the order of their arrival.
    starting: BTreeMap<u64, Arc<ClientHandle>>,
    /// The number of connections that have arrived so far.
    arrived: u64,
    sessions: usize,
    last_pid: i32,
    closing: bool,
}

impl Clients {
    /// Makes a registry without clients.
    pub fn new(limits: Limits) -> Self {
        let state = State {
            clients: HashMap::new(),
            starting: BTreeMap::new(),
            arrived: 0,
            sessions: 0,
            last_pid: 0,
            closing: false,
        };
        Self { state: Mutex::new(state), left: Condvar::new(), limits }
    }

    /// Registers a connection that was just accepted. If there are too many connections without a session, closes the
    /// oldest of them from which nothing has come. Returns `None` if the new connection must be refused: the server is
    /// shutting down, all connections without a session have sent something, or too many closed connections still await
    /// the end of their threads.
    ///
    /// # Errors
    /// [`ServerError::System`] if the system gives no random bytes for the secret of cancel requests.
    pub fn register(self: &Arc<Self>, socket: Arc<Socket>) -> Result<Option<ClientSlot>, ServerError> {
        let secret = i32::from_be_bytes(random()?);
        let mut state = lock(&self.state);
        let Limits { sessions, starting, .. } = self.limits;
        // A client that was cut off counts as connected until its worker has noticed.
        let is_crowded = state.clients.len() >= sessions + starting + starting.max(LEAST_CUT_OFF);
        if state.closing || is_crowded || state.starting.len() >= starting && !state.cut_off_silent() {
            return Ok(None);
        }
        // Numbers repeat after two billion connections. A number that is still in use is skipped.
        loop {
            state.last_pid = state.last_pid.checked_add(1).unwrap_or(1);
            if !state.clients.contains_key(&state.last_pid) {
                break;
            }
        }
        let client = Arc::new(ClientHandle::new(state.last_pid, secret, socket));
        state.clients.insert(client.pid, client.clone());
        state.arrived += 1;
        let arrival = state.arrived;
        state.starting.insert(arrival, client.clone());
        Ok(Some(ClientSlot { client, clients: self.clone(), arrival, has_session: false }))
    }

    /// Carries out a client's cancel request: cancels the running statement of session `pid`. Does nothing if there is
    /// no such session, if `secret` is wrong, or if no statement runs.
    pub fn cancel(&self, pid: i32, secret: i32) {
        let client = lock(&self.state).clients.get(&pid).cloned();
        if let Some(client) = client
            && client.has_secret(secret)
        {
            client.cancel();
        }
    }

    /// Returns the present number of sessions.
    pub fn session_count(&self) -> usize {
        lock(&self.state).sessions
    }

    /// Begins the shutdown: refuses further clients, and [closes](ClientHandle::close) all present ones. Does not wait
    /// until they have ended.
    pub fn close(&self) {
        let clients: Vec<_> = {
            let mut state = lock(&self.state);
            state.closing = true;
            state.clients.values().cloned().collect()
        };
        for client in clients {
            client.close();
        }
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closing(&self) -> bool {
        lock(&self.state).closing
    }

    /// Blocks until the slots of all clients are dropped. After `grace`, shuts down the sockets of the clients that are
    /// left.
    pub fn drain(&self, grace: Duration) {
        let deadline = Instant::now() + grace;
        let mut state = lock(&self.state);
        while !state.clients.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.left.wait_timeout(state, left).unwrap_or_else(|poison| poison.into_inner()).0;
        }
        for client in state.clients.values() {
            // The client may have closed its connection meanwhile.
            let _ = client.socket.shutdown(Shutdown::Both);
        }
        while !state.clients.is_empty() {
            state = self.left.wait(state).unwrap_or_else(|poison| poison.into_inner());
        }
    }
}

impl State {
    /// Makes room for one more starting connection: cuts off the oldest one that has sent nothing. Returns `false` if
    /// all have sent something.
    fn cut_off_silent(&mut self) -> bool {
        let is_silent = |(_, client): &(&u64, &Arc<ClientHandle>)| !client.has_spoken() && !has_input(&client.socket);
        let Some(arrival) = self.starting.iter().find(is_silent).map(|(&arrival, _)| arrival) else { return false };
        if let Some(client) = self.starting.remove(&arrival) {
            // The client may have left by itself. Its worker notices the end of the connection and drops the slot.
            let _ = client.socket.shutdown(Shutdown::Both);
        }
        true
    }
}

/// A connected client's registration in [`Clients`], which counts towards the limits. Dropping it ends the
/// registration.
pub struct ClientSlot {
    client: Arc<ClientHandle>,
    clients: Arc<Clients>,
    /// The client's number among all that have arrived.
    arrival: u64,
    has_session: bool,
}

impl ClientSlot {
    /// Returns the handle through which other threads reach the client.
    pub fn client(&self) -> &Arc<ClientHandle> {
        &self.client
    }

    /// Counts the client as a session rather than as a starting connection. From now on, other threads can cancel the
    /// session's waits, which go through `waiter`.
    ///
    /// # Errors
    /// The limit that leaves no session for the client.
    pub fn start_session(&mut self, waiter: Waiter, is_administrator: bool) -> Result<(), SessionLimit> {
        let mut state = lock(&self.clients.state);
        let Limits { sessions, reserved, .. } = self.clients.limits;
        if state.sessions >= sessions {
            return Err(SessionLimit::Full);
        }
        if !is_administrator && state.sessions >= sessions.saturating_sub(reserved) {
            return Err(SessionLimit::Reserved);
        }
        state.sessions += 1;
        state.starting.remove(&self.arrival);
        self.has_session = true;
        drop(state);
        self.client.start(waiter);
        Ok(())
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        let mut state = lock(&self.clients.state);
        state.clients.remove(&self.client.pid);
        state.starting.remove(&self.arrival);
        state.sessions -= usize::from(self.has_session);
        self.clients.left.notify_all();
    }
}

/// The reason why a client gets no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionLimit {
    /// There are as many sessions as are allowed.
    Full,
    /// The sessions that are left are reserved for the administrator.
    Reserved,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}
