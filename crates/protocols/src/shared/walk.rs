//! Steps along an index, primary or secondary.

use super::record;
use hotrow_storage::{EntryRef, Guard, IndexId, IndexKind, IndexRef, Key, RecordHeader, RecordRef, RowRef, Table};
use hotrow_txn::{Abort, Direction, Scan};
use std::ops::{Bound, ControlFlow};

/// The numbers of entries that a scan fetches at once: at first, and at most. A scan that stops early should not have
/// locked much, and a long scan should not search the index often.
pub(crate) const FIRST_BATCH: usize = 4;
pub(crate) const GREATEST_BATCH: usize = 256;

/// An entry of an index, with the record to which it leads.
#[derive(Clone, Copy)]
pub(crate) struct Step<'g, H: RecordHeader> {
    pub(crate) record: RecordRef<'g, H>,
    /// The secondary entry that led to the record, or `None` in a primary index.
    pub(crate) entry: Option<EntryRef<'g, H>>,
}

impl<H: RecordHeader> Step<'_, H> {
    /// Returns the key of the entry in its index.
    pub(crate) fn key(&self) -> Key {
        self.entry.map_or_else(|| self.record.key(), |entry| entry.full_key().clone())
    }

    /// Whether the transaction that linked the entry has committed.
    pub(crate) fn is_committed(&self) -> bool {
        self.entry.map_or_else(|| self.record.is_committed(), |entry| entry.is_committed())
    }

    /// Whether the entry leads to a row that has its key. The caller has locked the record.
    pub(crate) fn is_current(&self, table: &Table<H>, index: IndexRef) -> bool {
        self.record.is_present()
            && match (self.entry, index) {
                (Some(entry), IndexRef::Secondary(index)) => {
                    entry.has_columns(&table.secondary_index(index).key_of(record::row(self.record)))
                }
                _ => true,
            }
    }

    /// Whether both steps are at the same entry.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.record.ptr() == other.record.ptr() && self.entry.map(|e| e.ptr()) == other.entry.map(|e| e.ptr())
    }
}

/// Returns up to `limit` entries of an ordered index, from `from` on, upwards or, if `backward`, downwards.
pub(crate) fn steps<'g, H: RecordHeader>(
    table: &'g Table<H>,
    guard: Guard<'g>,
    index: IndexRef,
    from: Bound<&Key>,
    backward: bool,
    limit: usize,
) -> Vec<Step<'g, H>> {
    match index {
        IndexRef::Primary => {
            let mut found = Vec::new();
            table.collect(guard, from, backward, limit, &mut found);
            found
                .into_iter()
                .map(|(_, pointer)| Step { record: record::deref(pointer, guard, table), entry: None })
                .collect()
        }
        IndexRef::Secondary(id) => {
            let mut found = Vec::new();
            table.secondary_index(id).collect(guard, from, backward, limit, &mut found);
            let step = |entry: EntryRef<'g, H>| Step {
                record: record::deref(entry.record(), guard, table),
                entry: Some(entry),
            };
            found.into_iter().map(step).collect()
        }
    }
}

/// Returns the first entry of an ordered index from `from` on, in ascending order.
#[inline]
pub(crate) fn next<'g, H: RecordHeader>(
    table: &'g Table<H>,
    guard: Guard<'g>,
    index: IndexRef,
    from: Bound<&Key>,
) -> Option<Step<'g, H>> {
    match index {
        IndexRef::Primary => table.next(guard, from).map(|record| Step { record, entry: None }),
        IndexRef::Secondary(id) => table
            .secondary_index(id)
            .next(guard, from)
            .map(|entry| Step { record: record::deref(entry.record(), guard, table), entry: Some(entry) }),
    }
}

/// Returns the entries of a secondary index with these columns. The index may be hash or ordered.
pub(crate) fn equal_steps<'g, H: RecordHeader>(
    table: &'g Table<H>,
    guard: Guard<'g>,
    index: IndexId,
    columns: &Key,
) -> Vec<Step<'g, H>> {
    let mut found = Vec::new();
    table.secondary_index(index).equal(guard, columns, |entry| {
        found.push(Step { record: record::deref(entry.record(), guard, table), entry: Some(entry) });
        ControlFlow::Continue(())
    });
    found
}

/// The bounds of a scan as bounds of whole keys.
///
/// In a scan a prefix stands for all the keys that begin with it: `Included` takes them all, `Excluded` none.
pub(crate) struct Range {
    lower: Bound<Key>,
    upper: Bound<Key>,
}

impl Range {
    pub(crate) fn new(lower: &Bound<Key>, upper: &Bound<Key>) -> Self {
        let lower = match lower {
            Bound::Excluded(key) if key.bytes().is_some() => {
                key.prefix_end().map_or(Bound::Excluded(key.clone()), Bound::Included)
            }
            other => other.clone(),
        };
        let upper = match upper {
            Bound::Included(key) if key.bytes().is_some() => key.prefix_end().map_or(Bound::Unbounded, Bound::Excluded),
            other => other.clone(),
        };
        Self { lower, upper }
    }

    /// Returns the bound at which a walk in this direction begins.
    pub(crate) fn start(&self, backward: bool) -> Bound<&Key> {
        if backward { self.upper.as_ref() } else { self.lower.as_ref() }
    }

    /// Returns the lower bound of the keys above the range.
    pub(crate) fn above(&self) -> Bound<&Key> {
        match &self.upper {
            Bound::Included(key) => Bound::Excluded(key),
            Bound::Excluded(key) => Bound::Included(key),
            Bound::Unbounded => Bound::Unbounded,
        }
    }

    /// Whether the range ends at the index's end.
    pub(crate) fn is_unbounded_above(&self) -> bool {
        matches!(self.upper, Bound::Unbounded)
    }

    /// Whether a walk in this direction has left the range at `key`.
    pub(crate) fn is_past(&self, key: &Key, backward: bool) -> bool {
        if backward {
            match &self.lower {
                Bound::Included(lower) => key < lower,
                Bound::Excluded(lower) => key <= lower,
                Bound::Unbounded => false,
            }
        } else {
            match &self.upper {
                Bound::Included(upper) => key > upper,
                Bound::Excluded(upper) => key >= upper,
                Bound::Unbounded => false,
            }
        }
    }

    /// Whether a key is in the range.
    pub(crate) fn contains(&self, key: &Key) -> bool {
        !self.is_past(key, false) && !self.is_past(key, true)
    }

    /// Whether no key of `other` is below this range.
    pub(crate) fn begins_with(&self, other: &Range) -> bool {
        match (&self.lower, &other.lower) {
            (Bound::Unbounded, _) => true,
            (_, Bound::Unbounded) => false,
            (Bound::Excluded(mine), Bound::Included(key)) => mine < key,
            (Bound::Included(mine) | Bound::Excluded(mine), Bound::Included(key) | Bound::Excluded(key)) => mine <= key,
        }
    }

    /// Whether no key of `other` is above this range.
    pub(crate) fn ends_with(&self, other: &Range) -> bool {
        match (&self.upper, &other.upper) {
            (Bound::Unbounded, _) => true,
            (_, Bound::Unbounded) => false,
            (Bound::Excluded(mine), Bound::Included(key)) => mine > key,
            (Bound::Included(mine) | Bound::Excluded(mine), Bound::Included(key) | Bound::Excluded(key)) => mine >= key,
        }
    }

    /// Whether no key can be in the range.
    pub(crate) fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
                lower >= upper
            }
            _ => false,
        }
    }
}

/// Visits the entries of a scan's range, in the index that the scan follows, until `visit` breaks. Takes no locks.
///
/// # Errors
/// [`Abort::User`] for a range of a secondary hash index.
pub(crate) fn along<'g, H: RecordHeader>(
    table: &'g Table<H>,
    guard: Guard<'g>,
    scan: &Scan,
    visit: &mut dyn FnMut(&Step<'g, H>) -> ControlFlow<()>,
) -> Result<(), Abort> {
    match (scan.index, &scan.lower) {
        (IndexRef::Primary, _) if table.is_ordered() => along_ordered(table, guard, scan, visit),
        (IndexRef::Secondary(id), _) if table.secondary_index(id).schema().kind == IndexKind::Ordered => {
            along_ordered(table, guard, scan, visit);
        }
        (IndexRef::Primary, Bound::Included(key)) => {
            if let Some(record) = table.find(guard, key, key.hash64()) {
                let _ = visit(&Step { record, entry: None });
            }
        }
        (IndexRef::Primary, _) => table.records(guard, |record| visit(&Step { record, entry: None })),
        (IndexRef::Secondary(id), Bound::Included(columns)) => {
            let _ = equal_steps(table, guard, id, columns).iter().try_for_each(visit);
        }
        (IndexRef::Secondary(_), _) => return Err(Abort::User),
    }
    Ok(())
}

/// Visits the rows of a scan's range in a constant table, which need no locks.
pub(crate) fn rows_of_constant<'g, H: RecordHeader>(
    table: &'g Table<H>,
    guard: Guard<'g>,
    scan: &Scan,
    visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
) -> Result<(), Abort> {
    debug_assert!(table.is_constant(), "rows that change are locked");
    along(table, guard, scan, &mut |step| match step.is_current(table, scan.index) {
        true => visit(record::row(step.record)),
        false => ControlFlow::Continue(()),
    })
}

fn along_ordered<'g, H: RecordHeader>(
    table: &'g Table<H>,
    guard: Guard<'g>,
    scan: &Scan,
    visit: &mut dyn FnMut(&Step<'g, H>) -> ControlFlow<()>,
) {
    let range = Range::new(&scan.lower, &scan.upper);
    if range.is_empty() {
        return;
    }
    let backward = scan.direction == Direction::Backward;
    let mut from = range.start(backward).cloned();
    let mut limit = FIRST_BATCH;
    loop {
        let steps = steps(table, guard, scan.index, from.as_ref(), backward, limit);
        for step in &steps {
            if range.is_past(&step.key(), backward) || visit(step).is_break() {
                return;
            }
        }
        let Some(last) = steps.last().filter(|_| steps.len() == limit) else { return };
        from = Bound::Excluded(last.key());
        limit = (limit * 2).min(GREATEST_BATCH);
    }
}
