//! The positions of the parts of a table's versions.

use crate::{IndexData, RowLayout};
use hotrow_sync::atomic::AtomicU64;
use hotrow_sync::{Arc, prefetch_bytes};

/// The number of bytes of a cache line. Versions begin at one, so that the words and the first columns share it.
pub(super) const LINE_BYTES: usize = 64;

/// The data that a protocol keeps at the beginning of each version, and in each index.
///
/// Its alignment is at most 8 bytes, and it needs no drop.
pub trait VersionHeader: Send + Sync + 'static {
    /// The data that the protocol keeps in each index of a table: usually its locks.
    type Index: IndexData;

    /// Returns the header of a loaded version, which is visible to every transaction.
    fn loaded() -> Self;
}

/// The format of a table's versions: the positions of their parts.
#[derive(Debug)]
pub struct VersionFormat {
    layout: Arc<RowLayout>,
    links: usize,
    links_at: usize,
    length_at: usize,
    row_at: usize,
    bytes: usize,
}

impl VersionFormat {
    /// Makes the format of versions with a header of type `H`, which are linked into `links` indexes.
    pub(crate) fn new<H: VersionHeader>(layout: Arc<RowLayout>, links: usize) -> Self {
        const {
            assert!(align_of::<H>() <= 8 && !std::mem::needs_drop::<H>());
            assert!(align_of::<AtomicU64>() <= 8 && !std::mem::needs_drop::<AtomicU64>());
        }
        let links_at = size_of::<H>().next_multiple_of(8);
        let length_at = links_at + links * size_of::<AtomicU64>();
        let row_at = length_at + if layout.has_variable() { size_of::<usize>() } else { 0 };
        let bytes = row_at + layout.fixed_size();
        Self { layout, links, links_at, length_at, row_at, bytes }
    }

    /// Returns the number of bytes of a version, without the variable part of its row, which follows them.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of bytes of a version that do not belong to its row.
    pub fn overhead_bytes(&self) -> usize {
        self.row_at
    }

    /// Prefetches the words and the first columns of the version at `address`.
    #[inline]
    pub(super) fn prefetch(&self, address: usize) {
        prefetch_bytes(std::ptr::without_provenance(address), self.bytes);
    }

    /// Returns the layout of the rows.
    pub fn layout(&self) -> &Arc<RowLayout> {
        &self.layout
    }

    /// Returns the number of indexes into which a version is linked.
    #[inline]
    pub(super) fn links(&self) -> usize {
        self.links
    }

    /// Returns the offset in a version of the word that leads to the next version in the index at `position`.
    #[inline]
    pub(super) fn link_at(&self, position: usize) -> usize {
        debug_assert!(position < self.links);
        self.links_at + position * size_of::<AtomicU64>()
    }

    /// Returns the offset of the length of the variable part; `None` if the layout has no such part.
    #[inline]
    pub(super) fn length_at(&self) -> Option<usize> {
        self.layout.has_variable().then_some(self.length_at)
    }

    /// Returns the offset of the row's fixed part.
    #[inline]
    pub(super) fn row_at(&self) -> usize {
        self.row_at
    }
}
