//! A version: its address, and a view of it.

use super::format::{VersionFormat, VersionHeader};
use crate::epoch::Guard;
use crate::{RowLayout, RowRef};
use hotrow_sync::Arc;
use hotrow_sync::atomic::AtomicU64;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The address of a version, for places that cannot hold a borrow.
pub struct VersionPtr<H>(NonNull<u8>, PhantomData<fn() -> H>);

impl<H> Clone for VersionPtr<H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for VersionPtr<H> {}

impl<H> PartialEq for VersionPtr<H> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<H> Eq for VersionPtr<H> {}

impl<H> PartialOrd for VersionPtr<H> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<H> Ord for VersionPtr<H> {
    /// Orders versions by address.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl<H> Hash for VersionPtr<H> {
    fn hash<S: Hasher>(&self, state: &mut S) {
        self.0.hash(state);
    }
}

// SAFETY: it is only an address; every use of it is `unsafe` and states its own requirements.
unsafe impl<H> Send for VersionPtr<H> {}
// SAFETY: as above.
unsafe impl<H> Sync for VersionPtr<H> {}

impl<H> fmt::Debug for VersionPtr<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VersionPtr({:p})", self.0)
    }
}

impl<H: VersionHeader> VersionPtr<H> {
    #[inline]
    pub(super) fn new(start: NonNull<u8>) -> Self {
        Self(start, PhantomData)
    }

    #[inline]
    pub(super) fn start(self) -> NonNull<u8> {
        self.0
    }

    /// Returns the version at this address.
    ///
    /// # Safety
    /// The version belongs to the table with `format` and is not freed during `'g`: it was found, or not yet retired,
    /// after the guard's participant entered its epoch; or the caller has another way to keep it from being retired
    /// during `'g`.
    #[inline]
    pub unsafe fn deref<'g>(self, _guard: Guard<'g>, format: &'g VersionFormat) -> VersionRef<'g, H> {
        VersionRef { start: self.0, format, marker: PhantomData }
    }

    /// Returns the header of the version at this address.
    ///
    /// # Safety
    /// The version is not freed during `'g`, as for [`deref`](Self::deref).
    #[inline]
    pub unsafe fn header<'g>(self, _guard: Guard<'g>) -> &'g H {
        // SAFETY: the header was written before the version was published; by the caller it is allocated for `'g`; it
        // is only ever shared.
        unsafe { self.0.cast::<H>().as_ref() }
    }
}

/// A version that stays allocated for `'g`. Its row never changes.
pub struct VersionRef<'g, H> {
    start: NonNull<u8>,
    format: &'g VersionFormat,
    marker: PhantomData<&'g H>,
}

impl<H> Clone for VersionRef<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for VersionRef<'_, H> {}

impl<H: VersionHeader> fmt::Debug for VersionRef<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VersionRef").field("start", &self.start).field("row", &self.row()).finish()
    }
}

impl<'g, H: VersionHeader> VersionRef<'g, H> {
    /// Returns the version that begins at `start`.
    ///
    /// # Safety
    /// The version has this format, is published, and stays allocated for `'g`.
    #[inline]
    pub(super) unsafe fn new(start: NonNull<u8>, format: &'g VersionFormat) -> Self {
        Self { start, format, marker: PhantomData }
    }

    /// Returns the version's address.
    #[inline]
    pub fn ptr(&self) -> VersionPtr<H> {
        VersionPtr::new(self.start)
    }

    /// Returns the header, which belongs to the protocol.
    #[inline]
    pub fn header(&self) -> &'g H {
        // SAFETY: the header was written before the version was published, is allocated for `'g`, and is only ever
        // shared.
        unsafe { self.start.cast::<H>().as_ref() }
    }

    /// Returns the version's row.
    #[inline]
    pub fn row(&self) -> RowRef<'g> {
        // SAFETY: the version was published, so its row is written, will not be written again, and is allocated for
        // `'g`.
        unsafe { row(self.start, self.format) }
    }

    /// Returns the version's next word for the index at `position`.
    #[inline]
    pub(super) fn link(&self, position: usize) -> &'g AtomicU64 {
        // SAFETY: the word is within the version, aligned to 8, written before the version was published, and accessed
        // as an atomic.
        unsafe { self.start.add(self.format.link_at(position)).cast::<AtomicU64>().as_ref() }
    }

    #[inline]
    pub(super) fn format(&self) -> &'g VersionFormat {
        self.format
    }

    /// Returns the layout of the rows.
    pub fn layout(&self) -> &'g Arc<RowLayout> {
        self.format.layout()
    }
}

/// Returns the row of the version that begins at `start`.
///
/// # Safety
/// `start` begins a version of `format`, whose row is written, is not written again during `'g`, and stays allocated
/// for `'g`.
#[inline]
pub(super) unsafe fn row<'g>(start: NonNull<u8>, format: &'g VersionFormat) -> RowRef<'g> {
    // SAFETY: by the caller.
    let fixed = unsafe { bytes(start, format.row_at(), format.layout().fixed_size()) };
    let variable = match format.length_at() {
        // SAFETY: by the caller; the variable part follows the fixed one and has the length that is written before it.
        Some(at) => unsafe { bytes(start, format.bytes(), length(start, at)) },
        None => &[],
    };
    RowRef::new(format.layout(), fixed, variable)
}

/// Returns the length of a version's variable part.
///
/// # Safety
/// `start` begins a version, in which the length is written at `at`.
#[inline]
pub(super) unsafe fn length(start: NonNull<u8>, at: usize) -> usize {
    // SAFETY: by the caller; offsets are multiples of 8, and so is the version's start.
    unsafe { start.add(at).cast::<usize>().read() }
}

/// # Safety
/// The `len` bytes at `at` from `start` are written, are not written again during `'a`, and stay allocated for `'a`.
#[inline]
unsafe fn bytes<'a>(start: NonNull<u8>, at: usize, len: usize) -> &'a [u8] {
    // SAFETY: by the caller.
    unsafe { std::slice::from_raw_parts(start.add(at).as_ptr(), len) }
}
