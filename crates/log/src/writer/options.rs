//! The options of a log.

use crate::failure::Failure;
use crate::segment::{HEADER_BYTES, PAGE};
use hotrow_sync::Arc;
use hotrow_sync::byte_ring::SLOT;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// When the log makes records durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A commit is over only when its record is durable. A crash loses nothing that was acknowledged.
    Sync,
    /// Records become durable within about the [interval](Options::interval), and commits do not wait for them. A crash
    /// loses the last transactions. If it loses a transaction, it also loses all transactions that built on it.
    Async,
    /// Records become durable when the operating system writes them. The end of the process loses no more than with
    /// `Async`. A power failure may lose all transactions since the last checkpoint. If it loses a transaction, it also
    /// loses all transactions that built on it.
    Off,
}

/// The least length of a segment's file in bytes.
const LEAST_SEGMENT: u64 = 2 * HEADER_BYTES;

/// The least capacity of the ring in bytes.
const LEAST_RING: usize = 4 * SLOT as usize;

/// The seconds from 1970 to 2000.
const EPOCH_2000: i64 = 946_684_800;

/// A clock, which returns the time of day in microseconds since 2000-01-01 UTC.
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
    /// The capacity in bytes of the ring, in which records wait to be written: a power of two, at least 64.
    pub ring_bytes: usize,
    /// About the greatest number of bytes of one write. A large frame may exceed it.
    pub write_bytes: u64,
    /// The time after which records are written if no transaction waits for them.
    pub interval: Duration,
    /// The greatest number of files that are kept to become segments. Further ones are removed.
    pub spares: usize,
    /// The clock whose time of day the log records.
    pub clock: Clock,
    /// The salt of the frames, which no earlier opening of the log may have had. `None` stands for a random number.
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

impl Options {
    /// Checks the options before anything is made with them.
    ///
    /// # Errors
    /// [`Failure::Refused`] if a segment cannot have this length, or the ring this capacity.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Self { segment_bytes, ring_bytes, .. } = *self;
        if !segment_bytes.is_multiple_of(PAGE) || segment_bytes < LEAST_SEGMENT {
            return Err(Failure::Refused(format!(
                "segments of the log cannot have {segment_bytes} bytes: expected a multiple of {PAGE}, at least \
                 {LEAST_SEGMENT}"
            )));
        }
        if !ring_bytes.is_power_of_two() || ring_bytes < LEAST_RING {
            return Err(Failure::Refused(format!(
                "the ring of the log cannot have {ring_bytes} bytes: expected a power of two, at least {LEAST_RING}"
            )));
        }
        Ok(())
    }
}
