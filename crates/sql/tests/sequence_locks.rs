//! Numbers of a sequence whose definition another transaction is changing.

mod common;

use common::{ENGINES, database, outcome, run, session, waiting};

#[test]
fn numbers_wait_for_a_definition_that_is_not_committed() {
    for engine in ENGINES {
        let database = database(engine);
        let mut owner = session(&database);
        run(&mut owner, "create sequence s; create table t (id serial primary key, n int)");
        let statements = [
            ("select nextval('s')", "s", "101"),
            ("select setval('s', 7)", "s", "7"),
            ("insert into t (n) values (1), (2) returning id", "t_id_seq", "101 102"),
            ("insert into t values (default, 3) returning id", "t_id_seq", "101"),
        ];
        for (sql, sequence, expected) in statements {
            let mut other = session(&database);
            run(&mut other, "set lock_timeout = '1d'");
            run(&mut other, "delete from t");
            run(&mut owner, &format!("begin; alter sequence {sequence} restart 101"));
            let (_, waits) = waiting(&database, other, sql);
            run(&mut owner, "commit");
            assert_eq!(waits.join().expect("no session panics").1, expected, "{engine}: {sql}");
        }
    }
}

#[test]
fn a_definition_waits_for_transactions_that_have_taken_numbers() {
    let database = database("ilock");
    let (mut taker, mut owner, mut other) = (session(&database), session(&database), session(&database));
    run(&mut owner, "create sequence s; create table t (id serial primary key, n int)");
    run(&mut owner, "set lock_timeout = 10");
    for (sql, sequence) in [("select nextval('s')", "s"), ("insert into t (n) values (1)", "t_id_seq")] {
        let alter = format!("alter sequence {sequence} increment 10");
        run(&mut taker, &format!("begin; {sql}"));
        assert_eq!(outcome(&mut owner, &alter), "55P03", "{sql}");
        run(&mut other, sql);
        run(&mut taker, "commit");
        assert_eq!(outcome(&mut owner, &alter), "ALTER SEQUENCE", "{sql}");
    }
    // A value of its own needs no number.
    run(&mut taker, "begin; insert into t values (77, 1)");
    assert_eq!(outcome(&mut owner, "alter sequence t_id_seq increment 5"), "ALTER SEQUENCE");
}
