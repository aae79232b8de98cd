//! The log during a run, for databases that have one.

use hotrow_log::writer::{Durability, Statistics};
use serde::Serialize;

/// The writes of the log during a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LogReport {
    /// `sync`, `async` or `off`.
    pub durability: &'static str,
    /// Records that were written: one for each commit that changed something.
    pub records: u64,
    /// Bytes of the records that were appended.
    pub bytes: u64,
    /// Bytes that were written: the records, and in each write the padding of its last page.
    pub written_bytes: u64,
    /// Writes of the log.
    pub flushes: u64,
    /// The mean time of a write, in microseconds.
    pub mean_flush_us: f64,
    /// A time that 99 of 100 writes did not exceed, in microseconds, rounded up to a power of two.
    pub p99_flush_us: u64,
    /// Steps of checkpoints that were completed.
    pub checkpoint_steps: u64,
}

impl LogReport {
    /// Makes the report on the period between two readings of the log's statistics.
    pub(crate) fn new(durability: Durability, before: &Statistics, after: &Statistics, checkpoint_steps: u64) -> Self {
        let flushes = after.flushes - before.flushes;
        let classes = after.flush_times.iter().zip(before.flush_times);
        let mut left = flushes - flushes / 100;
        let p99_flush_us = classes.enumerate().find_map(|(class, (after, before))| {
            left = left.saturating_sub(after - before);
            (left == 0).then_some(2 << class)
        });
        Self {
            durability: match durability {
                Durability::Sync => "sync",
                Durability::Async => "async",
                Durability::Off => "off",
            },
            records: after.records - before.records,
            bytes: after.newest - before.newest,
            written_bytes: after.written_bytes - before.written_bytes,
            flushes,
            mean_flush_us: (after.flush_ns - before.flush_ns) as f64 / 1e3 / flushes.max(1) as f64,
            p99_flush_us: p99_flush_us.unwrap_or_default(),
            checkpoint_steps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writes_of_a_run_are_told_from_earlier_ones() {
        let mut before = Statistics { records: 5, flushes: 5, flush_ns: 5_000, newest: 100, ..Statistics::default() };
        before.flush_times[0] = 5;
        let mut after = Statistics { records: 305, flushes: 205, flush_ns: 405_000, newest: 4_100, ..before };
        after.flush_times[1] = 197;
        after.flush_times[7] = 3;
        let report = LogReport::new(Durability::Async, &before, &after, 2);
        assert_eq!((report.records, report.flushes, report.bytes), (300, 200, 4_000));
        assert_eq!((report.mean_flush_us, report.p99_flush_us, report.checkpoint_steps), (2.0, 256, 2));
        assert_eq!(LogReport::new(Durability::Sync, &after, &after, 0).p99_flush_us, 2, "no writes at all");
    }
}
