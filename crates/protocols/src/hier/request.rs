//! Requests: objects with stable addresses, linked into the queue of a lock's head while they are granted.
//!
//! The state of a request is one word, which changes by compare-and-swap:
//!
//! ```text
//! | owner: 32 bits | awaited: 1 bit | mode: 3 bits | held: 3 bits |
//! ```
//!
//! *Held* is the mode that the owner's transaction has. *Mode* is at least as strong: the mode that other transactions
//! respect. If it is stronger than *held*, the difference is *inherited*: a conflicting request takes it away. So the
//! word has the statuses of the paper:
//!
//! | status | held | mode |
//! | --- | --- | --- |
//! | granted | a mode | the same |
//! | granted, with an inherited surplus | a mode | a stronger one |
//! | inherited | none | a mode |
//! | invalid | none | none |
//!
//! | change | by | where |
//! | --- | --- | --- |
//! | granted → inherited | the owner, unless the lock is awaited | without a latch |
//! | inherited → granted; surplus → held | a transaction of the same agent | without a latch |
//! | inherited → invalid; surplus → none | a conflicting request | under the head's latch |
//! | awaited: no → yes | a request that is about to wait | under the head's latch |
//! | anything else | the owner | under the head's latch |

use super::mode::Mode;
use crate::shared::lock_table::OwnerId;
#[cfg(not(any(loom, shuttle, machine)))]
use hotrow_sync::Mutex;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::leak;
use std::fmt;
use std::ops::Deref;

/// The pool of free request objects: those that no transaction object keeps. All lock managers of the process share it.
///
/// A request object is used again but never freed, so that a head may refer to it without a count of references. The
/// models and the simulated machine have no such pool, as their requests live for one run.
#[cfg(not(any(loom, shuttle, machine)))]
static POOL: Mutex<Vec<RequestPtr>> = Mutex::new(Vec::new());

/// The number of requests that a transaction object gets at a time.
const CHUNK: usize = 32;

/// Adds requests to `spare`, which are not linked. New ones share no cache line with those of other transaction
/// objects.
#[cold]
pub(super) fn make(spare: &mut Vec<RequestPtr>) {
    #[cfg(not(any(loom, shuttle, machine)))]
    {
        let mut pool = POOL.lock().expect("no panic under the mutex");
        let kept = pool.len().saturating_sub(CHUNK);
        spare.extend(pool.drain(kept..));
    }
    if spare.is_empty() {
        let chunk: Box<[Request]> = (0..CHUNK).map(|_| Request::default()).collect();
        spare.extend(leak(chunk).iter().map(RequestPtr));
    }
}

/// Gives all but `kept` of the requests in `spare` back to the pool.
#[cold]
pub(super) fn give_back(spare: &mut Vec<RequestPtr>, kept: usize) {
    let unneeded = spare.drain(kept.min(spare.len())..);
    #[cfg(not(any(loom, shuttle, machine)))]
    POOL.lock().expect("no panic under the mutex").extend(unneeded);
    #[cfg(any(loom, shuttle, machine))]
    drop(unneeded);
}

/// A reference to a request. It is in the head of a lock while the request is linked, and in the list of its owner.
#[derive(Clone, Copy)]
pub(super) struct RequestPtr(&'static Request);

impl PartialEq for RequestPtr {
    /// Whether both are references to one request.
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for RequestPtr {}

impl Deref for RequestPtr {
    type Target = Request;

    #[inline]
    fn deref(&self) -> &Request {
        self.0
    }
}

impl fmt::Debug for RequestPtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A request for a lock. The transaction that owns it, or the agent that has inherited it, has a reference; the head of
/// the lock has another one while the request is linked.
#[derive(Debug, Default)]
pub(crate) struct Request {
    word: AtomicU64,
    /// The name of the lock. The owner sets it while the request is not linked.
    name: AtomicU64,
    /// The name of the node of whose children the request is one, for escalation. Only the owner uses it.
    parent: AtomicU64,
}

/// The state of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// The owner of the transaction that holds the request. It means nothing while no transaction does.
    pub(super) owner: OwnerId,
    /// The mode that the owner's transaction has.
    pub(super) held: Mode,
    /// The mode that requests of other transactions have to respect, or take away.
    pub(super) mode: Mode,
    /// Whether a transaction has come to wait for the lock since the request was granted.
    pub(super) awaited: bool,
}

impl State {
    fn word(self) -> u64 {
        u64::from(self.owner.0) << 32 | u64::from(self.awaited) << 6 | (self.mode as u64) << 3 | self.held as u64
    }

    fn of_word(word: u64) -> Self {
        Self {
            owner: OwnerId((word >> 32) as u32),
            held: Mode::of_bits(word),
            mode: Mode::of_bits(word >> 3),
            awaited: word & 1 << 6 != 0,
        }
    }

    /// Returns the state of a request that was granted to `owner`. `awaited` says whether transactions wait for the
    /// lock.
    pub(super) fn granted(owner: OwnerId, mode: Mode, awaited: bool) -> Self {
        Self { owner, held: mode, mode, awaited }
    }
}

impl Request {
    /// Prepares a request that is not linked for a lock: its name, and the name of its parent.
    pub(super) fn prepare(&self, name: u64, parent: u64) {
        self.name.store(name, Ordering::Release);
        self.parent.store(parent, Ordering::Release);
    }

    /// Returns the name of the lock.
    pub(super) fn name(&self) -> u64 {
        self.name.load(Ordering::Acquire)
    }

    /// Returns the name of the node whose lock, as a whole, makes this one superfluous; zero if there is none.
    pub(super) fn parent(&self) -> u64 {
        self.parent.load(Ordering::Acquire)
    }

    /// Sets the name of the node whose lock, as a whole, makes this one superfluous; zero if there is none.
    pub(super) fn set_parent(&self, parent: u64) {
        self.parent.store(parent, Ordering::Release);
    }

    /// Returns the state at this moment.
    #[inline]
    pub(super) fn state(&self) -> State {
        State::of_word(self.word.load(Ordering::Acquire))
    }

    /// Sets the state. The caller is the owner, and has the head's latch or has not linked the request yet.
    #[inline]
    pub(super) fn set(&self, state: State) {
        self.word.store(state.word(), Ordering::Release);
    }

    /// Changes the state as long as `change` returns a new one for the present one. Returns the state after the change,
    /// or the state for which `change` returned `None`.
    #[inline]
    fn change(&self, change: impl Fn(State) -> Option<State>) -> Result<State, State> {
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let state = State::of_word(word);
            let Some(next) = change(state) else { return Err(state) };
            match self.word.compare_exchange(word, next.word(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(next),
                Err(other) => word = other,
            }
        }
    }

    /// Whether a request of another transaction, for `goal`, can be granted beside this one. An inherited mode that
    /// conflicts is taken away; the request is invalid afterwards if no transaction holds it. `awaits` says that the
    /// other transaction will wait if it must. The caller has the head's latch.
    #[inline]
    pub(super) fn admits(&self, goal: Mode, awaits: bool) -> Admitted {
        let state = self.state();
        if !state.mode.conflicts(goal) && !awaits {
            return Admitted::Beside;
        }
        let changed = self.change(|state| {
            let mode = if state.mode.conflicts(goal) && !state.held.conflicts(goal) { state.held } else { state.mode };
            let next = State { mode, awaited: state.awaited || awaits, ..state };
            (next != state).then_some(next)
        });
        let (Ok(state) | Err(state)) = changed;
        match () {
            () if state.mode == Mode::None => Admitted::Invalid,
            () if state.held.conflicts(goal) => Admitted::Not,
            () => Admitted::Beside,
        }
    }

    /// Passes the request on to the owner's agent: no transaction holds it from now on, and other transactions respect
    /// the mode until they need another one. Fails if a transaction waits for the lock.
    pub(super) fn pass_on(&self) -> bool {
        let inherited = |state: State| (!state.awaited).then_some(State { held: Mode::None, ..state });
        self.change(inherited).is_ok()
    }

    /// Makes `owner`'s transaction the holder of an inherited request in `mode`. Fails if the request is invalid, or
    /// was inherited in a mode that does not cover `mode`.
    pub(super) fn reclaim(&self, owner: OwnerId, mode: Mode) -> bool {
        self.change(|state| state.mode.covers(mode).then_some(State { owner, held: mode, ..state })).is_ok()
    }

    /// Strengthens the mode that the owner's transaction has to `goal`, if that much was inherited.
    pub(super) fn strengthen(&self, goal: Mode) -> bool {
        self.change(|state| state.mode.covers(goal).then_some(State { held: goal, ..state })).is_ok()
    }
}

/// Whether a request can be granted beside another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    /// The request can be granted.
    Beside,
    /// The request can be granted. The other one is invalid, and has to be unlinked.
    Invalid,
    /// The request cannot be granted: a transaction holds the other one in a conflicting mode.
    Not,
}
