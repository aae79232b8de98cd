//! Settings, prepared statements, portals, COPY, and sessions side by side.

mod common;

use common::{Recorder, bind, check, database, error, execute, outcome, query, run, session};
use hotrow_sql::{Config, Database, Executed, Session, TransactionStatus};
use hotrow_storage::{Type, Value};
use hotrow_sync::atomic::{AtomicBool, Ordering};
use hotrow_sync::{Arc, Scheduler, Time, Waiter};
use std::time::Duration;

#[test]
fn settings_are_set_shown_and_reset() {
    check(
        "",
        &[
            ("set application_name = 'x'; show application_name", "x"),
            ("reset application_name", "RESET"),
            ("show application_name", ""),
            ("show client_encoding", "UTF8"),
            ("set client_encoding to 'latin1'", "22023"),
            ("set datestyle to iso, ymd; show datestyle", "ISO, YMD"),
            ("set extra_float_digits = 3; set search_path to public; set names 'utf8'", "SET"),
            ("set time zone 'UTC'; show time zone", "UTC"),
            ("set nonsense = 1", "42704"),
            ("show nonsense", "42704"),
        ],
    );
    // What the engine grants.
    for (engine, level) in [("serial", "serializable"), ("2pl-timeout", "read committed")] {
        let database = database(engine);
        let mut session = session(&database);
        assert_eq!(outcome(&mut session, "show transaction_isolation"), level, "{engine}");
    }
    let database = database("2pl-timeout");
    let mut session = session(&database);
    for (sql, expected) in [
        ("begin isolation level serializable; show transaction_isolation", "serializable"),
        ("commit", "COMMIT"),
        ("begin; select 1; set transaction isolation level serializable", "25001"),
        ("rollback", "ROLLBACK"),
        ("begin read only", "BEGIN"),
        ("create table t (id int)", "25006"),
        ("rollback", "ROLLBACK"),
        ("begin; set local work_mem = '1MB'; show work_mem", "1MB"),
        ("commit; show work_mem", "4MB"),
        ("begin; set work_mem = '1MB'; rollback; show work_mem", "4MB"),
        ("set session characteristics as transaction isolation level serializable", "SET"),
        ("show default_transaction_isolation", "serializable"),
        ("discard all", "DISCARD ALL"),
        ("show default_transaction_isolation", "read committed"),
        ("vacuum analyze; analyze", "ANALYZE"),
        ("vacuum nope", "42P01"),
        ("checkpoint", "CHECKPOINT"),
        ("begin; begin", "BEGIN"),
        ("commit; commit", "COMMIT"),
        ("savepoint s", "25P01"),
    ] {
        assert_eq!(outcome(&mut session, sql), expected, "{sql}");
    }
    let (recorder, _) = query(&mut session, "set application_name = 'app'");
    assert_eq!(recorder.parameters, [("application_name".to_owned(), "app".to_owned())]);
}

#[test]
fn times_are_counted_for_who_wants_to_know() {
    let shown = |engine: &str, config: Config| {
        let database = Database::new(hotrow_protocols::open(engine).expect("an engine of this name"), config);
        let mut session = session(&database);
        run(&mut session, "create table t (id int primary key, n int); insert into t values (1, 0)");
        run(&mut session, "update t set n = 1 where id = 1");
        outcome(&mut session, "show hotrow.times")
    };
    for engine in ["ilock", "row-nowait", "lock-table", "1v"] {
        let times = shown(engine, Config { times: Some(Arc::default()), ..Config::default() });
        let numbers: Vec<u64> = times.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
        let [lock_manager_ns, timed_calls, retried_ns, resumes] = numbers[..] else { panic!("{engine}: {times}") };
        assert!(timed_calls >= 2 && lock_manager_ns > 0, "{engine}: {times}");
        assert_eq!((retried_ns, resumes), (0, 0), "{engine}: {times}");
        assert_eq!(shown(engine, Config::default()), "not counted", "{engine}");
    }
}

#[test]
fn isolation_levels_have_postgresqls_names() {
    // What is asked for, in any of the ways; what SHOW says then, and what is promised, in our words.
    let cases = [
        ("2pl-timeout", "read uncommitted", "read committed", "read committed"),
        ("2pl-timeout", "read stability", "serializable", "serializable"),
        ("2pl-timeout", "repeatable read", "serializable", "serializable"),
        ("serial", "read committed", "serializable", "serializable"),
        ("1v", "read stability", "read stability", "repeatable read"),
        ("1v", "repeatable read", "serializable", "serializable"),
        ("mvo", "read committed", "read committed", "read committed"),
        ("mvo", "read stability", "read stability", "repeatable read"),
        ("mvo", "repeatable read", "repeatable read", "snapshot"),
        ("mvo", "snapshot", "repeatable read", "snapshot"),
        ("mvo", "serializable", "serializable", "serializable"),
    ];
    for (engine, asked, shown, promised) in cases {
        let database = database(engine);
        let ways = [
            format!("begin isolation level {asked}"),
            format!("start transaction read write, isolation level {asked}"),
            format!("begin; set transaction isolation level {asked}"),
            format!("begin; set transaction_isolation = '{asked}'"),
            format!("set default_transaction_isolation = '{}'; begin", asked.to_uppercase()),
            format!("set session characteristics as transaction isolation level {asked}; begin"),
        ];
        for way in ways {
            let mut session = session(&database);
            // What a session's default is, is asked when a transaction begins.
            way.split("; ").for_each(|sql| run(&mut session, sql));
            for (name, expected) in [
                ("transaction_isolation", shown),
                ("transaction isolation level", shown),
                ("hotrow.isolation", promised),
            ] {
                assert_eq!(outcome(&mut session, &format!("show {name}")), expected, "{engine}, `{way}`: {name}");
            }
            assert_eq!(outcome(&mut session, "show transaction_isolation; commit"), shown, "{engine}: `{way}`");
        }
        let mut session = session(&database);
        session.set_parameter("default_transaction_isolation", asked).expect("a name");
        assert_eq!(outcome(&mut session, "show transaction_isolation"), shown, "{engine}: {asked}");
    }
    let database = database("mvo");
    let mut session = session(&database);
    assert_eq!(outcome(&mut session, "begin isolation level chaos"), "42601");
    for name in ["default_transaction_isolation", "transaction_isolation"] {
        let error = error(&mut session, &format!("set {name} = 'chaos'"));
        let hint = "Available values: serializable, repeatable read, snapshot, read stability, read committed, read uncommitted.";
        assert_eq!((error.state.as_str(), error.hint.as_deref()), ("22023", Some(hint)), "{name}");
    }
    assert_eq!(outcome(&mut session, "set hotrow.isolation = 'snapshot'"), "55P02");
}

#[test]
fn locks_are_shown_as_numbers() {
    for engine in ["2pl-timeout", "1v", "ilock", "row-nowait"] {
        let database = database(engine);
        let (mut one, mut other) = (session(&database), session(&database));
        run(&mut one, "create table t (id int primary key); insert into t values (1)");
        assert_eq!(outcome(&mut other, "show hotrow.locks"), "held 0, waiting 0", "{engine}");
        run(&mut one, "begin; select * from t where id = 1 for update");
        assert_eq!(outcome(&mut other, "show hotrow.locks"), "held 1, waiting 0", "{engine}");
        run(&mut one, "rollback");
        assert_eq!(outcome(&mut other, "show hotrow.locks"), "held 0, waiting 0", "{engine}");
    }
    assert_eq!(outcome(&mut session(&database("mvo")), "show hotrow.locks"), "none are counted");
    assert_eq!(outcome(&mut session(&database("ilock")), "set hotrow.locks = 'none'"), "55P02");
}

#[test]
fn who_cannot_choose_to_be_optimistic_is_told_which_engines_can() {
    let engine = hotrow_protocols::open("2pl-timeout").expect("an engine of this name");
    let config = hotrow_sql::Config { choosing_engines: vec!["mvo", "mvl"], ..hotrow_sql::Config::default() };
    let database = hotrow_sql::Database::new(engine, config);
    let mut session = session(&database);
    for sql in [
        "set hotrow.concurrency = optimistic",
        "set hotrow.concurrency to 'Pessimistic'",
        "begin concurrency optimistic",
        "set session characteristics as transaction concurrency pessimistic",
    ] {
        let error = error(&mut session, sql);
        assert_eq!(
            (error.state.as_str(), error.hint.as_deref()),
            ("0A000", Some("Engines that do: mvo, mvl.")),
            "{sql}"
        );
        assert!(error.message.starts_with("engine 2pl-timeout does not let"), "{sql}: {error}");
        run(&mut session, "rollback");
    }
    let error = session.set_parameter("hotrow.concurrency", "optimistic").expect_err("as it begins");
    assert_eq!(error.state.as_str(), "0A000");
    session.set_parameter("hotrow.concurrency", "default").expect("what it is anyway");
    run(&mut session, "set hotrow.concurrency = 'default'; reset hotrow.concurrency; reset all");
    assert_eq!(outcome(&mut session, "show hotrow.concurrency"), "default");
}

#[test]
fn transactions_choose_to_be_optimistic_or_pessimistic() {
    let choosing = hotrow_protocols::ENGINES.iter().filter(|info| info.concurrency.is_some());
    for engine in choosing.map(|info| info.name) {
        let database = database(engine);
        let mut session = session(&database);
        for (sql, expected) in [
            ("show hotrow.concurrency", "default"),
            ("set hotrow.concurrency = both", "22023"),
            ("set hotrow.concurrency = mixed; show hotrow.concurrency", "mixed"),
            ("set hotrow.concurrency = Pessimistic; show hotrow.concurrency", "pessimistic"),
            ("reset hotrow.concurrency; show hotrow.concurrency", "default"),
            ("begin; set local hotrow.concurrency = optimistic; show hotrow.concurrency", "optimistic"),
            ("commit; show hotrow.concurrency", "default"),
            ("begin; set transaction concurrency pessimistic; show hotrow.concurrency", "pessimistic"),
            ("commit and chain; show hotrow.concurrency", "pessimistic"),
            ("rollback; show hotrow.concurrency", "default"),
            ("begin isolation level serializable, concurrency pessimistic; show hotrow.concurrency", "pessimistic"),
            // It is fixed once the transaction has begun.
            ("select 1; set local hotrow.concurrency = pessimistic; show transaction_isolation", "1 serializable"),
            ("set hotrow.concurrency = optimistic", "25001"),
            ("rollback; begin; select 1; set transaction concurrency optimistic", "25001"),
            ("rollback; begin concurrency optimistic; select 1; reset all", "25001"),
            ("rollback; begin; savepoint s; set local hotrow.concurrency = optimistic; select 1; rollback to s", "1"),
            ("show hotrow.concurrency", "default"),
            ("set local hotrow.concurrency = pessimistic; select 1; commit", "1"),
            (
                "set session characteristics as transaction concurrency optimistic; show hotrow.concurrency",
                "optimistic",
            ),
            ("discard all; show hotrow.concurrency", "default"),
            ("begin concurrency eager", "42601"),
        ] {
            assert_eq!(outcome(&mut session, sql), expected, "{engine}: {sql}");
        }
        session.set_parameter("hotrow.concurrency", "pessimistic").expect("as it begins");
        assert_eq!(outcome(&mut session, "reset all; show hotrow.concurrency"), "pessimistic", "{engine}");
    }
}

#[test]
fn savepoints_bring_settings_back() {
    check(
        "",
        &[
            ("begin; set work_mem = '1MB'; savepoint s; set work_mem = '2MB'; set jit = on; rollback to s", "ROLLBACK"),
            ("show work_mem", "1MB"),
            ("show jit", "off"),
            ("set local work_mem = '3MB'; savepoint t; set work_mem = '5MB'; rollback to t; show work_mem", "3MB"),
            ("rollback to s; show work_mem", "1MB"),
            ("set local jit = on; reset all; rollback to s; commit; show work_mem", "1MB"),
            ("begin; savepoint s; set work_mem = '6MB'; select 1 / 0", "22012"),
            ("rollback to s; set local jit = on; release s; commit; show work_mem", "1MB"),
            ("show jit", "off"),
            ("begin; savepoint s; set work_mem = '7MB'; release s; commit; show work_mem", "7MB"),
            ("begin; savepoint s; set work_mem = '8MB'; rollback to s; rollback; show work_mem", "7MB"),
        ],
    );
    let database = database("2pl-timeout");
    let mut session = session(&database);
    run(&mut session, "begin; savepoint s; set application_name = 'x'");
    let (recorder, _) = query(&mut session, "rollback to s");
    assert_eq!(recorder.parameters, [("application_name".to_owned(), String::new())], "the client follows it");
}

#[test]
fn savepoints_are_gone_with_an_aborted_transaction() {
    let database = database("2pl-timeout");
    let (mut one, mut two) = (session(&database), session(&database));
    run(&mut one, "create table t (id int primary key, n int); insert into t values (1, 0)");
    run(&mut one, "begin; update t set n = 1");
    run(&mut two, "set lock_timeout = '1ms'");
    for (sql, expected) in [
        ("begin; insert into t values (2, 2); savepoint s; update t set n = 2 where id = 1", "55P03"),
        ("select 1", "25P02"),
        ("rollback to s", "40001"),
        ("rollback to nope", "40001"),
        ("rollback", "ROLLBACK"),
        ("begin; savepoint s; select 1 / 0", "22012"),
        ("rollback to s; select count(*) from t where id = 2", "0"),
        ("rollback to nope", "3B001"),
        ("commit", "ROLLBACK"),
        ("begin; savepoint s", "SAVEPOINT"),
    ] {
        assert_eq!(outcome(&mut two, sql), expected, "{sql}");
    }
    // A cancelled statement's transaction is not to be tried again.
    two.waiter().cancel();
    assert_eq!(outcome(&mut two, "select 1"), "57014");
    two.waiter().clear_cancel();
    let error = error(&mut two, "rollback to s");
    assert_eq!(error.state.as_str(), "25P02");
    assert!(error.hint.is_some_and(|hint| hint.contains("only ROLLBACK helps")));
    run(&mut two, "rollback; begin; savepoint s; rollback to s; commit");
}

#[test]
fn statements_are_prepared_by_name() {
    check(
        "create table t (id int primary key, name text); insert into t values (1, 'one'), (2, 'two')",
        &[
            ("prepare get (int) as select name from t where id = $1", "PREPARE"),
            ("execute get(1)", "one"),
            ("execute get('2')", "two"),
            ("execute get", "42601"),
            ("prepare get as select 1", "42P05"),
            ("prepare put as insert into t values ($1, $2)", "PREPARE"),
            ("execute put(1 + 2, 'three')", "INSERT 0 1"),
            ("execute get(3)", "three"),
            ("deallocate get", "DEALLOCATE"),
            ("execute get(1)", "26000"),
            ("deallocate all", "DEALLOCATE ALL"),
            ("execute put(4, '')", "26000"),
            ("select $1", "42P02"),
            ("prepare v as values (1)", "PREPARE"),
            ("execute v", "1"),
            ("prepare p as (select 2)", "PREPARE"),
            ("execute p", "2"),
            ("prepare u as update t set name = 'x' where id = $1", "PREPARE"),
            ("execute u(1)", "UPDATE 1"),
            ("prepare d as delete from t where id = $1", "PREPARE"),
            ("execute d(1)", "DELETE 1"),
            // Nothing else is prepared by name, above all nothing that ends the transaction in the middle of EXECUTE.
            ("prepare x as commit", "42601"),
            ("prepare x as (commit)", "42601"),
            ("prepare x as rollback", "42601"),
            ("prepare x as create table y (id int)", "42601"),
            ("prepare x as drop table t", "42601"),
            ("prepare x as set work_mem = '1MB'", "42601"),
            ("prepare x as execute v", "42601"),
            ("prepare x as prepare y as select 1", "42601"),
            ("prepare x as explain select 1", "42601"),
            ("prepare x as copy t to stdout", "42601"),
            ("prepare x as", "42601"),
            ("execute x", "26000"),
        ],
    );
}

#[test]
fn the_unnamed_statement_does_not_outlive_the_next() {
    let database = database("2pl-timeout");
    let mut session = session(&database);
    type Forget = fn(&mut Session);
    let cases: [(&str, Forget); 4] = [
        ("a failed Parse", |session| {
            session.parse("", "selec 1", &[]).expect_err("a mistake");
        }),
        ("a query", |session| run(session, "select 1")),
        ("an empty query", |session| run(session, "")),
        ("a failed query", |session| assert_eq!(outcome(session, "selec 1"), "42601")),
    ];
    for (what, forget) in cases {
        session.parse("", "select 1", &[]).expect("a query");
        session.parse("named", "select 1", &[]).expect("a query");
        session.statement("").expect("prepared");
        forget(&mut session);
        assert_eq!(session.statement("").expect_err(what).state.as_str(), "26000", "{what}");
        session.statement("named").expect("kept");
        session.close_statement("named");
        session.sync().expect("nothing to commit");
    }
}

#[test]
fn parameters_get_their_types_from_where_they_stand() {
    let database = database("2pl-timeout");
    let mut session = session(&database);
    run(&mut session, "create table t (id int8 primary key, n int2, v varchar(5), p numeric(8,2), d date)");
    let cases: [(&str, &[Type]); 9] = [
        ("select * from t where id = $1 and n > $2", &[Type::Int8, Type::Int2]),
        (
            "insert into t values ($1, $2, $3, $4, $5)",
            &[Type::Int8, Type::Int2, Type::Varchar(None), Type::Numeric(None), Type::Date],
        ),
        ("select $1", &[Type::Text]),
        ("select $1 + 1, $2::date", &[Type::Int4, Type::Date]),
        ("select 1 limit $1 offset $2", &[Type::Int8, Type::Int8]),
        ("update t set n = n + $1 where v = $2", &[Type::Int2, Type::Text]),
        ("select case when $1 then $2 else 1.5 end", &[Type::Bool, Type::Numeric(None)]),
        ("select $2, $1::int", &[Type::Int4, Type::Text]),
        ("select id from t where id in ($1, $2) or v like $3", &[Type::Int8, Type::Int8, Type::Text]),
    ];
    for (sql, types) in cases {
        let statement = session.parse("", sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(statement.param_types(), types, "{sql}");
    }
    let error = session.parse("", "select $2::int", &[]).expect_err("nothing says what $1 is");
    assert_eq!(error.state.as_str(), "42P18");
    let statement = session.parse("", "select $1 + 1", &[Some(Type::Int8)]).expect("a declared type");
    assert_eq!(
        (statement.param_types(), statement.columns().map(|columns| columns[0].ty)),
        (&[Type::Int8][..], Some(Type::Int8))
    );
}

#[test]
fn portals_are_executed_in_pieces() {
    let database = database("2pl-timeout");
    let mut session = session(&database);
    run(&mut session, "create table t (id int primary key); insert into t values (1), (2), (3), (4), (5)");
    let statement = session.parse("", "select id from t where id > $1 order by id", &[]).expect("a query");
    bind(&mut session, &statement, &[Value::Int4(1)]).expect("one parameter");
    let (recorder, executed) = execute(&mut session, 3);
    assert_eq!((executed, recorder.rows), (Ok(Executed::Suspended), vec!["2".to_owned(), "3".into(), "4".into()]));
    let (recorder, executed) = execute(&mut session, 3);
    assert_eq!(
        (executed, recorder.rows, recorder.tags),
        (Ok(Executed::Complete), vec!["5".to_owned()], vec!["SELECT 1".to_owned()])
    );
    session.sync().expect("nothing to fail");
    let (_, executed) = execute(&mut session, 0);
    assert_eq!(executed.expect_err("portals end with their transaction").state.as_str(), "34000");
    bind(&mut session, &statement, &[]).expect_err("a parameter is missing");
}

#[test]
fn a_batch_is_one_transaction() {
    let database = database("2pl-timeout");
    let (mut one, mut two) = (session(&database), session(&database));
    run(&mut one, "create table t (id int primary key)");
    let insert = one.parse("put", "insert into t values ($1)", &[]).expect("an insert");
    for id in [1, 2] {
        bind(&mut one, &insert, &[Value::Int4(id)]).expect("bound");
        assert_eq!(execute(&mut one, 0).0.tags, ["INSERT 0 1"]);
    }
    one.sync().expect("committed");
    assert_eq!(outcome(&mut two, "select count(*) from t"), "2");
    for id in [3, 1] {
        bind(&mut one, &insert, &[Value::Int4(id)]).expect("bound");
        let (_, result) = execute(&mut one, 0);
        assert_eq!(result.is_ok(), id == 3);
    }
    one.sync().expect("rolled back already");
    assert_eq!(one.status(), TransactionStatus::Idle);
    assert_eq!(outcome(&mut two, "select count(*) from t"), "2");
    assert_eq!(one.statement("nope").expect_err("no such statement").state.as_str(), "26000");
}

#[test]
fn prepared_statements_outlive_changes_of_their_tables() {
    let database = database("2pl-timeout");
    let (mut one, mut two) = (session(&database), session(&database));
    run(&mut one, "create table t (id int primary key, a int); insert into t values (1, 10)");
    let get = one.parse("get", "select a from t where id = $1", &[]).expect("a query");
    let get_all = one.parse("all", "select * from t", &[]).expect("a query");
    run(&mut two, "create index on t (a)");
    bind(&mut one, &get, &[Value::Int4(1)]).expect("bound");
    assert_eq!(execute(&mut one, 0).0.rows, ["10"]);
    one.sync().expect("committed");
    run(&mut two, "drop table t; create table t (id int primary key, a int, b int)");
    bind(&mut one, &get_all, &[]).expect("bound");
    assert_eq!(execute(&mut one, 0).1.expect_err("another result type").state.as_str(), "0A000");
    one.sync().expect("rolled back already");
    run(&mut two, "drop table t");
    bind(&mut one, &get, &[Value::Int4(1)]).expect("bound");
    assert_eq!(execute(&mut one, 0).1.expect_err("no table").state.as_str(), "42P01");
}

/// A scheduler that tells whether anybody has waited.
struct Waits {
    inner: Waiter,
    resumed: AtomicBool,
    seen: AtomicBool,
}

impl Scheduler for Waits {
    fn now(&self) -> Time {
        self.inner.now()
    }

    fn suspend(&self, deadline: Option<Time>) {
        self.seen.store(true, Ordering::Release);
        self.inner.wait_until(deadline, || self.resumed.swap(false, Ordering::AcqRel));
    }

    fn resume(&self) {
        self.resumed.store(true, Ordering::Release);
        self.inner.wake();
    }
}

#[test]
fn plans_of_the_simple_protocol_follow_their_tables() {
    let setup = "create table q (a int); insert into q values (1)";
    check(
        setup,
        &[
            ("select * from q where a = 1", "1"),
            ("drop table q; create table q (a text); insert into q values ('x'); select * from q where a = '1'", ""),
            ("select * from q", "x"),
            ("drop table q; create table q (b int, c int); select * from q; insert into q values (1, 2)", ""),
            ("select * from q", "1|2"),
            ("drop table q; select * from q", "42P01"),
            ("select * from q", "1|2"),
            // A statement that is prepared by name keeps its columns.
            ("prepare p as select * from q; drop table q; create table q (z int); execute p", "0A000"),
        ],
    );
    // The columns are those of the new plan, also if there is no row.
    let database = database("2pl-timeout");
    let waits = Arc::new(Waits {
        inner: Waiter::thread(Duration::ZERO),
        resumed: AtomicBool::new(false),
        seen: AtomicBool::new(false),
    });
    let (mut one, mut two) = (session(&database), database.session("ada", Waiter::new(waits.clone())));
    run(&mut one, "create table q (a int); select * from q");
    let (recorder, result) = query(&mut one, "drop table q; create table q (n text, m int); select * from q");
    result.expect("a table of that name");
    assert_eq!(recorder.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["n", "m"]);

    // Another session changes the table while a cached plan waits for its lock.
    run(&mut two, "set lock_timeout = '1d'; select * from q where m = '1'");
    run(&mut one, "begin; drop table q; create table q (b text, m text); insert into q values ('b', '1')");
    let other = hotrow_sync::thread::spawn(move || {
        let (recorder, result) = query(&mut two, "select * from q where m = '1'");
        (recorder.rows, result)
    });
    while !waits.seen.load(Ordering::Acquire) {
        hotrow_sync::thread::yield_now();
    }
    run(&mut one, "commit");
    assert_eq!(other.join().expect("no panic"), (vec!["b|1".to_owned()], Ok(())));
}

fn copy(session: &mut hotrow_sql::Session, sql: &str, input: &[&str]) -> (Recorder, String) {
    let mut recorder =
        Recorder { input: input.iter().map(|piece| piece.as_bytes().to_vec()).collect(), ..Recorder::default() };
    let result = session.simple_query(sql, &mut recorder);
    let outcome = match result {
        Ok(()) => recorder.tags.last().cloned().unwrap_or_default(),
        Err(error) => error.state.as_str().to_owned(),
    };
    (recorder, outcome)
}

#[test]
fn copy_goes_in_and_out() {
    let database = database("2pl-timeout");
    let mut session = session(&database);
    run(&mut session, "create table t (id int primary key, name text default 'none', n int)");
    let cases: [(&str, &[&str], &str); 9] = [
        ("copy t from stdin", &["1\tone\t10\n2\tt", "wo\t\\N\n"], "COPY 2"),
        ("copy t (id, n) from stdin with (freeze on)", &["3\t30\n\\.\n"], "COPY 1"),
        ("copy t from stdin csv", &["4,\"a,b\",\n"], "COPY 1"),
        ("copy t from stdin with (format csv, header, delimiter ';')", &["id;name;n\n5;five;50\n"], "COPY 1"),
        ("copy t from stdin", &["6\tsix\n"], "22P04"),
        ("copy t from stdin", &["6\tsix\t6\t6\n"], "22P04"),
        ("copy t from stdin", &["x\tsix\t6\n"], "22P02"),
        ("copy t from stdin", &["6\tsix\t60\n1\tagain\t1\n"], "23505"),
        ("copy nope from stdin", &[], "42P01"),
    ];
    for (sql, input, expected) in cases {
        assert_eq!(copy(&mut session, sql, input).1, expected, "{sql} {input:?}");
    }
    let outputs = [
        ("copy t to stdout", "1\tone\t10\n2\ttwo\t\\N\n3\tnone\t30\n4\ta,b\t\\N\n5\tfive\t50\n"),
        ("copy t (n, id) to stdout csv header", "n,id\n10,1\n,2\n30,3\n,4\n50,5\n"),
        ("copy (select name from t where id < 3 order by id desc) to stdout", "two\none\n"),
    ];
    for (sql, expected) in outputs {
        let (recorder, tag) = copy(&mut session, sql, &[]);
        let mut lines: Vec<_> = String::from_utf8(recorder.output).expect("text").lines().map(str::to_owned).collect();
        let mut wanted: Vec<_> = expected.lines().map(str::to_owned).collect();
        if !sql.contains("order by") {
            lines.sort();
            wanted.sort();
        }
        assert_eq!(lines, wanted, "{sql}");
        assert!(tag.starts_with("COPY "), "{sql}: {tag}");
    }
    let (binary, _) = copy(&mut session, "copy t to stdout with binary", &[]);
    run(&mut session, "begin; truncate t");
    let mut recorder = Recorder { input: binary.output.chunks(7).map(<[u8]>::to_vec).collect(), ..Recorder::default() };
    session.simple_query("copy t from stdin (format binary)", &mut recorder).expect("its own output");
    run(&mut session, "commit");
    assert_eq!(outcome(&mut session, "select count(*), sum(n), max(name) from t"), "5|90|two");
}

#[test]
fn concurrent_sessions_wait_for_each_other() {
    let database = database("2pl-timeout");
    let mut one = session(&database);
    run(&mut one, "create table t (id int primary key, n int); insert into t values (1, 0)");
    run(&mut one, "begin; update t set n = n + 1 where id = 1");
    let shared = database.clone();
    let other = hotrow_sync::thread::spawn(move || {
        let mut two = session(&shared);
        outcome(&mut two, "update t set n = n + 1 where id = 1")
    });
    run(&mut one, "commit");
    let waited = other.join().expect("no panic");
    assert_eq!(waited, "UPDATE 1");
    assert_eq!(outcome(&mut one, "select n from t"), "2");

    // A waiting statement is cancelled from outside, and its session lives on.
    run(&mut one, "begin; update t set n = 9");
    let mut two = session(&database);
    let waiter = two.waiter().clone();
    let cancelled = hotrow_sync::thread::spawn(move || {
        let error = error(&mut two, "update t set n = 8");
        two.waiter().clear_cancel();
        (error.state, outcome(&mut two, "select 1"))
    });
    waiter.cancel();
    assert_eq!(cancelled.join().expect("no panic"), (hotrow_sql::state::QUERY_CANCELED, "1".to_owned()));
}

#[test]
fn copy_sends_the_rows_of_a_change() {
    let database = database("2pl-timeout");
    let mut session = session(&database);
    run(
        &mut session,
        "create table t (id int primary key, n int); insert into t values (1, 10), (2, 20), (3, 30);
         create function told(a int) returns int language plpgsql as
             'begin raise notice ''called with %'', a; return a; end'",
    );
    for (sql, sent, expected) in [
        ("copy (delete from t where id = 3 returning *) to stdout", "3\t30\n", "COPY 1"),
        ("copy (insert into t values (4, 40) returning id) to stdout", "4\n", "COPY 1"),
        ("copy (with x as (insert into t values (5, 50)) select id from t) to stdout", "1\n2\n4\n", "COPY 3"),
        ("copy (select id from t where id = 2 for update) to stdout", "2\n", "COPY 1"),
        ("copy (select id from t) to stdout", "1\n2\n4\n5\n", "COPY 4"),
        ("copy (delete from t) to stdout", "", "0A000"),
        ("copy (select id from t where id = $1) to stdout", "", "42P02"),
        ("copy (select id into u from t) to stdout", "", "0A000"),
    ] {
        let (recorder, tag) = copy(&mut session, sql, &[]);
        assert_eq!((String::from_utf8_lossy(&recorder.output).as_ref(), tag.as_str()), (sent, expected), "{sql}");
    }
    let (recorder, _) = copy(&mut session, "copy (select told(id) from t where id = 1) to stdout", &[]);
    assert_eq!(recorder.notices, ["NOTICE: called with 1"]);
    run(&mut session, "begin read only");
    let change = "with x as (delete from t returning id) select * from x";
    let refused = [format!("copy ({change}) to stdout"), format!("explain analyze {change}")];
    for sql in refused {
        run(&mut session, "savepoint s");
        assert_eq!(copy(&mut session, &sql, &[]).1, "25006", "{sql}");
        run(&mut session, "rollback to s");
    }
}

#[test]
fn copy_leaves_generated_columns_out() {
    let database = database("ilock");
    let mut session = session(&database);
    run(
        &mut session,
        "create table t (a int, b int generated always as (a * 2) stored unique check (b < 100), c text)",
    );
    for (sql, input, expected) in [
        ("copy t from stdin", &["1\tone\n2\ttwo\n"][..], "COPY 2"),
        ("copy t (c, a) from stdin", &["three\t3\n"], "COPY 1"),
        ("copy t (a, b) from stdin", &["4\t8\n"], "42P10"),
        ("copy t (b) to stdout", &[], "42P10"),
        ("copy t from stdin", &["3\tagain\n"], "23505"),
        ("copy t from stdin", &["50\tmuch\n"], "23514"),
    ] {
        assert_eq!(copy(&mut session, sql, input).1, expected, "{sql} {input:?}");
    }
    let (recorder, _) = copy(&mut session, "copy t to stdout", &[]);
    let text = String::from_utf8(recorder.output).expect("text");
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["1\tone", "2\ttwo", "3\tthree"]);
    let (recorder, _) = query(&mut session, "select b from t order by b");
    assert_eq!(recorder.rows, ["2", "4", "6"]);
}
