//! The log after the checkpoint: which keys it changes, and which change of each key is the last.

use super::RecoveredTable;
use super::batches::{Batch, Change, LOG};
use super::ranges::Ranges;
use crate::failure::Failure;
use crate::manifest::{Manifest, Shape};
use crate::record::Record;
use crate::source::Frame;
use hotrow_storage::{Key, TableId};
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, Mutex, MutexGuard};
use std::cmp;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// The least number of changes of a part at which all but the last change of each key are dropped.
const LEAST_COMPACTED: usize = 1 << 16;

/// A table of the checkpoint or of the log, with the keys that the log changes.
#[derive(Debug)]
pub(super) struct TableTail {
    pub(super) shape: Arc<Shape>,
    pub(super) ranges: Ranges,
    /// The changed keys of each range.
    parts: Vec<Mutex<Changes>>,
    /// The number of rows that were loaded.
    rows: AtomicU64,
    /// The nanoseconds that loading took, of all threads together.
    time_ns: AtomicU64,
}

/// The changed keys of a part, each with the number of changes that the log has before the change.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    keys: Keys,
    /// The number of changes at which all but the last change of each key are dropped.
    compact_at: usize,
}

/// The changed keys of one table, which have one shape. Integer keys take less than half of the memory of others.
#[derive(Clone, Debug)]
enum Keys {
    Ints(Vec<(i64, u64)>),
    Any(Vec<(Key, u64)>),
}

impl Changes {
    fn new(shape: &Shape) -> Self {
        let keys = if shape.key.is_int() { Keys::Ints(Vec::new()) } else { Keys::Any(Vec::new()) };
        Self { keys, compact_at: LEAST_COMPACTED }
    }

    /// Returns the number of changes.
    pub(super) fn len(&self) -> usize {
        match &self.keys {
            Keys::Ints(keys) => keys.len(),
            Keys::Any(keys) => keys.len(),
        }
    }

    fn push(&mut self, key: Key, ordinal: u64) {
        match (&mut self.keys, key) {
            (Keys::Ints(keys), Key::Int(key)) => keys.push((key, ordinal)),
            (Keys::Any(keys), key) => keys.push((key, ordinal)),
            // A key of another shape is no key of the table: no row has it.
            (Keys::Ints(_), _) => {}
        }
    }

    /// Adds other changes, in any order. Changes that are not the last ones of their key are dropped now and then, so
    /// that a log with many changes of few keys takes little memory.
    fn extend(&mut self, others: Self) {
        match (&mut self.keys, others.keys) {
            (Keys::Ints(keys), Keys::Ints(others)) => keys.extend(others),
            (Keys::Any(keys), Keys::Any(others)) => keys.extend(others),
            _ => unreachable!("the keys of a table have one shape"),
        }
        if self.len() >= self.compact_at {
            self.sort();
            self.compact_at = (2 * self.len()).max(LEAST_COMPACTED);
        }
    }

    /// Sorts by key, and drops all but the last change of each key.
    pub(super) fn sort(&mut self) {
        match &mut self.keys {
            Keys::Ints(keys) => keep_last(keys),
            Keys::Any(keys) => keep_last(keys),
        }
    }

    /// Returns how the key of the change `at` compares with another one.
    pub(super) fn compare(&self, at: usize, key: &Key) -> cmp::Ordering {
        match (&self.keys, key) {
            (Keys::Ints(keys), Key::Int(key)) => keys[at].0.cmp(key),
            (Keys::Ints(keys), key) => Key::Int(keys[at].0).cmp(key),
            (Keys::Any(keys), key) => keys[at].0.cmp(key),
        }
    }

    fn ordinals(&self) -> impl Iterator<Item = u64> {
        let (ints, any) = match &self.keys {
            Keys::Ints(keys) => (&keys[..], &[][..]),
            Keys::Any(keys) => (&[][..], &keys[..]),
        };
        ints.iter().map(|(_, ordinal)| *ordinal).chain(any.iter().map(|(_, ordinal)| *ordinal))
    }
}

/// Sorts by key, and keeps the greatest number of each key.
fn keep_last<K: Ord>(keys: &mut Vec<(K, u64)>) {
    // The greatest number first, since the first of equal ones is kept.
    keys.sort_unstable_by(|one, other| one.0.cmp(&other.0).then(other.1.cmp(&one.1)));
    keys.dedup_by(|next, kept| next.0 == kept.0);
}

impl TableTail {
    fn new(shape: Arc<Shape>, ranges: Ranges) -> Arc<Self> {
        let parts = (0..ranges.len()).map(|_| Mutex::new(Changes::new(&shape))).collect();
        Arc::new(Self { shape, ranges, parts, rows: AtomicU64::new(0), time_ns: AtomicU64::new(0) })
    }

    /// Counts rows that a thread has loaded, or the time that it took.
    pub(super) fn count(&self, rows: u64, time: Duration) {
        self.rows.fetch_add(rows, Ordering::AcqRel);
        self.time_ns.fetch_add(time.as_nanos() as u64, Ordering::AcqRel);
    }

    /// Returns the name of the table, with the rows and the time that were counted.
    pub(super) fn recovered(&self) -> RecoveredTable {
        let time = Duration::from_nanos(self.time_ns.load(Ordering::Acquire));
        RecoveredTable { name: self.shape.schema.name.clone(), rows: self.rows.load(Ordering::Acquire), time }
    }

    fn part(&self, number: usize) -> MutexGuard<'_, Changes> {
        self.parts[number].lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Takes the changes of a range, sorted by key, with only the last change of each key.
    pub(super) fn take(&self, range: usize) -> Changes {
        let mut changes = std::mem::replace(&mut *self.part(range), Changes::new(&self.shape));
        changes.sort();
        changes
    }
}

type Tables = BTreeMap<TableId, Arc<TableTail>>;

/// The changes of the log after the checkpoint, while they are read. Many threads add to it.
#[derive(Debug)]
pub(super) struct TailReader {
    threads: usize,
    noted: Mutex<Noted>,
}

/// The contents of the records that were read, but for the changes of rows.
#[derive(Debug)]
struct Noted {
    /// All tables, including dropped ones.
    tables: Tables,
    dropped: BTreeSet<TableId>,
    next_table: u32,
    end: u64,
    time: i64,
}

impl TailReader {
    /// Makes a reader that has read no record yet, for this many threads. It begins with the tables of the checkpoint.
    /// `ranges` has the ranges of the tables that have files.
    pub(super) fn new(manifest: &Manifest, mut ranges: BTreeMap<TableId, Ranges>, threads: usize) -> Self {
        let mut tail = |id: &TableId, shape: &Arc<Shape>| {
            let ranges = ranges.remove(id).unwrap_or_else(|| Ranges::hashed(threads));
            (*id, TableTail::new(shape.clone(), ranges))
        };
        let tables = manifest.tables.iter().map(|(id, table)| tail(id, &table.shape)).collect();
        let dropped = BTreeSet::new();
        let (next_table, end, time) = (manifest.next_table, manifest.position, manifest.clock);
        Self { threads, noted: Mutex::new(Noted { tables, dropped, next_table, end, time }) }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Notes the contents of a record, but for the changes of rows. The records come in order.
    pub(super) fn note(&self, frame: &Frame<'_>, record: &Record<'_>) -> Result<(), Failure> {
        let mut noted = self.noted();
        noted.end = frame.end;
        match record {
            Record::Created { table, schema } => {
                noted.next_table = noted.next_table.max(table.0 + 1);
                let tail = TableTail::new(Shape::new(schema.clone()), Ranges::hashed(self.threads));
                if noted.tables.insert(*table, tail).is_some() {
                    let what = format!("table {} is made a second time", table.0);
                    return Err(Failure::damage(LOG, frame.position, what));
                }
            }
            Record::Dropped { table } => {
                noted.dropped.insert(*table);
            }
            Record::Clock(time) => noted.time = *time,
            Record::Loaded { .. } | Record::Transaction(_) => {}
        }
        Ok(())
    }

    /// Adds the changes of a batch, whose records were noted before. Batches come in any order.
    pub(super) fn add(&self, batch: &Batch) -> Result<(), Failure> {
        let mut added: HashMap<TableId, (Arc<TableTail>, Vec<Changes>)> = HashMap::new();
        batch.for_each(&mut |position, ordinal, change| {
            let (Change::Put(table, _) | Change::Delete(table, _)) = &change;
            let table = *table;
            let damage = |what: &str| Failure::damage(LOG, position, format!("{what} table {}", table.0));
            let (tail, parts) = match added.entry(table) {
                Entry::Occupied(found) => found.into_mut(),
                Entry::Vacant(vacant) => {
                    let tail = self.noted().tables.get(&table).cloned();
                    let tail = tail.ok_or_else(|| damage("there is a change of the unknown"))?;
                    let parts = vec![Changes::new(&tail.shape); tail.ranges.len()];
                    vacant.insert((tail, parts))
                }
            };
            let key = match change {
                Change::Put(_, row) => row
                    .key(&tail.shape.layout, &tail.shape.key)
                    .ok_or_else(|| damage("there is a row that is none of"))?,
                Change::Delete(_, key) => key,
            };
            parts[tail.ranges.of(&key)].push(key, ordinal);
            Ok(())
        })?;
        for (tail, parts) in added.into_values() {
            for (number, part) in parts.into_iter().enumerate().filter(|(_, part)| part.len() > 0) {
                tail.part(number).extend(part);
            }
        }
        Ok(())
    }

    /// Ends the reading of a log that had `changes` changes of rows.
    pub(super) fn finish(self, changes: u64) -> Tail {
        let Noted { mut tables, dropped, next_table, end, time } =
            self.noted.into_inner().unwrap_or_else(|poison| poison.into_inner());
        tables.retain(|id, _| !dropped.contains(id));
        let last = (0..changes.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Tail { tables, last, next_table, end, time }
    }
}

/// The changes of the log after the checkpoint, once all of them were read.
#[derive(Debug)]
pub(super) struct Tail {
    /// The tables that exist at the end of the log.
    pub(super) tables: Tables,
    /// For each change, a bit: whether it is the last one of its key.
    last: Vec<AtomicU64>,
    /// The least number above those of all tables that the log has had.
    pub(super) next_table: u32,
    /// The end of the last frame.
    pub(super) end: u64,
    /// The last time of day, or the least integer if there is none.
    pub(super) time: i64,
}

impl Tail {
    /// Whether the log changes no row.
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// Notes that these changes are the last ones of their keys.
    pub(super) fn set_last(&self, changes: &Changes) {
        for ordinal in changes.ordinals() {
            self.last[(ordinal / 64) as usize].fetch_or(1 << (ordinal % 64), Ordering::AcqRel);
        }
    }

    /// Whether a change is the last one of its key. `ordinal` is the number of changes before it.
    pub(super) fn is_last(&self, ordinal: u64) -> bool {
        let word = self.last.get((ordinal / 64) as usize);
        word.is_some_and(|word| word.load(Ordering::Acquire) & 1 << (ordinal % 64) != 0)
    }
}
