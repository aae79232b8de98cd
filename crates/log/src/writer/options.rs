//! The options of a log.

use hotrow_sync::Arc;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// When the log makes records durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before their transactions' commits are over. A crash loses nothing that was acknowledged.
    Sync,
    /// Within the [interval](Options::interval), about: commits do not wait. A crash loses the last transactions, and
    /// never one without those that it built on.
    Async,
    /// When the operating system does. The end of the process loses no more than with `Async`. A power failure may lose
    /// all transactions since the last checkpoint, and never one without those that it built on.
    Off,
}

/// The seconds from 1970 to 2000.
const EPOCH_2000: i64 = 946_684_800;

/// A clock: returns the time of day in microseconds since 2000-01-01 UTC.
#[derive(Clone)]
pub struct Clock(pub Arc<dyn Fn() -> i64 + Send + Sync>);

impl Default for Clock {
    fn default() -> Self {
        Self(Arc::new(|| {
            let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX) - EPOCH_2000 * 1_000_000
        }))
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The options of a log.
#[derive(Clone, Debug)]
pub struct Options {
    /// When records become durable.
    pub durability: Durability,
    /// The length of a segment's file in bytes: a multiple of 4096, at least 8192.
    pub segment_bytes: u64,
    /// The bytes of records that wait in memory to be written: a power of two, at least 64.
    pub ring_bytes: usize,
    /// The bytes that one write has, at most, if the frames are small.
    pub write_bytes: u64,
    /// The time after which records are written if no transaction waits for them.
    pub interval: Duration,
    /// The number of files that are kept to become segments. Further ones are removed.
    pub spares: usize,
    /// The time of day for the records of the clock.
    pub clock: Clock,
    /// The source of salts, which must not repeat: `None` stands for random numbers.
    pub salt: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Sync,
            segment_bytes: 64 << 20,
            ring_bytes: 16 << 20,
            write_bytes: 4 << 20,
            interval: Duration::from_millis(10),
            spares: 10,
            clock: Clock::default(),
            salt: None,
        }
    }
}
