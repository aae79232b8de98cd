//! Rows that go to the next writer before their own has committed.
//!
//! **Source.** Guo, Wu, Yan, Yu: Releasing Locks As Early As You Can: Reducing Contention of Hotspots by Violating
//! Two-Phase Locking (Bamboo), §3: retired locks, commits in their order, cascading aborts. That only rows are retired
//! which are found hot is as in Tencent's TXSQL (arXiv 2504.06854).
//!
//! **Definitions.** A transaction *retires* a row that it has changed and will not change again: it releases the row's
//! lock and leaves an *entry* in the row's *chain*, with the row as it was before. A transaction that locks a row whose
//! chain has entries *follows* the transaction of the last entry, its *leader*: it commits after its leader, and only
//! if the leader does. A *doomed* transaction has a leader that has not committed and never will. An entry of a
//! transaction that is doomed or was rolled back is *dead*.
//!
//! **Invariants**
//!
//! 1. The transaction that has the row's lock exclusively adds an entry, before it releases the lock. So the entries of
//!    a chain are in the order of the changes.
//! 2. *No transaction commits what is undone.* A transaction commits when it has no leaders left, and then its entries
//!    are the first of their chains. A transaction that rolls back dooms all that follow it, directly or not.
//! 3. Behind a dead entry all are dead: their transactions follow its own.
//! 4. *Followers form no cycle.* A transaction that would follow one of its own followers dooms that one first: the
//!    follower wrote after this transaction elsewhere, so it cannot come before it here. The same goes for a row that
//!    its own transaction locks again: the transactions behind it are doomed, and if it locks the row to write it, all
//!    that follow it there.
//! 5. *A dead entry is undone by the transaction that has the row's lock exclusively*, to the row as it was before the
//!    first dead entry. That is the transaction that comes to have the lock, or the one that releases it: it looks once
//!    more after that, and so do the transaction that rolls back and a transaction that gives up waiting for the lock.
//!    The last of them finds the entry dead and the lock free, or a third transaction has the lock, which looks as
//!    well. Each of them is a transaction in flight, so the row's table is still there.
//! 6. A record with entries is not unlinked: the transaction that deletes its row follows their transactions, and has
//!    undone those that are dead.
//!
//! **Which rows.** A row is *hot* while its heat is above zero. A wait for its lock adds to it; a row that was retired
//! in vain, as no transaction followed, takes from it. So where no transaction waits, none follows. A row was retired
//! *too early* if its writer then comes to a row that one of its followers had first (by chance the two went on in the
//! other order), or comes back to the row itself. Such a row becomes cold, and takes many waits to become hot again,
//! twice as many each time. So of the contended rows that transactions come to one after the other, the last ones are
//! retired.
//!
//! **How many.** A chain has at most so many entries as its place allows, which may be none; when it is full, the row
//! stays locked until the transaction ends, or an entry is gone. A follower that commits raises the number, one that is
//! doomed lowers it by twice as much. So the number settles where about a third of the followers fail, if it settles
//! below its most. Waits raise it to one entry again.
//!
//! **Read committed.** A transaction that follows keeps its read locks to its end, whatever its level: otherwise it
//! would see a row before its leader changes it, and another one after. A transaction that only reads such rows is
//! doomed with the others.
//!
//! **Cost.** While no row is retired, a lock costs a load of one word that no thread writes. Else it takes a look at
//! the row's place; a chain takes the mutex.

use super::followers::{Edge, Graph, Member, Role};
use super::held::HeldRecord;
use super::lock::RecordLock;
use super::waiting::{RecordOrName, RecordWait};
use crate::shared::deadlocks::Blocked;
use crate::shared::gaps::target;
use crate::shared::hashed::HashMap;
use crate::shared::parked::Parked;
use crate::shared::record;
use hotrow_storage::{Database, Garbage, Guard, Participant, RecordPtr, RecordRef, Row, TableId};
use hotrow_sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard};
use hotrow_txn::{Abort, EarlyReleaseStatistics, LockPart, LockTarget};
use smallvec::SmallVec;

/// The number of places for the heat of rows. Rows that share a place are hot together, and have one bound.
const PLACES: usize = 1024;

/// The amount that a wait adds to a row's heat.
const WAIT: i32 = 4;

/// The highest heat.
const HIGHEST: i32 = 16;

/// The number of waits that make a row hot again that was retired too early once. For each further time it doubles, up
/// to so many times.
const FORGIVES_AFTER: i32 = 64;
const MOST_LAPSES: u8 = 12;

/// The number of parts of an entry in which bounds are counted.
const PARTS: u32 = 8;

/// The bound of a chain, at first and, below, at most.
const FIRST_BOUND: u32 = 4 * PARTS;
const HIGHEST_BOUND: u32 = 64 * PARTS;

/// The retired rows of a database: rows whose locks were released before the transactions that changed them have
/// committed. Any thread may call any method.
pub(crate) struct RetiredRows<L> {
    places: Box<[Place]>,
    /// The number of entries of all chains, and that of places that are hot. While threads change them, they may be off
    /// by the number of these threads.
    entries: AtomicUsize,
    hot: AtomicUsize,
    /// The number of entries that there ever were, and that of transactions that followed one.
    retired_ever: AtomicU64,
    followed_ever: AtomicU64,
    state: Mutex<State<L>>,
}

/// The state of the rows that share a place.
struct Place {
    /// The number of entries in the chains of these rows.
    entries: AtomicU32,
    heat: AtomicI32,
    /// The number of times that a row was retired too early.
    lapses: AtomicU8,
    /// The most entries of one chain, in parts of an entry.
    bound: AtomicU32,
}

struct State<L> {
    chains: HashMap<RecordPtr<L>, Chain>,
    graph: Graph,
}

/// The chain of a record, which has at least one entry.
struct Chain {
    table: TableId,
    entries: Vec<Entry>,
}

/// A transaction's retired change of a row.
struct Entry {
    transaction: u64,
    before: Row,
    is_dead: bool,
    /// Whether a transaction has followed at this change.
    is_followed: bool,
}

/// A transaction's part in early release: the rows that it has retired, and its place among the transactions that
/// follow each other.
pub(super) struct Part<L> {
    member: Arc<Member>,
    /// The transaction's number, once it has retired a row or followed.
    number: Option<u64>,
    retired: Vec<RecordPtr<L>>,
    /// The places of the rows at which the transaction has followed others.
    followed: Vec<u64>,
    garbage: Vec<Garbage>,
}

/// A transaction that has not ended, and that another one follows: the other one commits only after it.
pub(super) struct Leader {
    pub(super) number: u64,
    /// A hash of the row at which the leader is followed, and the row for reports.
    pub(super) row: u64,
    pub(super) target: LockTarget,
    /// The number of rows at which the follower follows transactions that have not ended.
    pub(super) count: usize,
}

/// The state of a row's chain of uncommitted changes, as a transaction finds it that has just acquired the row's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The chain has no uncommitted changes but the transaction's own.
    Clean,
    /// The transaction follows a leader at this row.
    Followed,
    /// The chain has changes of transactions that cannot commit. They must be undone, under the exclusive lock.
    Dead,
}

impl<L> Default for RetiredRows<L> {
    fn default() -> Self {
        let place = |_| Place {
            entries: AtomicU32::new(0),
            heat: AtomicI32::new(0),
            lapses: AtomicU8::new(0),
            bound: AtomicU32::new(FIRST_BOUND),
        };
        let state = State { chains: HashMap::default(), graph: Graph::default() };
        Self {
            places: (0..PLACES).map(place).collect(),
            entries: AtomicUsize::new(0),
            hot: AtomicUsize::new(0),
            retired_ever: AtomicU64::new(0),
            followed_ever: AtomicU64::new(0),
            state: Mutex::new(state),
        }
    }
}

impl<L> Part<L> {
    pub(super) fn new(parked: &Arc<Parked>) -> Self {
        let member = Arc::new(Member::new(parked.clone()));
        Self { member, number: None, retired: Vec::new(), followed: Vec::new(), garbage: Vec::new() }
    }

    /// Returns the transaction's number, if it has one.
    #[inline]
    pub(super) fn number(&self) -> Option<u64> {
        self.number
    }

    #[inline]
    pub(super) fn role(&self) -> Role<'_> {
        Role { member: &self.member, number: self.number }
    }

    /// Whether the transaction is doomed: it can never commit.
    #[inline]
    pub(super) fn is_doomed(&self) -> bool {
        self.role().is_doomed()
    }

    /// Whether the transaction follows others that have not ended.
    #[inline]
    pub(super) fn follows(&self) -> bool {
        self.number.is_some() && self.member.leaders() > 0
    }

    /// Whether the transaction has released the lock of this record's row early.
    #[inline]
    pub(super) fn has_retired(&self, record: RecordPtr<L>) -> bool {
        self.retired.contains(&record)
    }

    /// Hands the memory that was replaced when changes were undone to the participant, which reclaims it later.
    #[inline]
    pub(super) fn reclaim(&mut self, participant: &mut Participant) {
        self.garbage.drain(..).for_each(|garbage| participant.retire(garbage));
    }
}

impl<L: RecordLock> RetiredRows<L> {
    fn state(&self) -> MutexGuard<'_, State<L>> {
        self.state.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    fn place(&self, row: u64) -> &Place {
        &self.places[row as usize % PLACES]
    }

    /// Whether any row may have retired changes that are not committed.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.entries.load(Ordering::Acquire) > 0
    }

    #[inline]
    fn is_any_at(&self, record: RecordPtr<L>) -> bool {
        self.is_any() && self.place(hash(record)).entries.load(Ordering::Acquire) > 0
    }

    /// Whether any row is hot: transactions wait for it so often that its lock is worth releasing early.
    #[inline]
    pub(super) fn is_any_hot(&self) -> bool {
        self.hot.load(Ordering::Acquire) > 0
    }

    /// Returns statistics of early release: the present numbers of hot places and of retired changes, and the total
    /// numbers of retired changes and of followers.
    pub(crate) fn statistics(&self) -> EarlyReleaseStatistics {
        EarlyReleaseStatistics {
            hot: self.hot.load(Ordering::Acquire) as u64,
            released: self.entries.load(Ordering::Acquire) as u64,
            released_ever: self.retired_ever.load(Ordering::Acquire),
            followed_ever: self.followed_ever.load(Ordering::Acquire),
        }
    }

    /// Notes that a transaction begins to wait for a row's lock, which makes the row hotter.
    pub(super) fn awaited(&self, record: RecordPtr<L>) {
        let row = hash(record);
        self.heat(row, |heat| (heat + WAIT).min(HIGHEST));
        let more = |bound| (bound < PARTS).then_some(bound + 1);
        let _ = self.place(row).bound.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
    }

    /// Makes a row cold that was retired too early.
    #[cold]
    fn cool(&self, row: u64) {
        let more = |lapses: u8| Some((lapses + 1).min(MOST_LAPSES));
        let lapses = self.place(row).lapses.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).unwrap_or_default();
        self.heat(row, |_| -((WAIT * FORGIVES_AFTER) << lapses));
    }

    fn heat(&self, row: u64, change: impl Fn(i32) -> i32) {
        let heated = |heat: i32| Some(change(heat)).filter(|&changed| changed != heat);
        let Ok(before) = self.place(row).heat.fetch_update(Ordering::AcqRel, Ordering::Acquire, heated) else { return };
        match (before > 0, change(before) > 0) {
            (false, true) => self.hot.fetch_add(1, Ordering::AcqRel),
            (true, false) => self.hot.fetch_sub(1, Ordering::AcqRel),
            _ => 0,
        };
    }

    /// Whether a row that the transaction has locked exclusively may be retired: it is hot, and not too many
    /// transactions have retired it already.
    pub(super) fn has_room(&self, part: &Part<L>, record: RecordPtr<L>) -> bool {
        let place = self.place(hash(record));
        if place.heat.load(Ordering::Acquire) <= 0 {
            return false;
        }
        let state = self.state();
        let entries = state.chains.get(&record).map_or(&[][..], |chain| &chain.entries);
        let is_own = entries.last().is_some_and(|last| Some(last.transaction) == part.number);
        is_own || (entries.len() as u32) < place.bound.load(Ordering::Acquire) / PARTS
    }

    /// Adds an entry for the transaction's change of a row to the row's chain. The transaction has locked the row
    /// exclusively, and releases the lock after this call. `before` is the row as it was before the transaction.
    pub(super) fn retire(&self, part: &mut Part<L>, row: HeldRecord<L>, before: Row) {
        let mut state = self.state();
        let State { chains, graph } = &mut *state;
        let transaction = part.enlist(graph);
        let chain = chains.entry(row.record).or_insert_with(|| Chain { table: row.table, entries: Vec::new() });
        if chain.entries.last().is_some_and(|last| last.transaction == transaction) {
            return;
        }
        chain.entries.push(Entry { transaction, before, is_dead: part.member.is_doomed(), is_followed: false });
        self.count(row.record, 1);
        self.retired_ever.fetch_add(1, Ordering::AcqRel);
        part.retired.push(row.record);
    }

    /// Counts entries that were added at a row's place, or removed there if `more` is negative.
    fn count(&self, record: RecordPtr<L>, more: i32) {
        self.place(hash(record)).entries.fetch_add(more as u32, Ordering::AcqRel);
        self.entries.fetch_add(more as usize, Ordering::AcqRel);
    }

    /// Dooms the transactions that have changed a row after this one has retired it. This transaction wants the row's
    /// lock again, or has it exclusively again. If `is_exclusive`, transactions that have only read the row are doomed,
    /// too, since this transaction may change what they have read.
    #[cold]
    pub(super) fn recall(&self, part: &Part<L>, record: RecordPtr<L>, is_exclusive: bool) {
        let Some(own) = part.number else { return };
        let mut state = self.state();
        let entries = state.chains.get(&record).map_or(&[][..], |chain| &chain.entries);
        let behind = entries.iter().skip_while(|entry| entry.transaction != own).skip(1);
        let mut fallen: SmallVec<[u64; 4]> = behind.map(|entry| entry.transaction).collect();
        if is_exclusive {
            fallen.extend(state.graph.followers_at(own, hash(record)));
        }
        let doomed: Vec<_> = fallen.into_iter().flat_map(|number| state.doom(number)).collect();
        drop(state);
        if !doomed.is_empty() {
            self.cool(hash(record));
        }
        wake(&doomed);
    }

    /// Decides what a row's chain means for a transaction that has come to have the row's lock: it follows the last
    /// entry's transaction, or undoes dead entries if it has the lock exclusively.
    ///
    /// # Errors
    /// [`Abort::Cascade`] if the transaction is doomed, and [`Abort::Timeout`] if it would follow another one, but
    /// refuses waits.
    #[inline]
    pub(super) fn found(
        &self,
        part: &mut Part<L>,
        table: TableId,
        record: RecordRef<'_, L>,
        (is_exclusive, refuses_waits): (bool, bool),
    ) -> Result<Found, Abort> {
        if !self.is_any_at(record.ptr()) {
            return Ok(Found::Clean);
        }
        let mut doomed = Vec::new();
        let found = self.look(part, table, record, (is_exclusive, refuses_waits), &mut doomed);
        wake(&doomed);
        found
    }

    #[cold]
    #[inline(never)]
    fn look(
        &self,
        part: &mut Part<L>,
        table: TableId,
        record: RecordRef<'_, L>,
        (is_exclusive, refuses_waits): (bool, bool),
        doomed: &mut Vec<Arc<Member>>,
    ) -> Result<Found, Abort> {
        let mut state = self.state();
        if part.is_doomed() {
            return Err(Abort::Cascade);
        }
        while let Some(last) = state.last_alive(record.ptr()) {
            let Some(own) = part.number.filter(|&own| last != own && state.graph.follows(last, own)) else { break };
            state.graph.rows_between(own, last).into_iter().for_each(|row| self.cool(row));
            doomed.extend(state.doom(last));
        }
        if state.table_of_dead(record.ptr()).is_some() {
            if !is_exclusive {
                return Ok(Found::Dead);
            }
            self.undo(&mut state, record, &mut part.garbage);
        }
        let State { chains, graph } = &mut *state;
        let last = chains.get_mut(&record.ptr()).and_then(|chain| chain.entries.last_mut());
        let Some(last) = last.filter(|last| Some(last.transaction) != part.number) else { return Ok(Found::Clean) };
        if refuses_waits {
            return Err(Abort::Timeout);
        }
        last.is_followed = true;
        let (own, row) = (part.enlist(graph), hash(record.ptr()));
        if !graph.follow(own, last.transaction, row, || target(table, LockPart::Row, &record.key())) {
            return Ok(Found::Clean);
        }
        self.followed_ever.fetch_add(1, Ordering::AcqRel);
        part.followed.push(row);
        Ok(Found::Followed)
    }

    /// Undoes the dead entries of a record that the caller has locked exclusively.
    fn undo(&self, state: &mut State<L>, record: RecordRef<'_, L>, garbage: &mut Vec<Garbage>) {
        let Some(Chain { entries, .. }) = state.chains.get_mut(&record.ptr()) else { return };
        let Some(first) = entries.iter().position(|entry| entry.is_dead) else { return };
        let replaced = record::replace(record, entries[first].before.as_ref());
        if !replaced.is_empty() {
            garbage.push(replaced.into_garbage());
        }
        self.count(record.ptr(), first as i32 - entries.len() as i32);
        entries.truncate(first);
        if entries.is_empty() {
            state.chains.remove(&record.ptr());
        }
    }

    /// Undoes the changes of a record whose transactions are doomed or were rolled back. The caller has released the
    /// record's lock, and takes it again for this. If another transaction has the lock by now, that one undoes the
    /// changes.
    #[inline]
    pub(super) fn settle(&self, part: &mut Part<L>, owner: &L::Owner, record: RecordRef<'_, L>) {
        while self.is_any_at(record.ptr()) && self.state().table_of_dead(record.ptr()).is_some() {
            if !record.header().take_free(owner, true) {
                return;
            }
            self.undo(&mut self.state(), record, &mut part.garbage);
            record.header().release(owner);
        }
    }

    /// Makes a row cold, because a transaction that waited for its leader at this row was the victim of a deadlock.
    pub(super) fn deadlocked(&self, row: u64) {
        self.cool(row);
    }

    /// Returns a transaction that this one follows and that has not ended, or `None` if there is none.
    ///
    /// # Errors
    /// [`Abort::Cascade`] if the transaction is doomed.
    pub(super) fn leader(&self, part: &Part<L>) -> Result<Option<Leader>, Abort> {
        let Some(number) = part.number else { return Ok(None) };
        let state = self.state();
        if part.member.is_doomed() {
            return Err(Abort::Cascade);
        }
        let leader =
            |Edge { leader, row, target }| Leader { number: leader, row, target, count: part.member.leaders() };
        Ok(state.graph.leader(number).map(leader))
    }

    /// Notes that the transaction has committed, with its changes in place, or was rolled back, except for the changes
    /// that it retired: [`settle_retired`](Self::settle_retired) undoes these. Wakes the transactions that follow it,
    /// and dooms them after a rollback.
    pub(super) fn decided(&self, part: &mut Part<L>, is_committed: bool) {
        let Some(number) = part.number.take() else { return };
        let mut state = self.state();
        let was_doomed = part.member.is_doomed();
        let mut doomed = Vec::new();
        match is_committed {
            true => self.committed(&mut state, number, part),
            false => doomed = state.doom(number),
        }
        let followers = state.graph.remove(number);
        drop(state);
        part.member.reset();
        for row in part.followed.drain(..) {
            let bound = |bound: u32| match (is_committed, was_doomed) {
                (true, _) => Some((bound + 1).min(HIGHEST_BOUND)),
                (false, true) => Some(bound.saturating_sub(2)),
                (false, false) => None,
            };
            let _ = self.place(row).bound.fetch_update(Ordering::AcqRel, Ordering::Acquire, bound);
        }
        wake(&doomed);
        wake(&followers);
    }

    /// Removes the entries of a transaction that has no leaders: they are the first of their chains.
    fn committed(&self, state: &mut State<L>, number: u64, part: &mut Part<L>) {
        for record in part.retired.drain(..) {
            let Some(Chain { entries, .. }) = state.chains.get_mut(&record) else { continue };
            debug_assert_eq!(entries.first().map(|first| first.transaction), Some(number), "it has no leaders");
            let entry = entries.remove(0);
            if entries.is_empty() {
                state.chains.remove(&record);
            }
            self.count(record, -1);
            self.heat(
                hash(record),
                |heat| if entry.is_followed { (heat + 1).min(HIGHEST) } else { heat - heat.signum() },
            );
        }
    }

    /// Undoes the retired changes of a transaction that was rolled back, where no other transaction has locked the row.
    #[inline]
    pub(super) fn settle_retired(
        &self,
        part: &mut Part<L>,
        owner: &L::Owner,
        database: &Database<L>,
        guard: Guard<'_>,
    ) {
        while let Some(record) = part.retired.pop() {
            // A transaction that has seen an entry under its guard has a record that stays allocated (invariant 6).
            let Some(table) = self.state().table_of_dead(record) else { continue };
            match database.table(guard, table) {
                Some(table) => self.settle(part, owner, record::deref(record, guard, table)),
                None => self.forget(record),
            }
        }
    }

    /// Removes the chain of a record whose table is gone.
    #[cold]
    fn forget(&self, record: RecordPtr<L>) {
        let entries = self.state().chains.remove(&record).map_or(0, |chain| chain.entries.len());
        self.count(record, -(entries as i32));
    }
}

impl<L> Part<L> {
    /// Returns the number of the transaction, which is added to the graph if it has none.
    fn enlist(&mut self, graph: &mut Graph) -> u64 {
        *self.number.get_or_insert_with(|| graph.add(&self.member))
    }
}

impl<L> State<L> {
    /// Returns the transaction of the last entry of a chain that is not dead.
    fn last_alive(&self, record: RecordPtr<L>) -> Option<u64> {
        self.chains.get(&record)?.entries.iter().rfind(|entry| !entry.is_dead).map(|entry| entry.transaction)
    }

    /// Returns the table of a record that has a dead entry, or `None` if it has none.
    fn table_of_dead(&self, record: RecordPtr<L>) -> Option<TableId> {
        let chain = self.chains.get(&record)?;
        chain.entries.iter().any(|entry| entry.is_dead).then_some(chain.table)
    }

    /// Dooms a transaction and all that follow it. Returns the transactions that were not doomed before, to be woken.
    fn doom(&mut self, number: u64) -> Vec<Arc<Member>> {
        let doomed = self.graph.with_followers(number);
        for entry in self.chains.values_mut().flat_map(|chain| &mut chain.entries) {
            entry.is_dead |= doomed.contains(&entry.transaction);
        }
        let members = doomed.iter().filter_map(|&number| self.graph.member(number));
        members.filter(|member| member.doom()).cloned().collect()
    }
}

/// Returns the hash of a record.
fn hash<L: RecordLock>(record: RecordPtr<L>) -> u64 {
    RecordWait::hash(RecordOrName::Record(record))
}

fn wake(members: &[Arc<Member>]) {
    members.iter().for_each(|member| member.wake());
}
