//! The work of plain code since the last step of the thread that runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The ordering of all accesses here. Relaxed: only the thread that runs the machine uses these atomics.
pub(super) const ALONE: Ordering = Ordering::Relaxed;

/// Whether work counts: a virtual thread of a timed run runs code that is not the machine's.
static COUNTS: AtomicBool = AtomicBool::new(false);

/// The number of basic blocks that were counted since the last call of [`take_blocks`].
static BLOCKS: AtomicU64 = AtomicU64::new(0);

/// Whether work counts at present.
#[inline(always)]
pub(super) fn counts() -> bool {
    COUNTS.load(ALONE)
}

/// Sets whether work counts. Returns whether it did.
#[inline(always)]
pub(super) fn set_counts(counts: bool) -> bool {
    let before = COUNTS.load(ALONE);
    COUNTS.store(counts, ALONE);
    before
}

/// Returns the number of basic blocks that were counted since the last call.
pub(super) fn take_blocks() -> u64 {
    let blocks = BLOCKS.load(ALONE);
    BLOCKS.store(0, ALONE);
    blocks
}

/// Counts `blocks` basic blocks of work, if work counts at present.
pub(crate) fn count_work(blocks: u64) {
    if COUNTS.load(ALONE) {
        BLOCKS.store(BLOCKS.load(ALONE) + blocks, ALONE);
    }
}

/// A guard for the machine's own work: while it exists, no work counts.
pub(super) struct Uncounted(bool);

impl Uncounted {
    #[inline(always)]
    pub(super) fn begin() -> Self {
        Self(set_counts(false))
    }
}

impl Drop for Uncounted {
    #[inline(always)]
    fn drop(&mut self) {
        set_counts(self.0);
    }
}
