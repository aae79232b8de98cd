//! The graph of transactions that follow other transactions.

use crate::shared::hashed::HashMap;
use crate::shared::parked::Parked;
use hotrow_sync::Arc;
use hotrow_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use hotrow_txn::LockTarget;
use smallvec::SmallVec;

/// The part of a transaction's state that other transactions change, if it has read or changed their uncommitted rows.
pub(super) struct Member {
    parked: Arc<Parked>,
    is_doomed: AtomicBool,
    /// The number of rows at which the transaction follows transactions in flight.
    leaders: AtomicUsize,
}

/// The state of a transaction with its number in the graph, or `None` if it is not in the graph.
#[derive(Clone, Copy)]
pub(super) struct Role<'p> {
    pub(super) member: &'p Member,
    pub(super) number: Option<u64>,
}

/// The graph of the transactions that *follow* others, or may be followed. A transaction follows another one if it has
/// read or changed a row that this one had changed and not committed: it commits only after its leader has.
#[derive(Default)]
pub(super) struct Graph {
    nodes: HashMap<u64, Node>,
    last: u64,
}

/// An edge of the graph: a transaction follows `leader`.
#[derive(Clone)]
pub(super) struct Edge {
    pub(super) leader: u64,
    /// A hash of the row at which the transaction follows, and the row for reports.
    pub(super) row: u64,
    pub(super) target: LockTarget,
}

struct Node {
    member: Arc<Member>,
    leaders: SmallVec<[Edge; 2]>,
    followers: SmallVec<[u64; 4]>,
}

impl Member {
    pub(super) fn new(parked: Arc<Parked>) -> Self {
        Self { parked, is_doomed: AtomicBool::new(false), leaders: AtomicUsize::new(0) }
    }

    #[inline]
    pub(super) fn is_doomed(&self) -> bool {
        self.is_doomed.load(Ordering::Acquire)
    }

    /// Returns the number of rows at which the transaction follows transactions in flight.
    pub(super) fn leaders(&self) -> usize {
        self.leaders.load(Ordering::Acquire)
    }

    /// Dooms the transaction: it can never commit, since a leader of it has not. Returns whether it was not doomed
    /// before. If so, the caller wakes it.
    pub(super) fn doom(&self) -> bool {
        let is_new = !self.is_doomed.swap(true, Ordering::AcqRel);
        if is_new {
            self.parked.alarm();
        }
        is_new
    }

    pub(super) fn wake(&self) {
        self.parked.wake();
    }

    /// Resets the state for the next transaction of the object. The last one is over, and its node has been removed
    /// from the graph.
    pub(super) fn reset(&self) {
        if self.is_doomed.swap(false, Ordering::AcqRel) {
            self.parked.reset();
        }
        self.leaders.store(0, Ordering::Release);
    }
}

impl Role<'_> {
    /// Whether the transaction is doomed.
    #[inline]
    pub(super) fn is_doomed(self) -> bool {
        self.number.is_some() && self.member.is_doomed()
    }
}

impl Graph {
    /// Adds a transaction to the graph, and returns its number, which was never used before.
    pub(super) fn add(&mut self, member: &Arc<Member>) -> u64 {
        self.last += 1;
        let node = Node { member: member.clone(), leaders: SmallVec::new(), followers: SmallVec::new() };
        self.nodes.insert(self.last, node);
        self.last
    }

    /// Makes a transaction follow another at a row from now on. Returns whether it did not follow it there before. The
    /// leader must not follow the follower.
    pub(super) fn follow(&mut self, follower: u64, leader: u64, row: u64, target: impl FnOnce() -> LockTarget) -> bool {
        let Some(node) = self.nodes.get_mut(&follower) else { return false };
        if node.leaders.iter().any(|edge| edge.leader == leader && edge.row == row) {
            return false;
        }
        let is_known = node.leaders.iter().any(|edge| edge.leader == leader);
        node.leaders.push(Edge { leader, row, target: target() });
        node.member.leaders.store(node.leaders.len(), Ordering::Release);
        if let Some(node) = self.nodes.get_mut(&leader).filter(|_| !is_known) {
            node.followers.push(follower);
        }
        true
    }

    /// Whether one transaction follows another, directly or through others.
    pub(super) fn follows(&self, follower: u64, leader: u64) -> bool {
        self.with_followers(leader)[1..].contains(&follower)
    }

    /// Returns a transaction and all that follow it, directly or through others.
    pub(super) fn with_followers(&self, number: u64) -> SmallVec<[u64; 8]> {
        let mut all = SmallVec::from_elem(number, 1);
        let mut next = 0;
        while let Some(number) = all.get(next) {
            let followers = self.nodes.get(number).map_or(&[][..], |node| &node.followers);
            let new: SmallVec<[u64; 8]> =
                followers.iter().copied().filter(|follower| !all.contains(follower)).collect();
            all.extend(new);
            next += 1;
        }
        all
    }

    pub(super) fn member(&self, number: u64) -> Option<&Arc<Member>> {
        Some(&self.nodes.get(&number)?.member)
    }

    /// Returns one of the edges from a transaction to its leaders, or `None` if it follows no transaction.
    pub(super) fn leader(&self, number: u64) -> Option<Edge> {
        self.nodes.get(&number)?.leaders.first().cloned()
    }

    /// Returns the transactions that follow `leader` at a row.
    pub(super) fn followers_at(&self, leader: u64, row: u64) -> SmallVec<[u64; 4]> {
        let followers = self.nodes.get(&leader).map_or(&[][..], |node| &node.followers);
        let is_at = |edge: &Edge| edge.leader == leader && edge.row == row;
        let follows = |follower: &&u64| self.nodes.get(*follower).is_some_and(|node| node.leaders.iter().any(is_at));
        followers.iter().filter(follows).copied().collect()
    }

    /// Returns the rows at which `follower`, or a transaction that it follows, follows `leader`.
    pub(super) fn rows_between(&self, leader: u64, follower: u64) -> SmallVec<[u64; 4]> {
        let followers = self.nodes.get(&leader).map_or(&[][..], |node| &node.followers);
        let between = followers.iter().filter(|&&next| next == follower || self.follows(follower, next));
        let edges = between.filter_map(|next| self.nodes.get(next)).flat_map(|node| &node.leaders);
        let mut rows: SmallVec<_> = edges.filter(|edge| edge.leader == leader).map(|edge| edge.row).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Removes a transaction that is over. Returns the transactions that followed it, which the caller wakes.
    pub(super) fn remove(&mut self, number: u64) -> Vec<Arc<Member>> {
        let Some(Node { leaders, followers, .. }) = self.nodes.remove(&number) else { return Vec::new() };
        for edge in leaders {
            if let Some(node) = self.nodes.get_mut(&edge.leader) {
                node.followers.retain(|follower| *follower != number);
            }
        }
        let mut members = Vec::new();
        for follower in followers {
            if let Some(node) = self.nodes.get_mut(&follower) {
                node.leaders.retain(|edge| edge.leader != number);
                node.member.leaders.store(node.leaders.len(), Ordering::Release);
                members.push(node.member.clone());
            }
        }
        members
    }
}
