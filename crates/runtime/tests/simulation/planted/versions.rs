//! A small multiversion engine with bugs to choose from, to see which check finds which.
//!
//! The engine keeps the versions of one table in a list, each with a begin and an end that are a time or a transaction.
//! It has the mechanisms of Hekaton: end timestamps, speculative reads and ignores with commit dependencies,
//! validation, redo records, collection. Everything happens under one mutex, except for two pauses of a transaction
//! that has its end timestamp: before it validates, and in the redo sink. With no bug the engine is serializable, as
//! far as scans of the primary key go. The engine without isolation lends it its tables' definitions.

use super::queues::Queues;
use super::{Planted, wait};
use crate::table::within;
use hotrow_storage::{
    Change, Duplicate, End, IndexId, IndexRef, Key, KeySpec, RedoSink, Row, RowMut, RowRef, TableId, TableSchema,
};
use hotrow_sync::{Arc, Mutex, MutexGuard, OnceLock, Waiter, Wake};
use hotrow_txn::{
    Abort, Begin, Capabilities, Diagnostics, Direction, Engine, Holding, LockFor, Planned, Savepoint, Scan, Statistics,
    Transaction, Write, Yielding, standard,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

/// The bug of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Nothing.
    None,
    /// A transaction that reads an uncommitted version takes on no dependency.
    NoDependencyOnReads,
    /// A transaction that ignores a version that is about to be replaced takes on no dependency.
    NoDependencyOnIgnores,
    /// A transaction that depends on an aborted one goes on.
    NoCascade,
    /// Dependents are not woken when the transaction that they depend on has ended.
    NobodyIsWoken,
    /// An end timestamp is drawn some time before the status says so.
    TimeBeforeStatus,
    /// Rows that were read are not validated.
    RowsNotValidated,
    /// Ranges and absent keys are not validated.
    RangesNotValidated,
    /// A version that another transaction is replacing is replaced all the same.
    LastWriterWins,
    /// An insert does not look for another insert that is not committed yet.
    InsertsSeeNobody,
    /// An abort leaves the write locks.
    AbortForgetsLocks,
    /// A version that a commit replaced ends a little late.
    EndsLate,
    /// A version is collected as soon as it has ended.
    CollectsWhatIsRead,
    /// A redo record is handed over before the transactions have committed that the transaction depends on.
    HandsOverEarly,
    /// Transactions that wait for a writer are not woken when it has ended.
    WritersAreNotWoken,
    /// When a writer's turn is over, the next writer in the queue is passed over, and the one after it has its turn.
    NextIsPassedOver,
}

/// The engine.
pub struct Versions {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Arc<dyn Engine>,
    bug: Bug,
    sink: OnceLock<Arc<dyn RedoSink>>,
    state: Mutex<State>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// A row's key in an index.
    fn key(&self, table: TableId, index: IndexRef, row: RowRef<'_>) -> Key {
        let schema = self.engine.schema(table);
        let spec = match index {
            IndexRef::Primary => KeySpec::new(&schema.columns, &schema.key),
            IndexRef::Secondary(IndexId(at)) => {
                KeySpec::bytes(&schema.columns, &schema.indexes[usize::from(at)].columns)
            }
        };
        spec.key(spec.parts().iter().map(|part| row.value(part.column)))
    }
}

impl Versions {
    /// `inner` lends its tables' definitions.
    pub fn new(inner: &Arc<dyn Engine>, bug: Bug) -> Self {
        let state = Mutex::new(State { clock: 1, ..State::default() });
        let shared = Shared { engine: inner.clone(), bug, sink: OnceLock::new(), state };
        Self { shared: Arc::new(shared) }
    }
}

/// The contents of a version's begin or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    At(u64),
    By(u64),
}

/// The begin of a version that never was, and the end of a version that is the latest.
const NEVER: Word = Word::At(u64::MAX);

struct Version {
    key: Key,
    row: Row,
    begin: Word,
    end: Word,
    is_collected: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Active,
    Preparing(u64),
}

/// A transaction that runs.
struct Running {
    status: Status,
    read_time: u64,
    /// The transactions whose commit this one waits for.
    depends_on: BTreeSet<u64>,
    /// Whether one of those has aborted.
    is_broken: bool,
    waiter: Waiter,
}

#[derive(Default)]
struct State {
    clock: u64,
    begun: u64,
    versions: Vec<Version>,
    running: BTreeMap<u64, Running>,
    queues: Queues,
}

/// A read that the transaction must find unchanged at its end.
enum Look {
    Row(usize),
    Keys(Bound<Key>, Bound<Key>),
}

impl State {
    fn depend(&mut self, me: u64, on: u64) {
        self.running.get_mut(&me).expect("it runs").depends_on.insert(on);
    }

    /// Returns the state of another transaction. A transaction that left its id behind is active for ever.
    fn status(&self, id: u64) -> Status {
        self.running.get(&id).map_or(Status::Active, |running| running.status)
    }

    /// Whether a transaction sees a version at a time.
    fn sees(&mut self, me: u64, at: usize, time: u64, bug: Bug) -> bool {
        let Version { begin, end, is_collected, .. } = self.versions[at];
        let has_begun = match begin {
            Word::At(begin) => begin <= time,
            Word::By(maker) if maker == me => true,
            Word::By(maker) => match self.status(maker) {
                Status::Preparing(begin) if begin <= time => {
                    if bug != Bug::NoDependencyOnReads {
                        self.depend(me, maker);
                    }
                    true
                }
                _ => false,
            },
        };
        has_begun
            && !is_collected
            && match end {
                Word::At(end) => time < end,
                Word::By(writer) if writer == me => false,
                Word::By(writer) => match self.status(writer) {
                    Status::Preparing(end) if end <= time => {
                        if bug != Bug::NoDependencyOnIgnores {
                            self.depend(me, writer);
                        }
                        false
                    }
                    _ => true,
                },
            }
    }

    /// The version of a row that a transaction sees. The latest comes first.
    fn find(&mut self, me: u64, key: &Key, time: u64, bug: Bug) -> Option<usize> {
        (0..self.versions.len()).rev().find(|&at| self.versions[at].key == *key && self.sees(me, at, time, bug))
    }

    /// Takes the write lock of a version.
    fn lock(&mut self, me: u64, at: usize, bug: Bug) -> Result<(), Abort> {
        match self.versions[at].end {
            NEVER => {}
            Word::By(_) if bug == Bug::LastWriterWins => {}
            _ => return Err(Abort::WriteConflict),
        }
        self.versions[at].end = Word::By(me);
        Ok(())
    }

    /// Adds a version that a transaction has made. Returns its place.
    fn add(&mut self, me: u64, key: Key, row: Row) -> usize {
        self.versions.push(Version { key, row, begin: Word::By(me), end: NEVER, is_collected: false });
        self.versions.len() - 1
    }

    /// Whether another version has a key; an error if that is not for this transaction to say.
    fn is_taken(&mut self, me: u64, key: &Key, bug: Bug) -> Result<bool, Abort> {
        let time = self.running[&me].read_time;
        let others: Vec<_> = (0..self.versions.len()).filter(|&at| self.versions[at].key == *key).collect();
        for at in others {
            if self.sees(me, at, time, bug) {
                return Ok(true);
            }
            let Version { begin, end, .. } = self.versions[at];
            let is_later = |word| matches!(word, Word::At(when) if when > time && when < u64::MAX);
            let is_others = |word| matches!(word, Word::By(id) if id != me);
            let is_undecided = is_others(begin) || is_others(end) || is_later(begin) || is_later(end);
            if is_undecided && bug != Bug::InsertsSeeNobody {
                return Err(Abort::WriteConflict);
            }
        }
        Ok(false)
    }

    /// Whether what a transaction has found is the same at its end.
    fn is_valid(&mut self, me: u64, look: &Look, read_time: u64, time: u64, bug: Bug) -> bool {
        match look {
            Look::Row(_) if bug == Bug::RowsNotValidated => true,
            Look::Row(at) => match self.versions[*at].end {
                Word::At(end) => time < end,
                Word::By(writer) => {
                    writer == me || !matches!(self.status(writer), Status::Preparing(end) if end < time)
                }
            },
            Look::Keys(..) if bug == Bug::RangesNotValidated => true,
            Look::Keys(lower, upper) => {
                let is_phantom = |version: &Version| {
                    let begin = match version.begin {
                        Word::At(begin) => begin,
                        Word::By(maker) if maker == me => u64::MAX,
                        Word::By(maker) => match self.status(maker) {
                            Status::Preparing(begin) => begin,
                            Status::Active => u64::MAX,
                        },
                    };
                    let ended = matches!(version.end, Word::At(end) if end <= time);
                    within(&version.key, lower, upper) && read_time < begin && begin < time && !ended
                };
                !self.versions.iter().any(is_phantom)
            }
        }
    }

    /// Tells those that depend on a transaction how it ended.
    fn tell(&mut self, id: u64, committed: bool, bug: Bug) {
        for other in self.running.values_mut() {
            if other.depends_on.remove(&id) {
                other.is_broken |= !committed && bug != Bug::NoCascade;
                if bug != Bug::NobodyIsWoken {
                    other.waiter.wake();
                }
            }
        }
    }

    fn collect(&mut self, bug: Bug) {
        let oldest = self.running.values().map(|running| running.read_time).min();
        let until = oldest.filter(|_| bug != Bug::CollectsWhatIsRead).unwrap_or(self.clock);
        for version in &mut self.versions {
            version.is_collected |= matches!(version.end, Word::At(end) if end <= until);
        }
    }

    /// Ids are of transactions that run, and lives of one key do not overlap.
    fn audit(&self) -> Result<(), String> {
        let mut lives: BTreeMap<&Key, Vec<(u64, u64)>> = BTreeMap::new();
        for version in &self.versions {
            for word in [version.begin, version.end] {
                if let Word::By(id) = word
                    && !self.running.contains_key(&id)
                {
                    return Err(format!("a version of {:?} names {id}, which is over", version.key));
                }
            }
            if let (Word::At(begin), end) = (version.begin, version.end)
                && version.begin != NEVER
            {
                let end = if let Word::At(end) = end { end } else { u64::MAX };
                lives.entry(&version.key).or_default().push((begin, end));
            }
        }
        for (key, lives) in &mut lives {
            lives.sort_unstable();
            if let Some(pair) = lives.windows(2).find(|pair| pair[0].1 > pair[1].0) {
                return Err(format!("lives of {key:?} overlap: {pair:?}"));
            }
        }
        Ok(())
    }
}

/// A version that was ended, and one that was made.
type Step = (Option<usize>, Option<usize>);

struct VersionsTransaction {
    shared: Arc<Shared>,
    waiter: Waiter,
    id: u64,
    /// The table that it has touched; there is one.
    table: Option<TableId>,
    log: Vec<Step>,
    looks: Vec<Look>,
    /// The row that was read last.
    row: Option<Row>,
    /// The row, and the transaction, that the last call found in its way.
    met: Option<(Key, u64)>,
    /// Where it has its turn.
    turn: Option<Key>,
    statistics: Statistics,
}

impl VersionsTransaction {
    fn is_running(&self) -> bool {
        self.shared.state().running.contains_key(&self.id)
    }

    /// The time of all reads. An error if the transaction is not to go on.
    fn read_time(&self) -> Result<u64, Abort> {
        match self.shared.state().running.get(&self.id) {
            None => Err(Abort::User),
            Some(running) if running.is_broken => Err(Abort::Cascade),
            Some(running) => Ok(running.read_time),
        }
    }

    fn look_up(&mut self, key: &Key) -> Result<Option<usize>, Abort> {
        let time = self.read_time()?;
        let found = self.shared.state().find(self.id, key, time, self.shared.bug);
        self.looks.push(match found {
            Some(at) => Look::Row(at),
            None => Look::Keys(Bound::Included(key.clone()), Bound::Included(key.clone())),
        });
        Ok(found)
    }

    fn make(&mut self, row: Row, old: Option<usize>) {
        let key = self.shared.key(self.table.expect("it writes to one"), IndexRef::Primary, row.as_ref());
        let new = self.shared.state().add(self.id, key, row);
        self.log.push((old, Some(new)));
    }

    fn lock(&mut self, at: usize) -> Result<(), Abort> {
        let mut state = self.shared.state();
        let Version { end, ref key, .. } = state.versions[at];
        self.met = if let Word::By(writer) = end { Some((key.clone(), writer)) } else { None };
        state.lock(self.id, at, self.shared.bug)
    }

    fn undo(&mut self, to: usize) {
        let mut state = self.shared.state();
        for (old, new) in self.log.drain(to..).rev() {
            if let Some(new) = new {
                state.versions[new].begin = NEVER;
            }
            if let Some(old) = old.filter(|&old| state.versions[old].end == Word::By(self.id))
                && self.shared.bug != Bug::AbortForgetsLocks
            {
                state.versions[old].end = NEVER;
            }
        }
    }

    /// Draws the end timestamp.
    fn prepare(&self) -> u64 {
        let mut state = self.shared.state();
        state.clock += 1;
        let time = state.clock;
        if self.shared.bug == Bug::TimeBeforeStatus {
            drop(state);
            self.waiter.pause(Duration::from_micros(20));
            state = self.shared.state();
        }
        state.running.get_mut(&self.id).expect("it runs").status = Status::Preparing(time);
        time
    }

    /// Waits until all have ended that the transaction depends on.
    fn wait_for_dependencies(&self) -> Result<(), Abort> {
        let has_heard = || {
            let state = self.shared.state();
            let own = &state.running[&self.id];
            own.is_broken || own.depends_on.is_empty()
        };
        wait(&self.waiter, Some(Duration::from_millis(10)), has_heard)?;
        if self.shared.state().running[&self.id].is_broken { Err(Abort::Cascade) } else { Ok(()) }
    }

    fn hand_over(&self, time: u64) {
        let (Some(sink), Some(table)) = (self.shared.sink.get(), self.table) else { return };
        let mut left = BTreeMap::new();
        let state = self.shared.state();
        for &(old, new) in &self.log {
            if let Some(at) = new.or(old) {
                let row = new.map(|new| state.versions[new].row.clone());
                left.insert(state.versions[at].key.clone(), row);
            }
        }
        drop(state);
        let change = |(key, row): (&Key, &'_ Option<Row>)| (key.clone(), row.clone());
        let left: Vec<_> = left.iter().map(change).collect();
        let mut changes = left.iter().map(|(key, row)| match row {
            Some(row) => Change::Put { table, row: row.as_ref() },
            None => Change::Delete { table, key: key.clone() },
        });
        sink.append(End::At(time), &mut changes, &self.waiter);
    }

    fn end(&mut self, committed: bool) {
        let bug = self.shared.bug;
        let mut state = self.shared.state();
        state.tell(self.id, committed, bug);
        state.running.remove(&self.id);
        state.queues.release(self.id, bug);
        self.turn.take_if(|turn| self.met.as_ref().is_none_or(|met| met.0 != *turn)).inspect(|turn| {
            state.queues.leave(turn, &self.waiter, bug);
        });
        state.collect(bug);
        drop(state);
        self.looks.clear();
        self.log.clear();
    }
}

impl Transaction for VersionsTransaction {
    standard!(takes_residual);

    fn begin(&mut self, _begin: &Begin<'_>) -> Result<(), Abort> {
        let mut state = self.shared.state();
        state.begun += 1;
        self.id = state.begun;
        let running = Running {
            status: Status::Active,
            read_time: state.clock,
            depends_on: BTreeSet::new(),
            is_broken: false,
            waiter: self.waiter.clone(),
        };
        state.running.insert(self.id, running);
        self.met = None;
        Ok(())
    }

    fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.table = Some(table);
        let found = self.look_up(key)?;
        self.row = found.map(|at| self.shared.state().versions[at].row.clone());
        Ok(self.row.as_ref().map(Row::as_ref))
    }

    fn read_for_update(&mut self, table: TableId, key: &Key) -> Result<Option<RowRef<'_>>, Abort> {
        self.read(table, key)
    }

    fn update(
        &mut self,
        table: TableId,
        key: &Key,
        change: &mut dyn FnMut(&mut RowMut<'_>) -> Result<(), Abort>,
    ) -> Result<Write, Abort> {
        self.table = Some(table);
        let Some(at) = self.look_up(key)? else { return Ok(Write::Absent) };
        self.lock(at)?;
        let mut row = self.shared.state().versions[at].row.clone();
        let changed = row.change(change);
        self.make(row, Some(at));
        changed.map(|()| Write::Done)
    }

    fn insert(&mut self, table: TableId, row: RowRef<'_>) -> Result<Write, Abort> {
        self.table = Some(table);
        self.read_time()?;
        let key = self.shared.key(table, IndexRef::Primary, row);
        let mut copy = Row::new(&self.shared.engine.layout(table));
        copy.copy_from(row);
        let mut state = self.shared.state();
        if state.is_taken(self.id, &key, self.shared.bug)? {
            drop(state);
            self.look_up(&key)?;
            return Ok(Write::Duplicate(IndexRef::Primary));
        }
        let new = state.add(self.id, key, copy);
        drop(state);
        self.log.push((None, Some(new)));
        Ok(Write::Done)
    }

    fn delete(&mut self, table: TableId, key: &Key) -> Result<Write, Abort> {
        self.table = Some(table);
        let Some(at) = self.look_up(key)? else { return Ok(Write::Absent) };
        self.lock(at)?;
        self.log.push((Some(at), None));
        Ok(Write::Done)
    }

    fn scan(&mut self, scan: &Scan, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) -> Result<(), Abort> {
        self.table = Some(scan.table);
        let time = self.read_time()?;
        let mut rows = Vec::new();
        let mut state = self.shared.state();
        for at in 0..state.versions.len() {
            let key = self.shared.key(scan.table, scan.index, state.versions[at].row.as_ref());
            if within(&key, &scan.lower, &scan.upper) && state.sees(self.id, at, time, self.shared.bug) {
                rows.push((key, at, state.versions[at].row.clone()));
            }
        }
        drop(state);
        rows.sort_by(|one, other| one.0.cmp(&other.0));
        if scan.direction == Direction::Backward {
            rows.reverse();
        }
        if scan.index == IndexRef::Primary {
            self.looks.push(Look::Keys(scan.lower.clone(), scan.upper.clone()));
        }
        for (_, at, row) in rows {
            if scan.lock == LockFor::Update {
                self.lock(at)?;
                self.shared.state().versions[at].end = NEVER;
            }
            self.looks.push(Look::Row(at));
            if visit(row.as_ref()).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn savepoint(&mut self) -> Savepoint {
        Savepoint(self.log.len())
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        self.undo(savepoint.0);
    }

    fn commit(&mut self) -> Result<(), Abort> {
        self.met = None;
        let read_time = self.read_time()?;
        let bug = self.shared.bug;
        if self.log.is_empty() {
            self.wait_for_dependencies()?;
            self.end(true);
            return Ok(());
        }
        let time = self.prepare();
        self.waiter.pause(Duration::from_micros(20));
        let mut state = self.shared.state();
        if !self.looks.iter().all(|look| state.is_valid(self.id, look, read_time, time, bug)) {
            return Err(Abort::Validation);
        }
        drop(state);
        if bug == Bug::HandsOverEarly {
            self.hand_over(time);
        }
        self.wait_for_dependencies()?;
        if bug != Bug::HandsOverEarly {
            self.hand_over(time);
        }
        let mut state = self.shared.state();
        for &(old, new) in &self.log {
            if let Some(old) = old {
                let late = u64::from(bug == Bug::EndsLate);
                state.versions[old].end = Word::At(time + late);
            }
            if let Some(new) = new {
                state.versions[new].begin = Word::At(time);
            }
        }
        drop(state);
        self.end(true);
        Ok(())
    }

    fn abort(&mut self) {
        if self.is_running() {
            self.undo(0);
            self.end(false);
        }
    }

    fn statistics(&mut self) -> &mut Statistics {
        &mut self.statistics
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }
}

impl Holding for VersionsTransaction {
    standard!(hold_reads, hold_row, own_table, check_owned_table);
}

impl Yielding for VersionsTransaction {
    standard!(retire_writes);

    fn give_way(&mut self, _to: Option<Savepoint>) -> Result<bool, Abort> {
        self.abort();
        let Some((key, writer)) = self.met.take() else { return Ok(false) };
        let mut state = self.shared.state();
        let holder = Some(writer).filter(|writer| state.running.contains_key(writer));
        state.queues.stand(&key, &self.waiter, holder);
        drop(state);
        let has_turn = || self.shared.state().queues.has_turn(&key, &self.waiter);
        if self.waiter.wait_until(None, has_turn) != Wake::Ready {
            self.shared.state().queues.leave(&key, &self.waiter, self.shared.bug);
            self.turn = None;
            return Err(Abort::Cancelled);
        }
        self.turn = Some(key);
        Ok(true)
    }

    /// A turn that was not used is over.
    fn idle(&mut self) {
        self.turn.take().inspect(|turn| self.shared.state().queues.leave(turn, &self.waiter, self.shared.bug));
    }
}

impl Planned for VersionsTransaction {
    standard!(schema_of, add_missing, announce);
}

impl Diagnostics for VersionsTransaction {
    standard!(deadlock, exclusion, prospect);
}

impl Drop for VersionsTransaction {
    fn drop(&mut self) {
        self.abort();
        self.idle();
    }
}

impl Planted for Versions {
    fn set_redo(&self, _inner: &dyn Engine, sink: Arc<dyn RedoSink>) {
        assert!(self.shared.sink.set(sink).is_ok(), "there is one sink");
    }

    fn create_table(&self, inner: &dyn Engine, schema: TableSchema) -> TableId {
        let table = inner.create_table(schema.clone());
        self.shared.sink.get().inspect(|sink| sink.created(table, &schema));
        table
    }

    fn row_count(&self, _inner: &dyn Engine, _table: TableId) -> u64 {
        let state = self.shared.state();
        let is_there = |version: &&Version| version.begin != NEVER && version.end == NEVER;
        state.versions.iter().filter(is_there).count() as u64
    }

    fn load_rows(&self, inner: &dyn Engine, table: TableId, rows: &[RowRef<'_>]) -> Result<(), (usize, Duplicate)> {
        for row in rows {
            let key = self.shared.key(table, IndexRef::Primary, *row);
            let mut copy = Row::new(&inner.layout(table));
            copy.copy_from(*row);
            let version = Version { key, row: copy, begin: Word::At(1), end: NEVER, is_collected: false };
            self.shared.state().versions.push(version);
            self.shared.sink.get().inspect(|sink| sink.loaded(table, *row));
        }
        Ok(())
    }

    fn audit(&self, _inner: &dyn Engine) -> Result<(), String> {
        self.shared.state().audit()
    }

    fn transaction(&self, _inner: &Arc<dyn Engine>, waiter: Waiter) -> Box<dyn Transaction> {
        Box::new(VersionsTransaction {
            shared: self.shared.clone(),
            waiter,
            id: 0,
            table: None,
            log: Vec::new(),
            looks: Vec::new(),
            row: None,
            met: None,
            turn: None,
            statistics: Statistics::default(),
        })
    }
}
