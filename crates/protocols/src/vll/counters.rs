//! The counters of a record: how many transactions in the queue have asked for it exclusively, how many shared.
//!
//! They are read and written inside the critical section only, so they are plain loads and stores of atomics, and both
//! together are one [`Counts`]. Where they are kept is what tells `vll` from `vll-arrayed`: in the word before the record
//! ([`Colocated`], §2.1), or in two vectors ([`Arrayed`], §2.2) whose position that word names.

use crate::shared::segmented::Segmented;
use hotrow_storage::{RecordHeader, prefetch};
use hotrow_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use hotrow_txn::Intent;

/// C_X and C_S of one record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Counts(u64);

/// One exclusive request.
const EXCLUSIVE: u64 = 1 << 32;

/// The greatest count. One more would be the mark of the dead.
const MOST: u32 = u32::MAX - 1;

impl Counts {
    /// Nobody has asked for the record.
    pub(super) const NONE: Counts = Counts(0);

    /// The record has been taken out of its table: there is nothing to ask for any more.
    pub(super) const DEAD: Counts = Counts(u64::MAX);

    pub(super) fn new(exclusive: u32, shared: u32) -> Self {
        Counts(u64::from(exclusive) << 32 | u64::from(shared))
    }

    /// C_X.
    #[inline]
    pub(super) fn exclusive(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// C_S.
    #[inline]
    pub(super) fn shared(self) -> u32 {
        self.0 as u32
    }

    /// Whether a request that comes now conflicts with one that was made before.
    #[inline]
    pub(super) fn conflicts(self, intent: Intent) -> bool {
        match intent {
            Intent::Read => self.exclusive() > 0,
            Intent::Write => self != Self::NONE,
        }
    }

    /// With one request more, unless there are as many as can be counted.
    #[inline]
    pub(super) fn with(self, intent: Intent) -> Option<Self> {
        let (count, one) = match intent {
            Intent::Read => (self.shared(), 1),
            Intent::Write => (self.exclusive(), EXCLUSIVE),
        };
        (count < MOST).then_some(Counts(self.0.wrapping_add(one)))
    }

    /// With one request less.
    #[inline]
    pub(super) fn without(self, intent: Intent) -> Self {
        debug_assert!(self != Self::DEAD, "a record that somebody counts on is not dead");
        match intent {
            Intent::Read => {
                debug_assert!(self.shared() > 0, "given back more often than asked for");
                Counts(self.0 - 1)
            }
            Intent::Write => {
                debug_assert!(self.exclusive() > 0, "given back more often than asked for");
                Counts(self.0 - EXCLUSIVE)
            }
        }
    }
}

impl std::fmt::Debug for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::DEAD {
            return f.write_str("dead");
        }
        write!(f, "C_X {} C_S {}", self.exclusive(), self.shared())
    }
}

/// A record's header that leads to its counters. All but [`prefetch`](Self::prefetch) is called inside the critical section.
pub trait Counters: RecordHeader {
    /// What is kept beside the records.
    type Beside: Default + Send + Sync + 'static;

    /// The counters.
    fn get(&self, beside: &Self::Beside) -> Counts;

    /// Sets the counters.
    fn set(&self, beside: &Self::Beside, counts: Counts);

    /// Has the processor fetch what [`get`](Self::get) will read beside the header, before the critical section.
    #[inline]
    fn prefetch(&self, _beside: &Self::Beside) {}
}

/// The counters stand before the record: what brings its lock into the cache brings its row.
#[derive(Debug, Default)]
pub struct Colocated(AtomicU64);

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Colocated>() == 8);

impl RecordHeader for Colocated {}

impl Counters for Colocated {
    type Beside = ();

    #[inline]
    fn get(&self, _: &()) -> Counts {
        // Relaxed: the latch of the critical section orders it.
        Counts(self.0.load(Ordering::Relaxed))
    }

    #[inline]
    fn set(&self, _: &(), counts: Counts) {
        // Relaxed: as in `get`.
        self.0.store(counts.0, Ordering::Relaxed);
    }
}

/// The counters stand in two vectors, at the position that the header names. A record gets its position when it is
/// first asked for, and gives it back when it dies.
#[derive(Debug, Default)]
pub struct Arrayed {
    /// The position, counted from one; none yet; or [`DEAD`].
    position: AtomicU32,
}

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Arrayed>() == 4);

const NO_POSITION: u32 = 0;
const DEAD: u32 = u32::MAX;

impl RecordHeader for Arrayed {}

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

    fn check(header: &Arrayed, vectors: &Vectors, position: u32, expected: Counts) {
        assert_eq!((header.position(), header.get(vectors)), (position, expected));
    }

    #[test]
    fn requests_are_counted_by_what_they_want() {
        use Intent::{Read, Write};
        let cases: &[(Counts, Intent, bool)] = &[
            (Counts::NONE, Read, false),
            (Counts::NONE, Write, false),
            (Counts::new(0, 3), Read, false),
            (Counts::new(0, 3), Write, true),
            (Counts::new(1, 0), Read, true),
            (Counts::new(1, 0), Write, true),
        ];
        for &(before, intent, conflicts) in cases {
            assert_eq!(before.conflicts(intent), conflicts, "{intent:?} after {before:?}");
            let after = before.with(intent).expect("there is room");
            let expected = match intent {
                Read => Counts::new(before.exclusive(), before.shared() + 1),
                Write => Counts::new(before.exclusive() + 1, before.shared()),
            };
            assert_eq!(after, expected);
            assert_eq!(after.without(intent), before);
        }
    }

    #[test]
    fn a_count_that_would_overflow_is_refused() {
        let most = u32::MAX - 1;
        assert_eq!(Counts::new(0, most).with(Intent::Read), None);
        assert_eq!(Counts::new(most, 7).with(Intent::Write), None);
        assert_eq!(Counts::new(0, most - 1).with(Intent::Read), Some(Counts::new(0, most)));
        assert_eq!(Counts::new(most, 0).with(Intent::Read), Some(Counts::new(most, 1)));
        assert_ne!(Counts::new(most, most), Counts::DEAD);
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
}
