//! One-shot transactions on the engines that want to know beforehand what a transaction will touch.

mod common;

use common::{EachRow, Recorder, bind, database, execute, meanwhile, outcome, query, run};
use hotrow_sql::{Database, Session, SqlState, isolation, state};
use hotrow_storage::Value;
use hotrow_sync::{Arc, thread};
use hotrow_txn::Isolation;

const TABLES: &str = "
    create table a (id int primary key, n int not null, tag int unique) partition by hash (id);
    insert into a values (1, 10, 1), (2, 20, 2), (3, 30, 3);
    create table way (id int primary key, target int not null) partition by hash (id);
    insert into way values (1, 1);
    create table history (branch int not null, note text) partition by hash (branch);
    create index on history (note);
    create procedure add(key int, amount int, out left_over int) language sql as $$
        update a set n = n + amount where id = key returning n into left_over $$;
    create procedure follow(out left_over int) language sql as $$
        declare key int;
        select target into key from way where id = 1;
        call add(key, 1, left_over) $$;
    create procedure turn(target int, out left_over int) language sql as $$
        update way set target = turn.target where id = 1;
        call follow(left_over) $$";

/// The engines that need access sets.
fn engines() -> impl Iterator<Item = &'static str> {
    let engines = hotrow_protocols::ENGINES.iter().filter(|info| info.capabilities.needs_accesses && info.isolates);
    engines.map(|info| info.name)
}

/// Returns the engines that need access sets and under which two transactions on different rows run side by side,
/// wherever the rows are. Under the other engines a transaction may find rows of its partition that are not in its
/// access set.
fn engines_of_rows() -> impl Iterator<Item = &'static str> {
    let partitions =
        |name: &&str| hotrow_protocols::ENGINES.iter().any(|info| info.name == *name && info.keeps_partitions());
    engines().filter(move |name| !partitions(name))
}

/// A session whose transactions are serializable, so that read-only statements are planned, too.
fn session(database: &Arc<Database>) -> Session {
    let mut session = common::session(database);
    run(&mut session, "set default_transaction_isolation = serializable");
    session
}

fn tables(engine: &str) -> Arc<Database> {
    let database = database(engine);
    run(&mut session(&database), TABLES);
    database
}

#[test]
fn engines_are_there() {
    assert!(engines().any(|engine| engine == "2pl-ordered"));
}

#[test]
fn the_level_that_is_shown_is_the_one_that_is_granted() {
    for engine in engines() {
        let database = tables(engine);
        let mut session = session(&database);
        for level in Isolation::ALL {
            run(&mut session, &format!("begin isolation level {}", isolation::name(level)));
            let granted = database.engine().info().granted(level).name();
            assert_eq!(outcome(&mut session, "show transaction_isolation"), granted, "{engine}, {level}");
            run(&mut session, "commit");
        }
    }
}

#[test]
fn one_shot_transactions_exclude_only_those_who_touch_the_same() {
    const OTHERS: [(&str, &str); 6] = [
        ("update a set n = n + 1 where id = 2", "UPDATE 1"),
        ("call add(3, 1, null)", "31"),
        ("insert into a values (4, 40, 4)", "INSERT 0 1"),
        ("update a set n = n + 1 where id = 2; select n from a where id = 2", "22"),
        ("delete from a where id = 4; select n - 1 from a where id = 3", "30"),
        ("update a set n = 30 where id = 3", "UPDATE 1"),
    ];
    const SAME: [(&str, &str); 4] = [
        ("update a set n = 0 where id = 1", "55P03"),
        ("call add(1, 1, null)", "55P03"),
        ("delete from a where id = 1", "55P03"),
        ("update a set n = 0 where id = 3; update a set n = 0 where id = 1", "55P03"),
    ];
    const BLOCK: [(&str, &str); 4] = [
        // The block has only read.
        ("select n from a where id = 2", "20"),
        ("call add(3, 1, null)", "55P03"),
        ("begin", "BEGIN"),
        ("rollback", "ROLLBACK"),
    ];
    // The statement that is still open when it tells its row, and what others can do meanwhile.
    let cases: [(&str, &[(&str, &str)]); 8] = [
        ("select n from a where id = 1", &OTHERS),
        ("select n from a where id = 1 for update", &OTHERS),
        // What only reads may have been given copies.
        ("select n from a where id = 1 for update", &SAME),
        ("call add(1, 1, null)", &OTHERS),
        ("call add(1, 1, null)", &SAME),
        ("update a set n = 0 where id = 1 returning n", &SAME),
        ("begin; select n from a where id = 1; rollback", &BLOCK),
        ("begin; rollback; select n from a where id = 1", &BLOCK[2..]),
    ];
    for engine in engines_of_rows() {
        for (open, statements) in cases {
            let database = tables(engine);
            let (mut one, mut two) = (session(&database), session(&database));
            run(&mut two, "set lock_timeout = '1ms'");
            assert_eq!(meanwhile(&mut one, open, &mut two, statements), 1, "{engine}: {open}");
        }
    }
}

#[test]
fn point_statements_need_no_rehearsal_and_wrong_sets_are_corrected() {
    // A statement, its outcome, and how many rehearsals and corrections there were.
    let cases = [
        ("select n from a where id = 1", "10", (0, 0)),
        ("select n from a where id = 9", "", (0, 0)),
        ("select sum(n) from a", "60", (0, 0)),
        ("select sum(n) from a where id between 1 and 2", "30", (0, 0)),
        ("select n from a where tag = 2", "20", (0, 0)),
        ("select n from a order by id limit 1", "10", (1, 0)),
        ("update a set n = n + 1 where id = 1", "UPDATE 1", (0, 0)),
        ("update a set n = n - 1 where tag = 1", "UPDATE 1", (0, 0)),
        ("update a set tag = 5 where id = 1", "UPDATE 1", (1, 0)),
        ("update a set id = 7 where id = 1", "UPDATE 1", (1, 0)),
        ("update a set id = 1, tag = 1 where id = 7", "UPDATE 1", (1, 0)),
        ("insert into a values (4, 40, 4)", "INSERT 0 1", (0, 0)),
        ("insert into a values (4, 40, 4)", "23505", (0, 0)),
        ("insert into a values (5, 40, 4)", "23505", (0, 0)),
        ("insert into a values (4, 40, 4) on conflict (id) do update set n = excluded.n + 1 returning n", "41", (0, 0)),
        ("insert into a select id + 10, n, id + 10 from a where id = 4", "INSERT 0 1", (1, 0)),
        ("delete from a where id = 4 and n = 41", "DELETE 1", (1, 0)),
        ("delete from a where id > 3", "DELETE 1", (1, 0)),
        (
            "update a set n = n + 1 where id = 1; update a set n = n - 1 where id = 1; select n from a where id = 1",
            "10",
            (0, 0),
        ),
        ("call add(2, 0, null)", "20", (0, 0)),
        ("call follow(null)", "11", (1, 0)),
        // The rehearsal does not see what it writes itself.
        ("call turn(2, null)", "21", (1, 1)),
        ("call turn(1, null)", "12", (1, 1)),
        ("call add(1, -1, null)", "11", (0, 0)),
        ("insert into history values (1, 'a'), (2, 'b'), (1, 'a')", "INSERT 0 3", (0, 0)),
        ("select count(*) from history where note = 'a'", "2", (0, 0)),
        ("update history set branch = 3 where note = 'a'", "UPDATE 2", (1, 0)),
        ("delete from history where branch = 3", "DELETE 2", (1, 0)),
        ("select 1 / 0", "22012", (0, 0)),
        ("call add(1, 2000000000, null); call add(1, 2000000000, null)", "22003", (0, 0)),
        ("call follow(null); select n from a where id = 1", "12 12", (1, 0)),
        ("call add(1, -1, null)", "11", (0, 0)),
        ("select n from a where id = 1", "11", (0, 0)),
        ("begin; update a set n = 10; commit; select count(*) from a", "3", (0, 0)),
    ];
    let of_rows: Vec<_> = engines_of_rows().collect();
    for engine in engines() {
        let database = tables(engine);
        let mut session = session(&database);
        for (sql, expected, counted) in cases {
            let before = session.estimates();
            assert_eq!(outcome(&mut session, sql), expected, "{engine}: {sql}");
            let after = session.estimates();
            assert_eq!(after.reconnaissances - before.reconnaissances, counted.0, "{engine}: {sql}");
            let wrong = after.wrong - before.wrong;
            assert!(wrong == counted.1 || (wrong == 0 && !of_rows.contains(&engine)), "{engine}: {sql}: {wrong}");
        }
    }
}

#[test]
fn a_write_to_a_view_is_planned_as_one_to_its_table() {
    // A statement, its outcome, and how many rehearsals there were.
    let cases = [
        ("update v set num = num + 1 where id = 1", "UPDATE 1", 0),
        ("update v set num = 500 where id = 1", "44000", 0),
        ("update v set num = num - 1 where mark = 1", "UPDATE 1", 0),
        ("update v set num = 1 where id = 3", "UPDATE 0", 0),
        ("insert into v values (4, 40, 4)", "INSERT 0 1", 0),
        ("insert into v values (5, 500, 5)", "44000", 0),
        (
            "insert into v values (4, 40, 4) on conflict (id) do update set num = excluded.num - 1 returning num",
            "39",
            0,
        ),
        ("delete from v where id = 4", "DELETE 1", 1),
        ("delete from v where id = 3", "DELETE 0", 1),
        ("select num from v where id = 1", "10", 0),
        ("insert into w values (7) returning id", "7", 1),
        ("select count(*) from a", "3", 0),
    ];
    for engine in engines() {
        let database = tables(engine);
        let mut session = session(&database);
        let made = "create view v as select id, n as num, tag as mark from a where n < 30 or id > 3 and n < 100
                with check option;
            create view w as select id from a where n < 100;
            create function nothing() returns trigger language plpgsql as $$ begin return new; end $$;
            create trigger nothing instead of insert on w for each row execute function nothing()";
        run(&mut session, made);
        for (sql, expected, rehearsals) in cases {
            let before = session.estimates();
            assert_eq!(outcome(&mut session, sql), expected, "{engine}: {sql}");
            let after = session.estimates();
            assert_eq!(after.reconnaissances - before.reconnaissances, rehearsals, "{engine}: {sql}");
            assert_eq!(after.wrong, before.wrong, "{engine}: {sql}");
        }
    }
}

#[test]
fn a_procedure_s_accesses_are_followed_as_far_as_its_arguments_tell() {
    // Statements of a body, a call of it, its outcome, and how many rehearsals and corrections there were.
    let cases = [
        ("update a set n = n + 1 where id = key", "1", (0, 0)),
        ("update a set n = n + 1 where id = key; select n into result from a where id = key", "11", (0, 0)),
        ("other := key + 1; select n into result from a where id = other", "20", (0, 0)),
        ("select sum(n) into result from a where id between key and key + 1", "30", (0, 0)),
        ("select sum(n) into result from a", "60", (0, 0)),
        ("select n into result from a where tag = key + 1", "20", (0, 0)),
        ("select n into result from a where id > key", "20", (1, 0)),
        ("select n into result from a where n > key order by id", "10", (1, 0)),
        ("delete from way where id = key; result := 5", "5", (0, 0)),
        ("delete from a where id = key; select count(*) into result from a", "2", (1, 0)),
        (
            "insert into a values (key + 10, result, key + 10); select tag into result from a where id = key + 10",
            "11",
            (0, 0),
        ),
        ("insert into a values (key + 10, 0, key + 10) on conflict (tag) do nothing", "1", (0, 0)),
        ("insert into a values (9, 0, key) on conflict (tag) do update set n = a.n + 7", "1", (0, 0)),
        (
            "insert into way values (2, 0); select target into other from way where id = 1; \
          insert into a values (7, other, 7); select n into result from a where id = 7",
            "1",
            (0, 0),
        ),
        ("select target into other from way where id = 1; insert into a values (other + 6, 0, 6)", "1", (1, 0)),
        (
            "select target into other from way where id = 1; other := key; update a set n = 0 where id = other",
            "1",
            (0, 0),
        ),
        (
            "select target into other from way where id = key; select n into result from a where id = other",
            "10",
            (1, 0),
        ),
        // Both ways are in the set if nobody knows which one it will be.
        (
            "if key = 1 then update a set n = 0 where id = 1; else select target into other from way; \
          delete from a where id = other; end if",
            "1",
            (0, 0),
        ),
        (
            "select target into other from way where id = 1; \
          if other = 5 then update a set n = 0 where id = 1; elsif other = 1 then update a set n = 0 where id = 2; \
          else return; end if; select n into result from a where id = 2",
            "0",
            (0, 0),
        ),
        (
            "select target into other from way where id = 1; if other = 1 then result := 2; else result := 3; end if; \
          select n into result from a where id = result",
            "20",
            (1, 0),
        ),
        (
            "select target into other from way where id = 1; if other = 1 then result := 2; else return; end if; \
          select n into result from a where id = result",
            "20",
            (0, 0),
        ),
        (
            "select target into other from way where id = 1; if other = 1 then result := 2; else result := 1 / 0; end if; \
          select n into result from a where id = result",
            "20",
            (0, 0),
        ),
        ("if found then delete from a; end if; select 1 into other; if found then result := 4; end if", "4", (0, 0)),
        ("if key = 1 then return; end if; delete from a where n = 10", "1", (0, 0)),
        ("call add(key + 1, 1, result)", "21", (0, 0)),
        ("call add(key, 1, other); call add(other, 1, result)", "NULL", (1, 0)),
        ("if 1 / (key - 1) = 1 then delete from a where n = 10; end if", "22012", (0, 0)),
        ("result := 1 / (key - 1); delete from a where n = 10", "22012", (0, 0)),
        ("update a set n = 0 where id = key; call follow(other); result := other", "1", (1, 0)),
    ];
    for engine in engines() {
        for (body, expected, counted) in cases {
            let database = tables(engine);
            let mut session = session(&database);
            let create = format!(
                "create procedure p(key int, inout result int) language sql as $$ declare other int; begin {body}; end $$"
            );
            run(&mut session, &create);
            assert_eq!(outcome(&mut session, "call p(1, 1)"), expected, "{engine}: {body}");
            let seen = session.estimates();
            assert_eq!((seen.reconnaissances, seen.wrong), counted, "{engine}: {body}");
            database.engine().audit().unwrap_or_else(|error| panic!("{engine}: {body}: {error}"));
        }
    }
}

#[test]
fn a_set_that_is_never_right_is_given_up() {
    for engine in engines() {
        let database = tables(engine);
        let mut session = session(&database);
        run(
            &mut session,
            "create procedure wander(out seen bigint) language sql as $$
                declare key int;
                key := (random() * 1000000000)::int + 1000;
                select count(*) into seen from a where id = key $$",
        );
        assert_eq!(outcome(&mut session, "call wander(null)"), "0", "{engine}");
        let (seen, of_rows) = (session.estimates(), engines_of_rows().any(|of_rows| of_rows == engine));
        assert!(seen.reconnaissances <= 4 && seen.wrong <= 20, "{engine}: {seen:?}");
        assert!(!of_rows || seen.wrong == 20, "{engine}: {seen:?}");
        database.engine().audit().unwrap_or_else(|error| panic!("{engine}: {error}"));
    }
}

#[test]
fn a_statement_that_is_out_of_date_and_follows_its_own_writes_ends() {
    for engine in engines() {
        let database = tables(engine);
        let mut session = session(&database);
        // Each of its rows is known when the one before has been changed: a set that is forgotten is never right.
        let hop = "update hops set next = id + 1 where id = k; select next into k from hops where id = k;".repeat(3);
        run(&mut session, "create table hops (id int primary key, next int) partition by hash (id)");
        run(&mut session, "insert into hops select i, null from generate_series(1, 9) i");
        run(&mut session, &format!("create procedure hop(inout k int) language sql as $$ {hop} $$"));
        let statement = session.parse("hop", "call hop(1)", &[]).expect("a statement");
        run(&mut session, "alter table hops add column more int");
        bind(&mut session, &statement, &[]).expect("bound");
        session.announce_sync();
        assert_eq!(execute(&mut session, 0).0.rows, ["4"], "{engine}");
        session.sync().expect("committed");
        let seen = session.estimates();
        assert!(seen.reconnaissances <= 4 && seen.wrong <= 20, "{engine}: {seen:?}");
    }
}

#[test]
fn a_query_string_tells_all_its_results_in_order() {
    for engine in engines() {
        let database = tables(engine);
        let mut session = session(&database);
        let (recorder, result) = query(
            &mut session,
            "select n from a where id = 1; call turn(2, null); select n from a order by id limit 2",
        );
        assert_eq!((result, recorder.rows.join(" ")), (Ok(()), "10 21 10 21".to_owned()), "{engine}");
        assert_eq!(recorder.tags, ["SELECT 1", "CALL", "SELECT 2"]);
        let (recorder, result) =
            query(&mut session, "update a set n = 0 where id = 1; select 7; select 1 / n from a where id = 1");
        assert_eq!(result.map_err(|error| error.state), Err(state::DIVISION_BY_ZERO), "{engine}");
        assert_eq!(
            (recorder.tags.join(" "), recorder.rows.join(" ")),
            ("UPDATE 1 SELECT 1".to_owned(), "7".to_owned())
        );
        assert_eq!(outcome(&mut session, "select n from a where id = 1"), "10");
        assert_eq!(outcome(&mut session, "select n from a where id = 1; select nope from a"), "42703");
        assert_eq!(
            outcome(
                &mut session,
                "create table b (id int not null) partition by hash (id); insert into b values (1); select id from b"
            ),
            "1"
        );
        assert_eq!(outcome(&mut session, "drop table b; select n from a where id = 3"), "30");
    }
}

#[test]
fn an_announced_sync_makes_a_statement_a_transaction() {
    for engine in engines_of_rows() {
        let database = tables(engine);
        let (mut one, mut two) = (session(&database), session(&database));
        run(&mut two, "set lock_timeout = '1ms'");
        let statement = one.parse("", "select n from a where id = $1", &[]).expect("a statement");
        let call = one.parse("c", "call turn($1, null)", &[]).expect("a statement");
        for (announced, expected) in [(true, "UPDATE 1"), (false, "55P03"), (true, "UPDATE 1")] {
            bind(&mut one, &statement, &[Value::Int4(1)]).expect("bound");
            if announced {
                one.announce_sync();
            }
            let (recorder, _) = execute(&mut one, 0);
            assert_eq!(recorder.rows, ["10"], "{engine}");
            assert_eq!(outcome(&mut two, "update a set n = n where id = 2"), expected, "{engine}, {announced}");
            one.sync().expect("committed");
        }
        bind(&mut one, &call, &[Value::Int4(2)]).expect("bound");
        one.announce_sync();
        assert_eq!(execute(&mut one, 0).0.rows, ["21"]);
        one.sync().expect("committed");
        assert_eq!(one.estimates().wrong, 1);
        // What is not the whole transaction sees the others' rows only after its end.
        bind(&mut one, &call, &[Value::Int4(1)]).expect("bound");
        assert_eq!(execute(&mut one, 0).0.rows, ["11"]);
        bind(&mut one, &statement, &[Value::Int4(1)]).expect("bound");
        assert_eq!(execute(&mut one, 0).0.rows, ["11"]);
        one.sync().expect("committed");
    }
}

#[test]
fn at_read_committed_what_only_reads_is_not_planned_where_the_engine_has_that_level() {
    // What is open when its row is told.
    const READERS: [&str; 5] = [
        "select n from a where id = 1",
        "select n from a where id = 1; select 1 from a where id = 9",
        "begin read only; select n from a where id = 1; commit",
        "select n from a where n = 10 order by id limit 1",
        "call look(1, null)",
    ];
    const OTHERS: [(&str, &str); 3] = [
        ("update a set n = n + 0 where id = 1", "UPDATE 1"),
        ("insert into a values (4, 10, 4)", "INSERT 0 1"),
        ("delete from a where id = 4", "DELETE 1"),
    ];
    for engine in engines_of_rows() {
        let database = tables(engine);
        run(
            &mut session(&database),
            "create procedure look(key int, inout result int) language sql as $$
                select n into result from a where id = key; if result > 0 then return; end if $$",
        );
        let (mut one, mut two) = (common::session(&database), session(&database));
        run(&mut two, "set lock_timeout = '1ms'");
        let offered = database.engine().info().isolation.contains(&Isolation::ReadCommitted);
        let shown = if offered { "read committed" } else { "serializable" };
        assert_eq!(outcome(&mut one, "show transaction_isolation"), shown, "{engine}");
        for reader in READERS {
            let before = one.estimates().reconnaissances;
            if !offered {
                assert_eq!(outcome(&mut one, reader.trim_end_matches("; commit")), "10", "{engine}: {reader}");
                run(&mut one, "rollback");
                continue;
            }
            let rows = meanwhile(&mut one, reader, &mut two, &OTHERS);
            assert_eq!((rows, one.estimates().reconnaissances), (1, before), "{engine}: {reader}");
        }
        // It does not read what is not committed, and waits for that to end.
        run(&mut one, "set lock_timeout = '1ms'");
        let others = [("select n from a where id = 1", "55P03"), ("select n from a where id = 2", "20")];
        let rows = meanwhile(&mut two, "update a set n = 0 where id = 1 returning n", &mut one, &others);
        assert_eq!(rows, 1, "{engine}");
        // What writes, or locks as if to write, is planned.
        let before = one.estimates().reconnaissances;
        run(&mut one, "set lock_timeout = 0");
        run(&mut one, "select n from a where n = 20 order by id limit 1 for update");
        assert_eq!(one.estimates().reconnaissances, before + 1, "{engine}");
        database.engine().audit().unwrap_or_else(|error| panic!("{engine}: {error}"));
    }
}

/// A pipeline's first statement is executed when the others are known.
fn pipeline(session: &mut Session, members: &[(&str, &[Value<'static>])]) -> Vec<Result<String, SqlState>> {
    let statements: Vec<_> =
        members.iter().map(|(sql, params)| (session.foresee(sql, &[]).expect(sql), params.to_vec())).collect();
    let mut outcomes = Vec::new();
    for (at, (statement, params)) in statements.iter().enumerate() {
        bind(session, statement, params).expect("bound");
        if at == 0 {
            assert!(session.wants_pipeline());
            session.announce_pipeline(statements[1..].to_vec());
        }
        let (recorder, executed) = execute(session, 0);
        let shown = format!("{} {}", recorder.rows.join(" "), recorder.tags.join(" "));
        outcomes.push(executed.map(|_| shown.trim_start().to_owned()).map_err(|error| error.state));
        if outcomes.last().is_some_and(Result::is_err) {
            break;
        }
    }
    session.sync().expect("committed, or rolled back before");
    outcomes
}

#[test]
fn a_pipeline_is_one_transaction_that_is_planned() {
    let ok = |shown: &str| Ok(shown.to_owned());
    for engine in engines_of_rows() {
        let database = tables(engine);
        let (mut one, mut two) = (session(&database), session(&database));
        run(&mut two, "set lock_timeout = '1ms'");
        // Another one's transaction is open meanwhile.
        let mut check = |open: &str, members: &[(&str, &[Value<'static>])], expected: &[Result<String, SqlState>]| {
            let mut outcomes = Vec::new();
            let mut client = EachRow(|_: &[Value<'_>]| outcomes = pipeline(&mut two, members));
            one.simple_query(open, &mut client).expect(open);
            assert_eq!(outcomes, expected, "{engine}: {members:?}");
        };
        let update = "update a set n = n + $1 where id = $2";
        check(
            "select n from a where id = 3 for update",
            &[
                (update, &[Value::Int4(5), Value::Int4(1)]),
                ("select n from a where id = $1", &[Value::Int4(1)]),
                ("call turn($1, null)", &[Value::Int4(2)]),
                ("select n from a where id = 2", &[]),
            ],
            &[ok("UPDATE 1"), ok("15 SELECT 1"), ok("21 CALL"), ok("21 SELECT 1")],
        );
        check(
            "select n from a where id = 3 for update",
            &[(update, &[Value::Int4(5), Value::Int4(1)]), (update, &[Value::Int4(5), Value::Int4(3)])],
            &[Err(state::LOCK_NOT_AVAILABLE)],
        );
        check(
            "select n from a where id = 3 for update",
            &[
                (update, &[Value::Int4(5), Value::Int4(1)]),
                ("select 1 / (n - 20) from a where id = 1", &[]),
                (update, &[Value::Int4(5), Value::Int4(1)]),
            ],
            &[ok("UPDATE 1"), Err(state::DIVISION_BY_ZERO)],
        );
        // What is no row's statement makes the others go one by one.
        check(
            "select n from a where id = 3 for update",
            &[(update, &[Value::Int4(5), Value::Int4(1)]), ("set lock_timeout = '2ms'", &[])],
            &[Err(state::LOCK_NOT_AVAILABLE)],
        );
        assert_eq!(outcome(&mut two, "select n from a order by id"), "15 21 30", "{engine}");
        assert_eq!(two.estimates().wrong, 1, "{engine}");
        database.engine().audit().unwrap_or_else(|error| panic!("{engine}: {error}"));
    }
}

#[test]
fn sets_that_move_while_they_are_used_lose_nothing() {
    const THREADS: i32 = 3;
    const ROUNDS: i32 = 150;
    for engine in engines() {
        let database = tables(engine);
        run(
            &mut session(&database),
            "
            create procedure swing(step int, out left_over int) language sql as $$
                declare key int;
                select target into key from way where id = 1;
                update a set n = n + 1 where id = key returning n into left_over;
                update way set target = (key + step) % 3 + 1 where id = 1 $$",
        );
        let threads: Vec<_> = (0..THREADS)
            .map(|step| {
                let database = database.clone();
                thread::spawn(move || {
                    let mut session = session(&database);
                    for _ in 0..ROUNDS {
                        let mut recorder = Recorder::default();
                        session.simple_query(&format!("call swing({step}, null)"), &mut recorder).expect("a call");
                        assert_eq!(recorder.rows.len(), 1);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("no panic");
        }
        let total = 60 + THREADS * ROUNDS;
        assert_eq!(outcome(&mut session(&database), "select sum(n) from a"), total.to_string(), "{engine}");
    }
}

/// A block that writes brings no access set and is alone in the database; one that only reads at read committed, and
/// whose client stays away, is not in its way.
#[test]
fn an_idle_block_that_only_reads_holds_up_nobody_who_is_alone() {
    let reads_committed = |name: &&str| {
        hotrow_protocols::ENGINES
            .iter()
            .any(|info| info.name == *name && info.granted(Isolation::ReadCommitted) == Isolation::ReadCommitted)
    };
    for engine in engines().filter(reads_committed) {
        let database = tables(engine);
        let (mut reader, mut writer) = (common::session(&database), common::session(&database));
        run(&mut writer, "set lock_timeout = '50ms'");
        run(&mut reader, "begin isolation level read committed read only");
        for n in ["11", "12"] {
            outcome(&mut reader, "select n from a where id = 1");
            for sql in ["begin", &format!("update a set n = {n} where id = 1"), "commit"] {
                run(&mut writer, sql);
            }
            assert_eq!(outcome(&mut reader, "select n from a where id = 1"), n, "{engine}");
        }
        run(&mut reader, "commit");
    }
}
