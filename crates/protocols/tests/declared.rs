//! Transactions of `ilock` that say as they begin what they will touch, among themselves and beside others that do not.

use hotrow_protocols::Instance;
use hotrow_protocols::ilock::{Interactive, InteractiveConfig};
use hotrow_storage::{Column, Key, Row, TableId, TableSchema, Type, Value};
use hotrow_sync::{Arc, Waiter, thread};
use hotrow_txn::{Abort, Accesses, Begin, Engine, Inspection, Intent, Isolation, Transaction, Write};
use std::time::Duration;

const LEVELS: [Isolation; 2] = [Isolation::ReadCommitted, Isolation::Serializable];

/// Keys below this have a row, with number 0.
const ROWS: i64 = 8;

/// A database with one table: a key, a number.
struct Fixture {
    instance: Arc<Instance<Interactive>>,
    table: TableId,
}

/// A step of a transaction on a row. `Err` means that the row is locked.
type Act = fn(&Fixture, &mut dyn Transaction, i64) -> Result<(), Abort>;

impl Fixture {
    fn new(lock_as_it_goes: bool) -> Self {
        let instance = Instance::new(InteractiveConfig { lock_as_it_goes, ..InteractiveConfig::default() });
        let columns = vec![Column::new("id", Type::Int8), Column::new("number", Type::Int8)];
        let table = instance.create_table(TableSchema::new("t", columns, &[0]));
        let fixture = Self { instance, table };
        (0..ROWS).for_each(|key| fixture.instance.load(table, fixture.row(key).as_ref()).expect("the keys differ"));
        fixture
    }

    fn row(&self, key: i64) -> Row {
        Row::from_values(&self.instance.layout(self.table), &[Value::Int8(key), Value::Int8(0)])
    }

    /// A transaction object whose waits end after so long.
    fn transaction(&self, limit: Duration) -> Box<dyn Transaction> {
        let waiter = Waiter::thread(Duration::ZERO);
        waiter.set_lock_timeout(Some(limit));
        Engine::transaction(&*self.instance, waiter)
    }

    /// Returns a transaction object that aborts rather than wait.
    fn impatient(&self) -> Box<dyn Transaction> {
        self.transaction(Duration::ZERO)
    }

    fn patient(&self) -> Box<dyn Transaction> {
        self.transaction(Duration::from_secs(600))
    }

    fn begin(&self, txn: &mut dyn Transaction, level: Isolation, set: &[(i64, Intent)]) -> Result<(), Abort> {
        let mut accesses = Accesses::new();
        set.iter().for_each(|&(key, intent)| accesses.push(self.table, Key::Int(key), intent));
        let accesses = Some(&accesses).filter(|accesses| !accesses.is_empty());
        txn.begin(&Begin { accesses, one_shot: true, ..Begin::at(level) })
    }

    fn increment(&self, txn: &mut dyn Transaction, key: i64) -> Result<(), Abort> {
        let write = txn.update(self.table, &Key::Int(key), &mut |row| {
            let number = row.as_ref().value(1).as_int().expect("a number");
            row.set(1, &Value::Int8(number + 1));
            Ok(())
        });
        write.map(|write| assert_eq!(write, Write::Done))
    }

    fn insert(&self, txn: &mut dyn Transaction, key: i64) -> Result<(), Abort> {
        txn.insert(self.table, self.row(key).as_ref()).map(|write| assert_eq!(write, Write::Done))
    }

    fn read(&self, txn: &mut dyn Transaction, key: i64) -> Result<(), Abort> {
        txn.read(self.table, &Key::Int(key)).map(drop)
    }

    /// The number of a row as the transaction reads it, if the row is there.
    fn seen(&self, txn: &mut dyn Transaction, key: i64) -> Option<i64> {
        let row = txn.read(self.table, &Key::Int(key)).expect("nobody else has it locked")?;
        Some(row.value(1).as_int().expect("a number"))
    }

    fn number(&self, key: i64) -> i64 {
        let mut txn = self.impatient();
        self.begin(&mut *txn, Isolation::Serializable, &[]).expect("nothing is locked to begin");
        self.seen(&mut *txn, key).expect("it is there")
    }

    /// Whether a transaction that knows nothing beforehand can do this now.
    fn can(&self, act: Act, key: i64) -> bool {
        let mut txn = self.impatient();
        self.begin(&mut *txn, Isolation::ReadCommitted, &[]).expect("nothing is locked to begin");
        act(self, &mut *txn, key).is_ok()
    }

    /// Returns once so many transactions wait.
    fn until_waiting(&self, count: usize) {
        while self.instance.protocol().waiting() != (count, 0) {
            thread::yield_now();
        }
        self.instance.audit().expect("bits and wait-maps agree");
    }
}

#[test]
fn the_rows_of_the_set_are_locked_as_the_transaction_begins_each_in_its_strongest_mode() {
    use Intent::{Read, Write};
    // A row to read, one to write, one to do both, an absent one to insert, and one twice in the order that would be an
    // upgrade.
    let set = [(1, Read), (2, Write), (3, Write), (3, Read), (ROWS, Write), (4, Read), (4, Write)];
    let cases: [(Act, i64, bool); 8] = [
        (Fixture::read, 1, true),
        (Fixture::increment, 1, false),
        (Fixture::read, 2, false),
        (Fixture::read, 3, false),
        (Fixture::insert, ROWS, false),
        (Fixture::insert, ROWS + 1, true),
        (Fixture::read, 4, false),
        (Fixture::increment, 5, true),
    ];
    for (lock_as_it_goes, level) in [(false, LEVELS[0]), (false, LEVELS[1]), (true, LEVELS[0]), (true, LEVELS[1])] {
        let fixture = Fixture::new(lock_as_it_goes);
        let mut txn = fixture.impatient();
        fixture.begin(&mut *txn, level, &set).expect("nobody is in the way");
        assert_eq!(txn.capabilities().locks_accesses, !lock_as_it_goes);
        for (number, (act, key, free)) in cases.into_iter().enumerate() {
            assert_eq!(fixture.can(act, key), free || lock_as_it_goes, "case {number} at {level}, {lock_as_it_goes}");
        }
        assert_eq!(fixture.read(&mut *txn, 1), Ok(()));
        // What was read stays locked, at read committed as well.
        assert_eq!(fixture.read(&mut *txn, 7), Ok(()));
        let held = level == Isolation::Serializable || !lock_as_it_goes;
        assert_eq!(fixture.can(Fixture::increment, 1), !held, "{level}, {lock_as_it_goes}");
        assert_eq!(fixture.increment(&mut *txn, 4), Ok(()));
        assert_eq!(fixture.insert(&mut *txn, ROWS), Ok(()));
        txn.commit().expect("it has its locks");
        assert_eq!((fixture.number(4), fixture.number(ROWS)), (1, 0));
        assert!((0..ROWS).all(|key| fixture.can(Fixture::increment, key)), "all is released");
    }
}

#[test]
fn a_transaction_that_waits_as_it_begins_can_give_up_and_leaves_nothing_locked() {
    let fixture = Fixture::new(false);
    let mut holder = fixture.impatient();
    fixture.begin(&mut *holder, LEVELS[1], &[(3, Intent::Write)]).expect("nobody is in the way");
    let mut txn = fixture.impatient();
    let all: Vec<_> = (0..ROWS).map(|key| (key, Intent::Write)).collect();
    assert_eq!(fixture.begin(&mut *txn, LEVELS[1], &all), Err(Abort::Timeout));
    txn.abort();
    assert!((0..ROWS).all(|key| fixture.can(Fixture::increment, key) == (key != 3)));
    holder.abort();
    fixture.begin(&mut *txn, LEVELS[1], &all).expect("nobody is in the way any more");
    txn.commit().expect("it has its locks");
}

#[test]
fn what_the_set_lacks_is_locked_when_the_transaction_comes_to_it() {
    let fixture = Fixture::new(false);
    let mut txn = fixture.impatient();
    fixture.begin(&mut *txn, LEVELS[1], &[(1, Intent::Write), (2, Intent::Read)]).expect("nobody is in the way");
    assert!(fixture.can(Fixture::increment, 5));
    // A row outside the set, a row that it has for less than is done, and an absent key.
    for key in [5, 2] {
        assert_eq!(fixture.increment(&mut *txn, key), Ok(()));
        assert!(!fixture.can(Fixture::read, key));
    }
    assert_eq!(fixture.insert(&mut *txn, ROWS), Ok(()));
    txn.commit().expect("it has its locks");
    assert_eq!([1, 2, 5, ROWS].map(|key| fixture.number(key)), [0, 1, 1, 0]);
}

/// The record that was found as the transaction began is not that of the row any more when the transaction has put
/// another one there.
#[test]
fn a_row_of_the_set_is_read_as_the_transaction_itself_has_left_it() {
    for level in LEVELS {
        let fixture = Fixture::new(false);
        let set: Vec<_> = (0..ROWS).map(|key| (key, Intent::Write)).collect();
        let mut txn = fixture.impatient();
        fixture.begin(&mut *txn, level, &set).expect("nobody is in the way");
        // Not in the order of the set.
        for key in [3, 0] {
            assert_eq!(fixture.increment(&mut *txn, key), Ok(()));
            assert_eq!(fixture.seen(&mut *txn, key), Some(1), "{level}");
            let savepoint = txn.savepoint();
            assert_eq!(txn.delete(fixture.table, &Key::Int(key)), Ok(Write::Done));
            assert_eq!(fixture.seen(&mut *txn, key), None, "{level}");
            assert_eq!(fixture.insert(&mut *txn, key), Ok(()));
            assert_eq!(fixture.increment(&mut *txn, key), Ok(()));
            assert_eq!(fixture.increment(&mut *txn, key), Ok(()));
            assert_eq!(fixture.seen(&mut *txn, key), Some(2), "{level}");
            txn.rollback_to(savepoint);
            assert_eq!(fixture.seen(&mut *txn, key), Some(1), "{level}");
        }
        assert_eq!(txn.delete(fixture.table, &Key::Int(3)), Ok(Write::Done));
        txn.commit().expect("it has its locks");
        // The next transaction of the object has no set, and knows nothing of the last one's records.
        fixture.begin(&mut *txn, level, &[]).expect("nothing is locked to begin");
        assert_eq!([3, 0].map(|key| fixture.seen(&mut *txn, key)), [None, Some(1)], "{level}");
        assert_eq!(fixture.insert(&mut *txn, 3), Ok(()));
        assert!(!fixture.can(Fixture::read, 3), "{level}: it is locked");
        txn.commit().expect("it has its locks");
    }
}

#[test]
fn transactions_that_declare_the_same_rows_in_any_order_never_deadlock() {
    const ROUNDS: usize = 2000;
    let fixture = Fixture::new(false);
    let orders: [[i64; 4]; 4] = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]];
    thread::scope(|scope| {
        for (number, order) in orders.into_iter().enumerate() {
            let fixture = &fixture;
            scope.spawn(move || {
                let mut txn = fixture.patient();
                for round in 0..ROUNDS {
                    // Each row is read, and all but one written: who takes the locks as it goes has to upgrade.
                    let writes = move |key: i64| key != (round as i64 + number as i64) % 4;
                    let written = order.into_iter().filter(|&key| writes(key));
                    let set: Vec<_> = order
                        .map(|key| (key, Intent::Read))
                        .into_iter()
                        .chain(written.clone().map(|key| (key, Intent::Write)))
                        .collect();
                    let level = LEVELS[round % 2];
                    assert_eq!(fixture.begin(&mut *txn, level, &set), Ok(()), "no victim, and no time-out");
                    for key in order {
                        assert_eq!(fixture.read(&mut *txn, key), Ok(()));
                        thread::yield_now();
                    }
                    written.for_each(|key| assert_eq!(fixture.increment(&mut *txn, key), Ok(())));
                    txn.commit().expect("it has its locks");
                }
            });
        }
    });
    assert_eq!((0..4).map(|key| fixture.number(key)).sum::<i64>(), (4 * ROUNDS * 3) as i64);
    fixture.until_waiting(0);
}

#[test]
fn an_idle_block_is_in_the_way_of_its_own_rows_only() {
    let fixture = Fixture::new(false);
    let mut block = fixture.patient();
    block.begin(&Begin::at(LEVELS[1])).expect("it locks nothing to begin");
    assert_eq!(fixture.increment(&mut *block, 1), Ok(()));
    block.idle();
    let mut txn = fixture.impatient();
    let others: Vec<_> = (2..ROWS).map(|key| (key, Intent::Write)).collect();
    fixture.begin(&mut *txn, LEVELS[1], &others).expect("the block has none of them");
    txn.commit().expect("it has its locks");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut txn = fixture.patient();
            assert_eq!(fixture.begin(&mut *txn, LEVELS[1], &[(0, Intent::Write), (1, Intent::Write)]), Ok(()));
            assert_eq!(fixture.increment(&mut *txn, 1), Ok(()));
            txn.commit().expect("it has its locks");
        });
        fixture.until_waiting(1);
        block.commit().expect("it has its lock");
        waiting.join().expect("the block is over");
    });
    assert_eq!(fixture.number(1), 2);
}
