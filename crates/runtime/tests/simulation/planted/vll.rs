//! A small engine of very lightweight locking with bugs to choose from, to see which check finds which.
//!
//! The engine stands on the engine without isolation, which reads, writes and undoes in place, and adds the mechanisms
//! of planned engines: counters and a queue for each of two partitions, intention locks above rows, late locks,
//! contention analysis. Everything happens under one mutex. A row's lock is known by its key. Above all rows of a
//! partition stands the partition's lock, on which a transaction that locks a row has an intention, and which scans
//! lock. With no bug the engine is serializable.

use super::{Planted, key_of, wait};
use hotrow_storage::{Key, RowMut, RowRef, TableId, TableSchema};
use hotrow_sync::{Arc, Mutex, MutexGuard, Waiter};
use hotrow_txn::{
    Abort, Accesses, Begin, Capabilities, Diagnostics, Engine, Holding, Intent, LockFor, Planned, RangeAccess, Scan,
    Transaction, Write, Yielding, forward, standard,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::time::Duration;

/// The bug of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Nothing.
    None,
    /// A transaction that gives up waiting leaves the queue, but its counters stay.
    WithdrawalKeepsCounters,
    /// A transaction that gives up waiting at the front of the queue does not unblock the next one.
    WithdrawalUnblocksNobody,
    /// A shared request does not look at C_X.
    ReadIgnoresWriters,
    /// A transaction that leaves unblocks the first blocked one, whether or not that is at the front of the queue.
    UnblocksBehindTheFront,
    /// A transaction that is unblocked is not woken.
    NobodyIsWoken,
    /// A late lock is granted whatever the counters say.
    LateInSpiteOfConflict,
    /// Contention analysis leaves out what free transactions hold.
    AnalysisSkipsTheFree,
    /// The first transaction that releases an absent row removes the row's counters, though others count on them.
    PlaceholderGoesWhileCounted,
    /// A transaction that locks a row takes no intention lock on the partition.
    NoIntention,
    /// A transaction enters one partition, waits for its locks, and enters the next one.
    PartitionsOneByOne,
    /// Of the partitions of a transaction that ends, only the first is told.
    FinishedIsLost,
}

/// The mode of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    Exclusive,
    Shared,
    IntendExclusive,
    IntendShared,
}

use Claim::{Exclusive, IntendExclusive, IntendShared, Shared};

impl Claim {
    fn conflicts(self, other: Claim) -> bool {
        match (self.min(other), self.max(other)) {
            (Exclusive, _) | (Shared, IntendExclusive) => true,
            (Shared | IntendExclusive | IntendShared, _) => false,
        }
    }

    fn covers(self, other: Claim) -> bool {
        self == other || self == Exclusive || (self, other) == (IntendExclusive, IntendShared)
    }
}

/// A row, or the whole partition.
type Name = Option<i64>;

type Request = (Name, Claim);

/// A transaction that has asked for its locks.
#[derive(Debug)]
struct Entry {
    owner: u64,
    is_blocked: bool,
    requests: BTreeSet<Request>,
}

/// Counters and queue of one partition.
#[derive(Debug, Default)]
struct Partition {
    counters: BTreeMap<Request, u32>,
    queue: Vec<Entry>,
}

const PARTITIONS: usize = 2;

fn partition_of(key: i64) -> usize {
    (key / 2) as usize % PARTITIONS
}

impl Partition {
    /// Whether a conflicting request is counted, apart from those of the holder of `own`.
    fn conflicts(&self, (name, claim): Request, own: Option<&BTreeSet<Request>>) -> bool {
        let others = |&other: &Request| {
            let counted = self.counters.get(&other).copied().unwrap_or_default();
            counted > u32::from(own.is_some_and(|own| own.contains(&other)))
        };
        [Exclusive, Shared, IntendExclusive, IntendShared]
            .into_iter()
            .any(|other| claim.conflicts(other) && others(&(name, other)))
    }

    fn enter(&mut self, owner: u64, requests: &BTreeSet<Request>, bug: Bug) {
        let looks = |&&(_, claim): &&Request| !(bug == Bug::ReadIgnoresWriters && claim == Shared);
        let is_blocked = requests.iter().filter(looks).any(|&request| self.conflicts(request, None));
        requests.iter().for_each(|&request| *self.counters.entry(request).or_default() += 1);
        self.queue.push(Entry { owner, is_blocked, requests: requests.clone() });
    }

    /// Adds a lock to those of a transaction that runs.
    fn add(&mut self, owner: u64, request: Request, bug: Bug) -> bool {
        let Some(position) = self.queue.iter().position(|entry| entry.owner == owner) else { return false };
        if self.conflicts(request, Some(&self.queue[position].requests)) && bug != Bug::LateInSpiteOfConflict {
            return false;
        }
        if self.queue[position].requests.insert(request) {
            *self.counters.entry(request).or_default() += 1;
        }
        true
    }

    /// Removes a transaction that has ended or given up. Returns the transactions that are unblocked by that.
    fn leave(&mut self, owner: u64, gives_up: bool, bug: Bug) -> Vec<u64> {
        let Some(position) = self.queue.iter().position(|entry| entry.owner == owner) else { return Vec::new() };
        let entry = self.queue.remove(position);
        if !(gives_up && bug == Bug::WithdrawalKeepsCounters) {
            entry.requests.iter().for_each(|&request| self.give_back(request, bug));
        }
        let mut freed = Vec::new();
        if gives_up && bug == Bug::WithdrawalUnblocksNobody {
            return freed;
        }
        let next = match bug {
            Bug::UnblocksBehindTheFront => self.queue.iter_mut().find(|entry| entry.is_blocked),
            _ => self.queue.first_mut().filter(|entry| entry.is_blocked),
        };
        if let Some(next) = next {
            next.is_blocked = false;
            freed.push(next.owner);
        }
        self.analyse(&mut freed, bug);
        freed
    }

    fn give_back(&mut self, request: Request, bug: Bug) {
        let Some(counter) = self.counters.get_mut(&request) else { return };
        *counter -= 1;
        if *counter == 0 || bug == Bug::PlaceholderGoesWhileCounted && request.0.is_some() {
            self.counters.remove(&request);
        }
    }

    /// Unblocks every transaction that conflicts with none before it.
    fn analyse(&mut self, freed: &mut Vec<u64>, bug: Bug) {
        let mut seen: Vec<Request> = Vec::new();
        for entry in &mut self.queue {
            let was_blocked = entry.is_blocked;
            if was_blocked && !entry.requests.iter().any(|request| meets(&seen, request)) {
                entry.is_blocked = false;
                freed.push(entry.owner);
            }
            if was_blocked || bug != Bug::AnalysisSkipsTheFree {
                seen.extend(&entry.requests);
            }
        }
    }

    fn audit(&self) -> Result<(), String> {
        let mut expected = BTreeMap::new();
        let mut held: Vec<Request> = Vec::new();
        for entry in &self.queue {
            entry.requests.iter().for_each(|&request| *expected.entry(request).or_default() += 1);
            if entry.is_blocked {
                continue;
            }
            if let Some(request) = entry.requests.iter().find(|request| meets(&held, request)) {
                return Err(format!("{} runs, and one before it has what {request:?} conflicts with", entry.owner));
            }
            held.extend(&entry.requests);
        }
        if expected != self.counters {
            return Err(format!("the counters are {:?}, the requests {expected:?}", self.counters));
        }
        match self.queue.first() {
            Some(front) if front.is_blocked => Err(format!("{} is the front, and blocked", front.owner)),
            _ => Ok(()),
        }
    }
}

fn meets(seen: &[Request], &(name, claim): &Request) -> bool {
    seen.iter().any(|&(other, theirs)| other == name && theirs.conflicts(claim))
}

/// All partitions.
#[derive(Default)]
struct Books {
    transactions: u64,
    partitions: [Partition; PARTITIONS],
    /// The waiters of the transactions that are in the queues, by their numbers.
    waiters: HashMap<u64, Waiter>,
}

impl Books {
    fn is_blocked(&self, owner: u64) -> bool {
        let mut entries = self.partitions.iter().flat_map(|partition| &partition.queue);
        entries.any(|entry| entry.owner == owner && entry.is_blocked)
    }
}

/// The engine.
pub struct Vll {
    bug: Bug,
    books: Arc<Mutex<Books>>,
}

impl Vll {
    pub fn new(bug: Bug) -> Self {
        Self { bug, books: Arc::default() }
    }
}

struct VllTransaction {
    inner: Box<dyn Transaction>,
    engine: Arc<dyn Engine>,
    bug: Bug,
    books: Arc<Mutex<Books>>,
    waiter: Waiter,
    /// The number of the transaction that is in the queues.
    owner: Option<u64>,
    /// Whether the transaction is a reconnaissance.
    looks: bool,
    requests: [BTreeSet<Request>; PARTITIONS],
    missing: Accesses,
}

fn books(books: &Mutex<Books>) -> MutexGuard<'_, Books> {
    books.lock().unwrap_or_else(|poison| poison.into_inner())
}

fn int(key: &Key) -> i64 {
    match key {
        Key::Int(int) => *int,
        other => panic!("{other:?} is not a key of this table"),
    }
}

impl VllTransaction {
    fn ask(&mut self, accesses: Option<&Accesses>) {
        self.requests = Default::default();
        let Some(accesses) = accesses else { return self.ask_whole(Exclusive) };
        for row in accesses.rows() {
            self.ask_row(int(&row.key), row.intent);
        }
        for range in accesses.ranges() {
            self.ask_whole(if range.intent == Intent::Write { Exclusive } else { Shared });
        }
    }

    fn ask_row(&mut self, key: i64, intent: Intent) {
        self.requests[partition_of(key)].extend(row_requests(key, intent, self.bug));
    }

    fn ask_whole(&mut self, claim: Claim) {
        self.requests.iter_mut().for_each(|requests| requests.extend([(None, claim)]));
    }

    fn enter(&mut self, limit: Option<Duration>) -> Result<(), Abort> {
        let mut locked = books(&self.books);
        locked.transactions += 1;
        let owner = locked.transactions;
        locked.waiters.insert(owner, self.waiter.clone());
        drop(locked);
        self.owner = Some(owner);
        let mut wanted: Vec<_> = (0..PARTITIONS).filter(|&at| !self.requests[at].is_empty()).collect();
        if self.bug == Bug::PartitionsOneByOne {
            // Each another one first.
            let first = owner as usize % wanted.len().max(1);
            wanted.rotate_left(first);
            return wanted.iter().try_for_each(|&at| self.enter_and_wait(owner, &[at], limit));
        }
        self.enter_and_wait(owner, &wanted, limit)
    }

    fn enter_and_wait(&self, owner: u64, wanted: &[usize], limit: Option<Duration>) -> Result<(), Abort> {
        let mut locked = books(&self.books);
        wanted.iter().for_each(|&at| locked.partitions[at].enter(owner, &self.requests[at], self.bug));
        drop(locked);
        wait(&self.waiter, limit, || !books(&self.books).is_blocked(owner))
    }

    /// Gives everything back.
    fn leave(&mut self) {
        let Some(owner) = self.owner.take() else { return };
        let mut locked = books(&self.books);
        let gives_up = locked.is_blocked(owner);
        let told = if self.bug == Bug::FinishedIsLost { 1 } else { PARTITIONS };
        let mut freed = Vec::new();
        for partition in locked.partitions.iter_mut().filter(|partition| partition.has(owner)).take(told) {
            freed.extend(partition.leave(owner, gives_up, self.bug));
        }
        locked.waiters.remove(&owner);
        let woken: Vec<_> = freed.iter().filter_map(|owner| locked.waiters.get(owner).cloned()).collect();
        drop(locked);
        if self.bug != Bug::NobodyIsWoken {
            woken.iter().for_each(Waiter::wake);
        }
    }

    /// Sees to it that a row may be touched.
    fn reach(&mut self, table: TableId, key: &Key, intent: Intent) -> Result<(), Abort> {
        if self.reach_all(partition_of(int(key)), &row_requests(int(key), intent, self.bug)) {
            return Ok(());
        }
        self.missing.push(table, key.clone(), intent);
        Err(Abort::OutsidePlan)
    }

    fn reach_all(&mut self, partition: usize, requests: &[Request]) -> bool {
        let Some(owner) = self.owner else { return self.looks };
        let whole = self.requests[partition].contains(&(None, Exclusive));
        let held = |request: &Request, held: &BTreeSet<Request>| {
            held.iter().any(|(name, claim)| *name == request.0 && claim.covers(request.1))
        };
        whole
            || requests.iter().all(|request| {
                let has = held(request, &self.requests[partition])
                    || books(&self.books).partitions[partition].add(owner, *request, self.bug);
                if has {
                    self.requests[partition].insert(*request);
                }
                has
            })
    }
}

fn row_requests(key: i64, intent: Intent, bug: Bug) -> Vec<Request> {
    let (above, row) = match intent {
        Intent::Read => (IntendShared, Shared),
        Intent::Write => (IntendExclusive, Exclusive),
    };
    let above = (bug != Bug::NoIntention).then_some((None, above));
    above.into_iter().chain([(Some(key), row)]).collect()
}

impl Partition {
    fn has(&self, owner: u64) -> bool {
        self.queue.iter().any(|entry| entry.owner == owner)
    }
}

impl Transaction for VllTransaction {
    forward!(inner: savepoint, rollback_to, takes_residual, statistics);

    fn begin(&mut self, begin: &Begin<'_>) -> Result<(), Abort> {
        self.missing.clear();
        self.looks = begin.reconnaissance;
        if !begin.reconnaissance {
            self.ask(begin.accesses);
            // Who looks at what is left when all is over is not to wait for ever for what a bug has kept.
            self.enter((!begin.one_shot).then_some(Duration::from_millis(10)))?;
        }
        self.inner.begin(begin)
    }

    fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.reach(table, key, Intent::Read)?;
        self.inner.read(table, key)
    }

    fn read_for_update(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.reach(table, key, Intent::Write)?;
        self.inner.read_for_update(table, key)
    }

    fn update(
        &mut self,
        table: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.reach(table, key, Intent::Write)?;
        self.inner.update(table, key, change)
    }

    fn insert(&mut self, table: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        let key = key_of(&*self.engine, table, row);
        self.reach(table, &key, Intent::Write)?;
        self.inner.insert(table, row)
    }

    fn delete(&mut self, table: TableId, key: &Key) -> Result<Write, Abort> {
        self.reach(table, key, Intent::Write)?;
        self.inner.delete(table, key)
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        let (intent, claim) = match scan.lock {
            LockFor::Read => (Intent::Read, Shared),
            _ => (Intent::Write, Exclusive),
        };
        if !(0..PARTITIONS).all(|partition| self.reach_all(partition, &[(None, claim)])) {
            let (lower, upper) = (scan.lower.clone(), scan.upper.clone());
            self.missing.push_range(RangeAccess { table: scan.table, index: scan.index, lower, upper, intent });
            return Err(Abort::OutsidePlan);
        }
        self.inner.scan(scan, visit)
    }

    fn commit(&mut self) -> Result<(), Abort> {
        self.inner.commit()?;
        self.leave();
        Ok(())
    }

    fn abort(&mut self) {
        self.inner.abort();
        self.leave();
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::PLANNED
    }
}

impl Holding for VllTransaction {
    forward!(inner: hold_reads, own_table, check_owned_table);
    standard!(hold_row);
}

impl Yielding for VllTransaction {
    forward!(inner: retire_writes, idle);
    standard!(give_way);
}

impl Planned for VllTransaction {
    forward!(inner: announce);

    fn schema_of(&mut self, table: TableId) -> Option<Arc<TableSchema>> {
        Some(self.engine.schema(table))
    }

    fn add_missing(&mut self, accesses: &mut Accesses) {
        accesses.extend(&self.missing);
    }
}

impl Diagnostics for VllTransaction {
    forward!(inner: deadlock, exclusion, prospect);
}

impl Drop for VllTransaction {
    fn drop(&mut self) {
        self.abort();
    }
}

impl Planted for Vll {
    fn audit(&self, _inner: &dyn Engine) -> Result<(), String> {
        let locked = books(&self.books);
        let mut entries = locked.partitions.iter().flat_map(|partition| &partition.queue);
        if let Some(entry) = entries.find(|entry| !locked.waiters.contains_key(&entry.owner)) {
            return Err(format!("{} is over, and in a queue", entry.owner));
        }
        locked.partitions.iter().try_for_each(Partition::audit)
    }

    fn transaction(&self, inner: &Arc<dyn Engine>, waiter: Waiter) -> Box<dyn Transaction> {
        Box::new(VllTransaction {
            inner: inner.transaction(waiter.clone()),
            engine: inner.clone(),
            bug: self.bug,
            books: self.books.clone(),
            waiter,
            owner: None,
            looks: false,
            requests: Default::default(),
            missing: Accesses::new(),
        })
    }
}
