//! Recovery into a database of storage: all indexes are there, and rows that do not fit are named.

mod common;

use common::disk::MemoryDisk;
use common::log::MemoryLog;
use hotrow_log::checkpoint::{Checkpoints, Options};
use hotrow_log::disk::Disk;
use hotrow_log::failure::Failure;
use hotrow_log::record;
use hotrow_log::recovery::{self, Progress, Target, recover};
use hotrow_log::source::LiveSource;
use hotrow_storage::{
    Change, Column, Database, Duplicate, IndexKind, IndexSchema, Key, Participant, Row, RowLayout, RowRef, StoredTable,
    TableId, TableSchema, Type, Value,
};
use hotrow_sync::{Arc, Mutex};

struct Storage(Arc<Database<()>>);

impl Storage {
    fn new() -> Self {
        Self(Database::new())
    }

    fn entered<R>(&self, work: impl FnOnce(&Participant) -> R) -> R {
        let mut participant = self.0.participant();
        participant.enter();
        work(&participant)
    }

    fn row_count(&self, table: TableId) -> u64 {
        self.entered(|participant| self.0.table(participant.guard(), table).expect("it is there").row_count())
    }
}

impl Target for Storage {
    fn create_table(&self, table: TableId, schema: &TableSchema) -> Result<(), String> {
        self.0.restore_table(table, schema.clone());
        Ok(())
    }

    fn load(&self, table: TableId, rows: &[RowRef<'_>]) -> Result<(), (usize, Duplicate)> {
        self.entered(|participant| self.0.load_rows(participant.guard(), table, rows))
    }

    fn skip_tables(&self, first: TableId) {
        self.0.skip_tables(first);
    }
}

/// A table with a unique index on its second column.
fn schema() -> TableSchema {
    let index = IndexSchema { name: "u".into(), columns: vec![1], kind: IndexKind::Hash, unique: true };
    let columns = vec![Column::new("id", Type::Int8), Column::new("name", Type::Text)];
    TableSchema { indexes: vec![index], ..TableSchema::new("people", columns, &[0]) }
}

const PEOPLE: TableId = TableId(4);

fn row(id: i64, name: &str) -> Row {
    Row::from_values(&Arc::new(RowLayout::new(&schema().columns)), &[Value::Int8(id), Value::text(name)])
}

/// A log of one table with `rows` rows, of which every tenth is deleted again.
fn log_of(rows: i64) -> MemoryLog {
    let log = MemoryLog::default();
    log.append(|bytes| record::created(TableId(9), &schema(), bytes));
    log.append(|bytes| record::dropped(TableId(9), bytes));
    log.append(|bytes| record::created(PEOPLE, &schema(), bytes));
    for id in 0..rows {
        put(&log, id, &id.to_string());
        if id % 10 == 9 {
            let delete = Change::Delete { table: PEOPLE, key: Key::Int(id - 5) };
            log.append(|bytes| record::transaction(&mut [delete].into_iter(), bytes));
        }
    }
    log
}

fn put(log: &MemoryLog, id: i64, name: &str) {
    let row = row(id, name);
    let change = Change::Put { table: PEOPLE, row: row.as_ref() };
    log.append(|bytes| record::transaction(&mut [change].into_iter(), bytes));
}

fn two_threads() -> recovery::Options {
    recovery::Options { threads: 2, range_bytes: 1000 }
}

fn options() -> Options {
    Options { own_file_bytes: 1, block_bytes: 100, ..Options::default() }
}

#[test]
fn rows_are_there_by_every_index_and_numbers_go_on() {
    for checkpointed in [false, true] {
        let log = log_of(1000);
        let disk: Arc<dyn Disk> = MemoryDisk::new();
        if checkpointed {
            let checkpoints = Checkpoints::open(disk.clone(), options()).expect("the directory is new");
            checkpoints.run(&log, &|| false).expect("no fault");
        }
        put(&log, 1000, "the last");
        let target = Storage::new();
        let reports = Mutex::new(Vec::new());
        let report = |progress: Progress| reports.lock().expect("no panic under the latch").push(progress);
        let recovered = recover(&*disk, &log, &target, &two_threads(), &report).expect("it is whole");
        assert_eq!((recovered.rows, recovered.end), (901, log.durable()));
        let tables: Vec<_> = recovered.tables.iter().map(|table| (table.name.as_str(), table.rows)).collect();
        assert_eq!(tables, [("people", 901)]);
        assert_eq!(target.row_count(PEOPLE), 901);
        assert_eq!(target.0.create_table(schema()), TableId(10), "number 9 was a table's");
        // The unique index has the rows.
        assert!(target.load(PEOPLE, &[row(2000, "17").as_ref()]).is_err());
        assert!(target.load(PEOPLE, &[row(2000, "14").as_ref()]).is_ok(), "the row was deleted");
        let reports = reports.into_inner().expect("no panic under the latch");
        let last = reports.last().expect("the end is reported");
        assert_eq!((last.tables, last.rows, last.bytes), (1, 901, last.bytes_in_total));
    }
}

#[test]
fn rows_that_violate_a_unique_index_are_named_with_their_file() {
    let log = log_of(100);
    put(&log, 100, "17");
    let disk: Arc<dyn Disk> = MemoryDisk::new();
    let recovered = |disk: &dyn Disk| match recover(disk, &log, &Storage::new(), &two_threads(), &|_| {}) {
        Err(Failure::Table { table: PEOPLE, name, file, what }) => {
            assert!(what.contains("unique index 0"), "{what}");
            (name, file)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(recovered(&*disk), ("people".to_owned(), "log".to_owned()));
    let checkpoints = Checkpoints::open(disk.clone(), options()).expect("the directory is new");
    checkpoints.run(&log, &|| false).expect("no fault");
    let names = disk.list("tables").expect("no fault");
    let (_, file) = recovered(&*disk);
    assert!(names.iter().any(|name| file == format!("tables/{name}")), "{file}");
}
