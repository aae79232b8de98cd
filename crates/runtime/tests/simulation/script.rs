//! Random transactions on the small table.

use crate::table::{BY_CODE, BY_GROUP, BY_TAG, CODE, Fixture, GROUP, KEYS, TAG, index_key, tag};
use hotrow_runtime::{Planner, Random};
use hotrow_storage::{IndexRef, Key, Row, TableId, Value};
use hotrow_txn::{
    Abort, Accesses, Begin, Concurrency, Direction, Intent, Isolation, LockFor, Procedure, RangeAccess, Savepoint,
    Scan, Transaction, Write,
};
use std::ops::{Bound, ControlFlow};

/// A call of a transaction.
#[derive(Clone, Debug)]
pub enum Step {
    Read(Key),
    ReadForUpdate(Key),
    /// Sets the group, with its tag.
    Update(Key, i64),
    /// Sets the unique code.
    UpdateCode(Key, Option<i64>),
    /// Changes nothing that an index has.
    Touch(Key),
    /// Lets other transactions lock the written rows before the transaction's end.
    Retire,
    Insert(Row),
    Delete(Key),
    /// Stops after so many rows.
    Scan(Scan, usize),
    Savepoint,
    RollbackToSavepoint,
    /// Inserts a row that refers to the row with a key, if there is one.
    Refer(Key, Row),
    /// Deletes the row with a key, unless the row with the second one is there, which refers to it.
    DeleteUnreferred(Key, Key),
}

/// The way in which a transaction's own code ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Commit,
    Rollback,
    /// The client disappears: the transaction object is dropped.
    Vanish,
}

/// The accesses that a transaction declares to an engine that needs them beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// No accesses, as an interactive transaction.
    Nothing,
    /// The accesses of every step, as far as the step knows them.
    Everything,
    /// The accesses of the steps whose bit is set, as if these were all steps.
    Some(u64),
    /// The accesses that a reconnaissance finds.
    Found,
}

/// A transaction.
#[derive(Clone, Debug)]
pub struct Script {
    pub table: TableId,
    pub isolation: Isolation,
    /// The concurrency control, if the engine offers a choice. `None` for the engine's default.
    pub concurrency: Option<Concurrency>,
    pub steps: Vec<Step>,
    pub end: End,
    pub declared: Declared,
}

/// Keys of [`Mix::Phantoms`] are below this: few, so that transactions meet.
const PHANTOM_KEYS: u64 = 5;

/// Keys of [`Mix::Queues`] are below this, half of them absent: enough for some transactions not to meet.
const QUEUE_KEYS: u64 = 6;

/// The steps that random transactions are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Every call, on keys below this.
    Everything(i64),
    /// Scans of small ranges, made again at the end, with inserts and deletes in between, and many rollbacks.
    Phantoms,
    /// Reads and updates of a few keys, all declared beforehand, so that a transaction waits only for a row's lock.
    Queues,
    /// Reads and changes of a few rows that other transactions may lock before the writers end, and many rollbacks.
    Retired,
    /// Scans of everything, beside transactions that change several rows.
    Walks,
    /// Reads of one or two rows, and changes of rows that were read.
    Upgrades,
}

impl Script {
    /// A random transaction. If it `may_be_silent`, it may declare nothing, and so get the whole database of an engine
    /// that plans.
    pub fn random(random: &mut Random, fixture: &Fixture, isolation: Isolation, mix: Mix, may_be_silent: bool) -> Self {
        let (steps, rollbacks) = match mix {
            Mix::Everything(keys) => {
                ((0..1 + random.below(5)).map(|_| Step::random(random, fixture, keys)).collect(), 8)
            }
            Mix::Phantoms => (Step::random_phantom(random, fixture), 30),
            Mix::Queues => ((0..1 + random.below(3)).map(|_| Step::random_point(random)).collect(), 8),
            Mix::Walks => (Step::random_walk(random, fixture), 10),
            Mix::Upgrades => (Step::random_upgrade(random), 8),
            Mix::Retired => {
                ((0..1 + random.below(4)).flat_map(|_| Step::random_retired(random, fixture)).collect(), 25)
            }
        };
        let end = match random.below(100) {
            end if end < rollbacks => End::Rollback,
            96.. => End::Vanish,
            _ => End::Commit,
        };
        let declared = match random.below(10) {
            _ if mix == Mix::Queues => Declared::Everything,
            0..8 if mix == Mix::Upgrades => Declared::Nothing,
            0..2 if may_be_silent => Declared::Nothing,
            0..5 => Declared::Everything,
            5..8 => Declared::Some(random.below(1 << 8)),
            _ => Declared::Found,
        };
        // Optimistic and pessimistic transactions side by side.
        let choice = fixture.engine.info().concurrency.filter(|_| random.chance(50));
        let concurrency = choice.map(|_| *random.pick(&Concurrency::ALL));
        Self { table: fixture.table, isolation, concurrency, steps, end, declared }
    }

    /// Begins and makes the calls; ends nothing. If the engine needs accesses, `planner` has them, or finds them first.
    pub fn call<T: Transaction>(&self, txn: &mut T, planner: &mut Planner) -> Result<(), Abort> {
        if self.declared != Declared::Nothing && planner.is_unknown() {
            planner.reconnoitre(txn, self)?;
        }
        let accesses = if self.declared == Declared::Nothing { None } else { planner.accesses() };
        let (concurrency, one_shot) = (self.concurrency, true);
        txn.begin(&Begin { one_shot, accesses, concurrency, ..Begin::at(self.isolation) })?;
        let called = self.run(txn);
        if called == Err(Abort::OutsidePlan) {
            planner.correct(txn, self);
        }
        called
    }
}

impl Procedure for Script {
    type Output = ();

    fn accesses(&self, accesses: &mut Accesses) {
        for (number, step) in self.steps.iter().enumerate() {
            match self.declared {
                Declared::Nothing | Declared::Found => {}
                Declared::Some(steps) if steps >> number & 1 == 0 => {}
                Declared::Everything | Declared::Some(_) => step.push_accesses(self.table, accesses),
            }
        }
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<(), Abort> {
        let mut savepoint = txn.savepoint();
        self.steps.iter().try_for_each(|step| self.step(txn, step, &mut savepoint))
    }
}

impl Script {
    /// Makes a call. At read committed it is a statement, which is made again if another transaction stood in its way.
    fn step<T: Transaction + ?Sized>(&self, txn: &mut T, step: &Step, savepoint: &mut Savepoint) -> Result<(), Abort> {
        for _ in 0..20 {
            let before = (self.isolation == Isolation::ReadCommitted).then(|| txn.savepoint());
            let outcome = step.call(txn, self.table, savepoint);
            let Some(before) = before.filter(|_| outcome == Err(Abort::WriteConflict)) else { return outcome };
            if !txn.give_way(Some(before))? {
                return outcome;
            }
        }
        Err(Abort::WriteConflict)
    }
}

impl Step {
    fn random(random: &mut Random, fixture: &Fixture, keys: i64) -> Self {
        let key = Key::Int(random.below(keys as u64) as i64);
        let code = |random: &mut Random| random.chance(60).then(|| random.below(4) as i64);
        match random.below(100) {
            0..20 => Step::Read(key),
            20..25 => Step::ReadForUpdate(key),
            25..45 => Step::Update(key, random.below(3) as i64),
            45..50 => {
                let code = code(random);
                Step::UpdateCode(key, code)
            }
            50..65 => {
                let (Key::Int(key), group, code) = (key, random.below(3) as i64, code(random)) else {
                    unreachable!("keys are integers")
                };
                Step::Insert(fixture.row(key, group, code))
            }
            65..75 => Step::Delete(key),
            75..95 => Step::random_scan(random, fixture),
            95..98 => Step::Savepoint,
            _ => Step::RollbackToSavepoint,
        }
    }

    fn random_point(random: &mut Random) -> Self {
        let key = Key::Int(random.below(QUEUE_KEYS) as i64);
        if random.chance(40) { Step::Read(key) } else { Step::Update(key, random.below(3) as i64) }
    }

    fn random_walk(random: &mut Random, fixture: &Fixture) -> Vec<Self> {
        if random.chance(40) {
            return vec![Step::walk(random, fixture)];
        }
        let change = |random: &mut Random| {
            let key = random.below(KEYS as u64) as i64;
            match random.below(10) {
                0..5 => Step::Touch(Key::Int(key)),
                5..7 => Step::Update(Key::Int(key), random.below(3) as i64),
                7..9 => Step::Insert(fixture.row(key, random.below(3) as i64, None)),
                _ => Step::Delete(Key::Int(key)),
            }
        };
        (0..1 + random.below(4)).map(|_| change(random)).collect()
    }

    /// A scan of all rows, or of all with a tag: these are in one chain of a hash index.
    fn walk(random: &mut Random, fixture: &Fixture) -> Self {
        let index = *random.pick(&[IndexRef::Primary, BY_TAG, BY_TAG, BY_GROUP, BY_CODE]);
        if index == BY_TAG {
            let tag = index_key(TAG, Value::text(&tag(random.below(3) as i64)));
            return Step::Scan(Scan::prefix(fixture.table, index, tag), usize::MAX);
        }
        let is_ordered = fixture.ordered || index != IndexRef::Primary;
        let direction = if is_ordered && random.chance(50) { Direction::Backward } else { Direction::Forward };
        Step::Scan(Scan { direction, ..Scan::all(fixture.table, index) }, usize::MAX)
    }

    fn random_upgrade(random: &mut Random) -> Vec<Self> {
        let keys: Vec<_> = (0..1 + random.below(2)).map(|_| Key::Int(2 * random.below(2) as i64)).collect();
        let reads = keys.iter().cloned().map(Step::Read);
        let change = random.chance(60).then(|| Step::Update(keys[0].clone(), random.below(3) as i64));
        let again = change.is_none() && random.chance(50);
        reads.chain(change).chain(again.then(|| Step::Read(keys[0].clone()))).collect()
    }

    fn random_retired(random: &mut Random, fixture: &Fixture) -> Vec<Self> {
        let key = Key::Int(random.below(3) as i64);
        let step = match random.below(100) {
            0..55 => Step::Touch(key),
            55..85 => Step::Read(key),
            85..95 => Step::Update(key, random.below(3) as i64),
            _ => Step::Delete(key),
        };
        // A row that was deleted comes back.
        let insert = random.chance(5).then(|| Step::Insert(fixture.row(random.below(3) as i64, 0, None)));
        let retire = random.chance(60).then_some(Step::Retire);
        [Some(step), insert, retire].into_iter().flatten().collect()
    }

    fn random_phantom(random: &mut Random, fixture: &Fixture) -> Vec<Self> {
        let scan = random.chance(60).then(|| Step::small_scan(random, fixture));
        let write = |random: &mut Random| {
            let key = random.below(PHANTOM_KEYS) as i64;
            match random.chance(60) {
                true => Step::Insert(fixture.row(key, random.below(3) as i64, None)),
                false => Step::Delete(Key::Int(key)),
            }
        };
        let most_writes = if scan.is_some() { 2 } else { 4 };
        let writes: Vec<_> = (0..random.below(most_writes)).map(|_| write(random)).collect();
        scan.iter().cloned().chain(writes).chain(scan.clone()).collect()
    }

    /// Up to three keys, in either direction.
    fn small_scan(random: &mut Random, fixture: &Fixture) -> Self {
        if !fixture.ordered {
            return Step::Scan(Scan::all(fixture.table, IndexRef::Primary), usize::MAX);
        }
        let lower = random.below(PHANTOM_KEYS) as i64;
        let upper = lower + random.below(3) as i64;
        let direction = *random.pick(&[Direction::Forward, Direction::Backward]);
        let (lower, upper) = (Bound::Included(Key::Int(lower)), Bound::Included(Key::Int(upper)));
        Step::Scan(Scan { lower, upper, direction, ..Scan::all(fixture.table, IndexRef::Primary) }, usize::MAX)
    }

    fn random_scan(random: &mut Random, fixture: &Fixture) -> Self {
        let index = *random.pick(&[IndexRef::Primary, BY_GROUP, BY_TAG, BY_CODE]);
        let stop_after = if random.chance(20) { 1 + random.index(3) } else { usize::MAX };
        let scan = if index == BY_TAG {
            Scan::prefix(fixture.table, index, index_key(TAG, Value::text(&tag(random.below(3) as i64))))
        } else if index == IndexRef::Primary && !fixture.ordered {
            Scan::all(fixture.table, index)
        } else {
            let (lower, upper) = (random_bound(random, index), random_bound(random, index));
            let direction = *random.pick(&[Direction::Forward, Direction::Backward]);
            Scan { lower, upper, direction, ..Scan::all(fixture.table, index) }
        };
        let lock = if random.chance(15) { LockFor::Update } else { LockFor::Read };
        Step::Scan(Scan { lock, ..scan }, stop_after)
    }

    /// The rows and ranges that the step names. Which index entries it changes depends on what is there.
    fn push_accesses(&self, table: TableId, accesses: &mut Accesses) {
        match self {
            Step::Read(key) => accesses.push(table, key.clone(), Intent::Read),
            Step::ReadForUpdate(key)
            | Step::Update(key, _)
            | Step::UpdateCode(key, _)
            | Step::Touch(key)
            | Step::Delete(key) => {
                accesses.push(table, key.clone(), Intent::Write);
            }
            Step::Insert(row) => accesses.push(table, Key::Int(row.as_ref().int8(0)), Intent::Write),
            Step::Scan(Scan { table, index, lower, upper, lock, .. }, _) => {
                let intent = if *lock == LockFor::Update { Intent::Write } else { Intent::Read };
                let (lower, upper) = (lower.clone(), upper.clone());
                accesses.push_range(RangeAccess { table: *table, index: *index, lower, upper, intent });
            }
            Step::Refer(parent, row) => {
                accesses.push(table, parent.clone(), Intent::Read);
                accesses.push(table, Key::Int(row.as_ref().int8(0)), Intent::Write);
            }
            Step::DeleteUnreferred(parent, child) => {
                accesses.push(table, parent.clone(), Intent::Write);
                accesses.push(table, child.clone(), Intent::Read);
            }
            Step::Savepoint | Step::RollbackToSavepoint | Step::Retire => {}
        }
    }

    fn call<T: Transaction + ?Sized>(
        &self,
        txn: &mut T,
        table: TableId,
        savepoint: &mut Savepoint,
    ) -> Result<(), Abort> {
        match self {
            Step::Read(key) => txn.read(table, key).map(drop),
            Step::ReadForUpdate(key) => txn.read_for_update(table, key).map(drop),
            Step::Update(key, group) => {
                let change = &mut |row: &mut hotrow_storage::RowMut<'_>| {
                    row.set_int4(GROUP, *group as i32);
                    row.set(TAG, &Value::text(&tag(*group)));
                    Ok(())
                };
                txn.update(table, key, change).map(drop)
            }
            Step::UpdateCode(key, code) => {
                let value = code.map_or(Value::Null, |code| Value::Int4(code as i32));
                let write = txn.update(table, key, &mut |row| {
                    row.set(CODE, &value);
                    Ok(())
                })?;
                assert!(matches!(write, Write::Done | Write::Absent | Write::Duplicate(BY_CODE)), "{write:?}");
                Ok(())
            }
            Step::Touch(key) => txn.update(table, key, &mut |_| Ok(())).map(drop),
            Step::Retire => {
                txn.retire_writes();
                Ok(())
            }
            Step::Insert(row) => {
                announce(txn, table, row);
                txn.insert(table, row.as_ref()).map(drop)
            }
            Step::Delete(key) => txn.delete(table, key).map(drop),
            Step::Scan(scan, stop_after) => {
                let mut visited = 0;
                txn.scan(scan, &mut |_| {
                    visited += 1;
                    if visited == *stop_after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })
            }
            Step::Savepoint => {
                *savepoint = txn.savepoint();
                Ok(())
            }
            Step::RollbackToSavepoint => {
                txn.rollback_to(*savepoint);
                Ok(())
            }
            Step::Refer(parent, row) => match txn.hold_row(table, parent)? {
                true => txn.insert(table, row.as_ref()).map(drop),
                false => Ok(()),
            },
            Step::DeleteUnreferred(parent, child) => {
                txn.delete(table, parent)?;
                txn.hold_reads(true);
                let refers = txn.read(table, child).map(|row| row.is_some());
                txn.hold_reads(false);
                if refers? { Err(Abort::User) } else { Ok(()) }
            }
        }
    }
}

/// Announces every second row before it is inserted, together with the next row, which is not inserted.
fn announce(txn: &mut (impl Transaction + ?Sized), table: TableId, row: &Row) {
    let key = row.as_ref().int8(0);
    if key % 2 == 0 {
        txn.announce(&mut |accesses| {
            [key, key + 1].into_iter().for_each(|key| accesses.push(table, Key::Int(key), Intent::Write));
        });
    }
}

fn random_bound(random: &mut Random, index: IndexRef) -> Bound<Key> {
    let key = match index {
        BY_GROUP => index_key(GROUP, Value::Int4(random.below(3) as i32)),
        BY_CODE => index_key(CODE, Value::Int4(random.below(4) as i32)),
        _ => Key::Int(random.below(KEYS as u64) as i64),
    };
    match random.below(4) {
        0 => Bound::Unbounded,
        1 => Bound::Excluded(key),
        _ => Bound::Included(key),
    }
}
