//! The resident size of the process, and the memory that its allocator keeps for later.
//!
//! The size is read from the system each time the bytes [in use](super::used_bytes) have moved by a step. So a reading
//! costs little beside the memory that was allocated since the last one. Between two readings the figure is out of date
//! by the memory that was touched in between, which is about a step.

use super::used_bytes;
use crate::{OnceLock, PlainAtomicU64};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The greatest step between two readings of the resident size.
const MAX_STEP_BYTES: u64 = 4 << 20;

/// The smallest step between two readings of the resident size.
const MIN_STEP_BYTES: u64 = 256 << 10;

/// The most memory that the allocator may keep before [`trim`] asks it to give memory back.
const MAX_KEPT_BYTES: u64 = 64 << 20;

/// The least time between two collections that are asked for because memory is short.
const COLLECT_AGAIN_US: u64 = 10_000;

/// The file to read the size from; `None` if the system has no such file. [`watch`] opens it, since the allocator must
/// not allocate while it measures.
static STATM: OnceLock<Option<File>> = OnceLock::new();
static STEP: PlainAtomicU64 = PlainAtomicU64::new(u64::MAX);
static KEPT_LIMIT: PlainAtomicU64 = PlainAtomicU64::new(u64::MAX);
/// The resident size in bytes. `MEASURED_AT` holds the bytes in use when it was measured.
static RESIDENT: PlainAtomicU64 = PlainAtomicU64::new(0);
static MEASURED_AT: PlainAtomicU64 = PlainAtomicU64::new(0);
/// The bytes that the allocator kept after the last collection. Another collection helps only once it keeps more.
static KEPT: PlainAtomicU64 = PlainAtomicU64::new(0);
/// The time when memory was short the last time, in microseconds since the first time.
static COLLECTED_AT: PlainAtomicU64 = PlainAtomicU64::new(0);

fn get(figure: &PlainAtomicU64) -> u64 {
    // Relaxed: a figure, which orders nothing.
    figure.load(Ordering::Relaxed)
}

fn set(figure: &PlainAtomicU64, value: u64) {
    // Relaxed: a figure, which orders nothing.
    figure.store(value, Ordering::Relaxed);
}

/// Starts to measure the resident size of the process each time that the bytes in use have changed by a step. The step
/// is small enough to enforce a memory limit of `limit` bytes; after several calls, the smallest limit decides.
pub fn watch(limit: usize) {
    let _ = STATM.get_or_init(|| File::open("/proc/self/statm").ok());
    let limit = limit as u64;
    // Relaxed: as in `get`.
    STEP.fetch_min((limit / 64).clamp(MIN_STEP_BYTES, MAX_STEP_BYTES), Ordering::Relaxed);
    // Relaxed: as in `get`.
    KEPT_LIMIT.fetch_min((limit / 16).min(MAX_KEPT_BYTES), Ordering::Relaxed);
    measure();
}

/// Returns the resident size of the process, in bytes, when it was last measured. The result is 0 unless [`watch`] was
/// called and the system reports the size.
#[inline]
pub fn resident_bytes() -> usize {
    get(&RESIDENT) as usize
}

/// Measures the resident size now, and returns it.
pub fn measure() -> usize {
    set(&MEASURED_AT, used_bytes() as u64);
    if let Some(bytes) = STATM.get().and_then(Option::as_ref).and_then(read) {
        set(&RESIDENT, bytes);
    }
    resident_bytes()
}

/// Measures the resident size if the bytes in use have moved by a step since it was last measured.
#[inline]
pub(super) fn measure_by_and_by() {
    let step = get(&STEP);
    if step != u64::MAX && get(&MEASURED_AT).abs_diff(used_bytes() as u64) >= step {
        measure();
    }
}

/// Whether the resident size of the process is at least `bytes`. If it is, the allocator first returns its free memory
/// to the system, at most once in 10 ms, and the size is measured again.
#[cold]
pub fn is_large(bytes: usize) -> bool {
    if measure() < bytes {
        return false;
    }
    static FIRST: OnceLock<Instant> = OnceLock::new();
    // One is added, since 0 stands for never.
    let now = FIRST.get_or_init(Instant::now).elapsed().as_micros() as u64 + 1;
    let before = get(&COLLECTED_AT);
    let is_due = before == 0 || now.saturating_sub(before) >= COLLECT_AGAIN_US;
    // Relaxed: as in `get`.
    if is_due && COLLECTED_AT.compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        collect();
    }
    resident_bytes() >= bytes
}

/// Makes the allocator return its free memory to the system if it keeps much of it. A thread calls this after it has
/// freed something large. The call costs a few loads if there is nothing to do.
#[inline]
pub fn trim() {
    let kept = get(&RESIDENT).saturating_sub(used_bytes() as u64);
    let limit = get(&KEPT_LIMIT);
    if kept >= limit.saturating_add(get(&KEPT)) {
        trim_now(limit);
    } else if kept < get(&KEPT) {
        set(&KEPT, kept);
    }
}

#[cold]
fn trim_now(limit: u64) {
    let kept = (measure() as u64).saturating_sub(used_bytes() as u64);
    if kept >= limit.saturating_add(get(&KEPT)) {
        collect();
    }
}

fn collect() {
    // SAFETY: the function has no preconditions: any thread may call it at any time, except in the middle of another
    // call of the allocator.
    unsafe { libmimalloc_sys::mi_collect(true) };
    set(&KEPT, (measure() as u64).saturating_sub(used_bytes() as u64));
}

/// Reads the resident size in bytes from the file, whose second number is the number of resident pages.
fn read(file: &File) -> Option<u64> {
    let mut text = [0; 128];
    let count = file.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..count]).ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_bytes())
}

fn page_bytes() -> u64 {
    static PAGE: OnceLock<u64> = OnceLock::new();
    // SAFETY: the function only reads a constant of the system.
    *PAGE.get_or_init(|| u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096))
}
