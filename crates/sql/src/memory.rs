//! The limit on the memory of the process, and the requests that are refused when it is reached.
//!
//! A statement that writes is refused when the memory [in use](hotrow_sync::meter) has reached the limit. If deleted
//! rows have left free space in its table, the statement may use a sixteenth more, for the texts and index entries of
//! new rows. Temporary data (a result, rows to sort, data that a client sends) may use an eighth more, so that reads
//! still run. Statements that free memory (DELETE, ROLLBACK, DROP) are never refused.
//!
//! The resident size of the process is bounded, too. Each bound on it is at most an eighth of the limit higher than the
//! bound on the memory in use, because the resident size includes stacks and memory that the allocator holds. A
//! collection that is about to grow requests all of its new memory, since the old and the new memory exist at the same
//! time while it grows.

use crate::{SqlError, state};
use hotrow_sync::atomic::Ordering;
use hotrow_sync::{PlainAtomicU64, meter};
use std::collections::{HashMap, HashSet, VecDeque};

/// Values of fewer bytes are made without a check of the limit.
const SMALL_BYTES: usize = 64 << 10;

/// The least size of an allocation before which the resident size is measured anew, in bytes.
const LARGE_BYTES: usize = 256 << 10;

/// The number of bytes that are set aside for texts that are being read.
static SET_ASIDE: PlainAtomicU64 = PlainAtomicU64::new(0);

/// Memory that is reserved for a text that is being read. Dropping it ends the reservation.
#[derive(Debug)]
#[must_use = "dropped, it is set aside no longer"]
pub(crate) struct Room {
    bytes: u64,
}

impl Room {
    /// The empty reservation.
    pub(crate) const NOTHING: Self = Self { bytes: 0 };
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // Relaxed, because the counter orders no other memory accesses.
            SET_ASIDE.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// The limit on the memory of the process. A check costs two loads and two comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    bytes: usize,
    /// The bound from which rows are refused.
    rows: Bound,
    /// The bound from which rows are refused even if their table has room for them.
    rooms: Bound,
    /// The bound from which values that do not last are refused.
    reads: Bound,
}

/// A bound of memory: requests are refused if it is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound {
    /// The number of bytes that the allocator has given out.
    used: usize,
    /// The number of bytes that are resident.
    resident: usize,
}

impl Bound {
    const NONE: Self = Self { used: usize::MAX, resident: usize::MAX };

    /// Makes a bound of `used` and `resident` 32nds of `bytes`.
    fn of(bytes: usize, used: usize, resident: usize) -> Self {
        let parts = |count: usize| (bytes / 32).saturating_mul(count);
        Self { used: parts(used), resident: parts(resident) }
    }

    /// Whether `more` bytes would reach the bound.
    ///
    /// If `more` is large, the resident size is measured anew: a collection that asks for that much has filled its
    /// present memory, and so has touched pages that the last measurement does not include.
    #[inline]
    fn is_reached_with(self, more: usize) -> bool {
        let is_stale = more >= LARGE_BYTES && self != Self::NONE;
        let resident = if is_stale { meter::measure() } else { meter::resident_bytes() };
        meter::used_bytes().saturating_add(more) >= self.used
            || (resident.saturating_add(more) >= self.resident && meter::is_large(self.resident.saturating_sub(more)))
    }
}

/// A collection that moves its elements to larger memory when it is full. [`MemoryLimit`] checks the size of that
/// memory before an element is added.
pub(crate) trait Growing {
    /// Returns the size of the memory to which the collection moves when one element is added, in bytes, or 0 if the
    /// collection has room for the element.
    fn growth_bytes(&self) -> usize;
}

impl<T> Growing for Vec<T> {
    #[inline]
    fn growth_bytes(&self) -> usize {
        if self.len() < self.capacity() { 0 } else { self.capacity().saturating_mul(2 * size_of::<T>()) }
    }
}

impl<T> Growing for VecDeque<T> {
    #[inline]
    fn growth_bytes(&self) -> usize {
        if self.len() < self.capacity() { 0 } else { self.capacity().saturating_mul(2 * size_of::<T>()) }
    }
}

/// Returns the size of a hash table with twice as many buckets, in bytes. A bucket takes an element and a byte, and
/// seven of eight buckets can be used.
#[inline]
fn table_growth_bytes(length: usize, capacity: usize, element_bytes: usize) -> usize {
    if length < capacity { 0 } else { (capacity / 7).saturating_mul(16 * (element_bytes + 1)) }
}

impl<K> Growing for HashSet<K> {
    #[inline]
    fn growth_bytes(&self) -> usize {
        table_growth_bytes(self.len(), self.capacity(), size_of::<K>())
    }
}

impl<K, V> Growing for HashMap<K, V> {
    #[inline]
    fn growth_bytes(&self) -> usize {
        table_growth_bytes(self.len(), self.capacity(), size_of::<(K, V)>())
    }
}

impl MemoryLimit {
    /// The limit of a process whose memory is unlimited.
    pub const NONE: Self = Self { bytes: usize::MAX, rows: Bound::NONE, rooms: Bound::NONE, reads: Bound::NONE };

    /// Makes a limit of `bytes` on the memory in use. The resident size of the process stays within 5/4 of `bytes`,
    /// including pages that are touched between two measurements.
    pub fn new(bytes: usize) -> Self {
        let (rows, rooms, reads) = (Bound::of(bytes, 32, 36), Bound::of(bytes, 34, 37), Bound::of(bytes, 36, 38));
        Self { bytes, rows, rooms, reads }
    }

    /// Returns the limit in bytes, or `None` if memory is unlimited.
    pub fn bytes(self) -> Option<usize> {
        (self != Self::NONE).then_some(self.bytes)
    }

    /// Returns error 53200 if there is no memory for temporary data, such as a result or rows to sort.
    #[inline]
    pub fn check(self) -> Result<(), SqlError> {
        if self.reads.is_reached_with(0) { Err(self.exceeded()) } else { Ok(()) }
    }

    /// Returns error 53200 if there is no memory to add an element to a collection of temporary data. If the collection
    /// must grow for the element, all of its new memory is counted.
    #[inline]
    pub(crate) fn check_push(self, collection: &impl Growing) -> Result<(), SqlError> {
        if self.reads.is_reached_with(collection.growth_bytes()) { Err(self.exceeded()) } else { Ok(()) }
    }

    /// Returns error 53200 if there is no memory for a new row. `has_room` returns whether the table has free space for
    /// the row; it is called only if the limit is reached.
    #[inline]
    pub(crate) fn check_write(self, has_room: impl FnOnce() -> bool) -> Result<(), SqlError> {
        if self.rows.is_reached_with(0) { self.check_room(has_room) } else { Ok(()) }
    }

    /// Returns error 53200 if there is no memory for a temporary value of this size. Small values are not checked.
    #[inline]
    pub fn check_value(self, bytes: usize) -> Result<(), SqlError> {
        if bytes >= SMALL_BYTES && self.reads.is_reached_with(bytes) {
            return Err(self.exceeded());
        }
        Ok(())
    }

    /// Reserves memory for a text that is being read. Memory that other sessions have reserved and already use is
    /// counted twice.
    ///
    /// # Errors
    /// 53200 if there is not enough memory.
    pub(crate) fn set_aside_bytes(self, bytes: u64) -> Result<Room, SqlError> {
        // Relaxed, as when the bytes are released.
        let all = SET_ASIDE.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let room = Room { bytes };
        let all = usize::try_from(all).unwrap_or(usize::MAX);
        if self.reads.is_reached_with(all) { Err(self.exceeded()) } else { Ok(room) }
    }

    #[cold]
    fn check_room(self, has_room: impl FnOnce() -> bool) -> Result<(), SqlError> {
        if !self.rooms.is_reached_with(0) && has_room() { Ok(()) } else { Err(self.exceeded()) }
    }

    #[cold]
    fn exceeded(self) -> SqlError {
        let (used, limit) = (megabytes(meter::used_bytes()), megabytes(self.bytes));
        let resident = megabytes(meter::resident_bytes());
        SqlError::new(state::OUT_OF_MEMORY, "out of memory")
            .detail(format!("The server has {used} MB in use ({resident} MB resident), and its limit is {limit} MB."))
            .hint(
                "Delete rows of this table, drop or truncate tables, or start the server with a larger --memory-limit.",
            )
    }
}

impl Default for MemoryLimit {
    fn default() -> Self {
        Self::NONE
    }
}

/// Checks that a value may have this size in bytes, and that there is memory for it.
///
/// # Errors
/// 54000 if the size is over the limit for a value, 53200 if there is no memory.
pub(crate) fn check_size(bytes: usize, memory: MemoryLimit) -> Result<(), SqlError> {
    if bytes > 1 << 28 {
        return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "requested length too large"));
    }
    memory.check_value(bytes)
}

fn megabytes(bytes: usize) -> usize {
    bytes >> 20
}
