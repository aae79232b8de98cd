//! One-shot transactions under the engines that lock the rows of an access set together.

mod common;

use common::{Recorder, bind, database, execute, meanwhile, outcome, query, run, session};
use hotrow_sql::{Database, Session};
use hotrow_storage::Value;
use hotrow_sync::{Arc, thread};

const TABLES: &str = "
    create table a (id int primary key, n int not null);
    insert into a values (1, 0), (2, 0), (3, 0);
    create table parent (id int primary key, note text);
    insert into parent values (1, 'x');
    create table child (id int primary key, parent int references parent);
    create procedure add(one int, two int, three int) language sql as $$
        update a set n = n + 1 where id = one;
        update a set n = n + 1 where id = two;
        update a set n = n + 1 where id = three $$;
    create procedure look_and_add(one int, two int, three int) language sql as $$
        declare found_id int;
        select id into found_id from parent where note = 'x';
        if (select count(*) from child) >= 0 then
            update a set n = n + found_id where id = one;
        end if;
        call add(two, three, 9) $$";

const LEVELS: [&str; 2] = ["read committed", "serializable"];

/// The engines that lock access sets.
fn engines() -> Vec<&'static str> {
    let locks_accesses = |name: &&str| database(name).engine().info().capabilities.locks_accesses;
    let engines: Vec<_> = common::ENGINES.into_iter().filter(locks_accesses).collect();
    assert!(!engines.is_empty());
    engines
}

fn tables(engine: &str, level: &str) -> (Arc<Database>, [Session; 3]) {
    let database = database(engine);
    let sessions = [(); 3].map(|()| {
        let mut session = session(&database);
        run(&mut session, &format!("set default_transaction_isolation = '{level}'"));
        session
    });
    run(&mut session(&database), TABLES);
    (database, sessions)
}

/// Runs on a thread of its own, and returns when the session waits.
fn waiting(
    database: &Arc<Database>,
    mut session: Session,
    act: impl FnOnce(&mut Session) -> String + Send + 'static,
) -> thread::JoinHandle<String> {
    let id = session.id();
    let thread = thread::spawn(move || act(&mut session));
    let mut watcher = common::session(database);
    let asked = format!("select 1 where exists (select 1 from hotrow_blocking where waiting_pid = {id})");
    while outcome(&mut watcher, &asked) != "1" {
        thread::yield_now();
    }
    thread
}

/// A pipeline that adds one to each of these rows.
fn pipeline(session: &mut Session, rows: [i32; 3]) -> String {
    let add = "update a set n = n + 1 where id = $1";
    let statement = session.foresee(add, &[]).expect(add);
    let mut told = String::new();
    for (at, row) in rows.into_iter().enumerate() {
        bind(session, &statement, &[Value::Int4(row)]).expect("bound");
        if at == 0 {
            assert!(session.wants_pipeline());
            let rest = rows[1..].iter().map(|&row| (statement.clone(), vec![Value::Int4(row)])).collect();
            session.announce_pipeline(rest);
        }
        let (Recorder { tags, .. }, executed) = execute(session, 0);
        match executed {
            Ok(_) => told = tags.join(" "),
            Err(error) => return error.state.as_str().to_owned(),
        }
    }
    session.sync().expect("it commits");
    told
}

/// Changes three rows in this order, in one transaction.
type Form = fn(&mut Session, [i32; 3]) -> String;

/// Transactions of several statements, and what they say in the end.
const FORMS: [(Form, &str); 4] = [
    (
        |session, rows| {
            let add = |row| format!("update a set n = n + 1 where id = {row}");
            outcome(session, &rows.map(add).join("; "))
        },
        "UPDATE 1",
    ),
    (|session, [one, two, three]| outcome(session, &format!("call add({one}, {two}, {three})")), "CALL"),
    (|session, [one, two, three]| outcome(session, &format!("call look_and_add({one}, {two}, {three})")), "CALL"),
    (pipeline, "UPDATE 1"),
];

#[test]
fn transactions_of_the_same_rows_in_other_orders_do_not_deadlock() {
    for engine in engines() {
        for (level, (form, expected)) in LEVELS.into_iter().flat_map(|level| FORMS.map(|form| (level, form))) {
            let (database, [mut block, one, other]) = tables(engine, level);
            run(&mut block, "begin; update a set n = n + 1 where id = 3");
            // If each locked as it goes, it would have its first row by now, and the last row would be the other one's.
            let one = waiting(&database, one, move |session| form(session, [1, 3, 2]));
            let other = waiting(&database, other, move |session| form(session, [2, 3, 1]));
            run(&mut block, "commit");
            assert_eq!([one, other].map(|one| one.join().expect("no panic")), [expected; 2], "{engine}, {level}");
            assert_eq!(outcome(&mut block, "select n from a where id = 3"), "3", "{engine}, {level}");
            let totals = database.totals();
            assert_eq!((totals.retries, totals.aborts().map(|(_, count)| count).sum()), (0, 0_u64), "{engine}");
        }
    }
}

#[test]
fn a_block_that_deadlocks_with_such_a_transaction_goes_on_and_that_one_is_tried_again() {
    for (engine, level) in engines().into_iter().flat_map(|engine| LEVELS.map(|level| (engine, level))) {
        let retries = [(1, 2), (2, 1)].map(|(first, then)| {
            let (database, [mut block, one, _]) = tables(engine, level);
            run(&mut block, &format!("begin; update a set n = n + 1 where id = {first}"));
            let rows = "update a set n = n + 1 where id = 1; update a set n = n + 1 where id = 2";
            let one = waiting(&database, one, |session| outcome(session, rows));
            run(&mut block, &format!("update a set n = n + 1 where id = {then}; commit"));
            assert_eq!(one.join().expect("no panic"), "UPDATE 1", "{engine}, {level}");
            assert_eq!(outcome(&mut block, "select id, n from a where id < 3 order by id"), "1|2 2|2", "{engine}");
            database.totals().retries
        });
        assert_eq!(retries.iter().sum::<u64>(), 1, "one of the two rows is locked before the other: {engine}, {level}");
    }
}

#[test]
fn an_idle_block_shuts_out_only_who_touches_its_rows() {
    for engine in engines() {
        for level in LEVELS {
            let (_database, [mut block, mut one, _]) = tables(engine, level);
            run(&mut one, "set lock_timeout = '5ms'");
            run(&mut block, "begin; update a set n = n + 1 where id = 3; update parent set note = 'y' where id = 1");
            let cases = [
                ("update a set n = n + 1 where id = 1; update a set n = n + 1 where id = 2", "UPDATE 1"),
                ("update a set n = n + 1 where id = 1; update a set n = n + 1 where id = 3", "55P03"),
                ("update a set n = n + 1 where id in (1, 2)", "UPDATE 2"),
                ("insert into a values (4, 0), (5, 0)", "INSERT 0 2"),
                ("delete from a where id = 4; delete from a where id = 5", "DELETE 1"),
                // The parent's key stays as it is.
                ("insert into child values (1, 1), (2, 1); insert into child values (3, 1)", "INSERT 0 1"),
                ("insert into child values (4, 1); insert into child values (5, 2)", "23503"),
            ];
            for (statements, expected) in cases {
                assert_eq!(outcome(&mut one, statements), expected, "{engine}, {level}: {statements}");
            }
        }
    }
}

#[test]
fn who_does_not_want_to_wait_does_not() {
    for engine in engines() {
        for level in LEVELS {
            let (_database, [mut block, mut one, _]) = tables(engine, level);
            run(
                &mut one,
                "set statement_timeout = '10s';
                 create procedure take() language sql as $$
                    select id from a where id = 3 for update nowait;
                    update a set n = 1 where id = 3;
                    update a set n = 1 where id = 1 $$",
            );
            run(&mut block, "begin; update a set n = n + 1 where id = 3");
            let cases = [
                ("select id from a where id in (1, 3) for update skip locked", "1"),
                ("select id from a where id in (1, 3) for update nowait", "55P03"),
                ("select id from a where id = 3 for update nowait; update a set n = 0 where id = 1", "55P03"),
                ("select id from a where id = 3 for update nowait; update a set n = 0 where id in (1, 3)", "55P03"),
                ("call take()", "55P03"),
            ];
            for (statements, expected) in cases {
                assert_eq!(outcome(&mut one, statements), expected, "{engine}, {level}: {statements}");
            }
        }
    }
}

#[test]
fn rows_whose_number_nobody_knows_are_sent_as_they_come() {
    // Whether the second statement has run when the first one's rows come.
    let cases = [("select n from a where n = 0", "0"), ("select n from a where id = 3", "1")];
    for engine in engines() {
        for (query, expected) in cases {
            let (_database, [mut one, mut other, _]) = tables(engine, "read committed");
            run(&mut other, "set lock_timeout = '5ms'");
            let seen = [("select n from a where id = 1", expected)];
            let statements = format!("{query}; update a set n = n + 1 where id in (1, 2)");
            assert!(meanwhile(&mut one, &statements, &mut other, &seen) > 0, "{engine}: {statements}");
            assert_eq!(outcome(&mut one, "select n from a where id = 1"), "1", "{engine}: {statements}");
        }
    }
}

#[test]
fn what_statements_say_is_what_they_say_one_by_one() {
    for engine in engines() {
        for level in LEVELS {
            let (_database, [mut one, mut block, _]) = tables(engine, level);
            run(
                &mut one,
                "create schema x; create table x.a (id int primary key, n int); insert into x.a values (1, 70);
                 create table due (id int primary key, a int references a deferrable initially deferred)",
            );
            let path = "select set_config('search_path', 'x', true); select n from a where id = 1;
                update a set n = n + 1 where id in (1, 2)";
            run(&mut one, path);
            assert_eq!(outcome(&mut one, "select n from x.a"), "71", "{engine}");
            // A transaction that does not commit has no last tag, but all that it said before.
            let (told, refused) =
                query(&mut one, "update a set n = 1 where id in (1, 2); insert into due values (1, 9)");
            assert_eq!(refused.expect_err("there is no row 9").state.as_str(), "23503", "{engine}");
            assert_eq!(told.tags, ["UPDATE 2"], "{engine}");
            // What is refused anyway waits for nobody.
            run(&mut block, "begin; update a set n = 5 where id = 1");
            run(&mut one, "set default_transaction_read_only = on; set statement_timeout = '10s'");
            let statements = "select n from a where id = 2; update a set n = 1 where id = 1";
            assert_eq!(outcome(&mut one, statements), "25006", "{engine}");
        }
    }
}

#[test]
fn a_statement_is_read_after_what_those_before_it_have_set() {
    let days = "create table days (id int primary key, day date, v int) partition by hash (id);
        insert into days values (1), (2)";
    let statements = "select set_config('datestyle', 'DMY', false);
        update days set day = '01/02/2024' where id = 1; update days set v = 1 where id = 2";
    let locks =
        "select pg_advisory_lock(5); update days set v = v + 1 where id = 1; update days set v = 1 where id = 2";
    common::check(
        days,
        &[
            (statements, "ISO, DMY"),
            ("select day from days where id = 1", "2024-02-01"),
            (locks, ""),
            ("select pg_advisory_unlock(5)", "t"),
            ("select pg_advisory_unlock(5)", "f"),
        ],
    );
}
