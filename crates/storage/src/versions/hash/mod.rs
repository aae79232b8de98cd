//! The hash index over versions: a split-ordered list (Shalev and Shavit: "Split-Ordered Lists: Lock-Free Extensible
//! Hash Tables", JACM 2006).
//!
//! All versions of a table are in one list, in the order of their hashes with the bits reversed. A *bucket* is a word
//! that leads into the list. Bucket b of 2^l leads to the versions whose hash ends in the l bits of b, which are
//! neighbours in that order. When the buckets double, nothing moves: bucket b + 2^l is a new word in the middle of b's
//! versions, and is put there when it is first needed. Buckets are words of the list themselves, the *stops* of
//! [`links`], so a look-up touches the cache line of the bucket, and that of each version that it meets.
//!
//! Doubling is one store: fresh buckets are zeroed memory of the system, in segments that never move. Threads that link
//! versions put fresh buckets into the list, a few at a time, before look-ups need them.
//!
//! **Thread safety.** All threads may call all methods at any time, in an epoch. There is no latch. The thread that
//! doubles the buckets takes a mutex; other threads try it, and go on if it is taken.
//!
//! **Definitions.** The *rank* of a version is its hash, reversed, with the lowest bit set; the rank of a bucket is its
//! number, reversed, which is even. So a bucket comes before all its versions, and no two buckets have the same rank. A
//! bucket's *parent* is its number without the highest bit that is set. A bucket is *ready* when its word is in the
//! list and says so.
//!
//! **Invariants**, beside those of [`links`]
//!
//! 1. Ranks do not decrease along the list. Of two versions of the same rank, the one in front was put in later.
//! 2. A bucket's word is zero until a thread claims it. Then it is unready and belongs to that thread, until an
//!    exchange puts it into the list, with the rest of the list behind it. Then it is a word of the list, and a little
//!    later it becomes ready.
//! 3. Bucket 0 is ready from the beginning. Every bucket's rank is above its parent's.
//!
//! **Why a look-up finds what is there.** A look-up for a hash begins at the word of the bucket whose number is the end
//! of the hash. If that bucket is not ready, it begins at the parent, and so on. Each of these has a rank below the
//! hash's (3), because reversing puts the low bits first. The look-up goes on until a stop of a higher rank or the end
//! of the list. By 1 the versions of the hash are in between, and by the argument of `links` the look-up misses none of
//! them that is there throughout. The number of buckets plays no part in that: a stop is compared by its rank,
//! whichever thread put it there. So a look-up that knows half as many buckets as others is longer, not wrong. *If a
//! bucket is claimed and not ready*, other threads begin at its parent: no thread waits.
//!
//! **Why a bucket gets to its place.** Its word is complete before the exchange that puts it into the list; the
//! exchange expects the preceding word to lead to where the bucket's own word leads, so nothing between them is lost. A
//! walk that reaches an unready word along the list treats it as any other word, and keeps the flag.

mod buckets;

use super::format::VersionHeader;
use super::links::{self, Link, Lost, Place, Pointee};
use super::memory::VersionSlots;
use super::version::VersionRef;
use crate::KeySpec;
use crate::epoch::Guard;
use crate::striped::Striped;
use buckets::Buckets;
use hotrow_sync::atomic::AtomicU64;
use hotrow_sync::{Arc, prefetch};
use std::marker::PhantomData;
use std::ops::ControlFlow;

/// The number of links after which a thread checks whether there are too few buckets. It is a power of two.
const LOOK_EVERY: i64 = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

/// The number of links after which a thread makes `MADE_TOGETHER` buckets. Buckets are made faster in this way than
/// links make them double, so all buckets are soon made.
const MAKE_EVERY: i64 = if cfg!(any(loom, shuttle)) { 2 } else { 8 };
const MADE_TOGETHER: u64 = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

/// The lowest bit of the number of links in a stripe of the counts. The bits below it hold the number of versions.
const LINKS: u32 = 40;

/// A hash index over the versions of a table. The versions are linked by their words at `position`.
pub(super) struct VersionHash<H> {
    position: usize,
    spec: KeySpec,
    slots: Arc<VersionSlots>,
    buckets: Buckets,
    /// The counts of each stripe: the number of versions in the low bits, and the number of links so far in the high
    /// bits.
    counts: Striped,
    marker: PhantomData<fn() -> H>,
}

impl<H: VersionHeader> VersionHash<H> {
    /// Makes an empty index with the keys that `spec` makes.
    pub fn new(slots: &Arc<VersionSlots>, position: usize, spec: KeySpec) -> Self {
        let (buckets, counts) = (Buckets::new(Link::END.bits()), Striped::new());
        Self { position, spec, slots: slots.clone(), buckets, counts, marker: PhantomData }
    }

    /// Returns the number of linked versions, now or a moment ago.
    pub fn len(&self) -> u64 {
        let versions = |stripe: i64| stripe << (64 - LINKS) >> (64 - LINKS);
        self.counts.stripes().map(versions).sum::<i64>().max(0) as u64
    }

    /// Returns the bytes of the buckets.
    pub fn bytes(&self) -> usize {
        self.buckets.bytes()
    }

    /// Prefetches the bucket of a hash.
    #[inline]
    pub fn prefetch_slot(&self, hash: u64) {
        prefetch(std::ptr::from_ref(self.buckets.of(hash).1).cast());
    }

    /// Prefetches the first version in the bucket of a hash.
    #[inline]
    pub fn prefetch_target(&self, _guard: Guard<'_>, hash: u64) {
        self.ask_for(Link::of(self.buckets.of(hash).1));
    }

    /// Prefetches the second version in the bucket of a hash, if the first has another hash.
    #[inline]
    pub fn prefetch_next(&self, guard: Guard<'_>, hash: u64) {
        let link = Link::of(self.buckets.of(hash).1);
        if links::is_ready(link)
            && !link.has_tag(tag(hash))
            && let Pointee::Version(version) = self.pointee(guard, link)
        {
            self.ask_for(Link::of(version.link(self.position)));
        }
    }

    #[inline]
    fn ask_for(&self, link: Link) {
        self.slots.format.prefetch(link.address());
    }

    /// Iterates over the versions with this hash, the one linked last first. A few versions with other hashes may be
    /// among them, so the caller must compare keys.
    #[inline]
    pub fn tagged<'g>(&'g self, guard: Guard<'g>, hash: u64) -> Tagged<'g, H> {
        self.tagged_from(guard, self.entry(guard, hash), hash)
    }

    /// Iterates over the versions with this hash that were linked before `version`, which has this hash and is linked.
    /// A few versions with other hashes may be among them.
    pub fn after<'g>(&'g self, guard: Guard<'g>, version: VersionRef<'g, H>, hash: u64) -> Tagged<'g, H> {
        self.tagged_from(guard, version.link(self.position), hash)
    }

    #[inline]
    fn tagged_from<'g>(&'g self, guard: Guard<'g>, at: &'g AtomicU64, hash: u64) -> Tagged<'g, H> {
        Tagged { index: self, guard, at, tag: tag(hash), rank: rank(hash) }
    }

    /// Links a version in front of all versions that have its hash.
    pub fn link(&self, guard: Guard<'_>, version: VersionRef<'_, H>, hash: u64) {
        debug_assert_eq!(hash, self.hash_of(version));
        loop {
            let mut place = self.find(guard, self.entry(guard, hash), rank(hash) - 1);
            if place.put(version, self.position, tag(hash)).is_ok() {
                break;
            }
        }
        let links = self.counts.add((1 << LINKS) + 1) >> LINKS;
        if links & (LOOK_EVERY - 1) == 0 {
            self.buckets.double_if_below(self.len());
        }
        if links & (MAKE_EVERY - 1) == 0 {
            self.make_ahead(guard);
        }
    }

    /// Puts some buckets into the list that no look-up has needed yet, so that look-ups rarely have to. The places of
    /// many buckets are looked up together.
    fn make_ahead(&self, guard: Guard<'_>) {
        let Some(buckets) = self.buckets.take_unmade(MADE_TOGETHER) else { return };
        for bucket in buckets.clone() {
            self.ask_for(Link::of(self.buckets.word(parent(bucket))));
        }
        for bucket in buckets {
            let word = self.buckets.word(bucket);
            // If another thread is making the bucket, it needs no help.
            let _ = links::is_ready(Link::of(word)) || self.try_make(guard, bucket, word);
        }
    }

    /// Unlinks a version for good. Searches that begin afterwards do not find it.
    pub fn unlink(&self, guard: Guard<'_>, version: VersionRef<'_, H>, hash: u64) {
        links::mark(version, self.position);
        while self.try_unlink(guard, version, hash).is_err() {}
        self.counts.add(-1);
    }

    /// Visits all versions, each once, until `visit` breaks.
    pub fn all<'g>(&'g self, guard: Guard<'g>, mut visit: impl FnMut(VersionRef<'g, H>) -> ControlFlow<()>) {
        let mut at = self.buckets.word(0);
        loop {
            at = match self.pointee(guard, Link::of(at)) {
                Pointee::Version(version) if visit(version).is_break() => return,
                Pointee::Version(version) => version.link(self.position),
                Pointee::Stop(0) => return,
                Pointee::Stop(address) => self.buckets.at(address).1,
            };
        }
    }

    fn hash_of(&self, version: VersionRef<'_, H>) -> u64 {
        self.spec.key_of(version.row()).hash64()
    }

    #[inline]
    fn pointee<'g>(&'g self, _guard: Guard<'g>, link: Link) -> Pointee<'g, H> {
        // SAFETY: all words that this type reads belong to its list, and were read in the guard's epoch, which lasts
        // for 'g.
        unsafe { link.pointee(&self.slots.format) }
    }

    /// Returns the word at which a look-up begins: that of the hash's bucket, or of the bucket's nearest ancestor that
    /// is ready.
    #[inline]
    fn entry<'g>(&'g self, guard: Guard<'g>, hash: u64) -> &'g AtomicU64 {
        let (bucket, word) = self.buckets.of(hash);
        if links::is_ready(Link::of(word)) { word } else { self.make_entry(guard, bucket) }
    }

    #[cold]
    fn make_entry<'g>(&'g self, guard: Guard<'g>, mut bucket: u64) -> &'g AtomicU64 {
        loop {
            let word = self.buckets.word(bucket);
            if links::is_ready(Link::of(word)) || self.try_make(guard, bucket, word) {
                return word;
            }
            bucket = parent(bucket);
        }
    }

    /// Puts a bucket into the list, unless another thread has begun to. Returns whether this call did.
    fn try_make(&self, guard: Guard<'_>, bucket: u64, word: &AtomicU64) -> bool {
        if !buckets::claim(word, Link::END.unready().bits()) {
            return false;
        }
        let from = self.make_entry(guard, parent(bucket));
        loop {
            let mut place = self.find(guard, from, bucket.reverse_bits() - 1);
            buckets::set_claimed(word, Link::END.unready().leading_where(place.link).bits());
            if place.lead(place.link.leading_where(Link::to_stop(word))).is_ok() {
                links::set_ready(word);
                return true;
            }
        }
    }

    /// Returns the place after all entries with a rank of at most `last`. The search starts at a word before that
    /// place, and removes marked versions on the way.
    fn find<'g>(&'g self, guard: Guard<'g>, from: &'g AtomicU64, last: u64) -> Place<'g> {
        loop {
            if let Ok(place) = self.try_find(guard, from, last) {
                return place;
            }
        }
    }

    fn try_find<'g>(&'g self, guard: Guard<'g>, from: &'g AtomicU64, last: u64) -> Result<Place<'g>, Lost> {
        let mut place = Place::at_stop(from);
        while let Some(next) = self.step(guard, &mut place, last)? {
            place = next;
        }
        Ok(place)
    }

    /// Removes a marked version from the list, or finds that another thread has.
    fn try_unlink(&self, guard: Guard<'_>, version: VersionRef<'_, H>, hash: u64) -> Result<(), Lost> {
        let mut place = Place::at_stop(self.entry(guard, hash));
        loop {
            if place.link.leads_to(version) {
                return place.pass(version, self.position);
            }
            match self.step(guard, &mut place, rank(hash))? {
                Some(next) => place = next,
                None => return Ok(()),
            }
        }
    }

    /// Returns the place behind the next version or bucket; `None` if that has a rank above `last`, or if the list
    /// ends. Removes marked versions before it.
    fn step<'g>(&'g self, _guard: Guard<'g>, place: &mut Place<'g>, last: u64) -> Result<Option<Place<'g>>, Lost> {
        // SAFETY: the place is in this index's list, and was read in the guard's epoch.
        let (pointee, behind) = unsafe { place.next(&self.slots.format, self.position)? };
        Ok(match pointee {
            Pointee::Version(version) => behind.filter(|_| rank(self.hash_of(version)) <= last),
            Pointee::Stop(0) => None,
            Pointee::Stop(address) => {
                let (bucket, word) = self.buckets.at(address);
                // The bucket's word is in another cache line, so it is read only if needed.
                (bucket.reverse_bits() <= last).then(|| Place::at_stop(word))
            }
        })
    }
}

/// An iterator over the versions of a hash in a [`VersionHash`], front to back, and over a few others.
pub(super) struct Tagged<'g, H> {
    index: &'g VersionHash<H>,
    guard: Guard<'g>,
    /// The word that leads to the next version.
    at: &'g AtomicU64,
    tag: u64,
    rank: u64,
}

impl<'g, H: VersionHeader> Iterator for Tagged<'g, H> {
    type Item = VersionRef<'g, H>;

    #[inline]
    fn next(&mut self) -> Option<VersionRef<'g, H>> {
        loop {
            let link = Link::of(self.at);
            match self.index.pointee(self.guard, link) {
                Pointee::Version(version) => {
                    self.at = version.link(self.index.position);
                    if link.has_tag(self.tag) {
                        return Some(version);
                    }
                }
                Pointee::Stop(0) => return None,
                Pointee::Stop(address) => {
                    let (bucket, word) = self.index.buckets.at(address);
                    if bucket.reverse_bits() > self.rank {
                        return None;
                    }
                    self.at = word;
                }
            }
        }
    }
}

/// Returns the bits of a hash that stand in a link: bits 42 to 57, which do not select the bucket while there are fewer
/// than 2^42 buckets.
#[inline]
fn tag(hash: u64) -> u64 {
    hash << 6 & !((1 << 48) - 1)
}

#[inline]
fn rank(hash: u64) -> u64 {
    hash.reverse_bits() | 1
}

#[inline]
fn parent(bucket: u64) -> u64 {
    debug_assert!(bucket > 0, "the first bucket is ready from the beginning");
    bucket & !(1 << bucket.ilog2())
}
