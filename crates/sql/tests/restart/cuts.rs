//! Crashes after any record: the catalog and the rows are those after some transaction.

use crate::world::{ENGINES, World};

/// Transactions, most with definitions and rows together.
const TRANSACTIONS: &[&str] = &[
    "create table t (id int primary key, n int check (n > 0))",
    "begin; insert into t values (1, 1), (2, 2); create table u (id int primary key, t int references t);
        insert into u values (1, 1); commit",
    "begin; alter table t add column more text default 'x'; update t set n = n + 1; insert into u values (2, 2); commit",
    "begin; create index t_n on t (n); delete from u where id = 1; alter table u rename to w; commit",
    "begin; create view v as select * from w; insert into t values (3, 3, 'y'); commit",
    "begin; create sequence s; create table q (id int default nextval('s')); insert into q values (default), (default);
        commit",
    "begin; truncate w; insert into w values (7, 3); commit",
    "begin; drop view v; alter table w drop column t; insert into w values (8); commit",
    "begin; create table gone (id int); insert into gone values (1); rollback",
    "begin; insert into w values (9); savepoint a; drop table t cascade; rollback to a;
        alter table t drop constraint t_n_check; commit",
    "begin; create schema x; alter table t set schema x; insert into x.t values (4, -4, 'z'); commit",
    "begin; drop table x.t; drop schema x; insert into w values (10); commit",
];

#[test]
fn a_crash_after_any_record_leaves_the_state_after_some_transaction() {
    for engine in ENGINES {
        let mut world = World::new(engine);
        let mut states = vec![(world.log.records(), world.dump())];
        for sql in TRANSACTIONS {
            world.run(sql);
            states.push((world.log.records(), world.dump()));
        }
        let mut at = 0;
        for records in 0..=world.log.records() {
            // Fewer records than those of an empty database are one, too.
            while states.get(at + 1).is_some_and(|(end, _)| *end <= records) {
                at += 1;
            }
            let found = world.after_crash(records);
            let dump = found.dump();
            let next = states.get(at + 1).map(|(_, dump)| dump);
            let is_one = dump == states[at].1 || Some(&dump) == next;
            assert!(is_one, "{engine}, {records} records:\n{dump}\nis neither\n{}\nnor\n{next:?}", states[at].1);
            // Another crash changes nothing.
            assert_eq!(found.restarted().dump(), dump, "{engine}, {records} records, twice");
        }
    }
}

#[test]
fn what_was_acknowledged_survives_any_crash() {
    for engine in ENGINES {
        let mut world = World::new(engine);
        for sql in TRANSACTIONS {
            world.run(sql);
            let before = world.dump();
            assert_eq!(world.after_crash(world.log.durable()).dump(), before, "{engine}: {sql}");
        }
    }
}
