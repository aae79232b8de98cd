//! The two words at the beginning of each version (§2.3).

use super::clock::Timestamp;
use super::index_locks::IndexLocks;
use super::txn_id::TxnId;
use hotrow_storage::VersionHeader;
use hotrow_sync::atomic::{AtomicU64, Ordering};

/// The bit that is set in a word that names a transaction, and clear in a word that holds a timestamp.
const IS_ID: u64 = 1 << 63;

/// The bits of an End word that holds no timestamp: first the write lock's holder, then the number of read locks, and
/// NoMoreReadLocks (§4.1.1).
const WRITER: u64 = (1 << READERS_SHIFT) - 1;
const NOBODY: u64 = WRITER;
const READERS_SHIFT: u32 = TxnId::BITS;
const CLOSED: u64 = 1 << 62;

/// The header of a version: two words that say from when until when the version is the row, or which transactions
/// decide that.
///
/// **Invariant.** The transaction whose id stands in Begin made the version, and changes Begin once: to its end
/// timestamp, or to infinity when it aborts. The transaction whose id stands in End has the version's write lock: the
/// word keeps the lock from all other writers until it is that transaction's end timestamp, or the writer aborts or
/// gives it up. While there are read locks, the word is no timestamp: the holder of the write lock waits for them
/// before it has an end.
pub struct Words {
    begin: AtomicU64,
    end: AtomicU64,
}

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Words>() == 16);

/// The contents of a Begin word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// The version is the row from this time on. The time is infinity if the version's maker aborted.
    At(Timestamp),
    /// The version is the row if this transaction, its maker, commits.
    By(TxnId),
}

/// The contents of an End word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The version is not the row from this time on.
    At(Timestamp),
    /// The version is the latest, unless the holder of the write lock replaces or deletes it.
    Locked(RecordLock),
}

/// The locks of a version that is the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordLock {
    /// The holder of the write lock: its fate decides whether the version ends.
    pub writer: Option<TxnId>,
    /// The number of transactions that have read locks (ReadLockCount).
    pub readers: u8,
    /// No further transaction gets a read lock, since the writer waits for the present readers (NoMoreReadLocks).
    pub is_closed: bool,
}

impl RecordLock {
    /// The locks of a version that no transaction has locked.
    pub const FREE: RecordLock = RecordLock { writer: None, readers: 0, is_closed: false };

    const fn encode(self) -> u64 {
        let writer = match self.writer {
            Some(id) => id.0,
            None => NOBODY,
        };
        let closed = if self.is_closed { CLOSED } else { 0 };
        IS_ID | closed | (self.readers as u64) << READERS_SHIFT | writer
    }

    const fn decode(word: u64) -> Self {
        let writer = if word & WRITER == NOBODY { None } else { Some(TxnId(word & WRITER)) };
        Self { writer, readers: (word >> READERS_SHIFT) as u8, is_closed: word & CLOSED != 0 }
    }
}

impl Begin {
    const fn decode(word: u64) -> Self {
        if word & IS_ID == 0 { Begin::At(Timestamp(word)) } else { Begin::By(TxnId(word & !IS_ID)) }
    }

    const fn encode(self) -> u64 {
        match self {
            Begin::At(time) => time.0,
            Begin::By(id) => id.0 | IS_ID,
        }
    }
}

impl End {
    const fn decode(word: u64) -> Self {
        if word & IS_ID == 0 { End::At(Timestamp(word)) } else { End::Locked(RecordLock::decode(word)) }
    }

    const fn encode(self) -> u64 {
        match self {
            End::At(time) => time.0,
            End::Locked(lock) => lock.encode(),
        }
    }
}

impl VersionHeader for Words {
    type Index = IndexLocks;

    fn loaded() -> Self {
        Self::new(Begin::At(Timestamp::LOADED))
    }
}

impl Words {
    fn new(begin: Begin) -> Self {
        Self { begin: AtomicU64::new(begin.encode()), end: AtomicU64::new(RecordLock::FREE.encode()) }
    }

    /// Returns the words of a new version that this transaction makes.
    pub(super) fn made_by(id: TxnId) -> Self {
        Self::new(Begin::By(id))
    }

    #[inline]
    pub(super) fn begin(&self) -> Begin {
        Begin::decode(self.begin.load(Ordering::Acquire))
    }

    #[inline]
    pub(super) fn end(&self) -> End {
        End::decode(self.end.load(Ordering::Acquire))
    }

    /// Sets the Begin word to the maker's end timestamp, or to infinity. Only the maker calls this.
    #[inline]
    pub(super) fn set_begin(&self, time: Timestamp) {
        self.begin.store(Begin::At(time).encode(), Ordering::Release);
    }

    /// Sets the End word to an end timestamp. Only a transaction that has the write lock and commits calls this.
    #[inline]
    pub(super) fn set_end(&self, time: Timestamp) {
        self.end.store(End::At(time).encode(), Ordering::Release);
    }

    /// Changes the locks if they are still `from`, and returns whether they were. No other function changes them.
    #[inline]
    pub(super) fn exchange(&self, from: RecordLock, to: RecordLock) -> bool {
        self.end.compare_exchange(from.encode(), to.encode(), Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_again_what_they_were_told() {
        let (time, id) = (Timestamp(77), TxnId((5 << 16) | 3));
        for begin in [Begin::At(time), Begin::At(Timestamp::INFINITY), Begin::By(id)] {
            assert_eq!(Begin::decode(begin.encode()), begin);
        }
        let free = RecordLock::FREE;
        let locks = [free, RecordLock { readers: 255, ..free }, RecordLock { writer: Some(id), ..free }];
        let closed = RecordLock { writer: Some(id), readers: 7, is_closed: true };
        for end in locks.into_iter().chain([closed]).map(End::Locked).chain([End::At(time)]) {
            assert_eq!(End::decode(end.encode()), end);
        }
    }

    #[test]
    fn locks_change_only_from_what_they_are() {
        let (first, second) = (TxnId(1 << 16), TxnId(2 << 16));
        let words = Words::loaded();
        let [mine, others] = [first, second].map(|id| RecordLock { writer: Some(id), ..RecordLock::FREE });
        assert!(words.exchange(RecordLock::FREE, mine) && !words.exchange(RecordLock::FREE, others));
        assert!(!words.exchange(RecordLock { readers: 1, ..mine }, others), "a reader has gone meanwhile");
        assert!(words.exchange(mine, others));
        assert_eq!(words.end(), End::Locked(others));
    }
}
