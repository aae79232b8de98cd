//! The locks of one index: one for each key hash, as far as there are as many.
//!
//! **Source.** Larson and others: High-Performance Concurrency Control Mechanisms for Main-Memory Databases, §5: a lock
//! table embedded in every index, with a lock for each hash key.
//!
//! **Definitions.** A *level* is an array of 2^n locks, and a key has the lock that the low n bits of its hash name:
//! several keys may share one, which is coarser than a lock for each, and never wrong. A transaction *holds* a lock in
//! some modes, whatever keys it wanted it for. It knows itself what it holds, for the lock's word does not.
//!
//! # How many locks
//!
//! An index begins with 65,536 locks, whatever its size. That is plenty for transactions that hold few at once, and 256
//! KiB stay in the caches, where a lock for each of ten million rows is one more cache miss. A transaction that holds a
//! sixteenth of a level is in the way of others that want none of its keys. So one that holds more than a 64th, of an
//! index with more rows than that, has the level's locks *split*: there is one more level, with a lock for each row at
//! least. A level never goes away before its table: together they take a third more than the last one at most. That one
//! takes 4 to 8 bytes for each row, 16 if rows were few, in chunks that are made when one of their locks is first
//! wanted.
//!
//! # How locks are split
//!
//! One by one, each when it is free: a transaction that wants a lock of a level that is being split, and finds it free,
//! marks it as split and goes on to the key's lock in the next level. At its end the transaction that has begun the
//! split does the same with all locks that are free then. No transaction waits for that, and nothing is copied.
//!
//! 1. A split lock stays split, and no transaction holds it.
//! 2. So at any moment a key has one lock: the first on its way through the levels that is not split. To take another
//!    lock, a transaction must have found all before it split.
//! 3. A transaction finds again what it holds: while it does, that lock is not split, and those before it stay so.
//! 4. Levels before [`first`](KeyLocks::first) have no lock that is not split: ways begin behind them.
//!
//! **Cost.** A lock that no other transaction wants takes one exchange on a word that sixteen share a cache line with,
//! and another one to release it.

use super::key_lock::KeyLock;
use super::queues::{LockName, Queues};
use hotrow_storage::{IndexData, IndexNumber, RecordHeader, TableId};
use hotrow_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use hotrow_sync::{OnceLock, prefetch_to_write};
use std::fmt;

/// The header of each record. It is empty, since the record's lock is in the indexes of its table.
#[derive(Debug, Default)]
pub struct KeyLocked;

impl RecordHeader for KeyLocked {
    type Index = KeyLocks;
}

const _: () = assert!(size_of::<KeyLocked>() == 0);

/// The lock table inside one index: a lock for each hash of a key, or for several hashes together.
pub struct KeyLocks {
    /// The first level that has a lock which is not split, by the logarithm of its size.
    first: AtomicU32,
    coarsest: Level,
    /// The levels that are larger than the coarsest, by the logarithms of their sizes.
    finer: [OnceLock<Box<Level>>; (FINEST - COARSEST) as usize],
}

/// The logarithms of the sizes of the smallest and the greatest level. In a model there are few locks, so that
/// transactions contend for them.
const COARSEST: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 16 };
const FINEST: u32 = if cfg!(any(loom, shuttle)) { 4 } else { 28 };

/// The number of chunks of a level.
const CHUNKS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 64 };

/// A transaction that holds one in so many of a level's locks is in the way of others.
const MANY: usize = 64;

/// A level: an array of locks whose length is a power of two.
struct Level {
    /// The logarithm of the number of locks.
    log2: u32,
    /// The logarithm of the size of the level that these locks are split into, or 0 as long as there is none.
    next: AtomicU32,
    /// The number of locks that are not split.
    whole: AtomicUsize,
    chunks: [OnceLock<Box<[KeyLock]>>; CHUNKS],
}

/// A lock and its number, which names its level and its position there: it is the sum of the level's size and the
/// position.
#[derive(Clone, Copy)]
pub(super) struct Numbered<'l> {
    pub(super) number: u32,
    pub(super) lock: &'l KeyLock,
}

impl Default for KeyLocks {
    fn default() -> Self {
        Self {
            first: AtomicU32::new(COARSEST),
            coarsest: Level::new(COARSEST),
            finer: std::array::from_fn(|_| OnceLock::new()),
        }
    }
}

impl IndexData for KeyLocks {
    /// Returns the bytes of the levels and of their chunks that were made.
    fn bytes(&self) -> usize {
        let finer = self.finer.iter().filter_map(OnceLock::get).map(|level| size_of::<Level>() + level.bytes());
        size_of::<Self>() + self.coarsest.bytes() + finer.sum::<usize>()
    }
}

impl KeyLocks {
    /// Returns the lock of the keys with this hash. The lock may be split before the caller takes it; then the caller
    /// asks again, and gets the lock that the keys have by then.
    #[inline]
    pub(super) fn of(&self, hash: u64) -> Numbered<'_> {
        let level = self.first();
        let found = level.of(hash);
        if level.next().is_none() { found } else { self.of_splitting(level, hash) }
    }

    #[cold]
    fn of_splitting<'l>(&'l self, mut level: &'l Level, hash: u64) -> Numbered<'l> {
        loop {
            let found = level.of(hash);
            let Some(next) = level.next() else { return found };
            if found.lock.split() {
                self.has_split(level, 1);
            } else if !found.lock.is_split() {
                return found;
            }
            level = self.level(next);
        }
    }

    /// Prefetches the word of the lock of the keys with this hash.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        prefetch_to_write(self.first().of(hash).lock.address());
    }

    /// Returns the lock with this number.
    #[inline]
    pub(super) fn numbered(&self, number: u32) -> &KeyLock {
        self.level(number.ilog2()).of(u64::from(number)).lock
    }

    /// Begins to split the locks if there are too few of them for a transaction that holds `held` locks: at most 64
    /// times as many, and fewer than `rows`, the number of rows in the index. Returns whether there are locks to
    /// [`split`](Self::split_free), from this call or from an earlier one.
    pub(super) fn split_for(&self, held: usize, rows: usize) -> bool {
        let first = self.first();
        let mut level = first;
        while let Some(next) = level.next() {
            level = self.level(next);
        }
        if held * MANY >= level.size() && rows > level.size() {
            // At least four times as many: a transaction that inserts rows does not make a level each time their
            // number doubles.
            let log2 = rows.next_power_of_two().ilog2().max(level.log2 + 2).min(FINEST);
            if log2 > level.log2 {
                self.begin_to_split(level, log2);
            }
        }
        first.next().is_some()
    }

    /// Makes the next level, of this size, unless another transaction has made one.
    fn begin_to_split(&self, level: &Level, log2: u32) {
        self.finer[(log2 - COARSEST - 1) as usize].get_or_init(|| Box::new(Level::new(log2)));
        // Release, for a transaction that reads it finds the level. Relaxed on failure: another one is as good.
        let _ = level.next.compare_exchange(0, log2, Ordering::Release, Ordering::Relaxed);
    }

    /// Splits all free locks of the coarsest level that still has whole locks, if a finer level has been made.
    pub(super) fn split_free(&self) {
        let level = self.first();
        if level.next().is_none() {
            return;
        }
        let count = (0..CHUNKS).flat_map(|chunk| level.chunk(chunk)).filter(|lock| lock.split()).count();
        self.has_split(level, count);
    }

    /// Counts locks of a level that have been split. After the last one, searches for a key's lock begin at the next
    /// level.
    fn has_split(&self, level: &Level, count: usize) {
        level.whole.fetch_sub(count, Ordering::AcqRel);
        let mut first = self.first();
        while first.whole.load(Ordering::Acquire) == 0
            && let Some(next) = first.next()
        {
            // Release, for a transaction that begins at the next level must find what its locks were split by.
            // Relaxed on failure: another transaction has come as far.
            let _ = self.first.compare_exchange(first.log2, next, Ordering::AcqRel, Ordering::Relaxed);
            first = self.first();
        }
    }

    #[inline]
    fn first(&self) -> &Level {
        self.level(self.first.load(Ordering::Acquire))
    }

    #[inline]
    fn level(&self, log2: u32) -> &Level {
        match log2.checked_sub(COARSEST + 1) {
            None => &self.coarsest,
            Some(finer) => self.finer[finer as usize].get().expect("a level that a number leads to was made"),
        }
    }

    /// Returns the locks that are held or waited for.
    fn used(&self) -> impl Iterator<Item = Numbered<'_>> {
        let finer = self.finer.iter().filter_map(|level| Some(&**level.get()?));
        let locks = std::iter::once(&self.coarsest).chain(finer).flat_map(Level::made);
        locks.filter(|numbered| numbered.lock.is_used())
    }

    /// Returns the number of locks that are held.
    pub(super) fn held(&self) -> usize {
        self.used().filter(|numbered| numbered.lock.is_held()).count()
    }

    /// Checks that each awaited lock has a request in the queues, and each request in the queues an awaited lock.
    ///
    /// # Errors
    /// The text names the lock for which it is not so.
    pub(super) fn audit(&self, table: TableId, index: IndexNumber, queues: &Queues) -> Result<(), String> {
        for Numbered { number, lock } in self.used() {
            let name = LockName { table, index, number };
            lock.audit(queues.first(name)).map_err(|error| format!("{name:?} {error}"))?;
        }
        Ok(())
    }
}

impl Level {
    fn new(log2: u32) -> Self {
        Self {
            log2,
            next: AtomicU32::new(0),
            whole: AtomicUsize::new(1 << log2),
            chunks: std::array::from_fn(|_| OnceLock::new()),
        }
    }

    fn size(&self) -> usize {
        1 << self.log2
    }

    /// Returns the logarithm of the size of the level that these locks are split into, if there is one.
    #[inline]
    fn next(&self) -> Option<u32> {
        let next = self.next.load(Ordering::Acquire);
        (next != 0).then_some(next)
    }

    /// Returns the lock of the keys with this hash, in this level.
    #[inline]
    fn of(&self, hash: u64) -> Numbered<'_> {
        let position = hash as usize & (self.size() - 1);
        let chunk_locks = self.size() / CHUNKS;
        let lock = &self.chunk(position / chunk_locks)[position % chunk_locks];
        Numbered { number: (self.size() + position) as u32, lock }
    }

    #[inline]
    fn chunk(&self, chunk: usize) -> &[KeyLock] {
        self.chunks[chunk].get_or_init(|| self.make_chunk())
    }

    /// Makes a chunk of free locks.
    #[cold]
    fn make_chunk(&self) -> Box<[KeyLock]> {
        (0..self.size() / CHUNKS).map(|_| KeyLock::default()).collect()
    }

    /// Returns the bytes of the chunks that were made.
    fn bytes(&self) -> usize {
        let made = self.chunks.iter().filter(|chunk| chunk.get().is_some()).count();
        made * (self.size() / CHUNKS) * size_of::<KeyLock>()
    }

    /// Returns the locks of the chunks that were made.
    fn made(&self) -> impl Iterator<Item = Numbered<'_>> {
        let start_of = |chunk| self.size() + chunk * (self.size() / CHUNKS);
        let chunks = self.chunks.iter().enumerate();
        let made = chunks.filter_map(move |(number, chunk)| Some((start_of(number), chunk.get()?)));
        made.flat_map(|(start, chunk)| {
            let number = move |at: usize| (start + at) as u32;
            chunk.iter().enumerate().map(move |(at, lock)| Numbered { number: number(at), lock })
        })
    }
}

impl fmt::Debug for KeyLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyLocks").field("used", &self.used().count()).finish()
    }
}

const _: () = assert!(CHUNKS.is_power_of_two() && CHUNKS <= 1 << COARSEST && FINEST < u32::BITS - 1);
