//! PARTITION BY: what it makes of a table, and engines that want one.

mod common;

use common::{error, outcome, query, run, session};
use hotrow_sql::{Config, Database};
use hotrow_storage::{TableId, TableSchema};
use hotrow_sync::Arc;
use hotrow_txn::{Engine, Inspection, forward};

/// An engine that has tables with a partition key only.
struct Partitioned(Arc<dyn Engine>);

impl Engine for Partitioned {
    forward!(0: info, set_redo, restore_table, skip_tables, tables, drop_table, schema, layout, load_rows);
    forward!(0: attendants, transaction);

    fn admits(&self, schema: &TableSchema) -> Result<(), String> {
        if schema.partitioned { Ok(()) } else { Err("It has no partition key.".to_owned()) }
    }

    fn create_table(&self, schema: TableSchema) -> TableId {
        assert!(schema.partitioned, "asked before");
        self.0.create_table(schema)
    }
}

impl Inspection for Partitioned {
    forward!(0: row_count, memory, spare_bytes, versions, locks, admission, early_release, lock_waits, audit);
}

fn database() -> (Arc<dyn Engine>, Arc<Database>) {
    let inner = hotrow_protocols::open("2pl-ordered-split").expect("the engine is in the registry");
    let engine: Arc<dyn Engine> = Arc::new(Partitioned(inner));
    (engine.clone(), Database::new(engine, Config::default()))
}

/// Names, key columns and whether they are partitioned, of all tables.
fn tables(engine: &Arc<dyn Engine>, database: &Database) -> Vec<(String, Vec<usize>, bool)> {
    let shape = |schema: &TableSchema| (schema.name.clone(), schema.key.clone(), schema.partitioned);
    database.tables().into_iter().map(|table| shape(&engine.schema(table))).collect()
}

#[test]
fn a_table_without_a_partition_key_is_refused_and_nothing_is_left_of_it() {
    let (engine, database) = database();
    let mut session = session(&database);
    let refused = error(&mut session, "create table t (a int primary key)");
    assert_eq!(refused.state.as_str(), "0A000");
    assert_eq!(refused.message, "engine 2pl-ordered-split cannot have table \"t\"");
    assert_eq!(refused.detail.as_deref(), Some("It has no partition key."));
    assert!(refused.hint.is_some_and(|hint| hint.starts_with("Say PARTITION BY HASH (column)")));
    assert!(database.tables().is_empty());
    run(&mut session, "create table t (a int primary key) partition by hash (a)");
    assert_eq!(tables(&engine, &database), [("t".to_owned(), vec![0], true)]);
}

#[test]
fn the_partition_key_goes_first_and_stays_through_every_definition() {
    let (engine, database) = database();
    let mut session = session(&database);
    let steps: [(&str, &[usize]); 8] = [
        ("create table t (a text, b bigint not null, c int) partition by hash (b)", &[1, 3]),
        ("insert into t values ('x', 1, 2), ('y', 1, 3)", &[1, 3]),
        ("alter table t add primary key (b, a)", &[1, 0]),
        ("create index on t (c)", &[1, 0]),
        ("alter table t drop constraint t_pkey", &[1, 3]),
        ("alter table t add unique (a)", &[1, 3]),
        ("truncate t", &[1, 3]),
        ("alter table t add primary key (b)", &[1]),
    ];
    for (sql, key) in steps {
        run(&mut session, sql);
        assert_eq!(tables(&engine, &database), [("t".to_owned(), key.to_vec(), true)], "{sql}");
    }
    assert_eq!(outcome(&mut session, "insert into t values ('x', 1, 1), ('y', 2, 1)"), "INSERT 0 2");
}

#[test]
fn mistakes_are_told_what_would_be_right() {
    // A statement, its error's text, and the text of its detail or hint.
    let cases = [
        ("create table t (a int) partition by hash (b)", "column \"b\" named in partition key does not exist", ""),
        (
            "create table t (a int, b int primary key) partition by hash (a)",
            "unique constraint on partitioned table must include all partitioning columns",
            "PRIMARY KEY constraint on table \"t\" lacks column \"a\" which is part of the partition key.",
        ),
        (
            "create table t (a int, b int, c int, primary key (a, c, b)) partition by hash (b)",
            "a partition key that is not the first column of the primary key (\"b\") is not supported",
            "Declare it so: PRIMARY KEY (b, a, c).",
        ),
        (
            "create table t (a numeric(5, 2) primary key) partition by hash (a)",
            "a partition key of type numeric(5,2) (\"a\") is not supported",
            "The partition key is a column of type smallint, integer or bigint.",
        ),
        (
            "create table t (a smallint) partition by hash (a)",
            "a partition key that may be null (\"a\") is not supported",
            "Declare it: a smallint NOT NULL.",
        ),
        (
            "create table t (a int, b int) partition by hash (a, b)",
            "a partition key of several columns is not supported",
            "There is PARTITION BY HASH (column), for the first column of the primary key.",
        ),
        (
            "create table t (a int) partition by hash (abs(a))",
            "an expression in a partition key is not supported",
            "There is PARTITION BY HASH (column).",
        ),
        (
            "create table t (a int) partition by range (a)",
            "PARTITION BY RANGE is not supported",
            "There is PARTITION BY HASH (column).",
        ),
        (
            "create table t (a int) partition by a",
            "PARTITION BY a is not supported",
            "There is PARTITION BY HASH (column).",
        ),
        (
            "create table t (a int) partition by foo (a)",
            "unrecognized partitioning strategy \"foo\"",
            "There is PARTITION BY HASH (column).",
        ),
    ];
    for engine in common::ENGINES {
        let database = common::database(engine);
        let mut session = session(&database);
        for (sql, message, more) in cases {
            let error = error(&mut session, sql);
            assert_eq!(error.message, message, "{engine}: {sql}");
            assert_eq!(error.hint.or(error.detail).unwrap_or_default(), more, "{engine}: {sql}");
        }
    }
}

#[test]
fn partitions_are_not_tables() {
    let (engine, database) = database();
    let mut session = session(&database);
    run(&mut session, "create table t (a int primary key) partition by hash (a)");
    let (told, done) = query(&mut session, "create table t_0 partition of t for values with (modulus 2, remainder 0)");
    assert_eq!(done, Ok(()));
    assert_eq!(
        told.notices,
        ["NOTICE: \"t_0\" is no table of its own: engines that keep partitions divide \"t\" themselves"]
    );
    assert_eq!(tables(&engine, &database).len(), 1);
}

/// The statements of `pgbench -i --partition-method=hash --partitions=2`, in order.
const PGBENCH: &[&str] = &[
    "drop table if exists pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers",
    "create table pgbench_history(tid int,bid int,aid    int,delta int,mtime timestamp,filler char(22))",
    "create table pgbench_tellers(tid int not null,bid int,tbalance int,filler char(84)) with (fillfactor=100)",
    "create table pgbench_accounts(aid    int not null,bid int,abalance int,filler char(84)) partition by hash (aid)",
    "create table pgbench_branches(bid int not null,bbalance int,filler char(88)) with (fillfactor=100)",
    "create table pgbench_accounts_1\n  partition of pgbench_accounts\n  for values with (modulus 2, remainder 0)\
     with (fillfactor=100)",
    "create table pgbench_accounts_2\n  partition of pgbench_accounts\n  for values with (modulus 2, remainder 1)\
     with (fillfactor=100)",
    "begin; truncate table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers; commit",
    "vacuum analyze pgbench_accounts",
    "alter table pgbench_branches add primary key (bid)",
    "alter table pgbench_tellers add primary key (tid)",
    "alter table pgbench_accounts add primary key (aid)",
];

#[test]
fn pgbench_s_partitioned_accounts_are_understood() {
    let engine = hotrow_protocols::open("2pl-timeout").expect("the engine is in the registry");
    let database = Database::new(engine.clone(), Config::default());
    let mut session = session(&database);
    for sql in PGBENCH {
        run(&mut session, sql);
    }
    let accounts = ("pgbench_accounts".to_owned(), vec![0], true);
    assert!(tables(&engine, &database).contains(&accounts));
    assert_eq!(database.tables().len(), 4);
}
