//! Statements that meet another transaction's change of a row under engines that keep versions, and that cannot be run
//! again as a whole.

mod common;

use common::{Recorder, database, outcome, run, session, waiting};
use hotrow_sql::{Database, Session};
use hotrow_sync::{Arc, thread};

const ENGINES: [&str; 2] = ["mvo", "mvl"];

const TABLES: &str = "create table parent (id int primary key, n int);
    create table child (id int primary key, parent int references parent);
    insert into parent values (1, 0), (2, 0)";

/// Copies rows into the table `child` on a thread of its own. It returns when the session waits.
fn copying(database: &Arc<Database>, session: Session, rows: &'static str) -> thread::JoinHandle<(Session, String)> {
    running(database, session, "copy child from stdin", rows)
}

/// Runs a COPY with these data on a thread of its own, which tells what it has sent and how it ended. The function
/// returns when the session waits.
fn running(
    database: &Arc<Database>,
    mut session: Session,
    sql: &'static str,
    rows: &'static str,
) -> thread::JoinHandle<(Session, String)> {
    let id = session.id();
    let thread = thread::spawn(move || {
        let mut client = Recorder { input: vec![rows.as_bytes().to_vec()], ..Recorder::default() };
        let told = match session.simple_query(sql, &mut client) {
            Ok(()) => client.tags.concat(),
            Err(error) => error.state.as_str().to_owned(),
        };
        (session, String::from_utf8_lossy(&client.output).into_owned() + &told)
    });
    let mut watcher = self::session(database);
    let asked =
        format!("select 1 where exists (select 1 from hotrow_blocking where waiting_pid = {id} and is_certain)");
    while outcome(&mut watcher, &asked) != "1" {
        if thread.is_finished() {
            panic!("it did not wait: {}", thread.join().expect("no panic").1);
        }
        thread::yield_now();
    }
    thread
}

#[test]
fn a_copy_waits_for_who_has_inserted_a_row_and_goes_on() {
    let rows = "7\t1\n8\t2\n9\t1\n";
    let cases = [
        ("insert into child values (8, 1)", "commit", "23505", ["1|8", "2|8"]),
        ("insert into child values (8, 1)", "rollback", "COPY 3", ["4|9", "4|9"]),
        (
            "insert into child values (20, 1), (9, 1); delete from child where id = 20",
            "rollback",
            "COPY 3",
            ["4|9", "4|9"],
        ),
    ];
    for engine in ENGINES {
        for (change, end, told, left) in cases {
            for in_block in [true, false] {
                let database = database(engine);
                let (mut other, mut copier) = (session(&database), session(&database));
                run(&mut other, TABLES);
                run(&mut other, &format!("begin; {change}"));
                run(
                    &mut copier,
                    if in_block { "begin; insert into child values (1, 1)" } else { "insert into child values (1, 1)" },
                );
                let copier = copying(&database, copier, rows);
                run(&mut other, end);
                let (mut copier, answer) = copier.join().expect("no panic");
                let what = format!("{engine}: {change}; {end}, {in_block}");
                assert_eq!(answer, told, "{what}");
                if in_block {
                    outcome(&mut copier, "commit");
                }
                let found = outcome(&mut copier, "select count(*), max(id) from child");
                let expected = left[usize::from(!in_block)];
                assert_eq!(found, expected, "{what}");
            }
        }
    }
}

#[test]
fn a_copy_of_changed_rows_waits_and_sends_them_once() {
    let sql = "copy (with x as (update parent set n = n + 1 returning id, n) select * from x order by id) to stdout";
    for engine in ENGINES {
        for begin in ["", "begin"] {
            let database = database(engine);
            let (mut other, mut copier) = (session(&database), session(&database));
            run(&mut other, TABLES);
            run(&mut other, "begin; update parent set n = 5 where id = 2");
            run(&mut copier, begin);
            let copier = running(&database, copier, sql, "");
            run(&mut other, "commit");
            let (mut copier, told) = copier.join().expect("no panic");
            assert_eq!(told, "1\t1\n2\t6\nCOPY 2", "{engine}: {begin}");
            assert_eq!(outcome(&mut copier, "select sum(n) from parent"), "7", "{engine}: {begin}");
        }
    }
}

#[test]
fn a_circle_through_a_copy_has_one_victim() {
    for engine in ENGINES {
        let database = database(engine);
        let (mut one, mut two) = (session(&database), session(&database));
        run(&mut one, TABLES);
        run(&mut one, "begin; insert into child values (8, 1)");
        run(&mut two, "begin; insert into child values (20, 1)");
        let copier = copying(&database, two, "7\t1\n8\t2\n");
        let told = outcome(&mut one, "insert into child values (20, 1)");
        run(&mut one, "rollback");
        let (mut two, copied) = copier.join().expect("no panic");
        let told = (told.as_str(), copied.as_str(), outcome(&mut two, "commit"));
        let possible = [("40P01", "COPY 2", "COMMIT".to_owned()), ("INSERT 0 1", "40P01", "ROLLBACK".to_owned())];
        assert!(possible.contains(&told), "{engine}: {told:?}");
    }
}

/// A cursor's rows are made, and locked, when it is declared. A table's lock keeps DDL and writers apart.
#[test]
fn cursors_that_lock_and_definitions_wait() {
    let cases = [
        ("begin; declare c cursor for select id from parent for update", "DECLARE CURSOR"),
        ("alter table parent add column m int", "ALTER TABLE"),
        ("create index on parent (n)", "CREATE INDEX"),
        ("truncate child, parent", "TRUNCATE TABLE"),
        ("alter table child add foreign key (id) references parent not valid", "ALTER TABLE"),
        ("drop table child, parent", "DROP TABLE"),
    ];
    for engine in ENGINES {
        for (sql, told) in cases {
            for end in ["commit", "rollback"] {
                let database = database(engine);
                let mut other = session(&database);
                run(&mut other, TABLES);
                run(&mut other, "begin; update parent set n = 1 where id = 1");
                let (_, waits) = waiting(&database, session(&database), sql);
                run(&mut other, end);
                let (mut session, answer) = waits.join().expect("no panic");
                assert_eq!(answer, told, "{engine}: {sql}; {end}");
                if told == "DECLARE CURSOR" {
                    assert_eq!(outcome(&mut session, "fetch all c"), "1 2", "{engine}: {end}");
                }
            }
        }
    }
}

#[test]
fn sessions_whose_blocks_fail_are_held_back_and_all_get_through() {
    const SESSIONS: i64 = 12;
    const BLOCKS: i64 = 40;
    let mut is_any_held_back = false;
    for engine in ["mvo", "2pl-waitdie", "2pl-waitfor", "hier", "sli", "1v", "ilock"] {
        let database = database(engine);
        let mut watcher = session(&database);
        run(&mut watcher, TABLES);
        thread::scope(|scope| {
            for number in 0..SESSIONS {
                let database = &database;
                scope.spawn(move || {
                    let mut session = session(database);
                    run(&mut session, "set default_transaction_isolation = serializable");
                    for block in 0..BLOCKS {
                        let (one, other) = if (number + block) % 2 == 0 { (1, 2) } else { (2, 1) };
                        let update = |id| format!("update parent set n = n + 1 where id = {id}");
                        let steps = ["begin".to_owned(), update(one), update(other), "commit".to_owned()];
                        while steps.iter().any(|sql| ["40001", "40P01"].contains(&outcome(&mut session, sql).as_str()))
                        {
                            run(&mut session, "rollback");
                        }
                    }
                });
            }
        });
        let all = SESSIONS * BLOCKS;
        assert_eq!(outcome(&mut watcher, "select n from parent order by id"), format!("{all} {all}"), "{engine}");
        let told = outcome(&mut watcher, "show hotrow.locks");
        if told.contains("held back") {
            assert!(told.contains("admitted 0 of") && told.contains("held back 0,"), "{engine}: {told}");
            is_any_held_back |= engine != "ilock";
        }
    }
    assert!(is_any_held_back);
}

/// A session whose last block has failed because of another one.
fn failed(database: &Arc<Database>) -> Session {
    let mut failing = session(database);
    run(&mut failing, "begin isolation level repeatable read; select n from parent where id = 1");
    run(&mut session(database), "update parent set n = n + 1 where id = 1");
    assert_eq!(outcome(&mut failing, "update parent set n = n + 1 where id = 1"), "40001");
    run(&mut failing, "rollback");
    failing
}

#[test]
fn a_begin_that_is_held_back_ends_when_the_statements_time_is_over() {
    let database = database("mvo");
    run(&mut session(&database), TABLES);
    // A ticket that stands idle counts for 10 ms at the least: if the test is kept off the cores for longer, it tries
    // again.
    let timed_out = (0..200).find_map(|_| {
        let mut last = failed(&database);
        run(&mut last, "set statement_timeout = '1ms'");
        let mut idle: Vec<_> = (0..8).map(|_| failed(&database)).collect();
        idle.iter_mut().for_each(|session| run(session, "begin"));
        (outcome(&mut last, "begin") == "57014").then_some(last)
    });
    let mut last = timed_out.expect("one of them is held back");
    run(&mut last, "reset statement_timeout; begin; update parent set n = n + 1 where id = 2; commit");
    drop(last);
    let admission = database.admission();
    assert_eq!((admission.admitted, admission.held_back), (0, 0));
}

#[test]
fn statements_outside_blocks_are_not_held_back_and_blocks_not_for_long() {
    let database = database("mvo");
    run(&mut session(&database), TABLES);
    let mut idle: Vec<_> = (0..8).map(|_| failed(&database)).collect();
    let mut last = failed(&database);
    idle.iter_mut().for_each(|session| run(session, "begin"));
    assert_eq!(outcome(&mut last, "update parent set n = n + 1 where id = 2"), "UPDATE 1");
    run(&mut last, "begin; update parent set n = n + 1 where id = 2; commit");
    assert!(outcome(&mut last, "show hotrow.locks").starts_with("none are counted"));
}

#[test]
fn a_retry_keeps_its_age_and_what_comes_outside_of_blocks_changes_nothing() {
    let database = database("mvo");
    run(&mut session(&database), TABLES);
    let (mut one, mut other) = (session(&database), session(&database));
    // Each reads what the other writes: the second to commit fails, with its COMMIT.
    for (reader, reads, writes) in [(&mut one, 1, 2), (&mut other, 2, 1)] {
        run(reader, &format!("begin isolation level serializable; select n from parent where id = {reads}"));
        run(reader, &format!("update parent set n = n + 1 where id = {writes}"));
    }
    run(&mut one, "commit");
    assert_eq!(outcome(&mut other, "commit"), "40001");
    let tickets = |session: &mut Session| {
        run(session, "begin");
        let admitted = database.admission().admitted;
        run(session, "commit");
        admitted
    };
    for sql in ["rollback", "select 1", "update parent set n = n + 1"].repeat(5) {
        run(&mut other, sql);
    }
    assert_eq!([tickets(&mut one), tickets(&mut other)], [0, 1]);
    run(&mut other, "begin; rollback and chain");
    assert_eq!(database.admission().admitted, 1);
    run(&mut other, "commit; select pg_advisory_lock(7)");
    assert_eq!(tickets(&mut other), 0, "it holds something");
}
