//! Definitions that use a domain, and changes of the domain beside them.

mod common;

use common::{change_waits_for_definitions, database, definition_waits_for_change, error, outcome, run, session};

/// Statements that make a definition with values of the domain `few`, or with its name.
const USERS: [&str; 9] = [
    "create table u (m few)",
    "create table u (a int default 3::few)",
    "create table u as select 3::few as m",
    "create table u (like t)",
    "create domain fewer as few",
    "alter table t add column n few",
    "alter table t add check (id::few > 0)",
    "create view v as select m from t",
    "create procedure p(given few) begin atomic select 1; end",
];

const SETUP: &str = "create domain few as int check (value < 10); create table t (id int primary key, m few)";

/// Changes of the domain that have to see all definitions that use it.
const CHANGES: [&str; 4] = [
    "drop domain few cascade",
    "alter domain few rename to many",
    "alter domain few add check (value > 0)",
    "alter domain few set not null",
];

#[test]
fn a_change_of_a_domain_waits_for_definitions_that_use_it() {
    change_waits_for_definitions(SETUP, &USERS, &CHANGES);
}

#[test]
fn a_definition_waits_for_a_change_of_its_domain() {
    definition_waits_for_change(SETUP, &USERS, "alter domain few set default 4");
}

#[test]
fn a_constraint_is_checked_on_rows_that_others_insert_and_in_their_plans() {
    for engine in ["ilock", "mvo", "2pl-waitdie", "serial"] {
        let database = database(engine);
        let (mut first, mut second) = (session(&database), session(&database));
        run(&mut first, SETUP);
        run(&mut second, "prepare add as insert into t values ($1, $2); prepare made as select $1::few");
        run(&mut second, "execute add(1, 9)");
        assert_eq!(outcome(&mut second, "execute made(9)"), "9", "{engine}");
        assert_eq!(outcome(&mut first, "alter domain few add constraint less check (value < 9)"), "23514", "{engine}");
        run(&mut first, "update t set m = 8; alter domain few add constraint less check (value < 9)");
        assert_eq!(outcome(&mut second, "execute add(2, 9)"), "23514", "{engine}");
        assert_eq!(outcome(&mut second, "execute made(9)"), "23514", "{engine}");
        run(&mut first, "begin; alter domain few drop constraint less");
        assert_eq!(outcome(&mut second, "execute made(9)"), "23514", "{engine}");
        assert_eq!(outcome(&mut first, "select 9::few"), "9", "{engine}");
        run(&mut first, "rollback");
        assert_eq!(outcome(&mut first, "select 9::few"), "23514", "{engine}");
    }
}

#[test]
fn an_error_names_the_domain_and_its_constraint() {
    let database = database("ilock");
    let mut session = session(&database);
    run(&mut session, "create schema s; create domain s.few as int not null constraint less check (value < 10)");
    for (sql, message, constraint) in [
        ("select 10::s.few", "value for domain s.few violates check constraint \"less\"", Some("less")),
        ("select null::s.few", "domain s.few does not allow null values", None),
    ] {
        let refused = error(&mut session, sql);
        assert_eq!(refused.message, message);
        let subject = refused.subject.expect("a subject");
        assert_eq!((subject.schema.as_str(), subject.datatype.as_deref()), ("s", Some("few")));
        assert_eq!(subject.constraint.as_deref(), constraint);
    }
}
