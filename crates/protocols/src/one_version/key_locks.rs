//! The lock table of one index: a word for each key hash, and queues for those who wait.
//!
//! **Source.** Larson and others: High-Performance Concurrency Control Mechanisms for Main-Memory Databases, §5: a lock table
//! embedded in every index, with a lock for each hash key.
//!
//! **Definitions.** A *key lock* is a word: who holds it, as numbers, without their names. A key has the lock that its hash
//! names, so several keys may share one: coarser, never wrong. A transaction *holds* a lock in some modes, whatever keys it
//! wanted it for. It knows itself what it holds, for the word does not.
//!
//! ```text
//! | exclusive (1) | awaited (1) | holders in insert mode (15) | holders in shared mode (15) |
//! ```
//!
//! **Invariants**
//!
//! 1. The modes in which two transactions hold a lock are compatible.
//! 2. While a word says *awaited*, it changes under the latch of its queue only. So those who change one in a single step
//!    expect one that is not awaited.
//! 3. A word is awaited if and only if there is a request for it in its queue, whenever the queue's latch is free.
//! 4. The first request for a lock cannot be granted as its holders are: whoever leaves grants what can be granted, from
//!    the front, and stops at the first that cannot. Who comes when others wait stands behind them, so that readers who come and
//!    go do not keep a writer waiting for ever.
//! 5. Upgrades stand before other requests: they wait for holders only, and nothing behind them could go first.
//! 6. A request is granted by changing the word under the latch and setting its flag; one that gives up looks under the
//!    latch which of the two came first.
//!
//! **Cost.** A lock that nobody else wants takes one exchange on a word that sixteen share a cache line with, and another one to release
//! it. An index has 65,536 locks, 256 KiB, in 64 chunks that are made when one of their locks is first taken.

use crate::shared::lock_table::Parked;
use crate::shared::mode::Mode;
use hotrow_storage::{IndexData, IndexNumber, TableId};
use hotrow_sync::atomic::{AtomicU32, Ordering};
use hotrow_sync::{Arc, Latch, OnceLock};
use smallvec::SmallVec;
use std::fmt;

/// The locks of one index.
pub struct KeyLocks {
    chunks: [OnceLock<Chunk>; CHUNKS],
}

impl IndexData for KeyLocks {
    /// The index of the chunks, and those that were made.
    fn bytes(&self) -> usize {
        let made = self.chunks.iter().filter(|chunk| chunk.get().is_some()).count();
        size_of::<Self>() + made * CHUNK_LOCKS * size_of::<KeyLock>()
    }
}

impl Default for KeyLocks {
    fn default() -> Self {
        Self { chunks: std::array::from_fn(|_| OnceLock::new()) }
    }
}

const CHUNKS: usize = 64;
const CHUNK_LOCKS: usize = 1024;
const _: () = assert!(CHUNKS * CHUNK_LOCKS == 1 << u16::BITS);

type Chunk = Box<[KeyLock; CHUNK_LOCKS]>;

/// One lock: its word.
#[derive(Default)]
pub(super) struct KeyLock(AtomicU32);

const EXCLUSIVE: u32 = 1 << 31;
const AWAITED: u32 = 1 << 30;
const INSERT: u32 = 1 << 15;
const SHARED: u32 = 1;
const INSERTS: u32 = AWAITED - INSERT;
const SHARES: u32 = INSERT - SHARED;

/// A key lock among all of a database: its table, its index, its number there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LockName(u64);

/// Those who wait for the key locks of a database.
pub(super) struct Queues {
    queues: Box<[Latch<Queue>]>,
}

/// Queues of a database: locks that are awaited at the same time seldom share one.
const QUEUES: usize = 256;

/// Requests for the locks whose queue this is, in order.
type Queue = Vec<Request>;

/// A transaction's wish for a lock.
struct Request {
    name: LockName,
    /// What the transaction holds of it.
    held: Mode,
    /// What it will hold of it.
    wanted: Mode,
    parked: Arc<Parked>,
    /// Somebody in its way has left since it asked.
    moved: bool,
}

/// Those to wake, after the latch.
type Wakes = SmallVec<[Arc<Parked>; 4]>;

/// What holding a lock in these modes adds to its word.
fn share_of(mode: Mode) -> u32 {
    if mode.covers(Mode::EXCLUSIVE) {
        return EXCLUSIVE;
    }
    let shared = if mode.covers(Mode::SHARED) { SHARED } else { 0 };
    if mode.covers(Mode::INSERT) { shared + INSERT } else { shared }
}

/// Whether these modes may be held beside what others hold. A count that is full is as a conflict.
fn admits(others: u32, wanted: Mode) -> bool {
    if wanted.conflicts_with_all() {
        return others == 0;
    }
    match wanted.covers(Mode::SHARED) {
        true => others & (EXCLUSIVE | INSERTS) == 0 && others & SHARES != SHARES,
        false => others & (EXCLUSIVE | SHARES) == 0 && others & INSERTS != INSERTS,
    }
}

impl KeyLocks {
    /// The number of the lock of a key.
    #[inline]
    pub(super) fn number_of(hash: u64) -> u16 {
        hash as u16
    }

    /// The lock with this number.
    #[inline]
    pub(super) fn lock(&self, number: u16) -> &KeyLock {
        let number = usize::from(number);
        &self.chunks[number / CHUNK_LOCKS].get_or_init(make_chunk)[number % CHUNK_LOCKS]
    }

    /// The locks that somebody holds or waits for.
    fn used(&self) -> impl Iterator<Item = (u16, &KeyLock)> {
        let made = self.chunks.iter().enumerate().filter_map(|(at, chunk)| Some((at, chunk.get()?)));
        let locks = made.flat_map(|(at, chunk)| {
            chunk.iter().enumerate().map(move |(position, lock)| ((at * CHUNK_LOCKS + position) as u16, lock))
        });
        locks.filter(|(_, lock)| lock.word() != 0)
    }

    /// Whether a lock is awaited without a request in the queues, or the other way round.
    ///
    /// # Errors
    /// Says which.
    pub(super) fn audit(&self, table: TableId, index: IndexNumber, queues: &Queues) -> Result<(), String> {
        for (number, lock) in self.used() {
            let name = LockName::new(table, index, number);
            let (word, first) = (lock.word(), queues.first(name));
            if (word & AWAITED != 0) != first.is_some() {
                return Err(format!("{name:?} is {word:#x} and its first request {first:?}"));
            }
            if first.is_some_and(|(held, wanted)| admits((word & !AWAITED) - share_of(held), wanted)) {
                return Err(format!("{name:?} is {word:#x} and its first request waits in vain: {first:?}"));
            }
        }
        Ok(())
    }
}

/// A chunk of free locks, on the heap from the beginning.
#[cold]
fn make_chunk() -> Chunk {
    let locks: Vec<_> = (0..CHUNK_LOCKS).map(|_| KeyLock::default()).collect();
    locks.try_into().unwrap_or_else(|_| unreachable!("the vector has the array's length"))
}

impl KeyLock {
    #[inline]
    fn word(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// Takes the lock if nobody holds it. Whether it was taken.
    #[inline]
    pub(super) fn take_free(&self, wanted: Mode) -> bool {
        self.replace(0, share_of(wanted))
    }

    /// Takes the lock in `wanted`, of which `held` is held, if nobody is in the way. Whether it was taken.
    pub(super) fn take_beside(&self, held: Mode, wanted: Mode) -> bool {
        let mut word = self.word();
        while word & AWAITED == 0 {
            let others = word - share_of(held);
            if !admits(others, wanted) {
                return false;
            }
            if self.replace(word, others + share_of(wanted)) {
                return true;
            }
            word = self.word();
        }
        false
    }

    /// Gives back what is held, if nobody waits.
    #[inline]
    fn give_back(&self, held: Mode) -> bool {
        if self.replace(share_of(held), 0) {
            return true;
        }
        let mut word = self.word();
        while word & AWAITED == 0 {
            if self.replace(word, word - share_of(held)) {
                return true;
            }
            word = self.word();
        }
        false
    }

    /// Acquire and release: who takes a lock sees what all who held it before did, and they come before it.
    #[inline]
    fn replace(&self, word: u32, with: u32) -> bool {
        // Relaxed on failure: nothing is read because of it.
        self.0.compare_exchange(word, with, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

impl LockName {
    #[inline]
    pub(super) fn new(table: TableId, index: IndexNumber, number: u16) -> Self {
        Self(u64::from(table.0) << 32 | u64::from(index.0) << 16 | u64::from(number))
    }

    #[inline]
    pub(super) fn table(self) -> TableId {
        TableId((self.0 >> 32) as u32)
    }

    #[inline]
    pub(super) fn index(self) -> IndexNumber {
        IndexNumber((self.0 >> 16) as u16)
    }

    #[inline]
    pub(super) fn number(self) -> u16 {
        self.0 as u16
    }
}

impl fmt::Debug for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lock {} of index {} of table {}", self.number(), self.index().0, self.table().0)
    }
}

impl Queues {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { queues: (0..QUEUES).map(|_| Latch::default()).collect() })
    }

    fn queue(&self, name: LockName) -> &Latch<Queue> {
        &self.queues[usize::from(name.number()) % QUEUES]
    }

    /// Takes the lock in `wanted`, of which `held` is held, or queues a request for it. Whether it was taken.
    pub(super) fn ask(
        &self,
        lock: &KeyLock,
        name: LockName,
        (held, wanted): (Mode, Mode),
        parked: &Arc<Parked>,
    ) -> bool {
        let mut queue = self.queue(name).lock();
        let upgrade = held != Mode::NONE;
        loop {
            let word = lock.word();
            let (awaited, others) = (word & AWAITED, (word & !AWAITED) - share_of(held));
            // An upgrade waits for holders only.
            let may = admits(others, wanted) && (upgrade || awaited == 0);
            let next = if may { awaited | (others + share_of(wanted)) } else { word | AWAITED };
            if next == word || lock.replace(word, next) {
                if may {
                    return true;
                }
                break;
            }
        }
        let behind = |request: &Request| request.name == name && request.held == Mode::NONE;
        let place = queue.iter().position(behind).filter(|_| upgrade).unwrap_or(queue.len());
        queue.insert(place, Request { name, held, wanted, parked: parked.clone(), moved: false });
        false
    }

    /// Gives back a lock, of which `held` is held.
    #[inline]
    pub(super) fn release(&self, lock: &KeyLock, name: LockName, held: Mode) {
        if !lock.give_back(held) {
            self.release_awaited(lock, name, held);
        }
    }

    #[cold]
    fn release_awaited(&self, lock: &KeyLock, name: LockName, held: Mode) {
        let mut queue = self.queue(name).lock();
        // Nobody may wait any more.
        if lock.give_back(held) {
            return;
        }
        lock.0.store(lock.word() - share_of(held), Ordering::Release);
        move_on(&mut queue, name);
        let wakes = grant(&mut queue, lock, name);
        drop(queue);
        wake(wakes);
    }

    /// Takes back a request. `false` if it was granted meanwhile.
    pub(super) fn withdraw(&self, lock: &KeyLock, name: LockName, parked: &Arc<Parked>) -> bool {
        let mut queue = self.queue(name).lock();
        let Some(place) = queue.iter().position(|request| Arc::ptr_eq(&request.parked, parked)) else {
            return false;
        };
        queue.remove(place);
        move_on(&mut queue[place..], name);
        let wakes = grant(&mut queue, lock, name);
        drop(queue);
        wake(wakes);
        true
    }

    /// Whether somebody in a request's way has left since it was queued, or since this was asked last.
    pub(super) fn has_moved(&self, name: LockName, parked: &Arc<Parked>) -> bool {
        let mut queue = self.queue(name).lock();
        let request = queue.iter_mut().find(|request| Arc::ptr_eq(&request.parked, parked));
        request.is_none_or(|request| std::mem::take(&mut request.moved))
    }

    /// What the first request for a lock holds of it, and wants.
    fn first(&self, name: LockName) -> Option<(Mode, Mode)> {
        let queue = self.queue(name).lock();
        queue.iter().find(|request| request.name == name).map(|request| (request.held, request.wanted))
    }

    /// Requests that wait: for people, and for tests that expect none.
    pub(super) fn waiting(&self) -> usize {
        self.queues.iter().map(|queue| queue.lock().len()).sum()
    }
}

/// Notes that somebody has left who was in the way of these requests.
fn move_on(requests: &mut [Request], name: LockName) {
    requests.iter_mut().filter(|request| request.name == name).for_each(|request| request.moved = true);
}

/// Grants what can be granted of an awaited lock, somebody in the way of whose requests has left.
fn grant(queue: &mut Queue, lock: &KeyLock, name: LockName) -> Wakes {
    let mut wakes = Wakes::new();
    let mut word = lock.word() & !AWAITED;
    while let Some(place) = queue.iter().position(|request| request.name == name) {
        let Request { held, wanted, .. } = queue[place];
        let others = word - share_of(held);
        if !admits(others, wanted) {
            word |= AWAITED;
            break;
        }
        word = others + share_of(wanted);
        wakes.push(queue.remove(place).parked);
    }
    lock.0.store(word, Ordering::Release);
    // After the word: who is granted may change it at once.
    wakes.iter().for_each(|parked| parked.grant());
    wakes
}

fn wake(wakes: Wakes) {
    wakes.iter().for_each(|parked| parked.wake());
}

impl fmt::Debug for KeyLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyLocks").field("used", &self.used().count()).finish()
    }
}

impl fmt::Debug for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queues").field("waiting", &self.waiting()).finish()
    }
}
