//! The log that is being written: a redo sink, and the thread that makes its records durable.
//!
//! A record goes this way:
//!
//! 1. The transaction encodes it, outside of any latch, and reserves its place in the log with one atomic addition. The
//!    position in the log is the order of application: a transaction that saw another one's changes reserves later.
//! 2. It copies the frame into the [ring](hotrow_sync::byte_ring), beside others, and gives up its locks.
//! 3. The *flusher* takes all complete frames out of the ring and writes them with one durable write. Meanwhile, other
//!    transactions complete theirs: the more of them there are, the more share the next write. A single one waits for
//!    one write and for no timer.
//! 4. The flusher wakes the transactions whose records are durable, and no others.
//!
//! A transaction that waits alone, and has a thread that would do nothing else, is the flusher itself (see [`flush`]):
//! no thread need be woken then, neither the flusher's nor its own.
//!
//! **What is promised.** In the mode [`Sync`](Durability::Sync), a commit is over only when its record is durable,
//! unless its session does not want to wait. What a crash leaves of the log is always a prefix: if a record is there,
//! all records before it are there.
//!
//! **Errors of the device.** The first write or sync that fails ends the log: it is not known which of the bytes are
//! durable, and to sync again would not tell. From then on no commit is acknowledged, transactions may not begin to
//! change anything, and records are forgotten. Transactions that only read go on. The reason is [kept](Log::failure).
//!
//! **A full disk.** See [`supply`]. While no segment can be made, transactions may not begin to change anything. When
//! the last segment is full, too, records stay in the ring, and then commits wait. All this ends by itself when there
//! is room.
//!
//! **Reading** the log while it is written goes up to the last durable frame, and keeps no latch of the writer
//! meanwhile.

mod condition;
mod flush;
mod options;
mod statistics;
mod supply;
#[cfg(not(any(loom, shuttle)))]
mod thread;
mod waiting;

pub use flush::Flushed;
pub use options::{Clock, Durability, Options};
pub use statistics::{FLUSH_CLASSES, Statistics};
#[cfg(not(any(loom, shuttle)))]
pub use thread::LogThreads;

use crate::disk::Disk;
use crate::failure::Failure;
use crate::frame::{HEAD_BYTES, record_sum, seal};
use crate::reader::{LogFrames, Pieces};
use crate::record;
use crate::segment::Segment;
use crate::source::{Damage, Frames, LiveSource, Source};
use condition::Condition;
use flush::Flusher;
use hotrow_storage::{Change, End, LogFailed, Position, RedoSink, Refusal, RowRef, TableId, TableSchema};
use hotrow_sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use hotrow_sync::byte_ring::{self, ByteRing};
use hotrow_sync::{Arc, CachePadded, Doorbell, Mutex, Waiter};
use statistics::Counters;
use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;
use supply::{Supply, Unmade};
use waiting::Waiting;

/// The capacity above which a buffer is not kept for the next record of the thread.
const KEPT_BYTES: usize = 1 << 20;

/// The most bytes of the ring that are prefetched for a record. Beyond them, the processor has recognised the sequence
/// and prefetches by itself.
const PREFETCHED_BYTES: usize = 1 << 10;

/// The time between two attempts to make room, if no other thread flushes.
const RETRY: Duration = Duration::from_millis(1);

/// The time between two records of the clock while records come, in microseconds.
const CLOCK_MICROS: i64 = 1_000_000;

hotrow_sync::thread_local! {
    /// The memory in which the thread encodes its next record.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A log that is being written. Any thread may call any method.
#[derive(Debug)]
pub struct Log {
    durability: Durability,
    write_bytes: u64,
    interval: Duration,
    salt: u64,
    clock: LogClock,
    ring: Arc<ByteRing>,
    ends: CachePadded<Ends>,
    flusher: Mutex<Flusher>,
    supply: Supply,
    condition: Condition,
    /// The transactions that wait until a position is durable.
    for_durability: Waiting,
    /// The transactions that wait until the ring has released a position.
    for_room: Waiting,
    bells: Bells,
    counters: Counters,
}

/// The positions that the flusher has reached.
#[derive(Debug)]
struct Ends {
    /// The end of the bytes that were written, and are durable unless durability is off.
    durable: AtomicU64,
    /// The end of a whole frame up to which all bytes are durable. New frames witness that. The position must not be in
    /// the middle of a frame, because the other part of that frame may still be lost.
    synced: AtomicU64,
    /// The end of the last whole frame before `durable`.
    whole: AtomicU64,
}

/// The clock of the log, and the last time that the log has.
#[derive(Debug)]
struct LogClock {
    clock: Clock,
    last: AtomicI64,
}

/// The means by which other threads wake the threads of the log.
struct Bells {
    flusher: Doorbell,
    maker: Doorbell,
    /// Whether a thread flushes. Without one, a transaction that needs room flushes itself.
    has_thread: AtomicBool,
    /// Whether the flusher sleeps until it is called, because every record was written.
    is_idle: AtomicBool,
}

impl std::fmt::Debug for Bells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bells").field("has_thread", &self.has_thread).finish_non_exhaustive()
    }
}

fn random_salt() -> u64 {
    RandomState::new().build_hasher().finish()
}

impl Log {
    /// Opens the log of a data directory for writing. `end` is the end of the log, as [recovery](crate::recovery) has
    /// found it: all bytes after it are dead from now on. The caller has the only right to write to the directory.
    /// Without [`LogThreads`], records are written only when [`flush`](Self::flush) is called or the ring is full.
    ///
    /// # Errors
    /// If a segment is damaged, if the options are not allowed, or if the disk refuses an operation or has no room for
    /// a segment.
    pub fn open(disk: Arc<dyn Disk>, options: &Options, end: u64) -> Result<Arc<Self>, Failure> {
        options.check()?;
        let salt = options.salt.unwrap_or_else(random_salt);
        let supply = Supply::open(disk, options, salt, end)?;
        let (ring, drain) = byte_ring::new(end, options.ring_bytes);
        let position = || AtomicU64::new(end);
        let sleeper = || Doorbell::new(Waiter::thread(Duration::ZERO));
        let bells = Bells {
            flusher: sleeper(),
            maker: sleeper(),
            has_thread: AtomicBool::new(false),
            is_idle: AtomicBool::new(false),
        };
        Ok(Arc::new(Self {
            durability: options.durability,
            write_bytes: options.write_bytes,
            interval: options.interval,
            salt,
            clock: LogClock { clock: options.clock.clone(), last: AtomicI64::new(i64::MIN) },
            ring,
            ends: CachePadded(Ends { durable: position(), synced: position(), whole: position() }),
            flusher: Mutex::new(Flusher::new(drain, supply.current())),
            supply,
            condition: Condition::default(),
            for_durability: Waiting::default(),
            for_room: Waiting::default(),
            bells,
            counters: Counters::default(),
        }))
    }

    /// Returns when the log makes records durable.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// Returns why the log has failed, for people, or `None` if it has not.
    pub fn failure(&self) -> Option<String> {
        self.condition.reason()
    }

    /// Returns the present time of the log's clock, in microseconds since 2000-01-01 UTC.
    pub fn time_of_day(&self) -> i64 {
        (self.clock.clock.0)()
    }

    /// Returns numbers for metrics.
    pub fn statistics(&self) -> Statistics {
        let (oldest, files) = self.supply.extent();
        Statistics {
            oldest,
            files,
            durable: self.ends.durable.load(Ordering::Acquire),
            newest: self.ring.reserved(),
            is_full: self.condition.is_full(),
            has_failed: self.condition.has_failed(),
            ..self.counters.get()
        }
    }

    /// Makes the next segment, unless there is one, and finds out whether the disk is full. The thread of a
    /// [`LogThreads`] calls this; a simulation calls it itself.
    pub fn tend(&self) {
        if self.condition.has_failed() {
            return;
        }
        match self.supply.make() {
            Ok(()) => self.condition.set_full(false),
            Err(Unmade::Full) => self.condition.set_full(true),
            Err(Unmade::Failed(failure)) => self.fail(&failure.to_string()),
        }
    }

    /// Makes all records durable that were appended, whatever the mode. Returns false if that is not possible, because
    /// the log has failed or the disk is full. The log can be used further.
    pub fn close(&self) -> bool {
        let end = self.ring.reserved();
        while self.ends.durable.load(Ordering::Acquire) < end {
            match self.flush() {
                Flushed::Stuck => return false,
                Flushed::Nothing => hotrow_sync::thread::yield_now(),
                Flushed::Done => {}
            }
            if self.condition.has_failed() {
                return false;
            }
        }
        if self.durability == Durability::Off {
            match self.supply.sync() {
                Ok(()) => self.ends.synced.store(end, Ordering::Release),
                Err(failure) => self.fail(&failure.to_string()),
            }
        }
        !self.condition.has_failed()
    }

    /// Returns the segment in which the log goes on, or `None` if there is no room for one.
    fn next_segment(&self) -> Option<Segment> {
        let mut next = self.supply.take();
        if next.is_none() {
            self.tend();
            next = self.supply.take();
        }
        self.bells.maker.call();
        next
    }

    /// Ends the log: no later commit is acknowledged.
    fn fail(&self, reason: &str) {
        self.condition.fail(reason);
        self.for_durability.wake_until(u64::MAX);
    }

    /// Appends a frame with the record that `encode` makes. Returns its end.
    fn append_record(&self, encode: impl FnOnce(&mut Vec<u8>), waiter: Option<&Waiter>) -> u64 {
        let mut frame = BUFFER.take();
        // The record is probably about as long as the thread's last one.
        self.ring.prefetch(frame.len().min(PREFETCHED_BYTES));
        frame.clear();
        frame.resize(HEAD_BYTES, 0);
        encode(&mut frame);
        self.append_clock(waiter);
        let end = self.append_frame(&mut frame, waiter);
        if frame.capacity() <= KEPT_BYTES {
            BUFFER.set(frame);
        }
        // A transaction that waits for its record will call the flusher itself.
        let will_wait = self.durability == Durability::Sync && waiter.is_some_and(Waiter::waits_for_log);
        // SeqCst: after the reservation, which is SeqCst too. The flusher sets the flag before it looks for the last
        // time whether anything is reserved.
        if !will_wait && self.bells.is_idle.load(Ordering::SeqCst) {
            self.bells.flusher.call();
        }
        end
    }

    /// Appends the time of day, if the log has had none for a second.
    fn append_clock(&self, waiter: Option<&Waiter>) {
        let now = (self.clock.clock.0)();
        let last = self.clock.last.load(Ordering::Acquire);
        let is_due = last == i64::MIN || now.saturating_sub(last) >= CLOCK_MICROS;
        // Of several threads that find it due, one appends it.
        let chosen = || self.clock.last.compare_exchange(last, now, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if is_due && chosen() {
            let mut frame = vec![0; HEAD_BYTES];
            record::clock(now, &mut frame);
            self.append_frame(&mut frame, waiter);
        }
    }

    fn append_frame(&self, frame: &mut [u8], waiter: Option<&Waiter>) -> u64 {
        let sum = record_sum(&frame[HEAD_BYTES..]);
        let mut reservation = self.ring.reserve(frame.len() as u64);
        seal(frame, sum, reservation.start(), self.ends.synced.load(Ordering::Acquire), self.salt);
        let (end, mut rest) = (reservation.end(), &frame[..]);
        loop {
            rest = &rest[reservation.fill(rest)..];
            if rest.is_empty() {
                return end;
            }
            if !reservation.has_room() {
                self.wait_for_room(&reservation, waiter);
            }
        }
    }

    /// Waits until a reservation has room for its next piece.
    #[cold]
    fn wait_for_room(&self, reservation: &byte_ring::Reservation<'_>, waiter: Option<&Waiter>) {
        let own = || Waiter::thread(Duration::ZERO);
        let waiter = waiter.map_or_else(own, Waiter::clone);
        while !reservation.has_room() {
            if self.bells.has_thread.load(Ordering::Acquire) {
                self.for_room.add(reservation.needs_released(), &waiter);
                self.bells.flusher.call();
                waiter.wait_for(|| reservation.has_room());
            } else if self.flush() != Flushed::Done && waiter.rest(RETRY) == hotrow_sync::Wake::Cancelled {
                hotrow_sync::thread::yield_now();
            }
        }
    }
}

impl RedoSink for Log {
    fn created(&self, table: TableId, schema: &TableSchema) {
        self.append_record(|bytes| record::created(table, schema, bytes), None);
    }

    fn loaded(&self, table: TableId, row: RowRef<'_>) {
        self.append_record(|bytes| record::loaded(table, row, bytes), None);
    }

    fn dropped(&self, table: TableId) {
        self.append_record(|bytes| record::dropped(table, bytes), None);
    }

    fn append(&self, _: End, changes: &mut dyn Iterator<Item = Change<'_>>, waiter: &Waiter) -> Position {
        Position(self.append_record(|bytes| record::transaction(changes, bytes), Some(waiter)))
    }

    fn appended(&self) -> Position {
        Position(self.ring.reserved())
    }

    fn wait_durable(&self, position: Position, waiter: &Waiter) -> Result<(), LogFailed> {
        if self.durability != Durability::Sync || !waiter.waits_for_log() {
            return if self.condition.has_failed() { Err(LogFailed) } else { Ok(()) };
        }
        let is_durable = || self.ends.durable.load(Ordering::Acquire) >= position.0;
        if is_durable() {
            return Ok(());
        }
        let is_over = || is_durable() || self.condition.has_failed();
        self.flush_alone(waiter, is_over);
        if !is_over() {
            self.for_durability.add(position.0, waiter);
            self.bells.flusher.call();
            if waiter.wait_until(None, is_over) != hotrow_sync::Wake::Ready {
                // The device answers soon, so the cancelled wait goes on. It ends if the disk has no room, which may
                // last.
                waiter.wait_for(|| is_over() || self.condition.is_stuck());
            }
        }
        if is_durable() { Ok(()) } else { Err(LogFailed) }
    }

    fn admits(&self) -> Result<(), Refusal> {
        self.condition.admits()
    }
}

impl Source for Log {
    fn frames(&self, from: u64) -> Result<Box<dyn Frames + '_>, Damage> {
        let limit = self.durable();
        Ok(Box::new(LogFrames::new(Pieces::new(self.supply.live()), from, Some(limit))?))
    }

    fn bytes_behind(&self, from: u64) -> u64 {
        self.durable().saturating_sub(from)
    }
}

impl LiveSource for Log {
    fn durable(&self) -> u64 {
        self.ends.whole.load(Ordering::Acquire)
    }

    fn discard_before(&self, position: u64) {
        if self.condition.has_failed() {
            return;
        }
        if let Err(failure) = self.supply.discard_before(position) {
            self.fail(&failure.to_string());
        }
        self.bells.maker.call();
    }
}
