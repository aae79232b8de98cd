//! Walking along an index, over all versions of all keys in a range.

use super::index_locks::Part;
use super::words::Words;
use crate::shared::walk::Range;
use hotrow_storage::{Guard, IndexRef, Key, TableId, VersionIndex, VersionRef, VersionTable};
use hotrow_sync::Arc;
use hotrow_txn::{Abort, Direction, Scan};
use std::ops::{Bound, ControlFlow};

/// The numbers of keys that a walk reads at once: at first, and at most.
const FIRST_BATCH: usize = 4;
const GREATEST_BATCH: usize = 256;

/// A search for versions, which validation can repeat: by a primary key, or over a scan's range of an index.
#[derive(Clone, Debug)]
pub(super) enum Walk {
    /// All versions with a primary key.
    Key(TableId, Key),
    /// All versions in an index's range.
    Range(Scan),
}

impl Walk {
    pub fn table(&self) -> TableId {
        match self {
            Walk::Key(table, _) => *table,
            Walk::Range(scan) => scan.table,
        }
    }

    /// Whether a version that the walk visits satisfies the scan's predicate. A walk by a key has no predicate.
    pub fn admits(&self, version: VersionRef<'_, Words>) -> bool {
        match self {
            Walk::Key(..) => true,
            Walk::Range(scan) => scan.admits(version.row()),
        }
    }

    /// Returns the part of a scan's range that the scan has visited. A scan of an ordered index that stopped early
    /// stopped at `key`, and the part includes `key`. Without a key the part is the whole range: the scan did not stop
    /// early, or its index is a hash index.
    pub fn until(scan: &Scan, key: Option<Key>) -> Self {
        let mut scan = scan.clone();
        match (key, scan.direction) {
            (Some(key), Direction::Forward) => scan.upper = Bound::Included(key),
            (Some(key), Direction::Backward) => scan.lower = Bound::Included(key),
            (None, _) => {}
        }
        Walk::Range(scan)
    }
}

/// The function that a walk calls for each version. The key is that of the version in an ordered index, and `None` in a
/// hash index.
pub(super) type Visit<'v, 'g> = &'v mut dyn FnMut(VersionRef<'g, Words>, Option<&Key>) -> ControlFlow<()>;

/// Visits all versions with the walk's key or in its range, visible or not, until `visit` breaks.
///
/// # Errors
/// [`Abort::User`] for a range of a secondary hash index.
pub(super) fn walk<'g>(
    table: &'g VersionTable<Words>,
    guard: Guard<'g>,
    walk: &Walk,
    visit: Visit<'_, 'g>,
) -> Result<(), Abort> {
    let scan = match walk {
        Walk::Key(_, key) => {
            let _ = table.primary().equal(guard, key, key.hash64()).try_for_each(|version| visit(version, None));
            return Ok(());
        }
        Walk::Range(scan) => scan,
    };
    let index = table.index_of(scan.index);
    match (scan.index, &scan.lower) {
        _ if index.is_ordered() => walk_ordered(table, guard, scan, visit),
        (_, Bound::Included(columns)) => {
            let _ = index.equal(guard, columns, columns.hash64()).try_for_each(|version| visit(version, None));
        }
        (IndexRef::Primary, _) => index.all(guard, |version| visit(version, None)),
        (IndexRef::Secondary(_), _) => return Err(Abort::User),
    }
    Ok(())
}

/// Visits the versions of a range of an ordered index, part by part.
fn walk_ordered<'g>(table: &'g VersionTable<Words>, guard: Guard<'g>, scan: &Scan, visit: Visit<'_, 'g>) {
    let mut course = Course::default();
    while !course.is_over {
        walk_part(table, guard, scan, &mut course, visit);
    }
}

/// The progress of a walk along an ordered index, which reads the index part by part. Between two parts it refers to no
/// memory of the index, so the transaction may leave its epoch.
#[derive(Debug)]
pub(super) struct Course {
    /// The last key of the part before, or `None` before the first part.
    after: Option<Key>,
    /// The number of keys that are read next.
    limit: usize,
    is_over: bool,
}

impl Default for Course {
    fn default() -> Self {
        Self { after: None, limit: FIRST_BATCH, is_over: false }
    }
}

impl Course {
    /// Whether there is nothing more to visit.
    pub fn is_over(&self) -> bool {
        self.is_over
    }
}

/// Visits the versions of the next part of a scan's range, visible or not. In a hash index, the part is the whole
/// range.
///
/// # Errors
/// [`Abort::User`] for a range of a secondary hash index.
pub(super) fn walk_on<'g>(
    table: &'g VersionTable<Words>,
    guard: Guard<'g>,
    scan: &Scan,
    course: &mut Course,
    visit: Visit<'_, 'g>,
) -> Result<(), Abort> {
    if table.index_of(scan.index).is_ordered() {
        walk_part(table, guard, scan, course, visit);
        return Ok(());
    }
    course.is_over = true;
    walk(table, guard, &Walk::Range(scan.clone()), visit)
}

fn walk_part<'g>(
    table: &'g VersionTable<Words>,
    guard: Guard<'g>,
    scan: &Scan,
    course: &mut Course,
    visit: Visit<'_, 'g>,
) {
    let range = Range::new(&scan.lower, &scan.upper);
    let (index, backward) = (table.index_of(scan.index), scan.direction == Direction::Backward);
    course.is_over = true;
    if range.is_empty() {
        return;
    }
    let from = course.after.as_ref().map_or_else(|| range.start(backward), Bound::Excluded);
    let mut keys = Vec::with_capacity(course.limit);
    index.collect(guard, from, backward, course.limit, &mut keys);
    for anchor in &keys {
        if range.is_past(anchor.key(), backward) {
            return;
        }
        if anchor.versions().try_for_each(|version| visit(version, Some(anchor.key()))).is_break() {
            return;
        }
    }
    if let Some(last) = keys.last().filter(|_| keys.len() == course.limit) {
        let limit = (course.limit * 2).min(GREATEST_BATCH);
        *course = Course { after: Some(last.key().clone()), limit, is_over: false };
    }
}

/// Returns the part of an index that a scan must lock to keep phantoms away: a range of an ordered index, or the hash
/// of the key in a hash index, or all of the hash index.
pub(super) fn part_of(index: &VersionIndex<Words>, scan: &Scan) -> Part {
    match &scan.lower {
        _ if index.is_ordered() => Part::Range(Arc::new(Range::new(&scan.lower, &scan.upper))),
        Bound::Included(columns) => Part::Hash(columns.hash64()),
        _ => Part::Range(Arc::new(Range::new(&Bound::Unbounded, &Bound::Unbounded))),
    }
}
