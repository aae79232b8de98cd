//! An index over the versions of a table, hash or ordered.

use super::format::VersionHeader;
use super::hash::{Tagged, VersionHash};
use super::memory::VersionSlots;
use super::ordered::{AnchorRef, Chain, VersionTree};
use super::version::VersionRef;
use crate::epoch::{Collector, Garbage, Guard};
use crate::{IndexKind, IndexRef, Key, KeyBuilder, KeySpec, RowRef, TableSchema};
use hotrow_sync::Arc;
use std::fmt;
use std::ops::{Bound, ControlFlow};

/// The number of keys of an ordered index that a search for equal columns reads at once.
const KEYS_AT_ONCE: usize = 16;

/// An index of a table of versions, hash or ordered. Every version is linked into every index of its table.
pub struct VersionIndex<H: VersionHeader> {
    reference: IndexRef,
    position: usize,
    columns: KeySpec,
    /// The rule that makes the part of a key that distinguishes rows with equal columns in an ordered index: the
    /// primary key, unless it is among the columns.
    suffix: Option<KeySpec>,
    exclusive: bool,
    links: Links<H>,
    data: H::Index,
}

#[allow(clippy::large_enum_variant, reason = "a look-up saves a dereference, and there are few indexes")]
enum Links<H> {
    Hash(VersionHash<H>),
    Ordered(VersionTree<H>),
}

impl<H: VersionHeader> VersionIndex<H> {
    /// Makes the hash index on the primary key.
    pub(super) fn primary(table: &TableSchema, slots: &Arc<VersionSlots>, position: usize) -> Self {
        let columns = KeySpec::new(&table.columns, &table.key);
        let links = Links::Hash(VersionHash::new(slots, position, columns.clone()));
        let (suffix, data) = (None, H::Index::default());
        Self { reference: IndexRef::Primary, position, columns, suffix, exclusive: true, links, data }
    }

    /// Makes the ordered index on the primary key.
    pub(super) fn ordered_primary(
        table: &TableSchema,
        slots: &Arc<VersionSlots>,
        position: usize,
        collector: &Arc<Collector>,
    ) -> Self {
        let columns = KeySpec::new(&table.columns, &table.key);
        let links = Links::Ordered(VersionTree::new(slots, position, collector, columns.shape()));
        let (suffix, data) = (None, H::Index::default());
        Self { reference: IndexRef::Primary, position, columns, suffix, exclusive: false, links, data }
    }

    /// Makes a secondary index.
    pub(super) fn secondary(
        table: &TableSchema,
        index: crate::IndexId,
        slots: &Arc<VersionSlots>,
        position: usize,
        collector: &Arc<Collector>,
    ) -> Self {
        let schema = &table.indexes[usize::from(index.0)];
        let columns = KeySpec::bytes(&table.columns, &schema.columns);
        let key = KeySpec::new(&table.columns, &table.key);
        let has_primary_key = columns.includes(&key);
        let suffix = (schema.kind == IndexKind::Ordered && !has_primary_key).then_some(key);
        let shape = suffix.as_ref().map_or(columns.shape(), |key| columns.shape().followed_by(key.shape()));
        let links = match schema.kind {
            IndexKind::Hash => Links::Hash(VersionHash::new(slots, position, columns.clone())),
            IndexKind::Ordered => Links::Ordered(VersionTree::new(slots, position, collector, shape)),
        };
        let exclusive = schema.unique && !has_primary_key;
        let (reference, data) = (IndexRef::Secondary(index), H::Index::default());
        Self { reference, position, columns, suffix, exclusive, links, data }
    }

    /// Returns the data that the protocol keeps in the index.
    #[inline]
    pub fn data(&self) -> &H::Index {
        &self.data
    }

    /// Returns the index as the table's definition names it. The hash index and the ordered index on the primary key
    /// are both [`IndexRef::Primary`].
    pub fn reference(&self) -> IndexRef {
        self.reference
    }

    /// Returns the index's position among the table's indexes.
    #[inline]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Whether this is an ordered index, which supports ranges, and is slower than a hash index to find one key.
    #[inline]
    pub fn is_ordered(&self) -> bool {
        matches!(self.links, Links::Ordered(_))
    }

    /// Whether the index must refuse a second row with the same key: it is the hash index on the primary key, or it is
    /// unique and its columns do not include the primary key.
    #[inline]
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Whether the index must refuse a second row with this row's values in the index's columns: it is
    /// [exclusive](Self::is_exclusive), and none of the values is NULL.
    pub fn excludes(&self, row: RowRef<'_>) -> bool {
        self.exclusive && !self.columns.parts().iter().any(|part| row.is_null(part.column))
    }

    /// Returns the rule that makes keys of the index's columns.
    pub fn key_spec(&self) -> &KeySpec {
        &self.columns
    }

    /// Returns the key that a row's values in the index's columns make. Unlike [`key_of`](Self::key_of), it does not
    /// append the primary key.
    #[inline]
    pub fn columns_of(&self, row: RowRef<'_>) -> Key {
        self.columns.key_of(row)
    }

    /// Returns the whole key of a row in the index. In an ordered index it is the index's columns followed by the
    /// primary key, unless the columns include the primary key. In a hash index it is the columns alone.
    pub fn key_of(&self, row: RowRef<'_>) -> Key {
        let Some(suffix) = &self.suffix else { return self.columns_of(row) };
        let mut builder = KeyBuilder::default();
        builder.push_key(&self.columns_of(row));
        builder.push_key(&suffix.key_of(row));
        builder.finish()
    }

    /// Whether two rows with the same primary key have the same bytes in the index's columns, and so the same key in
    /// the index.
    pub fn has_same_key(&self, row: RowRef<'_>, other: RowRef<'_>) -> bool {
        self.columns.parts().iter().all(|part| row.has_same(part.column, &other))
    }

    /// Whether a row's values in the index's columns make the key `columns`.
    #[inline]
    pub fn matches(&self, row: RowRef<'_>, columns: &Key) -> bool {
        self.columns.matches(row, columns)
    }

    /// Prefetches the bucket that a look-up of `hash` reads first. This is step one of a batched look-up. In an ordered
    /// index the call does nothing.
    #[inline]
    pub fn prefetch_slot(&self, hash: u64) {
        if let Links::Hash(index) = &self.links {
            index.prefetch_slot(hash);
        }
    }

    /// Prefetches the version that a look-up of `hash` reaches first. This is step two of a batched look-up.
    #[inline]
    pub fn prefetch_target(&self, guard: Guard<'_>, hash: u64) {
        if let Links::Hash(index) = &self.links {
            index.prefetch_target(guard, hash);
        }
    }

    /// Prefetches the version behind the one that a look-up of `hash` reaches first, if the first has another hash.
    /// This is step three of a batched look-up.
    #[inline]
    pub fn prefetch_next(&self, guard: Guard<'_>, hash: u64) {
        if let Links::Hash(index) = &self.links {
            index.prefetch_next(guard, hash);
        }
    }

    /// Iterates over the versions whose values in the index's columns make the key `columns`, which has the hash
    /// `hash`. In a hash index, and among the versions of one key of an ordered index, the version linked last comes
    /// first.
    ///
    /// A version that is linked from before the call until the iterator's end is returned exactly once.
    #[inline]
    pub fn equal<'g, 'k>(&'g self, guard: Guard<'g>, columns: &'k Key, hash: u64) -> Equal<'g, 'k, H> {
        let versions = match &self.links {
            Links::Hash(index) => Versions::Tagged(index.tagged(guard, hash)),
            Links::Ordered(tree) if self.suffix.is_none() => {
                let anchor = tree.get(guard, columns);
                Versions::Anchors(Anchors {
                    tree,
                    guard,
                    keys: Vec::new(),
                    chain: anchor.map(|anchor| anchor.versions()),
                })
            }
            Links::Ordered(tree) => Versions::Anchors(Anchors::starting_with(tree, guard, columns)),
        };
        Equal { index: self, columns, versions }
    }

    /// Iterates over the versions with the same key that were linked before `version`, which is linked and has the
    /// column values `columns`, with the hash `hash`. In an ordered index, only versions with the same [whole
    /// key](Self::key_of) are returned.
    pub fn behind<'g, 'k>(
        &'g self,
        guard: Guard<'g>,
        version: VersionRef<'g, H>,
        columns: &'k Key,
        hash: u64,
    ) -> Equal<'g, 'k, H> {
        let versions = match &self.links {
            Links::Hash(index) => Versions::Tagged(index.after(guard, version, hash)),
            Links::Ordered(tree) => {
                let chain = Some(tree.after(guard, version));
                Versions::Anchors(Anchors { tree, guard, keys: Vec::new(), chain })
            }
        };
        Equal { index: self, columns, versions }
    }

    /// Appends up to `limit` keys of an ordered index to `out`, each with its versions: in ascending order beginning at
    /// `from`, or in descending order if `backward`. A bound may be any prefix of a key. A key may have no versions
    /// left.
    ///
    /// # Panics
    /// If the index is a hash index.
    pub fn collect<'g>(
        &'g self,
        guard: Guard<'g>,
        from: Bound<&Key>,
        backward: bool,
        limit: usize,
        out: &mut Vec<AnchorRef<'g, H>>,
    ) {
        self.tree().collect(guard, from, backward, limit, out);
    }

    /// Returns the first key of an ordered index at or above the bound `from`, with its versions; `None` if there is no
    /// such key.
    ///
    /// # Panics
    /// If the index is a hash index.
    pub fn next<'g>(&'g self, guard: Guard<'g>, from: Bound<&Key>) -> Option<AnchorRef<'g, H>> {
        self.tree().next(guard, from)
    }

    fn tree(&self) -> &VersionTree<H> {
        match &self.links {
            Links::Ordered(tree) => tree,
            Links::Hash(_) => panic!("a range needs an ordered index"),
        }
    }

    /// Visits the versions of the whole index, until `visit` breaks. It visits each version at most once. It misses
    /// none that stays linked from the start of the call to its end. An ordered index is visited in key order.
    pub fn all<'g>(&'g self, guard: Guard<'g>, mut visit: impl FnMut(VersionRef<'g, H>) -> ControlFlow<()>) {
        let tree = match &self.links {
            Links::Hash(index) => return index.all(guard, visit),
            Links::Ordered(tree) => tree,
        };
        let mut anchors: Vec<AnchorRef<'g, H>> = Vec::new();
        loop {
            let last = anchors.last().map(|anchor| anchor.key());
            anchors.clear();
            tree.collect(guard, last.map_or(Bound::Unbounded, Bound::Excluded), false, KEYS_AT_ONCE, &mut anchors);
            if anchors.is_empty() || anchors.iter().flat_map(AnchorRef::versions).try_for_each(&mut visit).is_break() {
                return;
            }
        }
    }

    /// Links a version. `near` is a version with the same key that was linked in the guard's epoch.
    pub(super) fn link(&self, guard: Guard<'_>, version: VersionRef<'_, H>, near: Option<VersionRef<'_, H>>) {
        let tree = match &self.links {
            Links::Hash(index) => return index.link(guard, version, self.columns_of(version.row()).hash64()),
            Links::Ordered(tree) => tree,
        };
        debug_assert!(near.is_none_or(|near| self.key_of(version.row()) == self.key_of(near.row())));
        if !near.is_some_and(|near| tree.link_near(guard, version, near)) {
            tree.link(guard, version, &self.key_of(version.row()));
        }
    }

    /// Unlinks a version. Returns memory of the index that became garbage by that, if there is any; the caller must
    /// retire it.
    pub(super) fn unlink(&self, guard: Guard<'_>, version: VersionRef<'_, H>) -> Option<Garbage> {
        match &self.links {
            Links::Hash(index) => {
                index.unlink(guard, version, self.columns_of(version.row()).hash64());
                None
            }
            Links::Ordered(tree) => tree.unlink(guard, version),
        }
    }

    /// Returns the number of versions linked in a hash index, or of keys in an ordered index, now or a moment ago.
    pub fn len(&self) -> u64 {
        match &self.links {
            Links::Hash(index) => index.len(),
            Links::Ordered(tree) => tree.len() as u64,
        }
    }

    /// Whether [`len`](Self::len) is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of the index, without the link words, which are parts of the versions.
    pub fn bytes(&self, guard: Guard<'_>) -> usize {
        match &self.links {
            Links::Hash(index) => index.bytes(),
            Links::Ordered(tree) => tree.bytes(guard),
        }
    }

    /// Frees the memory that the index has on the heap beside versions. No other thread can reach the index.
    pub(super) fn free(&self, guard: Guard<'_>) {
        if let Links::Ordered(tree) = &self.links {
            tree.free_anchors(guard);
        }
    }
}

impl<H: VersionHeader> fmt::Debug for VersionIndex<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("VersionIndex");
        debug.field("reference", &self.reference).field("ordered", &self.is_ordered()).finish_non_exhaustive()
    }
}

/// An iterator over the versions with equal values in an index's columns.
pub struct Equal<'g, 'k, H: VersionHeader> {
    index: &'g VersionIndex<H>,
    columns: &'k Key,
    versions: Versions<'g, H>,
}

enum Versions<'g, H> {
    Tagged(Tagged<'g, H>),
    Anchors(Anchors<'g, H>),
}

impl<'g, H: VersionHeader> Iterator for Equal<'g, '_, H> {
    type Item = VersionRef<'g, H>;

    #[inline]
    fn next(&mut self) -> Option<VersionRef<'g, H>> {
        match &mut self.versions {
            Versions::Tagged(tagged) => tagged.find(|version| self.index.matches(version.row(), self.columns)),
            Versions::Anchors(anchors) => anchors.next(self.columns),
        }
    }
}

impl<H: VersionHeader> fmt::Debug for Equal<'_, '_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Equal").field("index", self.index).field("columns", self.columns).finish_non_exhaustive()
    }
}

/// An iterator over the versions of all keys with a common prefix.
struct Anchors<'g, H> {
    tree: &'g VersionTree<H>,
    guard: Guard<'g>,
    /// The keys that are still to be walked, in reverse; the one that was read last comes first.
    keys: Vec<AnchorRef<'g, H>>,
    /// The versions of the key that is being walked.
    chain: Option<Chain<'g, H>>,
}

impl<'g, H: VersionHeader> Anchors<'g, H> {
    fn starting_with(tree: &'g VersionTree<H>, guard: Guard<'g>, columns: &Key) -> Self {
        let mut anchors = Self { tree, guard, keys: Vec::new(), chain: None };
        anchors.read(Bound::Included(columns));
        anchors
    }

    fn read(&mut self, from: Bound<&Key>) {
        self.keys.clear();
        self.tree.collect(self.guard, from, false, KEYS_AT_ONCE, &mut self.keys);
        self.keys.reverse();
    }

    fn next(&mut self, columns: &Key) -> Option<VersionRef<'g, H>> {
        loop {
            if let Some(version) = self.chain.as_mut().and_then(Iterator::next) {
                return Some(version);
            }
            let anchor = self.keys.pop()?;
            if !anchor.key().starts_with(columns) {
                self.keys.clear();
                return None;
            }
            self.chain = Some(anchor.versions());
            if self.keys.is_empty() {
                self.read(Bound::Excluded(anchor.key()));
            }
        }
    }
}
