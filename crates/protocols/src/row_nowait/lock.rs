//! The lock of a record: one word.
//!
//! ```text
//! in write mode | 1 | transaction that owns it (63) |
//! in read mode  | 0 | readers (63)                  |
//! ```

use crate::shared::record_locks::{Ended, LockOwner, Number, RecordLock, Watch};
use crate::shared::time_outs::Patience;
use hotrow_storage::RecordHeader;
use hotrow_sync::atomic::{AtomicU64, Ordering};

/// The lock word of a record. The default is a free lock.
#[derive(Debug, Default)]
pub struct RowLock {
    word: AtomicU64,
}

const WRITE: u64 = 1 << 63;
const FREE: u64 = 0;
const ONE_READER: u64 = 1;

/// A transaction as the owner of record locks, identified by its number.
pub struct Owner {
    number: Number,
}

impl Owner {
    pub(super) fn new(number: Number) -> Self {
        Self { number }
    }

    #[inline]
    fn word(&self) -> u64 {
        WRITE | self.number.get()
    }
}

impl LockOwner for Owner {
    #[inline]
    fn begin(&mut self) {
        self.number.renew();
    }
}

impl RowLock {
    /// Exchanges the word, if it is still `word`. Acquire and release: the holder of the lock sees what all holders
    /// before it did.
    #[inline]
    fn replace(&self, word: u64, with: u64) -> bool {
        self.word.compare_exchange(word, with, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl RecordHeader for RowLock {
    type Index = ();
}

impl RecordLock for RowLock {
    type Owner = Owner;

    const WAITS: bool = false;

    #[inline]
    fn take_free(&self, owner: &Owner, exclusive: bool) -> bool {
        self.replace(FREE, if exclusive { owner.word() } else { ONE_READER })
    }

    #[inline]
    fn take(&self, owner: &Owner, upgrades: bool, exclusive: bool) -> bool {
        if exclusive {
            return self.replace(if upgrades { ONE_READER } else { FREE }, owner.word());
        }
        loop {
            let word = self.word.load(Ordering::Acquire);
            if word & WRITE != 0 {
                return false;
            }
            if self.replace(word, word + 1) {
                return true;
            }
        }
    }

    fn is_free(&self) -> bool {
        self.word.load(Ordering::Acquire) == FREE
    }

    #[inline]
    fn is_owned_by(&self, owner: &Owner) -> bool {
        self.word.load(Ordering::Acquire) == owner.word()
    }

    fn take_made(&self, owner: &Owner) {
        self.word.store(owner.word(), Ordering::Release);
    }

    fn wait(
        &self,
        _owner: &Owner,
        _upgrades: bool,
        _exclusive: bool,
        _patience: Patience,
        _watch: &mut dyn Watch,
    ) -> Ended {
        Ended::Refused
    }

    #[inline]
    fn release(&self, owner: &Owner) {
        if self.is_owned_by(owner) {
            self.word.store(FREE, Ordering::Release);
        } else {
            let before = self.word.fetch_sub(1, Ordering::AcqRel);
            debug_assert!(before != FREE && before & WRITE == 0, "{before:#x} is left by a reader");
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::shared::record_locks::Numbers;
    use hotrow_sync::Arc;

    fn owners() -> [Owner; 2] {
        let numbers = Arc::new(Numbers::default());
        [0; 2].map(|_| {
            let mut owner = Owner::new(Number::new(&numbers));
            owner.begin();
            owner
        })
    }

    #[test]
    fn readers_share_and_a_writer_is_alone() {
        let ([first, second], lock) = (owners(), RowLock::default());
        assert!(lock.take(&first, false, false) && lock.take(&second, false, false));
        assert!(!lock.take(&first, true, true) && !lock.take_free(&first, false), "two read");
        lock.release(&second);
        assert!(lock.take(&first, true, true), "the only reader becomes the writer");
        assert!(lock.is_owned_by(&first) && !lock.is_owned_by(&second));
        assert!(!lock.take(&second, false, false) && !lock.take(&second, false, true), "one writes");
        lock.release(&first);
        assert!(lock.take_free(&second, true) && !lock.take_free(&first, true));
        lock.release(&second);
        assert!(lock.take_free(&first, false), "nobody is left");
    }
}
