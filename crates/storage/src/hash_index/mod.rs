//! The hash index: an open-addressing table of tagged addresses.
//!
//! A slot is one word: 16 bits of the key's hash, the *tag*, and the 48-bit address of a record. A look-up compares
//! tags before it follows an address, so that only one in 65,536 wrong candidates is visited. That halves the time of a
//! look-up in a table larger than the caches. The index knows neither keys nor records: callers pass hashes, and
//! closures that look into the records.
//!
//! The table is cut into shards by the high bits of the hash. A shard is an array of *lines* of eight slots, one cache
//! line each. An entry stands in the line that the low bits of its hash choose, its *home*, or, if that is full, in the
//! next line with a free slot. When three quarters of a shard's slots are used, it grows into a new array.
//!
//! **Thread safety.** All threads may call all methods at any time. Look-ups take no latch and write nothing. Insert
//! and remove take their shard's latch: usually for one or two cache misses, and for the copying of the shard (at most
//! 1/64 of the table) when it grows. The closures `matches` and `hash_of` run under that latch: they may look at the
//! record, and must not call the index.
//!
//! **Invariants**
//!
//! 1. Slots are written only under the latch of their shard, and only in its present array. An array that was replaced
//!    never changes again.
//! 2. An entry never moves within an array.
//! 3. Once a line has no [empty](lines::EMPTY) slot, it has none until its array is replaced: removing from a line with
//!    an empty slot makes another empty slot, removing from one without leaves a [tombstone](lines::TOMBSTONE).
//! 4. If an entry is not in its home, then no line from its home up to its own has an empty slot.
//! 5. A quarter of every array's slots is empty.
//!
//! **Why a look-up needs no latch.** It reads line after line from the home on, and stops after the first line in which
//! it saw an empty slot; by 5 there is one. Suppose that an entry E is in the index from before the look-up begins
//! until it ends, and that the shard does not grow meanwhile. By 4 the lines before E's were full when E was put in, by
//! 3 they have had no empty slot since; E's insertion happened before the look-up, so coherence keeps it from reading
//! older words there. It reaches E's line, and reads every slot of it: by 2 it sees E. If the shard grows, the look-up
//! continues in the array that it found first. By 1 that array holds what the shard held when it was replaced, E
//! included, and the collector keeps it while the look-up's guard lives. An entry that the look-up misses was inserted
//! after it began, and an entry that it returns was in the index after it began. So each look-up of one entry takes
//! effect at one moment. That does not hold for a key that moves from one address to another during the look-up: if a
//! thread inserts the new entry and then removes the old one, a look-up that has already passed the new entry's slot
//! may find neither. Protocols exclude that by their locks, or keep a key's record in place.

mod lines;
#[cfg(test)]
mod tests;

use crate::epoch::{Collector, Garbage, Guard};
use hotrow_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use hotrow_sync::{Arc, CachePadded, Latch, prefetch};
use lines::{ADDRESS, Array, EMPTY, Lines, Published, SLOTS, TOMBSTONE, occupied, tag, tagged};
use std::fmt;
use std::ops::ControlFlow;

/// The number of shards. With 64, the words by which look-ups find shards fill eight cache lines, and a shard is large
/// enough for huge pages if its table is large enough to miss the translation cache. A model has one shard, so that its
/// threads contend.
const SHARDS: usize = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

/// A hash table from hashes to addresses, in which duplicates are allowed.
///
/// Every look-up, insertion and removal searches the entries with the same hash one after another. Tens of duplicates
/// cost little; thousands belong in an ordered index.
///
/// Addresses are multiples of eight, not zero, and below 2^48. An address that was removed must be retired through the
/// same collector before it is freed: look-ups may still return it under guards that existed before.
pub struct HashIndex {
    published: [Published; SHARDS],
    writers: Box<[CachePadded<Writer>]>,
    collector: Arc<Collector>,
}

/// The state of one shard that insertions and removals change, under the shard's latch.
struct Writer {
    present: Latch<Present>,
    /// The number of entries. It is written under the latch.
    live: AtomicUsize,
}

/// The present array of a shard, and how full it is.
struct Present {
    array: Array,
    /// The number of slots that are not empty.
    used: usize,
}

impl HashIndex {
    /// Makes an empty index, which has room for about `capacity_hint` entries before it first grows.
    pub fn new(collector: &Arc<Collector>, capacity_hint: usize) -> Self {
        // The shards of a random table differ by a few percent.
        let entries_per_shard = capacity_hint / SHARDS + capacity_hint / (SHARDS * 16);
        let arrays: [Array; SHARDS] = std::array::from_fn(|_| Array::new(entries_per_shard + entries_per_shard / 3));
        let published = std::array::from_fn(|shard| Published::new(&arrays[shard]));
        let writer = |array| {
            let present = Latch::new(Present { array, used: 0 });
            CachePadded(Writer { present, live: AtomicUsize::new(0) })
        };
        Self { published, writers: arrays.into_iter().map(writer).collect(), collector: collector.clone() }
    }

    /// Returns the address of the first entry with this hash for which `matches` returns true; `None` if there is no
    /// such entry. `matches` must compare keys: the index compares only 16 bits of the hash, so `matches` may also get
    /// the addresses of entries with other hashes.
    #[inline]
    pub fn get(&self, guard: Guard<'_>, hash: u64, mut matches: impl FnMut(usize) -> bool) -> Option<usize> {
        find(self.lines(guard, shard(hash)), hash, &mut matches)
    }

    /// Visits the addresses of all entries with this hash, until `visit` breaks. `visit` must compare keys: it may also
    /// get the addresses of a few entries with other hashes. An entry that is removed and inserted again meanwhile may
    /// be visited twice.
    pub fn for_each(&self, guard: Guard<'_>, hash: u64, mut visit: impl FnMut(usize) -> ControlFlow<()>) {
        let tag = tag(hash);
        self.lines(guard, shard(hash)).probe(hash, |_, word| match tagged(word, tag) {
            Some(address) => visit(address),
            None => ControlFlow::Continue(()),
        });
    }

    /// Adds an entry, whether or not an equal one exists. `hash_of` returns the hash of the entry at any address; the
    /// index calls it when the shard grows.
    pub fn insert(&self, guard: Guard<'_>, hash: u64, address: usize, hash_of: impl Fn(usize) -> u64) {
        self.prefetch_slot(guard, hash);
        let mut present = self.writers[shard(hash)].present.lock();
        let replaced = self.place(&mut present, hash, address, &hash_of);
        drop(present);
        self.defer(replaced);
    }

    /// Adds an entry, unless there is an entry with this hash for which `matches` returns true. `matches` must compare
    /// keys, as for [`get`](Self::get); `hash_of` is as for [`insert`](Self::insert).
    ///
    /// # Errors
    ///
    /// The address of the entry that exists.
    pub fn insert_unique(
        &self,
        guard: Guard<'_>,
        hash: u64,
        address: usize,
        mut matches: impl FnMut(usize) -> bool,
        hash_of: impl Fn(usize) -> u64,
    ) -> Result<(), usize> {
        self.prefetch_slot(guard, hash);
        let mut present = self.writers[shard(hash)].present.lock();
        if let Some(existing) = find(present.array.lines(), hash, &mut matches) {
            return Err(existing);
        }
        let replaced = self.place(&mut present, hash, address, &hash_of);
        drop(present);
        self.defer(replaced);
        Ok(())
    }

    /// Removes one entry with this hash and address. Returns whether there was one.
    pub fn remove(&self, guard: Guard<'_>, hash: u64, address: usize) -> bool {
        self.prefetch_slot(guard, hash);
        let writer = &self.writers[shard(hash)];
        let mut present = writer.present.lock();
        let Present { array, used } = &mut *present;
        let entry = tag(hash) | address as u64;
        let found = array.lines().probe(hash, |slot, word| match word == entry {
            true => ControlFlow::Break(slot),
            false => ControlFlow::Continue(()),
        });
        let Some(slot) = found else { return false };
        // Release is not needed for readers of an empty slot, which follow no address. It keeps the order of an
        // insertion elsewhere and this removal for threads that see the removal.
        if array.lines().line_of(slot).has_room() {
            slot.store(EMPTY, Ordering::Release);
            *used -= 1;
        } else {
            slot.store(TOMBSTONE, Ordering::Release);
        }
        // Relaxed: a count, written under the latch.
        writer.live.fetch_sub(1, Ordering::Relaxed);
        true
    }

    /// Prefetches the line where the search for `hash` begins. This is the first of two passes over a batch of
    /// look-ups.
    #[inline]
    pub fn prefetch_slot(&self, guard: Guard<'_>, hash: u64) {
        prefetch(std::ptr::from_ref(self.lines(guard, shard(hash)).home(hash)).cast());
    }

    /// Returns the address of the record that [`get`](Self::get) would visit first. Usually, this is the wanted record;
    /// the caller must compare keys. Returns `None` if no entry has this hash. This is the second of two passes over a
    /// batch of look-ups, in which the caller prefetches the records.
    #[inline]
    pub fn target(&self, guard: Guard<'_>, hash: u64) -> Option<usize> {
        find(self.lines(guard, shard(hash)), hash, &mut |_| true)
    }

    /// Visits all entries, in no order. Entries that are in the index during the whole call are visited at least once.
    pub fn entries(&self, guard: Guard<'_>, mut visit: impl FnMut(usize) -> ControlFlow<()>) {
        for shard in 0..SHARDS {
            for address in self.lines(guard, shard).all().iter().flat_map(lines::Line::words).filter_map(occupied) {
                if visit(address).is_break() {
                    return;
                }
            }
        }
    }

    /// Returns the number of entries, now or a moment ago.
    pub fn len(&self) -> usize {
        // Relaxed: a sum over shards is out of date anyway.
        self.writers.iter().map(|writer| writer.live.load(Ordering::Relaxed)).sum()
    }

    /// Whether [`len`](Self::len) is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes that the slots of all shards take.
    pub fn bytes(&self) -> usize {
        let capacity = |writer: &CachePadded<Writer>| writer.present.lock().array.lines().capacity();
        self.writers.iter().map(capacity).sum::<usize>() * size_of::<AtomicU64>()
    }

    #[inline]
    fn lines<'g>(&'g self, _guard: Guard<'g>, shard: usize) -> Lines<'g> {
        // SAFETY: an array is deferred to the collector after it was replaced, so it stays for a caller that finds it
        // while in an epoch, as the guard proves for 'g. The last array lives as long as self, which is borrowed for
        // 'g.
        unsafe { self.published[shard].lines() }
    }

    /// Hands an array that growth has replaced, if there is one, to the collector, which frees it later. The caller
    /// must not hold the latch, because the collector may free more than the array.
    fn defer(&self, replaced: Option<Array>) {
        if let Some(array) = replaced {
            self.collector.defer(Garbage::boxed(Box::new(array)));
        }
    }

    /// Puts an entry into the shard whose latch the caller holds. Returns the old array if the shard had to grow.
    fn place(
        &self,
        present: &mut Present,
        hash: u64,
        address: usize,
        hash_of: &impl Fn(usize) -> u64,
    ) -> Option<Array> {
        debug_assert!(address != 0 && address.is_multiple_of(8) && address as u64 <= ADDRESS, "address {address:#x}");
        let (_, word) = present.array.lines().free(hash);
        let full = word == EMPTY && present.used == limit(present.array.lines().capacity());
        let replaced = full.then(|| self.grow(present, shard(hash), hash_of));
        let (slot, word) = present.array.lines().free(hash);
        present.used += usize::from(word == EMPTY);
        // Pairs with the acquire of `Lines::probe`: the record was written before its address is seen.
        slot.store(tag(hash) | address as u64, Ordering::Release);
        // Relaxed: a count, written under the latch.
        self.writers[shard(hash)].live.fetch_add(1, Ordering::Relaxed);
        replaced
    }

    /// Copies a shard into an array twice as large as its entries, which drops the tombstones too. Returns the old
    /// array.
    #[cold]
    fn grow(&self, present: &mut Present, shard: usize, hash_of: &impl Fn(usize) -> u64) -> Array {
        // Relaxed: written under the latch that the caller holds.
        let live = self.writers[shard].live.load(Ordering::Relaxed);
        let array = Array::new((live + 1) * 2);
        let (from, to) = (present.array.lines(), array.lines());
        for (position, line) in from.all().iter().enumerate() {
            // The hashes come from the records. Each is a cache miss unless it was prefetched a while before.
            for address in from.line(position + PREFETCH_LINES).words().filter_map(occupied) {
                prefetch(std::ptr::without_provenance(address));
            }
            for word in line.words() {
                let Some(address) = occupied(word) else { continue };
                let hash = hash_of(address);
                debug_assert_eq!(tag(hash), word & !ADDRESS, "the hash of an entry changed");
                // Relaxed: no other thread sees the array before it is published, with release.
                to.free(hash).0.store(word, Ordering::Relaxed);
            }
        }
        self.published[shard].replace(&array);
        present.used = live;
        std::mem::replace(&mut present.array, array)
    }
}

/// The number of lines ahead for which growth prefetches records: some twenty misses in flight.
const PREFETCH_LINES: usize = 4;

#[inline]
fn shard(hash: u64) -> usize {
    (hash >> 58) as usize % SHARDS
}

/// Returns how many of an array's slots may be used before the shard grows.
fn limit(capacity: usize) -> usize {
    capacity - capacity.div_ceil(4)
}

#[inline]
fn find(lines: Lines<'_>, hash: u64, matches: &mut impl FnMut(usize) -> bool) -> Option<usize> {
    let tag = tag(hash);
    lines.probe(hash, |_, word| match tagged(word, tag) {
        Some(address) if matches(address) => ControlFlow::Break(address),
        _ => ControlFlow::Continue(()),
    })
}

impl fmt::Debug for HashIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashIndex").field("len", &self.len()).field("bytes", &self.bytes()).finish()
    }
}

const _: () = assert!(SHARDS.is_power_of_two() && SHARDS <= 64 && SLOTS.is_power_of_two());
