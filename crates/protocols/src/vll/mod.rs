//! Very lightweight locking: `vll`.

use crate::shared::gate::Gate;
use crate::shared::planned::{Admission, Needs, Plan, PlannedRow, PlannedTransaction, Scene};
use crate::shared::range_locks::{Counted, PrefixCounters};
use hotrow_storage::{Database, RecordHeader};
use hotrow_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use hotrow_sync::{Arc, Latch, Waiter, Wake};
use hotrow_txn::{Abort, Accesses, EngineInfo, Intent, Isolation, Protocol, Scheduler, Statistics, WorkerId};
use std::collections::VecDeque;
use std::time::Duration;

/// The lock of a record: how many transactions have asked for it.
#[derive(Default)]
pub struct Counters {
    exclusive: AtomicU32,
    shared: AtomicU32,
}

impl RecordHeader for Counters {}

/// A record that is being unlinked.
const DEAD: u32 = u32::MAX;

/// Very lightweight locking.
pub struct Vll {
    shared: Arc<Shared>,
    gate: Arc<Gate>,
}

struct Shared {
    critical: Latch<Critical>,
}

#[derive(Default)]
struct Critical {
    queue: VecDeque<Arc<Node>>,
    prefixes: PrefixCounters,
}

struct Node {
    blocked: AtomicBool,
    waiter: Waiter,
}

impl Protocol for Vll {
    const INFO: EngineInfo = EngineInfo {
        name: "vll",
        summary: "very lightweight locking: two counters before each record, and a queue",
        source: "VLL §2.1",
        needs_accesses: true,
        scheduler: Scheduler::Planned,
        isolates: true,
        isolation: &[Isolation::ReadCommitted, Isolation::Serializable],
    };
    type Config = ();
    type Record = Counters;
    type Worker = ();
    type Transaction = PlannedTransaction<VllAdmission>;

    fn new(_config: ()) -> Self {
        Self { shared: Arc::new(Shared { critical: Latch::default() }), gate: Gate::new() }
    }

    fn worker(&self, _id: WorkerId) {}

    fn transaction(
        self: &Arc<Self>,
        database: &Arc<Database<Counters>>,
        _worker: &mut (),
        waiter: Waiter,
    ) -> Self::Transaction {
        let node = Arc::new(Node { blocked: AtomicBool::new(false), waiter: waiter.clone() });
        let admission = VllAdmission { shared: self.shared.clone(), node };
        PlannedTransaction::new(database, &self.gate, admission, waiter, Duration::from_secs(10))
    }
}

/// How a transaction asks for its locks.
pub struct VllAdmission {
    shared: Arc<Shared>,
    node: Arc<Node>,
}

// Relaxed, everywhere: the counters are touched in the critical section only.
const COUNTING: Ordering = Ordering::Relaxed;

fn count(counters: &Counters, intent: Intent) -> bool {
    let (exclusive, shared) = (counters.exclusive.load(COUNTING), counters.shared.load(COUNTING));
    match intent {
        Intent::Read => counters.shared.store(shared + 1, COUNTING),
        Intent::Write => counters.exclusive.store(exclusive + 1, COUNTING),
    }
    exclusive == 0 && (intent == Intent::Read || shared == 0)
}

fn discount(counters: &Counters, intent: Intent) {
    let counter = if intent == Intent::Read { &counters.shared } else { &counters.exclusive };
    counter.store(counter.load(COUNTING) - 1, COUNTING);
}

impl VllAdmission {
    fn leave(&self, scene: Scene<'_, Counters>, plan: &mut Plan<Counters>) {
        let mut critical = self.shared.critical.lock();
        for row in plan.rows.drain(..) {
            let Some(record) = scene.record_of(&row) else { continue };
            let counters = record.header();
            discount(counters, row.intent);
            let unused = counters.exclusive.load(COUNTING) == 0 && counters.shared.load(COUNTING) == 0;
            if unused && !record.is_present() {
                counters.exclusive.store(DEAD, COUNTING);
                plan.unused.push((row.table, record.ptr()));
            }
        }
        critical.prefixes.release(plan.prefixes.counted());
        plan.prefixes.clear();
        critical.queue.retain(|node| !Arc::ptr_eq(node, &self.node));
        let front = critical.queue.front().filter(|front| front.blocked.load(Ordering::Acquire)).cloned();
        if let Some(front) = &front {
            front.blocked.store(false, Ordering::Release);
        }
        drop(critical);
        if let Some(front) = front {
            front.waiter.wake();
        }
    }
}

impl Admission for VllAdmission {
    type Header = Counters;
    const NEEDS: Needs = Needs { records: true, partitions: false };

    fn admit(
        &mut self,
        scene: Scene<'_, Counters>,
        _accesses: &Accesses,
        plan: &mut Plan<Counters>,
        limit: Duration,
        statistics: &mut Statistics,
    ) -> Result<(), Abort> {
        let mut critical = self.shared.critical.lock();
        loop {
            let dead = |row: &PlannedRow<Counters>| {
                scene.record_of(row).is_some_and(|record| record.header().exclusive.load(COUNTING) == DEAD)
            };
            let Some(position) = plan.rows.iter().position(dead) else { break };
            drop(critical);
            plan.find_again(scene, position);
            critical = self.shared.critical.lock();
        }
        let mut free = true;
        for row in &plan.rows {
            let Some(record) = scene.record_of(row) else { continue };
            free &= count(record.header(), row.intent);
        }
        free &= critical.prefixes.request(plan.prefixes.counted()).unwrap_or(false);
        free |= critical.queue.is_empty();
        self.node.blocked.store(!free, Ordering::Release);
        critical.queue.push_back(self.node.clone());
        drop(critical);
        statistics.locks += plan.rows.len() as u64;
        if free {
            return Ok(());
        }
        let start = self.node.waiter.now();
        let wake = self.node.waiter.wait_until(Some(start.after(limit)), || !self.node.blocked.load(Ordering::Acquire));
        statistics.waits += 1;
        statistics.wait_ns += self.node.waiter.now().since(start).as_nanos() as u64;
        match wake {
            Wake::Ready => Ok(()),
            Wake::TimedOut | Wake::Cancelled => {
                self.leave(scene, plan);
                Err(if wake == Wake::TimedOut { Abort::Timeout } else { Abort::Cancelled })
            }
        }
    }

    fn add_row(&mut self, scene: Scene<'_, Counters>, plan: &mut Plan<Counters>, row: PlannedRow<Counters>) -> bool {
        let _critical = self.shared.critical.lock();
        let Some(record) = scene.record_of(&row) else { return false };
        let counters = record.header();
        let exclusive = counters.exclusive.load(COUNTING);
        let free = exclusive == 0 && (row.intent == Intent::Read || counters.shared.load(COUNTING) == 0);
        if free {
            count(counters, row.intent);
            plan.rows.push(row);
        }
        free
    }

    fn add_prefixes(&mut self, plan: &mut Plan<Counters>, locks: &[Counted], _partition: u16) -> bool {
        let mut critical = self.shared.critical.lock();
        let free = !critical.prefixes.would_conflict(plan.prefixes.counted(), locks);
        if free {
            let held = plan.prefixes.counted();
            let granted = critical.prefixes.request_more(held, locks);
            debug_assert_eq!(granted, Ok(true));
            plan.prefixes.append(locks);
        }
        free
    }

    fn release(&mut self, scene: Scene<'_, Counters>, plan: &mut Plan<Counters>, _statistics: &mut Statistics) {
        self.leave(scene, plan);
    }
}
