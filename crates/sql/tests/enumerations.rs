//! Definitions that use an enumerated type, and changes of the type beside them.

mod common;

use common::{change_waits_for_definitions, database, definition_waits_for_change, outcome, run, session};
use hotrow_sql::Session;

/// Statements that make a definition with values, labels or the name of the type `mood`.
const USERS: [&str; 11] = [
    "create table u (m mood)",
    "create table u (a int default length('sad'::mood::text))",
    "create table u as select 'sad'::mood as m",
    "create table u (like t including all)",
    "alter table t add column n mood[]",
    "alter table t add check (m <> 'sad')",
    "alter table t alter column m set default 'sad'",
    "create view v as select id from t where m = 'sad'",
    "create view v as select 'sad'::mood::text as x",
    "create procedure p(given mood default 'sad') begin atomic select 1; end",
    "create trigger c before insert on t for each row when (new.m = 'sad') execute function f()",
];

/// Statements that make the type, a table with a column of it, and a trigger's function.
const SETUP: &str = "create type mood as enum ('sad', 'happy'); create table t (id int primary key, m mood);
    create function f() returns trigger language plpgsql as $$ begin return new; end $$";

/// Changes of the type that have to see all definitions that use it.
const CHANGES: [&str; 4] = [
    "drop type mood cascade",
    "alter type mood rename value 'sad' to 'low'",
    "alter type mood rename to feeling",
    "alter type mood add value 'new'",
];

/// Checks statements one after the other in one session.
fn check(session: &mut Session, cases: &[(&str, &str)]) {
    for (sql, expected) in cases {
        assert_eq!(outcome(session, sql), *expected, "{sql}");
    }
}

#[test]
fn a_change_of_a_type_waits_for_definitions_that_use_it() {
    change_waits_for_definitions(SETUP, &USERS, &CHANGES);
}

#[test]
fn a_definition_waits_for_a_change_of_its_type() {
    definition_waits_for_change(SETUP, &USERS, "alter type mood add value 'new'");
}

#[test]
fn labels_are_there_for_all_at_the_commit() {
    let database = database("mvo");
    let (mut first, mut second) = (session(&database), session(&database));
    run(&mut first, "create type mood as enum ('sad', 'happy'); create table t (id int primary key, m mood)");
    run(&mut first, "prepare labels as select enum_range(null::mood); prepare sad as select 'sad'::mood");
    run(&mut first, "begin; alter type mood add value 'new' before 'sad'");
    check(&mut first, &[("execute labels", "55P04"), ("rollback", "ROLLBACK"), ("execute labels", "{sad,happy}")]);
    run(&mut first, "begin; alter type mood add value 'new' before 'sad'; alter type mood rename value 'sad' to 'low'");
    check(&mut second, &[("select enum_range(null::mood)", "{sad,happy}"), ("select 'new'::mood", "22P02")]);
    run(&mut second, "insert into t values (1, 'sad')");
    run(&mut first, "commit");
    check(&mut first, &[("execute labels", "{new,low,happy}"), ("execute sad", "22P02"), ("select m from t", "low")]);
    check(&mut second, &[("insert into t values (2, 'new')", "INSERT 0 1"), ("select id from t order by m", "2 1")]);
    run(&mut first, "begin; create type own as enum ('a'); alter type own add value 'b'");
    check(&mut first, &[("select enum_last(null::own), 'b'::own", "b|b"), ("rollback", "ROLLBACK")]);
    check(&mut first, &[("select 'a'::own", "42704")]);
}

#[test]
fn a_label_in_the_default_of_an_argument_keeps_its_name() {
    let database = database("ilock");
    let mut session = session(&database);
    run(&mut session, "create type mood as enum ('sad', 'happy')");
    run(
        &mut session,
        "create procedure p(out r text, given mood default 'sad') begin atomic select given::text into r; end",
    );
    check(
        &mut session,
        &[
            ("alter type mood rename value 'sad' to 'low'", "0A000"),
            ("alter type mood rename value 'happy' to 'high'", "ALTER TYPE"),
            ("call p(null)", "sad"),
            ("alter type mood rename to feeling", "0A000"),
            ("drop type mood", "2BP01"),
            ("drop procedure p", "DROP PROCEDURE"),
            ("alter type mood rename value 'sad' to 'low'", "ALTER TYPE"),
            ("drop type mood", "DROP TYPE"),
        ],
    );
}

#[test]
fn a_label_in_the_condition_of_a_trigger_keeps_its_name() {
    let database = database("ilock");
    let mut session = session(&database);
    run(&mut session, SETUP);
    run(&mut session, "create trigger c before insert on t for each row when (new.m <> 'sad') execute function f()");
    check(
        &mut session,
        &[
            ("alter type mood rename value 'sad' to 'low'", "0A000"),
            ("alter type mood rename value 'happy' to 'high'", "ALTER TYPE"),
            ("insert into t values (1, 'sad'), (2, 'high')", "INSERT 0 2"),
            ("drop trigger c on t", "DROP TRIGGER"),
            ("alter type mood rename value 'sad' to 'low'", "ALTER TYPE"),
            ("select m from t order by id", "low high"),
        ],
    );
}
