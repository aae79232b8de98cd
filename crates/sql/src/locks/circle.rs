//! Deadlock detection for the locks that are managed outside the engine: table locks and advisory locks.
//!
//! A session that begins to wait searches for a cycle of waits that leads back to it. It repeats the search while it
//! waits, since a wait in the engine may close a cycle later, and the engine's own deadlock detection does not see
//! these locks.
//!
//! **Definitions.** A wait for another session is *hard* if that session holds the lock, and *soft* if that session's
//! request only precedes the waiting one in a queue. A cycle with a soft wait is no deadlock if another order of the
//! queue breaks the cycle and closes no other one.
//!
//! **Invariants**
//!
//! 1. Only one session searches at a time, and a victim withdraws its request before the next session searches. So a
//!    cycle has one victim.
//! 2. A session that waits neither takes nor releases locks. So a cycle whose waits are all the same in two searches
//!    existed between them: a session is a victim only after it has found its cycle twice.
//!
//! **Cycles without a victim.** A session that has not begun yet in the engine has done nothing. If it holds tables
//! that a cycle waits for, it is [recalled](hotrow_sync::Waiter::recall): it releases them and starts its statement
//! again. So a session that changes definitions, while the engine keeps all other sessions off the database, gets the
//! tables of the sessions that wait to begin.
//!
//! **Waits without known blockers.** If an engine does not report blockers, a session that waits in it may wait for any
//! session in a transaction. A cycle that leads through such a wait is *uncertain*. The waits of a real deadlock last
//! until one of its sessions is aborted. So a session is aborted if it finds itself in an uncertain cycle whose waits
//! have all lasted for [`uncertain_wait`](crate::Config::uncertain_wait). Otherwise it continues to wait.

use super::deadlock;
use crate::SqlError;
use crate::locks::blocking::{Awaited, Blocked, Sessions};
use crate::session_entry::SessionEntry;
use crate::shared::Shared;
use crate::table_lock::Mode;
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Time, Waiter, Wake};
use hotrow_txn::Abort;
use std::cell::OnceCell;
use std::time::Duration;

/// The time from the first look to the second; each pause is twice the one before it.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// The longest pause between two looks, if `deadlock_timeout` says nothing.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The number of orders of queues that one look tries in order to open circles.
const TRIALS: usize = 256;

/// Waits until `granted` is set, or until `limit`, and searches for deadlocks meanwhile. If the session is the victim
/// of a deadlock, calls `withdraw`, which must remove the request from its queue unless it was granted before.
///
/// # Errors
/// 40P01 if the session is the victim of a deadlock, 40001 if it may have been in a deadlock for long. In both cases
/// the request was withdrawn.
pub(crate) fn wait(
    shared: &Shared,
    entry: &Arc<SessionEntry>,
    limit: Option<Time>,
    granted: &AtomicBool,
    withdraw: impl Fn(),
) -> Result<Wake, SqlError> {
    let waiter = &entry.waiter;
    let is_granted = || granted.load(Ordering::Acquire);
    if is_granted() {
        return Ok(Wake::Ready);
    }
    let has_passed = || limit.is_some_and(|limit| waiter.now() >= limit);
    if !entry.may_be_waited_for() || has_passed() {
        return Ok(waiter.wait_until(limit, is_granted));
    }
    let uncertain = shared.config.uncertain_wait;
    let longest =
        entry.client_info().deadlock_timeout.unwrap_or(LONGEST_PAUSE).clamp(FIRST_PAUSE, uncertain.max(FIRST_PAUSE));
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(error) = leave_circle(shared, entry, &withdraw)
            && !is_granted()
        {
            return Err(error);
        }
        let look = waiter.now().after(pause);
        pause = (pause * 2).min(longest);
        let wake = waiter.wait_until(Some(limit.map_or(look, |limit| limit.min(look))), is_granted);
        if wake != Wake::TimedOut || has_passed() {
            return Ok(wake);
        }
    }
}

/// Looks for a circle that leads through the session. If another order of a queue opens the circle, gives the queue
/// that order. Otherwise withdraws the session's request and returns the error for the victim. Returns `None` if the
/// session goes on waiting.
fn leave_circle(shared: &Shared, entry: &Arc<SessionEntry>, withdraw: &impl Fn()) -> Option<SqlError> {
    let _alone = shared.looks.lock().unwrap_or_else(|poison| poison.into_inner());
    let mut look = Look::new(shared);
    let me = look.node(entry)?;
    match look.settle(me, &mut Vec::new()) {
        Ok(moves) if !moves.is_empty() => {
            look.rearrange(&moves);
            None
        }
        Ok(_) => {
            let (now, long) = (entry.waiter.now(), shared.config.uncertain_wait);
            look.may_be_in_circle(me, |since| now.since(since) >= long).then(|| {
                withdraw();
                SqlError::from(Abort::Timeout)
            })
        }
        Err(circle) => {
            let again = Look::new(shared);
            if !again.has(&look, &circle) || look.recall(&circle) {
                return None;
            }
            let error = again.error(&look, &circle);
            withdraw();
            Some(error)
        }
    }
}

/// A session, by its place among those that a look has found.
type Node = usize;

/// A wait of one session for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edge {
    from: Node,
    to: Node,
    is_soft: bool,
}

/// A requirement on the order of a queue in which two sessions wait: `first` is to be served before `second`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Move {
    first: Node,
    second: Node,
}

/// A snapshot of all waits, as one session has read them.
struct Look<'d> {
    shared: &'d Shared,
    sessions: Sessions<'d>,
    waits: Vec<OnceCell<Option<Blocked>>>,
    trials: usize,
}

impl<'d> Look<'d> {
    fn new(shared: &'d Shared) -> Self {
        let sessions = Sessions::new(shared);
        let waits = sessions.entries.iter().map(|_| OnceCell::new()).collect();
        Self { shared, sessions, waits, trials: 0 }
    }

    fn node(&self, entry: &Arc<SessionEntry>) -> Option<Node> {
        self.sessions.entries.iter().position(|known| Arc::ptr_eq(known, entry))
    }

    fn entry(&self, node: Node) -> &Arc<SessionEntry> {
        &self.sessions.entries[node]
    }

    /// Returns the wait of a session if its blockers are certain, and `None` otherwise.
    fn wait(&self, node: Node) -> Option<&Blocked> {
        let wait = self.waits[node].get_or_init(|| self.sessions.wait_of(self.entry(node)));
        wait.as_ref().filter(|wait| wait.is_certain)
    }

    /// Whether a session may be in a circle of waits that are all old. A session whose blockers are unknown may wait
    /// for any session in a transaction.
    fn may_be_in_circle(&self, start: Node, is_old: impl Fn(Time) -> bool) -> bool {
        let mut reached = vec![false; self.sessions.entries.len()];
        let mut next = vec![start];
        while let Some(from) = next.pop() {
            let Some(wait) = self.sessions.wait_of(self.entry(from)).filter(|wait| is_old(wait.since)) else {
                continue;
            };
            for to in wait.blockers.iter().filter_map(|blocker| self.node(&blocker.entry)) {
                if !std::mem::replace(&mut reached[to], true) {
                    next.push(to);
                }
            }
        }
        reached[start]
    }

    /// Returns the waits of a session for others, as they would be after the moves.
    fn edges(&self, from: Node, moves: &[Move]) -> Vec<Edge> {
        let Some(wait) = self.wait(from) else { return Vec::new() };
        let has_queue = matches!(wait.awaited, Awaited::Table(_) | Awaited::Advisory(_));
        let is_soft = |holds: Option<&str>| has_queue && holds.is_none();
        let edge = |to: Node, is_soft: bool| Edge { from, to, is_soft };
        let found = wait.blockers.iter();
        let found = found.filter_map(|blocker| Some(edge(self.node(&blocker.entry)?, is_soft(blocker.holds))));
        let moved = moves.iter().any(|moved| {
            [moved.first, moved.second].iter().any(|&node| self.wait(node).is_some_and(|it| it.awaited == wait.awaited))
        });
        if !moved {
            return found.collect();
        }
        let mut edges: Vec<_> = found.filter(|edge| !edge.is_soft).collect();
        let order = self.order(&wait.awaited, moves).unwrap_or_default();
        let mode = order.iter().find(|(node, _)| *node == from).map_or(Mode::Shared, |(_, mode)| *mode);
        let before = order.iter().take_while(|(node, _)| *node != from);
        edges.extend(before.filter(|(_, other)| mode.conflicts(*other)).map(|&(node, _)| edge(node, true)));
        edges
    }

    /// Returns the requests that wait in the queue for `awaited`, in the queue's order.
    fn queue(&self, awaited: &Awaited) -> Vec<(Node, Mode)> {
        let waiting: Vec<(Waiter, Mode)> = match awaited {
            Awaited::Advisory(key) => self.shared.advisory.waiting(*key),
            Awaited::Table(address) => {
                let locks = self.sessions.entries.iter().filter_map(|entry| entry.tables.awaited());
                let lock = locks.map(|awaited| awaited.lock).find(|lock| Arc::as_ptr(lock).addr() == *address);
                lock.map(|lock| lock.waiting()).unwrap_or_default()
            }
            Awaited::Lock(_) | Awaited::Unknown => Vec::new(),
        };
        let node = |waiter: &Waiter| self.sessions.entries.iter().position(|entry| entry.waiter.is(waiter));
        waiting.into_iter().filter_map(|(waiter, mode)| Some((node(&waiter)?, mode))).collect()
    }

    /// Returns the order of a queue after the moves, with each request as near to its old place as they allow. Returns
    /// `None` if the moves contradict each other.
    fn order(&self, awaited: &Awaited, moves: &[Move]) -> Option<Vec<(Node, Mode)>> {
        let mut left = self.queue(awaited);
        let mut order = Vec::with_capacity(left.len());
        // The order is built from its end: the next is the last request that need not be served before any that is
        // left.
        while !left.is_empty() {
            let is_last = |node: Node| {
                let follows = |second: Node| left.iter().any(|&(other, _)| other == second);
                !moves.iter().any(|moved| moved.first == node && follows(moved.second))
            };
            let at = left.iter().rposition(|&(node, _)| is_last(node))?;
            order.push(left.remove(at));
        }
        order.reverse();
        Some(order)
    }

    /// Looks for moves after which no circle leads through `me`, or through a session that was moved.
    ///
    /// # Errors
    /// A circle for which no moves were found.
    fn settle(&mut self, me: Node, moves: &mut Vec<Move>) -> Result<Vec<Move>, Vec<Edge>> {
        let starts = std::iter::once(me).chain(moves.iter().flat_map(|moved| [moved.first, moved.second]));
        let Some(circle) = starts.into_iter().find_map(|start| self.circle(start, moves)) else {
            return Ok(moves.clone());
        };
        for edge in circle.iter().filter(|edge| edge.is_soft) {
            let moved = Move { first: edge.from, second: edge.to };
            self.trials += 1;
            if self.trials > TRIALS || moves.contains(&moved) {
                continue;
            }
            moves.push(moved);
            let awaited = self.wait(edge.from).map(|wait| wait.awaited.clone());
            if awaited.is_some_and(|awaited| self.order(&awaited, moves).is_some())
                && let Ok(settled) = self.settle(me, moves)
            {
                return Ok(settled);
            }
            moves.pop();
        }
        Err(circle)
    }

    /// Returns the shortest circle of waits through a session, or `None` if there is none.
    fn circle(&self, start: Node, moves: &[Move]) -> Option<Vec<Edge>> {
        let mut reached: Vec<Option<Edge>> = vec![None; self.sessions.entries.len()];
        let mut next = std::collections::VecDeque::from([start]);
        while let Some(from) = next.pop_front() {
            for edge in self.edges(from, moves) {
                if edge.to == start {
                    let mut circle = vec![edge];
                    let mut at = edge.from;
                    while let Some(edge) = reached[at].filter(|_| at != start) {
                        circle.push(edge);
                        at = edge.from;
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if reached[edge.to].is_none() {
                    reached[edge.to] = Some(edge);
                    next.push_back(edge.to);
                }
            }
        }
        None
    }

    /// Puts the queues into the order that the moves ask for.
    fn rearrange(&self, moves: &[Move]) {
        let mut done: Vec<&Awaited> = Vec::new();
        for awaited in moves.iter().filter_map(|moved| Some(&self.wait(moved.first)?.awaited)) {
            if done.contains(&awaited) {
                continue;
            }
            done.push(awaited);
            let order = self.order(awaited, moves).unwrap_or_default();
            let order: Vec<_> = order.into_iter().map(|(node, _)| self.entry(node).waiter.clone()).collect();
            match awaited {
                Awaited::Advisory(key) => self.shared.advisory.reorder(*key, &order),
                Awaited::Table(_) => {
                    let first =
                        moves.iter().find(|moved| self.wait(moved.first).is_some_and(|it| it.awaited == *awaited));
                    let lock = first.and_then(|moved| self.entry(moved.first).tables.awaited());
                    if let Some(lock) = lock.filter(|lock| Awaited::Table(Arc::as_ptr(&lock.lock).addr()) == *awaited) {
                        lock.lock.reorder(&order);
                    }
                }
                Awaited::Lock(_) | Awaited::Unknown => {}
            }
        }
    }

    /// Whether all waits of a circle that another look has found are still the same.
    fn has(&self, other: &Look<'_>, circle: &[Edge]) -> bool {
        circle.iter().all(|edge| {
            let (from, to) = (self.node(other.entry(edge.from)), self.node(other.entry(edge.to)));
            let (Some(from), Some(to), Some(before)) = (from, to, other.wait(edge.from)) else { return false };
            let same = self.wait(from).is_some_and(|now| (now.since, &now.awaited) == (before.since, &before.awaited));
            same && self.edges(from, &[]).iter().any(|now| now.to == to)
        })
    }

    /// Recalls sessions that block the cycle without having begun in the engine: a session that holds a table which a
    /// session of the cycle waits for, and the other sessions that hold the same table. Returns `false` if there is
    /// none.
    fn recall(&self, circle: &[Edge]) -> bool {
        let is_on_table = |edge: &&Edge| self.wait(edge.from).is_some_and(|it| matches!(it.awaited, Awaited::Table(_)));
        let Some(edge) = circle.iter().filter(is_on_table).find(|edge| self.entry(edge.to).waiter.recall()) else {
            return false;
        };
        for other in self.wait(edge.from).into_iter().flat_map(|wait| &wait.blockers) {
            other.entry.waiter.recall();
        }
        true
    }

    /// Returns the error for the victim, with each wait of the circle and the statements that the sessions run.
    fn error(&self, other: &Look<'_>, circle: &[Edge]) -> SqlError {
        let tables = self.shared.catalog().tables();
        let wait = |edge: &Edge| {
            let (waiter, blocker) = (other.entry(edge.from).pid(), other.entry(edge.to).pid());
            let (mode, target) = match other.wait(edge.from) {
                Some(wait) => (wait.mode.unwrap_or(Mode::Shared.name()), deadlock::awaited(&wait.awaited, &tables)),
                None => return String::new(),
            };
            format!("Process {waiter} waits for {mode} lock on {target}; blocked by process {blocker}.")
        };
        let runs = |edge: &Edge| {
            let entry = other.entry(edge.from);
            format!("Process {}: {}", entry.pid(), entry.doing().text)
        };
        let lines: Vec<_> = circle.iter().map(wait).chain(circle.iter().map(runs)).collect();
        SqlError::from(Abort::Deadlock).detail(lines.join("\n"))
    }
}
