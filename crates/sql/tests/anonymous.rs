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

#[test]
fn names_mean_what_they_do_when_a_statement_runs() {
    let database = database("ilock");
    let mut session = session(&database);
    run(
        &mut session,
        "create table ty (c int); create sequence cs; create table nk (a int, b text); insert into nk values (1, 'x');
         create procedure po(out o int) language plpgsql as $$ begin o := 7; end $$;
         create procedure pr() language plpgsql as $$ begin for i in 1..2 loop declare r record; begin
             if i = 1 then select 5 as a into r; end if; raise notice '%', r.a; end; end loop; end $$;
         create procedure atomic(inout n int) begin atomic
             loop n := n + 1; exit when n > 5; end loop;
             begin n := n * 10; end;
             for i in 1..2 loop if n > 0 then n := n + i; end if; end loop;
         end",
    );
    let cases: [(&str, &[&str]); 12] = [
        ("declare r record; begin select 1 as a into r; for i in 1..3 loop
            select r.a + 1::bigint as a into r; raise notice '%', r.a; end loop; end", &["2", "3", "4"]),
        ("begin for i in 1..2 loop declare r record; begin select i as a into r;
            if i = 2 then raise notice '%', r.a; end if; end; end loop; end", &["2"]),
        ("begin for i in 1..2 loop declare r record; begin if i = 1 then select 5 as a into r; end if;
            raise notice '%', r.a; end; end loop; exception when others then raise notice '%', sqlstate; end",
            &["5", "55000"]),
        ("begin for i in 1..2 loop declare x ty.c%type := 5; begin
            if i = 2 then insert into ty values (x); raise notice '%', x; end if; end;
            if i = 1 then alter table ty alter c type text; end if; end loop; end", &["5"]),
        ("begin for i in 1..3 loop case nextval('cs') when 1 then raise notice 'one'; when 2 then raise notice 'two';
            else raise notice 'else'; end case; end loop; end", &["one", "two", "else"]),
        ("declare r nk%rowtype; begin select * into r from nk; call po(r.a); raise notice '% %', r.a, r.b; end",
            &["7 x"]),
        ("declare r record; begin for r in select g as a from generate_series(1, 2) g loop raise notice '%', r.a;
            for r in select 'z' as b loop null; end loop; end loop; end", &["1", "2"]),
        ("declare r record; begin select 1 as a into r; begin select 1 / 0 as b into r;
            exception when others then raise notice '%', r.a; end; end", &["1"]),
        ("begin with w as (select 5 as v) insert into nk select v, 'w' from w;
            raise notice $x$% %$x$, array[1, 2], found; end", &["{1,2} t"]),
        ("declare r record; begin for i in 1..3 loop if i = 2 then select i as a into r; raise notice 'a %', r.a;
            else select i as b into r; raise notice 'b %', r.b; end if; end loop; end", &["b 1", "a 2", "b 3"]),
        // A loop says whether it had rounds when it ends, but not if an error ends it.
        (
            "begin for i in 1..2 loop raise notice '%', found; end loop; raise notice '%', found;
             for i in 2..1 loop null; end loop; raise notice '%', found;
             for i in 1..2 loop perform 1 / 0; end loop; exception when others then raise notice '%', found; end",
            &["f", "f", "t", "f", "f"],
        ),
        ("begin lock table nk; set constraints all deferred; set local search_path = pg_catalog; end", &[]),
    ];
    for (body, expected) in cases {
        let (recorder, result) = query(&mut session, &format!("do $$ {body} $$"));
        let told: Vec<_> = expected.iter().map(|line| format!("NOTICE: {line}")).collect();
        assert_eq!((recorder.notices, result), (told, Ok(())), "{body}");
    }
    let (recorder, _) = query(&mut session, "call pr()");
    assert_eq!(recorder.notices, ["NOTICE: 5", "NOTICE: <NULL>"]);
    assert_eq!(outcome(&mut session, "call atomic(1)"), "63");
}

#[test]
fn a_body_neither_ends_its_transaction_nor_leaves_anything_behind() {
    let database = database("mvo");
    let mut session = session(&database);
    run(&mut session, "create table t (id int primary key)");
    for (name, sql) in
        [("c", "commit"), ("b", "begin"), ("r", "rollback"), ("s", "savepoint x"), ("d", "do $$ begin end $$")]
    {
        session.parse(name, sql, &[]).expect(sql);
        let body = format!(
            "do $$ begin insert into t values (1);
             begin execute 'execute {name}'; exception when division_by_zero then null; end; end $$"
        );
        let state = error(&mut session, &body).state;
        assert!([state::INVALID_TRANSACTION_TERMINATION, state::FEATURE_NOT_SUPPORTED].contains(&state), "{sql}");
    }
    for (body, state) in [
        ("execute 'prepare q as select 1'", "25001"),
        ("discard all", "25001"),
        ("vacuum", "25001"),
        ("create table made as select $1::int as x", "42P02"),
        ("execute 'select $2' using 1", "42P02"),
        ("commit", "2D000"),
    ] {
        assert_eq!(error(&mut session, &format!("do $$ begin {body}; end $$")).state.as_str(), state, "{body}");
    }
    assert_eq!(outcome(&mut session, "select count(*) from t"), "0");
}

#[test]
fn a_loop_whose_end_depends_on_its_changes_is_not_rehearsed() {
    for engine in ["vll", "orthrus"] {
        let database = database(engine);
        let mut session = session(&database);
        run(
            &mut session,
            "create table t (k int primary key, a int); insert into t values (1, 0);
             create procedure until_three(n int) language plpgsql as $$ begin for i in 1..n loop
                 update t set a = a + 1 where k = 1; exit when (select a from t where k = 1) >= 3; end loop; end $$",
        );
        assert_eq!(outcome(&mut session, "call until_three(2000000000)"), "CALL", "{engine}");
        assert_eq!(outcome(&mut session, "select a from t"), "3", "{engine}");
    }
}
