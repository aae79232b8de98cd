//! The bytes and files that checkpoints write: as few as their documentation promises.

mod common;

use common::disk::MemoryDisk;
use common::history::{TableModel, Tables, compare};
use common::log::MemoryLog;
use hotrow_log::checkpoint::{Checkpoints, Options};
use hotrow_log::disk::Disk;
use hotrow_log::record;
use hotrow_log::source::LiveSource;
use hotrow_storage::{Change, Column, Row, RowLayout, TableId, TableSchema, Type, Value};
use hotrow_sync::Arc;

fn schema() -> TableSchema {
    TableSchema::new("t", vec![Column::new("id", Type::Int8), Column::new("text", Type::Char(80))], &[0])
}

/// A table of rows with about 100 bytes.
struct Workload {
    log: MemoryLog,
    layout: Arc<RowLayout>,
    changed_bytes: u64,
}

impl Workload {
    fn new() -> Self {
        let (log, layout) = (MemoryLog::default(), Arc::new(RowLayout::new(&schema().columns)));
        log.append(|bytes| record::created(TableId(0), &schema(), bytes));
        Self { log, layout, changed_bytes: 0 }
    }

    fn put(&mut self, id: i64) {
        let row = Row::from_values(&self.layout, &[Value::Int8(id), Value::text("some text")]);
        self.changed_bytes += row.as_ref().fixed().len() as u64;
        let put = Change::Put { table: TableId(0), row: row.as_ref() };
        self.log.append(|bytes| record::transaction(&mut [put].into_iter(), bytes));
    }
}

/// Returns the bytes that are written for each hundred bytes of changed rows, with the log, and the checkpoints.
fn written_percent(puts: impl Iterator<Item = i64>) -> u64 {
    let disk: Arc<dyn Disk> = MemoryDisk::new();
    let options =
        Options { batch_bytes: 256 << 10, own_file_bytes: 4 << 10, block_bytes: 4 << 10, ..Options::default() };
    let checkpoints = Checkpoints::open(disk, options).expect("the directory is new");
    let mut workload = Workload::new();
    for (number, id) in puts.enumerate() {
        workload.put(id);
        if number % 1000 == 0 {
            checkpoints.run(&workload.log, &|| false).expect("no fault");
        }
    }
    checkpoints.run(&workload.log, &|| false).expect("no fault");
    (checkpoints.statistics().written_bytes + workload.log.durable()) * 100 / workload.changed_bytes
}

#[test]
fn fewer_than_four_bytes_are_written_for_a_byte_of_a_changed_row() {
    let mut random = fastrand::Rng::with_seed(3);
    let updates = written_percent((0..10_000).chain((0..60_000).map(|_| random.i64(..10_000))));
    let mut ids: Vec<_> = (0..40_000).collect();
    random.shuffle(&mut ids);
    let inserts = written_percent(ids.into_iter());
    let in_order = written_percent(0..40_000);
    assert!(updates < 330, "{updates} % of updated bytes were written");
    assert!(inserts < 400, "{inserts} % of inserted bytes were written");
    assert!(in_order < 250, "{in_order} % of bytes that were inserted in order were written");
}

#[test]
fn many_small_tables_take_few_files() {
    let disk: Arc<dyn Disk> = MemoryDisk::new();
    let options = Options { most_runs: 8, ..Options::default() };
    let checkpoints = Checkpoints::open(disk.clone(), options).expect("the directory is new");
    let log = MemoryLog::default();
    let layout = Arc::new(RowLayout::new(&schema().columns));
    let mut tables = Tables::new();
    for number in 0..1500 {
        log.append(|bytes| record::created(TableId(number), &schema(), bytes));
        tables.insert(TableId(number), TableModel { schema: schema(), rows: Default::default() });
    }
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..40 {
        for number in 0..1500 {
            if random.bool() {
                let id = random.i64(..3);
                let row = Row::from_values(&layout, &[Value::Int8(id), Value::text(&random.u8(..).to_string())]);
                let put = Change::Put { table: TableId(number), row: row.as_ref() };
                log.append(|bytes| record::transaction(&mut [put].into_iter(), bytes));
                let stored = common::history::Stored::of(row.as_ref());
                tables.get_mut(&TableId(number)).expect("it is there").rows.insert(id.into(), stored);
            }
        }
        checkpoints.run(&log, &|| false).expect("no fault");
        let files = disk.list("tables").expect("no fault").len();
        assert!(files <= 8, "{files} files");
    }
    compare(&*disk, &log, &tables, 2).expect("all rows are there");
    for number in 0..1500 {
        log.append(|bytes| record::dropped(TableId(number), bytes));
    }
    checkpoints.run(&log, &|| false).expect("no fault");
    assert_eq!(disk.list("tables").expect("no fault"), Vec::<String>::new(), "dropped tables lose their files");
}

#[test]
fn a_merge_without_room_is_put_off() {
    let disk = MemoryDisk::new();
    let options = Options { own_file_bytes: 1000, growth: 1, reserve_bytes: 5000, ..Options::default() };
    let checkpoints = Checkpoints::open(disk.clone(), options).expect("the directory is new");
    let mut workload = Workload::new();
    disk.set_free_bytes(5000);
    for _ in 0..3 {
        (0..100).for_each(|id| workload.put(id));
        checkpoints.run(&workload.log, &|| false).expect("no fault");
    }
    assert_eq!((checkpoints.position(), checkpoints.statistics().files), (workload.log.durable(), 3));
    disk.set_free_bytes(5000 + checkpoints.statistics().bytes);
    checkpoints.run(&workload.log, &|| false).expect("no fault");
    assert_eq!(checkpoints.statistics().files, 1);
}

#[test]
fn a_thread_makes_checkpoints_as_the_log_grows() {
    let disk: Arc<dyn Disk> = MemoryDisk::new();
    let options = Options { trigger_bytes: 10_000, ..Options::default() };
    let checkpoints = Checkpoints::open(disk, options).expect("the directory is new");
    let mut workload = Workload::new();
    let log: Arc<dyn LiveSource> = Arc::new(workload.log.clone());
    let thread = hotrow_log::checkpoint::Checkpointer::start(checkpoints.clone(), log).expect("a thread");
    (0..200).for_each(|id| workload.put(id));
    while checkpoints.position() < workload.log.durable() - 10_000 {
        hotrow_sync::thread::yield_now();
    }
    workload.put(1);
    thread.ask();
    while checkpoints.position() < workload.log.durable() {
        hotrow_sync::thread::yield_now();
    }
    assert_eq!(thread.failure(), None);
}

#[test]
fn whoever_asks_after_a_failure_gets_an_attempt_and_not_the_failure() {
    let disk = MemoryDisk::new();
    let checkpoints = Checkpoints::open(disk.clone(), Options::default()).expect("the directory is new");
    let mut workload = Workload::new();
    let log: Arc<dyn LiveSource> = Arc::new(workload.log.clone());
    let thread = hotrow_log::checkpoint::Checkpointer::start(checkpoints.clone(), log).expect("a thread");
    workload.put(1);
    disk.fail_once_at(disk.operations());
    thread.ask();
    while thread.failure_to_advance().is_none() {
        hotrow_sync::thread::yield_now();
    }
    assert_eq!(checkpoints.position(), 0);
    thread.ask();
    assert_eq!(thread.failure_to_advance(), None);
    while checkpoints.position() < workload.log.durable() {
        hotrow_sync::thread::yield_now();
    }
    assert_eq!((thread.failure_to_advance(), thread.failure()), (None, None));
}
