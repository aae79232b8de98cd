//! Reads that are locked as the writes which they become.
//!
//! A transaction that reads a row and then writes it has the row's read lock first, and asks for the write lock in its
//! place. When two have the read lock, each waits for the other to leave: one of them aborts. So it goes again and
//! again with a row that all read to write it. Such a row is locked to be written when it is read, and the readers
//! queue.
//!
//! **Definitions.** A row is *read to be written* while its score is above zero. A deadlock of two readers of the row
//! that want to write it adds [`DEADLOCK`] to the score. A transaction that read the row, locked it to be written, and
//! wrote it adds one; a transaction that did not write it by its end takes one away, unless it was the victim of a
//! deadlock. So the score rises as long as more than half of the readers of the row write it, and falls to zero
//! otherwise.
//!
//! **Limits.** It holds for reads of one row by its key, by transactions that may write and hold what they read. Only
//! these change the score. Rows whose addresses share a place are read to be written together.
//!
//! **Heat.** Of such deadlocks at a row the first one makes it read to be written, and no more. One that comes while it
//! is so makes the row [hot](crate::shared::deadlocks).
//!
//! **Cost.** While no row is read to be written, such a read costs a load of one word that no thread writes; else a
//! look at the row's place.

use hotrow_sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// The number of places of the scores. Rows that share a place have one score.
const PLACES: usize = 4096;

/// The amount that a deadlock adds to a score.
const DEADLOCK: u8 = 4;

/// The highest score.
const HIGHEST: u8 = 16;

/// The scores of rows, which say whether a reader of the row is expected to write it. The read of such a row locks it
/// exclusively. Any thread may call any method.
pub(crate) struct Foresight {
    scores: Box<[AtomicU8]>,
    /// The number of scores above zero. While threads change it, it may be off by the number of these threads.
    above_zero: AtomicUsize,
}

impl Default for Foresight {
    fn default() -> Self {
        Self { scores: (0..PLACES).map(|_| AtomicU8::new(0)).collect(), above_zero: AtomicUsize::new(0) }
    }
}

impl Foresight {
    /// Whether the score of any row is above zero, so that its readers are expected to write it.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.above_zero.load(Ordering::Acquire) > 0
    }

    /// Whether the score of the row with this hash is above zero, so that its readers are expected to write it.
    pub(super) fn is_read_to_write(&self, row: u64) -> bool {
        self.score(row).load(Ordering::Acquire) > 0
    }

    /// Notes that a reader of the row was the victim of a deadlock with another reader, as both wanted to write the
    /// row. Returns whether the row's score was above zero before.
    pub(super) fn deadlocked(&self, row: u64) -> bool {
        self.change(row, |score| (score + DEADLOCK).min(HIGHEST)) > 0
    }

    /// Notes whether a transaction that locked a row exclusively when it read the row has written it later.
    pub(super) fn learn(&self, row: u64, was_written: bool) {
        let is_known = was_written && self.score(row).load(Ordering::Acquire) == HIGHEST;
        if !is_known {
            self.change(row, |score| if was_written { (score + 1).min(HIGHEST) } else { score.saturating_sub(1) });
        }
    }

    fn score(&self, row: u64) -> &AtomicU8 {
        &self.scores[row as usize % PLACES]
    }

    /// Changes a score, and returns what it was before.
    fn change(&self, row: u64, change: impl Fn(u8) -> u8) -> u8 {
        let score = self.score(row);
        let changed = score.fetch_update(Ordering::AcqRel, Ordering::Acquire, |score| Some(change(score)));
        let before = changed.unwrap_or_else(|score| score);
        match (before > 0, change(before) > 0) {
            (false, true) => self.above_zero.fetch_add(1, Ordering::AcqRel),
            (true, false) => self.above_zero.fetch_sub(1, Ordering::AcqRel),
            _ => 0,
        };
        before
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_to_be_written_after_a_deadlock_and_as_long_as_most_who_read_it_write_it() {
        let foresight = Foresight::default();
        assert!(!foresight.is_any());
        assert!(!foresight.deadlocked(7));
        assert!(foresight.is_any() && foresight.is_read_to_write(7) && !foresight.is_read_to_write(8));
        for _ in 0..100 {
            foresight.learn(7, true);
            foresight.learn(7, true);
            foresight.learn(7, false);
        }
        assert!(foresight.is_read_to_write(7));
        for _ in 0..2 * HIGHEST {
            foresight.learn(7, false);
            foresight.learn(7, false);
            foresight.learn(7, true);
        }
        foresight.learn(7, false);
        assert!(!foresight.is_read_to_write(7) && !foresight.is_any());
        foresight.learn(7, false);
        assert!(!foresight.is_any());
    }
}
