//! Numbers about a log, for metrics.

use hotrow_sync::PlainAtomicU64;
use hotrow_sync::atomic::Ordering;
use std::time::Duration;

/// The number of classes of the histogram of flush times.
pub const FLUSH_CLASSES: usize = 24;

/// Numbers about a log since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The bytes that were written to segments, padding of pages included.
    pub written_bytes: u64,
    /// The number of writes to segments.
    pub flushes: u64,
    /// The number of records that were written.
    pub records: u64,
    /// The nanoseconds that all writes took.
    pub flush_ns: u64,
    /// The number of writes by their time: class `n` has those of at least 2^n microseconds and less than twice that;
    /// class 0 has shorter ones, too, and the last class longer ones.
    pub flush_times: [u64; FLUSH_CLASSES],
    /// The position of the first byte that the log still has.
    pub oldest: u64,
    /// The position up to which records are durable, or, if durability is off, written.
    pub durable: u64,
    /// The position after the last record that was appended.
    pub newest: u64,
    /// The number of files of the log.
    pub files: u64,
    /// Whether transactions are refused because the disk is full.
    pub is_full: bool,
    /// Whether the log has failed.
    pub has_failed: bool,
}

/// The counts of a log. Only the thread that flushes adds to them.
#[derive(Debug, Default)]
pub(super) struct Counters {
    written_bytes: PlainAtomicU64,
    flushes: PlainAtomicU64,
    pub(super) records: PlainAtomicU64,
    flush_ns: PlainAtomicU64,
    flush_times: [PlainAtomicU64; FLUSH_CLASSES],
}

impl Counters {
    pub(super) fn count_flush(&self, bytes: u64, time: Duration) {
        // Relaxed, here and below: figures, which order nothing.
        let add = |counter: &PlainAtomicU64, count| counter.fetch_add(count, Ordering::Relaxed);
        add(&self.written_bytes, bytes);
        add(&self.flushes, 1);
        add(&self.flush_ns, time.as_nanos() as u64);
        let class = (time.as_micros() as u64).max(1).ilog2() as usize;
        add(&self.flush_times[class.min(FLUSH_CLASSES - 1)], 1);
    }

    /// Returns the counts; the other numbers are zero.
    pub(super) fn get(&self) -> Statistics {
        // Relaxed: see above.
        let get = |counter: &PlainAtomicU64| counter.load(Ordering::Relaxed);
        Statistics {
            written_bytes: get(&self.written_bytes),
            flushes: get(&self.flushes),
            records: get(&self.records),
            flush_ns: get(&self.flush_ns),
            flush_times: std::array::from_fn(|class| get(&self.flush_times[class])),
            ..Statistics::default()
        }
    }
}
