//! DO: what its client is told, and what other sessions do meanwhile.

mod common;

use common::{database, error, outcome, query, run, session};
use hotrow_sql::{SqlError, state};
use hotrow_sync::thread;

#[test]
fn notices_come_and_errors_with_their_places() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, "create table t (id int primary key)");
    let (recorder, result) = query(
        &mut session,
        "do $$
        declare
            x int := 7;
        begin
            raise notice 'x is % and % %%', x, null;
            raise warning using message = 'careful';
            raise info 'told';
            raise debug 'not told';
            insert into t values (1);
            insert into t values (1);
        end $$",
    );
    assert_eq!(recorder.notices, ["NOTICE: x is 7 and <NULL> %", "WARNING: careful", "INFO: told"]);
    let error = result.expect_err("a duplicate");
    assert_eq!((error.state, error.position), (state::UNIQUE_VIOLATION, None));
    assert_eq!(
        error.context.as_deref(),
        Some(
            "SQL statement \"insert into t values (1)\"\n\
             PL/pgSQL function inline_code_block line 10 at SQL statement"
        )
    );
    assert_eq!(outcome(&mut session, "select count(*) from t"), "0");
}

#[test]
fn mistakes_are_found_before_anything_runs() {
    let database = database("serial");
    let mut session = session(&database);
    run(&mut session, "create table t (id int primary key)");
    let position = |error: &SqlError| error.position.map(|position| position as usize);
    for (body, at, message) in [
        ("begin insert into t values (1); nope := 1; end", "nope", "\"nope\" is not a known variable"),
        ("begin insert into t values (1); selec 1; end", "selec", "syntax error at or near \"selec\""),
        ("begin insert into t values (1); perform 1 + ; end", " ; end", "syntax error at end of input"),
        (
            "begin insert into t values (1); exit; end",
            "; end",
            "EXIT cannot be used outside a loop, unless it has a label",
        ),
        ("begin insert into t values (1); loop", "", "syntax error at end of input"),
    ] {
        let sql = format!("do $b$ {body}$b$");
        let error = error(&mut session, &sql);
        assert_eq!(error.message, message, "{sql}");
        let expected = sql.find(at).filter(|_| !at.is_empty()).map_or(sql.len() - 2, |at| at + 1);
        assert_eq!(position(&error), Some(expected), "{sql}");
        assert_eq!(outcome(&mut session, "select count(*) from t"), "0");
    }
}

#[test]
fn a_body_that_does_not_end_is_cancelled() {
    for engine in ["serial", "ilock", "vll", "mvo"] {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, "create table t (n int primary key); insert into t values (1)");
        run(&mut session, "create procedure forever() language plpgsql as $$ begin loop null; end loop; end $$");
        run(&mut session, "set statement_timeout = '20ms'");
        for sql in [
            "do $$ begin loop null; end loop; end $$",
            "do $$ begin loop update t set n = n + 1; end loop; end $$",
            // No handler takes it.
            "do $$ begin loop null; end loop; exception when others then null; end $$",
            "call forever()",
        ] {
            assert_eq!(error(&mut session, sql).state, state::QUERY_CANCELED, "{engine}: {sql}");
        }
        assert_eq!(outcome(&mut session, "select n from t"), "1", "{engine}");
    }
}

#[test]
fn bodies_that_meet_are_as_if_one_had_run_after_the_other() {
    const ROUNDS: usize = 40;
    for engine in ["serial", "ilock", "2pl-waitdie", "2pl-waitfor", "vll", "mvo", "mvl", "1v"] {
        let database = database(engine);
        let mut first = session(&database);
        run(&mut first, "create table c (id int primary key, n int); insert into c values (1, 0), (2, 0)");
        let body = |one: usize, two: usize| {
            format!(
                "do $$
                declare
                    x int;
                begin
                    select n into x from c where id = {one};
                    begin
                        update c set n = x + 1 where id = {one};
                        update c set n = 1000 where id = {two};
                        raise exception 'undone';
                    exception when raise_exception then
                        update c set n = x + 1 where id = {one};
                    end;
                end $$"
            )
        };
        let other = || {
            let mut session = session(&database);
            run(&mut session, "set default_transaction_isolation = 'serializable'");
            session
        };
        let threads = [(1, 2), (2, 1)].map(|(one, two)| {
            let (mut session, body) = (other(), body(one, two));
            thread::spawn(move || {
                for _ in 0..ROUNDS {
                    // A transaction that was given up several times may end with an error that asks for a retry.
                    while let Err(error) = query(&mut session, &body).1 {
                        let may_retry = [state::SERIALIZATION_FAILURE, state::DEADLOCK_DETECTED].contains(&error.state);
                        assert!(may_retry, "{error:?}");
                    }
                }
            })
        });
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert_eq!(outcome(&mut first, "select n from c order by id"), format!("{ROUNDS} {ROUNDS}"), "{engine}");
        database.engine().audit().unwrap_or_else(|error| panic!("{engine}: {error}"));
    }
}

#[test]
fn a_block_goes_on_after_a_handled_error() {
    for engine in ["serial", "ilock", "vll", "mvo"] {
        let database = database(engine);
        let mut session = session(&database);
        run(&mut session, "create table t (id int primary key)");
        run(&mut session, "begin; savepoint one; insert into t values (1)");
        run(
            &mut session,
            "do $$ begin insert into t values (2); insert into t values (1);
             exception when unique_violation then insert into t values (3); end $$",
        );
        assert_eq!(
            error(&mut session, "do $$ begin insert into t values (4); perform 1 / 0; end $$").state.as_str(),
            "22012"
        );
        run(&mut session, "rollback to one; insert into t values (5); commit");
        assert_eq!(outcome(&mut session, "select id from t order by id"), "5", "{engine}");
    }
}
