//! Sequences of calls against the model.

use crate::logged::Logged;
use crate::model::Model;
use crate::tables::{Shape, Values, row, values_of};
use crate::{for_each_engine, refusing};
use hotrow_check::RedoRecorder;
use hotrow_storage::{IndexRef, RowLayout, RowMut, TableId};
use hotrow_txn::{
    Abort, Accesses, Begin, Direction, Engine, EngineInfo, Isolation, LockFor, Savepoint, Scan, Transaction, Write,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Keys are below this.
const KEYS: u8 = 7;

/// A call, in small numbers.
#[derive(Clone, Debug)]
enum Call {
    Read(u8, LockFor),
    Insert(u8, u8, u8),
    Update(u8, u8, u8),
    /// The change gives up after having changed the row.
    FailingUpdate(u8),
    Delete(u8),
    Scan(ScanCall),
    Savepoint,
    RollbackTo(u8),
    Idle,
    /// Ends a transaction and begins the next.
    Commit,
    Abort,
    /// Drops the transaction object and makes another.
    Drop,
}

#[derive(Clone, Debug)]
struct ScanCall {
    index: u8,
    lower: BoundCall,
    upper: BoundCall,
    direction: Direction,
    lock: LockFor,
    stop_after: Option<usize>,
}

/// A bound made of a row's numbers; `prefix` takes the first column only.
#[derive(Clone, Debug)]
struct BoundCall {
    kind: u8,
    row: (u8, u8, u8),
    prefix: bool,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let key = 0..KEYS;
    let update = prop_oneof![Just(LockFor::Update), Just(LockFor::UpdateFree), Just(LockFor::UpdateNoWait)];
    let lock = || prop_oneof![3 => Just(LockFor::Read), 1 => update.clone()];
    let bound = || {
        let row = (0..KEYS, 0..4_u8, 0..5_u8);
        (0..3_u8, row, any::<bool>()).prop_map(|(kind, row, prefix)| BoundCall { kind, row, prefix })
    };
    let direction = prop_oneof![Just(Direction::Forward), Just(Direction::Backward)];
    let scan = (0..4_u8, bound(), bound(), direction, lock(), proptest::option::weighted(0.2, 1..4_usize)).prop_map(
        |(index, lower, upper, direction, lock, stop_after)| {
            Call::Scan(ScanCall { index, lower, upper, direction, lock, stop_after })
        },
    );
    let call = prop_oneof![
        4 => (key.clone(), lock()).prop_map(|(key, lock)| Call::Read(key, lock)),
        8 => (key.clone(), 0..4_u8, 0..5_u8).prop_map(|(key, number, text)| Call::Insert(key, number, text)),
        6 => (key.clone(), 0..4_u8, 0..5_u8).prop_map(|(key, number, text)| Call::Update(key, number, text)),
        1 => key.clone().prop_map(Call::FailingUpdate),
        4 => key.prop_map(Call::Delete),
        8 => scan,
        2 => Just(Call::Savepoint),
        2 => (0..4_u8).prop_map(Call::RollbackTo),
        1 => Just(Call::Idle),
        3 => Just(Call::Commit),
        1 => Just(Call::Abort),
        1 => Just(Call::Drop),
    ];
    proptest::collection::vec(call, 1..60)
}

/// One in so many tables is not dropped, so that it is there after a crash.
const TABLES_EACH_KEPT: u32 = 250;

/// An engine's table beside its model.
struct Pair<'a> {
    engine: &'a Arc<dyn Engine>,
    shape: Shape,
    table: TableId,
    layout: Arc<RowLayout>,
    isolation: Isolation,
    /// The accesses that transactions declare.
    accesses: Option<Accesses>,
    txn: Box<dyn Transaction>,
    savepoints: Vec<Savepoint>,
    model: Model,
    redo: &'a RedoRecorder,
}

impl<'a> Pair<'a> {
    fn new(engine: &'a Arc<dyn Engine>, redo: &'a RedoRecorder, shape: Shape, isolation: Isolation) -> Self {
        let table = engine.create_table(shape.schema());
        let (layout, txn) = (engine.layout(table), engine.transaction(refusing()));
        let (savepoints, model) = (Vec::new(), Model::new(shape));
        Self { engine, shape, table, layout, isolation, accesses: None, txn, savepoints, model, redo }
    }

    fn begin(&mut self) {
        self.savepoints.clear();
        self.model.begin();
        let begin = Begin { accesses: self.accesses.as_ref(), ..Begin::at(self.isolation) };
        self.txn.begin(&begin).expect("nobody else is there");
    }

    /// Does one transaction's calls on an engine that wants to know what they will touch: nothing at first, and then
    /// what was missing.
    fn planned(&mut self, calls: &[Call]) {
        self.accesses = Some(Accesses::new());
        for _ in 0..=3 * calls.len() {
            self.begin();
            match calls.iter().try_for_each(|call| self.call(call)) {
                Ok(()) => {
                    self.txn.commit().expect("it holds all that it needs");
                    self.model.commit();
                    return;
                }
                Err(abort) => assert_eq!(abort, Abort::OutsidePlan, "{calls:?}"),
            }
            let accesses = self.accesses.get_or_insert_default();
            self.txn.add_missing(accesses);
            self.txn.abort();
            self.model.abort();
        }
        panic!("{:?} is not enough for {calls:?}", self.accesses);
    }

    /// Compares everything that is there, when no transaction runs.
    fn compare(&mut self) {
        assert_eq!(self.engine.audit(), Ok(()));
        assert_eq!(self.engine.row_count(self.table), self.model.committed().len() as u64);
        self.accesses = None;
        self.begin();
        let mut rows = Vec::new();
        let everything = Scan::all(self.table, IndexRef::Primary);
        let scanned = self.txn.scan(&everything, &mut |row| {
            rows.push(values_of(row));
            ControlFlow::Continue(())
        });
        let by_debug = |values: &Values| format!("{values:?}");
        rows.sort_by_key(by_debug);
        let mut expected: Vec<_> = self.model.committed();
        expected.sort_by_key(by_debug);
        assert_eq!((scanned, rows), (Ok(()), expected));
        self.txn.abort();
        assert_eq!(self.redo.compare(&**self.engine), Ok(()));
    }

    fn call(&mut self, call: &Call) -> Result<(), Abort> {
        match call {
            Call::Read(key, lock) => {
                let key = self.shape.key(*key);
                let found = match lock {
                    LockFor::Read => self.txn.read(self.table, &key)?,
                    _ => self.txn.read_for_update(self.table, &key)?,
                };
                assert_eq!(found.map(values_of).as_ref(), self.model.read(&key));
            }
            Call::Insert(key, number, text) => {
                let values = self.shape.values(*key, *number, *text);
                let write = self.txn.insert(self.table, row(&self.layout, &values).as_ref())?;
                assert_eq!(write, self.model.insert(&values));
            }
            Call::Update(key, number, text) => {
                let (key, values) = (self.shape.key(*key), self.shape.values(*key, *number, *text));
                let mut seen = None;
                let write = self.txn.update(self.table, &key, &mut |row| {
                    assert!(seen.is_none(), "the change is called once");
                    seen = Some(values_of(row.as_ref()));
                    set(row, &values);
                    Ok(())
                })?;
                assert_eq!(seen.as_ref(), self.model.read(&key));
                assert_eq!(write, self.model.update(&key, &values));
            }
            Call::FailingUpdate(key) => self.failing_update(*key)?,
            Call::Delete(key) => {
                let key = self.shape.key(*key);
                assert_eq!(self.txn.delete(self.table, &key)?, self.model.delete(&key));
            }
            Call::Scan(scan) => self.scan(scan)?,
            Call::Savepoint => {
                self.savepoints.push(self.txn.savepoint());
                self.model.savepoint();
            }
            Call::RollbackTo(number) => {
                if let Some(last) = self.savepoints.len().checked_sub(1) {
                    let number = usize::from(*number).min(last);
                    self.txn.rollback_to(self.savepoints[number]);
                    self.savepoints.truncate(number + 1);
                    self.model.rollback_to(number);
                }
            }
            Call::Idle => self.txn.idle(),
            Call::Commit => {
                self.txn.commit()?;
                self.model.commit();
                self.begin();
            }
            Call::Abort | Call::Drop => {
                if matches!(call, Call::Drop) {
                    self.txn = self.engine.transaction(refusing());
                } else {
                    self.txn.abort();
                }
                self.model.abort();
                self.begin();
            }
        }
        Ok(())
    }

    /// The row is as before, and a savepoint can be gone back to.
    fn failing_update(&mut self, key: u8) -> Result<(), Abort> {
        let values = self.shape.values(key, 3, 4);
        let key = self.shape.key(key);
        let savepoint = self.txn.savepoint();
        let outcome = self.txn.update(self.table, &key, &mut |row| {
            set(row, &values);
            Err(Abort::User)
        });
        if outcome == Err(Abort::OutsidePlan) {
            return outcome.map(drop);
        }
        let expected = if self.model.read(&key).is_some() { Err(Abort::User) } else { Ok(Write::Absent) };
        assert_eq!(outcome, expected);
        self.txn.rollback_to(savepoint);
        assert_eq!(self.txn.read(self.table, &key)?.map(values_of).as_ref(), self.model.read(&key));
        Ok(())
    }

    fn scan(&mut self, call: &ScanCall) -> Result<(), Abort> {
        let indexes = self.shape.indexes();
        let index = indexes[usize::from(call.index) % indexes.len()];
        let is_ordered = self.shape.is_ordered(index);
        let scan = match (is_ordered, index) {
            (true, _) => Scan {
                lower: self.bound(index, &call.lower),
                upper: self.bound(index, &call.upper),
                direction: call.direction,
                ..Scan::all(self.table, index)
            },
            (false, IndexRef::Primary) if call.lower.kind == 0 => Scan::all(self.table, index),
            (false, _) => {
                let (key, number, text) = call.lower.row;
                let equal = self.shape.index_key(index, &self.shape.values(key, number, text));
                let bound = Bound::Included(equal);
                Scan { lower: bound.clone(), upper: bound, ..Scan::all(self.table, index) }
            }
        };
        let scan = Scan { lock: call.lock, ..scan };
        let mut visited = Vec::new();
        self.txn.scan(&scan, &mut |row| {
            visited.push(values_of(row));
            if Some(visited.len()) == call.stop_after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let mut expected = self.model.scan(&scan);
        if !is_ordered {
            let by_debug = |values: &Values| format!("{values:?}");
            visited.sort_by_key(by_debug);
            expected.sort_by_key(by_debug);
        }
        match call.stop_after.filter(|&stop| stop < expected.len()) {
            None => assert_eq!(visited, expected, "{scan:?}"),
            Some(stop) if is_ordered => assert_eq!(visited, expected[..stop], "{scan:?}"),
            Some(stop) => {
                assert_eq!(visited.len(), stop, "{scan:?}");
                assert!(visited.iter().all(|row| expected.contains(row)), "{scan:?}");
            }
        }
        Ok(())
    }

    fn bound(&self, index: IndexRef, call: &BoundCall) -> Bound<hotrow_storage::Key> {
        let (key, number, text) = call.row;
        let values = self.shape.values(key, number, text);
        let key =
            if call.prefix { self.shape.index_prefix(index, &values) } else { self.shape.index_key(index, &values) };
        match call.kind {
            0 => Bound::Unbounded,
            1 => Bound::Excluded(key),
            _ => Bound::Included(key),
        }
    }
}

fn set(row: &mut RowMut<'_>, values: &Values) {
    for (column, value) in values.iter().enumerate() {
        row.set(column, value);
    }
}

/// Does `check` with sequences of calls, on a table of each shape of each engine that `which` chooses. Then the power
/// fails, and the database is recovered from its log.
fn check_calls(
    which: impl Fn(&EngineInfo) -> bool,
    isolation: Isolation,
    check: impl Fn(&mut Pair<'_>, &[Call]) -> Result<(), TestCaseError>,
) {
    for_each_engine(|engine| {
        let logged = Logged::new();
        engine.set_redo(logged.clone());
        for shape in Shape::admitted(&**engine).filter(|_| which(engine.info())) {
            let config = Config { failure_persistence: None, ..Config::default() };
            let outcome = TestRunner::new(config).run(&calls(), |calls| {
                let mut pair = Pair::new(engine, &logged.recorder, shape, isolation);
                check(&mut pair, &calls)?;
                if !pair.table.0.is_multiple_of(TABLES_EACH_KEPT) {
                    engine.drop_table(pair.table);
                }
                Ok(())
            });
            if let Err(error) = outcome {
                panic!("{} with {shape:?} at {isolation}: {error}", engine.info().name);
            }
        }
        assert_eq!(logged.check(&**engine), Ok(()), "{} at {isolation}, after a crash", engine.info().name);
    });
}

fn one_after_the_other(pair: &mut Pair<'_>, calls: &[Call]) -> Result<(), TestCaseError> {
    pair.begin();
    for call in calls {
        let answer = pair.call(call);
        prop_assert_eq!(answer, Ok(()), "{:?}", call);
    }
    pair.txn.abort();
    prop_assert_eq!(pair.redo.compare(&**pair.engine), Ok(()));
    Ok(())
}

#[test]
fn serializable_calls_answer_as_the_model() {
    check_calls(|_| true, Isolation::Serializable, one_after_the_other);
}

#[test]
fn read_committed_calls_answer_as_the_model() {
    check_calls(|_| true, Isolation::ReadCommitted, one_after_the_other);
}

#[test]
fn planned_calls_answer_as_the_model() {
    check_calls(
        |info| info.capabilities.needs_accesses,
        Isolation::Serializable,
        |pair, calls| {
            let ends = |call: &Call| matches!(call, Call::Commit | Call::Abort | Call::Drop);
            for transaction in calls.split(ends) {
                pair.planned(transaction);
                pair.compare();
            }
            Ok(())
        },
    );
}

/// Several planned ranges begin before each scan does: the one that goes farthest is the one to walk in.
#[test]
fn of_planned_ranges_the_farthest_counts() {
    let bound = |kind, key| BoundCall { kind, row: (key, 0, 0), prefix: false };
    let scan = |lower, upper, direction, stop_after| {
        Call::Scan(ScanCall { index: 0, lower, upper, direction, lock: LockFor::Read, stop_after })
    };
    let calls = [
        Call::Insert(5, 0, 0),
        Call::Insert(0, 0, 0),
        scan(bound(1, 0), bound(1, 1), Direction::Forward, None),
        scan(bound(0, 0), bound(2, 0), Direction::Backward, Some(1)),
        scan(bound(2, 1), bound(0, 0), Direction::Forward, None),
    ];
    for_each_engine(|engine| {
        let redo = RedoRecorder::new();
        engine.set_redo(redo.clone());
        for shape in Shape::admitted(&**engine).filter(|_| engine.info().capabilities.needs_accesses) {
            let mut pair = Pair::new(engine, &redo, shape, Isolation::Serializable);
            pair.planned(&calls);
            pair.compare();
            drop(pair);
        }
    });
}
