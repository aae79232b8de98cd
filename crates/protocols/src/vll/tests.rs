//! Tests of the paper's examples, step by step, and of what happens at the edges.

use super::admission::{KEEPS_NOT, Member, Refused};
use super::counters::Counters;
use super::critical::{Begun, Core};
use super::queue::Slot;
use super::{Analysed, InVectors, Looks, Plain, Variant, Vll, VllConfig};
use crate::Instance;
use crate::shared::contention::{Claim, Mark};
use crate::shared::counts::{Colocated, Counts, Requests};
use hotrow_storage::{Column, Guard, Key, RecordPtr, Row, RowMut, TableId, TableSchema, Type, Value, mix};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Mutex, Scheduler, Time, Waiter, thread};
use hotrow_txn::{
    Abort, Accesses, Begin, Duties, Engine, Inspection, Intent, Isolation, Protocol, Settings, Statistics, Transaction,
    WorkerId, Write, Yielding,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The locks that a transaction asks for: positions of records, and intents.
type Asking = Vec<(usize, Intent)>;

/// Records and transactions, both of which are named by letters.
struct Trace {
    core: Arc<Core>,
    records: Arc<[(char, Colocated)]>,
    transactions: Vec<(char, Slot, Asking)>,
}

struct Asked<'t> {
    records: &'t [(char, Colocated)],
    requests: &'t [(usize, Intent)],
}

impl Requests for Asked<'_> {
    fn len(&self) -> usize {
        self.requests.len()
    }

    fn intent(&self, at: usize) -> Intent {
        self.requests[at].1
    }

    fn is_same(&self, one: usize, other: usize) -> bool {
        self.requests[one].0 == self.requests[other].0
    }

    fn counts(&self, at: usize) -> Counts {
        self.records[self.requests[at].0].1.counts()
    }

    fn set_counts(&self, at: usize, counts: Counts) {
        self.records[self.requests[at].0].1.set_counts(counts);
    }

    fn is_present(&self, _at: usize) -> bool {
        true
    }
}

impl Trace {
    fn new(records: &str) -> Self {
        let records = records.chars().map(|name| (name, Colocated::default())).collect();
        Self { core: Core::new(99, true), records, transactions: Vec::new() }
    }

    /// Does a step: `A x z (y)` begins A, which reads what is in brackets; `-A` finishes it, `SCA` analyses the queue.
    fn step(&mut self, step: &str) {
        if step == "SCA" {
            self.core.analyse(&mut Statistics::default());
        } else if let Some(name) = step.strip_prefix('-') {
            let at = self.transactions.iter().position(|(other, ..)| name.starts_with(*other)).expect("it began");
            let (_, slot, requests) = self.transactions.remove(at);
            assert!(!slot.waits(), "only who has its locks runs and finishes");
            let asked = Asked { records: &self.records, requests: &requests };
            self.core.finish(&slot, &asked, &[], |_| {});
        } else {
            self.begin(step);
        }
        self.core.enter().queue.audit(self.core.slots()).expect("the queue's invariants hold after each step");
    }

    fn begin(&mut self, step: &str) {
        self.begin_with(step, Waiter::thread(Duration::ZERO));
    }

    fn begin_with(&mut self, step: &str, waiter: Waiter) {
        let (name, sets) = step.split_at(1);
        let mut intent = Intent::Write;
        let mut requests = Vec::new();
        for letter in sets.chars() {
            match letter {
                '(' => intent = Intent::Read,
                ' ' | ')' => {}
                name => {
                    let record =
                        self.records.iter().position(|(other, _)| *other == name).expect("there is such a record");
                    requests.push((record, intent));
                }
            }
        }
        let mut slot = self.core.slots().take(waiter);
        let claim = |intent| if intent == Intent::Read { Claim::Shared } else { Claim::Exclusive };
        slot.publish(requests.iter().map(|&(record, intent)| Mark::new(mix(record as u64), claim(intent))));
        let asked = Asked { records: &self.records, requests: &requests };
        let begun = self.core.begin(&mut slot, None, &asked, &[], |_| {});
        assert!(matches!(begun, Begun::Free | Begun::Blocked), "{begun:?}");
        self.transactions.push((name.chars().next().expect("a name"), slot, requests));
    }

    /// Returns each record's C_X and C_S, then the queue, blocked transactions in brackets, as in the paper.
    fn shown(&self) -> String {
        let counters = self.records.iter().map(|(name, counters)| {
            let counts = counters.counts();
            format!("{name} {} {}", counts.exclusive(), counts.shared())
        });
        let queue = self.transactions.iter().map(|(name, slot, _)| match slot.waits() {
            true => format!("[{name}]"),
            false => name.to_string(),
        });
        format!("{}; {}", counters.collect::<Vec<_>>().join(", "), queue.collect::<Vec<_>>().join(" "))
    }
}

fn check(records: &str, steps: &[(&str, &str)]) {
    let mut trace = Trace::new(records);
    for (step, expected) in steps {
        trace.step(step);
        assert_eq!(trace.shown(), *expected, "after {step}");
    }
    assert!(
        trace.records.iter().all(|(_, counters)| counters.counts() == Counts::NONE) == trace.transactions.is_empty()
    );
}

/// A scheduler that calls a closure when its transaction is woken.
struct WhenWoken(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Scheduler for WhenWoken {
    fn now(&self) -> Time {
        Time(0)
    }

    fn suspend(&self, _: Option<Time>) {}

    fn resume(&self) {
        let work = self.0.lock().expect("nobody panics").take();
        work.into_iter().for_each(|work| work());
    }
}

/// While an analyst wakes the transaction that it has found, another transaction ends, and a third one wants to find
/// the transaction that can run because of that.
#[test]
fn who_finds_an_analyst_at_work_has_him_look_again() {
    let mut trace = Trace::new("xyzuv");
    let woken = Arc::new(WhenWoken(Mutex::default()));
    // B stays at the front. C waits for A and F for E, and what D and G ask for conceals when they need not any more.
    for step in ["A x", "B y"] {
        trace.step(step);
    }
    trace.begin_with("C xz", Waiter::new(woken.clone()));
    for step in ["D z", "E u", "F uv", "G v", "-A"] {
        trace.step(step);
    }
    let at = trace.transactions.iter().position(|(name, ..)| *name == 'E').expect("it began");
    let (_, slot, requests) = trace.transactions.remove(at);
    let (core, records) = (trace.core.clone(), trace.records.clone());
    let found = Arc::new(AtomicBool::new(true));
    let flag = found.clone();
    let end_and_look = move || {
        core.finish(&slot, &Asked { records: &records, requests: &requests }, &[], |_| {});
        flag.store(core.analyse(&mut Statistics::default()), Ordering::Release);
    };
    *woken.0.lock().expect("nobody panics") = Some(Box::new(end_and_look));
    trace.step("SCA");
    assert!(!found.load(Ordering::Acquire), "the other one is at it");
    assert_eq!(trace.shown(), "x 1 0, y 1 0, z 2 0, u 1 0, v 2 0; B C [D] F [G]");
}

/// §2.5: what VLL does not know, a standard lock manager does.
#[test]
fn the_example_of_the_trade_offs() {
    let beginning = [
        ("A x", "x 1 0, y 0 0, z 0 0; A"),
        ("B y", "x 1 0, y 1 0, z 0 0; A B"),
        ("C xz", "x 2 0, y 1 0, z 1 0; A B [C]"),
        ("D z", "x 2 0, y 1 0, z 2 0; A B [C] [D]"),
        // C could run now, and nobody knows: C_X of z is 2.
        ("-A", "x 1 0, y 1 0, z 2 0; B [C] [D]"),
    ];
    let front =
        [("-B", "x 1 0, y 0 0, z 2 0; C [D]"), ("-C", "x 0 0, y 0 0, z 1 0; D"), ("-D", "x 0 0, y 0 0, z 0 0; ")];
    check("xyz", &[&beginning[..], &front].concat());
    let analysed = [
        ("SCA", "x 1 0, y 1 0, z 2 0; B C [D]"),
        ("SCA", "x 1 0, y 1 0, z 2 0; B C [D]"),
        ("-C", "x 0 0, y 1 0, z 1 0; B [D]"),
        ("SCA", "x 0 0, y 1 0, z 1 0; B D"),
        ("-D", "x 0 0, y 1 0, z 0 0; B"),
        ("-B", "x 0 0, y 0 0, z 0 0; "),
    ];
    check("xyz", &[&beginning[..], &analysed].concat());
}

/// A trace of the kind of Fig. 2: transactions that read and write, and leave from the middle of the queue.
#[test]
fn a_trace_with_readers_and_writers() {
    check(
        "xyz",
        &[
            ("A x (y)", "x 1 0, y 0 1, z 0 0; A"),
            ("B (yz)", "x 1 0, y 0 2, z 0 1; A B"),
            ("C y", "x 1 0, y 1 2, z 0 1; A B [C]"),
            ("D (z)", "x 1 0, y 1 2, z 0 2; A B [C] D"),
            ("E z (x)", "x 1 1, y 1 2, z 1 2; A B [C] D [E]"),
            ("-D", "x 1 1, y 1 2, z 1 1; A B [C] [E]"),
            ("-B", "x 1 1, y 1 1, z 1 0; A [C] [E]"),
            ("-A", "x 0 1, y 1 0, z 1 0; C [E]"),
            ("F (x)", "x 0 2, y 1 0, z 1 0; C [E] F"),
            ("-C", "x 0 2, y 0 0, z 1 0; E F"),
            ("-E", "x 0 1, y 0 0, z 0 0; F"),
            ("-F", "x 0 0, y 0 0, z 0 0; "),
        ],
    );
}

#[test]
fn who_asks_twice_is_not_in_its_own_way() {
    check(
        "xy",
        &[
            ("A y", "x 0 0, y 1 0; A"),
            ("B xx (x)", "x 2 1, y 1 0; A B"),
            ("C x (x)", "x 3 2, y 1 0; A B [C]"),
            ("-B", "x 1 1, y 1 0; A [C]"),
            ("SCA", "x 1 1, y 1 0; A C"),
            ("-C", "x 0 0, y 1 0; A"),
        ],
    );
}

/// Makes a waiter that waits for no lock.
fn hasty() -> Waiter {
    let waiter = Waiter::thread(Duration::ZERO);
    waiter.set_lock_timeout(Some(Duration::ZERO));
    waiter
}

/// An engine with one table of a key and a number.
struct Fixture<V: Variant> {
    instance: Arc<Instance<Vll<V>>>,
    table: TableId,
}

impl<V: Variant> Fixture<V> {
    fn new(blocked_limit: usize) -> Self {
        let instance = Instance::<Vll<V>>::new(VllConfig { blocked_limit, ..VllConfig::default() });
        let columns = vec![Column::new("key", Type::Int8), Column::new("number", Type::Int8)];
        let table = instance.create_table(TableSchema::new("numbers", columns, &[0]));
        let fixture = Self { instance, table };
        (0..8).for_each(|key| fixture.instance.load(table, fixture.row(key).as_ref()).expect("the key is new"));
        fixture
    }

    fn row(&self, key: i64) -> Row {
        Row::from_values(&self.instance.layout(self.table), &[Value::Int8(key), Value::Int8(0)])
    }

    /// Returns a transaction object that does not wait.
    fn transaction(&self) -> Box<dyn Transaction> {
        Engine::transaction(&*self.instance, hasty())
    }

    /// Returns a transaction object of a worker that has settled, so that others of the worker may follow soon.
    fn settled_transaction(&self) -> impl Transaction + use<V> {
        let waiter = hasty();
        let mut worker = self.instance.worker(WorkerId(0));
        worker.settle(&waiter);
        self.instance.transaction(&mut worker, waiter)
    }

    /// Begins a transaction that will read and write these keys, and waits for nothing.
    fn begin(&self, txn: &mut dyn Transaction, reads: &[i64], writes: &[i64]) -> Result<(), Abort> {
        let mut accesses = Accesses::new();
        reads.iter().for_each(|&key| accesses.push(self.table, Key::Int(key), Intent::Read));
        writes.iter().for_each(|&key| accesses.push(self.table, Key::Int(key), Intent::Write));
        txn.begin(&Begin { accesses: Some(&accesses), ..Begin::at(Isolation::Serializable) })
    }

    fn counts(&self, key: i64) -> Option<Counts> {
        self.with_record(key, V::Record::get)
    }

    fn with_record<R>(&self, key: i64, look: impl FnOnce(RecordPtr<V::Record>, Guard<'_>) -> R) -> Option<R> {
        let mut participant = self.instance.database().participant();
        participant.enter();
        let guard = participant.guard();
        let key = Key::Int(key);
        let table = self.instance.database().table(guard, self.table).expect("the table is there");
        let found = table.find(guard, &key, key.hash64());
        let result = found.map(|record| look(record.ptr(), guard));
        participant.leave();
        result
    }

    fn assert_audit(&self) {
        self.instance.audit().expect("the invariants hold");
    }

    fn assert_at_rest(&self, rows: u64) {
        self.assert_audit();
        let queue = &self.instance.protocol().core.enter().queue;
        assert_eq!((queue.iter().count(), queue.blocked(), queue.has_room()), (0, 0, true));
        assert_eq!(self.instance.row_count(self.table), rows, "no record is left that has no row");
    }
}

fn each_variant(test: [fn(); 3]) {
    test.into_iter().for_each(|test| test());
}

fn overflow<V: Variant>() {
    let fixture = Fixture::<V>::new(8);
    let most = u32::MAX - 1;
    for (full, reads, writes) in
        [(Counts::new(0, most), &[1, 9, 2][..], &[3][..]), (Counts::new(most, 0), &[1, 9][..], &[3, 2][..])]
    {
        fixture.with_record(2, |record, guard| V::Record::set(record, guard, full));
        let mut txn = fixture.transaction();
        assert_eq!(fixture.begin(&mut *txn, reads, writes), Err(Abort::Resources));
        assert_eq!([1, 2, 3].map(|key| fixture.counts(key)), [Counts::NONE, full, Counts::NONE].map(Some));
        txn.abort();
        assert_eq!(fixture.counts(9), None, "the placeholder is gone");
        fixture.with_record(2, |record, guard| V::Record::set(record, guard, Counts::NONE));
        assert_eq!(fixture.begin(&mut *txn, reads, writes), Ok(()), "there is room again");
        txn.abort();
    }
    fixture.assert_at_rest(8);
}

#[test]
fn a_counter_that_is_full_refuses_and_nothing_stays_counted() {
    each_variant([overflow::<Plain>, overflow::<Analysed>, overflow::<InVectors>]);
}

fn placeholders<V: Variant>() {
    let fixture = Fixture::<V>::new(8);
    fixture.assert_audit();
    let [mut one, mut two, mut three] = std::array::from_fn(|_| fixture.transaction());
    // Two readers of an absent key share its placeholder; a writer is blocked by them.
    assert_eq!(fixture.begin(&mut *one, &[20], &[]), Ok(()));
    assert_eq!(fixture.begin(&mut *two, &[20], &[]), Ok(()));
    assert_eq!(fixture.begin(&mut *three, &[], &[20]), Err(Abort::Timeout));
    three.abort();
    assert_eq!(fixture.counts(20), Some(Counts::new(0, 2)));
    assert!(one.read(fixture.table, &Key::Int(20)).expect("it is in the plan").is_none());
    fixture.assert_audit();
    one.commit().expect("it commits");
    assert_eq!(fixture.counts(20), Some(Counts::new(0, 1)));
    two.commit().expect("it commits");
    assert_eq!(fixture.counts(20), None);
    // What is inserted stays; what is deleted goes, once nobody counts on it.
    assert_eq!(fixture.begin(&mut *one, &[], &[20, 3]), Ok(()));
    assert_eq!(one.insert(fixture.table, fixture.row(20).as_ref()), Ok(Write::Done));
    assert_eq!(one.delete(fixture.table, &Key::Int(3)), Ok(Write::Done));
    fixture.assert_audit();
    one.commit().expect("it commits");
    assert_eq!((fixture.counts(20), fixture.counts(3)), (Some(Counts::NONE), None));
    // An insert that is rolled back leaves a placeholder that goes with it.
    assert_eq!(fixture.begin(&mut *one, &[], &[21]), Ok(()));
    assert_eq!(one.insert(fixture.table, fixture.row(21).as_ref()), Ok(Write::Done));
    one.abort();
    assert_eq!(fixture.counts(21), None);
    fixture.assert_at_rest(8);
}

#[test]
fn absent_rows_have_placeholders_for_as_long_as_somebody_counts_on_them() {
    each_variant([placeholders::<Plain>, placeholders::<Analysed>, placeholders::<InVectors>]);
}

fn copies<V: Variant>() {
    let fixture = Fixture::<V>::new(8);
    fixture.assert_audit();
    let read_only = |txn: &mut dyn Transaction, keys: &[i64]| {
        let mut accesses = Accesses::new();
        keys.iter().for_each(|&key| accesses.push(fixture.table, Key::Int(key), Intent::Read));
        let begin = Begin { accesses: Some(&accesses), read_only: true, ..Begin::default() };
        txn.begin(&Begin { isolation: Isolation::Serializable, ..begin })
    };
    let number =
        |txn: &mut dyn Transaction, key| txn.read(fixture.table, &Key::Int(key)).map(|row| row.map(|row| row.int8(1)));
    let [mut reader, mut writer] = std::array::from_fn(|_| fixture.transaction());
    assert_eq!(read_only(&mut *reader, &[1, 40, 2]), Ok(()));
    assert_eq!((fixture.counts(1), fixture.counts(40)), (Some(Counts::NONE), None), "nothing is counted");
    fixture.assert_audit();
    // A writer is not kept waiting, and the reader sees what was there when it began.
    assert_eq!(fixture.begin(&mut *writer, &[], &[1, 40]), Ok(()));
    let set = &mut |row: &mut RowMut<'_>| {
        row.set_int8(1, 7);
        Ok(())
    };
    assert_eq!(writer.update(fixture.table, &Key::Int(1), set), Ok(Write::Done));
    assert_eq!(writer.insert(fixture.table, fixture.row(40).as_ref()), Ok(Write::Done));
    let seen = [2, 1, 40, 1].map(|key| number(&mut *reader, key));
    assert_eq!(seen, [Ok(Some(0)), Ok(Some(0)), Ok(None), Ok(Some(0))]);
    assert_eq!(number(&mut *reader, 5), Err(Abort::OutsidePlan));
    reader.abort();
    // What somebody may be writing is locked, and so waited for.
    assert_eq!(read_only(&mut *reader, &[2, 1]), Err(Abort::Timeout));
    reader.abort();
    writer.commit().expect("it commits");
    assert_eq!(read_only(&mut *reader, &[1, 40]), Ok(()));
    assert_eq!([1, 40].map(|key| number(&mut *reader, key)), [Ok(Some(7)), Ok(Some(0))]);
    reader.commit().expect("it commits");
    fixture.assert_at_rest(9);
}

#[test]
fn who_only_reads_a_few_small_rows_does_not_enter_the_queue() {
    each_variant([copies::<Plain>, copies::<Analysed>, copies::<InVectors>]);
}

/// A waiter whose wait unwinds when it is to be suspended.
struct Unwinds;

impl Scheduler for Unwinds {
    fn now(&self) -> Time {
        Time(1)
    }

    fn suspend(&self, _deadline: Option<Time>) {
        panic!("this wait is unwound");
    }

    fn resume(&self) {}
}

fn withdrawals<V: Variant>() {
    for blocked_limit in [8, 1] {
        let fixture = Fixture::<V>::new(blocked_limit);
        fixture.assert_audit();
        let mut holder = fixture.transaction();
        assert_eq!(fixture.begin(&mut *holder, &[2], &[1]), Ok(()));
        let waiter = Waiter::new(Arc::new(Unwinds));
        let mut blocked = Engine::transaction(&*fixture.instance, waiter);
        for round in 0..3 {
            let mut late = fixture.transaction();
            assert_eq!(fixture.begin(&mut *late, &[1, 30], &[2]), Err(Abort::Timeout), "round {round}");
            late.abort();
            fixture.assert_audit();
            let cancelled = Waiter::thread(Duration::ZERO);
            cancelled.cancel();
            let mut gone = Engine::transaction(&*fixture.instance, cancelled);
            assert_eq!(fixture.begin(&mut *gone, &[1], &[30]), Err(Abort::Cancelled), "round {round}");
            drop(gone);
            fixture.assert_audit();
            let mut accesses = Accesses::new();
            accesses.push(fixture.table, Key::Int(1), Intent::Write);
            accesses.push(fixture.table, Key::Int(30), Intent::Read);
            let begin = Begin { accesses: Some(&accesses), ..Begin::at(Isolation::Serializable) };
            catch_unwind(AssertUnwindSafe(|| blocked.begin(&begin))).expect_err("the wait unwinds");
            blocked.abort();
            fixture.assert_audit();
            assert_eq!(fixture.counts(1), Some(Counts::new(1, 0)));
        }
        drop(blocked);
        drop(holder);
        fixture.assert_at_rest(8);
    }
}

#[test]
fn whatever_ends_a_wait_leaves_nothing_behind() {
    each_variant([withdrawals::<Plain>, withdrawals::<Analysed>, withdrawals::<InVectors>]);
}

/// The limit holds back workers that choose what to begin, not a transaction that has come.
#[test]
fn a_full_queue_lets_in_who_asks_for_other_rows() {
    let core = Core::new(1, false);
    let records = [('x', Colocated::default()), ('y', Colocated::default())];
    let [hot, other] =
        [&[(0, Intent::Write)], &[(1, Intent::Write)]].map(|requests| Asked { records: &records, requests });
    let [mut one, mut two, mut three, mut four] =
        std::array::from_fn(|_| core.slots().take(Waiter::thread(Duration::ZERO)));
    let begin = |slot: &mut Slot, asked| core.begin(slot, None, asked, &[], |_| {});
    assert_eq!([begin(&mut one, &hot), begin(&mut two, &hot)], [Begun::Free, Begun::Blocked]);
    assert!(!core.has_room());
    assert_eq!([begin(&mut three, &other), begin(&mut four, &hot)], [Begun::Free, Begun::Blocked]);
    for (slot, asked) in [(&three, &other), (&one, &hot), (&two, &hot), (&four, &hot)] {
        assert!(!slot.waits());
        core.finish(slot, asked, &[], |_| {});
    }
    assert!(core.has_room());
    assert_eq!([0, 1].map(|at| records[at].1.counts()), [Counts::NONE; 2]);
}

/// A transaction's requests are not published while its slot is still in the queue with the locks that the transaction
/// before it has kept.
#[test]
fn an_analysis_does_not_pass_over_what_is_kept() {
    let core = Core::new(8, true);
    let records = [('x', Colocated::default()), ('y', Colocated::default())];
    let [kept, wanted] =
        [&[(0, Intent::Write)], &[(1, Intent::Write)]].map(|requests| Asked { records: &records, requests });
    let marks = |at: u64| std::iter::once(Mark::new(mix(at), Claim::Exclusive));
    let mut member = Member::new(&core, Waiter::thread(Duration::ZERO), Arc::default());
    let mut blocked = core.slots().take(Waiter::thread(Duration::ZERO));
    let statistics = &mut Statistics::default();
    member.publish(false, marks(0));
    assert_eq!(member.enter(None, (&kept, &[]), || marks(0), (&mut None, None), statistics, |_| {}), Ok(()));
    blocked.publish(marks(0));
    assert_eq!(core.begin(&mut blocked, None, &kept, &[], |_| {}), Begun::Blocked);
    member.publish(true, marks(1));
    assert!(!core.analyse(&mut Statistics::default()), "it conflicts with what is kept");
    assert_eq!(member.enter(Some(&kept), (&wanted, &[]), || marks(1), (&mut None, None), statistics, |_| {}), Ok(()));
    assert!(!blocked.waits());
    core.finish(&blocked, &kept, &[], |_| {});
    member.leave(&wanted, &[], statistics, |_| {});
}

/// A session's transaction that has begun while no transaction was blocked does not end the analysis of those behind
/// it.
#[test]
fn an_analysis_passes_over_a_session_that_is_long_in_the_queue() {
    let core = Core::new(8, true);
    let records = [('x', Colocated::default()), ('y', Colocated::default())];
    let [mine, other] =
        [&[(0, Intent::Write)], &[(1, Intent::Write)]].map(|requests| Asked { records: &records, requests });
    let marks = |at: u64| std::iter::once(Mark::new(mix(at), Claim::Exclusive));
    let statistics = &mut Statistics::default();
    let mut session = Member::new(&core, Waiter::thread(Duration::ZERO), Arc::default());
    session.publish(false, marks(0));
    assert_eq!(session.enter(None, (&mine, &[]), || marks(0), (&mut None, None), statistics, |_| {}), Ok(()));
    let [mut free, mut blocked] = std::array::from_fn(|_| core.slots().take(Waiter::thread(Duration::ZERO)));
    free.publish(marks(1));
    assert_eq!(core.begin(&mut free, None, &other, &[], |_| {}), Begun::Free);
    blocked.publish(marks(1));
    assert_eq!(core.begin(&mut blocked, None, &other, &[], |_| {}), Begun::Blocked);
    assert!(!core.analyse(statistics), "another one has what it asks for");
    core.finish(&free, &other, &[], |_| {});
    assert!(core.analyse(statistics) && !blocked.waits());
    core.finish(&blocked, &other, &[], |_| {});
    session.leave(&mine, &[], statistics, |_| {});
}

/// A dead record is not counted on.
#[test]
fn a_dead_record_is_told_and_nothing_is_counted() {
    let core = Core::new(1, false);
    let records = [('x', Colocated::default()), ('y', Colocated::default())];
    records[1].1.set_counts(Counts::DEAD);
    let asked = Asked { records: &records, requests: &[(0, Intent::Write), (1, Intent::Read)] };
    let mut member = Member::new(&core, Waiter::thread(Duration::ZERO), Arc::default());
    let statistics = &mut Statistics::default();
    let entered = member.enter(None, (&asked, &[]), std::iter::empty, (&mut None, None), statistics, |_| {});
    assert_eq!(entered, Err(Refused::Dead(1)));
    assert_eq!(records[0].1.counts(), Counts::NONE);
    records[1].1.set_counts(Counts::NONE);
    assert_eq!(member.enter(None, (&asked, &[]), std::iter::empty, (&mut None, None), statistics, |_| {}), Ok(()));
    member.leave(&asked, &[], statistics, |_| {});
}

/// A transaction that finds others blocked by locks that it kept keeps none for a while.
fn kept_in_the_way<V: Variant>() {
    let fixture = Fixture::<V>::new(8);
    let mut txn = fixture.settled_transaction();
    let write = |txn: &mut dyn Transaction, key| {
        assert_eq!(fixture.begin(txn, &[], &[key]), Ok(()));
        txn.commit().expect("it commits");
        fixture.counts(key) == Some(Counts::new(1, 0))
    };
    assert!(write(&mut txn, 1), "kept");
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut other = Engine::transaction(&*fixture.instance, Waiter::thread(Duration::ZERO));
            assert!(!write(&mut *other, 1), "nothing of a session's");
        });
        while !fixture.instance.protocol().core.are_blocked() {
            thread::yield_now();
        }
        assert!(!write(&mut txn, 2));
    });
    let not_kept = (1..1000).take_while(|_| !write(&mut txn, 2)).count();
    assert_eq!(not_kept, KEEPS_NOT as usize - 1, "after the first one");
    txn.idle();
    fixture.assert_at_rest(8);
}

#[test]
fn what_is_kept_in_the_way_of_others_is_not_kept_for_a_while() {
    each_variant([kept_in_the_way::<Plain>, kept_in_the_way::<Analysed>, kept_in_the_way::<InVectors>]);
}

#[test]
fn analyses_in_vain_become_rare_until_one_finds_something() {
    let (mut looks, now) = (Looks::default(), Time(7));
    let mut pause = |found| {
        looks.note(found, now);
        looks.next.since(now).as_nanos()
    };
    assert_eq!([false; 8].map(&mut pause), [200, 400, 800, 1600, 3200, 6400, 12800, 12800]);
    assert_eq!([true, false].map(&mut pause), [0, 200]);
}

/// The locks of a transaction that is over are given back when the next one asks for its own, in one step.
fn kept<V: Variant>() {
    let fixture = Fixture::<V>::new(8);
    let (mut txn, mut other) = (fixture.settled_transaction(), fixture.transaction());
    let counts = |keys: [i64; 2]| keys.map(|key| fixture.counts(key).expect("it is there"));
    let (one, none) = (Counts::new(1, 0), Counts::NONE);
    let alone = Begin::at(Isolation::Serializable);

    assert_eq!(fixture.begin(&mut txn, &[], &[1]), Ok(()));
    txn.commit().expect("it commits");
    assert_eq!(counts([1, 2]), [one, none], "kept");
    fixture.assert_audit();
    assert_eq!(fixture.begin(&mut *other, &[], &[1]), Err(Abort::Timeout));
    other.abort();
    assert_eq!(other.begin(&alone), Err(Abort::Timeout), "nobody is alone while locks are kept");
    other.abort();

    assert_eq!(fixture.begin(&mut txn, &[], &[2]), Ok(()));
    assert_eq!(counts([1, 2]), [none, one]);
    assert_eq!(fixture.begin(&mut *other, &[], &[1]), Ok(()));
    other.commit().expect("it commits");
    assert_eq!(txn.delete(fixture.table, &Key::Int(2)), Ok(Write::Done));
    txn.commit().expect("it commits");
    assert_eq!(fixture.counts(2), None, "what is not there any more is not kept");

    assert_eq!(fixture.begin(&mut txn, &[], &[3]), Ok(()));
    txn.abort();
    assert_eq!(counts([1, 3]), [none, none], "one that has aborted may come again late");
    assert_eq!(fixture.begin(&mut txn, &[], &[3]), Ok(()));
    txn.commit().expect("it commits");
    txn.idle();
    assert_eq!(counts([1, 3]), [none, none]);
    assert_eq!(other.begin(&alone), Ok(()));
    other.abort();

    // Somebody waits: nothing is kept.
    let mut other = Engine::transaction(&*fixture.instance, Waiter::thread(Duration::ZERO));
    assert_eq!(fixture.begin(&mut txn, &[], &[3]), Ok(()));
    let blocked = thread::scope(|scope| {
        let blocked = scope.spawn(|| {
            let mut accesses = Accesses::new();
            accesses.push(fixture.table, Key::Int(3), Intent::Write);
            let begun = other.begin(&Begin { accesses: Some(&accesses), ..Begin::at(Isolation::Serializable) });
            other.abort();
            begun
        });
        while !fixture.instance.protocol().core.are_blocked() {
            thread::yield_now();
        }
        txn.commit().expect("it commits");
        blocked.join().expect("no panic")
    });
    assert_eq!(blocked, Ok(()), "it does not wait for the next one of a worker that may have none");
    fixture.assert_at_rest(7);
}

#[test]
fn locks_are_kept_until_the_next_transaction_of_the_worker_begins_and_no_longer() {
    each_variant([kept::<Plain>, kept::<Analysed>, kept::<InVectors>]);
}

#[test]
fn a_limit_of_nobody_is_refused() {
    let limited = |limit| Vll::<Plain>::configure(&Settings { blocked_limit: limit, ..Settings::default() });
    assert!(limited(Some(0)).expect_err("nobody would get in").0.contains("expected 1 or more"));
    assert_eq!(limited(Some(3)).expect("3 will do").blocked_limit, 3);
    assert_eq!(limited(None).expect("the default will do").blocked_limit, VllConfig::default().blocked_limit);
}

/// A planted error in each of the things that an audit compares.
#[test]
fn an_audit_sees_a_count_too_many_and_a_record_that_is_left_over() {
    let fixture = Fixture::<Plain>::new(8);
    fixture.assert_audit();
    let mut txn = fixture.transaction();
    assert_eq!(fixture.begin(&mut *txn, &[1], &[2]), Ok(()));
    fixture.assert_audit();
    let planted = |key, counts: Counts, expected: &str| {
        let before = fixture.counts(key).expect("it is there");
        fixture.with_record(key, |record, guard| Colocated::set(record, guard, counts));
        let found = fixture.instance.audit().expect_err("it is wrong");
        assert!(found.contains(expected), "{found}");
        fixture.with_record(key, |record, guard| Colocated::set(record, guard, before));
    };
    planted(1, Counts::new(0, 2), "is counted C_X 0 C_S 2, its requests are C_X 0 C_S 1");
    planted(2, Counts::NONE, "is counted C_X 0 C_S 0, its requests are C_X 1 C_S 0");
    planted(5, Counts::new(1, 0), "its requests are C_X 0 C_S 0");
    planted(5, Counts::DEAD, "is counted dead");
    txn.commit().expect("it commits");
    fixture.assert_at_rest(8);
}
