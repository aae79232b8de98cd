//! The sequence of a database's keys.

use hotrow_sync::atomic::{AtomicU64, Ordering};

/// The keys of a table that grows at its end.
///
/// **Thread safety**: any thread may call any method at any time.
#[derive(Debug)]
pub(super) struct Sequence {
    /// The next key that no transaction has.
    next: AtomicU64,
    /// The number of keys up to the greatest one that is known to be committed.
    committed: AtomicU64,
}

impl Sequence {
    /// Makes the sequence of a table with `rows` rows, whose keys are the first ones.
    pub fn after(rows: u64) -> Self {
        Self { next: AtomicU64::new(rows), committed: AtomicU64::new(rows) }
    }

    /// Returns the first of `keys` keys that no other call returns.
    pub fn take(&self, keys: u64) -> u64 {
        self.next.fetch_add(keys, Ordering::AcqRel)
    }

    /// Notes that the row with this key has committed.
    pub fn note_committed(&self, key: u64) {
        self.committed.fetch_max(key + 1, Ordering::AcqRel);
    }

    /// Returns the number of keys up to the newest one that is known to be committed. Some of them may be uncommitted.
    pub fn committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_new_and_the_newest_committed_one_is_known() {
        let sequence = Sequence::after(10);
        assert_eq!((sequence.take(2), sequence.take(1), sequence.committed()), (10, 12, 10));
        for (key, expected) in [(12, 13), (10, 13), (13, 14)] {
            sequence.note_committed(key);
            assert_eq!(sequence.committed(), expected, "{key}");
        }
    }
}
