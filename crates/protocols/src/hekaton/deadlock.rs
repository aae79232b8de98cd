//! Deadlocks among transactions that wait before their end (§4.4).
//!
//! A transaction that begins to wait shows its read locks, and then looks for a cycle that it is part of. It has shut
//! its counter before, so from then on it waits for no new transaction: the transaction of a cycle that looks last sees
//! all of it. Transactions look one after the other, and the first one to find the cycle is its victim, and no other:
//! from that moment on it counts as one that does not wait.
//!
//! A transaction in a queue of writers waits for the queue's [holder](super::queues). A new holder is known to the
//! first of the queue, which may have been rolled back as a whole and hold nothing. So it looks for cycles of all that
//! stand there and hold something.
//!
//! The graph is gathered node by node while others go on, so a cycle that is found in it may be none. Each of its edges
//! is therefore looked at once more: those that were there twice, between transactions that wait, were there all the
//! time.

use super::database::Database;
use super::record;
use super::shared::Shared;
use super::tarjan;
use super::txn_id::TxnId;
use super::wait_for::Blocked;
use super::words::End;
use crate::shared::hashed::HashMap;
use hotrow_storage::Guard;
use hotrow_txn::{Deadlock, LockPart, LockTarget, WaitsFor};
use std::collections::VecDeque;

/// A node of the wait-for graph: a transaction that waits.
struct Node {
    id: TxnId,
    label: u32,
}

/// An edge of the wait-for graph: the transaction that waits, the one that it waits for, and the lock that it waits
/// for.
struct Edge {
    waiter: usize,
    blocker: usize,
    target: LockTarget,
    mode: &'static str,
}

/// The wait-for graph of the transactions that a search asks about.
struct Graph {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

impl Shared {
    /// Looks for a deadlock that `id`, a transaction that waits, is part of. If there is one, `id` is made its victim.
    pub(super) fn sentence(&self, id: TxnId, database: &Database, guard: Guard<'_>) {
        let _alone = self.detector.lock().unwrap_or_else(|poison| poison.into_inner());
        loop {
            let graph = Graph::gather(self, database, guard, None);
            let Some(cycle) = graph.cycle_of(id) else { return };
            let ids: Vec<_> = cycle.iter().map(|edge| graph.nodes[edge.waiter].id).collect();
            let again = Graph::gather(self, database, guard, Some(&ids));
            if again.has_ring(&ids) {
                let waits = cycle.into_iter().map(|edge| graph.waits_for(edge)).collect();
                return self.transactions.convict(id, Deadlock { waits });
            }
        }
    }

    /// Publishes in the transaction's slot that it waits, and what it holds meanwhile.
    pub(super) fn show(&self, blocked: Blocked) {
        let slot = self.transactions.slot_of(blocked.id);
        slot.waiting.lock().blocked = Some(blocked);
    }

    /// Removes the transaction's published wait. The transaction calls this before it gives up any lock.
    pub(super) fn withdraw(&self, me: TxnId) {
        self.transactions.slot_of(me).waiting.lock().blocked = None;
    }
}

impl Graph {
    /// Gathers the transactions that wait, only those in `only` if it is given, and the waits among them.
    fn gather(shared: &Shared, database: &Database, guard: Guard<'_>, only: Option<&[TxnId]>) -> Self {
        let mut nodes = Vec::new();
        for slot in shared.transactions.all() {
            let waiting = slot.waiting.lock();
            let is_wanted =
                |blocked: &&Blocked| blocked.victim.is_none() && only.is_none_or(|only| only.contains(&blocked.id));
            nodes.extend(
                waiting.blocked.iter().filter(is_wanted).map(|blocked| Node { id: blocked.id, label: blocked.label }),
            );
        }
        let places: HashMap<TxnId, usize> = nodes.iter().enumerate().map(|(at, node)| (node.id, at)).collect();
        let mut edges = Vec::new();
        for (blocker, node) in nodes.iter().enumerate() {
            let waiting = shared.transactions.slot_of(node.id).waiting.lock();
            // Under the latch: before it is withdrawn no lock is given up, so the versions are there.
            let Some(blocked) = waiting.blocked.as_ref().filter(|blocked| blocked.id == node.id) else { continue };
            if let Some((place, target)) = &blocked.at
                && let Some(holder) = shared.transactions.queues.holder(*place)
                && let Some(&holder) = places.get(&holder)
            {
                let (waiter, target) = (blocker, target.clone());
                edges.push(Edge { waiter, blocker: holder, target, mode: "exclusive" });
            }
            for behind in waiting.behind(node.id) {
                let (table, index) = behind.index;
                let target = LockTarget::Table { table, part: LockPart::Gap(index), key: None };
                edges.extend(places.get(&behind.id).map(|&waiter| Edge { waiter, blocker, target, mode: "insert" }));
            }
            for &(id, version) in &blocked.read_locks {
                let Some(table) = database.table(guard, id) else { continue };
                let version = record::deref(version, guard, table);
                let End::Locked(lock) = version.header().end() else { continue };
                if let Some(&waiter) = lock.writer.and_then(|writer| places.get(&writer)) {
                    let key = Some(table.key_of(version.row()));
                    let target = LockTarget::Table { table: id, part: LockPart::Row, key };
                    edges.push(Edge { waiter, blocker, target, mode: "exclusive" });
                }
            }
        }
        Self { nodes, edges }
    }

    /// Returns the edges of a cycle through `me`, beginning there, or `None` if there is no such cycle.
    fn cycle_of(&self, me: TxnId) -> Option<Vec<&Edge>> {
        let me = self.nodes.iter().position(|node| node.id == me)?;
        let mut successors = vec![Vec::new(); self.nodes.len()];
        self.edges.iter().for_each(|edge| successors[edge.waiter].push(edge.blocker));
        let components = tarjan::components(&successors);
        let inside =
            |edge: &&Edge| components[edge.waiter] == components[me] && components[edge.blocker] == components[me];
        // The shortest way back: by which edge each is reached first.
        let mut reached: HashMap<usize, &Edge> = HashMap::default();
        let mut open = VecDeque::from([me]);
        while let Some(node) = open.pop_front() {
            for edge in self.edges.iter().filter(inside).filter(|edge| edge.waiter == node) {
                reached.entry(edge.blocker).or_insert_with(|| {
                    open.push_back(edge.blocker);
                    edge
                });
            }
        }
        let mut cycle = vec![*reached.get(&me)?];
        while cycle[0].waiter != me {
            let before = reached[&cycle[0].waiter];
            cycle.insert(0, before);
        }
        Some(cycle)
    }

    /// Whether each of these waits for the next one, and the last one for the first.
    fn has_ring(&self, ids: &[TxnId]) -> bool {
        let waits_for = |waiter, blocker| {
            self.edges.iter().any(|edge| (self.nodes[edge.waiter].id, self.nodes[edge.blocker].id) == (waiter, blocker))
        };
        ids.iter().zip(ids.iter().cycle().skip(1)).all(|(&waiter, &blocker)| waits_for(waiter, blocker))
    }

    fn waits_for(&self, edge: &Edge) -> WaitsFor {
        let label = |node: usize| self.nodes[node].label;
        WaitsFor {
            waiter: label(edge.waiter),
            target: edge.target.clone(),
            mode: edge.mode,
            blocker: label(edge.blocker),
        }
    }
}
