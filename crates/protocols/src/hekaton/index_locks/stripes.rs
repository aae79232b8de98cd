//! A table of locks by name, divided into stripes.
//!
//! A stripe says in one word which names it may have: a bit for each of 64 groups of names. A transaction that looks
//! for locks reads the word. It takes the stripe's latch only if the bit of its name is set.

use super::super::txn_id::TxnId;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Latch, OnceLock};

/// The number of stripes of a table.
const STRIPES: usize = if cfg!(shuttle) { 2 } else { 1024 };

/// A table of locks by name. Until the first lock is taken it takes one word of memory.
pub(super) struct Stripes<T>(OnceLock<Box<[Stripe<T>]>>);

impl<T> Default for Stripes<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> Stripes<T> {
    /// Returns the size of the table in bytes, without the lists of locks.
    pub fn bytes(&self) -> usize {
        self.0.get().map_or(0, |stripes| size_of_val(&**stripes))
    }

    /// Whether any lock was ever taken, so that the table exists.
    #[inline]
    pub fn exist(&self) -> bool {
        self.0.get().is_some()
    }

    /// Adds a transaction's lock under a name, unless the transaction has one there for which `is_same` holds. Returns
    /// whether the lock was added.
    pub fn add(&self, name: u64, what: T, by: TxnId, is_same: impl Fn(&T) -> bool) -> bool {
        let stripes = self.0.get_or_init(|| (0..STRIPES).map(|_| Stripe::default()).collect());
        of_name(stripes, name).add(name, what, by, is_same)
    }

    /// Removes the lock that a transaction has under a name and for which `is_same` holds.
    pub fn remove(&self, name: u64, by: TxnId, is_same: impl Fn(&T) -> bool) {
        if let Some(stripes) = self.0.get() {
            of_name(stripes, name).remove(name, by, is_same);
        }
    }

    /// Returns the stripe that has the locks of a name, or `None` if there is certainly no lock under the name.
    #[inline]
    pub fn met(&self, name: u64) -> Option<&Stripe<T>> {
        self.0.get().map(|stripes| of_name(stripes, name)).filter(|stripe| stripe.may_have(name))
    }

    /// Whether the table has no lock.
    pub fn are_free(&self) -> bool {
        let is_free = |stripe: &Stripe<T>| stripe.names.load(Ordering::Acquire) == 0;
        self.0.get().is_none_or(|stripes| stripes.iter().all(is_free))
    }
}

fn of_name<T>(stripes: &[Stripe<T>], name: u64) -> &Stripe<T> {
    // The lowest bits of a key's hash choose buckets, and a link's tag has others.
    &stripes[(name >> 20) as usize % STRIPES]
}

/// Returns the bit of a stripe's word that stands for a name.
fn bit(name: u64) -> u64 {
    1 << (name >> 58)
}

/// A lock: its name, what is locked, and the transaction that has it.
type Entry<T> = (u64, T, TxnId);

/// The locks of the names that fall into one part of the table. A stripe has a cache line of its own, so that a lock
/// writes no line that is read for names of other stripes.
#[repr(align(64))]
pub(super) struct Stripe<T> {
    /// The bits of the names under which there are locks.
    names: AtomicU64,
    /// The locks of the stripe, in the order of their names.
    held: Latch<Vec<Entry<T>>>,
}

impl<T> Default for Stripe<T> {
    fn default() -> Self {
        Self { names: AtomicU64::new(0), held: Latch::new(Vec::new()) }
    }
}

impl<T> Stripe<T> {
    #[inline]
    fn may_have(&self, name: u64) -> bool {
        self.names.load(Ordering::Acquire) & bit(name) != 0
    }

    fn add(&self, name: u64, what: T, by: TxnId, is_same: impl Fn(&T) -> bool) -> bool {
        let mut held = self.held.lock();
        let of_name = of(&held, name);
        let is_new = !held[of_name.clone()].iter().any(|(_, other, id)| *id == by && is_same(other));
        if is_new {
            held.insert(of_name.end, (name, what, by));
            self.note(&held);
        }
        is_new
    }

    fn remove(&self, name: u64, by: TxnId, is_same: impl Fn(&T) -> bool) {
        let mut held = self.held.lock();
        let mut of_name = of(&held, name);
        if let Some(at) = of_name.find(|&at| held[at].2 == by && is_same(&held[at].1)) {
            held.remove(at);
            self.note(&held);
        }
    }

    /// Updates the word that says under which names there are locks.
    fn note(&self, held: &[Entry<T>]) {
        let names = held.iter().fold(0, |names, (name, ..)| names | bit(*name));
        self.names.store(names, Ordering::Release);
    }

    /// Appends to `holders` the transactions that have a lock under this name for which `is_hit` holds. `is_hit` is not
    /// called for locks of other names, and runs under the stripe's latch.
    pub fn holders(&self, name: u64, mut is_hit: impl FnMut(&T) -> bool, holders: &mut impl Extend<TxnId>) {
        let held = self.held.lock();
        let of_name = &held[of(&held, name)];
        holders.extend(of_name.iter().filter(|(_, what, _)| is_hit(what)).map(|&(_, _, id)| id));
    }
}

/// Returns the range of positions at which the locks of a name stand.
fn of<T>(held: &[Entry<T>], name: u64) -> std::ops::Range<usize> {
    let first = held.partition_point(|(other, ..)| *other < name);
    first..first + held[first..].partition_point(|(other, ..)| *other == name)
}
