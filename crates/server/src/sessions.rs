//! Who is connected: for the limit, for cancel requests, and for shutdown.

use crate::ServerError;
use crate::passwords::random;
use crate::presence::{has_input, has_left};
use hotrow_sql::Backend;
use hotrow_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hotrow_sync::{Arc, Condvar, Mutex, MutexGuard, Waiter};
use socket2::Socket;
use std::collections::{BTreeMap, HashMap};
use std::net::Shutdown;
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;

/// How many connections there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sessions.
    pub sessions: usize,
    /// Of these, those that only an administrator may have.
    pub reserved: usize,
    /// Connections without a session: those that are starting, cancelling or being refused. If there are more, the oldest one that has
    /// said nothing has to go.
    pub starting: usize,
}

/// So many connections at the least may have been cut off without their workers having seen it.
const LEAST_CUT_OFF: usize = 64;

/// Everybody who is connected.
pub struct Sessions {
    state: Mutex<State>,
    /// Notified when a peer leaves.
    left: Condvar,
    limits: Limits,
    /// How often a connection has gone to another worker.
    moves: AtomicU64,
}

struct State {
    peers: HashMap<i32, Arc<Peer>>,
    /// The peers that have no session, in the order in which they have come.
    starting: BTreeMap<u64, Arc<Peer>>,
    /// Connections that have come so far.
    arrived: u64,
    sessions: usize,
    last_pid: i32,
    closing: bool,
}

impl Sessions {
    /// Nobody yet.
    pub fn new(limits: Limits) -> Self {
        let state = State {
            peers: HashMap::new(),
            starting: BTreeMap::new(),
            arrived: 0,
            sessions: 0,
            last_pid: 0,
            closing: false,
        };
        Self { state: Mutex::new(state), left: Condvar::new(), limits, moves: AtomicU64::new(0) }
    }

    /// A connection has come; `None` if there are too many that are not silent, or the server is closing.
    pub fn enter(self: &Arc<Self>, socket: Arc<Socket>) -> Result<Option<Guest>, ServerError> {
        let secret = i32::from_be_bytes(random()?);
        let mut state = lock(&self.state);
        let Limits { sessions, starting, .. } = self.limits;
        // Those that were cut off are connected until their workers have seen it.
        let is_crowded = state.peers.len() >= sessions + starting + starting.max(LEAST_CUT_OFF);
        if state.closing || is_crowded || state.starting.len() >= starting && !state.cut_off_silent() {
            return Ok(None);
        }
        // Numbers come again after two billion connections; one that is still in use is passed over.
        loop {
            state.last_pid = state.last_pid.checked_add(1).unwrap_or(1);
            if !state.peers.contains_key(&state.last_pid) {
                break;
            }
        }
        let pid = state.last_pid;
        let peer = Peer {
            pid,
            secret,
            socket,
            has_spoken: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            statement: Mutex::new(Statement { waiter: None, running: false }),
        };
        let peer = Arc::new(peer);
        state.peers.insert(pid, peer.clone());
        state.arrived += 1;
        let arrival = state.arrived;
        state.starting.insert(arrival, peer.clone());
        Ok(Some(Guest { peer, sessions: self.clone(), arrival, admitted: false }))
    }

    /// Cancels what a session is executing, if the secret is right and it is executing something.
    pub fn cancel(&self, pid: i32, secret: i32) {
        let peer = lock(&self.state).peers.get(&pid).cloned();
        if let Some(peer) = peer
            && bool::from(peer.secret.to_be_bytes().ct_eq(&secret.to_be_bytes()))
        {
            peer.cancel();
        }
    }

    /// How many sessions there are.
    pub fn count(&self) -> usize {
        lock(&self.state).sessions
    }

    /// Lets nobody in any more, cancels everybody's waits and tells them to go.
    pub fn close(&self) {
        let peers: Vec<_> = {
            let mut state = lock(&self.state);
            state.closing = true;
            state.peers.values().cloned().collect()
        };
        for peer in peers {
            peer.close();
        }
    }

    /// A connection goes to another worker.
    pub fn count_move(&self) {
        // Relaxed: a number for people.
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// How often connections have gone to other workers.
    pub fn moves(&self) -> u64 {
        // Relaxed: as above.
        self.moves.load(Ordering::Relaxed)
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closing(&self) -> bool {
        lock(&self.state).closing
    }

    /// Waits until everybody has left. Who has not by the end of `grace` is cut off.
    pub fn drain(&self, grace: Duration) {
        let deadline = Instant::now() + grace;
        let mut state = lock(&self.state);
        while !state.peers.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.left.wait_timeout(state, left).unwrap_or_else(|poison| poison.into_inner()).0;
        }
        for peer in state.peers.values() {
            // It may have gone by itself.
            let _ = peer.socket.shutdown(Shutdown::Both);
        }
        while !state.peers.is_empty() {
            state = self.left.wait(state).unwrap_or_else(|poison| poison.into_inner());
        }
    }
}

impl State {
    /// Makes a place for one more that is starting: cuts the oldest one off that has said nothing. `false` if there is none.
    fn cut_off_silent(&mut self) -> bool {
        let is_silent = |(_, peer): &(&u64, &Arc<Peer>)| !peer.has_spoken() && !has_input(&peer.socket);
        let Some(arrival) = self.starting.iter().find(is_silent).map(|(&arrival, _)| arrival) else { return false };
        if let Some(peer) = self.starting.remove(&arrival) {
            // It may have gone by itself. Its worker finds that it has left, and gives its place among the peers back.
            let _ = peer.socket.shutdown(Shutdown::Both);
        }
        true
    }
}

/// A connected client, until dropped.
pub struct Guest {
    peer: Arc<Peer>,
    sessions: Arc<Sessions>,
    /// Its number among all that have come.
    arrival: u64,
    admitted: bool,
}

impl Guest {
    /// What others may know of it.
    pub fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// Counts as a session from now on, unless there are too many.
    pub fn admit(&mut self, waiter: Waiter, is_administrator: bool) -> Result<(), NoPlace> {
        let mut state = lock(&self.sessions.state);
        let Limits { sessions, reserved, .. } = self.sessions.limits;
        if state.sessions >= sessions {
            return Err(NoPlace::Full);
        }
        if !is_administrator && state.sessions >= sessions.saturating_sub(reserved) {
            return Err(NoPlace::Reserved);
        }
        state.sessions += 1;
        state.starting.remove(&self.arrival);
        self.admitted = true;
        drop(state);
        self.peer.start(waiter);
        Ok(())
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut state = lock(&self.sessions.state);
        state.peers.remove(&self.peer.pid);
        state.starting.remove(&self.arrival);
        state.sessions -= usize::from(self.admitted);
        self.sessions.left.notify_all();
    }
}

/// Why a client that was let in has no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// All sessions are taken.
    Full,
    /// Those that are left are for administrators.
    Reserved,
}

/// What other threads may do to a connection.
///
/// A cancellation hits the statement that is running when it comes, or nothing: it is decided under the mutex that
/// also [`begin`](Self::begin) and [`end`](Self::end) take, and the end of a statement takes back what came too late.
pub struct Peer {
    /// Its number.
    pub pid: i32,
    /// What a cancel request has to show.
    pub secret: i32,
    /// Its socket.
    pub socket: Arc<Socket>,
    /// Something that it has sent was read.
    has_spoken: AtomicBool,
    closing: AtomicBool,
    statement: Mutex<Statement>,
}

struct Statement {
    waiter: Option<Waiter>,
    running: bool,
}

impl Peer {
    /// Whether the session is to end: the server is closing, or another session has asked for it.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Something has come from it.
    pub fn note_input(&self) {
        self.has_spoken.store(true, Ordering::Release);
    }

    fn has_spoken(&self) -> bool {
        self.has_spoken.load(Ordering::Acquire)
    }

    /// A statement begins.
    pub fn begin(&self) {
        lock(&self.statement).running = true;
    }

    /// The statement has ended.
    pub fn end(&self) {
        let mut statement = lock(&self.statement);
        statement.running = false;
        if let Some(waiter) = &statement.waiter
            && !self.is_closing()
        {
            waiter.clear_cancel();
        }
    }

    fn start(&self, waiter: Waiter) {
        if self.is_closing() {
            waiter.cancel();
        }
        lock(&self.statement).waiter = Some(waiter);
        // `close` may have looked for the waiter before it was there.
        if self.is_closing() {
            self.close();
        }
    }

    /// Cancels the running statement if the client has left.
    pub fn look(&self) {
        if has_left(&self.socket) {
            self.cancel();
        }
    }

    /// Cancels the running statement.
    pub fn cancel(&self) {
        let statement = lock(&self.statement);
        if let Some(waiter) = &statement.waiter
            && statement.running
        {
            waiter.cancel();
        }
    }

    fn close(&self) {
        self.closing.store(true, Ordering::Release);
        if let Some(waiter) = &lock(&self.statement).waiter {
            waiter.cancel();
        }
        // A read that waits for the client ends; the session can still say good-bye.
        let _ = self.socket.shutdown(Shutdown::Read);
    }
}

impl Backend for Peer {
    fn cancel(&self) {
        Peer::cancel(self);
    }

    fn terminate(&self) {
        self.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}
