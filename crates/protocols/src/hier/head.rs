//! The head of a lock: the queue of its requests.

use super::mode::Mode;
use super::request::{Admitted, RequestPtr, State};
use crate::shared::chain::ChainedHead;
use crate::shared::lock_table::{Name, OwnerId, Queued};
use crate::shared::owners::Labels;
use crate::shared::parked::Parked;
use crate::shared::wait_graph::WaitGraph;
use hotrow_sync::Arc;
use hotrow_txn::{LockPart, LockTarget, LockWait};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// The head of a lock. All of it is protected by the latch of its bucket, except for the words of the requests.
#[derive(Default)]
pub(super) struct Head {
    /// The name of the lock; zero if the head has never been used.
    name: u64,
    /// The requests of transactions that hold the lock, and the inherited ones.
    granted: SmallVec<[RequestPtr; 2]>,
    /// The requests that wait, conversions first, each kind in the order of their arrival.
    #[expect(clippy::box_collection, reason = "a bucket is one cache line, and rarely has waiters")]
    waiting: Option<Box<VecDeque<Waiting>>>,
    /// A bit for each of the last requests, the latest in the lowest bit: whether it met latch contention.
    recent: u32,
    modes: Modes,
}

/// The numbers of granted requests by their modes, so that compatible requests are granted without a look at others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Modes {
    /// The numbers of requests in the modes IS, IX and S. A number stays at its greatest value once it has reached it.
    shared: [u8; 3],
    /// The set of the other modes, with a bit for each: two requests in such a mode are not compatible.
    others: u8,
}

impl Modes {
    #[inline]
    fn add(&mut self, mode: Mode) {
        match mode {
            Mode::None => {}
            Mode::IS | Mode::IX | Mode::S => {
                let count = &mut self.shared[mode as usize - 1];
                *count = count.saturating_add(1);
            }
            other => self.others |= 1 << other as u8,
        }
    }

    #[inline]
    fn remove(&mut self, mode: Mode) {
        match mode {
            Mode::None => {}
            Mode::IS | Mode::IX | Mode::S => {
                let count = &mut self.shared[mode as usize - 1];
                *count -= u8::from(*count < u8::MAX);
            }
            other => self.others &= !(1 << other as u8),
        }
    }

    /// Whether a request for `goal` is compatible with all granted requests.
    #[inline]
    fn admit(&self, goal: Mode) -> bool {
        let is_free = |mode: Mode| self.shared[mode as usize - 1] == 0 || !mode.conflicts(goal);
        is_free(Mode::IS) && is_free(Mode::IX) && is_free(Mode::S) && !goal.conflicts_with_any(self.others)
    }
}

/// A request that waits.
pub(super) struct Waiting {
    pub(super) owner: OwnerId,
    /// The mode that the owner asks for.
    pub(super) mode: Mode,
    /// The mode that the owner is to hold once the request is granted, with what it holds already.
    pub(super) goal: Mode,
    /// Whether the owner holds the lock in a weaker mode: `request` is among the granted ones.
    pub(super) converts: bool,
    pub(super) request: RequestPtr,
    /// The thing that is locked.
    pub(super) target: LockTarget,
    pub(super) parked: Arc<Parked>,
}

/// The number of requests of which a head remembers whether they met latch contention.
pub(super) const REMEMBERED: u32 = u32::BITS;

/// The transactions that a request waits for.
pub(super) type Blockers = SmallVec<[OwnerId; 8]>;

/// The transactions to wake, after the latch is released.
pub(super) type Wakes = SmallVec<[Arc<Parked>; 4]>;

impl ChainedHead for Head {
    /// Whether the head is that of the lock with this name. A free head is, too, so that it remembers which of the last
    /// requests met contention.
    #[inline]
    fn is_of(&self, Name(name): Name) -> bool {
        self.name == name
    }

    #[inline]
    fn is_free(&self) -> bool {
        self.granted.is_empty() && !self.is_awaited()
    }

    #[inline]
    fn rename(&mut self, Name(name): Name) {
        (self.name, self.recent) = (name, 0);
    }
}

/// Returns the name of a mode in reports, as a mode of a certain target. A gap has no nodes below it: a transaction
/// that holds it in an intention mode inserts into it.
fn name(mode: Mode, target: &LockTarget) -> &'static str {
    let is_lower =
        matches!(target, LockTarget::Table { part, .. } if !matches!(part, LockPart::Whole | LockPart::Page(_)));
    match mode {
        Mode::IX | Mode::SIX if is_lower => "insert",
        mode => mode.name(),
    }
}

impl Head {
    /// Notes whether a request met latch contention. Returns whether the lock is hot: of the last requests, at least
    /// `least` met contention.
    #[inline]
    pub(super) fn note(&mut self, met_contention: bool, least: u32) -> bool {
        self.recent = self.recent << 1 | u32::from(met_contention);
        if self.recent == 0 { least == 0 } else { self.recent.count_ones() >= least }
    }

    /// Returns the request by which `owner`'s transaction holds the lock, if it does.
    #[inline]
    pub(super) fn request_of(&self, owner: OwnerId) -> Option<RequestPtr> {
        let is_own = |request: &RequestPtr| {
            let state = request.state();
            state.owner == owner && state.held != Mode::None
        };
        self.granted.iter().copied().find(is_own)
    }

    /// Whether `goal` is compatible with what all transactions but `owner`'s hold. Inherited modes that conflict are
    /// taken away. `awaits` says that the request will wait if it must: no request is passed on then.
    #[inline]
    pub(super) fn admits(&mut self, owner: OwnerId, goal: Mode, awaits: bool) -> bool {
        if !awaits && self.modes.admit(goal) {
            return true;
        }
        let (mut admits, mut position) = (true, 0);
        while let Some(&request) = self.granted.get(position) {
            let state = request.state();
            if state.owner == owner && state.held != Mode::None {
                position += 1;
                continue;
            }
            let admitted = request.admits(goal, awaits);
            // Only the holder of the latch changes the mode.
            self.modes.remove(state.mode);
            self.modes.add(request.state().mode);
            match admitted {
                Admitted::Beside => position += 1,
                Admitted::Invalid => drop(self.granted.swap_remove(position)),
                Admitted::Not => (admits, position) = (false, position + 1),
            }
        }
        admits
    }

    /// Whether a request that waits conflicts with `goal`.
    #[inline]
    pub(super) fn waiters_conflict(&self, goal: Mode) -> bool {
        let Some(waiting) = &self.waiting else { return false };
        waiting.iter().any(|waiting| waiting.goal.conflicts(goal))
    }

    /// Whether any request waits.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| !waiting.is_empty())
    }

    /// Grants `owner` a request in mode `goal`. `converts` says that the request is linked already.
    #[inline]
    pub(super) fn grant(&mut self, owner: OwnerId, goal: Mode, converts: bool, request: RequestPtr) {
        if converts {
            self.modes.remove(request.state().mode);
        } else {
            self.granted.push(request);
        }
        self.modes.add(goal);
        request.set(State::granted(owner, goal, self.is_awaited()));
    }

    /// Returns the place in the queue at which a request belongs. Conversions stand before other requests.
    pub(super) fn place(&self, converts: bool) -> usize {
        let Some(waiting) = &self.waiting else { return 0 };
        if converts { waiting.iter().take_while(|waiting| waiting.converts).count() } else { waiting.len() }
    }

    /// Returns the blockers of a request at `place`. These are the requests that conflict with it, from the nearest one
    /// back to a request that waits for all before it; and if there is no such request, holders too. A blocker is left
    /// out if another one waits for it.
    pub(super) fn blockers(&self, owner: OwnerId, goal: Mode, place: usize) -> Blockers {
        let mut blockers = Blockers::new();
        let before = self.waiting.iter().flat_map(|waiting| waiting.range(..place)).rev();
        for request in before.filter(|request| request.goal.conflicts(goal)) {
            blockers.push(request.owner);
            if request.goal.conflicts_with_all() {
                return blockers;
            }
        }
        let states = self.granted.iter().map(|request| request.state());
        let holders = states.filter(|state| state.owner != owner && state.held.conflicts(goal));
        blockers.extend(holders.map(|state| state.owner));
        blockers
    }

    /// Puts a request in the queue.
    pub(super) fn enqueue(&mut self, place: usize, waiting: Waiting) {
        self.waiting.get_or_insert_default().insert(place, waiting);
    }

    /// Unlinks a granted request, and grants what can be granted then. Of the other granted requests only the
    /// references are read: their lines belong to the cores of their owners.
    #[inline]
    pub(super) fn unlink(&mut self, request: RequestPtr, wakes: &mut Wakes) {
        if self.granted[..] == [request] {
            self.granted.clear();
            self.modes = Modes::default();
        } else if let Some(position) = self.granted.iter().position(|granted| *granted == request) {
            self.granted.swap_remove(position);
            self.modes.remove(request.state().mode);
        }
        if self.is_awaited() {
            self.grant_front(wakes);
        }
    }

    /// Takes a request out of the queue. Returns `false` if it is not there, as it was granted.
    pub(super) fn withdraw(&mut self, owner: OwnerId, graph: &WaitGraph, wakes: &mut Wakes) -> bool {
        let Some(waiting) = &mut self.waiting else { return false };
        let Some(position) = waiting.iter().position(|waiting| waiting.owner == owner) else { return false };
        waiting.remove(position);
        self.grant_front(wakes);
        // If a request was granted, the first of the queue was withdrawn, and the positions begin anew.
        self.tell_blockers(position, graph, wakes);
        true
    }

    /// Grants the requests that can be granted, from the front.
    #[cold]
    fn grant_front(&mut self, wakes: &mut Wakes) {
        while let Some(front) = self.waiting.as_ref().and_then(|waiting| waiting.front()) {
            let (owner, goal) = (front.owner, front.goal);
            if !self.admits(owner, goal, true) {
                return;
            }
            let front = self.waiting.as_mut().and_then(|waiting| waiting.pop_front());
            let Waiting { converts, request, parked, .. } = front.expect("the front was just looked at");
            self.grant(owner, goal, converts, request);
            parked.grant();
            wakes.push(parked);
        }
    }

    /// Tells the wait-for graph the blockers of those requests from `place` on whose blockers can have changed. These
    /// are the requests up to the first that hides the requests before it from those behind it.
    pub(super) fn tell_blockers(&self, place: usize, graph: &WaitGraph, wakes: &mut Wakes) {
        let queue = self.waiting.iter().flat_map(|waiting| waiting.iter()).enumerate().skip(place);
        for (place, request) in queue {
            if graph.change(request.owner, &self.blockers(request.owner, request.goal, place)) {
                request.parked.alarm();
                wakes.push(request.parked.clone());
            }
            if request.goal.conflicts_with_all() {
                return;
            }
        }
    }

    /// Publishes in the wait-for graph that a request is about to wait at `place`.
    pub(super) fn publish(&self, place: usize, waiting: &Waiting, graph: &WaitGraph) {
        let Waiting { owner, mode, goal, target, parked, .. } = waiting;
        let queued = Queued { waiter: *owner, mode: name(*mode, target), target: target.clone(), parked };
        graph.publish(queued, &self.blockers(*owner, *goal, place));
    }

    /// Appends all waits for the lock.
    pub(super) fn waits(&self, labels: &Labels, waits: &mut Vec<LockWait>) {
        let queue = self.waiting.iter().flat_map(|waiting| waiting.iter());
        for (place, request) in queue.enumerate().filter(|(_, request)| labels.know(request.owner)) {
            let states = self.granted.iter().map(|granted| granted.state());
            let held = states.filter(|state| state.owner != request.owner && state.held.conflicts(request.goal));
            let before = self.waiting.iter().flat_map(|waiting| waiting.range(..place));
            let before = before.filter(|before| before.goal.conflicts(request.goal));
            waits.push(LockWait {
                waiter: labels.of(request.owner),
                target: request.target.clone(),
                mode: name(request.mode, &request.target),
                holders: held.map(|state| (labels.of(state.owner), name(state.held, &request.target))).collect(),
                before: before.map(|before| labels.of(before.owner)).collect(),
            });
        }
    }

    /// Whether a transaction holds the lock.
    pub(super) fn is_held(&self) -> bool {
        self.granted.iter().any(|request| request.state().held != Mode::None)
    }

    /// Returns the number of requests that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.as_ref().map_or(0, |waiting| waiting.len())
    }

    /// Checks that the modes of all granted requests are compatible, inherited ones included, and that no request waits
    /// that could be granted.
    pub(super) fn audit(&self) -> Result<(), String> {
        let states: SmallVec<[State; 8]> = self.granted.iter().map(|request| request.state()).collect();
        for (position, state) in states.iter().enumerate() {
            if !state.mode.covers(state.held) || state.mode == Mode::None {
                return Err(format!("lock {:x}: a granted request is in state {state:?}", self.name));
            }
            let other = states[..position].iter().find(|other| other.mode.conflicts(state.mode));
            if let Some(other) = other {
                return Err(format!("lock {:x}: {other:?} is granted beside {state:?}", self.name));
            }
        }
        let mut modes = Modes::default();
        states.iter().for_each(|state| modes.add(state.mode));
        if self.modes != modes && !self.modes.shared.contains(&u8::MAX) {
            return Err(format!("lock {:x}: {:?} are counted, and not {modes:?}", self.name, self.modes));
        }
        let Some(front) = self.waiting.as_ref().and_then(|waiting| waiting.front()) else { return Ok(()) };
        let is_blocker = |state: &State| state.owner != front.owner && state.held.conflicts(front.goal);
        if states.iter().any(is_blocker) {
            return Ok(());
        }
        Err(format!("lock {:x}: a request for {:?} waits that could be granted", self.name, front.goal))
    }
}
