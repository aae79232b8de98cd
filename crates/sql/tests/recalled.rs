//! Sessions that wait to begin, and hold tables that the session which keeps all others off the database asks for.

mod common;

use common::{database, error, outcome, run, session, waiting};
use hotrow_protocols::ENGINES;
use hotrow_sync::thread;

const TABLES: &str = "create table a (id int primary key, n int) partition by hash (id);
    create table b (id int primary key) partition by hash (id); insert into a values (1, 1); insert into b values (1)";

/// The engines under which a block keeps all others off the database.
fn exclusive() -> impl Iterator<Item = &'static str> {
    let is_one =
        |info: &&hotrow_txn::EngineInfo| info.isolates && (info.capabilities.needs_accesses || info.name == "serial");
    ENGINES.iter().filter(is_one).map(|info| info.name)
}

#[test]
fn a_statement_that_waits_to_begin_gives_its_tables_to_who_changes_definitions() {
    let statements = [
        "update a set n = n + 1 where id = 1",
        // A reconnaissance finds the rows.
        "update a set n = n + 1 where id in (select id from b)",
        "begin; update a set n = n + 1 where id = 1; commit",
        "update a set n = n + 1 where id = 1; delete from b where id = 9",
        "do 'begin update a set n = n + 1 where id = 1; end'",
    ];
    for engine in exclusive() {
        for statement in statements {
            let database = database(engine);
            let mut owner = session(&database);
            run(&mut owner, TABLES);
            run(&mut owner, "begin; delete from b where id = 9");
            let others: Vec<_> = (0..2).map(|_| waiting(&database, session(&database), statement).1).collect();
            for change in ["alter table a add column x int", "alter table b add column x int", "commit"] {
                let told = outcome(&mut owner, change);
                assert!(change.starts_with(&told.to_lowercase()), "{engine}: {statement}, {change}: {told}");
            }
            for other in others {
                let (_, told) = other.join().expect("no session panics");
                assert!(!told.starts_with("4"), "{engine}: {statement}: {told}");
            }
            assert_eq!(outcome(&mut owner, "select n, x from a"), "3|NULL", "{engine}: {statement}");
            assert_eq!(database.engine().audit(), Ok(()), "{engine}");
        }
    }
}

#[test]
fn a_circle_with_an_advisory_lock_has_a_victim_at_once() {
    for engine in exclusive() {
        let database = database(engine);
        let (mut owner, mut other) = (session(&database), session(&database));
        run(&mut owner, TABLES);
        run(&mut other, "select pg_advisory_lock(1)");
        run(&mut owner, "begin; delete from b where id = 9");
        let (_, other) = waiting(&database, other, "update a set n = 2 where id = 1");
        assert_eq!(error(&mut owner, "select pg_advisory_lock(1)").state.as_str(), "40P01", "{engine}");
        run(&mut owner, "rollback");
        assert_eq!(other.join().expect("no session panics").1, "UPDATE 1", "{engine}");
    }
}

#[test]
fn definitions_change_beside_statements_and_nobody_fails() {
    for engine in exclusive() {
        let database = database(engine);
        let mut owner = session(&database);
        run(&mut owner, TABLES);
        thread::scope(|scope| {
            for id in 2..5 {
                let mut session = session(&database);
                scope.spawn(move || {
                    let insert = format!("insert into a select {id}, count(*) from b");
                    for round in 0..20 {
                        assert_eq!(outcome(&mut session, &insert), "INSERT 0 1", "{engine}: {round}");
                        assert_eq!(outcome(&mut session, &format!("delete from a where id = {id}")), "DELETE 1");
                    }
                });
            }
            for round in 0..20 {
                run(&mut owner, &format!("alter table a add column x{round} int"));
                run(&mut owner, &format!("begin; select count(*) from b; alter table a drop column x{round}; commit"));
            }
        });
        assert_eq!(outcome(&mut owner, "select * from a"), "1|1", "{engine}");
        assert_eq!(database.engine().audit(), Ok(()), "{engine}");
    }
}
