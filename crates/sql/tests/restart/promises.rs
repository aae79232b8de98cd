//! The promise of a commit: which statements wait for the log, and what they get when it refuses or has failed.

use crate::common::{Recorder, error, query, run, session};
use crate::world::{ENGINES, World};
use hotrow_storage::Refusal;

/// Statements that change rows, definitions or sequences of [`world`].
const CHANGES: [&str; 20] = [
    "insert into t values (3, 3)",
    "insert into t select 4, 4",
    "update t set n = 2 where id = 1",
    "delete from t",
    "explain analyze delete from t",
    "copy t from stdin",
    "execute change",
    "call p()",
    "truncate t",
    "create table u (id int primary key)",
    "create index on t (n)",
    "alter table t add column more int",
    "drop table t",
    "create view v as select 1",
    "create sequence r",
    "alter sequence s restart",
    "create schema x",
    "comment on table t is 'x'",
    "select nextval('s')",
    "select setval('s', 9)",
];

/// A database with a table, a sequence, and a procedure that inserts a row.
fn world(engine: &str) -> World {
    let mut world = World::new(engine);
    world.run(
        "create table t (id int primary key, n int); create sequence s; insert into t values (1, 1);
        create procedure p() begin atomic insert into t values (5, 5); end",
    );
    world
}

#[test]
fn a_log_that_is_full_refuses_changes_and_nothing_else() {
    for engine in ENGINES {
        let mut world = world(engine);
        let mut other = session(&world.database);
        run(&mut other, "prepare change as insert into t values (6, 6)");
        world.run("begin; insert into t values (2, 2)");
        world.log.refuse(Some(Refusal::Full));
        // A transaction that has changed something can end.
        world.check(&[("commit", "COMMIT")]);
        for sql in CHANGES {
            let refused = error(&mut other, sql);
            assert_eq!(refused.state.as_str(), "53100", "{engine}: {sql}: {refused:?}");
        }
        let mut copies = Recorder { input: vec![b"7\t7\n".to_vec()], ..Recorder::default() };
        let refused = other.simple_query("copy t from stdin", &mut copies).expect_err("a full log");
        assert_eq!((refused.state.as_str(), copies.input.len()), ("53100", 1), "{engine}: refused before the data");
        world.check(&[
            ("select count(*) from t", "2"),
            ("show lock_timeout", "0"),
            ("begin; rollback", "ROLLBACK"),
            ("begin; select n from t where id = 1", "1"),
            ("commit", "COMMIT"),
            ("begin; insert into t values (3, 3)", "53100"),
            ("select 1", "25P02"),
            ("commit", "ROLLBACK"),
        ]);
        world.log.refuse(None);
        world.check(&[("insert into t values (3, 3)", "INSERT 0 1"), ("select nextval('s')", "1")]);
        assert_eq!(world.restarted().outcome("select id from t order by id"), "1 2 3", "{engine}");
    }
}

#[test]
fn a_log_that_has_failed_acknowledges_nothing() {
    for engine in ENGINES {
        let mut world = world(engine);
        run(&mut world.session, "prepare change as insert into t values (6, 6)");
        world.run("begin; insert into t values (2, 2)");
        let durable = world.log.durable();
        world.log.fail();
        let unsure = error(&mut world.session, "commit");
        assert_eq!(unsure.state.as_str(), "58030", "{engine}");
        assert!(unsure.message.contains("it is not known whether"), "{engine}: {unsure:?}");
        for sql in CHANGES {
            let refused = error(&mut world.session, sql);
            assert_eq!(refused.state.as_str(), "58030", "{engine}: {sql}");
            assert!(refused.hint.is_some_and(|hint| hint.contains("Restart the server")), "{engine}: {sql}");
        }
        world.check(&[
            ("select min(id) from t", "1"),
            ("begin isolation level serializable; select min(id) from t", "1"),
            ("commit", "COMMIT"),
        ]);
        assert_eq!(world.after_crash(durable).outcome("select id from t"), "1", "{engine}");
        assert!(world.database.close().is_err(), "{engine}");
    }
}

#[test]
fn a_commit_of_definitions_that_the_log_did_not_take_is_unsure() {
    for engine in ENGINES {
        let mut world = world(engine);
        world.run("begin; create table u (id int primary key); insert into u values (1)");
        let durable = world.log.durable();
        world.log.fail();
        assert_eq!(error(&mut world.session, "commit").state.as_str(), "58030", "{engine}");
        // The transaction is committed in memory, as its error says.
        world.check(&[("select id from u", "1")]);
        assert_eq!(world.after_crash(durable).outcome("select id from u"), "42P01", "{engine}");
    }
}

#[test]
fn a_statement_whose_number_the_log_did_not_take_fails() {
    for engine in ENGINES {
        let mut world = world(engine);
        let mut other = session(&world.database);
        // The number is covered by a record that no session has waited for.
        run(&mut other, "set synchronous_commit = off; select nextval('s')");
        world.log.fail();
        world.run("begin");
        let (shown, outcome) = query(&mut world.session, "select nextval('s')");
        assert_eq!(outcome.expect_err("a failed log").state.as_str(), "58030", "{engine}");
        assert!(shown.tags.is_empty(), "{engine}: {shown:?}");
        world.check(&[("rollback", "ROLLBACK"), ("select count(*) from t", "1")]);
    }
}

#[test]
fn a_transaction_may_leave_the_log_behind() {
    for engine in ENGINES {
        let mut world = World::new(engine);
        world.run("create table t (id int primary key); create sequence s");
        let mut at = world.log.durable();
        // Whether the statement waits for records.
        let cases = [
            ("insert into t values (1)", true),
            ("set synchronous_commit = off; insert into t values (2)", false),
            ("select max(id) from t", false),
            ("begin; select max(id) from t; commit", false),
            ("select nextval('s')", false),
            ("begin; set local synchronous_commit = on; insert into t values (3); commit", true),
            ("insert into t values (4)", false),
            ("begin; insert into t values (5); set local synchronous_commit to local; commit", true),
            ("reset synchronous_commit; begin; set synchronous_commit = 0; insert into t values (6); commit", false),
            ("begin; set synchronous_commit = remote_apply; rollback; insert into t values (7)", false),
            ("set synchronous_commit = remote_write; insert into t values (8)", true),
            ("begin; set local synchronous_commit = off; insert into t values (9); commit", false),
            ("insert into t values (10)", true),
            ("create table u (id int primary key)", true),
            ("set synchronous_commit = false; drop table u; create sequence r", false),
        ];
        for (sql, waits) in cases {
            world.run(sql);
            let durable = world.log.durable();
            assert_eq!(durable > at, waits, "{engine}: {sql}: {durable} after {at}");
            at = durable;
        }
        world.check(&[
            ("show synchronous_commit", "off"),
            ("set synchronous_commit = maybe", "22023"),
            ("set synchronous_commit = ON; show synchronous_commit", "on"),
            ("begin; set local synchronous_commit = remote_apply; show synchronous_commit", "remote_apply"),
            ("rollback; show synchronous_commit", "on"),
        ]);
    }
}
