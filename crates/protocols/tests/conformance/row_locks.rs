//! Rows that another transaction has locked: passed over, or refused at once.

use crate::tables::{Shape, row};
use crate::{for_each_engine, refusing};
use hotrow_storage::{IndexId, IndexRef, TableId};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Begin, Engine, Isolation, LockFor, LockStatistics, Residual, Scan, Transaction, Write};
use std::ops::{Bound, ControlFlow};

/// A table with the rows 0 to 5, of which a transaction that runs has read 2 to update it and deleted 4; it has
/// inserted 9.
struct Held {
    engine: Arc<dyn Engine>,
    table: TableId,
    shape: Shape,
    holder: Box<dyn Transaction>,
    isolation: Isolation,
}

/// Does `check` with every engine whose transactions lock rows as they come to them, for each shape of table, and at
/// each level.
fn while_some_are_held(check: impl Fn(&mut Held)) {
    for_each_engine(|engine| {
        let info = engine.info();
        if !info.isolates || info.capabilities.needs_accesses || info.name == "serial" {
            return;
        }
        for shape in Shape::admitted(&**engine) {
            for &isolation in info.isolation {
                let table = engine.create_table(shape.schema());
                let layout = engine.layout(table);
                for number in 0..6 {
                    engine.load(table, row(&layout, &shape.values(number, number + 1, 0)).as_ref()).expect("a new key");
                }
                let mut holder = engine.transaction(refusing());
                holder.begin(&Begin::at(isolation)).expect("nobody else is there");
                holder.read_for_update(table, &shape.key(2)).expect("nobody else is there");
                assert_eq!(holder.delete(table, &shape.key(4)), Ok(Write::Done));
                assert_eq!(holder.insert(table, row(&layout, &shape.values(9, 10, 0)).as_ref()), Ok(Write::Done));
                check(&mut Held { engine: engine.clone(), table, shape, holder, isolation });
            }
        }
        assert_eq!(engine.locks().unwrap_or_default(), LockStatistics::default(), "{}", info.name);
    });
}

impl Held {
    fn begin(&self) -> Box<dyn Transaction> {
        let mut txn = self.engine.transaction(refusing());
        txn.begin(&Begin::at(self.isolation)).expect("beginning waits for nobody");
        txn
    }

    fn all(&self, lock: LockFor) -> Scan {
        Scan { lock, ..Scan::all(self.table, IndexRef::Primary) }
    }

    fn one(&self, key: u8, lock: LockFor) -> Scan {
        let key = self.shape.key(key);
        Scan { lower: Bound::Included(key.clone()), upper: Bound::Included(key), ..self.all(lock) }
    }

    fn about(&self) -> String {
        format!("{}, {:?}, {}", self.engine.info().name, self.shape, self.isolation)
    }
}

/// The numbers of the rows that a scan visits, ascending.
fn numbers(txn: &mut dyn Transaction, scan: &Scan) -> Result<Vec<i64>, Abort> {
    let mut found = Vec::new();
    txn.scan(scan, &mut |row| {
        found.extend(row.value(2).as_int());
        ControlFlow::Continue(())
    })?;
    found.sort_unstable();
    Ok(found)
}

#[test]
fn locked_rows_are_passed_over_by_who_takes_what_is_free() {
    while_some_are_held(|held| {
        let mut second = held.begin();
        assert_eq!(numbers(&mut *second, &held.all(LockFor::UpdateFree)), Ok(vec![0, 1, 3, 5]), "{}", held.about());
        assert_eq!(numbers(&mut *second, &held.one(2, LockFor::UpdateFree)), Ok(Vec::new()), "{}", held.about());
        if held.shape == Shape::Indexed {
            let by_number = Scan { index: IndexRef::Secondary(IndexId(0)), ..held.all(LockFor::UpdateFree) };
            assert_eq!(numbers(&mut *second, &by_number), Ok(vec![0, 1, 3, 5]), "{}", held.about());
        }
        let mut third = held.begin();
        assert_eq!(numbers(&mut *third, &held.all(LockFor::UpdateFree)), Ok(Vec::new()), "{}", held.about());
        third.commit().expect("it has nothing");
        assert_eq!(held.holder.commit(), Ok(()), "{}", held.about());
        assert_eq!(second.commit(), Ok(()), "{}: what was passed over is nobody's concern", held.about());
        let mut last = held.begin();
        assert_eq!(numbers(&mut *last, &held.all(LockFor::UpdateFree)), Ok(vec![0, 1, 2, 3, 5, 9]), "{}", held.about());
        last.commit().expect("nobody else is there");
    });
}

#[test]
fn rows_that_are_not_wanted_are_left_to_others() {
    while_some_are_held(|held| {
        let (mut second, mut third) = (held.begin(), held.begin());
        let odd = Residual::new(|row| row.value(2).as_int().is_some_and(|number| number % 2 == 1));
        let scan = Scan { residual: Some(odd), ..held.all(LockFor::UpdateFree) };
        assert!(second.takes_residual(LockFor::UpdateFree), "{}", held.about());
        assert_eq!(numbers(&mut *second, &scan), Ok(vec![1, 3, 5]), "{}", held.about());
        assert_eq!(numbers(&mut *third, &held.all(LockFor::UpdateFree)), Ok(vec![0]), "{}", held.about());
        third.abort();
        second.abort();
        held.holder.abort();
    });
}

#[test]
fn a_locked_row_is_refused_to_who_does_not_wait() {
    while_some_are_held(|held| {
        for key in [2, 4] {
            let mut second = held.begin();
            let refused = numbers(&mut *second, &held.one(key, LockFor::UpdateNoWait));
            assert_eq!(refused, Err(Abort::Timeout), "{}: {key}", held.about());
            second.rollback_to(hotrow_txn::Savepoint(0));
            let free = numbers(&mut *second, &held.one(0, LockFor::UpdateNoWait));
            assert_eq!(free, Ok(vec![0]), "{}: it may go on", held.about());
            assert_eq!(second.commit(), Ok(()), "{}", held.about());
        }
        held.holder.abort();
        let mut second = held.begin();
        let all = numbers(&mut *second, &held.all(LockFor::UpdateNoWait));
        assert_eq!(all, Ok((0..6).collect()), "{}", held.about());
        second.commit().expect("nobody else is there");
    });
}
