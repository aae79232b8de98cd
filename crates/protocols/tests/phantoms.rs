//! Corners of two-phase locking's gap locks, one interleaving each. A waiter that was cancelled beforehand shows that a
//! call would have to wait: it ends with [`Abort::Cancelled`] at once.

use hotrow_protocols::Instance;
use hotrow_protocols::two_phase::{Timeout, TwoPhase};
use hotrow_storage::{
    Column, IndexId, IndexKind, IndexRef, IndexSchema, Key, KeySpec, Row, TableId, TableSchema, Type, Value,
};
use hotrow_sync::{Arc, Waiter, mpsc, thread};
use hotrow_txn::{Abort, Begin, Direction, Engine, Isolation, Scan, Transaction, Write};
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

/// A database with one table: a key, a number that is indexed, a text.
struct Fixture {
    instance: Arc<Instance<TwoPhase<Timeout>>>,
    table: TableId,
}

impl Fixture {
    /// With these keys, whose numbers are the keys modulo three.
    fn new(keys: impl IntoIterator<Item = i64>) -> Self {
        let columns =
            vec![Column::new("id", Type::Int8), Column::new("number", Type::Int4), Column::new("text", Type::Text)];
        let mut schema = TableSchema::new("t", columns, &[0]);
        let number = IndexSchema { name: "number".into(), columns: vec![1], kind: IndexKind::Ordered, unique: false };
        schema.indexes = vec![number];
        let instance = Instance::new(Default::default());
        let table = instance.create_table(schema);
        let fixture = Self { instance, table };
        for key in keys {
            fixture.instance.load(table, fixture.row(key, (key % 3) as i32).as_ref()).expect("keys differ");
        }
        fixture
    }

    fn row(&self, key: i64, number: i32) -> Row {
        let values = [Value::Int8(key), Value::Int4(number), Value::text("some text")];
        Row::from_values(&self.instance.layout(self.table), &values)
    }

    fn begun(&self, waiter: Waiter) -> Box<dyn Transaction> {
        waiter.set_lock_timeout(Some(Duration::from_secs(60)));
        let mut txn = Engine::transaction(&*self.instance, waiter);
        txn.begin(&Begin::at(Isolation::Serializable)).expect("nothing is in the way");
        txn
    }

    fn patient(&self) -> Box<dyn Transaction> {
        self.begun(Waiter::thread(Duration::ZERO))
    }

    /// Inserts and commits in a transaction that cannot wait.
    fn insert_at_once(&self, key: i64, number: i32) -> Result<Write, Abort> {
        let waiter = Waiter::thread(Duration::ZERO);
        waiter.cancel();
        let mut txn = self.begun(waiter);
        let written = txn.insert(self.table, self.row(key, number).as_ref())?;
        txn.commit()?;
        Ok(written)
    }

    fn until_waiting(&self, requests: usize) {
        while self.instance.protocol().locks().1 != requests {
            thread::yield_now();
        }
    }
}

fn keys(txn: &mut dyn Transaction, scan: &Scan, limit: usize) -> Vec<i64> {
    let mut found = Vec::new();
    txn.scan(scan, &mut |row| {
        found.push(row.int8(0));
        if found.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .expect("nothing is in the way");
    found
}

#[test]
fn the_gap_above_the_last_key_is_locked_however_many_there_are() {
    for count in [0, 1, 3, 4, 5, 11, 12, 13, 28, 60, 124, 252, 508, 764] {
        let fixture = Fixture::new(1..=count);
        let mut scanner = fixture.patient();
        let scan = Scan::all(fixture.table, IndexRef::Primary);
        assert_eq!(keys(&mut *scanner, &scan, usize::MAX).len() as i64, count);
        assert_eq!(fixture.insert_at_once(count + 1, 0), Err(Abort::Cancelled), "above {count} keys");
    }
}

#[test]
fn a_range_above_a_prefix_is_locked_to_its_end() {
    let fixture = Fixture::new(1..=5);
    let spec = KeySpec::bytes(&fixture.instance.schema(fixture.table).columns, &[1]);
    let above_two = Bound::Excluded(spec.key([Value::Int4(2)]));
    let scan = Scan { lower: above_two, ..Scan::all(fixture.table, IndexRef::Secondary(IndexId(0))) };
    let mut scanner = fixture.patient();
    assert_eq!(keys(&mut *scanner, &scan, usize::MAX), [0; 0]);
    assert_eq!(fixture.insert_at_once(9, 7), Err(Abort::Cancelled));
}

#[test]
fn a_scan_that_breaks_off_at_a_row_which_is_rolled_back_keeps_its_gap() {
    let fixture = Fixture::new((1..=3).chain([30, 40]));
    let mut scanner = fixture.patient();
    let savepoint = scanner.savepoint();
    assert_eq!(scanner.insert(fixture.table, fixture.row(20, 0).as_ref()), Ok(Write::Done));
    let scan = Scan::all(fixture.table, IndexRef::Primary);
    assert_eq!(keys(&mut *scanner, &scan, 4).last(), Some(&20));
    scanner.rollback_to(savepoint);
    assert_eq!(fixture.insert_at_once(18, 0), Err(Abort::Cancelled));
}

#[test]
fn an_insert_that_waits_does_not_open_a_scanned_gap_to_others() {
    let fixture = Arc::new(Fixture::new([10, 50]));
    let included = |key| Bound::Included(Key::Int(key));
    let scan = Scan { lower: included(10), upper: included(20), ..Scan::all(fixture.table, IndexRef::Primary) };

    let mut thirty = fixture.patient();
    assert_eq!(thirty.insert(fixture.table, fixture.row(30, 0).as_ref()), Ok(Write::Done));
    let (end_first, first_may_end) = mpsc::channel();
    let first = thread::spawn({
        let (fixture, scan) = (fixture.clone(), scan.clone());
        move || {
            let mut scanner = fixture.patient();
            assert_eq!(keys(&mut *scanner, &scan, usize::MAX), [10]);
            first_may_end.recv().expect("the test goes on");
            scanner.commit()
        }
    });
    fixture.until_waiting(1);
    let twenty_five = thread::spawn({
        let fixture = fixture.clone();
        move || {
            let mut inserter = fixture.patient();
            inserter.insert(fixture.table, fixture.row(25, 0).as_ref()).and_then(|_| inserter.commit())
        }
    });
    fixture.until_waiting(2);
    thirty.abort();
    fixture.until_waiting(1);
    let mut second = fixture.patient();
    assert_eq!(keys(&mut *second, &scan, usize::MAX), [10]);
    end_first.send(()).expect("the first scanner listens");
    assert_eq!(first.join().expect("no panic"), Ok(()));
    fixture.until_waiting(1);
    assert_eq!(fixture.insert_at_once(15, 0), Err(Abort::Cancelled), "the second scanner saw that 15 is not there");
    assert_eq!(keys(&mut *second, &scan, usize::MAX), [10]);
    second.commit().expect("a reader commits");
    assert_eq!(twenty_five.join().expect("no panic"), Ok(()));
}

#[test]
fn a_key_that_goes_while_the_next_gap_is_waited_for_leaves_no_gap_open() {
    let included = |key| Bound::Included(Key::Int(key));
    for direction in [Direction::Forward, Direction::Backward] {
        let fixture = Arc::new(Fixture::new([1, 2, 3, 45, 50]));
        // At 30 a forward scan's first batch ends, so that it looks further above.
        let mut thirty = fixture.patient();
        if direction == Direction::Forward {
            assert_eq!(thirty.insert(fixture.table, fixture.row(30, 0).as_ref()), Ok(Write::Done));
        }
        let mut deleter = fixture.patient();
        assert_eq!(deleter.delete(fixture.table, &Key::Int(45)), Ok(Write::Done));
        deleter.commit().expect("it is alone");
        let mut writer = fixture.patient();
        let savepoint = writer.savepoint();
        assert_eq!(writer.insert(fixture.table, fixture.row(40, 0).as_ref()), Ok(Write::Done));

        let (scanned, is_scanned) = mpsc::channel();
        let (end, is_over) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let at = fixture.clone();
            scope.spawn(move || {
                let mut scanner = at.patient();
                let (lower, upper) = (included(1), included(20));
                let scan = Scan { lower, upper, direction, ..Scan::all(at.table, IndexRef::Primary) };
                let mut found = keys(&mut *scanner, &scan, usize::MAX);
                found.sort_unstable();
                scanned.send(found).expect("somebody listens");
                is_over.recv().expect("somebody ends it");
                assert_eq!(scanner.commit(), Ok(()));
            });
            // It has the gap below 40, and wants the one below 50, above which nothing is uncommitted.
            fixture.until_waiting(1);
            writer.rollback_to(savepoint);
            assert_eq!(writer.insert(fixture.table, fixture.row(35, 0).as_ref()), Ok(Write::Done));
            writer.commit().expect("it has what it wants");
            let found = is_scanned.recv().expect("it scans");
            thirty.abort();
            let inserted = fixture.insert_at_once(15, 0);
            end.send(()).expect("it waits for that");
            assert_eq!((found, inserted), (vec![1, 2, 3], Err(Abort::Cancelled)), "{direction:?}");
        });
    }
}

#[test]
fn a_row_that_was_to_be_held_and_is_not_there_stays_away() {
    let fixture = Fixture::new([1, 2, 3]);
    let mut holder = fixture.patient();
    assert_eq!(holder.hold_row(fixture.table, &Key::Int(2)), Ok(true));
    assert_eq!(holder.hold_row(fixture.table, &Key::Int(7)), Ok(false));
    assert_eq!(fixture.insert_at_once(7, 0), Err(Abort::Cancelled));
    assert_eq!(fixture.insert_at_once(8, 0), Ok(Write::Done), "its neighbours may come");
    assert_eq!(holder.hold_row(fixture.table, &Key::Int(7)), Ok(false));
}
