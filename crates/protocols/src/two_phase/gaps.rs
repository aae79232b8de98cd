//! Locks of rows, gaps and unique keys: what [`super`] says about phantoms, in code.

use super::STRIPES;
use super::policy::Policy;
use crate::shared::in_place::IndexLocks;
use crate::shared::lock_table::{Acquired, Name, Requester};
use crate::shared::mode::Mode;
use crate::shared::walk;
use hotrow_storage::{Guard, IndexId, IndexKind, IndexRef, Key, Table, TableId, mix};
use hotrow_sync::{Arc, Waiter};
use hotrow_txn::{Abort, Access, Statistics};
use smallvec::SmallVec;
use std::ops::Bound;

/// The locks of one transaction.
pub(crate) struct Locks<P> {
    pub(crate) policy: Arc<P>,
    pub(crate) requester: Requester,
    pub(crate) statistics: Statistics,
    /// Tables that the caller keeps everybody else off.
    owned: Vec<TableId>,
    /// A lock to release at the next call.
    short: Option<Name>,
    /// The gaps that the entry being linked has announced itself to.
    announced: Gaps,
}

/// What a name is the name of, besides a row.
#[derive(Clone, Copy)]
enum Kind {
    Gap = 1,
    End = 2,
    Stripe = 3,
    Unique = 4,
}

fn name_of(table: TableId, index: IndexRef, kind: Kind, hash: u64) -> Name {
    let index = match index {
        IndexRef::Primary => 0,
        IndexRef::Secondary(IndexId(index)) => u64::from(index) + 1,
    };
    Name(mix(Access::name(table, hash) ^ (index << 3 | kind as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93)))
}

/// The name of a row, present or absent.
#[inline]
pub(crate) fn row_name(table: TableId, hash: u64) -> Name {
    Name(Access::name(table, hash))
}

impl<P: Policy> Locks<P> {
    pub(crate) fn new(policy: Arc<P>, requester: Requester) -> Self {
        Self {
            policy,
            requester,
            statistics: Statistics::default(),
            owned: Vec::new(),
            short: None,
            announced: Gaps::new(),
        }
    }

    pub(crate) fn waiter(&self) -> &Waiter {
        self.requester.waiter()
    }

    pub(crate) fn own(&mut self, table: TableId) {
        if !self.owns(table) {
            self.owned.push(table);
        }
    }

    #[inline]
    pub(crate) fn owns(&self, table: TableId) -> bool {
        !self.owned.is_empty() && self.owned.contains(&table)
    }

    /// Locks a row.
    #[inline]
    pub(crate) fn row(&mut self, table: TableId, hash: u64, mode: Mode) -> Result<Acquired, Abort> {
        if self.owns(table) {
            return Ok(Acquired::Again);
        }
        self.acquire(row_name(table, hash), mode)
    }

    /// Locks a row shared until the transaction's next call.
    #[inline]
    pub(crate) fn row_for_now(&mut self, table: TableId, hash: u64) -> Result<(), Abort> {
        if self.row(table, hash, Mode::SHARED)? == Acquired::New {
            self.short = Some(row_name(table, hash));
        }
        Ok(())
    }

    /// Releases what was locked for the last call only.
    #[inline]
    pub(crate) fn release_short(&mut self) {
        if let Some(name) = self.short.take() {
            self.requester.release(name);
        }
    }

    /// Releases everything.
    #[inline]
    pub(crate) fn release_all(&mut self) {
        self.short = None;
        self.owned.clear();
        self.requester.release_all();
    }

    /// Locks shared the gap below an entry.
    pub(crate) fn read_gap(&mut self, table: TableId, index: IndexRef, key: &Key) -> Result<(), Abort> {
        self.acquire(name_of(table, index, Kind::Gap, key.hash64()), Mode::SHARED).map(drop)
    }

    /// Locks shared the gap above an ordered index's last entry.
    pub(crate) fn read_end(&mut self, table: TableId, index: IndexRef) -> Result<(), Abort> {
        self.acquire(name_of(table, index, Kind::End, 0), Mode::SHARED).map(drop)
    }

    /// Locks shared all the pseudo-gaps of an unordered primary index.
    pub(crate) fn read_stripes(&mut self, table: TableId) -> Result<(), Abort> {
        (0..STRIPES).try_for_each(|stripe| {
            self.acquire(name_of(table, IndexRef::Primary, Kind::Stripe, stripe), Mode::SHARED).map(drop)
        })
    }

    #[inline]
    fn acquire(&mut self, name: Name, mode: Mode) -> Result<Acquired, Abort> {
        if self.statistics.timed {
            return self.acquire_timed(name, mode);
        }
        self.requester.acquire(name, mode, &*self.policy, &mut self.statistics)
    }

    #[cold]
    fn acquire_timed(&mut self, name: Name, mode: Mode) -> Result<Acquired, Abort> {
        let start = self.waiter().now();
        let waited_before = self.statistics.wait_ns;
        let acquired = self.requester.acquire(name, mode, &*self.policy, &mut self.statistics);
        let waited = self.statistics.wait_ns - waited_before;
        let all = self.waiter().now().since(start).as_nanos() as u64;
        self.statistics.lock_manager_ns += all.saturating_sub(waited);
        acquired
    }

    /// The gaps that a key falls into, or fell into, now: the one below the next entry, and if that entry's insert has
    /// not committed, those up to the first entry whose has.
    fn gaps_around(table: &Table<()>, guard: Guard<'_>, index: IndexRef, key: &Key) -> Gaps {
        if !is_ordered(table, index) {
            return Gaps::from_elem(unordered_gap(table.id(), index, key), 1);
        }
        let mut gaps = Gaps::new();
        let mut from = Bound::Excluded(key.clone());
        loop {
            let next = walk::steps(table, guard, index, from.as_ref(), false, 1);
            let Some(step) = next.first() else {
                gaps.push(name_of(table.id(), index, Kind::End, 0));
                return gaps;
            };
            gaps.push(name_of(table.id(), index, Kind::Gap, step.key().hash64()));
            if step.is_committed() {
                return gaps;
            }
            from = Bound::Excluded(step.key());
        }
    }

    /// Takes the insert mode of gaps.
    fn announce(&mut self, gaps: &[Name]) -> Result<(), Abort> {
        gaps.iter().try_for_each(|&gap| self.acquire(gap, Mode::INSERT).map(drop))
    }
}

/// The gaps of one insert: one, unless others are inserting beside it.
type Gaps = SmallVec<[Name; 2]>;

/// The pseudo-gap of a hash index that a key belongs to.
fn unordered_gap(table: TableId, index: IndexRef, key: &Key) -> Name {
    match index {
        IndexRef::Primary => name_of(table, index, Kind::Stripe, key.hash64() % STRIPES),
        IndexRef::Secondary(_) => name_of(table, index, Kind::Gap, key.hash64()),
    }
}

pub(crate) fn is_ordered(table: &Table<()>, index: IndexRef) -> bool {
    match index {
        IndexRef::Primary => table.is_ordered(),
        IndexRef::Secondary(id) => table.secondary_index(id).schema().kind == IndexKind::Ordered,
    }
}

impl<P: Policy> IndexLocks<()> for Locks<P> {
    fn entering(&mut self, table: &Table<()>, guard: Guard<'_>, index: IndexRef, key: &Key) -> Result<(), Abort> {
        if self.owns(table.id()) {
            return Ok(());
        }
        let gaps = Self::gaps_around(table, guard, index, key);
        self.announce(&gaps)?;
        self.announced = gaps;
        Ok(())
    }

    fn entered(&mut self, table: &Table<()>, guard: Guard<'_>, index: IndexRef, key: &Key) -> Result<(), Abort> {
        if self.owns(table.id()) || !is_ordered(table, index) {
            return Ok(());
        }
        loop {
            let gaps = Self::gaps_around(table, guard, index, key);
            if gaps == self.announced {
                return Ok(());
            }
            self.announce(&gaps)?;
            self.announced = gaps;
        }
    }

    fn leaving(&mut self, table: &Table<()>, index: IndexRef, key: &Key) -> Result<(), Abort> {
        if self.owns(table.id()) {
            return Ok(());
        }
        let gap = match is_ordered(table, index) {
            true => name_of(table.id(), index, Kind::Gap, key.hash64()),
            false => unordered_gap(table.id(), index, key),
        };
        self.announce(&[gap])
    }

    fn unique(&mut self, table: &Table<()>, index: IndexId, columns: &Key) -> Result<(), Abort> {
        if self.owns(table.id()) {
            return Ok(());
        }
        let name = name_of(table.id(), IndexRef::Secondary(index), Kind::Unique, columns.hash64());
        self.acquire(name, Mode::EXCLUSIVE).map(drop)
    }
}
