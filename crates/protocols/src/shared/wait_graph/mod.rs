//! The wait-for graph of transactions, whose edges are stored at the transactions that wait.
//!
//! **Source.** ORTHRUS §4, *wait-for graph*: edges are added only on conflict, and each transaction's edges are a
//! partition of their own; there is no latch for the graph.
//!
//! **Definitions.** A *node* is a transaction in flight, known by its owner's number; its latch protects the edges that
//! leave it. An *edge* leads from a request that waits to one of its blockers, as
//! [`WaitPolicy`](super::lock_table::WaitPolicy) defines them. It names the blocker by owner and by the number of the
//! owner's transaction, which grows with each: an edge to an earlier one leads nowhere. A *turn* is a number, greater
//! than all before it, that a waiting transaction takes.
//!
//! **Invariants**
//!
//! 1. *Edges are exact.* A request's edges are replaced under its bucket's latch when a blocker goes that lives on, and
//!    lead nowhere once their blocker is over. A node whose request was granted has none, whether or not its owner
//!    knows: a transaction that looks at the node looks at the flag that the granter set.
//! 2. *Edges lead to all blockers*, at once or through others: a blocker is left out only for one that waits for it.
//! 3. *A turn comes after the edges.* A transaction that waits publishes its edges, tells the transactions they lead to
//!    that they are waited for, takes its turn, and then looks for cycles. If it comes to wait for a new transaction it
//!    loses its turn and is alarmed, and does so again.
//! 4. *Nodes are latched one at a time*, but by the transaction that takes the blame for a cycle: it latches the
//!    cycle's nodes in the order of their owners.
//!
//! **What closes a cycle.** A request that is queued, and a request whose edges are replaced because one before it was
//! withdrawn, or an upgrade put there: that one hid, or now hides, from it what they both wait for. Nothing else makes
//! a transaction wait for another. What is granted at once conflicts with no waiting request, and what is granted from
//! the queue was in the way before.
//!
//! **Every deadlock is found, once.** In a cycle in which no transaction moves any more one transaction has taken the
//! last turn. The others' edges of the cycle were published before it looked, by 3, so it finds the cycle when it looks
//! only at transactions whose turns came before. No other transaction finds it, so the victim is the transaction that
//! closed the cycle, and the only one however many cycles it closed. It may skip looking while it has not been told
//! that it is waited for, since the transaction before it in the cycle told it so before its own, earlier turn.
//!
//! **No transaction is blamed for nothing.** A cycle's nodes are latched together and looked at once more. While the
//! latches are held no edge of them is replaced, and transactions whose flags are not set at the end have waited all
//! the time. The victim's edges are taken away under these latches.

use super::lock_table::{OwnerId, Queued};
use super::parked::Parked;
use super::per_owner::PerOwner;
use hotrow_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use hotrow_sync::{Arc, CachePadded, Latch, LatchGuard};
use hotrow_txn::{Deadlock, LockTarget, WaitsFor};
use smallvec::SmallVec;

/// The wait-for graph. Any thread may call any method for the transaction that it runs, and [`change`](Self::change)
/// under the latch of the bucket at which the transaction waits.
pub(crate) struct WaitGraph {
    nodes: PerOwner<CachePadded<Node>>,
    /// The number of times that a transaction has begun to wait, or to wait for a new transaction.
    turns: CachePadded<AtomicU64>,
}

/// A transaction, identified by its transaction object (the owner) and its number among the object's transactions. The
/// first one has the number 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InFlight {
    pub(crate) owner: OwnerId,
    pub(crate) number: u64,
}

pub(crate) type Edges = SmallVec<[InFlight; 4]>;

#[derive(Default)]
struct Node {
    number: AtomicU64,
    label: AtomicU32,
    wait: Latch<Wait>,
}

#[derive(Default)]
struct Wait {
    /// The number of the last transaction that another one waited for.
    waited_for: u64,
    /// The place where the owner waits, or `None` if it does not wait.
    parked: Option<Arc<Parked>>,
    edges: Edges,
    /// The turn of the transaction, once all its blockers have been told, and zero before.
    turn: u64,
    mode: &'static str,
    target: Option<LockTarget>,
}

/// A cycle of waits: each transaction waits for the next, and the last for the first.
type Cycle = SmallVec<[InFlight; 4]>;

impl WaitGraph {
    pub(crate) fn new() -> Self {
        Self { nodes: PerOwner::new(), turns: CachePadded::default() }
    }

    /// Begins a transaction of `owner`. `label` is the number under which reports name it.
    #[inline]
    pub(crate) fn begin(&self, owner: OwnerId, label: u32) {
        let node = self.nodes.get(owner);
        node.label.store(label, Ordering::Release);
        node.number.store(self.number(owner) + 1, Ordering::Release);
    }

    /// Returns the number of the owner's present or last transaction.
    #[inline]
    pub(crate) fn number(&self, owner: OwnerId) -> u64 {
        self.nodes.get(owner).number.load(Ordering::Acquire)
    }

    fn in_flight(&self, owner: OwnerId) -> InFlight {
        InFlight { owner, number: self.number(owner) }
    }

    fn edges(&self, blockers: &[OwnerId]) -> Edges {
        blockers.iter().map(|&blocker| self.in_flight(blocker)).collect()
    }

    /// Publishes that a request waits for `blockers`. The caller has the latch of the request's bucket.
    pub(crate) fn publish(&self, request: Queued<'_>, blockers: &[OwnerId]) {
        let edges = self.edges(blockers);
        let mut wait = self.nodes.get(request.waiter).wait.lock();
        wait.edges = edges;
        wait.turn = 0;
        wait.mode = request.mode;
        wait.target = Some(request.target);
        wait.parked = Some(request.parked.clone());
    }

    /// Replaces the blockers of a request that waits. Returns whether there are new ones among them. The caller has the
    /// latch of the request's bucket.
    pub(crate) fn change(&self, waiter: OwnerId, blockers: &[OwnerId]) -> bool {
        let edges = self.edges(blockers);
        let mut wait = self.nodes.get(waiter).wait.lock();
        let has_new = edges.iter().any(|edge| !wait.edges.contains(edge));
        wait.edges = edges;
        if has_new {
            wait.turn = 0;
        }
        has_new
    }

    /// Removes the wait of `waiter`, which does not wait any more.
    pub(crate) fn clear(&self, waiter: OwnerId) {
        self.nodes.get(waiter).wait.lock().parked = None;
    }

    /// Returns the transactions that `waiter` waits for directly, or none if its request was granted.
    pub(crate) fn blockers(&self, waiter: OwnerId) -> Edges {
        self.nodes.get(waiter).wait.lock().live_edges().iter().copied().collect()
    }

    /// Returns the place where `owner` waits, or `None` if it does not wait.
    pub(crate) fn parked(&self, owner: OwnerId) -> Option<Arc<Parked>> {
        self.nodes.get(owner).wait.lock().parked.clone()
    }

    /// Marks the transactions that `waiter` waits for as waited for, and then takes a turn for `waiter`. Has no effect
    /// if `waiter` has a turn already.
    pub(crate) fn announce(&self, waiter: OwnerId) {
        let node = self.nodes.get(waiter);
        let mut announced = Edges::new();
        loop {
            let mut wait = node.wait.lock();
            if wait.turn != 0 {
                return;
            }
            // The transaction may have come to wait for others while its blockers were told.
            if wait.edges.iter().all(|edge| announced.contains(edge)) {
                wait.turn = self.turns.fetch_add(1, Ordering::AcqRel) + 1;
                return;
            }
            announced.clone_from(&wait.edges);
            drop(wait);
            for edge in &announced {
                let mut wait = self.nodes.get(edge.owner).wait.lock();
                wait.waited_for = wait.waited_for.max(edge.number);
            }
        }
    }

    /// Whether every transaction that waits, of so many owners, has its turn: each has looked for cycles since it came
    /// to wait for a new transaction.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn has_settled(&self, owners: usize) -> bool {
        let is_settled = |owner| {
            let wait = self.nodes.get(OwnerId(owner)).wait.lock();
            wait.turn != 0 || wait.live_edges().is_empty()
        };
        (0..owners as u32).all(is_settled)
    }

    /// Whether any transaction has waited for this one since it began. Otherwise it is in no cycle.
    pub(crate) fn is_waited_for(&self, waiter: OwnerId) -> bool {
        let wait = self.nodes.get(waiter).wait.lock();
        wait.waited_for == self.number(waiter)
    }

    /// Looks for cycles that `waiter` has closed. If there is one, makes `waiter` its victim, removes the victim's wait
    /// from the graph, and returns the deadlock.
    pub(crate) fn take_blame(&self, waiter: OwnerId) -> Option<Deadlock> {
        loop {
            let cycle = self.cycle(waiter)?;
            let deadlock = self.break_cycle(&cycle);
            if deadlock.is_some() {
                return deadlock;
            }
        }
    }

    /// Returns a shortest cycle through `waiter` of transactions whose turns came before its own, beginning with
    /// `waiter`, or `None` if there is none.
    fn cycle(&self, waiter: OwnerId) -> Option<Cycle> {
        let start = self.in_flight(waiter);
        let turn = self.nodes.get(waiter).wait.lock().turn;
        let mut reached: SmallVec<[(InFlight, usize); 16]> = SmallVec::from_elem((start, 0), 1);
        let mut visited = Visited::default();
        let mut next = 0;
        while let Some(&(from, _)) = reached.get(next) {
            for &edge in self.nodes.get(from.owner).wait.lock().edges_until(turn) {
                if edge == start {
                    return Some(path(&reached, next));
                }
                if self.is_running(edge) && visited.insert(edge.owner) {
                    reached.push((edge, next));
                }
            }
            next += 1;
        }
        None
    }

    /// Whether a transaction is not over, as far as the graph can tell: its owner has begun no other.
    pub(crate) fn is_running(&self, transaction: InFlight) -> bool {
        self.number(transaction.owner) == transaction.number
    }

    /// Makes the first transaction of the cycle its victim, if it is a cycle still, and removes the victim's wait from
    /// the graph. Returns `None` if it is no cycle any more.
    fn break_cycle(&self, cycle: &[InFlight]) -> Option<Deadlock> {
        let mut order: SmallVec<[usize; 4]> = (0..cycle.len()).collect();
        order.sort_unstable_by_key(|&position| cycle[position].owner);
        let latch = |position: usize| (position, self.nodes.get(cycle[position].owner).wait.lock());
        let mut latched: SmallVec<[(usize, LatchGuard<'_, Wait>); 4]> = order.into_iter().map(latch).collect();
        latched.sort_unstable_by_key(|(position, _)| *position);
        let turn = latched[0].1.turn;
        let next = |position: usize| cycle[(position + 1) % cycle.len()];
        let still = |(position, wait): &(usize, LatchGuard<'_, Wait>)| {
            self.is_running(cycle[*position]) && wait.edges_until(turn).contains(&next(*position))
        };
        if !latched.iter().all(still) {
            return None;
        }
        let label = |member: InFlight| self.nodes.get(member.owner).label.load(Ordering::Acquire);
        let edge = |(position, wait): &(usize, LatchGuard<'_, Wait>)| WaitsFor {
            waiter: label(cycle[*position]),
            target: wait.target.clone().unwrap_or(LockTarget::Database),
            mode: wait.mode,
            blocker: label(next(*position)),
        };
        let waits = latched.iter().map(edge).collect();
        latched[0].1.parked = None;
        Some(Deadlock { waits })
    }
}

impl Wait {
    /// Returns the edges of a request that waits. A request that has been granted does not wait, whether or not its
    /// owner knows.
    fn live_edges(&self) -> &[InFlight] {
        let waits = self.parked.as_ref().is_some_and(|parked| !parked.is_granted());
        if waits { &self.edges } else { &[] }
    }

    /// Returns the transaction's edges if its turn is at most `turn`, and none otherwise. Transactions with later turns
    /// look for their cycles themselves.
    fn edges_until(&self, turn: u64) -> &[InFlight] {
        if (1..=turn).contains(&self.turn) { self.live_edges() } else { &[] }
    }
}

/// Returns the path from the first transaction to the one at `position`.
fn path(reached: &[(InFlight, usize)], mut position: usize) -> Cycle {
    let mut path = Cycle::new();
    loop {
        let (member, before) = reached[position];
        path.push(member);
        if position == 0 {
            path.reverse();
            return path;
        }
        position = before;
    }
}

/// A set of owners, with a bit for each.
#[derive(Default)]
struct Visited(SmallVec<[u64; 8]>);

impl Visited {
    /// Adds an owner. Returns `false` if it was in the set already.
    fn insert(&mut self, owner: OwnerId) -> bool {
        let (word, bit) = (owner.0 as usize / 64, 1_u64 << (owner.0 % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests;
