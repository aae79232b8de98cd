//! EXPLAIN ANALYZE: what is done is counted, and it is done.

mod common;

use common::{ENGINES, bind, database, error, execute, outcome, query, run, session};
use hotrow_storage::{Type, Value};
use hotrow_sync::thread;

const SETUP: &str = "create table a (id int primary key, g int); create table b (id int primary key, a_id int, n int);
    create index b_a on b (a_id); insert into a select i, i % 3 from generate_series(1, 9) i;
    insert into b select i, i % 9, i from generate_series(1, 18) i";

/// Each statement, and its lines.
const CASES: &[(&str, &str)] = &[
    ("select * from a where id = 1", "Index Scan using a_pkey on a (actual rows=1 loops=1)\n  Index Cond: (id = 1)"),
    ("select * from a where id = 0", "Index Scan using a_pkey on a (actual rows=0 loops=1)\n  Index Cond: (id = 0)"),
    (
        "select * from a where id in (1, 5, 1, 0)",
        "Index Scan using a_pkey on a (actual rows=2 loops=1)\n  Index Cond: (id IN (1, 5, 1, 0))",
    ),
    (
        "select * from a where id = any ('{1,5}') order by id desc limit 1",
        "Limit (actual rows=1 loops=1)\n  ->  Index Scan Backward using a_pkey on a (actual rows=1 loops=1)\n        Index Cond: (id = ANY ('{1,5}'::integer[]))",
    ),
    (
        "select * from b where a_id in (1, 3)",
        "Index Scan using b_a on b (actual rows=4 loops=1)\n  Index Cond: (a_id IN (1, 3))\n  Filter: (a_id IN (1, 3))",
    ),
    (
        "select * from b where a_id in (1, 3) and id = 3",
        "Index Scan using b_pkey on b (actual rows=1 loops=1)\n  Index Cond: (id = 3)\n  Filter: (a_id IN (1, 3))",
    ),
    (
        "select g, count(*) from a group by g",
        "HashAggregate (actual rows=3 loops=1)\n  ->  Seq Scan on a (actual rows=9 loops=1)",
    ),
    (
        "select * from a order by g limit 2",
        "Limit (actual rows=2 loops=1)\n  ->  Sort (actual rows=2 loops=1)\n        ->  Seq Scan on a (actual rows=9 loops=1)",
    ),
    ("values (1), (2)", "Values Scan (actual rows=2 loops=1)"),
    ("select 1", "Result (actual rows=1 loops=1)"),
    ("insert into a values (10, 1)", "Insert on a (actual rows=0 loops=1)\n  ->  Result (actual rows=1 loops=1)"),
    (
        "insert into a select 11, 2 returning id",
        "Insert on a (actual rows=1 loops=1)\n  ->  Result (actual rows=1 loops=1)",
    ),
    (
        "update a set g = 7 where id > 9",
        "Update on a (actual rows=0 loops=1)\n  ->  Index Scan using a_pkey on a (actual rows=2 loops=1)\n        Index Cond: (id > 9)",
    ),
    (
        "delete from a where id > 9 returning id",
        "Delete on a (actual rows=2 loops=1)\n  ->  Index Scan using a_pkey on a (actual rows=2 loops=1)\n        Index Cond: (id > 9)",
    ),
    // The query does not see the row that its WITH inserts.
    (
        "with x as (insert into a values (12, 2) returning id) select id from a where id > 9",
        "CTE 1\n  ->  Insert on a (actual rows=1 loops=1)\n        ->  Result\nIndex Scan using a_pkey on a (actual rows=0 loops=1)\n  Index Cond: (id > 9)",
    ),
    (
        "delete from a where id > 9",
        "Delete on a (actual rows=0 loops=1)\n  ->  Index Scan using a_pkey on a (actual rows=1 loops=1)\n        Index Cond: (id > 9)",
    ),
];

#[test]
fn operators_count_rows_and_loops() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, SETUP);
        for (sql, expected) in CASES {
            let (recorder, result) = query(&mut session, &format!("explain (analyze, timing off, summary off) {sql}"));
            result.unwrap_or_else(|error| panic!("{engine}: {sql}: {error:?}"));
            assert_eq!(recorder.rows.join("\n"), format!("{expected}\nLock Waits: 0"), "{engine}: {sql}");
            assert_eq!(recorder.tags, ["EXPLAIN"], "{engine}: {sql}");
        }
        assert_eq!(outcome(&mut session, "select count(*), sum(g) from a"), "9|9", "{engine}");
    }
}

#[test]
fn a_join_s_inner_side_runs_once_for_each_row() {
    let database = database("2pl-timeout");
    let mut session = session(&database);
    run(&mut session, SETUP);
    let sql =
        "explain (analyze, timing off, summary off) select * from a join b on b.a_id = a.id where a.id < 3 and b.n > 5";
    let lines = query(&mut session, sql).0.rows;
    let loops: Vec<_> = lines.iter().filter_map(|line| line.split_once("(actual ").map(|(_, actual)| actual)).collect();
    assert!(lines[0].starts_with("Nested Loop (actual rows=2 loops=1)"), "{lines:?}");
    assert_eq!(loops, ["rows=2 loops=1)", "rows=2 loops=1)", "rows=1 loops=2)"], "{lines:?}");
    let none =
        "explain (analyze, timing off, summary off) select * from a join b on b.a_id = a.id where a.id < 0 and b.n > 5";
    assert!(query(&mut session, none).0.rows.iter().any(|line| line.contains("(never executed)")));
    // A condition that is no part of a walk says what it kept out.
    let sql = "explain (analyze, timing off, summary off) select g, count(*) from a group by g having g > 1";
    let lines = query(&mut session, sql).0.rows;
    assert!(lines.iter().any(|line| line.trim() == "Rows Removed by Filter: 2"), "{lines:?}");
    // Subqueries are run.
    let sql = "explain analyze select (select max(n) from b where b.a_id = a.id) from a where exists (select 1 from b where b.id = a.id)";
    let lines = query(&mut session, sql).0.rows;
    assert!(lines[0].contains("rows=9 loops=1)"), "{lines:?}");
}

#[test]
fn times_are_told_unless_they_are_not_wanted() {
    let database = database("ilock");
    let mut session = session(&database);
    run(&mut session, SETUP);
    let shape = |text: &str| -> String {
        let plain = text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect::<String>();
        let mut shape = String::new();
        plain.chars().for_each(|c| {
            if c != '9' || !shape.ends_with('9') {
                shape.push(c)
            }
        });
        shape
    };
    let lines = query(&mut session, "explain analyze select g from a").0.rows;
    let shapes: Vec<_> = lines.iter().map(|line| shape(line)).collect();
    let expected = [
        "Seq Scan on a (actual time=9.9..9.9 rows=9 loops=9)",
        "Lock Waits: 9",
        "Planning Time: 9.9 ms",
        "Execution Time: 9.9 ms",
    ];
    assert_eq!(shapes, expected);
    let lines = query(&mut session, "explain (summary) select g from a").0.rows;
    assert_eq!(lines.iter().map(|line| shape(line)).collect::<Vec<_>>(), ["Seq Scan on a", "Planning Time: 9.9 ms"]);
}

/// Each statement, and its plan as JSON, without blanks.
const AS_JSON: &[(&str, &str)] = &[
    (
        "update a set g = 7 where id > 8",
        r#"[{"Plan":{"NodeType":"ModifyTable","Operation":"Update","RelationName":"a","Alias":"a","ActualRows":0,"ActualLoops":1,"Plans":[
        {"NodeType":"IndexScan","ScanDirection":"Forward","IndexName":"a_pkey","RelationName":"a","Alias":"a","IndexCond":"(id>8)","ActualRows":1,"ActualLoops":1}]},"LockWaits":0}]"#,
    ),
    (
        "select g, count(*) from a group by g having g > 1 order by 1 limit 1",
        r#"[{"Plan":{"NodeType":"Limit","ActualRows":1,"ActualLoops":1,"Plans":[{"NodeType":"Sort","ActualRows":1,"ActualLoops":1,"Plans":[
        {"NodeType":"Aggregate","Strategy":"Hashed","Filter":"(#1>1)","RowsRemovedbyFilter":2,"ActualRows":2,"ActualLoops":1,"Plans":[
        {"NodeType":"SeqScan","RelationName":"a","Alias":"a","ActualRows":9,"ActualLoops":1}]}]}]},"LockWaits":0}]"#,
    ),
    (
        "select 1 union all select 2 union all values (3), (4)",
        r#"[{"Plan":{"NodeType":"Append","ActualRows":4,"ActualLoops":1,"Plans":[{"NodeType":"Result","ActualRows":1,"ActualLoops":1},
        {"NodeType":"Result","ActualRows":1,"ActualLoops":1},{"NodeType":"ValuesScan","ActualRows":2,"ActualLoops":1}]},"LockWaits":0}]"#,
    ),
];

#[test]
fn plans_are_json_too() {
    let database = database("2pl-timeout");
    let mut session = session(&database);
    run(&mut session, SETUP);
    let plain = |text: &str| text.chars().filter(|character| !character.is_whitespace()).collect::<String>();
    for (sql, expected) in AS_JSON {
        let sql = format!("explain (analyze, timing off, summary off, format json) {sql}");
        let (recorder, result) = query(&mut session, &sql);
        result.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        assert_eq!(recorder.columns[0].ty, Type::Json, "{sql}");
        assert_eq!(plain(&recorder.rows.join("|")), plain(expected), "{sql}");
    }
    // Whatever the plan is, it is JSON.
    let sqls = [
        "explain (format json, summary) select * from a join b on b.a_id = a.id left join a c on c.g = b.n where a.id in (select 1)",
        "explain (format json) with c as (select * from a), d as (select e.id from c, c e) select * from d, d f, c where d.id = 1",
        "explain (analyze, format json) with recursive r as (select 1 as n union all select n + 1 from r where n < 3) select * from r, a",
        "explain (format json) select \"q\"\"\" from (select 'x\"' as \"q\"\"\" from a where g = 5) x order by 1",
    ];
    for sql in sqls {
        let rows = query(&mut session, sql).0.rows;
        let told = format!("select json_typeof('{}'::json -> 0 -> 'Plan')", rows.join("|").replace('\'', "''"));
        assert_eq!(outcome(&mut session, &told), "object", "{sql}");
    }
}

#[test]
fn waits_are_counted() {
    let database = database("2pl-waitfor");
    let (mut holder, mut waiting, mut watcher) = (session(&database), session(&database), session(&database));
    run(&mut holder, SETUP);
    run(&mut waiting, "set lock_timeout = '1d'");
    run(&mut holder, "begin; update a set g = 5 where id = 1");
    let thread = thread::spawn(move || {
        query(&mut waiting, "explain (analyze, timing off) update a set g = g + 1 where id = 1").0.rows
    });
    while outcome(&mut watcher, "select count(*) from hotrow_blocking") == "0" {
        thread::yield_now();
    }
    run(&mut holder, "commit");
    let lines = thread.join().expect("no panic");
    assert!(lines.contains(&"Lock Waits: 1".to_owned()), "{lines:?}");
    assert_eq!(outcome(&mut watcher, "select g from a where id = 1"), "6");
}

#[test]
fn what_is_analyzed_is_done_as_the_statement_is() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, SETUP);
        run(&mut session, "begin; explain analyze delete from a");
        let cases = [
            ("select count(*) from a", "0"),
            ("rollback; select count(*) from a", "9"),
            ("explain analyze insert into a values (1, 1)", "23505"),
            ("explain analyze select 1 / (id - id) from a", "22012"),
            ("begin read only; explain analyze update a set g = 1", "25006"),
            ("rollback; select count(*) from a", "9"),
            ("explain delete from a", "Delete on a   ->  Seq Scan on a"),
            ("select count(*) from a", "9"),
            ("prepare p as select 1; explain analyze create table x (id int)", "0A000"),
            ("explain analyze begin", "42601"),
            ("explain (select 1)", "Result"),
        ];
        for (sql, expected) in cases {
            assert_eq!(outcome(&mut session, sql), expected, "{engine}: {sql}");
        }
        // With parameters, again and again.
        let sql = "explain (analyze, timing off, summary off) update a set g = 4 where id < $1";
        let statement = session.parse("", sql, &[]).expect("a statement");
        for (limit, found) in [(3, 2), (5, 4), (3, 2)] {
            bind(&mut session, &statement, &[Value::Int4(limit)]).expect("a portal");
            let (recorder, result) = execute(&mut session, 0);
            result.expect("lines");
            session.sync().expect("a commit");
            assert!(recorder.rows[1].contains(&format!("(actual rows={found} loops=1)")), "{engine}: {recorder:?}");
        }
    }
}

#[test]
fn options_are_those_of_postgresql() {
    let database = database("2pl-timeout");
    let mut session = session(&database);
    let accepted = [
        "explain (analyze, verbose, costs off, buffers, settings, wal, timing false, summary 0, format text) select 1",
        "explain (analyze false) select 1",
        "explain analyze verbose select 1",
        "explain (buffers) select 1",
        "explain ((select 1))",
    ];
    for sql in accepted {
        assert!(outcome(&mut session, sql).starts_with("Result"), "{sql}");
    }
    let refused = [
        ("explain (costs maybe) select 1", "42601", "costs requires a Boolean value"),
        ("explain (foo) select 1", "42601", "unrecognized EXPLAIN option \"foo\""),
        ("explain (format lines) select 1", "22023", "unrecognized value for EXPLAIN option \"format\": \"lines\""),
        ("explain (format yaml) select 1", "0A000", "EXPLAIN (FORMAT YAML) is not supported"),
        ("explain (wal) select 1", "22023", "EXPLAIN option WAL requires ANALYZE"),
        ("explain (timing) select 1", "22023", "EXPLAIN option TIMING requires ANALYZE"),
    ];
    for (sql, code, message) in refused {
        let error = error(&mut session, sql);
        assert_eq!((error.state.as_str(), error.message.as_str()), (code, message), "{sql}");
    }
    for sql in ["explain (analyze", "explain (analyze,) select 1", "explain () select 1", "explain", "explain analyze"]
    {
        assert_eq!(error(&mut session, sql).state.as_str(), "42601", "{sql}");
    }
}
