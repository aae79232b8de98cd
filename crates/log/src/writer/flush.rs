//! Writes the records that are in the ring to the segments.
//!
//! Bytes are taken out of the ring into a block that begins and ends at a page: the bytes of the first page that were
//! written before are kept, and the last page is filled up with zeros. So the operating system never has to read a page
//! before it writes it, and the ring has room again before the device has answered. A page is written again when more
//! of it is there. The device writes a sector as a whole, so the bytes that were durable before stay so.

use super::Log;
use super::options::Durability;
use crate::failure::Failure;
use crate::segment::{PAGE, Segment};
use hotrow_sync::atomic::Ordering;
use hotrow_sync::byte_ring::Drain;
use hotrow_sync::{MutexGuard, Time, Waiter};

/// The result of a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// There was no complete record that had not been written.
    Nothing,
    /// Records were written, or, if the log has failed, forgotten.
    Done,
    /// The disk has no room for the records that are complete.
    Stuck,
}

/// The part of a log that only the thread that flushes uses.
#[derive(Debug)]
pub(super) struct Flusher {
    drain: Drain,
    /// The segment that is written.
    segment: Option<Segment>,
    /// The position of the first byte of `block`, at which a page begins.
    start: u64,
    /// The bytes of the log from `start` on that were written: a part of the last page.
    block: Vec<u8>,
}

impl Flusher {
    pub(super) fn new(drain: Drain, segment: Option<Segment>) -> Self {
        let start = drain.taken();
        Self { drain, segment, start, block: Vec::new() }
    }
}

impl Log {
    /// Writes the records that are complete, about [`write_bytes`](super::Options::write_bytes) of them at most, and
    /// wakes the transactions that wait for them. The thread of a [`LogThreads`](super::LogThreads) calls this; a
    /// simulation calls it itself.
    pub fn flush(&self) -> Flushed {
        self.flush_with(self.flusher.lock().unwrap_or_else(|poison| poison.into_inner()))
    }

    /// Makes the record of a transaction durable, and all before it, on the transaction's own thread. Does nothing if
    /// the transaction has no thread that would only wait, or if another thread writes or another transaction waits. If
    /// the record is not durable afterwards, the transaction has to wait.
    pub(super) fn flush_alone(&self, waiter: &Waiter, is_over: impl Fn() -> bool) {
        if !waiter.has_thread() || !self.bells.has_thread.load(Ordering::Acquire) || !self.for_durability.is_empty() {
            return;
        }
        let Ok(flusher) = self.flusher.try_lock() else { return };
        waiter.wait_by(|| {
            let mut flushed = self.flush_with(flusher);
            while flushed == Flushed::Done && !is_over() {
                flushed = self.flush();
            }
        });
    }

    fn flush_with(&self, mut flusher: MutexGuard<'_, Flusher>) -> Flushed {
        let until = flusher.drain.look(self.write_bytes);
        let mut flushed = if until > flusher.drain.taken() { Flushed::Done } else { Flushed::Nothing };
        while flusher.drain.taken() < until && flushed == Flushed::Done {
            if self.condition.has_failed() {
                self.forget(&mut flusher, until);
                break;
            }
            match self.write(&mut flusher, until) {
                Ok(done) => flushed = done,
                Err(failure) => self.fail(&failure.to_string()),
            }
        }
        // Relaxed: a figure.
        self.counters.records.store(flusher.drain.reservations(), Ordering::Relaxed);
        let (taken, whole) = (flusher.drain.taken(), flusher.drain.whole());
        if taken == until && !self.condition.has_failed() {
            self.ends.whole.store(whole, Ordering::Release);
            if self.durability != Durability::Off {
                self.ends.synced.store(whole, Ordering::Release);
            }
        }
        drop(flusher);
        self.for_room.wake_until(taken);
        self.for_durability.wake_until(self.ends.durable.load(Ordering::Acquire));
        if flushed == Flushed::Stuck {
            self.condition.set_stuck();
            self.for_durability.wake_all();
        }
        flushed
    }

    /// Takes bytes out of the ring and drops them, since a log that has failed writes nothing.
    fn forget(&self, flusher: &mut Flusher, until: u64) {
        flusher.block.clear();
        flusher.drain.take(until, &mut flusher.block);
        flusher.block.clear();
    }

    /// Writes bytes up to a position, or up to the end of the segment. If the segment is full, the next one becomes the
    /// one that is written.
    fn write(&self, flusher: &mut Flusher, until: u64) -> Result<Flushed, Failure> {
        let Flusher { drain, segment, start, block } = flusher;
        if segment.as_ref().is_none_or(|segment| segment.header.end() == drain.taken()) {
            let Some(next) = self.next_segment() else { return Ok(Flushed::Stuck) };
            *start = next.header.start;
            block.clear();
            *segment = Some(next);
        }
        let Some(segment) = segment else { return Ok(Flushed::Stuck) };
        let until = until.min(segment.header.end());
        drain.take(until, block);
        let used = block.len();
        block.resize(used.next_multiple_of(PAGE as usize), 0);
        let (began, offset) = (Time::now(), segment.offset(*start));
        let written = match self.durability {
            Durability::Sync | Durability::Async => segment.file.write_durably_at(block, offset),
            Durability::Off => segment.file.write_at(block, offset),
        };
        written.map_err(Failure::on(&segment.name()))?;
        self.counters.count_flush(block.len() as u64, Time::now().since(began));
        self.ends.durable.store(until, Ordering::Release);
        // The bytes of the last page, if more of it will come, are written again with it.
        let kept = used / PAGE as usize * PAGE as usize;
        block.truncate(used);
        block.drain(..kept);
        *start += kept as u64;
        Ok(Flushed::Done)
    }
}
