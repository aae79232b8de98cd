//! A ring of bytes that many threads fill and one thread drains: the buffer of a log.
//!
//! Positions count the bytes of an endless sequence. A thread [reserves](ByteRing::reserve) the next bytes with one
//! atomic addition, and [fills](Reservation::fill) them beside others. The thread that has the [`Drain`] takes the
//! bytes out, up to the first that are not filled yet. No thread takes a latch.
//!
//! A reservation is filled in *pieces*: as a whole, or, if it is larger than half of the ring, a quarter of the ring at
//! a time. A piece is *published* through a mark: the end of the piece, in the slot that belongs to the piece's start,
//! and whether the reservation ends there.
//!
//! **Invariants**
//!
//! 1. The bytes before `released` were taken. The bytes from `released` to `reserved` each belong to one reservation.
//!    Their owner is the thread that has the reservation until the piece with them is published, and the drain after
//!    that.
//! 2. A thread writes a byte of its piece only if the whole piece ends at most one capacity after `released`. So no two
//!    bytes that have an owner have the same place in the ring.
//! 3. A mark is stored only after the drain has seen the mark that the slot had before. A slot covers [`SLOT`]
//!    positions, and each piece has at least that many bytes. So two pieces share a slot only if their starts are more
//!    than `capacity − SLOT` apart; then invariant 2 has the later one wait until the earlier one's first byte was
//!    taken.
//! 4. The slot of a position has a mark above the position only if a piece that starts there is published. A mark of an
//!    earlier lap is the end of a piece that started at least `capacity − SLOT + 1` bytes before and has at most half
//!    of the capacity.
//!
//! **Why that is enough.** The filling thread writes the bytes and then stores the mark with release. The drain loads
//! the mark with acquire before it reads the bytes, and finds the start of the next piece in it, so it sees all bytes
//! up to the first piece that is not published. The drain reads the bytes and then stores `released` with release. A
//! thread loads `released` with acquire before it writes bytes of a later lap, or their mark. An old value of
//! `released` only makes the ring look fuller than it is.
//!
//! A thread that has reserved and loses its core keeps the drain from passing its bytes until it runs again, but keeps
//! no other thread from reserving and filling, as long as there is room.

use crate::atomic::{AtomicU64, Ordering};
use crate::cell::UnsafeCell;
use crate::{Arc, CachePadded, prefetch_to_write};
use std::fmt;

/// The number of bytes of a cache line.
const LINE_BYTES: usize = 64;

/// The number of positions that share a mark, and the least number of bytes of a reservation.
pub const SLOT: u64 = if cfg!(loom) { 2 } else { 16 };

/// Makes a ring whose first byte has the position `start`, which is below 2^62, with room for `capacity` bytes. Returns
/// the ring and the means to take bytes out.
///
/// # Panics
///
/// If the capacity is not a power of two, or is less than four times [`SLOT`].
pub fn new(start: u64, capacity: usize) -> (Arc<ByteRing>, Drain) {
    assert!(capacity.is_power_of_two() && capacity as u64 >= 4 * SLOT, "a ring of {capacity} bytes");
    let ring = Arc::new(ByteRing {
        bytes: (0..capacity).map(|_| UnsafeCell::new(0)).collect(),
        marks: (0..capacity as u64 / SLOT).map(|_| AtomicU64::new(0)).collect(),
        reserved: CachePadded(AtomicU64::new(start)),
        released: CachePadded(AtomicU64::new(start)),
    });
    (ring.clone(), Drain { ring, taken: start, published: start, whole: start, reservations: 0 })
}

/// The ring, as the threads that fill it see it. Any thread may call any method.
pub struct ByteRing {
    bytes: Box<[UnsafeCell<u8>]>,
    marks: Box<[AtomicU64]>,
    reserved: CachePadded<AtomicU64>,
    released: CachePadded<AtomicU64>,
}

// SAFETY: a byte is used only by the thread that invariant 1 gives it to.
unsafe impl Send for ByteRing {}
// SAFETY: as above.
unsafe impl Sync for ByteRing {}

/// Bytes of the ring that one thread will fill. It must fill them all: the drain never passes bytes that are missing.
#[must_use]
pub struct Reservation<'r> {
    ring: &'r ByteRing,
    at: u64,
    end: u64,
}

/// The right to take bytes out of a ring.
pub struct Drain {
    ring: Arc<ByteRing>,
    /// The end of the bytes that were taken.
    taken: u64,
    /// The end of the last published piece that was seen.
    published: u64,
    /// The end of the last reservation that was seen to be published as a whole.
    whole: u64,
    /// The number of reservations that were seen to be published as a whole.
    reservations: u64,
}

impl ByteRing {
    /// Reserves the next `length` bytes of the sequence. The call does not wait, whether there is room or not.
    ///
    /// # Panics
    ///
    /// If the length is less than [`SLOT`].
    #[inline]
    pub fn reserve(&self, length: u64) -> Reservation<'_> {
        assert!(length >= SLOT, "a reservation of {length} bytes");
        // SeqCst: a thread that drains may announce that it sleeps and then load `reserved`, while the caller reserves
        // and then looks whether it sleeps. One of them sees the other.
        let at = self.reserved.fetch_add(length, Ordering::SeqCst);
        Reservation { ring: self, at, end: at + length }
    }

    /// Prefetches the memory of about `length` bytes that the next reservation will get. The drain had it last, so a
    /// thread that fills it would wait for another core.
    #[inline]
    pub fn prefetch(&self, length: usize) {
        // Relaxed: a guess. Another thread may reserve these bytes.
        let at = self.reserved.load(Ordering::Relaxed);
        let (first, before_end, _) = self.places(at, length.min(self.bytes.len()));
        prefetch_to_write(std::ptr::from_ref(self.mark(at)).cast());
        for place in (first..first + before_end).step_by(LINE_BYTES) {
            prefetch_to_write(std::ptr::from_ref(&self.bytes[place]).cast());
        }
    }

    /// Returns the end of the bytes that were reserved.
    #[inline]
    pub fn reserved(&self) -> u64 {
        // SeqCst: see `reserve`.
        self.reserved.load(Ordering::SeqCst)
    }

    /// Returns the end of the bytes that were taken out.
    pub fn released(&self) -> u64 {
        self.released.load(Ordering::Acquire)
    }

    /// Returns the size of the ring in bytes, whether they are free or not.
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    fn mark(&self, position: u64) -> &AtomicU64 {
        &self.marks[(position / SLOT) as usize & (self.marks.len() - 1)]
    }

    /// Returns the places of `length` bytes from a position on, in two parts: up to the end of the memory, and from its
    /// beginning.
    fn places(&self, position: u64, length: usize) -> (usize, usize, usize) {
        let first = position as usize & (self.bytes.len() - 1);
        let before_end = length.min(self.bytes.len() - first);
        (first, before_end, length - before_end)
    }

    /// Copies bytes into the ring, from a place on that leaves room for them.
    ///
    /// # Safety
    ///
    /// The calling thread owns the bytes of these places, by invariants 1 and 2, and the places are within the ring.
    unsafe fn write(&self, place: usize, bytes: &[u8]) {
        if cfg!(loom) {
            for (cell, byte) in self.bytes[place..].iter().zip(bytes) {
                // SAFETY: the caller owns the byte.
                cell.with_mut(|cell| unsafe { *cell = *byte });
            }
            return;
        }
        // SAFETY: the cells are as large as bytes and lie in a row, and the caller owns these.
        unsafe {
            let first = self.bytes.as_ptr().add(place).cast::<u8>().cast_mut();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), first, bytes.len());
        }
    }

    /// Appends `length` bytes of the ring, from a place on, to a vector.
    ///
    /// # Safety
    ///
    /// The calling thread owns the bytes of these places, by invariant 1, and the places are within the ring.
    unsafe fn read(&self, place: usize, length: usize, into: &mut Vec<u8>) {
        if cfg!(loom) {
            // SAFETY: the caller owns the byte.
            into.extend(self.bytes[place..place + length].iter().map(|cell| cell.with(|cell| unsafe { *cell })));
            return;
        }
        // SAFETY: the cells are as large as bytes and lie in a row. The caller owns these, so no thread writes them.
        let bytes = unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().add(place).cast::<u8>(), length) };
        into.extend_from_slice(bytes);
    }
}

impl Reservation<'_> {
    /// Returns the position of the first byte that is not filled.
    pub fn start(&self) -> u64 {
        self.at
    }

    /// Returns the position behind the last byte.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns the length of the next piece. What is left after a piece is never less than a slot.
    fn piece(&self) -> u64 {
        let (rest, capacity) = (self.end - self.at, self.ring.bytes.len() as u64);
        if rest > capacity / 2 { capacity / 4 } else { rest }
    }

    /// Whether the ring has room for the next piece.
    pub fn has_room(&self) -> bool {
        self.needs_released() <= self.ring.released()
    }

    /// Returns the position up to which bytes must be taken before there is room for the next piece.
    pub fn needs_released(&self) -> u64 {
        (self.at + self.piece()).saturating_sub(self.ring.bytes.len() as u64)
    }

    /// Copies and publishes the next piece of the bytes that are still missing, if the ring has room for it. Returns
    /// the number of bytes that were copied, or zero.
    ///
    /// # Panics
    ///
    /// If the length of `bytes` is not the number of bytes that are missing.
    #[inline]
    pub fn fill(&mut self, bytes: &[u8]) -> usize {
        assert_eq!(bytes.len() as u64, self.end - self.at, "the bytes are those that are missing");
        if bytes.is_empty() || !self.has_room() {
            return 0;
        }
        let piece = self.piece() as usize;
        let (place, before_end, _) = self.ring.places(self.at, piece);
        // SAFETY: the bytes belong to this reservation and are not published. `has_room` has compared their end with
        // `released`, so the bytes that had these places before were taken.
        unsafe {
            self.ring.write(place, &bytes[..before_end]);
            self.ring.write(0, &bytes[before_end..piece]);
        }
        let end = self.at + piece as u64;
        self.ring.mark(self.at).store(end << 1 | u64::from(end == self.end), Ordering::Release);
        self.at = end;
        piece
    }
}

impl Drain {
    /// Looks for published pieces, until at least `most` bytes can be taken or the next piece is not published yet.
    /// Returns the position up to which bytes can be taken.
    pub fn look(&mut self, most: u64) -> u64 {
        while self.published - self.taken < most {
            let mark = self.ring.mark(self.published).load(Ordering::Acquire);
            let (end, ends) = (mark >> 1, mark & 1 == 1);
            if end <= self.published {
                break;
            }
            self.published = end;
            if ends {
                self.whole = end;
                self.reservations += 1;
            }
        }
        self.published
    }

    /// Returns the end of the last reservation all of whose bytes [`look`](Self::look) has seen.
    pub fn whole(&self) -> u64 {
        self.whole
    }

    /// Returns the position up to which all bytes were taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the number of reservations all of whose bytes [`look`](Self::look) has seen.
    pub fn reservations(&self) -> u64 {
        self.reservations
    }

    /// Takes bytes out of the ring, from the first that was not taken up to a position, and appends them to a vector.
    ///
    /// # Panics
    ///
    /// If [`look`](Self::look) has not seen all bytes up to that position, or if the position is before the first byte
    /// that was not taken.
    pub fn take(&mut self, until: u64, into: &mut Vec<u8>) {
        assert!(self.taken <= until && until <= self.published, "bytes that are not there");
        let length = (until - self.taken) as usize;
        let (place, before_end, behind_end) = self.ring.places(self.taken, length);
        // SAFETY: the bytes were published and not released, so they belong to the drain.
        unsafe {
            self.ring.read(place, before_end, into);
            self.ring.read(0, behind_end, into);
        }
        self.taken = until;
        self.ring.released.store(until, Ordering::Release);
    }
}

impl fmt::Debug for ByteRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reserved, released) = (self.reserved(), self.released());
        f.debug_struct("ByteRing").field("reserved", &reserved).field("released", &released).finish_non_exhaustive()
    }
}

impl fmt::Debug for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("taken", &self.taken).field("published", &self.published).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::{Backoff, thread};

    /// Fills a reservation while another thread makes room.
    fn append(ring: &ByteRing, bytes: &[u8]) -> u64 {
        let mut reservation = ring.reserve(bytes.len() as u64);
        let (start, mut rest, mut backoff) = (reservation.start(), bytes, Backoff::new());
        while !rest.is_empty() {
            match reservation.fill(rest) {
                0 => backoff.snooze(),
                filled => rest = &rest[filled..],
            }
        }
        start
    }

    #[test]
    fn bytes_come_out_as_they_were_reserved_up_to_the_first_that_is_missing() {
        for start in [0, 1, 63, 1 << 40] {
            let (ring, mut drain) = new(start, 64);
            let (mut first, mut second) = (ring.reserve(20), ring.reserve(16));
            assert_eq!((first.start(), second.start(), ring.reserved()), (start, start + 20, start + 36));
            assert_eq!(second.fill(&[2; 16]), 16);
            assert_eq!(drain.look(u64::MAX), start, "the first is missing");
            assert_eq!(first.fill(&[1; 20]), 20);
            assert_eq!(drain.look(1), start + 20, "no more than was asked for");
            assert_eq!(drain.look(u64::MAX), start + 36);
            let mut bytes = Vec::new();
            drain.take(start + 21, &mut bytes);
            assert_eq!((drain.taken(), ring.released()), (start + 21, start + 21));
            drain.take(start + 36, &mut bytes);
            assert_eq!(bytes, [&[1; 20][..], &[2; 16]].concat());
            assert_eq!(drain.reservations(), 2);
        }
    }

    #[test]
    fn a_full_ring_takes_nothing_until_bytes_were_taken() {
        let (ring, mut drain) = new(7, 64);
        for _ in 0..2 {
            assert_eq!(ring.reserve(32).fill(&[1; 32]), 32);
        }
        let mut third = ring.reserve(16);
        assert!(!third.has_room());
        assert_eq!(third.fill(&[3; 16]), 0);
        assert_eq!(drain.look(u64::MAX), 7 + 64);
        drain.take(7 + 15, &mut Vec::new());
        assert_eq!(third.fill(&[3; 16]), 0);
        drain.take(7 + 16, &mut Vec::new());
        assert_eq!(third.fill(&[3; 16]), 16);
        assert_eq!(drain.look(u64::MAX), 7 + 80);
    }

    #[test]
    fn a_reservation_larger_than_the_ring_passes_in_pieces() {
        for length in [33, 47, 64, 65, 80, 200, 1000] {
            let (ring, mut drain) = new(5, 64);
            let bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let mut reservation = ring.reserve(length as u64);
            let mut next = ring.reserve(16);
            let (mut rest, mut out) = (&bytes[..], Vec::new());
            while !rest.is_empty() {
                rest = &rest[reservation.fill(rest)..];
                let until = drain.look(u64::MAX);
                assert_eq!(drain.whole(), if rest.is_empty() { until } else { 5 });
                drain.take(until, &mut out);
            }
            assert_eq!(out, bytes);
            assert_eq!(next.fill(&[9; 16]), 16, "after {length} bytes");
            assert_eq!(drain.look(u64::MAX), 5 + length as u64 + 16);
        }
    }

    #[test]
    #[should_panic(expected = "bytes that are not there")]
    fn bytes_that_are_not_published_cannot_be_taken() {
        let (ring, mut drain) = new(0, 64);
        let _unfilled = ring.reserve(16);
        drain.look(u64::MAX);
        drain.take(16, &mut Vec::new());
    }

    #[test]
    fn many_threads_fill_and_one_takes() {
        const FRAMES: u64 = 20_000;
        for capacity in [64, 1024, 1 << 16] {
            let (ring, mut drain) = new(3, capacity);
            let lengths = |thread: u64, frame: u64| 16 + (frame * 7 + thread * 13) % 60;
            let total: u64 = (0..3).flat_map(|thread| (0..FRAMES).map(move |frame| lengths(thread, frame))).sum();
            let mut out = Vec::new();
            thread::scope(|scope| {
                for thread in 0..3 {
                    let ring = &ring;
                    scope.spawn(move || {
                        for frame in 0..FRAMES {
                            let length = lengths(thread, frame);
                            let mut bytes = vec![thread as u8; length as usize];
                            bytes[1..9].copy_from_slice(&frame.to_le_bytes());
                            bytes[9] = length as u8;
                            append(ring, &bytes);
                        }
                    });
                }
                let mut backoff = Backoff::new();
                while drain.taken() < 3 + total {
                    let until = drain.look(u64::MAX);
                    match until > drain.taken() {
                        true => drain.take(until, &mut out),
                        false => backoff.snooze(),
                    }
                }
            });
            let (mut next, mut rest) = ([0; 3], &out[..]);
            while let Some(&thread) = rest.first() {
                let frame = u64::from_le_bytes(rest[1..9].try_into().expect("eight bytes"));
                assert_eq!(frame, next[usize::from(thread)], "frames of a thread come in order");
                next[usize::from(thread)] += 1;
                let length = usize::from(rest[9]);
                assert!(rest[10..length].iter().all(|&byte| byte == thread), "bytes of another thread");
                rest = &rest[length..];
            }
            assert_eq!(next, [FRAMES; 3]);
        }
    }
}
