//! The database gate. Transactions that have a plan of their accesses are inside together. A transaction without a plan
//! closes the gate, and is alone in the database.
//!
//! **The idea.** A big-reader lock. Each transaction in flight has a *pass* with a word of its own, in a cache line of
//! its own. To enter is to write that word and to read the gate's word; no pass writes a shared line. To close is the
//! expensive side: close the gate, then visit every word, and wait until all passes that were inside have left.
//!
//! **Definitions.** A pass is *inside* while its word is odd. The gate is *open*; or *closing*, for one pass that waits
//! until no pass is inside; or *closed*, by that pass; or *reading*: the pass that closed it only reads, and lets in
//! others that only read. Passes that come while it is not open queue, enterers and closers alike, but for readers that
//! come while it is reading.
//!
//! **Invariants**
//!
//! 1. `closed` is true exactly while the gate is closing or closed. It changes under the mutex only.
//! 2. While the gate is closed no pass is inside. An enterer writes its word, then reads `closed`; a closer writes
//!    `closed`, then reads all words. All four are SeqCst, so one of the two sees the other: either the enterer finds
//!    the gate closing and takes its word back, or the closer finds the word and waits for it. Passes that the gate
//!    lets in from the queue have their words written under the mutex, before the gate closes again.
//! 3. The last pass that a closer waits for wakes it. The closer marks each word that is inside with the number of its
//!    closing, by an exchange that fails if the pass has left; leaving is an exchange too, so a pass that leaves learns
//!    whether it was marked, and then counts down. Marks of a closing that was given up have another number, and count
//!    for nothing.
//! 4. Neither side starves: the queue is served in order. Passes that find the gate not open stand behind the one that
//!    closed it, and a closer behind all that came before it.
//! 5. A request can leave the queue at any time. It learns under the mutex whether it was granted before.
//! 6. While the gate is reading, every pass inside is a reader's. The pass that has closed it is alone again after
//!    another closing, which is its own and waits for those readers; if that is given up, the gate is reading as
//!    before.
//!
//! **Waiting inside.** A transaction inside may wait for others inside, as long as such waits end by themselves: then
//! every closing ends too. A wait for anything that an outsider holds must have a limit.

use hotrow_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hotrow_sync::{Arc, CachePadded, Mutex, MutexGuard, Waiter, Wake};
use hotrow_txn::{Abort, Exclusion, Statistics};
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// The gate of one database, which all threads share. Any number of transactions can be inside at once, or one
/// transaction can close the gate and be alone in the database.
pub(crate) struct Gate {
    closed: CachePadded<AtomicBool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    phase: Phase,
    queue: VecDeque<Request>,
    /// The words of all passes that exist.
    words: Vec<Arc<Word>>,
    /// The number of closings so far.
    closings: u64,
}

#[derive(Default)]
enum Phase {
    #[default]
    Open,
    /// The closer waits for so many passes that are inside and marked with this closing's number.
    Closing {
        number: u64,
        awaited: usize,
        parked: Arc<Parked>,
        /// Whether the pass that closes the gate has it already, and has let readers in.
        excludes: bool,
    },
    Closed,
    /// The pass that closed the gate has let readers in (invariant 6).
    Reading,
}

/// A pass's word: [`OUTSIDE`], [`INSIDE`], or inside and marked with a closing's number.
type Word = CachePadded<AtomicU64>;

const OUTSIDE: u64 = 0;
const INSIDE: u64 = 1;

fn marked(number: u64) -> u64 {
    number << 1 | INSIDE
}

struct Request {
    side: Side,
    parked: Arc<Parked>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Enter,
    /// The request to enter, of a pass that only reads.
    Read,
    Close,
    /// The request of a pass that has let readers in to be alone again.
    Exclude,
}

/// The place where a pass waits.
struct Parked {
    word: Arc<Word>,
    granted: AtomicBool,
    waiter: Waiter,
}

/// The handle of a transaction object on the gate, through which its transactions enter the gate or close it. One
/// thread at a time uses it. A pass that is dropped leaves the gate.
pub(crate) struct Pass {
    gate: Arc<Gate>,
    word: Arc<Word>,
    parked: Arc<Parked>,
    state: PassState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PassState {
    Outside,
    Inside,
    Alone,
    /// The pass is alone but for readers that it lets in.
    Reading,
}

/// The passes to wake, after the mutex is released.
type Wakes = Vec<Arc<Parked>>;

impl Gate {
    /// Makes a gate, which is open.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { closed: CachePadded(AtomicBool::new(false)), state: Mutex::default() })
    }

    /// Makes a pass for a transaction object that waits through `waiter`. The pass is outside.
    pub(crate) fn pass(self: &Arc<Self>, waiter: Waiter) -> Pass {
        let word = Arc::new(CachePadded(AtomicU64::new(OUTSIDE)));
        self.state().words.push(word.clone());
        let parked = Arc::new(Parked { word: word.clone(), granted: AtomicBool::new(false), waiter });
        Pass { gate: self.clone(), word, parked, state: PassState::Outside }
    }

    /// Whether a pass is alone, or about to be.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.0.load(Ordering::Acquire)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Begins to close for a pass. Returns whether no pass is inside.
    fn close(&self, state: &mut State, parked: Arc<Parked>, excludes: bool) -> bool {
        // SeqCst: the closer's write of invariant 2.
        self.closed.0.store(true, Ordering::SeqCst);
        state.closings += 1;
        let number = state.closings;
        let mark = |word: &&Arc<Word>| {
            let inside = |word| (word & INSIDE != 0).then_some(marked(number));
            // SeqCst: the closer's reads of invariant 2.
            word.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, inside).is_ok()
        };
        let awaited = state.words.iter().filter(mark).count();
        state.phase = if awaited == 0 { Phase::Closed } else { Phase::Closing { number, awaited, parked, excludes } };
        awaited == 0
    }

    /// Serves the queue of a gate that no pass closes any more, from its front to the next closer.
    fn serve(&self, state: &mut State, wakes: &mut Wakes) {
        state.phase = Phase::Open;
        while let Some(Request { side, parked }) = state.queue.pop_front() {
            match side {
                Side::Enter | Side::Read => let_in(parked, wakes),
                Side::Close | Side::Exclude => {
                    if self.close(state, parked.clone(), false) {
                        grant(parked, wakes);
                    }
                    return;
                }
            }
        }
        self.closed.0.store(false, Ordering::Release);
    }

    /// Lets readers in beside the pass that has closed the gate, those of the queue first.
    fn read(&self, state: &mut State, wakes: &mut Wakes) {
        state.phase = Phase::Reading;
        let (readers, others): (VecDeque<_>, VecDeque<_>) =
            state.queue.drain(..).partition(|request| request.side == Side::Read);
        state.queue = others;
        readers.into_iter().for_each(|reader| let_in(reader.parked, wakes));
    }

    /// Counts down the passes that closing `number` waits for, after a pass left that it has marked.
    #[cold]
    fn left(&self, number: u64) {
        let mut wakes = Wakes::new();
        let mut state = self.state();
        if let Phase::Closing { number: present, awaited, .. } = &mut state.phase
            && *present == number
        {
            *awaited -= 1;
            if *awaited == 0
                && let Phase::Closing { parked, .. } = std::mem::replace(&mut state.phase, Phase::Closed)
            {
                grant(parked, &mut wakes);
            }
        }
        drop(state);
        wake(wakes);
    }

    /// Opens the gate, when the pass that is alone leaves.
    fn open(&self) {
        let mut wakes = Wakes::new();
        let mut state = self.state();
        debug_assert!(matches!(state.phase, Phase::Closed | Phase::Reading), "opened by one that has not closed it");
        self.serve(&mut state, &mut wakes);
        drop(state);
        wake(wakes);
    }

    /// Takes a request back. Returns `false` if the request was granted meanwhile.
    fn withdraw(&self, parked: &Arc<Parked>) -> bool {
        let mut wakes = Wakes::new();
        let mut state = self.state();
        if parked.granted.load(Ordering::Acquire) {
            return false;
        }
        match &state.phase {
            Phase::Closing { parked: closer, excludes, .. } if Arc::ptr_eq(closer, parked) => match excludes {
                true => self.read(&mut state, &mut wakes),
                false => self.serve(&mut state, &mut wakes),
            },
            _ => state.queue.retain(|request| !Arc::ptr_eq(&request.parked, parked)),
        }
        drop(state);
        wake(wakes);
        true
    }
}

/// Lets a pass in from the queue. The pass's owner waits and leaves the word alone; a closer looks at the word under
/// the mutex.
fn let_in(parked: Arc<Parked>, wakes: &mut Wakes) {
    parked.word.0.store(INSIDE, Ordering::Release);
    grant(parked, wakes);
}

fn grant(parked: Arc<Parked>, wakes: &mut Wakes) {
    parked.granted.store(true, Ordering::Release);
    wakes.push(parked);
}

fn wake(wakes: Wakes) {
    for parked in wakes {
        parked.waiter.wake();
    }
}

impl Pass {
    /// Enters the gate. If another pass is closing the gate or has closed it, waits until it is open again, but no
    /// longer than `limit`. A pass that only `reads` also enters if the pass that has closed the gate [lets readers
    /// in](Self::let_readers_in).
    ///
    /// # Errors
    /// [`Abort::Timeout`] if the limit has passed, and [`Abort::Cancelled`] if the waiter was cancelled.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        reads: bool,
        limit: Option<Duration>,
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        debug_assert_eq!(self.state, PassState::Outside, "a pass is used once at a time");
        // SeqCst, both: the enterer's write and read of invariant 2.
        self.word.0.swap(INSIDE, Ordering::SeqCst);
        if self.gate.closed.0.load(Ordering::SeqCst) {
            self.retract();
            return self.queue(if reads { Side::Read } else { Side::Enter }, limit, statistics);
        }
        self.state = PassState::Inside;
        Ok(())
    }

    /// Whether the pass has entered, beside others.
    #[inline]
    pub(crate) fn is_inside(&self) -> bool {
        self.state == PassState::Inside
    }

    /// Whether the gate is closing or closed. For a pass inside this means that another pass waits until it leaves.
    #[inline]
    pub(crate) fn is_in_the_way(&self) -> bool {
        self.gate.is_closed()
    }

    /// Returns whether the pass excludes all others from the database, and, if so, whether any of them waits for it.
    pub(crate) fn exclusion(&self) -> Exclusion {
        match self.state {
            PassState::Outside | PassState::Inside => Exclusion::None,
            PassState::Alone | PassState::Reading if self.gate.state().queue.is_empty() => Exclusion::Database,
            PassState::Alone | PassState::Reading => Exclusion::WaitedFor,
        }
    }

    /// Closes the gate to all other passes. Waits until the passes inside have left and the passes that queued before
    /// have been served, but no longer than `limit`.
    ///
    /// # Errors
    /// [`Abort::Timeout`] if the limit has passed, and [`Abort::Cancelled`] if the waiter was cancelled.
    #[cold]
    pub(crate) fn close(&mut self, limit: Option<Duration>, statistics: &mut Statistics) -> Result<(), Abort> {
        debug_assert_eq!(self.state, PassState::Outside, "a pass is used once at a time");
        self.queue(Side::Close, limit, statistics)?;
        statistics.locks += 1;
        Ok(())
    }

    /// Lets in passes that only read, while this pass, which is alone, only reads itself.
    #[cold]
    pub(crate) fn let_readers_in(&mut self) {
        debug_assert_eq!(self.state, PassState::Alone, "only a pass that is alone lets others in");
        let mut wakes = Wakes::new();
        let mut state = self.gate.state();
        self.gate.read(&mut state, &mut wakes);
        drop(state);
        wake(wakes);
        self.state = PassState::Reading;
    }

    /// Whether the pass has let readers in, and must [exclude](Self::exclude_readers) them before it writes.
    #[inline]
    pub(crate) fn lets_readers_in(&self) -> bool {
        self.state == PassState::Reading
    }

    /// Lets no more readers in, and waits for those inside, no longer than `limit`.
    ///
    /// # Errors
    /// [`Abort::Timeout`] if the limit has passed, and [`Abort::Cancelled`] if the waiter was cancelled. If the readers
    /// have not left by then, readers are let in as before.
    #[cold]
    pub(crate) fn exclude_readers(
        &mut self,
        limit: Option<Duration>,
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        debug_assert_eq!(self.state, PassState::Reading, "no readers were let in");
        self.queue(Side::Exclude, limit, statistics)
    }

    /// Leaves the gate, if the pass has [entered](Self::enter) it, or opens it, if the pass has [closed](Self::close)
    /// it. Has no effect on a pass that is outside.
    #[inline]
    pub(crate) fn leave(&mut self) {
        match std::mem::replace(&mut self.state, PassState::Outside) {
            PassState::Outside => {}
            PassState::Inside => self.retract(),
            PassState::Alone | PassState::Reading => self.gate.open(),
        }
    }

    #[inline]
    fn retract(&self) {
        let word = self.word.0.swap(OUTSIDE, Ordering::AcqRel);
        if word != INSIDE {
            self.gate.left(word >> 1);
        }
    }

    #[cold]
    fn queue(&mut self, side: Side, limit: Option<Duration>, statistics: &mut Statistics) -> Result<(), Abort> {
        if self.ask(side) {
            self.state = pass_state(side);
            return Ok(());
        }
        let unwinding = Unwinding { pass: self, side };
        let parked = &self.parked;
        let start = parked.waiter.now();
        let deadline = limit.map(|limit| start.after(limit));
        let wake = parked.waiter.wait_until(deadline, || parked.granted.load(Ordering::Acquire));
        std::mem::forget(unwinding);
        statistics.waits += 1;
        statistics.wait_ns += parked.waiter.now().since(start).as_nanos() as u64;
        let granted = wake == Wake::Ready || !self.gate.withdraw(&self.parked);
        self.parked.granted.store(false, Ordering::Release);
        if granted {
            // Granted and cancelled at once: it is kept for the transaction's end to give up.
            self.state = pass_state(side);
        }
        match (granted, wake) {
            (_, Wake::Cancelled) => Err(Abort::Cancelled),
            (true, _) => Ok(()),
            (false, _) => Err(Abort::Timeout),
        }
    }

    /// Takes what `side` asks for, if no pass is before this one, or puts the request in the queue. Returns whether it
    /// was taken.
    fn ask(&self, side: Side) -> bool {
        let mut state = self.gate.state();
        match (&state.phase, side) {
            (Phase::Reading, Side::Exclude) => self.gate.close(&mut state, self.parked.clone(), true),
            (Phase::Open, Side::Close) => self.gate.close(&mut state, self.parked.clone(), false),
            (Phase::Open, Side::Enter | Side::Read) | (Phase::Reading, Side::Read) => {
                // Under the mutex: no pass closes the gate before this is seen.
                self.word.0.store(INSIDE, Ordering::Release);
                true
            }
            _ => {
                state.queue.push_back(Request { side, parked: self.parked.clone() });
                false
            }
        }
    }
}

fn pass_state(side: Side) -> PassState {
    match side {
        Side::Enter | Side::Read => PassState::Inside,
        Side::Close | Side::Exclude => PassState::Alone,
    }
}

/// Takes a request back if its wait unwinds: a suspended coroutine is dropped, or a scheduler panics.
struct Unwinding<'p> {
    pass: &'p Pass,
    side: Side,
}

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        if !self.pass.gate.withdraw(&self.pass.parked) {
            self.pass.parked.granted.store(false, Ordering::Release);
            match self.side {
                Side::Enter | Side::Read => self.pass.retract(),
                Side::Close => self.pass.gate.open(),
                // The pass has the gate until it leaves.
                Side::Exclude => {}
            }
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.leave();
        self.gate.state().words.retain(|word| !Arc::ptr_eq(word, &self.word));
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Gate")
            .field("closed", &!matches!(state.phase, Phase::Open))
            .field("waiting", &state.queue.len())
            .finish()
    }
}

#[cfg(all(test, shuttle))]
mod model;
#[cfg(all(test, not(shuttle)))]
mod tests;
