//! The counters of a record: how many transactions in the queue have asked for it exclusively, how many shared.
//!
//! They are read and written inside the critical section only, so they are plain loads and stores of atomics, and both
//! together are one [`Counts`]. Where they are kept is what tells `vll` from `vll-arrayed`: in the word before the
//! record ([`Colocated`], §2.1), or in two vectors ([`Arrayed`], §2.2).

use crate::shared::counts::{Colocated, Counts};
use crate::shared::record;
use hotrow_storage::{Guard, RecordHeader, RecordPtr};
use hotrow_sync::atomic::Ordering;
use hotrow_sync::{PlainAtomicU32, prefetch};

/// A record's header from which the record's two counters are found: how many transactions in the queue have asked for
/// the record exclusively, and how many shared. Only a thread that holds the latch of the engine's critical section
/// calls [`get`](Self::get) and [`set`](Self::set). There is one exception: a transaction that makes a record may set
/// the record's counters without the latch, as long as no other transaction can see the record.
pub trait Counters: RecordHeader {
    /// Returns the counters of a record.
    fn get(record: RecordPtr<Self>, guard: Guard<'_>) -> Counts;

    /// Sets the counters of a record.
    fn set(record: RecordPtr<Self>, guard: Guard<'_>, counts: Counts);

    /// Prefetches the counters of a record, if they are not in its header. Called before the critical section.
    #[inline]
    fn prefetch(_record: RecordPtr<Self>, _guard: Guard<'_>) {}
}

impl Counters for Colocated {
    #[inline]
    fn get(record: RecordPtr<Self>, guard: Guard<'_>) -> Counts {
        record::header(record, guard).counts()
    }

    #[inline]
    fn set(record: RecordPtr<Self>, guard: Guard<'_>, counts: Counts) {
        record::header(record, guard).set_counts(counts);
    }
}

/// The empty header: the counters stand in two vectors beside the records, and are found by the record's address.
#[derive(Debug, Default)]
pub struct Arrayed;

const _: () = assert!(size_of::<Arrayed>() == 0);

/// The numbers of the two vectors.
const EXCLUSIVE: usize = 0;
const SHARED: usize = 1;

impl RecordHeader for Arrayed {
    type Index = ();
    const BESIDE: usize = 2;
}

impl Arrayed {
    #[inline]
    fn counter(record: RecordPtr<Self>, guard: Guard<'_>, vector: usize) -> &PlainAtomicU32 {
        record::beside(record, guard, vector)
    }
}

impl Counters for Arrayed {
    #[inline]
    fn get(record: RecordPtr<Self>, guard: Guard<'_>) -> Counts {
        // Relaxed: the latch of the critical section orders it.
        let [exclusive, shared] =
            [EXCLUSIVE, SHARED].map(|vector| Self::counter(record, guard, vector).load(Ordering::Relaxed));
        Counts::new(exclusive, shared)
    }

    #[inline]
    fn set(record: RecordPtr<Self>, guard: Guard<'_>, counts: Counts) {
        // Relaxed: as in `get`.
        Self::counter(record, guard, EXCLUSIVE).store(counts.exclusive(), Ordering::Relaxed);
        // Relaxed: as in `get`.
        Self::counter(record, guard, SHARED).store(counts.shared(), Ordering::Relaxed);
    }

    #[inline]
    fn prefetch(record: RecordPtr<Self>, guard: Guard<'_>) {
        for vector in [EXCLUSIVE, SHARED] {
            prefetch(std::ptr::from_ref(Self::counter(record, guard, vector)).cast());
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Instance;
    use crate::vll::{InVectors, Vll, VllConfig};
    use hotrow_storage::{Column, Key, Row, TableId, TableSchema, Type, Value};
    use hotrow_sync::Waiter;
    use hotrow_txn::{Accesses, Begin, Engine, Inspection, Intent, Transaction, Write};
    use std::collections::BTreeSet;
    use std::time::Duration;

    const ROWS: i64 = 20;

    /// Calls `look` for each record of the table.
    fn each_record(
        engine: &Instance<Vll<InVectors>>,
        table: TableId,
        mut look: impl FnMut(RecordPtr<Arrayed>, Guard<'_>),
    ) {
        let mut participant = engine.database().participant();
        participant.enter();
        let guard = participant.guard();
        let table = engine.database().table(guard, table).expect("the table is there");
        table.records(guard, |record| {
            look(record.ptr(), guard);
            std::ops::ControlFlow::Continue(())
        });
        participant.leave();
    }

    fn touch(txn: &mut dyn Transaction, table: TableId, intent: Intent) {
        let mut accesses = Accesses::new();
        (0..ROWS).for_each(|id| accesses.push(table, Key::Int(id), intent));
        txn.begin(&Begin { accesses: Some(&accesses), ..Begin::default() }).expect("nobody else is there");
    }

    #[test]
    fn arrayed_counters_lie_together_and_apart_from_the_records() {
        let engine = Instance::<Vll<InVectors>>::new(VllConfig::default());
        let table = engine.create_table(TableSchema::new("t", vec![Column::new("id", Type::Int8)], &[0]));
        for id in 0..ROWS {
            let row = Row::from_values(&engine.layout(table), &[Value::Int8(id)]);
            engine.load(table, row.as_ref()).expect("the keys differ");
        }
        let mut txn = Engine::transaction(&*engine, Waiter::thread(Duration::ZERO));
        let txn = &mut *txn;
        touch(txn, table, Intent::Write);
        let line = |address: usize| address / 64;
        let (mut records, mut counters) = (BTreeSet::new(), BTreeSet::new());
        each_record(&engine, table, |record, guard| {
            assert_eq!(Arrayed::get(record, guard), Counts::new(1, 0));
            records.insert(line(std::ptr::from_ref(record::header(record, guard)).addr()));
            for vector in [EXCLUSIVE, SHARED] {
                counters.insert(line(std::ptr::from_ref(Arrayed::counter(record, guard, vector)).addr()));
            }
        });
        assert!(records.is_disjoint(&counters), "locking touches no line of a record");
        assert!(counters.len() <= 2 * 3, "twenty records' counters lie in {} lines", counters.len());
        txn.commit().expect("it holds all that it needs");
        each_record(&engine, table, |record, guard| assert_eq!(Arrayed::get(record, guard), Counts::NONE));
    }

    #[test]
    fn a_record_in_the_place_of_a_dead_one_starts_with_no_counts() {
        let engine = Instance::<Vll<InVectors>>::new(VllConfig::default());
        let table = engine.create_table(TableSchema::new("t", vec![Column::new("id", Type::Int8)], &[0]));
        let mut txn = Engine::transaction(&*engine, Waiter::thread(Duration::ZERO));
        let txn = &mut *txn;
        let mut places = BTreeSet::new();
        let mut made = 0;
        for round in 0..50 {
            touch(txn, table, Intent::Write);
            for id in 0..ROWS {
                let row = Row::from_values(&engine.layout(table), &[Value::Int8(id)]);
                assert_eq!(txn.insert(table, row.as_ref()), Ok(Write::Done), "round {round}");
            }
            txn.commit().expect("it holds all that it needs");
            each_record(&engine, table, |record, guard| {
                made += 1;
                places.insert(std::ptr::from_ref(record::header(record, guard)).addr());
                assert_eq!(Arrayed::get(record, guard), Counts::NONE, "round {round}");
            });
            touch(txn, table, Intent::Write);
            (0..ROWS).for_each(|id| assert_eq!(txn.delete(table, &Key::Int(id)), Ok(Write::Done)));
            txn.commit().expect("it holds all that it needs");
            assert_eq!(engine.row_count(table), 0);
            engine.audit().expect("the invariants hold");
        }
        assert!(places.len() < made, "no slot was used again: {} of {made}", places.len());
    }
}
