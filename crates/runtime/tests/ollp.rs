//! Procedures that do not know what they will touch, on the engines that want to know.

use hotrow_protocols::ordered::{Ordered, Whole};
use hotrow_protocols::{ENGINES, Instance, open};
use hotrow_runtime::{Estimates, OneShot, OneShotConfig, Planner, Reconnaissance, Session, Shapes};
use hotrow_storage::{
    Column, IndexId, IndexKind, IndexRef, IndexSchema, Key, KeySpec, Row, TableId, TableSchema, Type, Value,
};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Accesses, Engine, EngineInfo, Intent, Procedure, Runner, Scan, Transaction, Write};
use std::cell::Cell;
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

const BY_NAME: IndexRef = IndexRef::Secondary(IndexId(0));

fn schema() -> TableSchema {
    let columns =
        vec![Column::new("id", Type::Int8), Column::new("name", Type::Int4), Column::new("balance", Type::Int8)];
    let by_name = IndexSchema { name: "by_name".into(), columns: vec![1], kind: IndexKind::Ordered, unique: false };
    TableSchema { indexes: vec![by_name], partitioned: true, ..TableSchema::new("customer", columns, &[0]) }
}

fn row(engine: &dyn Engine, table: TableId, id: i64, name: i32) -> Row {
    Row::from_values(&engine.layout(table), &[Value::Int8(id), Value::Int4(name), Value::Int8(0)])
}

fn name_key(name: i32) -> Key {
    KeySpec::bytes(&schema().columns, &[1]).key([Value::Int4(name)])
}

/// Engines whose plans are partitions as a whole: no row in one of them is outside the set.
const WHOLE_PARTITIONS: [&str; 2] = ["hstore", "partitioned"];

/// Runs `check` with every engine that needs accesses, and ten customers of two names.
fn for_each_planned(check: impl Fn(&Arc<dyn Engine>, TableId)) {
    for_each(|info| info.capabilities.needs_accesses, check);
}

/// Runs `check` with every engine that needs accesses and plans rows, not whole partitions.
fn for_each_that_plans_rows(check: impl Fn(&Arc<dyn Engine>, TableId)) {
    for_each(|info| info.capabilities.needs_accesses && !WHOLE_PARTITIONS.contains(&info.name), check);
}

fn for_each(is_meant: fn(&EngineInfo) -> bool, check: impl Fn(&Arc<dyn Engine>, TableId)) {
    for info in ENGINES.iter().filter(|info| is_meant(info)) {
        let engine = open(info.name).expect("it is in the registry");
        let table = engine.create_table(schema());
        for id in 0..10 {
            engine.load(table, row(&*engine, table, id, id as i32 % 2).as_ref()).expect("the keys differ");
        }
        check(&engine, table);
    }
}

/// A procedure made of closures.
struct Made<A, R> {
    accesses: A,
    run: R,
}

impl<A, R> Procedure for Made<A, R>
where
    A: Fn(&mut Accesses),
    R: Fn(&mut dyn FnMut(Call<'_>) -> Result<i64, Abort>) -> Result<i64, Abort>,
{
    type Output = i64;

    fn accesses(&self, accesses: &mut Accesses) {
        (self.accesses)(accesses);
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<i64, Abort> {
        (self.run)(&mut |call| call.make(txn))
    }
}

/// A call of a procedure.
enum Call<'a> {
    /// Adds one to a balance and returns the new balance.
    Add(TableId, i64),
    /// Returns the id of the middle customer of a name.
    Middle(TableId, i32),
    /// Returns 1 if the customer is there.
    Has(TableId, i64),
    Insert(TableId, &'a Row),
    Rename(TableId, i64, i32),
    Delete(TableId, i64),
}

impl Call<'_> {
    fn make<T: Transaction + ?Sized>(self, txn: &mut T) -> Result<i64, Abort> {
        match self {
            Call::Add(table, id) => {
                let mut balance = 0;
                let written = txn.update(table, &Key::Int(id), &mut |row| {
                    balance = row.as_ref().int8(2) + 1;
                    row.set_int8(2, balance);
                    Ok(())
                })?;
                if written == Write::Done { Ok(balance) } else { Err(Abort::User) }
            }
            Call::Middle(table, name) => {
                let mut ids = Vec::new();
                txn.scan(&Scan::prefix(table, BY_NAME, name_key(name)), &mut |row| {
                    ids.push(row.int8(0));
                    ControlFlow::Continue(())
                })?;
                ids.get(ids.len() / 2).copied().ok_or(Abort::User)
            }
            Call::Has(table, id) => Ok(i64::from(txn.read(table, &Key::Int(id))?.is_some())),
            Call::Insert(table, row) => txn.insert(table, row.as_ref()).map(|write| i64::from(write == Write::Done)),
            Call::Rename(table, id, name) => {
                let renamed = txn.update(table, &Key::Int(id), &mut |row| {
                    row.set_int4(1, name);
                    Ok(())
                })?;
                Ok(i64::from(renamed == Write::Done))
            }
            Call::Delete(table, id) => txn.delete(table, &Key::Int(id)).map(|write| i64::from(write == Write::Done)),
        }
    }
}

/// Runs a procedure: what it returned, and what became of its estimates.
fn run(engine: &Arc<dyn Engine>, procedure: &impl Procedure<Output = i64>) -> (Result<i64, Abort>, Estimates) {
    let mut txn = engine.transaction(Waiter::thread(Duration::ZERO));
    let mut planner = Planner::default();
    planner.begin(txn.capabilities(), procedure);
    let outcome = loop {
        if planner.is_unknown() {
            planner.reconnoitre(&mut *txn, procedure).expect("nobody else is there");
        }
        let accesses = planner.accesses();
        txn.begin(&hotrow_txn::Begin { accesses, ..Default::default() }).expect("nobody else is there");
        match procedure.run(&mut *txn) {
            Ok(output) => break txn.commit().map(|()| output),
            Err(Abort::OutsidePlan) => planner.correct(&mut *txn, procedure),
            Err(abort) => break Err(abort),
        }
        txn.abort();
    };
    txn.abort();
    (outcome, planner.estimates())
}

fn estimates(reconnaissances: u64, wrong: u64) -> Estimates {
    Estimates { reconnaissances, wrong }
}

#[test]
fn a_reconnaissance_finds_what_depends_on_the_data() {
    for_each_planned(|engine, table| {
        // As a payment by last name: who is paid for is known once the index was read.
        let payment = Made {
            accesses: |_: &mut Accesses| {},
            run: |call: &mut dyn FnMut(Call<'_>) -> Result<i64, Abort>| {
                let id = call(Call::Middle(table, 1))?;
                call(Call::Add(table, id))
            },
        };
        assert_eq!(run(engine, &payment), (Ok(1), estimates(1, 0)), "{}", engine.info().name);
        assert_eq!(run(engine, &payment), (Ok(2), estimates(1, 0)));
        assert_eq!(Session::new(&**engine).run(&payment), Ok(3));
    });
}

#[test]
fn a_runner_counts_estimates_and_tells_the_set_without_batching_too() {
    let instance = Instance::<Ordered<Whole>>::new(Default::default());
    let engine: Arc<dyn Engine> = instance.clone();
    let table = engine.create_table(schema());
    engine.load(table, row(&*engine, table, 0, 1).as_ref()).expect("an empty table");
    let waiter = Waiter::thread(Duration::ZERO);
    let txn = instance.transaction(&mut (), waiter.clone());
    let mut runner = OneShot::new(txn, waiter, OneShotConfig { batch: false, ..OneShotConfig::default() });
    let known = Made {
        accesses: |accesses: &mut Accesses| accesses.push(table, Key::Int(0), Intent::Write),
        run: |call: &mut dyn FnMut(Call<'_>) -> Result<i64, Abort>| call(Call::Add(table, 0)),
    };
    let unknown = Made { accesses: |_: &mut Accesses| {}, run: known.run };
    let wrong =
        Made { accesses: |accesses: &mut Accesses| accesses.push(table, Key::Int(0), Intent::Read), run: known.run };
    for (balance, procedure_estimates) in [(1, estimates(0, 0)), (2, estimates(1, 0)), (3, estimates(0, 1))] {
        runner.reset();
        let outcome = match balance {
            1 => runner.run(&known),
            2 => runner.run(&unknown),
            _ => runner.run(&wrong),
        };
        let counts = runner.counts();
        assert_eq!((outcome, counts.estimates), (Ok(balance), procedure_estimates));
        assert_eq!(counts.aborted.of(Abort::OutsidePlan), procedure_estimates.wrong);
    }
}

#[test]
fn what_a_procedure_knows_is_kept_beside_what_is_found() {
    for_each_planned(|engine, table| {
        let partial = Made {
            accesses: |accesses: &mut Accesses| {
                accesses.push(table, Key::Int(9), Intent::Write);
                accesses.set_partial();
            },
            run: |call: &mut dyn FnMut(Call<'_>) -> Result<i64, Abort>| {
                let id = call(Call::Middle(table, 0))?;
                call(Call::Add(table, id))?;
                call(Call::Add(table, 9))
            },
        };
        assert_eq!(run(engine, &partial), (Ok(1), estimates(1, 0)), "{}", engine.info().name);
    });
}

#[test]
fn a_wrong_set_is_corrected() {
    for_each_that_plans_rows(|engine, table| {
        let wrong = Made {
            accesses: |accesses: &mut Accesses| accesses.push(table, Key::Int(0), Intent::Read),
            run: |call: &mut dyn FnMut(Call<'_>) -> Result<i64, Abort>| {
                call(Call::Add(table, 0))?;
                call(Call::Add(table, 1))
            },
        };
        assert_eq!(run(engine, &wrong), (Ok(1), estimates(0, 2)), "{}: one row after the other", engine.info().name);
    });
}

#[test]
fn a_procedure_that_depends_on_its_own_writes_is_corrected() {
    for_each_that_plans_rows(|engine, table| {
        let new = row(&**engine, table, 77, 5);
        let insert_and_add = Made {
            accesses: |_: &mut Accesses| {},
            run: |call: &mut dyn FnMut(Call<'_>) -> Result<i64, Abort>| {
                call(Call::Insert(table, &new))?;
                if call(Call::Has(table, 77))? == 1 {
                    call(Call::Add(table, 3))?;
                }
                call(Call::Rename(table, 77, 6))?;
                call(Call::Add(table, 77))
            },
        };
        // In reconnaissance the row is not there, so what follows from it was not seen.
        assert_eq!(run(engine, &insert_and_add), (Ok(1), estimates(2, 1)), "{}", engine.info().name);
    });
}

#[test]
fn a_procedure_that_leaves_every_set_ends_nevertheless() {
    for_each_that_plans_rows(|engine, table| {
        let attempts = Cell::new(0);
        let restless = Made {
            accesses: |_: &mut Accesses| {},
            run: |call: &mut dyn FnMut(Call<'_>) -> Result<i64, Abort>| {
                attempts.set(attempts.get() + 1);
                call(Call::Has(table, 1000 + attempts.get())).map(|_| attempts.get())
            },
        };
        let (outcome, estimates) = run(engine, &restless);
        assert!(outcome.is_ok_and(|attempts| attempts < 100), "{}", engine.info().name);
        assert!(estimates.reconnaissances > 1 && estimates.wrong > estimates.reconnaissances, "{estimates:?}");
        // As a runner has it, too.
        let waiter = Waiter::thread(Duration::ZERO);
        let mut session = Session::with_waiter(&**engine, waiter);
        assert!(session.run(&restless).is_ok());
    });
}

#[test]
fn a_reconnaissance_has_no_effects_and_notes_entries_and_ranges() {
    for_each_planned(|engine, table| {
        let mut txn = engine.transaction(Waiter::thread(Duration::ZERO));
        let (mut shapes, mut accesses) = (Shapes::default(), Accesses::new());
        let mut scout = Reconnaissance::begin(&mut *txn, &mut shapes, &mut accesses).expect("nobody else is there");
        let new = row(&**engine, table, 77, 5);
        for (call, expected) in [
            (Call::Insert(table, &new), 1),
            (Call::Insert(table, &row(&**engine, table, 1, 5)), 0),
            (Call::Rename(table, 2, 8), 1),
            (Call::Delete(table, 4), 1),
            (Call::Delete(table, 78), 0),
            (Call::Has(table, 4), 1),
        ] {
            assert_eq!(call.make(&mut scout), Ok(expected), "{}", engine.info().name);
        }
        let mut visited = 0;
        let scanned = scout.scan(&Scan::all(table, IndexRef::Primary), &mut |_| {
            visited += 1;
            if visited == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((scanned, visited, scout.commit()), (Ok(()), 3, Ok(())));
        drop(scout);
        assert_eq!(engine.row_count(table), 10);

        let entries: Vec<_> = accesses.entries().iter().map(|e| (e.index, e.columns.clone(), e.key.clone())).collect();
        let entry = |index, columns, key| (index, columns, Key::Int(key));
        assert_eq!(
            entries,
            [
                entry(IndexRef::Primary, Key::Int(77), 77),
                entry(BY_NAME, name_key(5), 77),
                entry(BY_NAME, name_key(0), 2),
                entry(BY_NAME, name_key(8), 2),
                entry(IndexRef::Primary, Key::Int(4), 4),
                entry(BY_NAME, name_key(0), 4),
            ]
        );
        let [range] = accesses.ranges() else { panic!("{accesses:?}") };
        assert_eq!((&range.lower, &range.upper), (&Bound::Unbounded, &Bound::Included(Key::Int(2))));
        let rows: Vec<_> = accesses.rows().iter().map(|row| (row.key.clone(), row.intent)).collect();
        let (w, r) = (Intent::Write, Intent::Read);
        let expected = [(77, w), (1, w), (2, w), (4, w), (78, w), (4, r)];
        assert_eq!(rows, expected.map(|(key, intent)| (Key::Int(key), intent)));
    });
}
