//! The counters of a record: how many transactions in the queue have asked for it exclusively, how many shared.
//!
//! They are read and written inside the critical section only, so they are plain loads and stores of atomics, and both
//! together are one [`Counts`]. Where they are kept is what tells `vll` from `vll-arrayed`: in the word before the record
//! ([`Colocated`], §2.1), or in two vectors ([`Arrayed`], §2.2) whose position that word names.

use crate::shared::counts::{Colocated, Counts};
use crate::shared::segmented::Segmented;
use hotrow_storage::{RecordHeader, prefetch};
use hotrow_sync::atomic::{AtomicU32, Ordering};

/// A record's header that leads to its counters. All but [`prefetch`](Self::prefetch) is called inside the critical section.
pub trait Counters: RecordHeader {
    /// What is kept beside the records.
    type Beside: Default + Send + Sync + 'static;

    /// The counters.
    fn get(&self, beside: &Self::Beside) -> Counts;

    /// Sets the counters.
    fn set(&self, beside: &Self::Beside, counts: Counts);

    /// Whether [`count_made`](Self::count_made) is there.
    const COUNTS_MADE: bool = false;

    /// Counts the exclusive request of a transaction that has made the record and is about to link it. Outside of the critical
    /// section: nobody else has seen it.
    #[inline]
    fn count_made(&self) {}

    /// Whether there is anything beside the records.
    const IS_BESIDE: bool = false;

    /// Gives back what is beside for a record that nobody will ask for any more, unless somebody counts on it still: who does then gives
    /// it back.
    fn forget(&self, _beside: &Self::Beside) {}

    /// Has the processor fetch what [`get`](Self::get) will read beside the header, before the critical section.
    #[inline]
    fn prefetch(&self, _beside: &Self::Beside) {}
}

impl Counters for Colocated {
    type Beside = ();

    const COUNTS_MADE: bool = true;

    #[inline]
    fn count_made(&self) {
        self.set_counts(Counts::new(1, 0));
    }

    #[inline]
    fn get(&self, _: &()) -> Counts {
        self.counts()
    }

    #[inline]
    fn set(&self, _: &(), counts: Counts) {
        self.set_counts(counts);
    }
}

/// The counters stand in two vectors, at the position that the header names. A record gets its position when it is
/// first asked for, and gives it back when it dies or is forgotten.
#[derive(Debug, Default)]
pub struct Arrayed {
    /// The position, counted from one; none yet; or [`DEAD`].
    position: AtomicU32,
}

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Arrayed>() == 4);

const NO_POSITION: u32 = 0;
const DEAD: u32 = u32::MAX;

impl RecordHeader for Arrayed {
    type Index = ();
}

/// The two vectors of [`Arrayed`] counters.
#[derive(Debug, Default)]
pub struct Vectors {
    exclusive: Vector,
    shared: Vector,
    /// Positions that were given back, linked through the vector of exclusive counters; zero ends the list.
    free: AtomicU32,
    /// The greatest position that was ever taken.
    last: AtomicU32,
}

/// Counters of the first segment; the others are larger.
const FIRST: usize = if cfg!(test) { 4 } else { 1 << 12 };

type Vector = Segmented<AtomicU32, FIRST>;

#[inline]
fn get(vector: &Vector, position: u32) -> u32 {
    // Relaxed: the latch of the critical section orders it.
    vector.at(position).load(Ordering::Relaxed)
}

#[inline]
fn set(vector: &Vector, position: u32, value: u32) {
    // Relaxed: as in `get`.
    vector.at(position).store(value, Ordering::Relaxed);
}

impl Vectors {
    #[inline]
    fn get(&self, position: u32) -> Counts {
        Counts::new(get(&self.exclusive, position), get(&self.shared, position))
    }

    #[inline]
    fn set(&self, position: u32, counts: Counts) {
        set(&self.exclusive, position, counts.exclusive());
        set(&self.shared, position, counts.shared());
    }

    /// A position whose counters are zero.
    #[cold]
    fn take(&self) -> u32 {
        // Relaxed, here and in `give_back`: the latch of the critical section orders it.
        let free = self.free.load(Ordering::Relaxed);
        if free != NO_POSITION {
            self.free.store(get(&self.exclusive, free), Ordering::Relaxed); // Relaxed: as above.
            set(&self.exclusive, free, 0);
            return free;
        }
        let next = self.last.load(Ordering::Relaxed) + 1; // Relaxed: as above.
        self.last.store(next, Ordering::Relaxed); // Relaxed: as above.
        next
    }

    #[cold]
    fn give_back(&self, position: u32) {
        set(&self.exclusive, position, self.free.load(Ordering::Relaxed)); // Relaxed: as in `take`.
        self.free.store(position, Ordering::Relaxed); // Relaxed: as in `take`.
    }
}

impl Arrayed {
    #[inline]
    fn position(&self) -> u32 {
        // Relaxed: the latch of the critical section orders it.
        self.position.load(Ordering::Relaxed)
    }

    fn set_position(&self, position: u32) {
        // Relaxed: as in `position`.
        self.position.store(position, Ordering::Relaxed);
    }
}

impl Counters for Arrayed {
    type Beside = Vectors;

    const IS_BESIDE: bool = true;

    fn forget(&self, vectors: &Vectors) {
        if self.get(vectors) == Counts::NONE {
            self.set(vectors, Counts::DEAD);
        }
    }

    #[inline]
    fn get(&self, vectors: &Vectors) -> Counts {
        match self.position() {
            NO_POSITION => Counts::NONE,
            DEAD => Counts::DEAD,
            position => vectors.get(position),
        }
    }

    #[inline]
    fn prefetch(&self, vectors: &Vectors) {
        let position = self.position();
        if position != NO_POSITION && position != DEAD {
            prefetch(std::ptr::from_ref(vectors.exclusive.at(position)).cast());
            prefetch(std::ptr::from_ref(vectors.shared.at(position)).cast());
        }
    }

    #[inline]
    fn set(&self, vectors: &Vectors, counts: Counts) {
        let mut position = self.position();
        if counts == Counts::DEAD {
            self.set_position(DEAD);
            if position != NO_POSITION {
                vectors.give_back(position);
            }
            return;
        }
        if position == NO_POSITION {
            position = vectors.take();
            self.set_position(position);
        }
        vectors.set(position, counts);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Instance;
    use crate::vll::{InVectors, Vll, VllConfig};
    use hotrow_storage::{Column, Key, Row, TableId, TableSchema, Type, Value};
    use hotrow_sync::Waiter;
    use hotrow_txn::{Accesses, Begin, Engine, Intent, Transaction, Write};
    use std::time::Duration;

    impl Vectors {
        /// Positions that were taken and not given back.
        fn in_use(&self) -> u32 {
            let next = |&free: &u32| Some(get(&self.exclusive, free)).filter(|&free| free != NO_POSITION);
            let first = Some(self.free.load(Ordering::Acquire)).filter(|&free| free != NO_POSITION);
            self.last.load(Ordering::Acquire) - std::iter::successors(first, next).count() as u32
        }
    }

    fn check(header: &Arrayed, vectors: &Vectors, position: u32, expected: Counts) {
        assert_eq!((header.position(), header.get(vectors)), (position, expected));
    }

    #[test]
    fn arrayed_counters_get_a_position_once_and_give_it_back() {
        let vectors = Vectors::default();
        let headers: Vec<_> = (0..20).map(|_| Arrayed::default()).collect();
        check(&headers[0], &vectors, NO_POSITION, Counts::NONE);
        for (at, header) in headers.iter().enumerate() {
            header.set(&vectors, Counts::new(at as u32, 1));
        }
        for (at, header) in headers.iter().enumerate() {
            check(header, &vectors, at as u32 + 1, Counts::new(at as u32, 1));
        }
        for dead in [3, 17] {
            headers[dead].set(&vectors, Counts::NONE);
            check(&headers[dead], &vectors, dead as u32 + 1, Counts::NONE);
            headers[dead].set(&vectors, Counts::DEAD);
            check(&headers[dead], &vectors, DEAD, Counts::DEAD);
        }
        let unseen = Arrayed::default();
        unseen.set(&vectors, Counts::DEAD);
        check(&unseen, &vectors, DEAD, Counts::DEAD);
        for position in [18, 4, 21] {
            let fresh = Arrayed::default();
            fresh.set(&vectors, Counts::new(0, 2));
            check(&fresh, &vectors, position, Counts::new(0, 2));
        }
        check(&headers[5], &vectors, 6, Counts::new(5, 1));
    }

    const ROWS: i64 = 20;

    fn fill(engine: &dyn Engine) -> TableId {
        let table = engine.create_table(TableSchema::new("t", vec![Column::new("id", Type::Int8)], &[0]));
        let rows = (0..ROWS).map(|id| Row::from_values(&engine.layout(table), &[Value::Int8(id)]));
        rows.for_each(|row| engine.load(table, row.as_ref()).expect("the keys differ"));
        table
    }

    /// Asks for every row, and for one that is absent.
    fn touch(txn: &mut dyn Transaction, table: TableId) {
        let mut accesses = Accesses::new();
        (0..=ROWS).for_each(|id| accesses.push(table, Key::Int(id), Intent::Write));
        txn.begin(&Begin { accesses: Some(&accesses), ..Begin::default() }).expect("nobody else is there");
        txn.commit().expect("it holds all that it needs");
    }

    #[test]
    fn positions_of_deleted_rows_and_dropped_tables_are_given_back() {
        let instance = Instance::<Vll<InVectors>>::new(VllConfig::default());
        let in_use = || instance.protocol().beside.in_use();
        let greatest = || instance.protocol().beside.last.load(Ordering::Acquire);
        let mut txn = Engine::transaction(&*instance, Waiter::thread(Duration::ZERO));
        let txn = &mut *txn;
        let table = fill(&*instance);
        touch(txn, table);
        assert_eq!((in_use(), greatest()), (20, 21));
        for _ in 0..3 {
            // Alone in the database.
            txn.begin(&Begin::default()).expect("nobody else is there");
            (0..ROWS).for_each(|id| assert_eq!(txn.delete(table, &Key::Int(id)), Ok(Write::Done)));
            let again = Row::from_values(&instance.layout(table), &[Value::Int8(0)]);
            assert_eq!(txn.insert(table, again.as_ref()), Ok(Write::Done));
            txn.commit().expect("it holds all that it needs");
            assert_eq!((in_use(), greatest()), (1, 21), "the first row has been there all the time");
            // A table that the transaction has for itself, beside others.
            let accesses = Accesses::new();
            txn.begin(&Begin { accesses: Some(&accesses), ..Begin::default() }).expect("nobody else is there");
            txn.own_table(table);
            assert_eq!(txn.delete(table, &Key::Int(0)), Ok(Write::Done));
            for id in 0..ROWS {
                let row = Row::from_values(&instance.layout(table), &[Value::Int8(id)]);
                assert_eq!(txn.insert(table, row.as_ref()), Ok(Write::Done));
            }
            txn.commit().expect("it holds all that it needs");
            touch(txn, table);
            assert_eq!((in_use(), greatest()), (20, 21));
        }
        txn.begin(&Begin::default()).expect("nobody else is there");
        assert_eq!(txn.delete(table, &Key::Int(1)), Ok(Write::Done));
        txn.abort();
        assert_eq!(in_use(), 20, "the row is still there");

        let other = fill(&*instance);
        touch(txn, other);
        assert_eq!(in_use(), 40);
        instance.drop_table(table);
        assert_eq!(in_use(), 20);
        instance.drop_table(other);
        instance.drop_table(other);
        assert_eq!(in_use(), 0);
        let last = fill(&*instance);
        touch(txn, last);
        assert_eq!((in_use(), greatest()), (20, 41));
    }
}
