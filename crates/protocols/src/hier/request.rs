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
use hotrow_sync::Mutex;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;

/// The memory of all requests of one lock manager. It is freed with the manager.
#[derive(Default)]
pub(super) struct Requests(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    chunks: Vec<Box<[Request]>>,
    /// The requests that no transaction object keeps.
    free: Vec<RequestPtr>,
}

/// The number of requests that a transaction object gets at a time.
const CHUNK: usize = 32;

impl Requests {
    /// Adds requests to `spare`, which are not linked. New ones share no cache line with those of other objects.
    #[cold]
    pub(super) fn make(&self, spare: &mut Vec<RequestPtr>) {
        let Memory { chunks, free } = &mut *self.0.lock().expect("no panic under the mutex");
        if free.is_empty() {
            let chunk: Box<[Request]> = (0..CHUNK).map(|_| Request::default()).collect();
            spare.extend(chunk.iter().map(|request| RequestPtr(NonNull::from(request))));
            chunks.push(chunk);
        } else {
            spare.extend(free.drain(free.len().saturating_sub(CHUNK)..));
        }
    }

    /// Takes all but `kept` of the requests in `spare` back.
    #[cold]
    pub(super) fn take_back(&self, spare: &mut Vec<RequestPtr>, kept: usize) {
        self.0.lock().expect("no panic under the mutex").free.extend(spare.drain(kept.min(spare.len())..));
    }
}

/// A reference to a request. Requests live as long as their lock manager. References are only in the manager's heads, in
/// its agents' lists and in its transaction objects, which keep the manager alive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestPtr(NonNull<Request>);

// SAFETY: a request is atomic, and any thread may use it.
unsafe impl Send for RequestPtr {}
// SAFETY: as above.
unsafe impl Sync for RequestPtr {}

impl Deref for RequestPtr {
    type Target = Request;

    #[inline]
    fn deref(&self) -> &Request {
        // SAFETY: the request is in a chunk of `Requests`, which is neither moved nor freed while its lock manager
        // lives. Every owner of a reference keeps the manager alive, as the type says.
        unsafe { self.0.as_ref() }
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

#[cfg(all(test, loom))]
mod model {
    //! Every interleaving of the owner of a request with a conflicting request, with a value that both access.

    use super::*;
    use hotrow_sync::cell::UnsafeCell;
    use hotrow_sync::{Arc, Latch, thread};

    const AGENT: OwnerId = OwnerId(1);

    /// A lock with one granted request, and the value that the lock protects.
    struct Scene {
        request: Request,
        /// The head's latch, with the number of waiters.
        head: Latch<usize>,
        value: UnsafeCell<u64>,
    }

    // SAFETY: the value is accessed as the request's states allow; loom checks that.
    unsafe impl Sync for Scene {}

    impl Scene {
        fn read(&self) -> u64 {
            // SAFETY: the caller holds the lock shared. loom checks that nobody writes at the same time.
            self.value.with(|value| unsafe { *value })
        }

        /// Asks for the lock exclusively. Returns whether it was granted at once; then the value was changed.
        fn write(&self, awaits: bool) -> bool {
            let mut waiting = self.head.lock();
            if self.request.admits(Mode::X, awaits) == Admitted::Not {
                *waiting += usize::from(awaits);
                return false;
            }
            // SAFETY: no transaction holds the lock. loom checks that nobody reads at the same time.
            self.value.with_mut(|value| unsafe { *value += 1 });
            true
        }
    }

    /// The owner reads, passes the lock on, reclaims it and reads again, while another transaction asks for it.
    fn check(awaits: bool) {
        loom::model(move || {
            let scene = Arc::new(Scene { request: Request::default(), head: Latch::new(0), value: UnsafeCell::new(0) });
            scene.request.set(State::granted(AGENT, Mode::S, false));
            let writer = scene.clone();
            let writer = thread::spawn(move || writer.write(awaits));
            let before = scene.read();
            if scene.request.pass_on() {
                if scene.request.reclaim(AGENT, Mode::S) {
                    assert_eq!(scene.read(), before, "it holds the lock as if it had never passed it on");
                    assert_eq!(scene.request.state().held, Mode::S);
                } else {
                    assert_eq!(scene.request.state().mode, Mode::None);
                }
            } else {
                // A transaction waits, so the owner releases the lock under the latch, and sees that.
                assert!(awaits && *scene.head.lock() == 1);
            }
            let written = writer.join().expect("the writer ends");
            let state = scene.request.state();
            assert_eq!(written, state.mode == Mode::None, "{state:?}");
        });
    }

    #[test]
    fn an_inherited_request_is_reclaimed_or_taken_away() {
        check(false);
    }

    #[test]
    fn a_request_for_which_a_transaction_waits_is_not_passed_on() {
        check(true);
    }

    /// The owner strengthens its mode by what it has inherited, while another transaction takes that away.
    #[test]
    fn the_rest_of_an_inherited_mode_is_used_or_taken_away() {
        loom::model(|| {
            let request = Arc::new(Request::default());
            request.set(State { owner: AGENT, held: Mode::IS, mode: Mode::IX, awaited: false });
            let other = request.clone();
            let reader = thread::spawn(move || other.admits(Mode::S, false));
            let strengthened = request.strengthen(Mode::IX);
            let admitted = reader.join().expect("the reader ends");
            assert_eq!(admitted, if strengthened { Admitted::Not } else { Admitted::Beside });
            let mode = if strengthened { Mode::IX } else { Mode::IS };
            assert_eq!(request.state(), State { owner: AGENT, held: mode, mode, awaited: false });
        });
    }
}
