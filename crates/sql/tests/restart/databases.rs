//! Databases survive, and go, as a whole.

use crate::common::{outcome, run, session};
use crate::world::{ENGINES, PARTITIONED, World};

fn of(world: &World, name: &str, sql: &str) -> String {
    let Some(database) = world.database.named(name) else { return "no database".to_owned() };
    outcome(&mut session(&database), sql)
}

#[test]
fn databases_are_there_after_a_restart() {
    for engine in ENGINES.into_iter().chain(PARTITIONED) {
        let mut world = World::new(engine);
        world.run("create database one");
        world.run("create database two");
        world.run("create database gone");
        let partition = if PARTITIONED.contains(&engine) { " partition by hash (id)" } else { "" };
        for name in ["one", "two", "gone"] {
            let mut session = session(&world.database.named(name).expect("a database"));
            run(&mut session, &format!("create table t (id int primary key, n text){partition}"));
            run(&mut session, &format!("insert into t values (1, '{name}')"));
            run(&mut session, "create sequence s; select nextval('s'); create type e as enum ('a', 'b')");
        }
        world.run("drop database gone");
        world.run("alter database two rename to second");
        let tables = world.engine.tables().len();
        for round in 0..2 {
            world = if round == 0 { world.restarted() } else { world.reopened(engine) };
            assert_eq!(world.database.names(), ["one", "postgres", "second"], "{engine}");
            assert_eq!(world.engine.tables().len(), tables, "{engine}");
            assert_eq!(of(&world, "one", "select n from t"), "one", "{engine}");
            assert_eq!(of(&world, "second", "select n from t where id = 1"), "two", "{engine}");
            assert_eq!(of(&world, "second", "select 'b'::e > 'a', (select nextval('s')) > 1"), "t|t", "{engine}");
            assert_eq!(world.outcome("select * from t"), "42P01", "{engine}");
            world.check(&[("select count(*), count(distinct oid) from pg_database", "3|3")]);
        }
        world.run("drop database one");
        world.run(&format!("create table t (id int primary key, n text){partition}"));
    }
}

/// A crash at any record leaves a database as a whole, or nothing of it.
#[test]
fn a_crash_leaves_no_half_database() {
    for engine in ["ilock", "mvo", "vll"] {
        let mut world = World::new(engine);
        world.run("create table base (id int)");
        let before = world.engine.tables().len();
        let mut seen = Vec::new();
        world.run("create database other");
        for sql in ["create table t (id int primary key)", "insert into t values (1), (2)"] {
            run(&mut session(&world.database.named("other").expect("a database")), sql);
        }
        world.run("drop database other");
        for records in 0..=world.log.records() {
            let mut cut = world.after_crash(records);
            let found = of(&cut, "other", "select count(*) from t");
            if found == "no database" {
                assert!(cut.engine.tables().len() <= before, "{engine}: {records}");
            }
            cut.run("create database new");
            assert_eq!(of(&cut, "new", "create table t (id int)"), "CREATE TABLE", "{engine}: {records}");
            if seen.last() != Some(&found) {
                seen.push(found);
            }
        }
        assert_eq!(seen, ["no database", "42P01", "0", "2", "no database"].map(str::to_owned), "{engine}");
    }
}
