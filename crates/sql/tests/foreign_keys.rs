//! Foreign keys under concurrent sessions: no child is left without a parent, and children do not wait for each other.
//!
//! What each statement does is in `slt/foreign_keys.slt`.

mod common;

use common::{ENGINES, bind, check, database, error, execute, outcome, query, run, session};
use hotrow_sql::{Database, Session};
use hotrow_storage::Value;
use hotrow_sync::atomic::{AtomicU64, Ordering};
use hotrow_sync::{Arc, thread};

const LEVELS: [&str; 2] = ["read committed", "serializable"];

const TABLES: &str =
    "create table p (id int primary key, n int); create table c (id int primary key, p int references p);
    insert into p values (1, 0), (2, 0)";

const ORPHANS: &str = "select count(*) from c where p is not null and not exists (select 1 from p where p.id = c.p)";

/// A session whose waits for locks end soon.
fn impatient(database: &Arc<Database>) -> Session {
    let mut session = session(database);
    run(&mut session, "set lock_timeout = 20");
    session
}

/// Returns the engines in which two blocks can run at once.
fn concurrent() -> impl Iterator<Item = &'static str> {
    let is_concurrent = |engine: &&str| {
        let engine = hotrow_protocols::open(engine).expect("an engine of this name");
        !engine.info().capabilities.needs_accesses && engine.info().isolation.len() > 1
    };
    ENGINES.into_iter().filter(is_concurrent)
}

#[test]
fn children_of_one_parent_do_not_wait_for_each_other() {
    assert!(concurrent().count() >= 7);
    for engine in concurrent() {
        for level in LEVELS {
            for index in ["select 1", "create index on c (p)"] {
                let database = database(engine);
                let (mut one, mut two) = (session(&database), impatient(&database));
                run(&mut one, TABLES);
                run(&mut one, index);
                run(&mut one, &format!("begin isolation level {level}; insert into c values (10, 1)"));
                run(&mut two, &format!("begin isolation level {level}; insert into c values (20, 1)"));
                run(&mut one, "insert into c values (11, 1); update c set p = 2 where id = 10");
                run(&mut two, "insert into c values (21, 2); commit");
                run(&mut one, "commit");
                assert_eq!(outcome(&mut one, "select * from c order by id"), "10|2 11|1 20|1 21|2", "{engine} {level}");
            }
        }
    }
}

/// Runs two sessions: the first runs its statement in a block, the second runs its own statement, and then the first
/// commits. Returns whether the first has committed, the outcome of the second's statement, and the final rows.
fn meet(engine: &str, level: &str, first: &str, second: &str) -> (bool, String, String) {
    let database = database(engine);
    let (mut one, mut two) = (session(&database), impatient(&database));
    run(&mut one, TABLES);
    run(&mut one, "create index on c (p); insert into c values (5, 2)");
    run(&mut two, &format!("set default_transaction_isolation = '{level}'"));
    run(&mut one, &format!("begin isolation level {level}; {first}"));
    let told = outcome(&mut two, second);
    let ended = outcome(&mut one, "commit");
    assert!(["COMMIT", "40001"].contains(&ended.as_str()), "{engine} {level}: {first}; {second}: {ended}");
    assert_eq!(outcome(&mut one, ORPHANS), "0", "{engine} {level}: {first}; {second}");
    (ended == "COMMIT", told, outcome(&mut one, "select id from p union all select id from c order by id"))
}

#[test]
fn a_parent_goes_or_its_child_comes_but_not_both() {
    let given_up = ["40001", "40P01", "55P03"];
    let (insert, delete) = ("insert into c values (10, 1)", "delete from p where id = 1");
    let (update, rename) = ("update c set p = 1 where id = 5", "update p set id = 7 where id = 1");
    for engine in concurrent() {
        for level in LEVELS {
            for (first, second, rows) in [
                (insert, delete, ["1 2 5 10", "2 5"]),
                (delete, insert, ["2 5", "1 2 5 10"]),
                (update, delete, ["1 2 5", "2 5"]),
                (delete, update, ["2 5", "1 2 5"]),
                (insert, rename, ["1 2 5 10", "2 5 7"]),
                (rename, insert, ["2 5 7", "1 2 5 10"]),
                // A savepoint does not let go what was held before it.
                (
                    "insert into c values (10, 1); savepoint s; update p set n = 1 where id = 1; rollback to s",
                    delete,
                    ["1 2 5 10", "2 5"],
                ),
            ] {
                let (has_committed, told, found) = meet(engine, level, first, second);
                assert_ne!(has_committed, !given_up.contains(&told.as_str()), "{engine} {level}: {first}; {second}");
                assert_eq!(found, rows[usize::from(!has_committed)], "{engine} {level}: {first}; {second}: {told}");
            }
            // What nobody refers to is in nobody's way, nor is what happens to a parent's other columns.
            let counted = [(insert, "update p set n = 1 where id = 1"), ("update p set n = 1 where id = 1", insert)];
            for (first, second) in counted {
                let (has_committed, told, _) = meet(engine, level, first, second);
                assert!(told.ends_with(" 1") && has_committed, "{engine} {level}: {first}; {second}: {told}");
            }
            let apart = [("insert into c values (10, 2)", delete), ("update p set n = 1 where id = 2", insert)];
            for (first, second) in apart {
                let (has_committed, told, _) = meet(engine, level, first, second);
                let is_done = told.ends_with(" 1") && has_committed;
                assert!(is_done, "{engine} {level}: {first}; {second}: {told}, {has_committed}");
            }
        }
    }
}

#[test]
fn whoever_has_waited_sees_what_has_come_of_it() {
    for engine in ["2pl-timeout", "2pl-waitfor", "hier", "sli", "1v", "ilock", "lock-table"] {
        for (first, second, expected) in [
            ("delete from p where id = 1", "insert into c values (10, 1)", "23503"),
            ("insert into c values (10, 1)", "delete from p where id = 1", "23503"),
        ] {
            let database = database(engine);
            let (mut one, mut two) = (session(&database), session(&database));
            run(&mut one, TABLES);
            run(&mut one, &format!("begin; {first}"));
            let told = thread::scope(|scope| {
                let waiting = scope.spawn(|| outcome(&mut two, second));
                run(&mut one, "commit");
                waiting.join().expect("no session panics")
            });
            assert_eq!(told, expected, "{engine}: {first}; {second}");
        }
    }
}

/// Each session makes a child and then counts it at the parent: the second session waits for the first, and the first
/// does not wait for the second.
#[test]
fn parents_may_count_their_children() {
    for engine in ["2pl-timeout", "2pl-waitfor", "2pl-dreadlocks", "hier", "sli", "1v", "ilock", "lock-table"] {
        for level in LEVELS {
            let database = database(engine);
            let mut sessions = [session(&database), session(&database)];
            run(&mut sessions[0], TABLES);
            for (session, child) in sessions.iter_mut().zip([10, 20]) {
                run(session, &format!("begin isolation level {level}; insert into c values ({child}, 1)"));
            }
            let [one, two] = &mut sessions;
            let counts = "update p set n = n + 1 where id = 1";
            run(one, counts);
            thread::scope(|scope| {
                scope.spawn(|| run(two, &format!("{counts}; commit")));
                run(one, "commit");
            });
            assert_eq!(outcome(one, "select n from p where id = 1"), "2", "{engine} {level}");
        }
    }
}

/// The number of parents that the sessions of a stress test work on, one after the other.
const PARENTS: u64 = 100;

/// The work of one session of a stress test. The arguments are a counter and the parent that all sessions work on.
type Work = fn(&mut Session, u64, u64) -> String;

/// Runs many sessions that make children and move them, delete parents, rename them and make new ones. Returns how many
/// statements of each kind have succeeded.
fn stress(engine: &str, level: &str, actions: &str) -> [u64; 4] {
    let database = database(engine);
    let mut setup = session(&database);
    run(&mut setup, "create table p (id int primary key, n int) partition by hash (id)");
    let child = format!("create table c (id int primary key, p int references p {actions}) partition by hash (id)");
    run(&mut setup, &child);
    if engine.len().is_multiple_of(2) {
        run(&mut setup, "create index on c (p)");
    }
    (0..PARENTS).for_each(|parent| run(&mut setup, &format!("insert into p values ({parent}, 0)")));
    let works: [Work; 4] = [
        |session, at, parent| outcome(session, &format!("insert into c values ({at}, {parent})")),
        |session, at, parent| {
            outcome(session, &format!("begin; insert into c values ({at}, {parent})"));
            thread::yield_now();
            outcome(session, &format!("update c set p = {parent} where id = {}", at.saturating_sub(9)));
            thread::yield_now();
            outcome(session, "commit")
        },
        |session, at, parent| match at % 3 {
            0 => outcome(session, &format!("update p set id = -id where id = {parent}")),
            _ => outcome(session, &format!("delete from p where id = {parent}")),
        },
        |session, _, parent| outcome(session, &format!("insert into p values ({parent}, 0)")),
    ];
    let worked = [(); 4].map(|()| AtomicU64::new(0));
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for (work, worked) in works.into_iter().zip(&worked) {
            let (database, next) = (&database, &next);
            scope.spawn(move || {
                let mut session = session(database);
                run(&mut session, "set deadlock_timeout = 2; set lock_timeout = 50");
                run(&mut session, &format!("set default_transaction_isolation = '{level}'"));
                loop {
                    let at = next.fetch_add(1, Ordering::AcqRel);
                    if at >= PARENTS * 8 {
                        break;
                    }
                    let told = work(&mut session, at, at / 8);
                    thread::yield_now();
                    let expected = ["23503", "23505", "40001", "40P01", "55P03", "25P02", "ROLLBACK"];
                    let done = told.ends_with(" 1") || told == "COMMIT";
                    let known = done || told.ends_with(" 0") || expected.contains(&told.as_str());
                    assert!(known, "{engine} {level}: {told}");
                    worked.fetch_add(u64::from(done), Ordering::AcqRel);
                    outcome(&mut session, "rollback");
                }
            });
        }
    });
    assert_eq!(outcome(&mut setup, ORPHANS), "0", "{engine} {level} {actions}");
    worked.map(|worked| worked.load(Ordering::Acquire))
}

#[test]
fn nobody_is_left_without_a_parent() {
    let mut all = [0; 4];
    for engine in hotrow_protocols::ENGINES.iter().filter(|info| info.isolates).map(|info| info.name) {
        for level in LEVELS {
            for actions in
                ["", "on delete cascade on update cascade", "on delete set null deferrable initially deferred"]
            {
                let worked = stress(engine, level, actions);
                all.iter_mut().zip(worked).for_each(|(all, worked)| *all += worked);
            }
        }
    }
    assert!(all.iter().all(|&worked| worked > 0), "everything has worked sometimes: {all:?}");
}

/// Long chains of actions take no more stack than short ones, and circles end, in a rehearsal too.
#[test]
fn actions_end_however_far_they_go() {
    let chain = "insert into t with recursive n (i) as (select 1 union all select i + 1 from n where i < 3000)
        select i, nullif(i - 1, 0) from n";
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        run(
            &mut session,
            "create table t (id int primary key, up int references t on delete cascade on update cascade)",
        );
        run(&mut session, "create index on t (up)");
        run(&mut session, chain);
        assert_eq!(outcome(&mut session, "delete from t where id = 10"), "DELETE 1", "{engine}");
        assert_eq!(outcome(&mut session, "select count(*) from t"), "9", "{engine}");
        run(&mut session, "update t set up = 9 where id = 1");
        assert_eq!(outcome(&mut session, "update t set id = -id where id = 4"), "UPDATE 1", "{engine}");
        assert_eq!(outcome(&mut session, "select id from t where up = -4"), "5", "{engine}");
        assert_eq!(outcome(&mut session, "delete from t where id = 3"), "DELETE 1", "{engine}");
        assert_eq!(outcome(&mut session, "select count(*) from t"), "0", "{engine}");
    }
}

#[test]
fn prepared_statements_are_checked_and_their_plans_follow_new_keys() {
    for engine in ENGINES {
        let database = database(engine);
        let (mut one, mut other) = (session(&database), session(&database));
        run(&mut other, "create table p (id int primary key); create table c (id int primary key, p int)");
        let call = |session: &mut Session, sql: &str, values: &[Value<'static>]| {
            let statement = session.parse("", sql, &[]).expect(sql);
            bind(session, &statement, values).expect(sql);
            let executed = execute(session, 0).1.map(|_| String::new());
            let synced = session.sync().map(|()| String::new());
            executed.and(synced).unwrap_or_else(|error| error.state.as_str().to_owned())
        };
        let insert = "insert into c values ($1, $2)";
        assert_eq!(call(&mut one, insert, &[Value::Int4(1), Value::Int4(9)]), "", "{engine}: no key yet");
        run(&mut other, "delete from c; alter table c add foreign key (p) references p on delete cascade");
        assert_eq!(call(&mut one, insert, &[Value::Int4(1), Value::Int4(9)]), "23503", "{engine}");
        run(&mut other, "insert into p values (9)");
        assert_eq!(call(&mut one, insert, &[Value::Int4(1), Value::Int4(9)]), "", "{engine}");
        assert_eq!(call(&mut one, "delete from p where id = $1", &[Value::Int4(9)]), "", "{engine}");
        assert_eq!(outcome(&mut one, "select count(*) from c"), "0", "{engine}: the action");
        run(&mut other, "alter table c drop constraint c_p_fkey");
        assert_eq!(call(&mut one, insert, &[Value::Int4(1), Value::Int4(9)]), "", "{engine}: no key any more");
        // A check that is put off is made when the client ends the transaction.
        run(&mut other, "delete from c; alter table c add foreign key (p) references p deferrable initially deferred");
        assert_eq!(call(&mut one, insert, &[Value::Int4(1), Value::Int4(9)]), "23503", "{engine}");
        assert_eq!(outcome(&mut one, "select count(*) from c"), "0", "{engine}: rolled back");
    }
}

#[test]
fn statements_of_one_query_string_are_checked_together_if_they_may_be() {
    check(
        "create table a (id int primary key); create table b (id int primary key, a int references a deferrable initially deferred)",
        &[
            ("insert into b values (1, 1), (2, 2); insert into a values (1), (2)", "INSERT 0 2"),
            ("delete from a where id = 1; delete from b where a = 1", "DELETE 1"),
            ("delete from a; insert into a values (2)", "INSERT 0 1"),
            ("insert into b values (3, 3); insert into b values (4, 2)", "23503"),
            ("delete from a", "23503"),
            ("select * from b", "2|2"),
        ],
    );
}

/// COPY checks its rows when all are present, so rows that refer to each other may come in any order.
#[test]
fn copied_rows_are_checked() {
    for engine in ENGINES {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, "create table t (id int primary key, up int references t)");
        let mut copy = |data: &str| {
            let mut client = common::Recorder { input: vec![data.as_bytes().to_vec()], ..Default::default() };
            let copied = session.simple_query("copy t from stdin", &mut client);
            copied.map_or_else(|error| error.message, |()| client.tags.concat())
        };
        assert_eq!(copy("1\t2\n2\t3\n3\t\\N\n"), "COPY 3", "{engine}");
        let violated = "insert or update on table \"t\" violates foreign key constraint \"t_up_fkey\"";
        assert_eq!(copy("4\t1\n5\t6\n"), violated, "{engine}");
        assert_eq!(outcome(&mut session, "select count(*) from t"), "3", "{engine}");
    }
}

#[test]
fn messages_say_what_is_in_the_way() {
    let database = database("ilock");
    let mut session = session(&database);
    run(&mut session, "create table p (a int, b text, primary key (a, b)); create table c (x int, y text)");
    run(&mut session, "alter table c add constraint k foreign key (x, y) references p match full");
    run(&mut session, "insert into p values (1, 'one'); insert into c values (1, 'one')");
    let cases = [
        ("insert into c values (1, 'uno')", "Key (x, y)=(1, uno) is not present in table \"p\"."),
        ("insert into c values (1, null)", "MATCH FULL does not allow mixing of null and nonnull key values."),
        ("delete from p", "Key (a, b)=(1, one) is still referenced from table \"c\"."),
        ("update p set b = 'uno'", "Key (a, b)=(1, one) is still referenced from table \"c\"."),
        ("drop table p", "constraint k on table c depends on table p"),
        ("alter table p drop constraint p_pkey", "constraint k on table c depends on index p_pkey"),
        ("alter table p drop column a", "constraint k on table c depends on column a of table p"),
        ("truncate p", "Table \"c\" references \"p\"."),
        ("alter table c alter x type text", "Key columns \"x\" and \"a\" are of incompatible types: text and integer."),
    ];
    for (sql, detail) in cases {
        assert_eq!(error(&mut session, sql).detail.as_deref(), Some(detail), "{sql}");
    }
    let error = error(&mut session, "insert into c values (1, 'uno')");
    let subject = error.subject.expect("a constraint is violated");
    assert_eq!((subject.table.as_str(), subject.constraint.as_deref()), ("c", Some("k")));
    let (recorder, dropped) = query(&mut session, "drop table p cascade");
    assert_eq!(
        (dropped, recorder.notices),
        (Ok(()), vec!["NOTICE: drop cascades to constraint k on table c".to_owned()])
    );
    assert_eq!(outcome(&mut session, "insert into c values (1, null)"), "INSERT 0 1");
}

/// Deferred checks run against the definitions of the time of the change: neither table may be altered until then.
#[test]
fn tables_keep_their_definitions_while_a_check_of_them_is_put_off() {
    let database = database("ilock");
    let mut session = session(&database);
    run(
        &mut session,
        "create table p (id int primary key); create table c (p int references p deferrable initially deferred)",
    );
    for sql in [
        "alter table p add x int",
        "alter table c add x int",
        "drop table p cascade",
        "truncate p, c",
        "create index on c (p)",
    ] {
        run(&mut session, "begin; insert into c values (1)");
        assert_eq!(error(&mut session, sql).state.as_str(), "55006", "{sql}");
        run(
            &mut session,
            "rollback; begin; insert into c values (1); insert into p values (1); set constraints all immediate",
        );
        run(&mut session, sql);
        run(&mut session, "rollback");
    }
    // What was found needs no check.
    run(&mut session, "begin; insert into p values (1); insert into c values (1); alter table p add x int; commit");
    assert_eq!(outcome(&mut session, "delete from p"), "23503");
}

/// Engines that plan need no rehearsal for a row whose values name its parents, and no retry for a row whose change
/// cascades to others.
#[test]
fn parents_are_foreseen() {
    for engine in ["2pl-ordered", "2pl-atomic", "vll"] {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, TABLES);
        run(
            &mut session,
            "create table d (id int primary key, c int references c on delete cascade, p int references p (id))",
        );
        run(&mut session, "insert into c values (1, 1); insert into d values (1, 1, 2), (2, null, 1)");
        assert_eq!(outcome(&mut session, "insert into d values (3, 7, 1)"), "23503", "{engine}");
        let estimates = session.estimates();
        assert_eq!((estimates.reconnaissances, estimates.wrong), (0, 0), "{engine}: {estimates:?}");
        run(&mut session, "delete from c where id = 1");
        assert_eq!(outcome(&mut session, "delete from p where id = 1"), "23503", "{engine}: row 2 of d");
        run(&mut session, "delete from p where id = 2");
        let estimates = session.estimates();
        assert_eq!((estimates.reconnaissances, estimates.wrong), (3, 0), "{engine}: {estimates:?}");
    }
}

/// A statement that does not concern a foreign key does not lock the table on the key's other side, so DDL on that
/// table does not block it.
#[test]
fn tables_are_locked_where_a_key_is_concerned() {
    let database = database("ilock");
    let (mut one, mut two) = (session(&database), impatient(&database));
    run(&mut one, TABLES);
    run(&mut one, "insert into c values (1, 1); begin; lock table c in access exclusive mode");
    for (sql, expected) in [
        ("update p set n = n + 1 where id = 1", "UPDATE 1"),
        ("insert into p values (3, 0)", "INSERT 0 1"),
        ("delete from p where id = 3", "55P03"),
        ("update p set id = 4 where id = 3", "55P03"),
    ] {
        assert_eq!(outcome(&mut two, sql), expected, "{sql}");
    }
    run(&mut one, "commit; begin; lock table p in access exclusive mode");
    for (sql, expected) in [
        ("update c set id = 2 where id = 1", "55P03"),
        ("insert into c values (7, 1)", "55P03"),
        ("delete from c", "DELETE 1"),
    ] {
        assert_eq!(outcome(&mut two, sql), expected, "{sql}");
    }
}
