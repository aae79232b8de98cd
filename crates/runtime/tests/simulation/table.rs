//! A small table with every kind of index, and the conditions that it must meet when no transaction runs.

use hotrow_check::{History, Recording, RedoRecorder, check, final_versions};
use hotrow_protocols::open_with;
use hotrow_runtime::Estimates;
use hotrow_storage::{
    Column, IndexId, IndexKind, IndexRef, IndexSchema, Key, KeySpec, Row, RowRef, TableId, TableSchema, Type, Value,
};
use hotrow_sync::{Arc, Mutex, MutexGuard, Waiter};
use hotrow_txn::{
    Abort, Begin, Engine, HierarchyStatistics, LockFor, LockStatistics, Scan, Settings, Statistics, Write,
};
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

/// Primary keys are below this.
pub const KEYS: i64 = 8;

/// Columns.
pub const STAMP: usize = 1;
pub const GROUP: usize = 2;
pub const TAG: usize = 3;
pub const CODE: usize = 4;

/// Secondary indexes: by group, ordered; by tag, hash; by code, ordered, unique, with NULLs.
pub const BY_GROUP: IndexRef = IndexRef::Secondary(IndexId(0));
pub const BY_TAG: IndexRef = IndexRef::Secondary(IndexId(1));
pub const BY_CODE: IndexRef = IndexRef::Secondary(IndexId(2));

/// A database under test.
pub struct Fixture {
    pub engine: Arc<dyn Engine>,
    pub table: TableId,
    pub ordered: bool,
    pub recording: Arc<Recording>,
    /// The recorder of redo records. A transaction that hands one over pauses, so that others run before it is
    /// appended.
    pub redo: Arc<RedoRecorder>,
    /// The counts of events while the fixture was used.
    seen: Mutex<Seen>,
}

/// Counts of events in a database under test that its history does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Runs in reconnaissance.
    pub reconnaissances: u64,
    /// Runs that touched something outside their access set.
    pub wrong: u64,
    /// Transactions that contention analyses found.
    pub analyses_found: u64,
    /// Messages between partitions.
    pub messages: u64,
    /// Audits while three transactions or more stood in the engine's queues.
    pub queues: u64,
    /// Versions that were read, or ignored, before it was certain that they, or their replacements, would be committed.
    pub speculative_reads: u64,
    pub speculative_ignores: u64,
    /// Transactions that had to wait for another one's commit because of a speculative read or ignore.
    pub dependencies: u64,
    /// Transactions that were aborted because a transaction that they depended on was.
    pub cascades: u64,
    /// Rows that went to others before their writers had ended.
    pub retired: u64,
    /// Transactions whose reads were not the same at their ends.
    pub validations: u64,
    /// Transactions that would have waited for a transaction that waited for them.
    pub deadlocks: u64,
    /// Waits of transactions that were undone, for the transaction that they had met.
    pub gave_way: u64,
    /// The locks of a hierarchical lock manager.
    pub hierarchy: HierarchyStatistics,
}

impl Seen {
    /// Adds what a session's planner and its transaction object have counted.
    pub fn add_session(&mut self, estimates: Estimates, statistics: &Statistics) {
        self.reconnaissances += estimates.reconnaissances;
        self.wrong += estimates.wrong;
        self.analyses_found += statistics.analyses.found;
        self.messages += statistics.messages;
        self.speculative_reads += statistics.speculative_reads;
        self.speculative_ignores += statistics.speculative_ignores;
        self.dependencies += statistics.dependencies;
        self.retired += statistics.retired;
        self.hierarchy.add(&statistics.hierarchy);
    }

    /// Adds why a transaction was aborted.
    pub fn add_abort(&mut self, abort: Abort) {
        self.cascades += u64::from(abort == Abort::Cascade);
        self.validations += u64::from(abort == Abort::Validation);
        self.deadlocks += u64::from(abort == Abort::Deadlock);
    }

    /// Adds what was seen in another database.
    pub fn add(&mut self, other: &Seen) {
        self.reconnaissances += other.reconnaissances;
        self.wrong += other.wrong;
        self.analyses_found += other.analyses_found;
        self.messages += other.messages;
        self.queues += other.queues;
        self.speculative_reads += other.speculative_reads;
        self.speculative_ignores += other.speculative_ignores;
        self.dependencies += other.dependencies;
        self.cascades += other.cascades;
        self.retired += other.retired;
        self.validations += other.validations;
        self.deadlocks += other.deadlocks;
        self.gave_way += other.gave_way;
        self.hierarchy.add(&other.hierarchy);
    }
}

fn schema(ordered: bool) -> TableSchema {
    let columns = vec![
        Column::new("id", Type::Int8),
        Column::new("stamp", Type::Int8),
        Column::new("group", Type::Int4),
        Column::new("tag", Type::Text),
        Column::nullable("code", Type::Int4),
    ];
    let index =
        |name: &str, column, kind, unique| IndexSchema { name: name.into(), columns: vec![column], kind, unique };
    let indexes = vec![
        index("by_group", GROUP, IndexKind::Ordered, false),
        index("by_tag", TAG, IndexKind::Hash, false),
        index("by_code", CODE, IndexKind::Ordered, true),
    ];
    TableSchema { ordered, partitioned: true, indexes, ..TableSchema::new("small", columns, &[0]) }
}

/// The bytes of an index's key.
pub fn index_key(column: usize, value: Value<'_>) -> Key {
    KeySpec::bytes(&schema(true).columns, &[column]).key([value])
}

impl Fixture {
    /// The engine called `name`, with one in `every` so many keys in the table.
    ///
    /// # Panics
    /// If there is no such engine, or it cannot have these settings.
    pub fn open(name: &str, settings: &Settings, ordered: bool, every: usize) -> Self {
        let opened = open_with(name, settings);
        Self::filled(opened.unwrap_or_else(|error| panic!("{name} with {settings:?}: {error}")), ordered, every)
    }

    /// Fills a table of an open engine with every other key.
    pub fn over(engine: Arc<dyn Engine>, ordered: bool) -> Self {
        Self::filled(engine, ordered, 2)
    }

    /// Fills a table of an open engine with one in `every` keys.
    pub fn filled(engine: Arc<dyn Engine>, ordered: bool, every: usize) -> Self {
        let redo = RedoRecorder::new();
        redo.set_pauses(true);
        engine.set_redo(redo.clone());
        let fixture = Self { redo, ..Self::loaded(engine, ordered, every) };
        fixture.recording.table(&*fixture.engine, fixture.table, STAMP).expect("nobody else is there");
        fixture
    }

    /// Makes the table in an open engine, whose redo sink is of no concern here, and loads one in `every` keys.
    pub fn loaded(engine: Arc<dyn Engine>, ordered: bool, every: usize) -> Self {
        let table = engine.create_table(schema(ordered));
        let fixture = Self::of(engine, table, ordered, Recording::new());
        for key in (0..KEYS).step_by(every) {
            fixture.engine.load(table, fixture.row(key, key % 3, None).as_ref()).expect("the keys differ");
        }
        fixture
    }

    /// Takes the table as it is in an open engine, whose redo sink is of no concern here.
    pub fn of(engine: Arc<dyn Engine>, table: TableId, ordered: bool, recording: Arc<Recording>) -> Self {
        Self { engine, table, ordered, recording, redo: RedoRecorder::new(), seen: Mutex::default() }
    }

    /// Returns the counts of events so far.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Runs the engine's audit after a step. `queued` is the number of transactions that wait in its queues.
    pub fn audit(&self, queued: usize) -> Result<(), String> {
        self.seen().queues += u64::from(queued >= 3);
        self.engine.audit()
    }

    /// A row to insert.
    pub fn row(&self, key: i64, group: i64, code: Option<i64>) -> Row {
        let code = code.map_or(Value::Null, |code| Value::Int4(code as i32));
        let tag = tag(group);
        let values = [Value::Int8(key), Value::Int8(0), Value::Int4(group as i32), Value::text(&tag), code];
        Row::from_values(&self.engine.layout(self.table), &values)
    }

    /// The history is isolated as its transactions' levels promise, the rows are those that it implies, the indexes
    /// agree with each other, no lock is left, and the redo records make these rows again.
    pub fn check(&self) -> Result<(), String> {
        let history = self.recording.history().clone();
        self.check_against(&history)?;
        self.redo.compare(&*self.engine)
    }

    /// A history is isolated as its transactions' levels promise, the rows are those that it implies, the indexes agree
    /// with each other, and no lock is left.
    pub fn check_against(&self, history: &History) -> Result<(), String> {
        check(history).map_err(|objection| objection.to_string())?;
        let expected = final_versions(history).map_err(|anomaly| anomaly.to_string())?;
        let present = self.recording.present(&*self.engine, self.table).map_err(|abort| abort.to_string())?;
        if present != expected {
            return Err(format!("the rows are {present:?}, but the history implies {expected:?}"));
        }
        self.check_indexes()?;
        if let Some(locks) = self.engine.locks().filter(|locks| *locks != LockStatistics::default()) {
            return Err(format!("something is locked still: {locks:?}"));
        }
        let admission = self.engine.admission().unwrap_or_default();
        if (admission.admitted, admission.held_back) != (0, 0) {
            return Err(format!("somebody is let in or held back still: {admission:?}"));
        }
        self.check_nothing_is_locked().map_err(|abort| format!("something is locked still: {abort}"))?;
        self.engine.audit()
    }

    /// [`check`](Self::check) of an engine that isolates: it leaves no record that is not a row, either.
    pub fn check_all(&self) -> Result<(), String> {
        self.check()?;
        let rows = self.rows(&[Scan::all(self.table, IndexRef::Primary)]).map_err(|abort| abort.to_string())?;
        let linked = self.engine.row_count(self.table);
        if linked != rows.len() as u64 {
            return Err(format!("{linked} records are linked, but {} rows are there", rows.len()));
        }
        Ok(())
    }

    fn check_indexes(&self) -> Result<(), String> {
        let mut codes = self.codes().map_err(|abort| abort.to_string())?;
        codes.sort_unstable();
        if let Some(pair) = codes.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two rows have the unique code {}", pair[0]));
        }
        let ranges = [BY_GROUP, BY_CODE].map(|index| Scan::all(self.table, index));
        let tags = (0..3).map(|group| Scan::prefix(self.table, BY_TAG, index_key(TAG, Value::text(&tag(group)))));
        let primary = self.rows(&[Scan::all(self.table, IndexRef::Primary)]).map_err(|abort| abort.to_string())?;
        for scans in [&ranges[..1], &ranges[1..], &tags.collect::<Vec<_>>()] {
            let rows = self.rows(scans).map_err(|abort| abort.to_string())?;
            if rows != primary {
                let index = scans[0].index;
                return Err(format!("{index:?} leads to {rows:?}, the primary index to {primary:?}"));
            }
        }
        Ok(())
    }

    /// The codes that are not NULL.
    fn codes(&self) -> Result<Vec<i32>, Abort> {
        let mut txn = self.engine.transaction(refusing());
        txn.begin(&Begin::default())?;
        let mut codes = Vec::new();
        txn.scan(&Scan::all(self.table, IndexRef::Primary), &mut |row| {
            codes.extend((!row.is_null(CODE)).then(|| row.int4(CODE)));
            ControlFlow::Continue(())
        })?;
        txn.commit()?;
        Ok(codes)
    }

    pub fn rows(&self, scans: &[Scan]) -> Result<Vec<String>, Abort> {
        let mut txn = self.engine.transaction(refusing());
        txn.begin(&Begin::default())?;
        let mut rows = Vec::new();
        for scan in scans {
            txn.scan(scan, &mut |row: RowRef<'_>| {
                rows.push(format!("{row:?}"));
                ControlFlow::Continue(())
            })?;
        }
        txn.commit()?;
        rows.sort();
        Ok(rows)
    }

    /// Locks every row and gap there is, and puts a row into each.
    fn check_nothing_is_locked(&self) -> Result<(), Abort> {
        let mut txn = self.engine.transaction(refusing());
        txn.begin(&Begin::default())?;
        for index in [IndexRef::Primary, BY_GROUP, BY_CODE] {
            let scan = Scan { lock: LockFor::Update, ..Scan::all(self.table, index) };
            txn.scan(&scan, &mut |_| ControlFlow::Continue(()))?;
        }
        for key in 0..KEYS {
            txn.delete(self.table, &Key::Int(key))?;
            let inserted = txn.insert(self.table, self.row(key, key % 3, Some(key)).as_ref())?;
            assert!(inserted == Write::Done || inserted == Write::Duplicate(BY_CODE), "{inserted:?}");
        }
        txn.abort();
        Ok(())
    }
}

/// Whether a key lies in a range.
pub fn within(key: &Key, lower: &Bound<Key>, upper: &Bound<Key>) -> bool {
    let from = match lower {
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower,
        Bound::Unbounded => true,
    };
    from && match upper {
        Bound::Included(upper) => key <= upper || key.starts_with(upper),
        Bound::Excluded(upper) => key < upper,
        Bound::Unbounded => true,
    }
}

/// The tag of a group: longer than a key that needs no allocation, for one of them.
pub fn tag(group: i64) -> String {
    if group == 2 { "a tag that is longer than an inline key".to_owned() } else { format!("tag {group}") }
}

/// A waiter that refuses to wait.
fn refusing() -> Waiter {
    let waiter = Waiter::thread(Duration::ZERO);
    waiter.cancel();
    waiter
}
