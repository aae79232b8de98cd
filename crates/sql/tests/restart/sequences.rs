//! Sequences: no number that a client has seen comes again.

use crate::common::{query, session};
use crate::world::{ENGINES, World};
use hotrow_sync::thread;
use std::collections::BTreeSet;

/// Takes a number.
fn next(world: &mut World) -> i64 {
    world.outcome("select nextval('s')").parse().expect("a number")
}

#[test]
fn a_number_that_a_client_has_seen_does_not_come_again() {
    for engine in ENGINES {
        let mut world = World::new(engine);
        world.run("create sequence s");
        let mut last = 0;
        for round in 0..6 {
            for _ in 0..20 * round {
                let number = next(&mut world);
                assert!(number > last && number <= last + 33, "{engine}: {number} after {last}");
                last = number;
            }
            world = world.after_crash(world.log.durable());
        }
    }
}

#[test]
fn numbers_in_open_and_rolled_back_transactions_do_not_come_again() {
    for engine in ENGINES {
        let mut world = World::new(engine);
        world.run("create table t (id serial primary key)");
        world.run("begin");
        let seen = world.outcome("insert into t default values returning id");
        assert_eq!(seen, "1", "{engine}");
        let mut crashed = world.after_crash(world.log.durable());
        assert_eq!(crashed.outcome("insert into t default values returning id"), "34", "{engine}");
        assert_eq!(crashed.outcome("select id from t"), "34", "{engine}");
        world.check(&[
            ("rollback", "ROLLBACK"),
            ("begin; create sequence s; select nextval('s')", "1"),
            ("commit", "COMMIT"),
            ("begin; alter sequence s increment 5; select nextval('s')", "6"),
            ("rollback", "ROLLBACK"),
        ]);
        let number = next(&mut world.after_crash(world.log.durable()));
        assert!(number > 6, "{engine}: {number}");
    }
}

#[test]
fn a_long_result_waits_for_its_numbers() {
    let mut world = World::new("ilock");
    world.run("create sequence s");
    let appended = world.log.transactions();
    let mut rows = 0;
    let mut other = session(&world.database);
    let mut client = crate::common::EachRow(|values: &[hotrow_storage::Value<'_>]| {
        rows += 1;
        // A few rows may be in the client's buffer before the statement ends.
        if rows > 16 {
            let mut crashed = world.after_crash(world.log.durable());
            let next: i64 = crashed.outcome("select nextval('s')").parse().expect("a number");
            assert!(next > values[0].as_int().expect("a number"), "{next} after {values:?}");
        }
    });
    let sql = "select nextval('s') from generate_series(1, 100)";
    other.simple_query(sql, &mut client).expect("a sequence without end");
    assert_eq!(rows, 100);
    assert_eq!(world.log.transactions() - appended, 4, "33 numbers at once");
}

#[test]
fn an_orderly_stop_skips_no_number() {
    for engine in ENGINES {
        let mut world = World::new(engine);
        world.run("create sequence s; create sequence down increment -3 start 5 minvalue -100 maxvalue 5");
        world.check(&[("select nextval('s'), nextval('down')", "1|5"), ("select nextval('s')", "2")]);
        world = world.reopened(engine);
        world.check(&[("select nextval('s'), nextval('down')", "3|2")]);
        let mut crashed = world.restarted();
        crashed.check(&[("select nextval('s'), nextval('down')", "36|-97")]);
    }
}

#[test]
fn set_and_restarted_sequences_stand_exactly_there() {
    for engine in ENGINES {
        let mut world = World::new(engine);
        world.run("create sequence s; create table t (id serial primary key)");
        next(&mut world);
        for (sql, expected) in [
            ("select setval('s', 100)", 101),
            ("select setval('s', 200, false)", 200),
            ("alter sequence s restart with 50", 50),
            ("select nextval('s'); alter sequence s restart", 1),
            ("select nextval('s'); alter sequence s increment 10", 11),
            ("select setval('s', 400); alter sequence s increment -1 maxvalue 500", 399),
            ("select nextval('s'); alter sequence s rename to r; alter sequence r rename to s", 398),
            ("begin; alter sequence s restart with 7; rollback", 398),
        ] {
            world.run(sql);
            world = world.restarted();
            let mut crashed = world.restarted();
            assert_eq!(next(&mut crashed), expected, "{engine}: {sql}");
        }
        world.run("insert into t values (default), (default); truncate t restart identity");
        world = world.restarted();
        world.check(&[("insert into t values (default) returning id", "1")]);
    }
}

#[test]
fn limits_and_cycles_hold_after_a_crash() {
    let mut world = World::new("mvo");
    world.run("create sequence c maxvalue 5 cycle; create sequence e as smallint maxvalue 40");
    world.check(&[("select nextval('c'), nextval('e')", "1|1"), ("select nextval('c'), nextval('e')", "2|2")]);
    // Numbers ahead end at the limit.
    let mut world = world.restarted();
    world.check(&[
        ("select nextval('c'), nextval('e')", "1|34"),
        ("select nextval('c'), nextval('c'), nextval('c'), nextval('c'), nextval('c')", "2|3|4|5|1"),
        ("select setval('e', 40)", "40"),
        ("select nextval('e')", "2200H"),
    ]);
    let mut world = world.restarted();
    world.check(&[("select nextval('e')", "2200H"), ("select nextval('c')", "1")]);
}

#[test]
fn a_dropped_sequence_leaves_nothing_behind() {
    let mut world = World::new("2pl-waitdie");
    let rows = |world: &World| {
        let places = world.engine.tables().into_iter().find(|id| world.engine.schema(*id).name == "\0places");
        world.engine.row_count(places.expect("the table of the places"))
    };
    world.run("create sequence a; create sequence b; select nextval('a'), nextval('b')");
    assert_eq!(rows(&world.restarted()), 2);
    world.run("drop sequence a; alter sequence b restart; select nextval('b')");
    assert_eq!(rows(&world.restarted()), 1);
    // A sequence that was rolled back leaves a row until the next start.
    world.run("begin; create sequence c; select nextval('c'); rollback");
    let opened = world.restarted();
    assert_eq!((rows(&opened), rows(&opened.restarted())), (2, 1));
    // Its number is not given to another one.
    let mut opened = opened.restarted();
    opened.run("create sequence d");
    assert_eq!(opened.outcome("select nextval('d')"), "1");
    assert_eq!(opened.restarted().outcome("select nextval('d'), nextval('b')"), "34|2");
}

#[test]
fn many_sessions_share_the_numbers_ahead() {
    let mut world = World::new("ilock");
    world.run("create sequence s; create table t (id int primary key default nextval('s'), x int)");
    let before = world.log.transactions();
    let taker = |_| {
        let mut session = session(&world.database);
        thread::spawn(move || {
            let take = |_| query(&mut session, "select nextval('s')").0.rows.remove(0);
            (0..330).map(take).collect::<Vec<_>>()
        })
    };
    let takers: Vec<_> = (0..4).map(taker).collect();
    let numbers: Vec<_> = takers.into_iter().flat_map(|taker| taker.join().expect("no panic")).collect();
    let distinct: BTreeSet<_> = numbers.iter().collect();
    assert_eq!((numbers.len(), distinct.len()), (1320, 1320));
    assert_eq!(world.log.transactions() - before, 1320 / 33, "one record for 33 numbers");
}
