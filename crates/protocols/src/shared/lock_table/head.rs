//! The heads of a bucket: the transactions that hold a name, and those that wait for it.

use super::{Name, OwnerId, WaitPolicy, Wakes};
use crate::shared::chain::{ChainedHead, HeadChain};
use crate::shared::mode::Mode;
use crate::shared::owners::Labels;
use crate::shared::parked::Parked;
use hotrow_sync::Arc;
use hotrow_txn::{LockTarget, LockWait};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// The heads of one bucket: one for each locked name that falls into the bucket.
pub(super) type Heads = HeadChain<Head>;

/// The head of a name in use: the transactions that hold it, and those that wait for it.
#[derive(Default)]
pub(super) struct Head {
    name: u64,
    granted: SmallVec<[Granted; 3]>,
    #[expect(clippy::box_collection, reason = "a bucket is one cache line, and rarely has waiters")]
    waiting: Option<Box<VecDeque<Waiting>>>,
}

#[derive(Clone, Copy)]
struct Granted {
    owner: OwnerId,
    mode: Mode,
}

/// A request that waits.
pub(super) struct Waiting {
    pub(super) owner: OwnerId,
    /// The modes that the owner is to hold once the request is granted, with those that it holds already.
    pub(super) mode: Mode,
    pub(super) upgrade: bool,
    /// The thing that the name stands for, for reports.
    pub(super) target: LockTarget,
    pub(super) parked: Arc<Parked>,
}

/// The transactions that a request waits for.
pub(super) type Blockers = SmallVec<[OwnerId; 8]>;

impl Heads {
    /// Returns the modes in which `owner` holds a name.
    pub(super) fn held(&mut self, name: Name, owner: OwnerId) -> Mode {
        self.find(name).map_or(Mode::NONE, |head| head.holders(owner).0)
    }

    /// Returns the other transactions that hold a name, or wait for it before `owner`, which waits for it. Returns an
    /// empty list if `owner` does not wait for the name.
    pub(super) fn in_the_way(&mut self, name: Name, owner: OwnerId) -> Blockers {
        let Some(head) = self.find(name) else { return Blockers::new() };
        let mut queue = head.waiting.iter().flat_map(|waiting| waiting.iter());
        let place = queue.position(|waiting| waiting.owner == owner);
        place.map_or_else(Blockers::new, |place| head.everybody(owner, place))
    }

    /// Releases a name of a transaction that ends, or that was granted a lock which it does not want any more. Grants
    /// the requests that can be granted then, and appends their transactions to `wakes`.
    #[inline]
    pub(super) fn release(&mut self, name: Name, owner: OwnerId, wakes: &mut Wakes) {
        let Some(head) = self.find(name) else { return };
        head.granted.retain(|granted| granted.owner != owner);
        head.grant_waiting(wakes);
        self.tidy();
    }

    /// Releases a name of a transaction that goes on, as [`release`](Self::release) does. It may wait for other locks
    /// later, so the policy is also told the new blockers of the requests that still wait for the name.
    pub(super) fn release_early<P: WaitPolicy>(&mut self, name: Name, owner: OwnerId, policy: &P, wakes: &mut Wakes) {
        let Some(head) = self.find(name) else { return };
        head.granted.retain(|granted| granted.owner != owner);
        head.grant_waiting(wakes);
        if P::TRACKS {
            head.tell_blockers(0, policy, wakes);
        }
        self.tidy();
    }

    /// Takes a request out of the queue, and grants the requests that can be granted then. Returns `false` if the
    /// request is not in the queue, since it was granted.
    pub(super) fn withdraw<P: WaitPolicy>(
        &mut self,
        name: Name,
        owner: OwnerId,
        policy: &P,
        wakes: &mut Wakes,
    ) -> bool {
        let Some(head) = self.find(name) else { return false };
        let Some(waiting) = &mut head.waiting else { return false };
        let Some(position) = waiting.iter().position(|waiting| waiting.owner == owner) else { return false };
        waiting.remove(position);
        head.grant_waiting(wakes);
        if P::TRACKS {
            // If a request was granted, the first of the queue was withdrawn, and the positions begin anew.
            head.tell_blockers(position, policy, wakes);
        }
        self.tidy();
        true
    }

    /// Appends all waits of the bucket to `waits`, for reports. `labels` has the numbers under which reports name
    /// transactions.
    pub(super) fn waits(&self, labels: &Labels, waits: &mut Vec<LockWait>) {
        for head in self.heads() {
            let queue = head.waiting.iter().flat_map(|waiting| waiting.iter());
            for (place, request) in queue.enumerate().filter(|(_, request)| labels.know(request.owner)) {
                let held = head.granted.iter().filter(|held| held.owner != request.owner);
                let held = held.filter(|held| held.mode.conflicts(request.mode));
                let before = head.waiting.iter().flat_map(|waiting| waiting.range(..place));
                let before = before.filter(|before| before.mode.conflicts(request.mode));
                waits.push(LockWait {
                    waiter: labels.of(request.owner),
                    target: request.target.clone(),
                    mode: request.mode.name(),
                    holders: held.map(|held| (labels.of(held.owner), held.mode.name())).collect(),
                    before: before.map(|before| labels.of(before.owner)).collect(),
                });
            }
        }
    }

    /// Returns the number of names in use, and the number of waiting requests.
    pub(super) fn usage(&self) -> (usize, usize) {
        self.heads().fold((0, 0), |(names, waiting), head| {
            (names + usize::from(!head.is_free()), waiting + head.waiting.as_ref().map_or(0, |queue| queue.len()))
        })
    }
}

impl ChainedHead for Head {
    #[inline]
    fn is_of(&self, name: Name) -> bool {
        self.name == name.0 && !self.is_free()
    }

    #[inline]
    fn is_free(&self) -> bool {
        self.granted.is_empty()
    }

    #[inline]
    fn rename(&mut self, name: Name) {
        self.name = name.0;
    }
}

impl Head {
    /// Returns the modes that `owner` holds, and those that all other transactions hold together.
    #[inline]
    pub(super) fn holders(&self, owner: OwnerId) -> (Mode, Mode) {
        let mut modes = (Mode::NONE, Mode::NONE);
        for granted in &self.granted {
            if granted.owner == owner {
                modes.0 = granted.mode;
            } else {
                modes.1 = modes.1 | granted.mode;
            }
        }
        modes
    }

    #[inline]
    pub(super) fn waiters_conflict(&self, mode: Mode) -> bool {
        let Some(waiting) = &self.waiting else { return false };
        waiting.iter().any(|waiting| waiting.mode.conflicts(mode))
    }

    #[inline]
    pub(super) fn grant(&mut self, owner: OwnerId, mode: Mode, upgrade: bool) {
        if !upgrade {
            self.granted.push(Granted { owner, mode });
            return;
        }
        let own = self.granted.iter_mut().find(|granted| granted.owner == owner);
        own.expect("an upgrade has a granted request").mode = mode;
    }

    /// Returns the place in the queue at which a request belongs. Upgrades stand before other requests.
    pub(super) fn place(&self, upgrade: bool) -> usize {
        let Some(waiting) = &self.waiting else { return 0 };
        if upgrade { waiting.iter().take_while(|waiting| waiting.upgrade).count() } else { waiting.len() }
    }

    /// Returns the blockers of a request at `place`. These are the requests that conflict with it, from the nearest one
    /// back to a request that waits for all before it; and if there is no such request, holders too. A blocker is left
    /// out if another one waits for it.
    pub(super) fn blockers(&self, owner: OwnerId, mode: Mode, place: usize) -> Blockers {
        let mut blockers = Blockers::new();
        let before = self.waiting.iter().flat_map(|waiting| waiting.range(..place)).rev();
        for request in before.filter(|request| request.mode.conflicts(mode)) {
            blockers.push(request.owner);
            if request.mode.conflicts_with_all() {
                return blockers;
            }
        }
        let holders = self.granted.iter().filter(|held| held.owner != owner && held.mode.conflicts(mode));
        blockers.extend(holders.map(|held| held.owner));
        blockers
    }

    /// Returns all other holders of the name, and all transactions that wait before `place`.
    pub(super) fn everybody(&self, owner: OwnerId, place: usize) -> Blockers {
        let before = self.waiting.iter().flat_map(|waiting| waiting.range(..place));
        let holders = self.granted.iter().filter(|held| held.owner != owner);
        before.map(|request| request.owner).chain(holders.map(|held| held.owner)).collect()
    }

    /// Puts a request in the queue.
    pub(super) fn enqueue(&mut self, place: usize, request: Waiting) {
        self.waiting.get_or_insert_default().insert(place, request);
    }

    /// Grants the requests that can be granted, from the front.
    #[inline]
    fn grant_waiting(&mut self, wakes: &mut Wakes) {
        if self.waiting.is_some() {
            self.grant_front(wakes);
        }
    }

    #[cold]
    fn grant_front(&mut self, wakes: &mut Wakes) {
        loop {
            let Some(front) = self.waiting.as_ref().and_then(|waiting| waiting.front()) else { return };
            let (owner, mode, upgrade) = (front.owner, front.mode, front.upgrade);
            if mode.conflicts(self.holders(owner).1) {
                return;
            }
            self.grant(owner, mode, upgrade);
            let granted = self.waiting.as_mut().and_then(|waiting| waiting.pop_front());
            let parked = granted.expect("the front was just looked at").parked;
            parked.grant();
            wakes.push(parked);
        }
    }

    /// Tells the policy the blockers of the requests from `place` on, up to the first request that conflicts with all
    /// modes: the blockers of requests behind that one have not changed. Transactions that must look for a deadlock are
    /// added to `wakes`.
    pub(super) fn tell_blockers<P: WaitPolicy>(&self, place: usize, policy: &P, wakes: &mut Wakes) {
        let queue = self.waiting.iter().flat_map(|waiting| waiting.iter()).enumerate().skip(place);
        for (place, request) in queue {
            if policy.blockers_changed(request.owner, &self.blockers(request.owner, request.mode, place)) {
                request.parked.alarm();
                wakes.push(request.parked.clone());
            }
            if request.mode.conflicts_with_all() {
                return;
            }
        }
    }
}

#[cfg(all(test, not(shuttle)))]
impl Heads {
    /// Returns the places where transactions wait for the bucket's first name.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Arc<Parked>> {
        self.first().waiting.iter().flat_map(|waiting| waiting.iter()).map(|waiting| &waiting.parked)
    }
}
