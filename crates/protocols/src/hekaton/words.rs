//! The two words at the beginning of each version (§2.3).

use super::clock::Timestamp;
use super::transactions::TxnId;
use hotrow_storage::VersionHeader;
use hotrow_sync::atomic::{AtomicU64, Ordering};

/// Set in a word that names a transaction; clear in one that holds a timestamp.
const IS_ID: u64 = 1 << 63;

/// The End word of a version that nobody has replaced, or is about to.
const NOBODY: u64 = u64::MAX;

/// When a version's life begins and ends, or who decides that.
///
/// **Invariant.** Whose id stands in Begin made the version, and changes Begin once: to its end timestamp, or to
/// infinity when it aborts. Whose id stands in End has the version's write lock: from everybody else who
/// wants to write, the word keeps it until it is that one's end timestamp, or the writer aborts or gives it up.
pub struct Words {
    begin: AtomicU64,
    end: AtomicU64,
}

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Words>() == 16);

/// What stands in a Begin word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// The version is one from this time on; from infinity if its maker aborted.
    At(Timestamp),
    /// Its maker's fate decides.
    By(TxnId),
}

/// What stands in an End word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It is none from this time on.
    At(Timestamp),
    /// Nobody replaces it.
    Nobody,
    /// The fate of the one that has the write lock decides.
    By(TxnId),
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
        match word {
            NOBODY => End::Nobody,
            word if word & IS_ID == 0 => End::At(Timestamp(word)),
            word => End::By(TxnId(word & !IS_ID)),
        }
    }

    const fn encode(self) -> u64 {
        match self {
            End::At(time) => time.0,
            End::Nobody => NOBODY,
            End::By(id) => id.0 | IS_ID,
        }
    }
}

impl VersionHeader for Words {
    type Index = ();

    fn loaded() -> Self {
        Self::new(Begin::At(Timestamp::LOADED))
    }
}

impl Words {
    fn new(begin: Begin) -> Self {
        Self { begin: AtomicU64::new(begin.encode()), end: AtomicU64::new(NOBODY) }
    }

    /// Those of a version that this transaction makes.
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

    /// The maker's fate, told by the maker.
    #[inline]
    pub(super) fn set_begin(&self, time: Timestamp) {
        self.begin.store(Begin::At(time).encode(), Ordering::Release);
    }

    /// The end, told by the one that has the write lock and commits.
    #[inline]
    pub(super) fn set_end(&self, time: Timestamp) {
        self.end.store(End::At(time).encode(), Ordering::Release);
    }

    /// Takes the write lock, from nobody or from one that aborted, if the word is still `from`.
    #[inline]
    pub(super) fn lock(&self, from: End, by: TxnId) -> bool {
        let (from, to) = (from.encode(), End::By(by).encode());
        self.end.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Gives the write lock up, unless somebody has taken it over.
    #[inline]
    pub(super) fn unlock(&self, by: TxnId) {
        // An error is a transaction that took it over.
        let _ = self.end.compare_exchange(End::By(by).encode(), NOBODY, Ordering::AcqRel, Ordering::Acquire);
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
        for end in [End::At(time), End::Nobody, End::By(id)] {
            assert_eq!(End::decode(end.encode()), end);
        }
    }

    #[test]
    fn a_write_lock_goes_from_nobody_or_from_one_that_is_named() {
        let (first, second) = (TxnId(1 << 16), TxnId(2 << 16));
        let words = Words::loaded();
        assert!(words.lock(End::Nobody, first) && !words.lock(End::Nobody, second));
        assert!(words.lock(End::By(first), second), "the first has aborted");
        words.unlock(first);
        assert_eq!(words.end(), End::By(second), "what was taken over is not given up by the one before");
        words.unlock(second);
        assert_eq!(words.end(), End::Nobody);
    }
}
