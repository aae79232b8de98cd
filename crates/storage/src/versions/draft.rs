//! Drafts: versions that no other thread knows yet, which are the only way to write a row.

use super::format::{VersionFormat, VersionHeader};
use super::memory::{VersionMemory, VersionSlots};
use super::version::{VersionRef, row};
use crate::epoch::Guard;
use crate::{RowMut, RowRef};
use hotrow_sync::Arc;
use hotrow_sync::atomic::AtomicU64;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A version under construction. Dropping the draft frees it; [publishing](Self::publish) makes it immutable.
pub struct Draft<'t, H> {
    start: NonNull<u8>,
    slots: &'t VersionSlots,
    marker: PhantomData<H>,
}

impl<'t, H: VersionHeader> Draft<'t, H> {
    /// Makes a version of a row. Its memory comes from `memory`, or from the table's memory if that is `None`.
    pub(super) fn new(
        slots: &'t Arc<VersionSlots>,
        memory: Option<&mut VersionMemory>,
        header: H,
        row: RowRef<'_>,
    ) -> Self {
        let variable = row.variable().len();
        let start = match memory {
            Some(memory) => memory.allocate(slots, variable),
            None => slots.allocate(variable),
        };
        // SAFETY: the memory belongs to this call alone and is large enough for such a row.
        unsafe { write(start, &slots.format, header, row) };
        Self { start, slots, marker: PhantomData }
    }

    /// Makes a version of the row that results from applying `change` to `old`. Returns it with the result of `change`.
    pub(super) fn changed<R, E>(
        slots: &'t Arc<VersionSlots>,
        memory: &mut VersionMemory,
        header: H,
        old: RowRef<'_>,
        change: impl FnOnce(&mut RowMut<'_>) -> Result<R, E>,
    ) -> Result<(Self, R), E> {
        let layout = slots.format.layout();
        if !layout.has_variable() {
            let mut draft = Self::new(slots, Some(memory), header, old);
            let result = change(&mut RowMut::new(layout, draft.fixed_mut(), &[]))?;
            return Ok((draft, result));
        }
        // The length is known only after the change.
        let mut fixed = std::mem::take(&mut memory.scratch);
        fixed.clear();
        fixed.extend_from_slice(old.fixed());
        let mut row = RowMut::new(layout, &mut fixed, old.variable());
        let result = change(&mut row);
        let variable = row.into_variable();
        let made = result.map(|result| {
            let new = RowRef::new(layout, &fixed, variable.as_deref().unwrap_or(old.variable()));
            (Self::new(slots, Some(memory), header, new), result)
        });
        memory.scratch = fixed;
        made
    }

    /// Returns the row as the draft has it now.
    pub fn row(&self) -> RowRef<'_> {
        // SAFETY: the row was written in `new`; only this draft can write it, and the draft is borrowed.
        unsafe { row(self.start, &self.slots.format) }
    }

    /// Makes the version immutable, and returns it, so that it can be linked into indexes. From now on nothing frees
    /// the version by itself: the caller must retire it in the end.
    pub fn publish<'g>(self, _guard: Guard<'g>) -> VersionRef<'g, H>
    where
        't: 'g,
    {
        let (start, slots) = (self.start, self.slots);
        std::mem::forget(self);
        // SAFETY: the version was written in `new`, and no draft is left that could write it; it is retired later than
        // now.
        unsafe { VersionRef::new(start, &slots.format) }
    }

    fn fixed_mut(&mut self) -> &mut [u8] {
        let format = &self.slots.format;
        // SAFETY: the fixed part is within the version, was written in `new`, and no other thread knows the version.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.add(format.row_at()).as_ptr(), format.layout().fixed_size())
        }
    }
}

impl<H> Drop for Draft<'_, H> {
    fn drop(&mut self) {
        // SAFETY: the version came from this memory, was written in `new`, and no other thread knows it.
        unsafe { self.slots.free(std::iter::once(self.start)) };
    }
}

impl<H> fmt::Debug for Draft<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft").field("start", &self.start).finish_non_exhaustive()
    }
}

/// Writes all parts of a version to its memory.
///
/// # Safety
/// `start` begins memory for a version of `format` with this row, aligned to 8, that belongs to the caller alone.
unsafe fn write<H: VersionHeader>(start: NonNull<u8>, format: &VersionFormat, header: H, row: RowRef<'_>) {
    // SAFETY: the offsets are those of the format, and by the caller the memory is large enough for all parts.
    unsafe {
        start.cast::<H>().write(header);
        for position in 0..format.links() {
            start.add(format.link_at(position)).cast::<AtomicU64>().write(AtomicU64::new(0));
        }
        if let Some(at) = format.length_at() {
            start.add(at).cast::<usize>().write(row.variable().len());
        }
        copy(row.fixed(), start.add(format.row_at()));
        copy(row.variable(), start.add(format.bytes()));
    }
}

/// # Safety
/// The memory at `to` is large enough for the bytes, and belongs to the caller alone.
unsafe fn copy(bytes: &[u8], to: NonNull<u8>) {
    // SAFETY: by the caller.
    unsafe { to.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
}
